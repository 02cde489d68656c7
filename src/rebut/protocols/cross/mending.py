"""Mending: which findings the final version takes up, told by the lines that it changes and not by anybody's word."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.domain.ledger import Ledger, Point
from rebut.protocols.cross import findings as weighing
from rebut.protocols.cross.versions import Version
from rebut.workspace.targets import Part, Sides, meets, parts


def mended(ledger: Ledger, versions: Sequence[Version], final: Version) -> frozenset[str]:
    """The findings that the judge holds valid and whose cited lines the final version changes.

    A finding cites the version that was under review when it was raised, so that its lines are compared from there.
    One that was raised again stands: a first attempt at it was not enough, and where it is by now nobody has said.
    """
    if not final.patch:
        return frozenset()
    again = {m.point for m in ledger.moves if m.by == "critic" and m.kind == "maintain"}
    whole = {part.path: part for part in parts(final.patch)}
    return frozenset(
        p.id
        for p in ledger.points
        if p.id not in again
        and weighing.ruling(ledger, p) == "valid"
        and _changes(p, _reviewed_in(p.round, versions), final, whole)
    )


def _reviewed_in(n: int, versions: Sequence[Version]) -> Version:
    return [version for version in versions if version.round < n or version.n == 1][-1]


def _changes(point: Point, seen: Version, final: Version, whole: dict[str, Part]) -> bool:
    for cited in point.evidence:
        place = weighing.lines_of(cited.place)
        if cited.mark == "absent" or place is None or place[0] not in final.files or place[0] not in whole:
            continue
        path, first, last = place
        spans = whole[path].spans
        if path in seen.files:
            spans = Sides(seen.files[path], final.files[path]).differences()
        if meets(spans, first, last):
            return True
    return False
