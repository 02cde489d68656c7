"""`Runtime`: what one run of a debate works with, behind the `Debate` that the protocol sees.

`runtime_of` builds it from the record, the plan and the environment, in the same way for a new, a resumed, a forked and
a replayed debate.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rebut import __version__
from rebut.core.errors import NotAvailable, ParticipantFailed, RecordError
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.redaction import Redactor
from rebut.core.text import clean
from rebut.core.types import Backend, ModelSpec, Participant, Reply, Request
from rebut.core.working_time import WorkingTime
from rebut.domain.checks import CHECKS
from rebut.domain.ledger import VERSION, Ledger
from rebut.domain.limits import MAX_OUTPUT, Limits, shown_limit
from rebut.engine.steering import Control as Control
from rebut.record import sessions
from rebut.record.events import Event, Line
from rebut.record.reachability import Reachability
from rebut.record.record import Amount, Record

if TYPE_CHECKING:
    from rebut.engine.fork import AssumedAnswers
    from rebut.engine.plan import Environment, Plan
    from rebut.engine.protocol import Protocol
    from rebut.proof.checks import CheckRunner
    from rebut.record.journal import Journal
    from rebut.workspace.targets.target import Target
    from rebut.workspace.tree import DebatedVersions, View, Workspace


@frozen
class Absent:
    """The backend of a model that cannot be called here, for a seat that has a fallback."""

    error: NotAvailable

    async def complete(self, request: Request) -> Reply:
        raise ParticipantFailed("missing tool", self.error.message, self.error.hint)


def price_unknown(input_tokens: int, output_tokens: int) -> float | None:
    return None


@frozen(slots=False)
class Connection:
    """A backend with what the engine must know about it: its price, and whether a person answers."""

    backend: Backend
    price: Callable[[int, int], float | None] = price_unknown
    patient: bool = False
    family: str = ""
    thinking: int = 0
    """Extra output tokens for thinking, which providers count as output, if an effort is set."""
    context_file: str = ""
    """The file through which the backend passes the persona to the model; if empty, the persona begins the prompt."""
    far: bool = False
    """Whether it is outside of this process, where it may be unreachable: a preflight then asks it a small question."""
    whole_files: bool = False
    """Whether it reads files, and cannot use the text of a diff."""

    @cached_property
    def _usual(self) -> float | None:
        """Roughly what a call costs. Looked up once, because the price table of all models loads slowly."""
        return self.price(1000, 1000)

    @property
    def free(self) -> bool:
        """Whether calls are known to cost nothing. An unknown price is not free."""
        return self._usual == 0.0

    def handed(self, who: Participant, prompt: str) -> tuple[Participant, str]:
        """Participant and prompt as the backend gets them: a persona that it cannot pass on begins the prompt."""
        if not who.persona or self.context_file:
            return who, prompt
        return replace(who, persona=""), f"{who.persona}\n\n{prompt}"

    def worst(self, sent: int, back: int) -> float:
        """The most that a call can cost; 0 if the price is unknown."""
        return self.price(sent, back) or 0.0 if self._usual else 0.0


@dataclass(slots=True)
class Rounds:
    """Which round a debate is in."""

    now: int = 0
    """The current round; 0 before the first."""
    over: bool = False
    cut: str = ""
    """The words for when the user ended the rounds, `settled by hand after round 1`; empty if that skipped nothing."""


@dataclass(slots=True)
class Runtime:
    """Shared by a debate and all its scopes. Protocols never see it."""

    record: Record
    seats: Sequence[Participant]
    connect: Callable[[ModelSpec], Connection]
    redact: Callable[[str], str]
    fence_key: bytes
    sides: DebatedVersions
    """The versions of the workspace and the target that citations are checked against."""
    root: Path
    """The folder of all sessions."""
    reachability: Reachability
    reach: int
    """Characters at the end of a streaming text that may be the first half of a secret."""
    limits: Limits = Limits()
    closing: Amount = Amount()
    """Reserved for the closing call until it is made."""
    closing_thinking: int = 0
    """Tokens of one closing call that are for thinking."""
    fallbacks: Mapping[str, Sequence[ModelSpec]] = field(default_factory=dict)
    journal: Journal | None = None
    """None for an offline replay, which writes nothing."""
    parent: Record | None = None
    """The record from which a fork copies what still fits."""
    upgraded: str = ""
    """What changed, if another version of rebut or of the protocol began this debate."""
    parent_upgraded: str = ""
    """The same for a fork: what changed since its parent began."""
    assumed: AssumedAnswers | None = None
    """The answers that are assumed while the calls of a fork are counted; else None."""
    carried: dict[str, str] = field(default_factory=dict)
    """Facts that an earlier version derived and this run uses: key → what changed."""
    control: Control = field(default_factory=Control)
    target: Target | None = None
    never: Sequence[str] = ()
    ledger: Ledger = Ledger()
    notes: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    failed_before: frozenset[str] = frozenset()
    """Keys whose failure an earlier run recorded."""
    folder: str = ""
    """The folder for the protocol's own files, if it claimed one."""
    publish: Callable[[], Awaitable[Sequence[str]]] | None = None
    """Writes the protocol's files as they are now, and returns what could not be written."""
    rounds: Rounds = field(default_factory=Rounds)
    runners: Mapping[str, str] = field(default_factory=dict)
    """The runners of checks that debaters may use, with what each runs; empty where checks are off."""
    check_runner: CheckRunner | None = None
    """Runs checks; None where checks are off, or never run."""
    background: set[asyncio.Future[None]] = field(default_factory=set)
    """Checks of citations for the screen, which the debate does not wait for."""
    _connections: dict[str, Connection] = field(default_factory=dict)
    _replaying: WorkingTime = field(default_factory=WorkingTime)
    _before: float = 0.0

    def __post_init__(self) -> None:
        self._before = self.record.active_seconds() - self.working_time.seconds()

    @property
    def working_time(self) -> WorkingTime:
        """How long this run has worked."""
        return self.journal.working_time if self.journal is not None else self._replaying

    @property
    def view(self) -> Workspace | None:
        """The workspace with the version under discussion."""
        return self.sides.new

    @property
    def offline(self) -> bool:
        return self.journal is None

    def door(self, text: str) -> str:
        """Clean and redact text from outside. Every such text passes through here before it enters a debate (C8)."""
        return self.redact(clean(text)) if text else ""

    def connection(self, spec: ModelSpec, seat: str = "") -> Connection:
        """How a model is called. If it cannot be called here, the call fails and the seat's fallback takes over."""
        key = str(spec)
        if key not in self._connections:
            try:
                self._connections[key] = self.connect(spec)
            except NotAvailable as error:
                if not self.fallbacks.get(seat):
                    raise
                self._connections[key] = Connection(Absent(error), lambda *_: 0.0)
        return self._connections[key]

    def write(self, event: Event) -> None:
        """Record an event. It is durable after the next `append` or `sync`."""
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
        """The error to raise if the disk has no room for the reply of a call."""
        return self.journal.no_room() if self.journal is not None else None

    def active_seconds(self) -> float:
        """How long all runs of this debate took, without the time that people took to answer."""
        return self._before + self.working_time.seconds()

    def seconds_left(self, *, closing: bool = False) -> float:
        """Seconds that the minutes limit leaves for a call. Up to a quarter is reserved for the closing call."""
        if self.limits.minutes is None:
            return float("inf")
        whole = self.limits.minutes * 60
        reserve = 0.0 if closing else min(self.limits.timeout, whole / 4)
        return whole - reserve - self.active_seconds()

    def refusing_limit(self, worst: Amount, *, closing: bool = False) -> str:
        """The name of the limit that forbids a call; empty if none does. A closing call may use its reserve."""
        reserve = Amount() if closing else self.closing
        name = self.limits.refuses(self.record.committed, worst, reserve)
        return name or ("minutes" if self.seconds_left(closing=closing) <= 0 else "")

    def limit(self, name: str) -> str:
        """A limit in a sentence: `the limit of 20 minutes`."""
        return f"the limit of {shown_limit(name, getattr(self.limits, name))}"


