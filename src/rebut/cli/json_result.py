"""The outcome for machines, short enough for any host's window: at most 8 kB, and a pointer to all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rebut.cli.output import as_json
from rebut.core.text import cut
from rebut.domain.ledger import Ledger, Point
from rebut.domain.outcome import Outcome, Seated
from rebut.domain.review_result import ReviewResult
from rebut.domain.worth import Worth

LARGEST = 8000
"""Bytes, the last newline included."""


class Sizes(NamedTuple):
    """How much of everything is shown: how many of a kind, and how long a text may be."""

    points: int
    point: int
    text: int
    others: int


SIZES = (
    Sizes(60, 300, 3000, 20),
    Sizes(24, 200, 1500, 10),
    Sizes(12, 120, 800, 6),
    Sizes(6, 80, 300, 4),
    Sizes(2, 20, 60, 2),
)
SETTLED = ("conceded", "resolved", "withdrawn")


def brief(outcome: Outcome, beside: Mapping[str, object] | None = None) -> dict[str, object]:
    """As much of the outcome as fits; `rebut show ID --json` has everything, and the result says so.

    What stands `beside` it, such as the parent of a fork, takes its space, and is never shortened.
    """
    shown: dict[str, object] = {}
    for space in SIZES:
        shown = {**_within(outcome, space), **(beside or {})}
        if len(as_json(shown).encode()) < LARGEST:
            break
    return shown


def _within(outcome: Outcome, space: Sizes) -> dict[str, object]:
    short: list[str] = []

    def text(name: str, value: str, most: int = space.text) -> str:
        if len(value) > most:
            short.append(name)
        return cut(value, most)

    def some(name: str, rows: Sequence[str]) -> list[str]:
        if len(rows) > space.others:
            short.append(f"{name} ({space.others} of {len(rows)})")
        return [text(name, row, space.point * 2) for row in rows[: space.others]]

    ledger, verdict = outcome.ledger, outcome.verdict
    points = _weightiest(ledger, space.points)
    if len(points) < len(ledger.points):
        short.append(f"points ({len(points)} of {len(ledger.points)})")
    seats = outcome.seats[: max(6, space.others)]
    if len(seats) < len(outcome.seats):
        short.append(f"seats ({len(seats)} of {len(outcome.seats)})")
    spent = outcome.spent
    full: dict[str, object] = {
        "kind": outcome.kind,
        "heading": text("heading", outcome.heading),
        "decision": text("decision", outcome.decision),
        "conclusive": outcome.conclusive,
        "complete": outcome.complete,
        "basis": text("basis", outcome.basis),
        "stopped": text("stopped", outcome.stopped),
        "session": outcome.session or None,
        "verdict": verdict
        and {
            "winner": verdict.winner,
            "reasoning": text("reasoning", verdict.reasoning),
            "recommendation": text("recommendation", verdict.recommendation),
            "by": text("by", verdict.by, 100),
        },
        "notes": some("notes", outcome.notes),
        "ledger": {
            "claims": len(ledger.claims),
            "unsupported": some("unsupported", [c.id for c in ledger.unsupported]),
            "points": [
                {
                    "id": p.id,
                    "severity": p.severity,
                    "status": ledger.final_status(p.id),
                    "text": text("points", p.text, space.point),
                }
                for p in points
            ],
            "citations": dict(ledger.marks()),
            "slips": some("slips", [f"{s.point} {s.kind} by {s.by} in round {s.round}" for s in ledger.slips]),
        },
        "seats": [_seat(seat) for seat in seats],
        "spent": {name: getattr(spent, name) for name in type(spent).__dataclass_fields__},
        "exit": outcome.exit_code,
    }
    if outcome.caveats:
        full["caveats"] = list(outcome.caveats)
    if outcome.worth:
        full["worth"] = _worth(outcome.worth, space)
    if outcome.session:
        full["all_of_it"] = f"rebut show {outcome.session} --json"
    if outcome.review:
        full["review"] = _review(outcome.review, space, short)
    if outcome.rounds.calls:
        full["rounds"] = {name: getattr(outcome.rounds, name) for name in type(spent).__dataclass_fields__}
    if not outcome.complete and outcome.session:
        full["resume"] = f"rebut resume {outcome.session}"
    return {**full, "shortened": list(dict.fromkeys(short))} if short else full


def _worth(worth: Worth, space: Sizes) -> dict[str, object]:
    """Whether it was worth it; what the first answers and the debate took, without what nobody counts."""
    told = {name: getattr(worth, name) for name in ("first", "caveat")}
    parts = {"alone": worth.alone, "debate": worth.debate}
    return {
        **{name: cut(text, space.text) for name, text in told.items() if text},
        "points": dict(worth.points),
        "changed": [cut(text, space.point * 2) for text in worth.changed[: space.others]],
        "changed_nothing": worth.nothing,
        **{n: {k: getattr(p, k) for k in ("calls", "tokens", "usd", "seconds")} for n, p in parts.items()},
    }


def _weightiest(ledger: Ledger, most: int) -> list[Point]:
    """Of too many points those that are open, the grave ones first; in the ledger's order."""
    ranked = sorted(ledger.points, key=lambda p: (ledger.final_status(p.id) in SETTLED, p.severity or "~"))
    kept = {p.id for p in ranked[:most]}
    return [p for p in ledger.points if p.id in kept]


def _review(made: ReviewResult, space: Sizes, short: list[str]) -> dict[str, object]:
    """A review in short: what was decided, and the findings in a line each."""
    if len(made.findings) > space.points:
        short.append(f"findings ({space.points} of {len(made.findings)})")
    findings = [
        {
            "id": f.id,
            "severity": f.severity,
            "where": cut(f.place, 80),
            "quote": f.mark,
            "judge": cut(f.ruling, space.point),
            "text": cut(f.text, space.point),
        }
        | ({"dismissed": cut(f.dismissed, space.point)} if f.dismissed else {})
        for f in made.findings[: space.points]
    ]
    names = ("session", "target", "rounds", "converged", "decision", "artifact", "stopped_by")
    said = {name: getattr(made, name) for name in names}
    told: dict[str, object] = {n: cut(v, space.text) if isinstance(v, str) else v for n, v in said.items()}
    return {"summary": made.headline, **told, "choices": [h.taken for h in made.history], "findings": findings}


def _seat(seat: Seated) -> dict[str, object]:
    return {
        "seat": seat.seat,
        "spec": cut(seat.spec, 80),
        "family": cut(seat.family, 40),
        "spoke": [cut(name, 40) for name in seat.spoke[:3]],
        "answered": seat.answered,
        "failed": seat.failed,
        "why": cut(seat.why, 160),
    }
