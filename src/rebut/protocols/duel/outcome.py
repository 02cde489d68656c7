"""How a duel ends: with a verdict, or with a heading that says why there is none; and what the debate changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rebut.core.ballot import Ballot
from rebut.core.errors import ParticipantFailed
from rebut.core.json_value import Json
from rebut.core.markdown import inline, tame
from rebut.core.text import counted, squeeze
from rebut.core.types import Material
from rebut.domain.checks import to_weigh
from rebut.domain.doubts import Doubt
from rebut.domain.ledger import UNPROVEN, Ledger
from rebut.domain.outcome import DecisionNotes, Outcome
from rebut.domain.prompts import FENCES, fill
from rebut.domain.worth import TAKEN, Worth, fates, quoted
from rebut.engine.debate import Debate
from rebut.protocols.duel import ballot, judges, prompts, render, reply_checks
from rebut.protocols.duel.forms import Decision
from rebut.protocols.duel.state import DuelState
from rebut.protocols.shared import UNCONTESTED, began_before, check_ignored, of_rounds, overruled

CHECKED = 5
"""The first version that checks the judge's statements against the record."""


async def verdict(debate: Debate, state: DuelState) -> Outcome:
    rounds, planned = state.complete_rounds(), debate.planned(debate.settings.rounds)
    ledger = debate.ledger.upto(rounds)  # an incomplete round does not count

    def prompt(order: judges.Order) -> str:
        sides = order.arranged()
        turns = [turn for turn in state.turns if turn.round <= rounds]
        turns.sort(key=lambda turn: (turn.round, sides.index(turn.role)))
        return fill(
            prompts.VERDICT,
            fences=FENCES,
            topic=debate.quote("topic", debate.topic),
            transcript="\n\n".join(debate.quote(f"round {turn.round}, {turn.role}", turn.text) for turn in turns),
            points=debate.quote("the points at issue", render.points(ledger, quoted_since=1)),
            checked=render.checked(ledger) + to_weigh("point", debate.runners),
            # The reason for an early end is left out: limits and providers' messages do not belong in a prompt.
            rounds=f"{rounds} of {planned} rounds were completed.",
        )

    trusting = await began_before(debate, CHECKED, "trusting")
    data: dict[str, Json] = {"rounds_completed": rounds, "exchanges": state.exchanges()}
    try:
        judged = await judges.judge(
            debate,
            prompt,
            schema=Decision,
            winner=lambda form, order: form.winner,
            reasoning=lambda form, order: form.reasoning,
            check=lambda order: reply_checks.decision(ledger, trusting=trusting),
            material=lambda order: Material(ballot=lambda: _ballot(debate, ledger)),
        )
    except ParticipantFailed as error:
        if error.kind != "budget":  # a judge that failed can be resumed
            raise judges.stopped(debate, error, data) from error
        return no_verdict(debate, state, data, Doubt("ended early", said=error.message))
    data |= judged.data()
    decision = judged.form
    if decision is None:
        return no_verdict(debate, state, data, judged.undecided(), judged)
    # All points of the winning challenger are struck: it may still be right, but its evidence does not show that.
    baseless = decision.winner == "challenger" and bool(ledger.points) and dict(fates(ledger)).keys() == {"struck"}
    doubts: list[Doubt] = []
    if rounds != planned and not state.closed:
        doubts.append(Doubt("ended early", said=debate.stopped))
    if not ledger.points:  # the challenger answered and found nothing, even when sent back
        doubts.append(Doubt("nothing raised", said="the challenger raised no point"))
    if state.summary_failed:
        doubts.append(Doubt("part missing", said="an earlier round could not be summed up for the judge"))
    misread, misread_notes = ([], []) if trusting else judged.misreadings(ledger)
    doubts += misread
    if ignored := overruled(ledger, reply_checks.lost(ledger, decision), decision):
        doubts.append(check_ignored(ignored, "the verdict goes against"))
    if baseless:
        doubts.append(Doubt("struck points", said="every point of the challenger cites something that is absent"))
    return Outcome(
        kind="verdict",
        heading=_heading(state, ledger, rounds, planned, baseless),
        decision=decision.recommendation,
        verdict=judged.verdict(decision.reasoning, decision.recommendation),
        doubts=tuple(doubts),
        stopped=debate.stopped,
        final=render.report(debate, ledger, decision, rounds, state.notes, judged.lines()),
        data={**data, "decision": decision.model_dump(mode="json")},
        decision_notes=DecisionNotes(
            alternatives=tuple(f"{d.point}: {d.proposer}, or {d.challenger}" for d in decision.disagreements),
            dissent=judged.dissenting(ledger),
        ),
        notes=(*state.notes, *misread_notes),
        ledger=ledger,
        rows=(*judged.rows(), *render.rows(ledger, decision)),
        worth=worth(
            debate.answers, ledger, decision.winner, "" if rounds == planned else of_rounds(rounds, planned).lower()
        ),
    )


