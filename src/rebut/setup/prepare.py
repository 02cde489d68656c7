"""The setup: a debate prepared. Config, environment and workspace, and the plan that comes of what was asked for."""

from __future__ import annotations

import math
import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebut.core.errors import PriceUnknown, UsageError
from rebut.core.types import ModelSpec, Sampling
from rebut.domain.limits import RANGES, Limits
from rebut.engine.plan import Environment, Plan, participants
from rebut.engine.protocol import Preparation, Protocol, load
from rebut.engine.run import OWN_OUTPUT
from rebut.engine.runtime import Control
from rebut.record import sessions
from rebut.record.events import Line
from rebut.record.record import Record
from rebut.setup import config as configs
from rebut.setup.config_files import REPO_FILE
from rebut.setup.connect import Custom, connector
from rebut.setup.seats import Given, check_effort, fill, is_self_debate, only_seats, seat
from rebut.workspace.targets.target import headline

if TYPE_CHECKING:
    from rebut.setup.discover import FoundModel
    from rebut.workspace.targets.target import Target, Wanted

MOST_TOLD = 5
"""Citations of the text under review that a note names."""
NO_SETTINGS = ("topic", "limits", "allow_same_model")


class Setup:
    """What the door needs from outside, found once: config, environment, where sessions live."""

    def __init__(
        self,
        *,
        workspace: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        config: configs.Config | None = None,
        backends: Mapping[str, Custom] | None = None,
        control: Control | None = None,
        listener: Callable[[Line], None] | None = None,
        on_ready: Callable[[Record, Path], None] | None = None,
        on_look: Callable[[], None] | None = None,
        rehearsal: bool = False,
    ) -> None:
        self._on_look = on_look  # looking for models may take seconds, in which somebody sits before an empty screen
        self.env = dict(os.environ if env is None else env)
        self.workspace = Path(workspace or Path.cwd()).resolve()
        self.config = config or configs.load(workspace=sessions.repository(self.workspace), env=self.env)
        self.rehearsal = rehearsal  # nothing will be called, so no key is needed and nobody need be watching
        self.connect = connector(self.config, self.env, self.workspace, backends, rehearsal=rehearsal)
        self._backends, self._config = backends, config
        self._resolved: tuple[Target, bytes] | None = None
        self.environment = Environment(
            connect=self.connect,
            root=sessions.home(self.env),
            known_secrets=self.config.known_secrets(self.env),
            never=self.config.never,
            control=control or Control(),
            listener=listener,
            on_ready=on_ready,
        )

    def of(self, record: Record) -> Setup:
        """The setup for a session on record: its workspace's rules and relative paths hold, wherever we stand now."""
        if record.opened.workspace == str(self.workspace):
            return self
        return self.at(record.opened.workspace, self._config)

    def at(self, workspace: Path | str, config: configs.Config | None = None) -> Setup:
        """The same setup in another folder."""
        environment = self.environment
        return Setup(
            workspace=workspace,
            env=self.env,
            config=config,
            backends=self._backends,
            control=environment.control,
            listener=environment.listener,
            on_ready=environment.on_ready,
        )

    def find(self, name: str) -> Path:
        return sessions.find(self.environment.root, name, self.workspace)

    def taken_up(self, name: str) -> tuple[Setup, Path, Record]:
        """The setup for a session, the session's folder and what is on record there."""
        folder = self.find(name)
        record = sessions.load(folder)
        return self.of(record), folder, record

    def plan(
        self,
        protocol: str | Path,
        topic: str,
        *,
        context: Sequence[str | Path] | str | Path = (),
        limits: Mapping[str, float | None] | None = None,
        usual_limits: Mapping[str, float | None] | None = None,
        fallbacks: Given | None = None,
        allow_same_model: bool = False,
        models: Mapping[str, str] | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        target: Target | None = None,
        redaction: bytes = b"",
        **named: Any,
    ) -> Plan:
        """Check everything that can be checked before a model is called.

        `usual_limits` hold where `limits` say nothing; nobody asked for them, so that lowering them is nothing to tell.
        """
        if not self.workspace.is_dir():
            raise UsageError(f"there is no folder {self.workspace} to work in", "Give a workspace that is there.")
        made = load(protocol)
        drawn = Sampling.of(temperature, seed)
        given = {k: v for k, v in named.items() if k in made.seats and v}
        wanted = {k: v for k, v in named.items() if k not in made.seats and v is not None}
        told: list[str] = []
        if made.prepare:
            host = state_dir(self.env, self.workspace)
            asked = Preparation({**given, **wanted}, self.workspace, self.env, host, self.rehearsal)
            found, notices = made.prepare(asked)
            wanted, told = {**wanted, **found}, list(notices)
        lowered = self.lowered({**(limits or {}), "rounds": wanted.get("rounds")})
        if "rounds" in made.settings.model_fields and isinstance(wanted.get("rounds"), int):
            wanted["rounds"] = int(self.config.capped("rounds", wanted["rounds"]))
        settings = settings_of(made, {**self._config_settings(made), **wanted})
        made = made.with_settings(settings)
        given = {**made.models, **given}
        bounds = self._limits({**(usual_limits or {}), **(limits or {})}, made.limits(settings) if made.limits else {})
        seats = seat(
            made,
            given,
            self.config,
            self.connect,
            effort=str(wanted.get("effort") or ""),
            models=models,
            fallbacks=fallbacks,
            allow_same_model=allow_same_model,
            attended=self.rehearsal or (sys.stdin is not None and sys.stdin.isatty()),
            find=self._find,
            programs=made.programs if target is not None and target.kind == "code" else None,
        )
        plan = Plan(
            protocol=made,
            topic=topic or (headline(target) if target else ""),
            seats=[replace(p, sampling=drawn) for p in seats.participants],
            settings=settings,
            workspace=self.workspace,
            limits=bounds,
            context=[self._inside(path) for path in ([context] if isinstance(context, str | Path) else context)],
            fallbacks=seats.fallbacks,
            notes=(*seats.notes, *told, *lowered, *(target.notes if target else ()), *self.config.notices),
            target=target,
            most_rounds=self._most_rounds,
            redaction=redaction,
            searched=target is not None and (target, redaction) == self._resolved,
        )
        if made.check:
            plan = replace(plan, notes=(*plan.notes, *made.check(plan)), checked=True)
        self._affordable(plan)
        self._readable(plan)
        return plan

    async def resolve(self, wanted: Wanted) -> tuple[Target, bytes]:
        """Read what is to be debated, and say by which key its secrets were replaced."""
        from rebut.core.redaction import Redactor
        from rebut.workspace.targets.resolve import resolve

        key = secrets.token_bytes(32)
        redactor = Redactor(key, self.environment.known_secrets)
        target = await resolve(self.workspace, wanted, redactor.door, (*self.environment.never, *OWN_OUTPUT))
        if target.text and target.kind != "code":
            target = await self._held_to_its_own(target, wanted.artifact_file, redactor.door)
        self._resolved = target, key
        return target, key

    async def _held_to_its_own(self, target: Target, file: str, door: Callable[[str], str]) -> Target:
        """The target, with what the text itself cites looked up."""
        from rebut.evidence.lookup import look_up, summed

        folder = (self.workspace / file).resolve().parent if file else None
        cites = summed(await look_up(target.text, self.workspace, door, self.environment.never, folder))
        if not cites:
            return target
        rest = f"; {len(cites) - 1 - MOST_TOLD} more" if len(cites) - 1 > MOST_TOLD else ""
        note = "; ".join((f"what the text cites: {cites[0]}", *cites[1 : 1 + MOST_TOLD])) + rest
        return replace(target, cites=cites, notes=(*target.notes, note))

    def _find(self, wanted: Callable[[str], bool]) -> Sequence[FoundModel]:
        from rebut.setup.discover import look_now

        if self._on_look:
            self._on_look()
        found = look_now(self.config, self.env, wanted, until=self.environment.control.ends)
        if found is None:
            raise self.environment.control.late()
        return found

    def plan_of(self, record: Record, changes: Mapping[str, Any] | None = None) -> Plan:
        """The plan of a session on record, with what a fork changes."""
        changes = {k: v for k, v in (changes or {}).items() if v not in (None, "", (), False)}
        was = record.opened
        made = load(was.source or was.protocol)
        before, fallbacks = participants(record)
        only = only_seats(made, before, changes)
        changes = {only.get(name, name): value for name, value in changes.items()}
        # A judge that nobody named follows the party whose model it is, also into a fork.
        specs = {p.seat: p.spec for p in before if not p.default or p.seat in changes}
        there = [*(p.seat for p in before), *(role for role, count in made.seats.items() if not count)]
        specs |= {seat: ModelSpec.parse(str(changes[seat])) for seat in there if seat in changes}
        if effort := str(changes.get("effort") or ""):
            check_effort(effort)
            specs = {seat: spec if seat in changes else replace(spec, effort=effort) for seat, spec in specs.items()}
        values = {**was.settings, **{k: v for k, v in changes.items() if k not in (*NO_SETTINGS, *there)}}
        settings = settings_of(made, values)
        made = made.with_settings(settings)
        specs |= {seat: ModelSpec.parse(text) for seat, text in made.models.items() if seat not in specs}
        # A stand-in that nobody named follows the seat whose model it is.
        kin = {p.seat: str(p.spec) for p in before}
        named = {seat: [str(s) for s in more] for seat, more in fallbacks.items()}
        named = {s: more for s, more in named.items() if s not in made.stand_ins or more != [kin[made.stand_ins[s]]]}
        seats = fill(
            made,
            specs,
            self.config,
            self.connect,
            fallbacks=named,
            allow_same_model=bool(changes.get("allow_same_model")) or is_self_debate(before, made),
        )
        kept: dict[str, Any] = {p.seat: {"persona": p.persona, "sampling": p.sampling} for p in before}
        if isinstance(values.get("rounds"), int):
            capped = int(self.config.capped("rounds", values["rounds"]))
            settings = settings_of(made, {**values, "rounds": capped})
        asked_for = changes.get("limits") or {}
        limits = Limits.from_json({**record.limits, **self.narrowed(record), **self.permitted_limits(asked_for)})
        plan = Plan(
            protocol=made,
            topic=str(changes.get("topic", was.topic)),
            seats=[replace(p, **kept.get(p.seat, {})) for p in seats.participants],
            settings=settings,
            workspace=Path(was.workspace),
            limits=limits,
            fallbacks=seats.fallbacks,
            notes=(*seats.notes, *self.lowered({**asked_for, "rounds": changes.get("rounds")}), *self.config.notices),
            decided="rounds" not in changes,
            most_rounds=self._most_rounds,
        )
        self._affordable(plan)
        return plan

    @property
    def _most_rounds(self) -> int | None:
        most = self.config.ceilings.get("rounds")
        return None if most is None else int(most)

    def _config_settings(self, protocol: Protocol) -> dict[str, Any]:
        rounds = self.config.limits.get("rounds")
        return {"rounds": rounds} if rounds and "rounds" in protocol.settings.model_fields else {}

    def _limits(self, given: Mapping[str, float | None], usual: Mapping[str, float]) -> Limits:
        """Flags win over the user's config, that over the protocol's own; what the repository narrows stays so."""
        mine = {name: value for name, value in self.config.limits.items() if name in Limits.__dataclass_fields__}
        chosen = {"timeout": Limits().timeout, **usual, **mine, **self.permitted_limits(given)}
        return Limits.from_json({k: self.config.capped(k, v) for k, v in chosen.items()})

    def permitted_limits(self, given: Mapping[str, float | None]) -> dict[str, float]:
        """Limits as given, lowered to what the repository permits. A misspelt one must not mean none."""
        known = Limits.__dataclass_fields__
        if unknown := sorted(set(given) - set(known)):
            raise UsageError(f"there is no limit {unknown[0]!r}", f"Limits are {', '.join(known)}.")
        for name, value in given.items():
            # Programs may go below what people may type; above it, a slip of a zero is as dear to both.
            if value is not None and value > RANGES[name][1]:
                raise UsageError(f"the {name} limit must be at most {RANGES[name][1]:,.0f}, got {value:,g}")
        return {k: self.config.capped(k, v) for k, v in given.items() if v is not None}

    def narrowed(self, record: Record) -> dict[str, float]:
        """The limits on record that the repository does not permit any more, or that it has set since."""
        ceilings = {name: most for name, most in self.config.ceilings.items() if name in Limits.__dataclass_fields__}
        had: Mapping[str, Any] = record.limits
        return {name: most for name, most in ceilings.items() if most < had.get(name, math.inf)}

    def lowered(self, given: Mapping[str, Any]) -> list[str]:
        """What was asked for and is not had, to be told: a flag that does nothing would look like a fault."""
        numbers = {name: v for name, v in given.items() if name in RANGES and isinstance(v, int | float)}
        return [
            f"limits.{name}: {value:g} was asked for, {REPO_FILE} permits {most:g}, so {most:g}"
            for name, value in numbers.items()
            if (most := self.config.capped(name, value)) < value
        ]

    def _inside(self, path: str | Path) -> str:
        full = (self.workspace / path).resolve()
        if not full.exists():
            raise UsageError(f"there is no {path} to give as context")
        if not full.is_relative_to(sessions.repository(self.workspace)):
            raise UsageError(
                f"{path} lies outside of the workspace {sessions.repository(self.workspace)}",
                "Run rebut in a folder that holds it, or copy it there.",
            )
        return str(full)

    def _readable(self, plan: Plan) -> None:
        """One who reads files has nothing to read in a diff whose files are not here."""
        target = plan.target
        if target is None or not target.loose or len(target.changes) > 1:
            return
        asked = [p for p in plan.seats if p.seat not in (*plan.protocol.silent, plan.protocol.judge)]
        for who in asked:
            if self.connect(who.spec).whole_files and not plan.fallbacks.get(who.seat):
                raise UsageError(
                    f"{who.spec} ({who.seat}) reads files, and none here is as {target.origin} says, before it or "
                    f"after: {', '.join(target.loose[:5])}",
                    "Nothing was called. Run it where the diff was made, or name the change (rebut review A..B), "
                    f"or seat a model as the {who.seat}.",
                )

    def _affordable(self, plan: Plan) -> None:
        """A dollar limit means nothing for a model whose price is unknown (C4)."""
        if plan.limits.usd is None or plan.limits.tokens is not None:
            return
        asked = [p for p in plan.seats if p.seat not in plan.protocol.silent]
        specs = [(p.seat, spec) for p in asked for spec in (p.spec, *plan.fallbacks.get(p.seat, ()))]
        for seat_name, spec in specs:
            if self.connect(spec).price(1000, 1000) is None:
                raise PriceUnknown(
                    f"the price of {spec} ({seat_name}) is not known, so --max-usd cannot be kept",
                    "Add --max-tokens N, which can.",
                )


