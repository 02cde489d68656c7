"""How a question ends: with the answer that a judge prefers, the answer that both gave, or no decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rebut.core.errors import ParticipantFailed
from rebut.core.json_value import Json
from rebut.core.markdown import inline, tame
from rebut.core.text import cut
from rebut.core.types import Material
from rebut.domain.answers import Check
from rebut.domain.checks import to_weigh
from rebut.domain.doubts import Doubt
from rebut.domain.ledger import Ledger, baseless
from rebut.domain.outcome import DecisionNotes, Outcome, Verdict, Vote
from rebut.domain.prompts import FENCES, fill
from rebut.domain.render import section
from rebut.domain.side_by_side import GivenAnswer, SideBySide
from rebut.domain.worth import Worth, fates, quoted
from rebut.engine.debate import Debate, Failure
from rebut.protocols.ask import ballot, prompts
from rebut.protocols.ask.forms import Choice
from rebut.protocols.ask.old_versions import BLIND
from rebut.protocols.ask.state import PARTIES, AskState, against, author, renamed, title
from rebut.protocols.duel import judges, outcome as duel_outcome, render, reply_checks
from rebut.protocols.duel.outcome import is_accepted, moved
from rebut.protocols.duel.state import DuelState
from rebut.protocols.shared import (
    UNCONTESTED,
    check_ignored,
    name_faults,
    of_rounds,
    overruled,
)

LONGEST = 120
"""The most characters of an answer in a heading."""


async def verdict(debate: Debate, state: AskState) -> Outcome:
    planned = debate.planned(debate.settings.rounds)
    ledger = debate.ledger.upto(state.rounds or 1)  # a later round that is incomplete does not count

    def prompt(order: judges.Order) -> str:
        def shown(text: str) -> str:
            return renamed(text) if order.renamed else text

        sides = order.arranged()
        turns = [turn for turn in state.turns if turn.round <= (state.rounds or 1)]
        turns.sort(key=lambda turn: (turn.round, turn.step != "challenge", sides.index(turn.of)))
        texts = [(title(seat), state.answers[seat]) for seat in sides] + [(turn.label, turn.text) for turn in turns]
        return fill(
            prompts.VERDICT,
            fences=FENCES,
            topic=debate.quote("topic", debate.topic),
            # The reason for an early end is left out: limits and providers' messages do not belong in a prompt.
            rounds=f"{state.rounds} of {planned} rounds were completed.",
            transcript="\n\n".join(debate.quote(shown(label), shown(text)) for label, text in texts),
            points=debate.quote("the points at issue", shown(render.points(ledger, author, quoted_since=1))),
            checked=shown(render.checked(ledger, author)) + to_weigh("point", debate.runners),
        )

    def winner(form: Choice, order: judges.Order) -> str:
        return PARTIES[int((renamed(form.better) if order.renamed else form.better)[-1]) - 1]

    def reasoning(form: Choice, order: judges.Order) -> str:
        return renamed(form.reasoning) if order.renamed else form.reasoning

    def check(order: judges.Order) -> Check:
        def of_reply(reply: Choice) -> list[str]:
            wrong = reply_checks.reasoned(ledger, reply.reasoning)
            wrong += [] if reply.answer else ["there is no answer for the reader: say what to do"]
            return wrong + name_faults(overruled(ledger, _lost(ledger, winner(reply, order)), reply))

        return of_reply

    try:
        judged = await judges.judge(
            debate,
            prompt,
            schema=Choice,
            winner=winner,
            reasoning=reasoning,
            check=check,
            material=lambda order: Material(ballot=ballot.of_verdict(debate.topic, state, ledger, order.renamed)),
        )
    except ParticipantFailed as error:
        return no_verdict(debate, state, error)
    choice = judged.form
    if choice is None:
        return judges_differ(debate, state, judged)
    chosen = int(choice.better[-1])
    made = _side_by_side(debate, state, chosen)
    misread, misread_notes = judged.misreadings(ledger)
    return Outcome(
        kind="verdict",
        heading=_heading(state, planned),
        decision=choice.answer,
        verdict=_verdict(judged, choice),
        doubts=(*_doubts(debate, state, ledger, PARTIES[chosen - 1], choice), *misread),
        stopped=debate.stopped,
        final=_report(debate, state, choice, judged.lines(title)),
        data={**_data(state), **judged.data(_numbered), "decision": choice.model_dump(mode="json")},
        decision_notes=DecisionNotes(
            alternatives=(made.answers[2 - chosen].now,), dissent=judged.dissenting(ledger, title)
        ),
        notes=(*((f"{state.closed}, so the debate ended early",) if state.closed else ()), *misread_notes),
        rows=(*judged.rows(title), *(("unresolved", cut(question, 160)) for question in choice.unresolved[:3])),
        worth=_worth(debate, state, ledger, f"judged for {choice.better}"),
    ).with_answers(made)


def _verdict(judged: judges.JudgesDecision[Choice], choice: Choice) -> Verdict:
    """The verdict, with the answers by their numbers instead of the seats that wrote them."""
    made = judged.verdict(choice.reasoning, choice.answer)
    votes, dissent = (tuple(_numbered(vote) for vote in votes) for votes in (made.votes, made.dissent))
    return replace(made, winner=choice.better, votes=votes, dissent=dissent)


def _numbered(vote: Vote) -> Vote:
    named = {seat: title(seat) for seat in PARTIES}
    return replace(vote, winner=named.get(vote.winner, ""), other_order=named.get(vote.other_order, ""))


def judges_differ(debate: Debate, state: AskState, judged: judges.JudgesDecision[Choice]) -> Outcome:
    """The outcome if no answer has a majority of the judges, or the choice changes with the order of the answers."""
    doubt = judged.undecided()
    votes = section("## Votes", judged.lines(title), "")
    text = "\n\n".join([f"## Answer\n\nNone: {doubt.said}.", votes, *_pages(debate, state)]) + "\n"
    made = _undecided(debate, state, "NO VERDICT", doubt.said, text)
    data = {**made.data, **judged.data(_numbered)}
    return made.filled(doubts=(doubt,), stopped="", rows=judged.rows(title), data=data)


def _heading(state: AskState, planned: int) -> str:
    if state.closed:
        return f"VERDICT, NOTHING LEFT OPEN AFTER {of_rounds(state.rounds, planned)}"
    return "VERDICT" if state.rounds in (0, planned) else f"VERDICT AFTER {of_rounds(state.rounds, planned)}"


def _doubts(debate: Debate, state: AskState, ledger: Ledger, winner: str, choice: Choice) -> list[Doubt]:
    """Return the doubts about a verdict, such as an answer that was not challenged or defended in every round."""
    doubts = [Doubt("seats missing", missed.partition(" (")[0].upper(), missed) for missed in state.unequal]
    if state.rounds != debate.planned(debate.settings.rounds) and not state.closed and not doubts:
        doubts.append(Doubt("ended early", said=debate.stopped))
    for seat in PARTIES:
        if not against(ledger, seat).points and not any(title(seat) in doubt.said for doubt in doubts):
            said = f"nothing was raised against {title(seat)}"
            doubts.append(Doubt("nothing raised", said.upper(), said))
    if ignored := overruled(ledger, _lost(ledger, winner), choice):
        doubts.append(check_ignored(ignored, "the verdict goes against"))
    mine = [c.evidence for c in ledger.claims if c.by == winner] + [p.evidence for p in ledger.points if p.by == winner]
    if mine and all(baseless(cited) for cited in mine):
        said = f"every citation of {title(winner)} is absent"
        doubts.append(Doubt("struck points", said.upper(), said))
    return doubts


def _lost(ledger: Ledger, winner: str) -> list[str]:
    """The ids of the open points against the answer that is preferred: the verdict goes against them."""
    return [p.id for p in against(ledger, winner).open]


def no_verdict(debate: Debate, state: AskState, error: ParticipantFailed) -> Outcome:
    """The outcome if a limit leaves no room for the judge. Raises `Aborted` if a judge failed: resume asks it again."""
    if error.kind != "budget":
        raise judges.stopped(debate, error, _data(state)) from error
    text = "\n\n".join([f"## Answer\n\nNone: {inline(error.message)}.", *_pages(debate, state)]) + "\n"
    return _undecided(debate, state, "NO VERDICT", error.message, text)


def undebated(debate: Debate, state: AskState) -> Outcome:
    """The outcome if the answers differ and neither was challenged: the user ended the debate, or both calls failed."""
    text = "\n\n".join([prompts.UNDEBATED, *_pages(debate, state)]) + "\n"
    return _undecided(debate, state, "NO VERDICT, THE ANSWERS DIFFER", debate.stopped, text)


def _undecided(debate: Debate, state: AskState, heading: str, why: str, final: str) -> Outcome:
    made = Outcome(
        kind="no verdict",
        heading=heading,
        doubts=(Doubt("ended early" if state.turns else "undecided", said=why),),
        stopped=why,
        final=final,
        data=_data(state),
        worth=_worth(debate, state, debate.ledger, "no decision"),
    )
    return made.with_answers(_side_by_side(debate, state))


# without a debate


def agreed(debate: Debate, state: AskState) -> Outcome:
    compared = state.compared
    assert compared is not None
    decision = compared.recommendation or compared.first
    made = Outcome(
        kind="uncontested",
        unsettled=UNCONTESTED,
        heading=f"BOTH AGREE: {cut(decision, LONGEST).rstrip('.')}",
        decision=decision,
        doubts=(Doubt("uncontested", said="both chose the same, and neither argued against it"),),
        final="\n\n".join([prompts.AGREED, tame(compared.reason), *_pages(debate, state)]) + "\n",
        data={"first": _first(state)},
        worth=Worth(first=f"both chose {quoted(compared.first)}", same=True, keys=BLIND),
    )
    return made.with_answers(_side_by_side(debate, state))


def one_answer(debate: Debate, state: AskState, lost: Failure) -> Outcome:
    [(seat, text)] = state.answers.items()
    position = state.first[seat]
    made = Outcome(
        kind="uncontested",
        unsettled=UNCONTESTED,
        heading="ONE ANSWER",
        decision=position,
        doubts=(Doubt("seats missing", said="one of two models did not answer"),),
        stopped=f"the {lost.who.seat} ({debate.speaker(lost.who)}) did not answer: {lost.kind}, {lost.message}",
        final=f"{prompts.ONE_ANSWER}\n\n## {debate.speaker(debate.seat(seat))}\n\n{text}\n",
        data={"position": position},
        worth=Worth(caveat="only one of two answered, so there is nothing to compare it with"),
    )
    return made.with_answers(_side_by_side(debate, state))


def partial(debate: Debate) -> Outcome:
    """The result at a deadline: the answers so far. If there are two, neither is the decision."""
    state = debate.state
    if isinstance(state, DuelState):
        return duel_outcome.partial(debate)  # a session of an old version
    assert isinstance(state, AskState)
    blind = {k.partition("@")[2]: v for k, v in debate.answers.items() if k.startswith("answer@")}
    first = {seat: str(v.get("position", "")) for seat in PARTIES if isinstance(v := blind.get(seat), dict)}
    positions = {seat: state.now.get(seat) or text for seat, text in first.items()}
    counted = f"{len(positions)} OF {len(PARTIES)} ANSWERS"
    planned = debate.planned(debate.settings.rounds)
    made = Outcome(
        kind="partial",
        heading=f"NO VERDICT YET, {of_rounds(state.rounds, planned) if state.turns else counted}",
        decision=f"Undecided: {'; or: '.join(positions.values())}"
        if len(positions) > 1
        else "".join(positions.values()),
        basis=f"round {state.rounds}" if positions else "nothing yet",
        final="\n\n".join(f"## {title(seat).capitalize()}\n\n{tame(text)}" for seat, text in positions.items()),
        data={"first": {"answers": dict[str, Json](first)}, "rounds_completed": state.rounds},
    )
    state.first = first
    return made.with_answers(_side_by_side(debate, state)) if first else made


# the parts of every outcome


def _side_by_side(debate: Debate, state: AskState, chosen: int = 0) -> SideBySide:
    answers = []
    for seat in PARTIES:
        if seat not in state.first:
            continue
        points = [p.id for p in against(debate.ledger, seat).points]
        answers.append(
            GivenAnswer(
                seat=seat,
                model=debate.speaker(debate.seat(seat)),
                first=state.first[seat],
                final=state.now.get(seat, ""),
                points=tuple(points),
                accepted=tuple(id for id in points if is_accepted(debate.ledger, id, seat)),
            )
        )
    compared = state.compared
    return SideBySide(
        answers=tuple(answers),
        same=compared.same if compared else None,
        differ=compared.reason if compared else "",
        chosen=chosen,
        rounds=state.rounds,
        unequal=tuple(state.unequal),
    )


def _first(state: AskState) -> Json:
    compared = state.compared
    assert compared is not None
    return {"same": compared.same, "reason": compared.reason, "answers": dict[str, Json](state.first)}


def _data(state: AskState) -> dict[str, Json]:
    return {"rounds_completed": state.rounds, "exchanges": state.exchanges(), "first": _first(state)}


def _worth(debate: Debate, state: AskState, ledger: Ledger, decided: str) -> Worth:
    """Return what the debate changed. The answers differed, so the result is never what both said at first."""
    compared, answers = state.compared, debate.answers
    assert compared is not None
    changed = [decided]
    for seat in PARTIES:
        changed += [f"{title(seat)}: {what}" for what in moved(answers, against(ledger, seat), state.first[seat], seat)]
    return Worth(
        first=f"one said {quoted(compared.first)}, the other {quoted(compared.second)}",
        points=fates(ledger),
        changed=tuple(changed),
        same=None if decided == "no decision" else False,
        keys=BLIND,
    )


def _report(debate: Debate, state: AskState, choice: Choice, votes: Sequence[str]) -> str:
    """The whole report: the decision, the reasons, and both answers with what was said about each."""
    parts = [
        f"## Answer\n\n{tame(choice.answer)}",
        f"The judge prefers {choice.better} because: {tame(choice.reasoning)}",
        section("## Votes", votes, "") if votes else "",
        *_pages(debate, state),
        section("## Unresolved", choice.unresolved),
        section("## Not done to both answers alike", state.unequal) if state.unequal else "",
        f"## Checked by the program\n\n{inline(render.checked(debate.ledger, author))}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _pages(debate: Debate, state: AskState) -> list[str]:
    """The sections of a report: where the answers differ, then each answer with what was said about it."""
    compared, parts = state.compared, list[str]()
    if compared and not compared.same:
        parts.append(f"## Where they differ\n\n{tame(compared.reason)}")
    for seat in PARTIES:
        who = inline(debate.speaker(debate.seat(seat)))
        parts.append(f"## {title(seat).capitalize()} ({who})\n\n{tame(state.answers[seat])}")
        turns = [turn for turn in state.turns if turn.of == seat]
        parts += [f"### Round {turn.round}, {turn.step}\n\n{tame(turn.text)}" for turn in turns]
    return parts
