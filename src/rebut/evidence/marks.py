"""The marks of the citations in a ledger entry's fields and prose, and the statements of a text that cite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rebut.core.citation_syntax import Citation, find_citations
from rebut.domain.ledger import NOTHING_KEPT, Evidence
from rebut.evidence.lookup import NO_TEXT, NOT_A_PLACE, PLANNED, by_quote, look_up_citation
from rebut.workspace.tree import Overlay

if TYPE_CHECKING:
    from rebut.workspace.tree import DebatedVersions


async def marked(evidence: Sequence[Evidence], prose: str, sides: DebatedVersions) -> tuple[Evidence, ...]:
    """The citations of an entry with their marks: the structured ones first, then those found in its prose."""
    marks = [await _mark(e, sides) for e in evidence]
    places = {e.place.strip() for e in evidence}
    for found in find_citations(prose):
        if found.citation.place in places:
            continue
        places.add(found.citation.place)
        entry = Evidence(found.citation.place, found.citation.quote)
        marks.append(await _mark(entry, sides, found.planned, found.citation.shorter))
    return tuple(marks)


async def _mark(evidence: Evidence, sides: DebatedVersions, planned: bool = False, shorter: str = "") -> Evidence:
    nowhere = Evidence(evidence.place, evidence.quote, "uncheckable", NOTHING_KEPT)
    if sides.new is None and sides.artifact is None:
        return nowhere
    cited = replace(Citation.of(evidence.place, evidence.quote, sides.changed), shorter=shorter)
    # The text under discussion can be cited even if no workspace was kept.
    view = sides.new or Overlay(None, {}, str)
    mark = await look_up_citation(cited, view, artifact=sides.artifact, other=sides.old, planned=planned)
    if mark.mark == "absent" or (mark.mark == "uncheckable" and mark.note in (NOT_A_PLACE, NO_TEXT)):
        mark = await by_quote(cited, view, sides.changed) or mark
    if sides.new is None and mark.mark == "uncheckable" and mark.note != PLANNED:
        return nowhere
    # A moved quote is corrected: later readers should look where it really is.
    return replace(evidence, place=mark.moved_to or evidence.place, mark=mark.mark, note=mark.note)


# Statements: the paragraphs, list items and table rows of a document that cite something.

FENCE = re.compile(r"(?:[ \t]{0,12}>)*[ \t]{0,12}(`{3,}|~{3,})")
ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
ALONE = re.compile(r"\s*(?:#{1,6}\s|\|)")
"""A heading or a row of a table: a statement of its own."""


def citing(text: str) -> list[str]:
    """The statements of a document that cite anything, in order, each once."""
    return [one for one in dict.fromkeys(statements(text)) if find_citations(one)]


def statements(text: str) -> Iterator[str]:
    """The statements of a document. Fenced code belongs to the text before it, which may name its place."""
    block: list[str] = []
    fence, over = "", False
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence:
            block.append(line)
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        if mark:
            block.append(line)
            fence, over = mark[1], False
            continue
        if not line.strip():
            over = True
            continue
        alone = ALONE.match(line) is not None
        if block and (over or alone or ITEM.match(line)):
            yield "\n".join(block)
            block = []
        block.append(line.strip() if not block else line)
        over = alone
    if block:
        yield "\n".join(block)
