"""Turns: an answer on record in readable words, whatever form it was given in. Needs no protocol code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rebut.core.text import squeeze
from rebut.domain.ledger import Ledger
from rebut.reports.terminal import wrapped

LEADS = ("text", "argument", "position", "document", "question", "point", "summary", "reason", "reasoning")
"""Fields that hold what is said; the others say something about it."""
UNSAID: tuple[Any, ...] = (None, "", [], {}, False)


class Marks:
    """What the ledger knows of an answer's parts: their ids, and what looking up their citations showed."""

    def __init__(self, ledger: Ledger) -> None:
        self._ids = {squeeze(c.text): c.id for c in ledger.claims} | {squeeze(p.text): p.id for p in ledger.points}
        self._marks = {(e.place, e.quote): e.mark for e in ledger.evidence if e.mark}

    def id_of(self, text: str) -> str:
        return self._ids.get(squeeze(text), "")

    def of(self, place: str, quote: str) -> str:
        return self._marks.get((place, quote), "")


def told(value: Any, marks: Marks, width: int) -> list[str]:
    """An answer, indented: what was said first, then what it consists of, one item each."""
    if not isinstance(value, dict):
        return _paragraphs(str(value), width)
    rows: list[str] = []
    for name, item in value.items():
        label = name.replace("_", " ")
        if item in UNSAID and item is not False:
            continue
        if isinstance(item, list) and _are_citations(item):
            rows += wrapped(f"    {label}: {_citations(item, marks)}", width, 6)
        elif isinstance(item, list):
            rows.append(f"    {label}:")
            rows += [line for one in item for line in wrapped(f"      - {_item(one, marks)}", width, 8)]
        elif isinstance(item, dict):
            rows.append(f"    {label}:")
            rows += [
                line
                for key, one in item.items()
                if one not in UNSAID
                for line in wrapped(f"      - {key.replace('_', ' ')}: {_nested(one, marks)}", width, 8)
            ]
        elif name in LEADS:
            rows += _paragraphs(str(item), width)
        else:
            rows += wrapped(f"    {label}: {_word(item)}", width, 6)
    return rows or ["    (nothing)"]


def _item(one: Any, marks: Marks) -> str:
    """One of several: its id, what it says, short remarks in brackets, then what it cites."""
    if not isinstance(one, dict):
        return squeeze(_word(one))
    fields = {k: v for k, v in one.items() if v not in UNSAID}
    lead = next((k for k in LEADS if isinstance(fields.get(k), str)), "")
    said = squeeze(str(fields.pop(lead))) if lead else ""
    known = str(fields.pop("id", "")) or marks.id_of(said)
    tags, more, cited = list[str](), list[str](), list[str]()
    for name, item in fields.items():
        if isinstance(item, list) and _are_citations(item):
            cited.append(_citations(item, marks))
        elif isinstance(item, str) and name in TAGS:
            tags.append(f"{TAGS[name]} {item}".strip())
        else:
            more.append(f"{name.replace('_', ' ')}: {_nested(item, marks)}")
    head = " ".join(part for part in (known, f"({', '.join(tags)})" if tags else "") if part)
    body = ". ".join(part.rstrip(".") for part in (said, *more) if part)
    text = ": ".join(part for part in (head, body) if part)
    return f"{text}; {'; '.join(cited)}" if cited else text


TAGS = {"about": "about", "same_as": "the same as", "raised_as": "raised as"} | dict.fromkeys(
    ("severity", "category", "move", "ruling", "choice", "verdict", "strength", "confidence"), ""
)
"""Fields of a word or two, and what is said before them."""


def _nested(item: Any, marks: Marks) -> str:
    if isinstance(item, list):
        return "; ".join(_item(one, marks) for one in item)
    return _item(item, marks)


def _are_citations(items: Sequence[Any]) -> bool:
    return bool(items) and all(isinstance(one, dict) and "place" in one for one in items)


def _citations(items: Sequence[Mapping[str, Any]], marks: Marks) -> str:
    out = []
    for one in items:
        place, quote = str(one.get("place", "")), str(one.get("quote") or "")
        mark = marks.of(place, quote)
        shown = f" “{squeeze(quote)}”" if quote else ""
        out.append(f"{place}{shown}{f' [{mark}]' if mark else ''}")
    return "cites " + ", ".join(out)


def _word(item: Any) -> str:
    return {True: "yes", False: "no"}[item] if isinstance(item, bool) else str(item)


def _paragraphs(text: str, width: int) -> list[str]:
    rows: list[str] = []
    for line in text.splitlines() or [""]:
        lead = len(line) - len(line.lstrip(" -"))
        rows += wrapped(f"    {line}", width, lead + 4) if line.strip() else [""]
    return rows
