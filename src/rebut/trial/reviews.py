"""The findings and the cost of one review of a trial, read from the record of its session."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rebut.batch.results import total_usd
from rebut.core.citation_syntax import understand
from rebut.core.frozen import frozen
from rebut.domain.ledger import Point
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import ReviewFinding
from rebut.record.record import Record
from rebut.trial.defect_kinds import kind_of

GRAVE = ("P1", "P2")
"""The severities that count. A P3 is a remark: neither a defect found nor a false alarm."""
_LINE = re.compile(r"^\W*(\S+?):(\d{1,6})(?:-(\d{1,6}))?\W+\[([A-Za-z _-]{3,30})\]\W*(P[123])?")
"""A defect in the position of a panel."""

Place = tuple[str, int, int]


@frozen
class TrialFinding:
    """One finding of a review."""

    kind: str
    """A kind of the closed list or `other`; empty if it names none."""
    places: tuple[Place, ...]
    raised: str
    """Its severity when it was raised."""
    severity: str
    """Its severity at the end."""
    reported: bool
    """Whether the review reports it as a P1 or P2 in the end."""
    marks: tuple[str, ...] = ()
    """What checking its citations showed."""
    checks: tuple[str, ...] = ()
    """What running its checks showed: shown, refuted, broken or not run."""
    ruling: str = ""
    """The ruling of the judge; empty without a judge."""
    text: str = ""

    @property
    def was_grave(self) -> bool:
        return self.raised in GRAVE


@frozen
class TrialReview:
    """One review of one side of a pair."""

    findings: tuple[TrialFinding, ...] = ()
    tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    calls: int = 0
    sessions: tuple[str, ...] = ()

    def citations(self) -> Counter[str]:
        return Counter(mark for finding in self.findings for mark in finding.marks)


def recorded_review(record: Record, *, bare: bool) -> TrialReview | None:
    """The review in a record; None if it has not ended. With `bare`, findings count as they were raised."""
    if record.closed is None:
        return None
    outcome = Outcome.from_json(record.closed.outcome)
    result, points = outcome.review, {point.id: point for point in outcome.ledger.points}
    if result is not None:
        found = tuple(_of_review(one, points.get(one.id), bare) for one in result.findings)
    else:
        found = _of_position(outcome.decision, outcome.ledger.points)
    spent = outcome.spent
    return TrialReview(found, spent.tokens, spent.usd, spent.seconds, spent.calls, (record.opened.id,))


def _of_review(one: ReviewFinding, point: Point | None, bare: bool) -> TrialFinding:
    cited = [e.place for e in point.evidence] if point else [one.place]
    text = point.wordings[0].text if point else one.text
    stands = one.ruling != "invalid" and one.status != "withdrawn" and not one.struck and not one.outside
    return TrialFinding(
        kind=kind_of(text),
        places=_places(cited),
        raised=one.raised_as,
        severity=one.raised_as if bare else one.severity,
        reported=one.raised_as in GRAVE if bare else stands and one.severity in GRAVE,
        marks=one.marks,
        checks=(one.check.mark,) if one.check else (),
        ruling="" if bare else one.ruling,
        text=text,
    )


def _places(cited: Sequence[str]) -> tuple[Place, ...]:
    parsed = [understand(place) for place in cited]
    return tuple((one.path.removeprefix("./"), one.start, max(one.start, one.end)) for one in parsed if one.start)


def _of_position(text: str, points: Sequence[Point]) -> tuple[TrialFinding, ...]:
    """The defects that a position names, line by line; and those that only an expert named, which are not reported."""
    out = list[TrialFinding]()
    for line in text.splitlines():
        if named := _LINE.match(line.strip()):
            place = (named[1].strip("`*").removeprefix("./"), int(named[2]), int(named[3] or named[2]))
            severity = named[5] or "P2"
            kind = kind_of(f"[{named[4]}]")
            out.append(TrialFinding(kind, (place,), severity, severity, severity in GRAVE, text=line.strip()))
    for point in points:
        if (kind := kind_of(point.text)) and point.evidence:
            places = _places([e.place for e in point.evidence])
            if not any(kind == one.kind and near(places, one.places) for one in out):
                marks = tuple(e.mark for e in point.evidence)
                out.append(TrialFinding(kind, places, point.severity, point.severity, False, marks, text=point.text))
    return tuple(out)


NEAR = 1
"""Lines beside a place that still count as the place."""


def near(one: Sequence[Place], other: Sequence[Place]) -> bool:
    """Whether a place in `one` overlaps a place in `other`, or is next to it."""
    return any(
        path == there and first <= end + NEAR and start - NEAR <= last
        for path, first, last in one
        for there, start, end in other
    )


def voted(samples: Sequence[TrialReview]) -> TrialReview:
    """The findings that more than half of the samples report: the same kind at the same place."""
    groups = list[list[tuple[int, TrialFinding]]]()
    for n, sample in enumerate(samples):
        for finding in sample.findings:
            if not finding.reported:
                continue
            mine = [g for g in groups if g[0][1].kind == finding.kind and near(g[0][1].places, finding.places)]
            if mine:
                mine[0].append((n, finding))
            else:
                groups.append([(n, finding)])
    found = list[TrialFinding]()
    for group in groups:
        first = group[0][1]
        severity = Counter(finding.raised for _, finding in group).most_common(1)[0][0]
        kept = 2 * len({n for n, _ in group}) > len(samples)
        marks = tuple(mark for _, finding in group for mark in finding.marks)
        found.append(TrialFinding(first.kind, first.places, severity, severity, kept, marks, text=first.text))
    return TrialReview(
        tuple(found),
        sum(sample.tokens for sample in samples),
        total_usd(sample.usd for sample in samples),
        sum(sample.seconds for sample in samples),
        sum(sample.calls for sample in samples),
        tuple(id for sample in samples for id in sample.sessions),
    )
