"""Marking: what an entry of the ledger cites, in its fields and in its prose, looked up and marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rebut.domain.ledger import NOTHING_KEPT, Evidence
from rebut.evidence.citation_syntax import Citation, find
from rebut.evidence.lookup import check
from rebut.workspace.overlay import Overlay

if TYPE_CHECKING:
    from rebut.workspace.sides import Sides


async def marked(evidence: Sequence[Evidence], prose: str, sides: Sides) -> tuple[Evidence, ...]:
    """The citations of an entry with their marks: the structured ones first, then those found in its prose."""
    marks = [await _mark(e, sides) for e in evidence]
    places = {e.place.strip() for e in evidence}
    for found in find(prose):
        if found.citation.place in places:
            continue
        places.add(found.citation.place)
        one = await _mark(Evidence(found.citation.place, found.citation.quote), sides)
        if one.mark == "absent" and found.planned:
            one = replace(one, mark="uncheckable", note="spoken of as something to be made")
        marks.append(one)
    return tuple(marks)


async def _mark(evidence: Evidence, sides: Sides) -> Evidence:
    nowhere = Evidence(evidence.place, evidence.quote, "uncheckable", NOTHING_KEPT)
    if sides.new is None and sides.artifact is None:
        return nowhere
    cited = Citation.of(evidence.place, evidence.quote)
    # The text under discussion is there also where no workspace was kept.
    view = sides.new or Overlay(None, {}, str)
    mark = await check(cited, view, artifact=sides.artifact, other=sides.old)
    if sides.new is None and mark.mark == "uncheckable":
        return nowhere
    # A moved quote is corrected: later readers should look where it really stands.
    return replace(evidence, place=mark.moved_to or evidence.place, mark=mark.mark, note=mark.note)
