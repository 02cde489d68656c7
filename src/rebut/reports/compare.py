"""A fork compared with its parent: both outcomes, and what the fork reused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import zip_longest

from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import NARROW, counted, cut, wrapped
from rebut.domain.amounts import money, size, spent
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import asked_by, headline_of, outcome_of, status
from rebut.domain.worth import fates
from rebut.record.record import Record, Spent
from rebut.reports import review
from rebut.reports.terminal import hanging

LABELS = ("", "ended", "side", "decision", "points", "cost")
LONGEST = 160
NONE = "–"


@frozen
class ComparedSession:
    """One of the two sessions."""

    id: str
    heading: str
    side: str
    """The winner, or the headline of a review."""
    decision: str
    points: tuple[tuple[str, int], ...]
    spent: Spent

    @classmethod
    def of(cls, record: Record, outcome: Outcome | None) -> ComparedSession:
        if outcome is None:
            return cls(record.opened.id, status(record), "", "", (), record.spent())
        won = headline_of(outcome)
        told = outcome.worth.points if outcome.worth and outcome.worth.points else fates(outcome.ledger)
        if outcome.review and asked_by(record):  # in the words of `review` or `plan`
            why = " ".join(one.reason for one in outcome.review.history[-1:])
            return cls(record.opened.id, review.heading_of(record, outcome), "", why, told, outcome.spent)
        return cls(record.opened.id, outcome.heading, won, outcome.decision, told, outcome.spent)

    def to_json(self) -> dict[str, Json]:
        said = {"id": self.id, "heading": cut(self.heading, 200), "side": cut(self.side, 200)}
        return {
            **said,
            "decision": cut(self.decision, LONGEST),
            "points": dict(self.points),
            "spent": asdict(self.spent),
        }

    def cells(self, name: str, width: int) -> tuple[str, ...]:
        """The values for `LABELS`."""
        tally = ", ".join(f"{count} {fate}" for fate, count in self.points)
        points = f"{sum(count for _, count in self.points)}: {tally}" if tally else "none"
        decision = cut(self.decision, width * 3)
        return (f"{name} {self.id}", self.heading, self.side or NONE, decision or NONE, points, spent(self.spent))


@frozen
class Reused:
    """Answers that a fork reused, and what they cost in the session that paid for them."""

    answers: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    """None if a price is unknown, or the session that paid is deleted."""
    seconds: float = 0.0

    def line(self) -> str:
        if not self.answers:
            return "nothing: every answer is new"
        if self.usd is None and not self.tokens:
            return f"{counted(self.answers, 'answer')}, cost unknown"
        what = f"{size(self.tokens)} tokens, {money(self.usd)}"
        return f"{counted(self.answers, 'answer')}, which would have cost {what}"


@frozen
class Pair:
    """A fork and its parent."""

    parent: ComparedSession | None
    """None if the parent is deleted."""
    fork: ComparedSession
    from_id: str
    reused: Reused

    def to_json(self) -> dict[str, Json]:
        gone: dict[str, Json] = {"id": self.from_id, "deleted": True}
        return {"parent": self.parent.to_json() if self.parent else gone, "reused": asdict(self.reused)}

    def rows(self, width: int) -> list[str]:
        """Two columns, or one below the other on a narrow terminal and with --plain."""
        foot = hanging(f"  {'reused':<10}{self.reused.line()}", width, 12)
        if self.parent is None:
            return [f"  {'parent':<10}{self.from_id} (deleted)", *foot]
        if width < NARROW or width > 1000:
            return [*_stacked("parent", self.parent, width), "", *_stacked("this fork", self.fork, width), "", *foot]
        space = (width - 2 - 12 - 3) // 2
        rows: list[str] = []
        sides = (self.parent.cells("parent", space), self.fork.cells("this fork", space))
        for label, left, right in zip(LABELS, *sides, strict=True):
            if left == right == NONE:
                continue
            columns = (wrapped(text, space, break_words=True) for text in (left, right))
            lines = zip_longest(*columns, fillvalue="")
            for n, (one, other) in enumerate(lines):
                rows.append(f"  {label if not n else '':<10}{one:<{space}}   {other}".rstrip())
        return [*rows, *foot]


def _stacked(name: str, side: ComparedSession, width: int) -> list[str]:
    rows: list[str] = []
    for label, text in zip(LABELS, side.cells(name, width), strict=True):
        line = f"    {label:<10}{text}" if label else f"  {text}"
        rows += hanging(line, width, 14)
    return rows


def paired(fork: Record, load: Callable[[str], Record | None], outcome: Outcome | None = None) -> Pair | None:
    """A fork and its parent; None if the session is no fork. `load` returns a session, or None if it is deleted."""
    if not fork.opened.forked_from:
        return None
    parent = load(fork.opened.forked_from)
    return Pair(
        ComparedSession.of(parent, outcome_of(parent)) if parent else None,
        ComparedSession.of(fork, outcome or outcome_of(fork)),
        fork.opened.forked_from,
        reused(fork, load),
    )


def reused(fork: Record, load: Callable[[str], Record | None]) -> Reused:
    """The reused answers and their cost in the sessions that paid for them: the parent or an earlier one."""
    copied = {k: c.answered.copied_from for k, c in fork.calls.items() if c.answered and c.answered.copied_from}
    paid = {id: load(id) for id in dict.fromkeys(copied.values())}
    part, is_cost_unknown = Record(), False
    for key, id in copied.items():
        record = paid[id]
        if record and key in record.calls and record.calls[key].attempts:
            part.calls[key] = record.calls[key]
        else:
            is_cost_unknown = True
    cost = part.spent()
    took = sum(0 if a.patient else a.ms for call in part.calls.values() for a in call.attempts.values()) / 1000
    return Reused(len(copied), cost.tokens, None if is_cost_unknown else cost.usd, took)
