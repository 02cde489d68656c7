"""Was a panel worth it: the lead's first position and who accepted it at once, and what the rounds made of it."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.text import cut, squeeze
from rebut.domain.ledger import Ledger
from rebut.domain.worth import Worth, fates
from rebut.protocols.panel.state import Course, Position

POSITION = "opening/position@lead"
LONGEST = 200


def weighed(course: Course, ledger: Ledger, caveat: str = "") -> Worth:
    """The account of a panel."""
    of = len(course.challengers)
    changed = _moved(course.positions)
    won = len(course.validated) - course.at_once
    changed += [f"{won} more accepted it"] if won > 0 else []
    if course.dissenters:
        changed.append(f"{len(course.dissenters)} of {of} still contest it")
    return Worth(
        first=f"accepted at once by {course.at_once} of {of}: “{cut(course.positions[0].text, LONGEST)}”",
        points=fates(ledger),
        changed=tuple(changed),
        same=None if course.dissenters or not course.validated else not changed,
        caveat=caveat,
        keys=(POSITION,),
    )


def _moved(positions: Sequence[Position]) -> list[str]:
    """The last version, if it reads differently from the first, with the points that its author named."""
    if squeeze(positions[0].text) == squeeze(positions[-1].text):
        return []
    causes = list(dict.fromkeys(c.point for p in positions for c in p.causes))
    return [f"position moved to v{positions[-1].version}, by {', '.join(causes) or 'no point that was named'}"]
