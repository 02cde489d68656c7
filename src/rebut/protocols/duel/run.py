"""The course of a duel: opening, challenge, then defense and follow-up for as many rounds as asked, then a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel, Field

from rebut.core.errors import Aborted, ParticipantFailed
from rebut.core.text import squeeze, tokens
from rebut.core.types import Json
from rebut.domain.forms import cited
from rebut.domain.ledger import Claim, Entry, Move, MoveKind, Point, Slip
from rebut.domain.outcome import DecisionNotes, Outcome, Verdict
from rebut.domain.prompts import FENCES, fill
from rebut.domain.worth import Worth, fates
from rebut.engine.debate import Debate, Failure, Round
from rebut.engine.protocol import Preparation
from rebut.protocols.duel import prompts, render, reply_checks
from rebut.protocols.duel.forms import Challenge, Decision, Defense, Flaw, FollowUp, Opening, Summary
from rebut.protocols.duel.render import weighed
from rebut.protocols.shared import UNCONTESTED, aborted, chosen_folder, ended_by, of_rounds, prompt_head

MOVES: dict[str, MoveKind] = {"concede": "concede", "rebut": "defend", "trade-off": "partly"}
RULINGS: dict[str, MoveKind] = {
    "resolved": "resolve",
    "unresolved": "maintain",
    "dodged": "maintain",
    "withdrawn": "withdraw",
}


class Settings(BaseModel):
    """What a duel can be told."""

    rounds: int = Field(default=2, ge=1, le=5, description="rounds of back and forth")
    effort: str = Field(default="", description="thinking effort of every seat")
    state_dir: str = Field(default="", description="where debate/last-debate.json is written")


def calls(settings: Settings) -> dict[str, int]:
    """How many calls a whole duel makes."""
    rounds = settings.rounds
    return {"proposer": rounds, "challenger": rounds, "judge": 1 + max(0, rounds - 2)}


def prepare(asked: Preparation) -> tuple[dict[str, Json], list[str]]:
    """The state file goes where the user says, else where the coding agent that rebut runs under looks for it."""
    chosen = chosen_folder(asked, "state_dir")
    return {"state_dir": asked.host_state if chosen is None else chosen}, []


async def run(debate: Debate) -> Outcome:
    return await contest(debate, DuelState())


async def contest(debate: Debate, course: DuelState) -> Outcome:
    """All rounds and the verdict. The opening may have been said already, and is then in the course."""
    debate.minutes = course
    # Where both have answered blind, a duel that nobody wants any more need not begin.
    for r in debate.rounds(debate.settings.rounds, least=0 if course.own else 1):
        if r.n > 2 and r.ledger.points and not r.ledger.open:
            # The challenger has ruled on every point, and was asked for new ones in the same breath.
            course.closed = f"no point was open after round {r.n - 1} of {debate.planned(debate.settings.rounds)}"
            await r.skip("defense", f"{course.closed}, so there was nothing to defend")
            break
        before = await background(r, course)
        opened = course.round(r.n)
        spoke = opened[0] if opened else await (opening(r) if r.n == 1 else defense(r, before))
        if isinstance(spoke, Failure):
            r.stop(ended_by(spoke, r.n))
            break
        if not opened:
            course.said.append(spoke)
        r.keep_for_closing(course.size())
        replied = await (challenge(r, spoke, course.own) if r.n == 1 else follow_up(r, before, spoke))
        if isinstance(replied, Failure):
            r.stop(ended_by(replied, r.n))
            break
        course.said.append(replied)
        r.keep_for_closing(course.size())
    if course.own and debate.settled and not course.whole_rounds():
        return undebated(debate, course)
    if not course.said:
        raise Aborted(f"the debate never began: {debate.stopped}", "Raise the limit, then resume.")
    if not course.whole_rounds():
        return uncontested(debate, course)
    return await verdict(debate, course)


async def opening(r: Round) -> Turn:
    who = r.seat("proposer")
    prompt = fill(prompts.OPENING, **prompt_head(r, prompts.EVIDENCE_RULE))
    try:
        answer = await r.ask(who, "opening", prompt, schema=Opening, check=reply_checks.opening)
    except ParticipantFailed as error:
        hint = "Without an opening there is nothing to debate. Resume when it can answer."
        if error.kind == "timeout":
            raise Aborted("debate failed: all tool invocations timed out", error.hint or hint) from error
        raise aborted(r, who, "did not open", error, hint) from error
    form = answer.value
    new = await r.note("opening", claims(form, "proposer"))
    return Turn(1, "proposer", render.opening(form, new), form.position)


async def challenge(r: Round, case: Turn, own: str = "") -> Turn | Failure:
    who = r.seat("challenger")
    quoted = r.quote("the proposer's opening", case.text)
    if own:
        quoted += f"\n\n{prompts.OWN}\n\n{r.quote('your own answer', own)}"
    prompt = fill(prompts.CHALLENGE, **prompt_head(r, prompts.EVIDENCE_RULE), case=quoted)
    answer = await r.try_ask(who, "challenge", prompt, schema=Challenge, check=reply_checks.challenge(r.ledger))
    if isinstance(answer, Failure):
        return answer
    form = answer.value
    new = await r.note("challenge", _flaws(form.flaws, r.n))
    quotable = " ".join([*(f.text for f in form.flaws), *(a.text for a in form.agreements)])
    return Turn(r.n, "challenger", render.challenge(form, new), quotable)


async def defense(r: Round, before: str) -> Turn | Failure:
    prompt = fill(
        prompts.DEFENSE,
        **prompt_head(r, prompts.EVIDENCE_RULE),
        before=before,
        round=str(r.n),
        points=r.quote("the points at issue", render.points(r.ledger)),
        open=", ".join(p.id for p in r.ledger.open) or "none",
    )
    answer = await r.try_ask(
        r.seat("proposer"), "defense", prompt, schema=Defense, check=reply_checks.defense(r.ledger)
    )
    if isinstance(answer, Failure):
        return answer
    form, entries = answer.value, list[Entry]()
    for one in form.responses:
        entries.append(Move(one.id, MOVES[one.move], "proposer", r.n, one.argument, cited(one.evidence)))
    entries += [Claim(c.text, "proposer", r.n, cited(c.evidence)) for c in form.claims if c.text]
    await r.note("defense", entries)
    quotable = " ".join([form.position, *(one.argument for one in form.responses)])
    return Turn(r.n, "proposer", render.defense(form, r.ledger, r.n), quotable)


async def follow_up(r: Round, before: str, case: Turn) -> Turn | Failure:
    prompt = fill(
        prompts.FOLLOW_UP,
        **prompt_head(r, prompts.EVIDENCE_RULE),
        before=before,
        round=str(r.n),
        case=r.quote("the proposer's defense", case.text),
        points=r.quote("the points at issue", render.points(r.ledger)),
        open=", ".join(p.id for p in r.ledger.open) or "none",
    )
    check = reply_checks.follow_up(r.ledger)
    answer = await r.try_ask(r.seat("challenger"), "follow-up", prompt, schema=FollowUp, check=check)
    if isinstance(answer, Failure):
        return answer
    form, entries = answer.value, list[Entry]()
    for one in form.rulings:
        entries.append(Move(one.id, RULINGS[one.ruling], "challenger", r.n, one.reason, cited(one.evidence)))
    ruled = {one.id for one in form.rulings}
    for point in r.ledger.having("defended", "partly accepted", "unresolved"):
        if point.id not in ruled:
            entries.append(Slip("dropped", point.id, "challenger", r.n))
    entries += _flaws(form.flaws, r.n)
    new = await r.note("follow-up", entries)
    quotable = " ".join(one.reason for one in form.rulings)
    return Turn(r.n, "challenger", render.follow_up(new, r.ledger, r.n), quotable)


def uncontested(debate: Debate, course: DuelState) -> Outcome:
    """The challenger never spoke: the position stands alone, and is called that."""
    text = course.said[0].text
    return Outcome(
        kind="uncontested",
        unsettled=UNCONTESTED,
        heading="UNCONTESTED",
        decision=course.said[0].quotable,
        conclusive=False,
        stopped=f"the challenger never spoke: {debate.stopped}",
        final=f"{prompts.UNCONTESTED}\n\n{text}\n",
        data={"position": course.said[0].quotable, "rounds_completed": 0, "exchanges": _exchanges(course)},
        worth=Worth(caveat="the challenger never spoke, so the first answer is all there is"),
    )


def undebated(debate: Debate, course: DuelState) -> Outcome:
    """Two blind answers that differ, and somebody who did not want them argued out: no verdict."""
    sides = [("proposer", course.said[0].text), ("challenger", course.own)]
    return Outcome(
        kind="no verdict",
        heading="NO VERDICT, THE ANSWERS DIFFER",
        conclusive=False,
        stopped=debate.stopped,
        final="\n\n".join([prompts.UNDEBATED, *(f"## {role}\n\n{text}" for role, text in sides)]) + "\n",
        data={"rounds_completed": 0, "exchanges": _exchanges(course)},
    )


async def verdict(debate: Debate, course: DuelState) -> Outcome:
    rounds, asked = course.whole_rounds(), debate.planned(debate.settings.rounds)
    whole = [s for s in course.said if s.round <= rounds]
    ledger = debate.ledger.upto(rounds)  # half a round is not weighed
    prompt = fill(
        prompts.VERDICT,
        fences=FENCES,
        topic=debate.quote("topic", debate.topic),
        transcript="\n\n".join(debate.quote(f"round {s.round}, {s.role}", s.text) for s in whole),
        points=debate.quote("the points at issue", render.points(ledger)),
        checked=render.checked(ledger),
        # Why it ended early is not said: limits and providers' messages have no business in a prompt.
        rounds=f"{rounds} of {asked} rounds were completed.",
    )
    judge, check = debate.seat("judge"), reply_checks.decision(ledger)
    data: dict[str, Json] = {"rounds_completed": rounds, "exchanges": _exchanges(course)}
    try:
        answer = await debate.ask(judge, "verdict", prompt, schema=Decision, check=check, closing=True)
    except ParticipantFailed as error:
        return no_verdict(debate, course, error, data)
    heading = "VERDICT" if rounds == asked else f"VERDICT AFTER {of_rounds(rounds, asked)}"
    if course.closed and ledger.points:
        heading = f"VERDICT, NOTHING LEFT OPEN AFTER {of_rounds(rounds, asked)}"
    if not ledger.points:
        heading = f"UNCONTESTED {heading}"  # the challenger spoke and found nothing, not even when sent back
    if course.unsummed:
        heading = f"{heading} WITHOUT A SUMMARY"
    # Nothing that the winner brought is there to be seen: its case may still be right, but nobody has shown it.
    baseless = answer.value.winner == "challenger" and bool(ledger.points) and dict(fates(ledger)).keys() == {"struck"}
    if baseless:
        heading = f"{heading} ON STRUCK POINTS ALONE"
    complete = (rounds == asked or bool(course.closed)) and bool(ledger.points) and not course.unsummed
    return Outcome(
        kind="verdict",
        heading=heading,
        decision=answer.value.recommendation,
        verdict=Verdict(
            answer.value.winner, answer.value.reasoning, answer.value.recommendation, answer.model or judge.label
        ),
        conclusive=complete and not baseless,
        stopped=debate.stopped,
        final=render.report(debate, ledger, answer.value, rounds, course.notes),
        data={**data, "decision": answer.value.model_dump(mode="json")},
        decision_notes=DecisionNotes(
            alternatives=tuple(f"{d.point}: {d.proposer}, or {d.challenger}" for d in answer.value.disagreements)
        ),
        notes=tuple(course.notes),
        worth=weighed(
            debate.answers, ledger, answer.value.winner, "" if rounds == asked else of_rounds(rounds, asked).lower()
        ),
    )


def no_verdict(debate: Debate, course: DuelState, error: ParticipantFailed, data: dict[str, Json]) -> Outcome:
    """Without money for a judge the program ends the debate without a winner; one that failed can be asked again."""
    if error.kind != "budget":
        hint = "Every answer is kept. Resume when it can answer, or fork with another --judge."
        raise aborted(debate, debate.seat("judge"), "gave no verdict", error, hint, data) from error
    return Outcome(
        kind="no verdict",
        heading="NO VERDICT",
        conclusive=False,
        stopped=error.message,
        final=render.without_verdict(debate, course.whole_rounds(), error.message),
        data=data,
        notes=tuple(course.notes),
        worth=weighed(debate.answers, debate.ledger.upto(course.whole_rounds()), caveat="there was no verdict"),
    )


def partial(debate: Debate) -> Outcome:
    """The best that can be said at a deadline: where the proposer stands and what is open against it."""
    answers, course = debate.answers, debate.minutes
    assert isinstance(course, DuelState)
    cases = [v for k, v in answers.items() if k.endswith("@proposer") and isinstance(v, dict)]
    rounds = course.whole_rounds()
    position = str(cases[-1].get("position", "")) if cases else ""
    return Outcome(
        kind="partial",
        heading=f"NO VERDICT YET, {of_rounds(rounds, debate.planned(debate.settings.rounds))}",
        decision=position,
        basis=f"round {rounds}" if rounds else ("the opening alone" if cases else "nothing yet"),
        final=render.without_verdict(debate, rounds, "the deadline came first"),
        data={"position": position, "rounds_completed": rounds, "exchanges": _exchanges(course)},
    )


def claims(form: Opening, by: str) -> list[Entry]:
    return [Claim(c.text, by, 1, cited(c.evidence)) for c in form.claims if c.text]


def _flaws(flaws: list[Flaw], n: int) -> list[Entry]:
    return [
        Point(f.text, "challenger", n, f.severity, f.category, cited(f.evidence), about=f.about)
        for f in flaws
        if f.text
    ]


def _exchanges(course: DuelState) -> list[Json]:
    return [{"round": s.round, "role": s.role, "response": s.text} for s in course.said]


# The minutes of a duel: what was said, and the summary that takes the place of older rounds.


@dataclass
class Turn:
    """One turn, as the other side, the judge and the reader see it."""

    round: int
    role: str
    text: str
    quotable: str
    """The author's own words, in which a concession must be found verbatim."""


