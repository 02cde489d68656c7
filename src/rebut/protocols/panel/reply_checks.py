"""Checks of the replies in a panel, and what follows from the replies. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from rebut.core.text import squeeze
from rebut.domain.forms import Cite, fault_of, weighs_checks
from rebut.domain.ledger import Ledger, MoveKind, Point, Same
from rebut.protocols.panel.forms import (
    Assumptions,
    Brief,
    Challenge,
    Confrontation,
    Examined,
    Grounds,
    Opening,
    Rebuttal,
    Response,
)
from rebut.protocols.shared import called_same, is_shown, unknown, unsound

STRENGTHS = ("minor", "moderate", "strong")
MOVES: dict[str, MoveKind] = {"accept": "concede", "partial": "partly", "reject": "defend"}
NAME = {"P1": "strong", "P2": "moderate", "P3": "minor"}
FEWEST_WORDS = 4
"""The fewest words of a reason that counts without evidence."""


# what follows from a reply


def strongest(*strengths: str) -> str:
    return max(strengths, key=STRENGTHS.index)


def strength_of(form: Challenge) -> str:
    """The strength of the objection: the stated one, or that of the gravest point if it is graver."""
    return strongest(form.objection_strength, *(p.strength for p in form.points if p.text))


def engaged(examined: Iterable[Examined], looks_for: Sequence[str]) -> bool:
    """Whether the reply names something it examined, tied to an item of the persona's own list."""
    items = [(squeeze(item).casefold(), _words(item)) for item in looks_for if item.strip()]

    def tied(angle: str, what: str) -> bool:
        named, words = squeeze(angle).casefold(), _words(f"{angle} {what}")
        # One word in common may be an accident, unless the item has only one.
        return any(item in named or (own and len(words & own) >= min(2, len(own))) for item, own in items)

    return any(e.what and tied(e.angle, e.what) for e in examined)


def doubtful(form: Challenge, looks_for: Sequence[str]) -> bool:
    """Whether a reply agrees without naming anything that it examined from its own angle."""
    return form.verdict == "agree" and not engaged(form.examined, looks_for)


def accepts(form: Challenge, looks_for: Sequence[str]) -> bool:
    """Whether a reply accepts the position: its verdict is agree, or partial with minor objections."""
    return not doubtful(form, looks_for) and form.verdict != "disagree" and strength_of(form) == "minor"


def contested(ledger: Ledger, seats: Iterable[str]) -> list[Point]:
    """Points that one of these seats raised and has not given up."""
    wanted = set(seats)
    return [p for p in ledger.points if any(holds(ledger, p, seat) for seat in p.voices if seat in wanted)]


def holds(ledger: Ledger, point: Point, seat: str) -> bool:
    last = [m.kind for m in ledger.moves if m.point == point.id and m.by == seat]
    return seat in point.voices and (not last or last[-1] not in ("resolve", "withdraw"))


def unanswered(ledger: Ledger) -> list[Point]:
    """Points that the lead has not answered yet."""
    answered = {m.point for m in ledger.moves if m.by == "lead"}
    return [p for p in ledger.points if p.id not in answered]


def thin(reason: str, evidence: Sequence[Cite]) -> bool:
    """Whether a reason is too short to count: a few words, and nothing cited."""
    return not any(c.place for c in evidence) and len(reason.split()) < FEWEST_WORDS


def agrees_now(form: Rebuttal, mine: Sequence[Point], looks_for: Sequence[str], doubted: bool) -> bool:
    """Whether a dissenter accepts now: it says so, accepts every point, and raises nothing but minor points."""
    if form.answer != "accept" or any(r.ruling != "accept" for r in form.rulings):
        return False
    if any(p.text and p.strength != "minor" for p in form.points):
        return False
    return not still_doubtful(form, mine, looks_for, doubted)


def still_doubtful(form: Rebuttal, mine: Sequence[Point], looks_for: Sequence[str], doubted: bool) -> bool:
    """Whether an expert that agreed without naming what it examined says nothing of substance now, either."""
    own = {p.id for p in mine}
    said = any(p.text for p in form.points) or any(one.id in own for one in form.rulings)
    return doubted and not said and not engaged(form.examined, looks_for)


# checks: what is wrong with a reply, which is sent back once


def opening(reply: Opening) -> list[str]:
    wrong = [] if reply.position else ["the position is empty: take a clear position"]
    if not any(c.text for c in reply.reasoning):
        wrong.append("there is no reasoning: say what the position rests on, one claim each")
    if not any(reply.weaknesses):
        wrong.append("no weakness is named: say where the position is weakest")
    if not any(reply.assumptions):
        wrong.append("no assumption is named: say what must be true for the position to hold")
    return wrong


def challenge(ledger: Ledger, looks_for: Sequence[str]) -> Callable[[Challenge], list[str]]:
    def check(reply: Challenge) -> list[str]:
        wrong = []
        if doubtful(reply, looks_for):
            wrong.append("you agree, but `examined` names nothing from your own list: say what you examined")
        if reply.verdict != "agree" and not any(p.text for p in reply.points):
            wrong.append(f"the verdict is {reply.verdict}, but no point says why")
        if reply.objection_strength != strength_of(reply):
            wrong.append(f"objection_strength is {reply.objection_strength}, but one point is {strength_of(reply)}")
        about = sorted({p.about for p in reply.points if p.about})
        wrong += unsound(ledger, (p.point("", 1) for p in reply.points))
        return wrong + unknown(about, (c.id for c in ledger.claims), "claim")

    return check


