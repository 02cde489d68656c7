"""Statements: the paragraphs, list items and rows of a document that cite something, each by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebut.evidence.citation_syntax import find

FENCE = re.compile(r" {0,12}(?:> ?)?(`{3,}|~{3,})")
ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
ALONE = re.compile(r"\s*(?:#{1,6}\s|\|)")
"""A heading or a row of a table: a line of its own."""


def citing(text: str) -> list[str]:
    """The statements of a document that cite anything, in order, each once."""
    return [one for one in dict.fromkeys(statements(text)) if find(one)]


def statements(text: str) -> Iterator[str]:
    """A document in pieces. Fenced code goes with what stands before it, which may say where it is from."""
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