@dataclass
class DuelState:
    """What was said so far, and what became of earlier rounds."""

    said: list[Turn] = field(default_factory=list)
    summary: str = ""
    notes: list[str] = field(default_factory=list)
    closed: str = ""
    """Why no further round was held, where nothing was left to argue about."""
    unsummed: bool = False
    """A summary failed, and the sides argued on over the program's list of points: less than they were promised."""
    own: str = ""
    """What the challenger answered before it saw the proposer's case, where it was asked."""

    def round(self, n: int) -> list[Turn]:
        return [s for s in self.said if s.round == n]

    def size(self) -> int:
        """Tokens of all that was said, which the closing call will have to read."""
        return sum(tokens(s.text) for s in self.said)

    def whole_rounds(self) -> int:
        return sum(1 for s in self.said if s.role == "challenger")


async def background(r: Round, course: DuelState) -> str:
    """What was said before: in full for two rounds; from the third on, all but the last round as a summary."""
    if r.n == 1:
        return ""
    latest = "\n\n".join(r.quote(f"round {s.round}, {s.role}", s.text) for s in course.round(r.n - 1))
    if r.n < 3:
        return latest
    course.summary = await summarize(r, course)
    return f"{r.quote(f'summary of rounds 1 to {r.n - 2}', course.summary)}\n\n{latest}"


