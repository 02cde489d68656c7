"""The state of a question: both answers, the turns of the debate about them, and what was not done to both alike."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from rebut.core.json_value import Json
from rebut.core.text import tokens
from rebut.domain.ledger import Ledger
from rebut.protocols.ask.forms import Comparison

PARTIES = ("proposer", "challenger")
"""The seats that answer, in the order of the answers' numbers."""


def other(seat: str) -> str:
    """The seat whose answer this one challenges."""
    return PARTIES[1 - PARTIES.index(seat)]


def title(seat: str) -> str:
    """The name of a seat's answer in prompts and reports, and of the document that the points against it are about."""
    return f"answer {PARTIES.index(seat) + 1}"


def renamed(text: str) -> str:
    """Swap the numbers of the answers in a text: for a judge that is asked in the other order, and in its reply."""
    return re.sub(r"\b(answer )([12])\b", lambda found: found[1] + "21"[int(found[2]) - 1], text, flags=re.I)


def author(seat: str) -> str:
    """The name of a seat for the prompts of the judge, which must not show who has which seat."""
    return f"the author of {title(seat)}" if seat in PARTIES else seat


def against(ledger: Ledger, seat: str) -> Ledger:
    """The ledger with only the points that are about the answer of a seat."""
    return replace(ledger, points=tuple(p for p in ledger.points if p.about == title(seat)))


@dataclass
class AnswerTurn:
    """A challenge or a defense of one of the answers."""

    round: int
    step: str
    """challenge or defense."""
    of: str
    """The seat whose answer it is about."""
    text: str

    @property
    def label(self) -> str:
        return f"round {self.round}, {self.step} of {title(self.of)}"


@dataclass
class AskState:
    """The state of one run. It is not recorded: a replay builds it again, like any other variable."""

    answers: dict[str, str] = field(default_factory=dict)
    """Seat → its blind answer, as text."""
    first: dict[str, str] = field(default_factory=dict)
    """Seat → its position in that answer."""
    now: dict[str, str] = field(default_factory=dict)
    """Seat → its position after its last defense."""
    compared: Comparison | None = None
    turns: list[AnswerTurn] = field(default_factory=list)
    rounds: int = 0
    """Rounds in which both answers were challenged and defended."""
    unequal: list[str] = field(default_factory=list)
    """What was done to one answer and not to the other, and why."""
    closed: str = ""
    """Why the rounds ended early although no call failed: no point was open any more."""

    def size(self) -> int:
        """Tokens of all turns, which the closing call must read."""
        return sum(tokens(text) for text in (*self.answers.values(), *(turn.text for turn in self.turns)))

    def exchanges(self) -> list[Json]:
        """The turns as JSON."""
        return [
            {"round": turn.round, "step": turn.step, "answer": PARTIES.index(turn.of) + 1, "response": turn.text}
            for turn in self.turns
        ]
