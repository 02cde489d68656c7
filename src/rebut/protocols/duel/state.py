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
    """The proposer's position after this turn; empty for a turn of the challenger."""

    @cached_property
    def size(self) -> int:
        """The number of tokens of the text."""
        return tokens(self.text)


@dataclass
class DuelState:
    """The state of one run. It is not recorded: a replay builds it again, like any other variable."""

    turns: list[Turn] = field(default_factory=list)
    summary: str = ""
    notes: list[str] = field(default_factory=list)
    closed: str = ""
    """Why the rounds ended early although no call failed: no point was open any more."""
    summary_failed: bool = False
    """Whether a summary failed, so that the program's own list of points replaced it."""
    all_rounds: bool = False
    """Whether every round takes place, even if no point is open."""
    unasked: bool = False
    """Whether a limit left no room for the last call to the challenger."""
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
        """The turns as JSON."""
        return [{"round": turn.round, "role": turn.role, "response": turn.text} for turn in self.turns]
