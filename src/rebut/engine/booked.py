"""The ledger of a debate, as a protocol sees it: what is entered is looked up first, and on record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from rebut.core.types import Json
from rebut.domain import ledger as ledgers
from rebut.domain.ledger import Claim, Entry, Ledger
from rebut.engine.runtime import Room
from rebut.record.events import FactClass


class Booked(ABC):
    """A part of `Debate`, and nothing by itself."""

    _room: Room

    @abstractmethod
    async def once(
        self, key: str, fn: Callable[[], Json | Awaitable[Json]], *, of: Json = None, cls: FactClass = "derived"
    ) -> Json:
        """Look at something once; afterwards it is read from the record."""

    @property
    def ledger(self) -> Ledger:
        return self._room.ledger

    async def note(self, step: str, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Enter claims, points and moves. Their citations are checked, ids are given, and all of it is on record.

        Call it after the barrier of a parallel step, in seat order: that order gives the ids.
        """
        before = self.ledger
        await self.enter(step, entries)
        return [*self.ledger.claims[len(before.claims) :], *self.ledger.points[len(before.points) :]]

    async def enter(self, step: str, entries: Sequence[Entry]) -> Sequence[tuple[str, Entry]]:
        """`note`, telling of each entry, as it was checked, its id; none if it matched nothing."""
        from rebut.engine.noting import checked, placed

        room = self._room
        entries = [ledgers.with_evidence(e) for e in entries]
        of = cast(Json, [ledgers.to_json(e) for e in entries])
        value = await self.once(f"{step}#ledger", lambda: checked(room, entries), of=room.sides.of_version(of))
        assert isinstance(value, dict)
        rows = cast(list[Mapping[str, Any]], value["entries"])
        room.ledger, out = placed(room.ledger, [ledgers.from_json(row) for row in rows])
        return out

    def cited(self, by: str, round: int, text: str) -> list[Claim]:
        """A claim of `by` for each statement of a document that cites anything in its prose.

        Those on the ledger come with their id and marks, so that what a later version says again counts once; the
        others are yours to `enter`.
        """
        from rebut.evidence.statements import citing

        known = {c.text: c for c in self.ledger.claims if c.by == by}
        return [known.get(one) or Claim(one, by, round) for one in citing(text)]