def settings_of(protocol: Protocol, values: Mapping[str, Any]) -> Any:
    from pydantic import ValidationError

    unknown = sorted(set(values) - set(protocol.settings.model_fields))
    if unknown:
        known = sorted([*protocol.seats, *protocol.settings.model_fields])
        raise UsageError(f"{protocol.name} has no seat or setting {unknown[0]!r}", f"It has {', '.join(known)}.")
    try:
        return protocol.settings.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        field = protocol.settings.model_fields.get(name)
        bounds = {k: getattr(m, k) for m in (field.metadata if field else ()) for k in ("ge", "le") if hasattr(m, k)}
        if set(bounds) == {"ge", "le"}:
            raise UsageError(f"{name} must be {bounds['ge']} to {bounds['le']}, got {first['input']}") from error
        raise UsageError(f"{name}: {first['msg']}, got {first['input']!r}") from error


def state_dir(env: Mapping[str, str], workspace: Path) -> str:
    """Where a host's tools look for the last debate: `AI_STATE_DIR`, else the folder of the host we run under."""
    if named := env.get("AI_STATE_DIR"):
        return str((workspace / named).resolve())
    for folder, markers in HOSTS.items():
        if any(env.get(marker) for marker in markers):
            return str(workspace / folder)
    return ""


HOSTS = {
    ".claude": ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
    ".opencode": ("OPENCODE", "OPENCODE_SESSION_ID"),
    ".codex": ("CODEX_SANDBOX", "CODEX_THREAD_ID"),
}
