"""How a panel reads: the lead's case, the points with what was said on them last, and each turn as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rebut.core.text import squeeze, tame
from rebut.core.types import Json
from rebut.domain.ledger import Claim, Evidence, Ledger, Move, Point
from rebut.protocols.panel.reply_checks import NAME
from rebut.protocols.panel.state import Position

NOTHING = " (cites nothing)"
LEAD = {"concede": "accept", "partly": "partial", "defend": "reject"}
OTHERS = {"resolve": "accept", "maintain": "maintain", "withdraw": "accept"}
SLIPS = {"walked back": "walked its concession back without new evidence", "dropped": "dropped it without a reason"}
Name = Callable[[str], str]


def case(position: str, ledger: Ledger, weaknesses: Sequence[str], assumptions: Sequence[str]) -> str:
    """The opening as the challengers see it."""
    parts = [position, "\n".join(_claim(c) for c in ledger.claims)]
    parts.append(_list("Weak, by its own account", weaknesses))
    parts.append(_list("Taken for granted", assumptions))
    return "\n\n".join(p for p in parts if p)


def points(ledger: Ledger, wanted: Sequence[Point], name: Name) -> str:
    """Points with the last word of each side on them, and nothing older: prompts grow with what is open only."""
    rows: list[str] = []
    for p in wanted:
        voices = " and ".join(name(v) for v in p.voices)
        about = f", about {p.about}" if p.about else ""
        status = ledger.status(p.id)
        kind = f"{voices}; {NAME[p.severity]}, {p.category}{about}; {status}"
        rows.append(f"{p.id} ({kind}): {p.text}{marks(p.evidence) or NOTHING}")
        for by in ("lead", *p.voices):
            said = [m for m in ledger.moves if m.point == p.id and m.by == by]
            if said:
                last = said[-1]
                rows.append(f"   {name(by)}, round {last.round}: {_verb(last)}: {last.reason}{marks(last.evidence)}")
        for slip in ledger.slips:
            if slip.point == p.id:
                rows.append(f"   note: {name(slip.by)} {SLIPS[slip.kind]} in round {slip.round}")
    return "\n".join(rows) or "none"


def brief(wanted: Sequence[Point], name: Name) -> str:
    """One line each, for those who need not answer them."""
    return "\n".join(
        f"{p.id} ({' and '.join(name(v) for v in p.voices)}; {NAME[p.severity]}): {squeeze(p.text)}" for p in wanted
    )


def standing(position: Position) -> str:
    """A version of the position with what changed in it."""
    changed = [f"{c.what or c.text} (because of {c.point}, {c.lens})" for c in position.causes]
    told = _list("Changed since the version before", changed) or "Nothing changed since the version before."
    return f"{position.text}\n\n{told}"


def marks(evidence: Sequence[Evidence]) -> str:
    return f" — {'; '.join(e.shown for e in evidence)}" if evidence else ""


# turns, told from the record alone


def turn(step: str, value: Any, ledger: Ledger, seat: str, n: int) -> str:
    """One answer as Markdown. Everything is read from events, so any older record can be told too."""
    if not isinstance(value, dict):
        return tame(str(value))
    made = [p for p in ledger.points if seat in p.voices and p.round == n]
    moves = [m for m in ledger.moves if m.by == seat and m.round == n]
    parts: list[str] = []
    if step == "position":
        parts += [tame(str(value.get("position", ""))), f"**Confidence:** {str(value.get('confidence', '')).upper()}"]
        parts.append("**Reasoning:**\n\n" + "\n".join(_claim(c) for c in ledger.claims if c.by == seat))
        parts += [_bold("Weaknesses", value.get("weaknesses")), _bold("Assumptions", value.get("assumptions"))]
    elif step == "challenge":
        said = f"**Verdict:** {value.get('verdict', '')}, objections {value.get('objection_strength', '')}"
        parts += [said, tame(str(value.get("summary", ""))), _points(made), _examined(value.get("examined"))]
    elif step in ("confront", "address"):
        parts += [_moves(moves)]
        if step == "confront":
            parts += [f"**Position now:**\n\n{tame(str(value.get('position', '')))}", _changes(value.get("changes"))]
            parts.append(f"**Confidence:** {str(value.get('confidence', '')).upper()}")
    elif step == "rebuttal":
        parts += [f"**Answer:** {value.get('answer', '')}", tame(str(value.get("summary", "")))]
        parts += [_moves(moves), _points(made), _examined(value.get("examined"))]
    elif step == "grounds":
        parts += [f"**Why:** {tame(str(value.get('why', '')))}"]
        parts += [f"**What would make the other side right:** {tame(str(value.get('other_right', '')))}"]
        parts.append(_bold("Assumptions", value.get("assumptions")))
        cruxes = value.get("cruxes")
        asked = [str(c.get("question", "")) for c in cruxes if isinstance(c, dict)] if isinstance(cruxes, list) else []
        parts.append(_bold("What would change this party's mind", asked))
    return "\n\n".join(p for p in parts if p)


def _claim(c: Claim) -> str:
    return f"- {c.id}: {squeeze(c.text)}{marks(c.evidence) or NOTHING}"


def _points(made: Iterable[Point]) -> str:
    return "\n".join(
        f"- {p.id} ({NAME[p.severity]}, {p.category}): {squeeze(p.text)}{marks(p.evidence) or NOTHING}" for p in made
    )


def _moves(moves: Iterable[Move]) -> str:
    return "\n".join(f"- {m.point} {_verb(m)}: {squeeze(m.reason)}{marks(m.evidence)}" for m in moves)


def _verb(move: Move) -> str:
    return (LEAD if move.by == "lead" else OTHERS).get(move.kind, move.kind)


def _examined(rows: Json) -> str:
    found = [r for r in rows if isinstance(r, dict)] if isinstance(rows, list) else []
    return _list(
        "**Examined:**\n", [f"{r.get('angle', '')}: {r.get('what', '')}: {r.get('found', '')}" for r in found], ""
    )


def _changes(rows: Json) -> str:
    found = [r for r in rows if isinstance(r, dict)] if isinstance(rows, list) else []
    said = []
    for row in found:
        ids = row.get("because")
        said.append(
            f"{row.get('what', '')} (because of {', '.join(str(i) for i in ids) if isinstance(ids, list) else ids})"
        )
    return _bold("What changed", said)


def _bold(title: str, items: Any) -> str:
    return _list(f"**{title}:**\n", [str(i) for i in items] if isinstance(items, list) else [], "")


def _list(title: str, items: Sequence[str], colon: str = ":") -> str:
    rows = [f"- {squeeze(item)}" for item in items if squeeze(item)]
    return f"{title}{colon}\n" + "\n".join(rows) if rows else ""