def runtime_of(
    record: Record,
    plan: Plan,
    environment: Environment,
    *,
    view: View | None,
    journal: Journal | None = None,
    parent: Record | None = None,
) -> Runtime:
    """The runtime of a run over this record. Without a journal it is offline and writes nothing."""
    from rebut.workspace.targets.target import target_of
    from rebut.workspace.tree import DebatedVersions

    keys = keys_of(parent or record)
    runners = runners_of(parent or record)
    redactor = redactor_of(parent or record, environment.known_secrets)
    target = target_of(parent or record)
    closing, thinking = _closing(plan, environment)
    return Runtime(
        record=record,
        seats=plan.seats,
        connect=environment.connect,
        redact=redactor.redact,
        reach=redactor.reach,
        fence_key=base64.b64decode(keys["fence"]),
        limits=Limits.from_json(record.limits) if record.lines else plan.limits,
        closing=closing,
        closing_thinking=thinking,
        fallbacks=plan.fallbacks,
        journal=journal,
        parent=parent,
        upgraded=_upgraded(record, plan.protocol),
        parent_upgraded=_upgraded(parent, plan.protocol) if parent else "",
        control=environment.control,
        sides=DebatedVersions.of(view, target, redactor.door, str(plan.workspace), environment.never),
        target=target,
        root=environment.root,
        never=environment.never,
        ledger=Ledger(
            plan.protocol.letter,
            noun=plan.protocol.noun,
            version=record.opened.ledger if record.lines else VERSION,
        ),
        folder=str(record.facts["folder"].value) if "folder" in record.facts else "",
        reachability=environment.reachability,
        runners=runners,
        check_runner=environment.check_runner(repository(plan.workspace), redactor.door)
        if runners and environment.check_runner
        else None,
        failed_before=frozenset(k for k, c in record.calls.items() if c.failed and not c.failed.reopened),
    )


