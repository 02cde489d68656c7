"""`Plan`: what a debate is to do, checked, on record. `Environment`: connections, secrets, callbacks; not recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rebut import __version__
from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import clean, slug
from rebut.core.types import ModelSpec, Participant, Sampling
from rebut.domain.ledger import VERSION
from rebut.domain.limits import Limits
from rebut.engine.protocol import Protocol
from rebut.engine.runtime import Connection, Control
from rebut.record.events import Line, Opened
from rebut.record.reachability import Reachability
from rebut.record.record import Record

if TYPE_CHECKING:
    from rebut.domain.earlier_review import EarlierReview
    from rebut.proof.checks import CheckRunner
    from rebut.workspace.targets.target import Target

TOPIC_LIMIT = 100_000


DRAFTS = ("plan_*.md", "review*.md", "critique_of_*.md", "debate_log*.md")
"""Files in the tracks of `revise`, except the final plan: an author must not see the other author's drafts."""
PANEL = ("context.md", "state.json", "transcript.md", "rounds/r[0-9][0-9][0-9]_*.md")
OWN_OUTPUT = (
    *("debate/last-debate*.json", "*/debate/last-debate*.json"),
    *(f"{above}.kiln/tracks/phase-*/{name}" for name in DRAFTS for above in ("", "*/")),
    *(f"{above}debates/[0-9][0-9][0-9]*-*/{name}" for name in PANEL for above in ("", "*/")),
)
"""Files that earlier debates wrote. They are no evidence for the next one, so they are never read."""


@frozen
class Environment:
    """What a debate needs from outside and does not record: connections, secrets, callbacks."""

    connect: Callable[[ModelSpec], Connection]
    root: Path
    """The folder of all sessions."""
    known_secrets: Sequence[str] = ()
    never: Sequence[str] = ()
    """Patterns of files that are never read."""
    control: Control = field(default_factory=Control)
    listener: Callable[[Line], None] | None = None
    check_runner: Callable[[Path, Callable[[str], str]], CheckRunner] | None = None
    """Makes the runner of checks from a workspace and a session's redaction; None where checks are never run."""
    on_ready: Callable[[Record, Path], None] | None = None
    """Called when the debate's opening is on record, before any model is asked."""

    @property
    def reachability(self) -> Reachability:
        """Which models answered a few minutes ago."""
        return Reachability(self.root.parent / "trips.json")


@frozen
class Plan:
    """A debate as the user asked for it, checked."""

    protocol: Protocol
    topic: str
    seats: Sequence[Participant]
    settings: Any
    workspace: Path
    limits: Limits = Limits()
    context: Sequence[str] = ()
    fallbacks: Mapping[str, Sequence[ModelSpec]] = field(default_factory=dict)
    one_model: Mapping[str, str] = field(default_factory=dict)
    """Another name of a model → the name under which it counts, where two names mean one model."""
    notes: Sequence[str] = ()
    target: Target | None = None
    decided: bool = True
    """For a fork: whether the user's decisions on rounds still apply. They do unless other rounds are asked for."""
    most_rounds: int | None = None
    """The most rounds that the repository permits, including those that the user adds during the debate."""
    redaction: bytes = b""
    """The key with which the target was redacted. The session uses it too, so that a secret has one placeholder."""
    asked: Mapping[str, Json] = field(default_factory=dict)
    """What to do with the outcome, recorded for resume. The debate itself never reads it."""
    earlier: EarlierReview | None = None
    """The earlier review of the same branch that this one continues."""
    unread_ok: Sequence[str] = ()
    """Paths of the target that may stay unread without making the outcome inconclusive."""
    started_in: str = ""
    """The folder in which the command runs, if that is not the workspace: `last` finds the session there, too."""
    checked: bool = False
    """Whether the protocol has already checked the plan."""
    run_checks: bool = False
    """Whether debaters may add checks, which are run: only if the user said so."""
    searched: bool = False
    """Whether the target's files are already redacted with the key `redaction`: they are long, which takes time."""


def debatable(topic: str) -> None:
    if not clean(topic).strip():
        raise UsageError("the topic is empty", "Say what to debate, in quotes.")
    if len(topic) > TOPIC_LIMIT:
        raise UsageError(
            f"the topic is {len(topic):,} characters long; at most {TOPIC_LIMIT:,} are taken",
            "Ask the question in a sentence and give the material with --context FILE.",
        )


def sound(plan: Plan) -> None:
    """Check a plan before a session is opened: there is a topic, and the seats fit the settings."""
    debatable(plan.topic)
    if plan.protocol.check and not plan.checked:
        plan.protocol.check(plan)


def opened(plan: Plan, folder: Path, topic: str, parent: str = "", alias: str = "") -> Opened:
    """The first event of a session."""
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
        slug=slug(topic),
        workspace=str(plan.workspace),
        settings=plan.settings.model_dump(mode="json"),
        seats=seats,
        limits=plan.limits.to_json(),
        aliases=(alias,) if alias else (),
        forked_from=parent,
        one_model=dict(plan.one_model),
        ledger=VERSION,
        started_in=plan.started_in,
    )


def participants(record: Record) -> tuple[list[Participant], dict[str, list[ModelSpec]]]:
    """The participants as recorded when the debate opened, and the fallbacks of each seat."""
    seats, fallbacks = [], {}
    for row in record.opened.seats:
        seat = str(row["seat"])
        spec = ModelSpec.parse(str(row["spec"]))
        family, persona = str(row.get("family", "")), str(row.get("persona", ""))
        drawn = Sampling(cast(float | None, row.get("temperature")), cast(int | None, row.get("seed")))
        seats.append(Participant(seat, spec, family, persona, bool(row.get("default")), drawn))
        fallbacks[seat] = [ModelSpec.parse(str(s)) for s in cast(list[Json], row.get("fallbacks", []))]
    return seats, fallbacks
