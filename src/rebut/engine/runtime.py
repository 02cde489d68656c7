"""The runtime: what one run of a debate shares, behind the `Debate` that the protocol sees."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.core.text import clean
from rebut.core.types import Backend, ModelSpec, Participant
from rebut.domain.ledger import Ledger
from rebut.domain.limits import Limits
from rebut.engine.steering import Control as Control
from rebut.record.events import Event, Line
from rebut.record.reachability import Reachability
from rebut.record.record import Amount, Record

if TYPE_CHECKING:
    from rebut.core.errors import RecordError
    from rebut.record.journal import Journal
    from rebut.workspace.targets.target import Target
    from rebut.workspace.tree import DebatedVersions, Workspace


def price_unknown(input_tokens: int, output_tokens: int) -> float | None:
    return None


@dataclass(frozen=True)
class Connection:
    """A backend as the engine needs it: the call, the price of its worst case, and whether a person is behind it."""

    backend: Backend
    price: Callable[[int, int], float | None] = price_unknown
    patient: bool = False
    family: str = ""
    thinking: int = 0
    """Tokens that a reply may have beyond what was asked for, because thinking counts as output and effort was set."""
    context_file: str = ""
    """The file by which the backend itself hands a participant's persona over; without one, it leads the prompt."""
    far: bool = False
    """Something outside of this process may not be there: worth a round trip before a debate counts on it."""
    whole_files: bool = False
    """It reads files, and the text of a diff says nothing to it."""

    @cached_property
    def _usual(self) -> float | None:
        """What a call costs, roughly. Looked up once, since the price table of all models loads slowly."""
        return self.price(1000, 1000)

    @property
    def free(self) -> bool:
        """Known to cost nothing, which is not the same as a price that nobody knows."""
        return self._usual == 0.0

    def handed(self, who: Participant, prompt: str) -> tuple[Participant, str]:
        """Participant and prompt as they go to the backend: a persona that it cannot hand over leads the prompt."""
        if not who.persona or self.context_file:
            return who, prompt
        return replace(who, persona=""), f"{who.persona}\n\n{prompt}"

    def worst(self, sent: int, back: int) -> float:
        """The most that a call can cost, as far as that is known."""
        return self.price(sent, back) or 0.0 if self._usual else 0.0


@dataclass(slots=True)
class Rounds:
    """Where a debate stands in its rounds."""

    now: int = 0
    """The round that is under way; 0 before the first."""
    over: bool = False
    cut: str = ""
    """Says that they were ended by hand, if that left anything out."""


@dataclass(slots=True)
class Runtime:
    """Shared by a debate and all its scopes; nothing here is seen by a protocol."""

    record: Record
    seats: Sequence[Participant]
    connect: Callable[[ModelSpec], Connection]
    redact: Callable[[str], str]
    fence_key: bytes
    sides: DebatedVersions
    """What citations are looked up in."""
    root: Path
    """The folder of all sessions."""
    reachability: Reachability
    reach: int
    """Characters at the end of a text in the making that may be half of a secret."""
    limits: Limits = Limits()
    closing: Amount = Amount()
    """Set aside for the closing call until it is made."""
    closing_thinking: int = 0
    """How much of that is for thinking."""
    fallbacks: Mapping[str, Sequence[ModelSpec]] = field(default_factory=dict)
    journal: Journal | None = None
    """None for an offline replay, which writes nothing."""
    parent: Record | None = None
    """The record that a fork takes over what still fits from."""
    upgraded: str = ""
    """Says what changed, when rebut or the protocol is not the version that began this debate."""
    elder: str = ""
    """The same of the debate that this one was forked from."""
    carried: dict[str, str] = field(default_factory=dict)
    """What an earlier version derived and this one goes by: key → what changed."""
    control: Control = field(default_factory=Control)
    target: Target | None = None
    never: Sequence[str] = ()
    ledger: Ledger = Ledger()
    notes: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    failed_before: frozenset[str] = frozenset()
    """Keys whose failure an earlier run left on record."""
    folder: str = ""
    """Where the protocol's own files go, if it claimed a place for them."""
    publish: Callable[[], Awaitable[Sequence[str]]] | None = None
    """Writes the protocol's files as they are by now, and says what could not be written."""
    rounds: Rounds = field(default_factory=Rounds)
    waited: float = 0.0
    """Seconds that people took to answer in this run."""
    aside: set[asyncio.Future[None]] = field(default_factory=set)
    """What is looked up for whoever listens, beside the debate itself."""
    _connections: dict[str, Connection] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _before: float = 0.0

    def __post_init__(self) -> None:
        self._before = self.record.active_seconds()

    @property
    def view(self) -> Workspace | None:
        """What is debated as it stands now, and all around it."""
        return self.sides.new

    @property
    def offline(self) -> bool:
        return self.journal is None

    def door(self, text: str) -> str:
        """The one way by which text from outside enters a debate: cleaned, then without its secrets (C8)."""
        return self.redact(clean(text))

    def connection(self, spec: ModelSpec) -> Connection:
        key = str(spec)
        if key not in self._connections:
            self._connections[key] = self.connect(spec)
        return self._connections[key]

    def write(self, event: Event) -> None:
        """Record an event; it is durable with the next `append` or `sync`."""
        if self.journal is not None:
            self.journal.write(event)
        else:
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            self.record.add(Line(len(self.record.lines) + 1, at, event))

    async def append(self, *events: Event) -> None:
        for event in events:
            self.write(event)
        await self.sync()

    async def sync(self) -> None:
        if self.journal is not None:
            await self.journal.sync()

    def no_room(self) -> RecordError | None:
        """Why what a call brings back would find no room on the disk, if so."""
        return self.journal.no_room() if self.journal is not None else None

    def active_seconds(self) -> float:
        """Time worked on this debate over all its runs, without the time that people took."""
        return self._before + max(0.0, time.monotonic() - self._began - self.waited)

    def seconds_left(self, *, closing: bool = False) -> float:
        """What the minutes limit leaves for a call. A quarter, at most one call's time, is kept for the closing one."""
        if self.limits.minutes is None:
            return float("inf")
        whole = self.limits.minutes * 60
        kept = 0.0 if closing else min(self.limits.timeout, whole / 4)
        return whole - kept - self.active_seconds()
