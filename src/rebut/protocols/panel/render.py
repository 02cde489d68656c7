"""The text of a panel: the case, the points and the positions for prompts, and each turn as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rebut.core.json_value import objects
from rebut.core.markdown import inline, tame
from rebut.core.text import squeeze
from rebut.domain import render as ledgers
from rebut.domain.ledger import Ledger, Move, Point
from rebut.domain.render import Vocabulary, bullets, section
from rebut.protocols.panel.reply_checks import NAME
from rebut.protocols.panel.state import Position

WORDS = Vocabulary(
    severities=NAME,
    moves={"resolve": "accept", "withdraw": "accept", "contest": "maintain"},
    moves_of={"lead": {"concede": "accept", "partly": "partial", "defend": "reject"}},
)
Name = Callable[[str], str]


# for prompts


def case(position: str, ledger: Ledger, weaknesses: Sequence[str], assumptions: Sequence[str]) -> str:
    """The opening as the challengers see it."""
    parts = [position, ledgers.claims(ledger.claims)]
    parts += [bullets("Weaknesses, as the lead sees them:", weaknesses), bullets("Assumptions:", assumptions)]
    return "\n\n".join(p for p in parts if p)


def points(ledger: Ledger, wanted: Sequence[Point], name: Name, unplaced: Sequence[Move] = ()) -> str:
    """Points with the last answer of each side. Older answers are left out, so prompts grow only with the open points.

    `unplaced` are objections that name a point which does not exist.
    """
    rows = [*ledgers.points(ledger, WORDS, only=wanted, name=name), *ledgers.unplaced(unplaced, WORDS, name)]
    return "\n".join(rows) or "none"


def brief(wanted: Sequence[Point], name: Name) -> str:
    """One line for each point, for challengers that do not have to answer these points."""
    return "\n".join(
        f"{p.id} ({' and '.join(name(v) for v in p.voices)}; {NAME[p.severity]}): {squeeze(p.words(name))}"
        for p in wanted
    )


def current(position: Position, after: int) -> str:
    """The position after a round, and what changed in it since the round before."""
    if position.after != after:
        return f"{position.text}\n\nNothing changed since the previous round."
    changed = [f"{c.what or c.text} (because of {c.point}, {c.lens})" for c in position.causes]
    changes = bullets("Changes since the previous version:", changed) or "Nothing changed since the previous version."
    return f"{position.text}\n\n{changes}"


# turns, from the record alone


def turn(step: str, value: Any, ledger: Ledger, seat: str, n: int) -> str:
    """One answer as Markdown. It is read from the record alone, so records of earlier versions can be shown, too."""
    if not isinstance(value, dict):
        return tame(str(value))
    made = ledgers.raised_by(ledger, seat, n, WORDS)
    moves = [m for m in ledger.answers if m.by == seat and m.round == n]
    parts: list[str] = []
    if step == "position":
        parts += [
            tame(str(value.get("position", ""))),
            f"**Confidence:** {inline(str(value.get('confidence', ''))).upper()}",
        ]
        parts.append("**Reasoning:**\n\n" + tame(ledgers.claims(c for c in ledger.claims if c.by == seat)))
        parts += [_bold("Weaknesses", value.get("weaknesses")), _bold("Assumptions", value.get("assumptions"))]
    elif step == "challenge":
        verdict = f"{value.get('verdict', '')}, objections {value.get('objection_strength', '')}"
        said = f"**Verdict:** {inline(verdict)}"
        parts += [said, tame(str(value.get("summary", ""))), tame(made), _examined(value.get("examined"))]
    elif step in ("confront", "address"):
        parts += [tame(ledgers.moves(moves, WORDS))]
        if step == "confront":
            parts += [f"**Position now:**\n\n{tame(str(value.get('position', '')))}", _changes(value.get("changes"))]
            parts.append(f"**Confidence:** {inline(str(value.get('confidence', ''))).upper()}")
    elif step == "rebuttal":
        parts += [f"**Answer:** {inline(str(value.get('answer', '')))}", tame(str(value.get("summary", "")))]
        parts += [tame(ledgers.moves(moves, WORDS)), tame(made), _examined(value.get("examined"))]
    elif step == "grounds":
        parts += [f"**Why:** {tame(str(value.get('why', '')))}"]
        parts += [f"**What would make the other side right:** {tame(str(value.get('other_right', '')))}"]
        parts.append(_bold("Assumptions", value.get("assumptions")))
        asked = [str(c.get("question", "")) for c in objects(value.get("cruxes"))]
        parts.append(_bold("What would change this party's mind", asked))
    return "\n\n".join(p for p in parts if p)


def _examined(rows: Any) -> str:
    looked = [f"{r.get('angle', '')}: {r.get('what', '')}: {r.get('found', '')}" for r in objects(rows)]
    return _bold("Examined", looked)


def _changes(rows: Any) -> str:
    said = []
    for row in objects(rows):
        ids = row.get("because")
        because = ", ".join(str(i) for i in ids) if isinstance(ids, list) else ids
        said.append(f"{row.get('what', '')} (because of {because})")
    return _bold("What changed", said)


def _bold(title: str, items: Any) -> str:
    return section(f"**{title}:**", [str(i) for i in items] if isinstance(items, list) else [], "")
