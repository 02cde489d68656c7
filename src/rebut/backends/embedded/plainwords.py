"""Plain words out of what a small model wrote: without markup, as one text or as the entries of a list."""

from __future__ import annotations

import re

ITEMS = 3
LONGEST = 600
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.):]|[a-z]\))\s+")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z\"'(])")


def tidied(text: str) -> str:
    """Plain words: without fences, headings, emphasis and a last sentence that was cut off."""
    lines = [re.sub(r"^\s*#+\s*", "", line).replace("**", "").rstrip() for line in text.splitlines()]
    lines = [line for line in lines if line.strip() and not re.match(r"\s*(```|«|»|<<)", line)]
    whole = "\n".join(lines).strip()
    if whole[:1] == whole[-1:] == '"' and whole.count('"') == 2:
        whole = whole[1:-1].strip()
    ended = max(whole.rfind(mark) for mark in ".!?")
    return whole[: ended + 1] if ended > len(whole) // 3 else whole


def listed(text: str) -> list[str]:
    """The entries of a list, numbered or not; of running text its sentences."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rows = [_BULLET.sub("", line) for line in lines if _BULLET.match(line)]
    if not rows:
        rows = [sentence for line in lines for sentence in _SENTENCE.split(line)]
    said = [row.strip()[:LONGEST] for row in rows if len(row.split()) > 2] or [text[:LONGEST]]
    return unique([row for row in said if not row.endswith("?")] or said)[:ITEMS]  # a question is no entry


def unique(found: list[str]) -> list[str]:
    return list(dict.fromkeys(found))
