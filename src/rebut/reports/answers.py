"""The result of a question to several models, on a terminal: the answer first, then what each model said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from rebut.core.text import NARROW, counted, plural, squeeze, wrapped
from rebut.domain.amounts import spent
from rebut.domain.ledger import UNPROVEN, Ledger
from rebut.domain.outcome import Outcome
from rebut.domain.side_by_side import GivenAnswer, SideBySide
from rebut.reports.terminal import absent, foot, hanging, labelled, point_line, shown_spec

GAP = 4
WIDEST = 160
"""Columns of the widest terminal; a greater width means `--plain`, which has no columns."""
MOST = 5
"""Points that are listed below one label."""


def ending(outcome: Outcome, compared: SideBySide, *, width: int, short: str, told: Sequence[str], points: bool) -> str:
    """The outcome of a question to several models."""
    rows = _headline(outcome, compared, width)
    rows += ["", *_both_answers(compared, width), ""]
    if compared.differ:
        rows += labelled("they agree" if compared.same else "they differ", compared.differ, width)
    if outcome.verdict:
        rows += labelled("why", outcome.verdict.reasoning, width)
    if compared.rounds or outcome.ledger.points:
        rows += _listed("what changed", _changed(outcome.ledger, compared), "no point was conceded", width)
        if points:
            rows += _listed("still open", _open(outcome.ledger, compared), "nothing", width)
            lost = absent(outcome.ledger, lambda move: f"the answer to {move.point}")
            rows += _listed("absent", lost, "", width)
    for label, text in outcome.rows:
        rows += labelled(label, text, width)
    for missed in compared.unequal:
        rows += labelled("unequal", missed, width)
    rows += labelled("cost", _cost(outcome), width)
    return "\n".join([*rows, *foot(outcome, width=width, short=short, told=told)])


def _headline(outcome: Outcome, compared: SideBySide, width: int) -> list[str]:
    """The rows with the answer; if the debate was inconclusive or has caveats, the first row says so."""
    whole = outcome.conclusive and not outcome.caveats
    name, _, _ = outcome.heading.partition(": ")
    if whole and outcome.decision:
        said = name if compared.same else "ANSWER"
        rows = hanging(f"  {said}: {squeeze(outcome.decision)}", width, 4)
    else:
        rows = hanging(f"  {name}", width, 4)
        if outcome.decision:
            label = "Answer" if outcome.verdict or compared.same else "So far"
            rows += hanging(f"  {label}: {outcome.decision}", width, 4)
    if outcome.stopped and outcome.stopped != "; ".join(compared.unequal):
        rows += hanging(f"  Ended early: {outcome.stopped}", width, 4)
    if how := _how(outcome, compared):
        rows += hanging(f"  {how}", width, 4)
    return rows


def _how(outcome: Outcome, compared: SideBySide) -> str:
    """How the answer came about, in one line; empty if none was chosen."""
    if compared.same:
        return "Both chose this without seeing the other's answer. It was not debated."
    if not (compared.chosen and outcome.verdict):
        return ""
    chosen = compared.answers[compared.chosen - 1]
    rounds = f"after {counted(compared.rounds, 'round')} of debate" if compared.rounds else "after an incomplete round"
    judges = [one.seat for one in outcome.seats if one.seat.startswith("judge.")]
    if len(judges) > 1:
        most = [vote.judge for vote in outcome.votes if vote.winner == outcome.verdict.winner]
        parts = [f"; {seat}{part}" for seat in most if (part := _partial(outcome, compared, seat))]
        by = f", by {len(most)} of {len(judges)} judges{''.join(parts)}"
    else:
        by = f", by {outcome.verdict.by}{_partial(outcome, compared, 'judge')}" if outcome.verdict.by else ""
    return f"Answer {compared.chosen} ({shown_spec(chosen.model)}) was preferred {rounds}{by}."


def _partial(outcome: Outcome, compared: SideBySide, seat: str) -> str:
    """Which answers the judge's own model or its family gave; empty for an independent judge."""
    seats = {one.seat: one for one in outcome.seats}
    judge, authors = seats.get(seat), [seats.get(one.seat) for one in compared.answers]
    numbers = [n for n, one in enumerate(authors, 1) if judge and one and one.spec == judge.spec]
    kin = [n for n, one in enumerate(authors, 1) if judge and judge.family and one and one.family == judge.family]
    if numbers:
        return f", which also gave answer {' and '.join(map(str, numbers))}"
    return f", of the family of answer {' and '.join(map(str, kin))}" if kin else ""


# both answers


def _both_answers(compared: SideBySide, width: int) -> list[str]:
    """Two answers in columns; one below the other on a narrow terminal, with `--plain`, or if there are more."""
    if width < NARROW or width > WIDEST or len(compared.answers) != 2:
        blocks = [_block(n, one, compared, width - 4) for n, one in enumerate(compared.answers, 1)]
        rows = list[str]()
        for head, *rest in blocks:
            rows += ["", f"  {head}", *(f"    {line}" for line in rest)]
        return rows[1:]
    space = (width - 2 - GAP) // 2
    left, right = (_block(n, one, compared, space) for n, one in enumerate(compared.answers, 1))
    return [f"  {a:<{space}}{' ' * GAP}{b}".rstrip() for a, b in zip_longest(left, right, fillvalue="")]


def _block(number: int, one: GivenAnswer, compared: SideBySide, space: int) -> list[str]:
    mark = ", preferred" if compared.chosen == number else ""
    rows = wrapped(f"ANSWER {number}{mark}: {shown_spec(one.model)}", space, break_words=True)
    rows += wrapped(one.first, space, break_words=True)
    if one.final:
        same = squeeze(one.final) == squeeze(one.first)
        rows += wrapped("now: the same" if same else f"now: {one.final}", space, break_words=True)
    return rows


# the debate


def _changed(ledger: Ledger, compared: SideBySide) -> list[str]:
    """The points that each author conceded, and the ids of those that stay open, conceded without evidence."""
    agreed = {point.id for point in ledger.agreed}
    rows = [
        f"{shown_spec(one.model)} conceded {point_line(point)}"
        for one in compared.answers
        for id in one.accepted
        if id in agreed and (point := ledger.point(id))
    ]
    for one in compared.answers:
        if ids := [id for id in one.points if id not in agreed and ledger.final_status(id) == UNPROVEN]:
            stay = plural(len(ids), "it stays", "they stay")
            rows.append(f"{shown_spec(one.model)} conceded {', '.join(ids)} without evidence, so {stay} open")
    return rows


def _open(ledger: Ledger, compared: SideBySide) -> list[str]:
    about = {id: f"against answer {n}, " for n, one in enumerate(compared.answers, 1) for id in one.points}
    rows = sorted(ledger.open, key=lambda p: p.severity)
    return [f"{about.get(p.id, '')}{p.severity}, {ledger.final_status(p.id)}: {point_line(p)}" for p in rows]


def _listed(label: str, items: Sequence[str], none: str, width: int) -> list[str]:
    if not items:
        return labelled(label, none, width) if none else []
    rows = labelled(label, items[0], width)
    for item in items[1:MOST]:
        rows += labelled("", item, width)
    if len(items) > MOST:
        rows += labelled("", f"… {len(items) - MOST} more", width)
    return rows


def _cost(outcome: Outcome) -> str:
    """What it cost, and what the first answers alone cost."""
    worth = outcome.worth
    if worth is None or not worth.alone.calls or not worth.debate.calls:
        return spent(outcome.spent)
    return f"{spent(outcome.spent)}; the first answers alone: {spent(replace(worth.alone, unmetered=0))}"