def _ballot(debate: Debate, ledger: Ledger) -> Ballot:
    """The ballot of a person who judges: what each side wants, and the points."""
    answers = debate.answers
    said = [_position(v) for k, v in answers.items() if k.endswith("@proposer")]
    challenge = answers.get("r1/challenge@challenger")
    others = challenge.get("alternatives") if isinstance(challenge, dict) else None
    alternative = str(others[0]) if isinstance(others, list) and others else ""
    return ballot.of_judge(debate.topic, ledger, next((p for p in reversed(said) if p), ""), alternative)


def _heading(state: DuelState, ledger: Ledger, rounds: int, planned: int, baseless: bool) -> str:
    heading = "VERDICT" if rounds == planned else f"VERDICT AFTER {of_rounds(rounds, planned)}"
    if state.closed and ledger.points:
        heading = f"VERDICT, NOTHING LEFT OPEN AFTER {of_rounds(rounds, planned)}"
    if not ledger.points:
        heading = f"UNCONTESTED {heading}"
    if state.summary_failed:
        heading = f"{heading} WITHOUT A SUMMARY"
    return f"{heading} ON STRUCK POINTS ALONE" if baseless else heading


def no_verdict(
    debate: Debate,
    state: DuelState,
    data: dict[str, Json],
    why: Doubt,
    judged: judges.JudgesDecision[Decision] | None = None,
) -> Outcome:
    """The duel ends without a winner: a limit left no room for the judge, or the judges did not agree on a side."""
    rounds = state.complete_rounds()
    ledger = debate.ledger.upto(rounds)
    return Outcome(
        kind="no verdict",
        heading="NO VERDICT",
        doubts=(why,),
        stopped="" if judged else why.said,
        final=render.without_verdict(debate, rounds, why.said, judged.lines() if judged else ()),
        data=data,
        notes=tuple(state.notes),
        ledger=ledger,
        rows=judged.rows() if judged else (),
        worth=worth(debate.answers, ledger, caveat="there was no verdict"),
    )


def uncontested(debate: Debate, state: DuelState) -> Outcome:
    """The outcome if the challenger never answered: the proposer's position alone, marked as uncontested."""
    opening, why = state.turns[0], "was not asked" if state.unasked else "never answered"
    return Outcome(
        kind="uncontested",
        unsettled=UNCONTESTED,
        heading="UNCONTESTED",
        decision=opening.quotable,
        doubts=(Doubt("seats missing", said=f"the challenger {why}"),),
        stopped=f"the challenger {why}: {debate.stopped}",
        final="\n\n".join([prompts.UNCONTESTED.replace("$why", why), *_fallbacks(debate), tame(opening.text)]) + "\n",
        data={"position": opening.quotable, "rounds_completed": 0, "exchanges": state.exchanges()},
        worth=Worth(caveat=f"the challenger {why}, so the first answer is all there is"),
    )


def _fallbacks(debate: Debate) -> list[str]:
    return [f"- {inline(one)}" for one in debate.fallbacks]


