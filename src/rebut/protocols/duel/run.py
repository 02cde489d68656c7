"""A duel: opening and challenge, then a defense and a follow-up in each further round, then a verdict."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from rebut.core.errors import Aborted, ParticipantFailed
from rebut.core.text import squeeze
from rebut.core.types import Material
from rebut.domain.forms import cited, code_of
from rebut.domain.ledger import Claim, Entry, Ledger, Move, Point, Slip
from rebut.domain.outcome import Outcome
from rebut.domain.prompts import FENCES, fill
from rebut.engine.debate import Debate, Failure, Round
from rebut.protocols.duel import ballot, outcome, prompts, render, reply_checks
from rebut.protocols.duel.forms import Assertion, Challenge, Defense, Flaw, FollowUp, Opening, Summary
from rebut.protocols.duel.state import DuelState, Turn
from rebut.protocols.shared import aborted, ended_by, prompt_head


async def run(debate: Debate) -> Outcome:
    return await contest(debate, DuelState(all_rounds=debate.settings.all_rounds))


async def contest(debate: Debate, state: DuelState) -> Outcome:
    """Play all rounds and get the verdict. The state may already contain the opening."""
    debate.state = state
    # If both sides have answered before, the user may end the debate before its first round.
    for r in debate.rounds(debate.settings.rounds, least=0 if state.own_answer else 1):
        if r.n > 2 and r.ledger.points and not r.ledger.open and not state.all_rounds:
            # The challenger has ruled on every point, and in the same call was asked for new ones.
            state.closed = f"no point was open after round {r.n - 1} of {debate.planned(debate.settings.rounds)}"
            await r.skip("defense", f"{state.closed}, so there was nothing to defend")
            state.notes.append(f"{state.closed}, so the debate ended early; --all-rounds holds every round")
            break
        before = await background(r, state)
        opened = state.round(r.n)
        case = opened[0] if opened else await (opening(r) if r.n == 1 else defense(r, before, state.position))
        if isinstance(case, Failure):
            r.stop(ended_by(case, r.n))
            break
        if not opened:
            state.turns.append(case)
        r.keep_for_closing(state.size())
        await _publish(r)
        reply = await (challenge(r, case, state.own_answer) if r.n == 1 else follow_up(r, before, case))
        if isinstance(reply, Failure):
            state.unasked = reply.kind == "budget"
            r.stop(ended_by(reply, r.n))
            break
        state.turns.append(reply)
        r.keep_for_closing(state.size())
        await _publish(r)
    if state.own_answer and debate.settled and not state.complete_rounds():
        return outcome.undebated(debate, state)
    if not state.turns:
        raise Aborted(f"the debate never began: {debate.stopped}", "Raise the limit, then resume.")
    if not state.complete_rounds():
        return outcome.uncontested(debate, state)
    return await outcome.verdict(debate, state)


async def _publish(r: Round) -> None:
    """Write the state file if another tool looks for it, so that a process that is killed leaves the turns so far.

    In the session's own folder it is written only when the run ends: the journal there has every turn.
    """
    if getattr(r.settings, "state_dir", ""):
        await r.publish()


# the turns


async def opening(r: Round) -> Turn:
    who = r.seat("proposer")
    prompt = fill(prompts.OPENING, **prompt_head(r, prompts.EVIDENCE_RULE))
    try:
        task = "Take a position. A challenger attacks it, then you answer."
        shown = Material(ballot=partial(ballot.of_opening, r.topic, task))
        answer = await r.ask(who, "opening", prompt, schema=Opening, check=reply_checks.opening, material=shown)
    except ParticipantFailed as error:
        hint = "Without an opening there is nothing to debate. Resume when it can answer."
        if error.kind == "timeout":
            raise Aborted("debate failed: all tool invocations timed out", error.hint or hint) from error
        raise aborted(r, who, "did not open", error, hint) from error
    form = answer.value
    new = await r.note("opening", claims(form.claims, "proposer"))
    return Turn(1, "proposer", render.opening(form, new), form.position, form.position)


async def challenge(r: Round, case: Turn, own_answer: str = "") -> Turn | Failure:
    who = r.seat("challenger")
    quoted = r.quote("the proposer's opening", case.text)
    if own_answer:
        quoted += f"\n\n{prompts.OWN}\n\n{r.quote('your own answer', own_answer)}"
    prompt = fill(prompts.CHALLENGE, **prompt_head(r, prompts.EVIDENCE_RULE), case=quoted)
    shown = Material(ballot=partial(ballot.of_challenge, r.topic, case.quotable, r.ledger.claims))
    check = reply_checks.challenge(r.ledger)
    answer = await r.try_ask(who, "challenge", prompt, schema=Challenge, check=check, material=shown)
    if isinstance(answer, Failure):
        return answer
    form = answer.value
    await r.note("challenge", _flaws(form.flaws, r.n))
    quotable = " ".join([*(f.text for f in form.flaws), *(a.text for a in form.agreements)])
    return Turn(r.n, "challenger", render.challenge(form, r.ledger), quotable)


async def defense(r: Round, before: str, position: str) -> Turn | Failure:
    prompt = _later_prompt(r, prompts.DEFENSE, before)
    check = reply_checks.defense(r.ledger)
    shown = Material(ballot=partial(ballot.of_defense, r.topic, position, r.ledger.open))
    answer = await r.try_ask(r.seat("proposer"), "defense", prompt, schema=Defense, check=check, material=shown)
    if isinstance(answer, Failure):
        return answer
    form = answer.value
    await r.note("defense", defended(form, r.ledger, r.n))
    quotable = " ".join([form.position, *(one.argument for one in form.responses)])
    return Turn(r.n, "proposer", render.defense(form, r.ledger, r.n), quotable, form.position)


async def follow_up(r: Round, before: str, case: Turn) -> Turn | Failure:
    prompt = _later_prompt(r, prompts.FOLLOW_UP, before, case=r.quote("the proposer's defense", case.text))
    check = reply_checks.follow_up(r.ledger)
    shown = Material(ballot=partial(ballot.of_follow_up, r.topic, case.position, r.ledger.open, r.ledger))
    answer = await r.try_ask(r.seat("challenger"), "follow-up", prompt, schema=FollowUp, check=check, material=shown)
    if isinstance(answer, Failure):
        return answer
    form = answer.value
    new = _flaws(form.flaws, r.n)
    again = {issue.id for flaw in new if (issue := r.ledger.repeated(flaw))}
    await r.note("follow-up", [*ruled(form, r.ledger, r.n, again), *new])
    quotable = " ".join(one.reason for one in form.rulings)
    return Turn(r.n, "challenger", render.follow_up(r.ledger, r.n), quotable)


def _later_prompt(r: Round, template: str, before: str, **more: str) -> str:
    """The prompt of a turn after round 1."""
    return fill(
        template,
        **prompt_head(r, prompts.EVIDENCE_RULE),
        before=before,
        round=str(r.n),
        points=r.quote("the points at issue", render.points(r.ledger, quoted_since=r.n - 1)),
        open=", ".join(p.id for p in r.ledger.open) or "none",
        **more,
    )


# from forms to entries of the ledger


def claims(made: Sequence[Assertion], by: str, n: int = 1) -> list[Entry]:
    return [Claim(c.text, by, n, cited(c.evidence), check=code_of(c)) for c in made if c.text]


def defended(form: Defense, ledger: Ledger, n: int, by: str = "proposer", elsewhere: str = "") -> list[Entry]:
    """Return a defense as ledger entries: answers to points, joins of points, and new claims.

    `elsewhere` is appended to an id that this ledger does not have: it may mean a point about something else.
    """
    entries: list[Entry] = []
    for one in form.responses:
        id, kind = one.id if ledger.point(one.id) else f"{one.id}{elsewhere}", reply_checks.MOVES[one.move]
        proof = cited(one.evidence)
        entries.append(Move(id, kind, by, n, one.argument, proof, proof=kind == "concede", check=code_of(one)))
    return [*entries, *reply_checks.joined_by_defense(ledger, form, n, by)[0], *claims(form.claims, by, n)]


def ruled(
    form: FollowUp, ledger: Ledger, n: int, again: Collection[str], by: str = "challenger", elsewhere: str = ""
) -> list[Entry]:
    """Return a follow-up as ledger entries: rulings on answers, joins of points, and points that it does not mention.

    `again` are the ids of the points that the form raises again; for `elsewhere` see `defended`.
    """
    entries: list[Entry] = []
    for one in form.rulings:
        id, kind = one.id if ledger.point(one.id) else f"{one.id}{elsewhere}", reply_checks.RULINGS[one.ruling]
        proof, gives_in = cited(one.evidence), one.ruling in reply_checks.GIVES_IN
        entries.append(Move(id, kind, by, n, one.reason, proof, proof=gives_in, check=code_of(one)))
    entries += reply_checks.joined_by_follow_up(ledger, form, n, by)[0]
    named = {ledger.issue_of(one.id) for one in form.rulings}.union(again)
    at_issue = ledger.having("defended", "partly accepted", "unresolved")
    return entries + [Slip("dropped", p.id, by, n) for p in at_issue if p.id not in named]


def _flaws(flaws: list[Flaw], n: int) -> list[Point]:
    return [f.point("challenger", n) for f in flaws if f.text]


# what the debaters see of earlier rounds


async def background(r: Round, state: DuelState) -> str:
    """Return the earlier rounds: the last one in full and, from round 3 on, a summary of the rounds before it."""
    if r.n == 1:
        return ""
    latest = "\n\n".join(r.quote(f"round {turn.round}, {turn.role}", turn.text) for turn in state.round(r.n - 1))
    if r.n < 3:
        return latest
    state.summary = await summarize(r, state)
    return f"{r.quote(f'summary of rounds 1 to {r.n - 2}', state.summary)}\n\n{latest}"


async def summarize(r: Round, state: DuelState) -> str:
    """Extend the summary by one round, so that prompts do not grow with the number of rounds."""
    upto = r.n - 2
    old = r.quote(f"summary of rounds 1 to {upto - 1}", state.summary) if state.summary else ""
    turns = "\n\n".join(r.quote(f"round {turn.round}, {turn.role}", turn.text) for turn in state.round(upto))
    conceded = [m for m in r.ledger.moves if m.kind == "concede" and m.round <= upto]
    # The old summary is not a source: otherwise the words of its writer could pass for those of a debater.
    sources = [turn.quotable for turn in state.turns if turn.round <= upto]
    sources += [f"{m.point}: {m.reason}" for m in conceded]
    prompt = fill(prompts.SUMMARY, fences=FENCES, upto=str(upto), material=f"{old}\n\n{turns}".strip())
    answer = await r.try_ask(
        r.seats("judge")[0], "summary", prompt, schema=Summary, check=reply_checks.summary(sources)
    )
    if isinstance(answer, Failure):
        state.summary_failed = True
        state.notes.append(
            f"round {r.n}: no summary was written ({answer.kind}); the program used its own list of points instead"
        )
        return render.own_summary(r.ledger, conceded)
    said = [squeeze(text) for text in sources]
    kept = [c for c in answer.value.concessions if reply_checks.is_verbatim(c, said)]
    if dropped := len(answer.value.concessions) - len(kept):
        state.notes.append(f"round {r.n}: {dropped} concession(s) in the summary were not verbatim and were left out")
    return render.summary(answer.value, kept, conceded)
