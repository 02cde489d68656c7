"""The transcript: what was asked and said in a session, for reading on a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rebut.export import prose
from rebut.ledger import Evidence, Ledger
from rebut.record import Call, Record
from rebut.report import wrapped


def failures(record: Record) -> list[str]:
    """What failed, each attempt with its class."""
    rows = []
    for call in record.calls.values():
        for n, attempt in sorted(call.attempts.items()):
            if attempt.outcome != "ok":
                rows.append(f"  {call.key}, attempt {n}: {attempt.outcome}, {attempt.message}")
        if call.failed and not call.answered:
            rows.append(f"  {call.key}: {call.failed.failure}, {call.failed.message}")
        rows += [f"  {call.key}, attempt {a.attempt}: in doubt, started and never seen to end" for a in call.in_doubt]
    return rows


def said(call: Call, width: int) -> list[str]:
    """One answer or failure."""
    if call.answered:
        rows = [f"  {call.key}  ({call.answered.model or 'unknown model'})", ""]
        for line in prose(call.answered.value).replace("**", "").splitlines():
            indent = len(line) - len(line.lstrip(" -"))
            rows += wrapped(f"    {line}", width, indent + 4)
        rows += [f"    rule broken after one send-back: {c}" for c in call.answered.complaints]
        return [*rows, ""]
    if call.failed:
        return [*wrapped(f"  {call.key}  failed: {call.failed.failure}, {call.failed.message}", width, 4), ""]
    return [f"  {call.key}  not answered yet", ""]


def questions(call: Call) -> list[str]:
    """What was asked under one key, follow-ups included."""
    rows = []
    for n, asked in sorted(call.asked.items()):
        rows += [f"  {call.key}, attempt {n} ({asked.why}) to {asked.spec}:", ""]
        rows += [textwrap.indent(asked.prompt or asked.followup, "  | "), ""]
    return rows


def points(ledger: Ledger, width: int) -> list[str]:
    """Every claim and point, whole, with what became of it and what looking up its citations showed."""
    rows: list[str] = []
    for claim in ledger.claims:
        state = "" if claim.evidence else ", cites nothing"
        rows += wrapped(f"  {claim.id:<4} {claim.by}, round {claim.round}{state}: {claim.text}", width, 7)
        rows += _citations(claim.evidence, width)
    for point in ledger.points:
        head = f"{point.severity}, {point.category or 'no category'}, {ledger.final_status(point.id)}"
        rows += wrapped(
            f"  {point.id:<4} {', '.join(point.voices)}, round {point.round} ({head}): {point.text}", width, 7
        )
        rows += _citations(point.evidence, width)
        for move in (m for m in ledger.moves if m.point == point.id):
            rows += wrapped(f"       {move.by}, round {move.round}, {move.kind}: {move.reason}", width, 9)
            rows += _citations(move.evidence, width, 9)
    return [*rows, ""] if rows else []


def _citations(evidence: Sequence[Evidence], width: int, indent: int = 7) -> list[str]:
    rows = []
    for e in evidence:
        quote = f' "{e.quote}"' if e.quote else ""
        note = f", {e.note}" if e.note else ""
        rows += wrapped(f"{' ' * indent}{e.mark or 'unchecked'}: {e.place}{quote}{note}", width, indent + 2)
    return rows
