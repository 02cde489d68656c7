"""`Plan`: what a debate is to do, checked, on record. `Environment`: connections, secrets, callbacks; not recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rebut import __version__
from rebut.core.errors import UsageError
from rebut.core.text import clean
from rebut.core.types import Json, ModelSpec, Participant, Sampling
from rebut.domain.limits import Limits
from rebut.engine.protocol import Protocol
from rebut.engine.runtime import Connection, Control
from rebut.record import sessions
from rebut.record.events import Line, Opened
from rebut.record.reachability import Reachability
from rebut.record.record import Record

if TYPE_CHECKING:
    from rebut.workspace.targets.target import Target

TOPIC_LIMIT = 100_000
ASKED = "asked"
"""The fact that holds `Plan.asked`."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The outside of a debate, none of it on record: how to reach models, what is secret, who listens."""

    connect: Callable[[ModelSpec], Connection]
    root: Path
    """The folder of all sessions."""
    known_secrets: Sequence[str] = ()
    never: Sequence[str] = ()
    control: Control = field(default_factory=Control)
    listener: Callable[[Line], None] | None = None
    on_ready: Callable[[Record, Path], None] | None = None
    """Called once the debate is on record and before anything is asked."""

    @property
    def reachability(self) -> Reachability:
        """Who answered a few minutes ago."""
        return Reachability(self.root.parent / "trips.json")


@dataclass(frozen=True, slots=True)
class Plan:
    """A debate as asked for, everything checked."""

    protocol: Protocol
    topic: str
    seats: Sequence[Participant]
    settings: Any
    workspace: Path
    limits: Limits = Limits()
    context: Sequence[str] = ()
    fallbacks: Mapping[str, Sequence[ModelSpec]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    target: Target | None = None
    decided: bool = True
    """Of a fork: what was decided by hand on rounds still holds, since nobody asks for another number of them."""
    most_rounds: int | None = None
    """What the repository permits at most, also where somebody adds rounds by hand."""
    redaction: bytes = b""
    """The key by which the target's secrets were replaced; the session goes on with it, so that one secret has one
    placeholder throughout."""
    asked: Mapping[str, Json] = field(default_factory=dict)
    """What is to become of the outcome, for whoever takes the debate up again; the debate itself never looks at it."""
    checked: bool = False
    """Whether the protocol has checked it already."""
    searched: bool = False
    """Whether the target's files have been searched for secrets by that key: they are long, and it takes its time."""


def debatable(topic: str) -> None:
    if not clean(topic).strip():
        raise UsageError("the topic is empty", "Say what to debate, in quotes.")
    if len(topic) > TOPIC_LIMIT:
        raise UsageError(
            f"the topic is {len(topic):,} characters long; at most {TOPIC_LIMIT:,} are taken",
            "Ask the question in a sentence and give the material with --context FILE.",
        )


def sound(plan: Plan) -> None:
    """What can be told of a plan before anything is opened: there is a topic, and the seats go with the settings."""
    debatable(plan.topic)
    if plan.protocol.check and not plan.checked:
        plan.protocol.check(plan)


def opened(plan: Plan, folder: Path, topic: str, parent: str = "", alias: str = "") -> Opened:
    seats: list[dict[str, Json]] = [
        {
            "seat": p.seat,
            "spec": p.spec.written,
            "family": p.family,
            "persona": p.persona,
            "fallbacks": [str(s) for s in plan.fallbacks.get(p.seat, ())],
            "default": p.default,
            **p.sampling.to_json(),
        }
        for p in plan.seats
    ]
    return Opened(
        id=folder.name,
        protocol=plan.protocol.name,
        topic=topic,
        rebut=__version__,
        protocol_version=plan.protocol.version,
        source=plan.protocol.source,
        slug=sessions.slug(topic),
        workspace=str(plan.workspace),
        settings=plan.settings.model_dump(mode="json"),
        seats=seats,
        limits=plan.limits.to_json(),
        aliases=(alias,) if alias else (),
        forked_from=parent,
    )


def participants(record: Record) -> tuple[list[Participant], dict[str, list[ModelSpec]]]:
    """The seats as they were filled when the debate opened."""
    seats, fallbacks = [], {}
    for row in record.opened.seats:
        seat = str(row["seat"])
        spec = ModelSpec.parse(str(row["spec"]))
        family, persona = str(row.get("family", "")), str(row.get("persona", ""))
        drawn = Sampling(cast(float | None, row.get("temperature")), cast(int | None, row.get("seed")))
        seats.append(Participant(seat, spec, family, persona, bool(row.get("default")), drawn))
        fallbacks[seat] = [ModelSpec.parse(str(s)) for s in cast(list[Json], row.get("fallbacks", []))]
    return seats, fallbacks
