"""The state of a panel: its challengers with their stances, and the versions of the position."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row
from rebut.core.types import Participant
from rebut.protocols.panel.forms import Persona

Stand = Literal["unheard", "agree", "minor", "unexamined", "dissent", "unknown", "failed"]
"""minor: agrees except for minor points. unexamined: agrees, but names nothing that it examined, even when asked again;
it neither validates the position nor contests it. unknown: its answer could not be read. failed: it never answered."""


UNEXAMINED = "agreed without naming what it examined"


@frozen
class Cause:
    """Why something in the position changed."""

    point: str
    lens: str
    text: str
    what: str = ""


@frozen
class Position:
    """One version of the lead's position."""

    version: int
    after: int
    """The round after which it was written; 0 for the opening."""
    text: str
    confidence: str
    causes: tuple[Cause, ...] = ()
    unexplained: bool = False
    """Whether it changed although the lead named no point as the cause, even when the reply was sent back."""


@frozen
class NamedCrux:
    """What would change a party's mind."""

    question: str
    how: str
    """How to find out."""
    checkable: bool


@frozen
class PartyGrounds:
    """Why a party disagrees, at the end of a panel without agreement."""

    party: str
    seat: str
    why: str
    other_right: str
    """What would have to be true for the other side to be right."""
    assumptions: tuple[str, ...]
    cruxes: tuple[NamedCrux, ...]


@frozen
class CoreAssumption:
    """An assumption behind the disagreement, with the parties that hold and that deny it."""

    text: str
    held_by: tuple[str, ...]
    denied_by: tuple[str, ...] = ()


@dataclass(slots=True)
class Challenger:
    """One expert of the panel, and its current stance."""

    who: Participant
    name: str
    """Its name in the names of its files."""
    lens: str
    persona: Persona
    text: str = ""
    """The text of its persona's file."""
    file: str = ""
    tool_file: str = ""
    """The name under which its tool reads a persona; empty if it reads none."""
    reads: bool = True
    stand: Stand = "unheard"
    verdict: str = ""
    """Its last verdict or answer, such as `partial` or `maintain`; `unknown` if it could not be read."""
    strength: str = ""
    validated: int = 0
    """The version of the position that it accepted; 0 for none."""
    summary: str = ""
    concern: str = ""
    why: str = ""
    """Why it did not answer."""
    doubted: bool = False
    """Whether it agreed in round 1 without naming what it examined."""
    silent: int = 0
    """Missing rebuttals in a row."""

    @property
    def seat(self) -> str:
        return self.who.seat

    @property
    def shown(self) -> str:
        """`Architect (Gemini)`."""
        return f"{self.lens} ({self.who.spec.name or self.who.spec.provider.capitalize()})"

    @property
    def content(self) -> bool:
        return self.stand in ("agree", "minor")

    def accepts(self, version: int, stand: Literal["agree", "minor"], summary: str) -> None:
        self.stand, self.validated, self.summary, self.concern = stand, version, summary, ""

    def does_not_count(self, summary: str) -> None:
        """Note that it agrees, but has still not named what it examined."""
        self.stand, self.validated, self.summary, self.concern = "unexamined", 0, summary, UNEXAMINED

    def objects(self, strength: str, summary: str, concern: str) -> None:
        self.stand, self.strength, self.validated = "dissent", strength, 0
        self.summary, self.concern = summary, concern

    def to_json(self) -> dict[str, Json]:
        return {
            "seat": self.seat,
            "name": self.name,
            "model": str(self.who.spec),
            "lens": self.lens,
            "shown": self.shown,
            "persona_file": self.file,
            "persona_in": "file" if self.tool_file and self.reads else "prompt",
            "stand": self.stand,
            "verdict": self.verdict,
            "objection_strength": self.strength,
            "validated_version": self.validated or None,
            "summary": self.summary,
            "concern": self.concern,
            "failure": self.why,
            "doubted": self.doubted,
        }


@dataclass(slots=True)
class PanelState:
    """Everything in a panel's state file besides the ledger."""

    challengers: list[Challenger]
    domain: str = ""
    positions: list[Position] = field(default_factory=list)
    rounds: int = 0
    """Completed rounds."""
    at_once: int = 0
    """How many challengers accepted the first position in round 1."""
    notes: list[str] = field(default_factory=list)
    weaknesses: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    """The assumptions that the lead named in the opening."""
    overruled: list[str] = field(default_factory=list)
    """The ids of points that the lead rejects although a check shows them, without a fault found in the check."""
    core: str = ""
    mapped: list[CoreAssumption] = field(default_factory=list)
    grounds: list[PartyGrounds] = field(default_factory=list)
    unsaid: str = ""
    """Why not every party named its assumptions."""
    unmapped: str = ""
    """Why the judge did not compare the assumptions."""

    @property
    def position(self) -> Position:
        return self.positions[-1]

    @property
    def dissenters(self) -> list[Challenger]:
        return [c for c in self.challengers if c.stand == "dissent"]

    @property
    def validated(self) -> list[Challenger]:
        return [c for c in self.challengers if c.content]

    @property
    def missing(self) -> list[Challenger]:
        return [c for c in self.challengers if c.stand in ("unheard", "failed", "unknown")]

    def lens_of(self, seat: str) -> str:
        return next((c.lens for c in self.challengers if c.seat == seat), "the lead" if seat == "lead" else seat)

    def to_json(self) -> dict[str, Json]:
        return {
            "domain": self.domain,
            "round": self.rounds,
            "challengers": [c.to_json() for c in self.challengers],
            "position_history": as_row(self.positions),
            "opening_weaknesses": list(self.weaknesses),
            "opening_assumptions": list(self.assumptions),
            "core_disagreement": self.core,
            "assumptions": as_row(self.mapped),
            "grounds": as_row(self.grounds),
            "notes": list(self.notes),
        }


def names(seats: Sequence[Participant]) -> list[str]:
    """A name for each challenger's files: its own, else its provider's; a repeated name gets a number."""
    out: list[str] = []
    for who in seats:
        plain = re.sub(r"[^A-Za-z0-9_.-]", "-", who.spec.name or who.spec.provider)
        n, name = 1, plain
        while name.casefold() in {o.casefold() for o in out}:
            n += 1
            name = f"{plain}-{n}"
        out.append(name)
    return out
