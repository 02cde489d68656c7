"""The state of a duel: the turns so far, and the summary that replaces older rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from rebut.core.json_value import Json
from rebut.core.text import tokens


@dataclass
class Turn:
    """One turn, as the other side, the judge and the reader see it."""

    round: int
    role: str
    text: str
    quotable: str
    """The author's own words. A concession in a summary must be found in them, word for word."""
    position: str = ""
    """What the proposer is for, after this turn."""

    @cached_property
    def size(self) -> int:
        """Its tokens."""
        return tokens(self.text)


@dataclass
class DuelState:
    """Local to one run, and rebuilt by replay like any other variable."""

    turns: list[Turn] = field(default_factory=list)
    summary: str = ""
    notes: list[str] = field(default_factory=list)
    closed: str = ""
    """Why the rounds ended early although no call failed: no point was open any more."""
    summary_failed: bool = False
    """A summary failed, and the program's own list of points replaced it."""
    all_rounds: bool = False
    """Every round takes place, even if no point is open."""
    unasked: bool = False
    """A limit left no room to ask the challenger at all."""
    own_answer: str = ""
    """The challenger's answer from before it saw the proposer's case, if it was asked for one."""

    def round(self, n: int) -> list[Turn]:
        return [turn for turn in self.turns if turn.round == n]

    @property
    def position(self) -> str:
        """The proposer's position as it is now."""
        return next((turn.position for turn in reversed(self.turns) if turn.position), "")

    def size(self) -> int:
        """Tokens of all turns, which the closing call must read."""
        return sum(turn.size for turn in self.turns)

    def complete_rounds(self) -> int:
        return sum(1 for turn in self.turns if turn.role == "challenger")

    def exchanges(self) -> list[Json]:
        """The turns for machines."""
        return [{"round": turn.round, "role": turn.role, "response": turn.text} for turn in self.turns]