def undebated(debate: Debate, state: DuelState) -> Outcome:
    """The outcome if two answers differ and the user ended the debate before its first round: no verdict."""
    sides = [("proposer", state.turns[0].text), ("challenger", state.own_answer)]
    return Outcome(
        kind="no verdict",
        heading="NO VERDICT, THE ANSWERS DIFFER",
        doubts=(Doubt("ended early", said=debate.stopped),),
        stopped=debate.stopped,
        final="\n\n".join(
            [prompts.UNDEBATED, *_fallbacks(debate), *(f"## {role}\n\n{tame(text)}" for role, text in sides)]
        )
        + "\n",
        data={"rounds_completed": 0, "exchanges": state.exchanges()},
    )


def partial(debate: Debate) -> Outcome:
    """The result at a deadline: the proposer's latest position and the points that are open."""
    answers, state = debate.answers, debate.state
    assert isinstance(state, DuelState)
    cases = [v for k, v in answers.items() if k.endswith("@proposer") and isinstance(v, dict)]
    rounds = state.complete_rounds()
    position = str(cases[-1].get("position", "")) if cases else ""
    return Outcome(
        kind="partial",
        heading=f"NO VERDICT YET, {of_rounds(rounds, debate.planned(debate.settings.rounds))}",
        decision=position,
        basis=f"round {rounds}" if rounds else ("the opening alone" if cases else "nothing yet"),
        final=render.without_verdict(debate, rounds, "the deadline came first"),
        data={"position": position, "rounds_completed": rounds, "exchanges": state.exchanges()},
    )


# whether the debate was worth it: the opening before any challenge, and what the debate changed

OPENING = "r1/opening@proposer"
VERDICTS = {"proposer": "the verdict stays with it", "": "no decision"}


def worth(answers: Mapping[str, Json], ledger: Ledger, winner: str = "", caveat: str = "") -> Worth:
    """Return what the debate changed. `winner` is empty if there was no verdict."""
    first = _position(answers.get(OPENING))
    claims = [c for c in ledger.claims if c.round == 1 and c.by == "proposer"]
    unsupported = sum(1 for c in claims if c.unsupported)
    rests_on = counted(len(claims), "claim") + (f", {unsupported} unsupported" if unsupported else "")
    changed = moved(answers, ledger, first)
    same = not changed if winner == "proposer" else False if winner else None
    if not same:
        changed.insert(0, VERDICTS.get(winner, "the verdict goes against it"))
    return Worth(
        first=f"{quoted(first)} on {rests_on}",
        points=fates(ledger),
        changed=tuple(changed),
        same=same,
        caveat=caveat,
        keys=(OPENING,),
    )


def moved(answers: Mapping[str, Json], ledger: Ledger, first: str, seat: str = "proposer") -> list[str]:
    """Say whether a seat's position changed, and which points it accepted. A rewording alone is not a change."""
    accepted = [p.id for p in ledger.points if is_accepted(ledger, p.id, seat)]
    later = [_position(v) for k, v in answers.items() if k.endswith(f"/defense@{seat}")]
    last = next((p for p in reversed(later) if p), first)
    if accepted and squeeze(last) != squeeze(first):
        return [f"position moved after {', '.join(accepted)}"]
    if accepted:
        return [f"{', '.join(accepted)} accepted, position kept"]
    granted = [p.id for p in ledger.points if _last(ledger, p.id, seat) == UNPROVEN]
    if granted and squeeze(last) != squeeze(first):
        return [f"position moved, with {', '.join(granted)} conceded without evidence"]
    return []


def is_accepted(ledger: Ledger, id: str, seat: str = "proposer") -> bool:
    """Whether a seat accepted a point, in part or as a whole, whatever was ruled on it afterwards."""
    return ledger.status(id) in TAKEN or _last(ledger, id, seat) in TAKEN


def _last(ledger: Ledger, id: str, seat: str) -> str:
    """The status that a seat's last answer to a point gives that point, without later rulings; empty for no answer."""
    own = [move.after for move in ledger.moves if move.point == id and move.by == seat]
    return own[-1] if own else ""


def _position(value: Any) -> str:
    return str(value.get("position", "")) if isinstance(value, dict) else ""
