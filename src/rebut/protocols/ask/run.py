"""A question: two blind answers, a comparison, and where they differ a debate in which both are treated alike.

In each round both answers are challenged at the same time, each by the author of the other one, and then both are
defended at the same time. The judge reads them as answer 1 and answer 2, and is not told which model wrote which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from rebut.core.errors import Aborted, ParticipantFailed, TooFewReplies
from rebut.core.types import Material
from rebut.domain.ledger import Entry, Point
from rebut.domain.outcome import Outcome
from rebut.domain.prompts import FENCES, fill
from rebut.engine.debate import Ask, Debate, Failure, Round
from rebut.protocols.ask import ballot, old_versions, outcome, prompts
from rebut.protocols.ask.forms import Comparison
from rebut.protocols.ask.state import PARTIES, AnswerTurn, AskState, against, other, title
from rebut.protocols.duel import ballot as duel_ballot, render, reply_checks
from rebut.protocols.duel.forms import Challenge, Defense, Flaw, FollowUp, Opening
from rebut.protocols.duel.prompts import EVIDENCE_RULE
from rebut.protocols.duel.run import claims, defended, ruled
from rebut.protocols.shared import aborted, describe, prompt_head

ELSEWHERE = " of the other answer"
"""Appended to an id in a reply about one answer, if no point about that answer has the id."""


async def run(debate: Debate) -> Outcome:
    state = AskState()
    debate.state = state
    failure = await answer(debate, state)
    if failure:
        return outcome.one_answer(debate, state, failure)
    state.compared = await compare(debate, state)
    if state.compared.same:
        return outcome.agreed(debate, state)
    if await old_versions.applies(debate):
        return await old_versions.contest(debate, state)
    await argue(debate, state)
    if not state.turns:
        return outcome.undebated(debate, state)
    return await outcome.verdict(debate, state)


async def answer(debate: Debate, state: AskState) -> Failure | None:
    """Ask for both blind answers. Returns the failure if only one model answers; raises `Aborted` if neither does."""
    prompt = fill(prompts.ANSWER, **prompt_head(debate, EVIDENCE_RULE))
    task = "Answer it. Another model answers it, too."
    shown = Material(ballot=partial(duel_ballot.of_opening, debate.topic, task))
    asks = [Ask(debate.seat(role), prompt, Opening, reply_checks.opening, material=shown) for role in PARTIES]
    try:
        answers = await debate.ask_all("answer", asks)
    except TooFewReplies as error:
        raise Aborted(
            f"no model answered: {error.message}", error.hint or "Resume when one of them can answer."
        ) from error
    for one in answers.answered:  # in seat order, which gives the claims their ids
        seat = one.who.seat
        new = await debate.note(f"answer.{seat}", claims(one.value.claims, seat))
        state.answers[seat] = render.opening(one.value, new)
        state.first[seat] = one.value.position
    return answers.failed[0] if answers.failed else None


async def compare(debate: Debate, state: AskState) -> Comparison:
    # The judge is not told who answered: first and second are only the order of the seats.
    first, second = (state.answers[role] for role in PARTIES)
    both = f"{debate.quote('the first answer', first)}\n\n{debate.quote('the second answer', second)}"
    prompt = fill(prompts.COMPARE, fences=FENCES, topic=debate.quote("topic", debate.topic), answers=both)
    judges, shown = debate.seats("judge"), Material(ballot=ballot.of_comparison(debate.topic, state))
    hint = "Both answers are kept. Resume when it can answer, or fork with another --judge."
    if len(judges) == 1:
        try:
            got = await debate.ask(judges[0], "comparison", prompt, schema=Comparison, material=shown)
        except ParticipantFailed as error:
            raise aborted(debate, judges[0], "did not compare the answers", error, hint) from error
        return got.value
    asks = [Ask(judge, prompt, Comparison, material=shown) for judge in judges]
    try:
        answers = await debate.ask_all("comparison", asks, need=len(judges) // 2 + 1)
    except TooFewReplies as error:
        raise Aborted(f"too few judges compared the answers: {error.message}", error.hint or hint) from error
    compared = [one.value for one in answers.answered]
    # Without a majority for `same`, the answers are debated.
    same = 2 * sum(one.same for one in compared) > len(judges)
    return next((one for one in compared if one.same == same), compared[0].model_copy(update={"same": False}))


# the debate


async def argue(debate: Debate, state: AskState) -> None:
    """Play all rounds. Both authors have already answered, so the user may end the debate before its first round."""
    for r in debate.rounds(debate.settings.rounds, least=0):
        if r.n > 1 and not r.ledger.open:
            state.closed = f"no point was open after round {r.n - 1} of {debate.planned(debate.settings.rounds)}"
            await r.skip("follow-up", f"{state.closed}, so there was nothing to argue about")
            break
        missed = await challenge(r, state)
        r.keep_for_closing(state.size())
        if not any(turn.round == r.n for turn in state.turns):
            r.stop("; ".join(missed))
            break
        missed += await defend(r, state)
        r.keep_for_closing(state.size())
        if missed:
            r.stop("; ".join(missed))
            if r.n == 1:  # a later round that is incomplete does not count, so both were treated alike
                state.unequal = missed
            break
        state.rounds = r.n


async def challenge(r: Round, state: AskState) -> list[str]:
    """Have each author challenge the other's answer. Returns which answers were not challenged, and why."""
    asks = [_challenge(r, state, seat) if r.n == 1 else _follow_up(r, state, seat) for seat in PARTIES]
    step, missed = "challenge" if r.n == 1 else "follow-up", list[str]()
    for one in await r.ask_all(step, asks, need=0):  # in seat order, which gives the points their ids
        by, of = one.who.seat, other(one.who.seat)
        if isinstance(one, Failure):
            missed.append(f"{title(of)} was not challenged ({_failed(r, one)})")
            continue
        await r.note(f"{step}.{by}", _raised(r, one.value, by, of))
        form = one.value
        text = (
            render.challenge(form, r.ledger, by) if isinstance(form, Challenge) else render.follow_up(r.ledger, r.n, by)
        )
        state.turns.append(AnswerTurn(r.n, "challenge", of, text))
    return missed