async def summarize(r: Round, course: DuelState) -> str:
    """Roll the summary forward by one round: prompts stay as long as they are, however many rounds there are."""
    old = r.quote(f"summary of rounds 1 to {r.n - 3}", course.summary) if course.summary else ""
    turns = "\n\n".join(r.quote(f"round {s.round}, {s.role}", s.text) for s in course.round(r.n - 2))
    upto = r.n - 2
    conceded = [m for m in r.ledger.moves if m.kind == "concede" and m.round <= upto]
    # The old summary is no source: its writer's own words would turn into a debater's on the second round.
    earlier = [s.quotable for s in course.said if s.round <= upto] + [f"{m.point}: {m.reason}" for m in conceded]
    prompt = fill(prompts.SUMMARY, fences=FENCES, upto=str(upto), material=f"{old}\n\n{turns}".strip())
    answer = await r.try_ask(r.seat("judge"), "summary", prompt, schema=Summary, check=reply_checks.summary(earlier))
    if isinstance(answer, Failure):
        course.unsummed = True
        course.notes.append(
            f"round {r.n}: no summary was written ({answer.kind}); the program's own list of points served"
        )
        return render.own_summary(r.ledger, conceded)
    said = [squeeze(text) for text in earlier]
    kept = [c for c in answer.value.concessions if reply_checks.is_verbatim(c, said)]
    if dropped := len(answer.value.concessions) - len(kept):
        course.notes.append(f"round {r.n}: {dropped} concession(s) in the summary were not verbatim and were left out")
    return render.summary(answer.value, kept, conceded)