NEVER_HERE = "checks are never run here: start the debate with `rebut … --run-checks` in a terminal"


def runners_of(record: Record) -> Mapping[str, str]:
    """The runners that debaters may use, with what each runs."""
    fact = record.facts.get(CHECKS)
    return cast(Mapping[str, str], fact.value["runners"]) if fact and isinstance(fact.value, dict) else {}


def keys_of(record: Record) -> Mapping[str, str]:
    """The session's own keys. They are the last fact that opening writes: with them, the opening is complete."""
    if "keys" not in record.facts:
        raise RecordError(
            f"session {record.opened.id} ended while it was being opened, before any model was asked",
            f"Start a new one; `rebut delete {record.opened.id}` removes the remains.",
        )
    return cast(Mapping[str, str], record.facts["keys"].value)


def redactor_of(record: Record, known: Sequence[str]) -> Redactor:
    """The session's redactor: one secret has the same placeholder in all its runs."""
    return Redactor(base64.b64decode(keys_of(record)["redaction"]), known)


def view_of(record: Record, folder: Path, known: Sequence[str]) -> View | None:
    """The snapshot that was taken when the debate opened; None if there is none."""
    fact = record.facts.get("snapshot")
    if fact is None:
        return None
    from rebut.workspace.snapshot import Snapshot
    from rebut.workspace.tree import View

    taken = Snapshot.from_json(cast(Mapping[str, Json], fact.value))
    return View(taken, sessions.snapshot(folder), redactor_of(record, known).door)


def _closing(plan: Plan, environment: Environment) -> tuple[Amount, int]:
    """The worst case of all closing calls, reserved from the start, and how many tokens of one are for thinking."""
    size = plan.protocol.closing_tokens
    if not size:
        return Amount(), 0
    judge = plan.protocol.judge
    closers = [p for p in plan.seats if p.seat == judge or p.seat.startswith(f"{judge}.")]
    limited = plan.limits.usd is not None or plan.limits.tokens is not None
    each = plan.protocol.closings(plan.settings) if plan.protocol.closings else 1
    if not closers or not limited:
        return Amount(each * max(1, len(closers)), each * max(1, len(closers)) * size), 0
    connections = [environment.connect(closer.spec) for closer in closers]
    thinking = max(connection.thinking for connection in connections)
    usd = sum(one.price(max(0, size - MAX_OUTPUT), MAX_OUTPUT + one.thinking) or 0.0 for one in connections)
    calls = each * len(closers)
    return Amount(calls, calls * (size + thinking), each * usd), thinking


def _upgraded(record: Record, protocol: Protocol) -> str:
    """What changed since the debate began; empty if neither rebut nor the protocol did."""
    from rebut.engine.protocol import is_same_version

    if not record.lines:
        return ""
    was = record.opened
    if was.rebut != __version__:
        return f"rebut was {was.rebut}, is {__version__}"
    if not is_same_version(was.protocol_version, protocol.version):
        return f"the protocol was {was.protocol_version}, is {protocol.version}"
    return ""
