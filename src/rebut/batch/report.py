"""The report of a batch: outcomes, cost and time by arm, how far arms agree, and failures by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from statistics import median

from rebut.batch.results import ResultRow, total_usd
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row


@frozen
class ArmReport:
    """The debates of one arm."""

    arm: str
    debates: int
    conclusive: int
    inconclusive: int
    failed: int
    usd: float | None
    """None if the price of a call is unknown."""
    calls: int
    tokens: int
    seconds: float
    """The median of the debates that ended."""
    outcomes: dict[str, int]
    """How a debate ended → how many debates did."""
    winners: dict[str, int]


@frozen
class Agreement:
    """The questions that two arms have in common, and how often both came to the same result."""

    first: str
    second: str
    questions: int
    """Questions on which both have a conclusive outcome."""
    same: int


@frozen
class BatchReport:
    """What the rows of a batch add up to."""

    arms: tuple[ArmReport, ...]
    agreements: tuple[Agreement, ...]
    failures: dict[str, int]
    """Class of failure → how many debates."""

    def to_json(self) -> dict[str, Json]:
        arms: list[Json] = [as_row(arm) for arm in self.arms]
        return {"arms": arms, "agreement": [as_row(one) for one in self.agreements], "failures": {**self.failures}}


def report(rows: Sequence[ResultRow]) -> BatchReport:
    """The report of these rows. The arm of a row is the one that its line names, else its protocol."""
    arms: dict[str, list[ResultRow]] = {}
    for row in sorted(rows, key=lambda row: row.line):
        arms.setdefault(row.arm or row.protocol, []).append(row)
    pairs = (_agreement(one, arms[one], other, arms[other]) for one, other in combinations(arms, 2))
    return BatchReport(
        tuple(_arm(name, mine) for name, mine in arms.items()),
        tuple(pair for pair in pairs if pair.questions),
        dict(Counter(row.failure for row in rows if row.failure).most_common()),
    )


def _arm(name: str, rows: Sequence[ResultRow]) -> ArmReport:
    ended = [row for row in rows if not row.failure]
    return ArmReport(
        arm=name,
        debates=len(rows),
        conclusive=sum(row.conclusive for row in ended),
        inconclusive=sum(not row.conclusive for row in ended),
        failed=len(rows) - len(ended),
        usd=total_usd(row.usd for row in rows),
        calls=sum(row.calls for row in rows),
        tokens=sum(row.tokens for row in rows),
        seconds=median(row.seconds for row in ended) if ended else 0.0,
        outcomes=dict(Counter(row.ending for row in ended).most_common()),
        winners=dict(Counter(row.winner for row in ended if row.winner).most_common()),
    )


def _agreement(one: str, first: Sequence[ResultRow], other: str, second: Sequence[ResultRow]) -> Agreement:
    """Compare two arms on equal topics. If an arm debated one more than once, its first conclusive debate counts."""
    left, right = _by_topic(first), _by_topic(second)
    common = [topic for topic in left if topic in right]
    return Agreement(one, other, len(common), sum(left[topic] == right[topic] for topic in common))


def _by_topic(rows: Sequence[ResultRow]) -> dict[str, tuple[str, str]]:
    """Topic → what the debate about it came to: the side that won, else how it ended."""
    out: dict[str, tuple[str, str]] = {}
    for row in sorted(rows, key=lambda row: row.line):
        if row.topic and row.conclusive and not row.failure:
            out.setdefault(row.topic, ("winner", row.winner) if row.winner else ("ended", row.ending))
    return out