def _challenge(r: Round, state: AskState, seat: str) -> Ask[Challenge | FollowUp]:
    who, theirs = r.seat(seat), other(seat)
    prompt = fill(
        prompts.CHALLENGE,
        **prompt_head(r, EVIDENCE_RULE),
        case=r.quote("the other answer", state.answers[theirs]),
        own=r.quote("your own answer", state.answers[seat]),
    )
    claims = [c for c in r.ledger.claims if c.by == theirs]
    shown = Material(ballot=partial(duel_ballot.of_challenge, r.topic, state.first[theirs], claims, "the other answer"))
    return Ask(who, prompt, Challenge, reply_checks.challenge(against(r.ledger, theirs), theirs), material=shown)


def _follow_up(r: Round, state: AskState, seat: str) -> Ask[Challenge | FollowUp]:
    who, theirs = r.seat(seat), other(seat)
    mine = against(r.ledger, theirs)
    prompt = fill(
        prompts.FOLLOW_UP,
        **prompt_head(r, EVIDENCE_RULE),
        round=str(r.n),
        case=_case(r, state, seat, theirs),
        points=r.quote("the points at issue", render.points(mine, _named(seat), quoted_since=r.n - 1)),
        open=", ".join(p.id for p in mine.open) or "none",
    )
    now = state.now.get(theirs) or state.first[theirs]
    shown = Material(ballot=partial(duel_ballot.of_follow_up, r.topic, now, mine.open, mine))
    return Ask(who, prompt, FollowUp, reply_checks.follow_up(mine, seat), material=shown)


async def defend(r: Round, state: AskState) -> list[str]:
    """Have each author defend its answer against open points. Returns which answers were not defended, and why."""
    asks = [_defense(r, state, seat) for seat in PARTIES if against(r.ledger, seat).open]
    missed = []
    for one in await r.ask_all("defense", asks, need=0) if asks else ():
        seat = one.who.seat
        if isinstance(one, Failure):
            missed.append(f"{title(seat)} was not defended ({_failed(r, one)})")
            continue
        form = one.value
        new = await r.note(f"defense.{seat}", defended(form, against(r.ledger, seat), r.n, seat, ELSEWHERE))
        state.now[seat] = form.position
        state.turns.append(AnswerTurn(r.n, "defense", seat, render.defense(form, r.ledger, r.n, seat, new)))
    return missed


def _defense(r: Round, state: AskState, seat: str) -> Ask[Defense]:
    mine, theirs = against(r.ledger, seat), other(seat)
    prompt = fill(
        prompts.DEFENSE,
        **prompt_head(r, EVIDENCE_RULE),
        own=r.quote("your own answer", state.answers[seat]),
        case=_case(r, state, seat, seat),
        points=r.quote("the points at issue", render.points(mine, _named(seat), quoted_since=r.n - 1)),
        open=", ".join(p.id for p in mine.open) or "none",
        other=r.quote("the other answer", state.now.get(theirs) or state.answers[theirs]),
    )
    now = state.now.get(seat) or state.first[seat]
    shown = Material(ballot=partial(duel_ballot.of_defense, r.topic, now, mine.open))
    return Ask(r.seat(seat), prompt, Defense, reply_checks.defense(mine, seat), material=shown)


def _case(r: Round, state: AskState, seat: str, of: str) -> str:
    """Quote what was said since the last round about the answer of `of`; for its challenger, the answer itself, too."""
    whose = "your own answer" if seat == of else "the other answer"
    latest = [turn for turn in state.turns if turn.of == of and turn.round >= r.n - 1]
    before = [r.quote(whose, state.answers[of])] if seat != of else []
    quoted = [r.quote(f"round {turn.round}, {turn.step} of {whose}", turn.text) for turn in latest]
    return "\n\n".join([*before, *quoted])


def _raised(r: Round, form: Challenge | FollowUp, by: str, of: str) -> list[Entry]:
    """Return the ledger entries of a challenge: rulings on earlier points, points that were dropped, and new points."""
    new = [_point(flaw, by, of, r.n) for flaw in form.flaws if flaw.text]
    if isinstance(form, Challenge):
        return [*new]
    again = {issue.id for p in new if (issue := r.ledger.repeated(p))}
    return [*ruled(form, against(r.ledger, of), r.n, again, by, ELSEWHERE), *new]


def _point(flaw: Flaw, by: str, of: str, n: int) -> Point:
    """Return the point of a flaw. It is about the whole answer: points about different documents are never joined."""
    return replace(flaw.point(by, n), about=title(of))


def _named(seat: str) -> Callable[[str], str]:
    """Return a function that names seats and answers in the prompt of this seat."""
    names = {one: "you" if one == seat else "the other author" for one in PARTIES}
    titles = {title(one): "your own answer" if one == seat else "the other answer" for one in PARTIES}
    return lambda name: (names | titles).get(name, name)


def _failed(r: Round, failure: Failure) -> str:
    return f"{r.speaker(failure.who)} failed: {describe(failure)}" if failure.kind != "budget" else failure.message
