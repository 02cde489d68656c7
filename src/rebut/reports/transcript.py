"""The transcript of a session for a terminal: prompts, answers, failures, points."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from rebut.core.text import squeeze
from rebut.domain import render
from rebut.domain.amounts import duration, money, size
from rebut.domain.ledger import Ledger
from rebut.domain.render import Known
from rebut.domain.user_notes import heard, unheard
from rebut.record.record import Call, Record, seat_of
from rebut.reports.terminal import diff_rows, failure_line, hanging


def failures(record: Record) -> list[str]:
    """Every failed attempt, with its class."""
    rows = []
    for call in record.calls.values():
        for n, attempt in sorted(call.attempts.items()):
            if attempt.outcome != "ok":
                rows.append(f"  {call.key}, attempt {n}: {attempt.outcome}, {attempt.message}")
        if call.failed and not call.answered:
            hint = f" {call.failed.hint}" if call.failed.hint else ""
            rows.append(f"  {call.key}: {failure_line(call.failed).rstrip('.')}.{hint}")
        rows += [
            f"  {call.key}, attempt {a.attempt}: cut off: sent, and may be billed, but no result is on record"
            for a in call.in_doubt
        ]
    return rows


def turns(record: Record, ledger: Ledger, width: int, *, prompts: bool = False, raw: bool = False) -> list[str]:
    """Every turn in order; with `prompts`, also each prompt; with `raw`, also each reply as it came."""
    rows, scope, shown_notes = list[str](), None, set[int]()
    for call in record.calls.values():
        where = call.key.rpartition("/")[0]
        if where != scope:
            scope = where
            rows += [f"  {_stage(where, first=not rows)}", ""]
        for note in heard(record, call.key):
            rows += [] if note.number in shown_notes else _note(note.text, "note of the user to every seat", width)
            shown_notes.add(note.number)
        rows += questions(call) if prompts else []
        rows += said(call, Known(ledger, seat_of(call.key)), width)
        rows += as_it_came(call) if raw else []
    for note in unheard(record):
        rows += _note(note.text, "note of the user, too late for every seat", width)
    return rows


def _note(text: str, label: str, width: int) -> list[str]:
    return [f"  {label}", *_paragraphs(text, width), ""]


def _stage(scope: str, *, first: bool) -> str:
    found = re.fullmatch(r"r(\d+)", scope)
    if found:
        return f"ROUND {found[1]}" if found[1] != "0" else "BEFORE ROUND 1"
    return scope.upper() or ("FIRST ANSWERS" if first else "CLOSING")


def said(call: Call, known: Known, width: int) -> list[str]:
    """One answer or failure."""
    step, _, seat = call.key.rpartition("/")[2].rpartition("@")
    head = f"  {seat}, {step}"
    if call.answered:
        rows = hanging(f"{head}  ({', '.join(_by(call))})", width, 4)
        rows += answer_rows(call.answered.value, known, width)
        rows += [
            line
            for c in call.answered.complaints
            for line in hanging(f"    still breaks a rule after being sent back: {c}", width, 6)
        ]
        return [*rows, ""]
    if call.failed:
        return [*hanging(f"{head}  failed: {failure_line(call.failed)}", width, 4), ""]
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


def point_rows(ledger: Ledger, width: int) -> list[str]:
    """Every point with its status and all answers to it, then every claim; each with its citations and their marks."""
    rows = render.points(ledger, status=ledger.shown_status, answers="all")
    for c in ledger.claims:
        cited = render.evidence(c.evidence, render.CITES_NOTHING)
        rows.append(f"{c.id} ({c.by}, round {c.round}): {squeeze(c.text)}{cited}{render.below(c.check)}")
    out: list[str] = []
    for row in rows:
        first, *check = row.split("\n")
        out += hanging(f"  {first}", width, 8 if row.startswith(" ") else 5)
        for line in check:
            is_code = line.lstrip().startswith("|")  # lines of code or output stay as they are
            out += [f"  {line}".rstrip()] if is_code else hanging(f"  {line}", width, 8)
    return [*out, ""] if out else []


def answer_rows(value: Any, known: Known, width: int) -> list[str]:
    """An answer, indented: paragraphs as they are, then each label with its items."""
    rows: list[str] = []
    for row in render.answer(value, known):
        if row.kind == "text":
            rows += _paragraphs(row.text, width)
        elif row.kind == "diff":
            rows += [f"    {row.label}:", *(f"    {line}" for line in diff_rows(row.text, width - 4))]
        elif row.kind == "label":
            rows += hanging(f"    {row.label}: {row.text}".rstrip(), width, 6)
        else:
            rows += hanging(f"      - {row.text}", width, 8)
    return rows or ["    (nothing)"]


def _paragraphs(text: str, width: int) -> list[str]:
    rows: list[str] = []
    for line in text.splitlines() or [""]:
        lead = len(line) - len(line.lstrip(" -"))
        rows += hanging(f"    {line}", width, lead + 4) if line.strip() else [""]
    return rows
