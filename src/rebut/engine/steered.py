"""The hand on a debate, as far as a protocol sees it: rounds that were added or ended by somebody who watches."""

from __future__ import annotations

from abc import ABC, abstractmethod

from rebut.engine.helm import added
from rebut.engine.runtime import Room


class Steered(ABC):
    """A part of `Debate`, and nothing by itself."""

    _room: Room

    def planned(self, limit: int) -> int:
        """So many rounds, and those that were added by hand."""
        return limit + added(self._room.record)

    def settle(self, when: str) -> None:
        """End the rounds because somebody decided so."""
        self._room.rounds.cut = f"settled by hand {when}"
        self.stop(self._room.rounds.cut)

    @property
    def settled(self) -> bool:
        """Whether the rounds were ended by hand, with something left out."""
        return bool(self._room.rounds.cut)

    @abstractmethod
    def stop(self, reason: str) -> None:
        """End the rounds after this one."""
