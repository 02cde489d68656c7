"""The transcript of a session for a terminal: prompts, answers, failures, points."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rebut.core.text import squeeze
from rebut.domain.amounts import duration, money, size
from rebut.domain.ledger import Evidence, Ledger
from rebut.record.record import Call, Record
from rebut.reports.terminal import hanging


def failures(record: Record) -> list[str]:
    """Every failed attempt, with its class."""
    rows = []
    for call in record.calls.values():
        for n, attempt in sorted(call.attempts.items()):
            if attempt.outcome != "ok":
                rows.append(f"  {call.key}, attempt {n}: {attempt.outcome}, {attempt.message}")
        if call.failed and not call.answered:
            hint = f" {call.failed.hint}" if call.failed.hint else ""
            rows.append(f"  {call.key}: {call.failed.failure}, {call.failed.message.rstrip('.')}.{hint}")
        rows += [
            f"  {call.key}, attempt {a.attempt}: in doubt: sent, but no result is on record" for a in call.in_doubt
        ]
    return rows


def turns(record: Record, ledger: Ledger, width: int, *, prompts: bool = False, raw: bool = False) -> list[str]:
    """Every call in order; with `prompts` also the prompts, with `raw` also the raw replies."""
    marks, rows, scope = Marks(ledger), list[str](), None
    for call in record.calls.values():
        where = call.key.rpartition("/")[0]
        if where != scope:
            scope = where
            rows += [f"  {_stage(where, first=not rows)}", ""]
        rows += questions(call) if prompts else []
        rows += said(call, marks, width)
        rows += as_it_came(call) if raw else []
    return rows


def _stage(scope: str, *, first: bool) -> str:
    found = re.fullmatch(r"r(\d+)", scope)
    if found:
        return f"ROUND {found[1]}" if found[1] != "0" else "BEFORE ROUND 1"
    return scope.upper() or ("FIRST ANSWERS" if first else "CLOSING")


def said(call: Call, marks: Marks, width: int) -> list[str]:
    """One answer or failure."""
    step, _, seat = call.key.rpartition("/")[2].rpartition("@")
    head = f"  {seat}, {step}"
    if call.answered:
        rows = hanging(f"{head}  ({', '.join(_by(call))})", width, 4)
        rows += told(call.answered.value, marks, width)
        rows += [
            line
            for c in call.answered.complaints
            for line in hanging(f"    still breaks a rule after being sent back: {c}", width, 6)
        ]
        return [*rows, ""]
    if call.failed:
        return [*hanging(f"{head}  failed: {call.failed.failure}, {call.failed.message}", width, 4), ""]
    return [f"{head}  not answered yet", ""]


def _by(call: Call) -> list[str]:
    """The model, its time and its cost."""
    assert call.answered is not None
    who = call.answered.model or "unknown model"
    if call.answered.copied_from:
        return [who, f"reused from {call.answered.copied_from[:4]}"]
    cost = [] if call.usd is None else [money(call.usd)]
    return [who, duration(call.answered.ms / 1000), f"{size(call.tokens)} tokens", *cost]


def as_it_came(call: Call) -> list[str]:
    """The raw replies of a model."""
    rows = []
    for n, attempt in sorted(call.attempts.items()):
        if attempt.text:
            rows += [f"    attempt {n}, raw reply:", textwrap.indent(attempt.text, "    | "), ""]
    return rows


def questions(call: Call) -> list[str]:
    """The prompts of one call, follow-ups included."""
    rows = []
    for n, asked in sorted(call.asked.items()):
        rows += [f"  {call.key}, attempt {n} ({asked.why}) to {asked.spec}:", ""]
        rows += [textwrap.indent(asked.prompt or asked.followup, "  | "), ""]
    return rows


def points(ledger: Ledger, width: int) -> list[str]:
    """Every point and claim, whole, with what became of it and what looking up its citations showed."""
    rows: list[str] = []
    for point in ledger.points:
        head = f"{point.severity}, {point.category or 'no category'}, {ledger.final_status(point.id)}"
        rows += hanging(
            f"  {point.id:<4} {', '.join(point.voices)}, round {point.round} ({head}): {point.text}", width, 7
        )
        rows += _citations(point.evidence, width)
        for move in (m for m in ledger.moves if m.point == point.id):
            rows += hanging(f"       {move.by}, round {move.round}, {move.kind}: {move.reason}", width, 9)
            rows += _citations(move.evidence, width, 9)
    for claim in ledger.claims:
        state = "" if claim.evidence else ", cites nothing"
        rows += hanging(f"  {claim.id:<4} {claim.by}, round {claim.round}{state}: {claim.text}", width, 7)
        rows += _citations(claim.evidence, width)
    return [*rows, ""] if rows else []


def _citations(evidence: Sequence[Evidence], width: int, indent: int = 7) -> list[str]:
    rows = []
    for e in evidence:
        quote = f' "{e.quote}"' if e.quote else ""
        note = f", {e.note}" if e.note else ""
        rows += hanging(f"{' ' * indent}{e.mark or 'unchecked'}: {e.place}{quote}{note}", width, indent + 2)
    return rows


# Turns: an answer on record in readable words, whatever form it was given in. Needs no protocol code.

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
            rows += hanging(f"    {label}: {_inline_citations(item, marks)}", width, 6)
        elif isinstance(item, list):
            rows.append(f"    {label}:")
            rows += [line for one in item for line in hanging(f"      - {_item(one, marks)}", width, 8)]
        elif isinstance(item, dict):
            rows.append(f"    {label}:")
            rows += [
                line
                for key, one in item.items()
                if one not in UNSAID
                for line in hanging(f"      - {key.replace('_', ' ')}: {_nested(one, marks)}", width, 8)
            ]
        elif name in LEADS:
            rows += _paragraphs(str(item), width)
        else:
            rows += hanging(f"    {label}: {_word(item)}", width, 6)
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
            cited.append(_inline_citations(item, marks))
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


def _inline_citations(items: Sequence[Mapping[str, Any]], marks: Marks) -> str:
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
        rows += hanging(f"    {line}", width, lead + 4) if line.strip() else [""]
    return rows