def confrontation(ledger: Ledger, points: Sequence[Point], before: str) -> Callable[[Confrontation], list[str]]:
    def check(reply: Confrontation) -> list[str]:
        wrong = responses(ledger, points)(reply)
        if not reply.position:
            wrong.append("the position is empty: give your whole current position")
        known = ledger.ids() | {m.point for m in ledger.unplaced}
        named = {id for change in reply.changes for id in change.because}
        wrong += unknown(sorted(named - known), ledger.point_ids)
        if unexplained(reply, before, known):
            wrong.append("the position changed, but `changes` names no point that caused it")
        for one in reply.responses:
            if one.move != "reject" and one.id in known and not named & {one.id, one.same_as}:
                done = "accepted" if one.move == "accept" else "accepted in part"
                wrong.append(f"{one.id} is {done}, but it causes no change: change something, or reject it")
        return wrong

    return check


def unexplained(reply: Confrontation, before: str, known: Iterable[str]) -> bool:
    changed = bool(reply.position) and squeeze(reply.position) != squeeze(before)
    return changed and not any(id in set(known) for change in reply.changes for id in change.because)


def responses(ledger: Ledger, points: Sequence[Point]) -> Callable[[Confrontation | Brief], list[str]]:
    def check(reply: Confrontation | Brief) -> list[str]:
        answered = {ledger.issue_of(r.id) for r in reply.responses if r.reason}
        wrong = [
            f"{p.id} is not answered: accept, partial or reject, with a reason" for p in points if p.id not in answered
        ]
        wrong += unknown((r.id for r in reply.responses), ledger.point_ids)
        wrong += [
            f"{id} is rejected, but its check is marked shown: say under `check_fault` what is wrong with it"
            for id in overruled(ledger, reply.responses)
        ]
        return wrong + joins(ledger, reply.responses, 0)[1]

    return check


def overruled(ledger: Ledger, responses: Sequence[Response]) -> list[str]:
    """The ids of points that the lead rejects although a check shows them, without a fault found in the check.

    A person who leads has no field for such a fault, and is not asked for it.
    """
    rejected = [one for one in responses if one.move == "reject" and weighs_checks(one) and not fault_of(one)]
    return list(dict.fromkeys(ledger.issue_of(one.id) for one in rejected if is_shown(ledger, one.id)))


def joins(ledger: Ledger, responses: Sequence[Response], n: int) -> tuple[list[Same], list[str]]:
    """The lead's joins of points to earlier ones, and complaints about joins that make no sense."""
    return called_same(ledger, "lead", n, [(one.id, one.same_as, MOVES[one.move]) for one in responses])


def rebuttal(ledger: Ledger, seat: str) -> Callable[[Rebuttal], list[str]]:
    def check(reply: Rebuttal) -> list[str]:
        mine = [p for p in ledger.points if holds(ledger, p, seat)]
        ruled = {ledger.issue_of(r.id) for r in reply.rulings}
        wrong = [f"{p.id} is yours and is not ruled on" for p in mine if p.id not in ruled]
        wrong += unknown((r.id for r in reply.rulings), ledger.point_ids)
        foreign = [p.id for p in ledger.points if p.id in ruled and seat not in p.voices]
        wrong += [f"{id} is another expert's point: rule on your own" for id in foreign]
        wrong += unsound(ledger, (p.point(seat, 0) for p in reply.points))
        for one in reply.rulings:
            if one.ruling == "accept" and thin(one.reason, one.evidence):
                wrong.append(f"{one.id} is accepted without a reason: say what convinced you")
        refused = [r.id for r in reply.rulings if r.ruling != "accept"]
        if reply.answer == "accept" and refused:
            wrong.append(f"the answer is accept, but {_listed(refused)} is not")
        if reply.answer != "accept" and reply.rulings and not refused and not any(p.text for p in reply.points):
            wrong.append(f"the answer is {reply.answer}, but every point is accepted and none is new")
        return wrong

    return check


def grounds(reply: Grounds) -> list[str]:
    wrong = [] if reply.why else ["`why` is empty"]
    wrong += [] if reply.other_right else ["`other_right` is empty: say what would make the other side right"]
    wrong += [] if any(reply.assumptions) else ["no assumption is named"]
    return wrong + (
        [] if any(c.question for c in reply.cruxes) else ["no crux is named: say what would change your mind"]
    )


def mapping(parties: Sequence[str]) -> Callable[[Assumptions], list[str]]:
    known = {p.casefold() for p in parties}

    def check(reply: Assumptions) -> list[str]:
        wrong = [] if reply.core_disagreement else ["the core disagreement is empty"]
        if not any(a.text for a in reply.assumptions):
            wrong.append("no assumption is listed")
        for one in reply.assumptions:
            if not one.held_by:
                wrong.append(f"no party holds {one.text!r:.60}")
            odd = [p for p in (*one.held_by, *one.denied_by) if p.casefold() not in known]
            wrong += [f"there is no party {p!r}: the parties are {_listed(parties)}" for p in odd]
        return wrong

    return check


def checkable(question: str, how: str) -> bool:
    """Whether a crux is a question, with a way to find out the answer."""
    return question.rstrip().endswith("?") and bool(how.strip())


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _words(text: str) -> set[str]:
    """The words that carry meaning, cut to their stem so that `scaling` matches `scale`."""
    return {word[:5] for word in re.findall(r"[^\W\d_]{4,}", text.casefold())} - _EMPTY


_COMMON = (
    "about after also because been before being between could does each every from have into just like many more most "
    "much must never nobody only other others over same should some such than that their them then there these they "
    "this those under very were what when where which while will with within without would your"
)
_EMPTY = {word[:5] for word in _COMMON.split()}
