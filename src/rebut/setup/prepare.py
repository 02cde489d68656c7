"""`Setup` holds config, environment and workspace, and makes the checked plan of a debate from them."""

from __future__ import annotations

import copy
import math
import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebut.core.errors import NotAvailable, NotSeated, PriceUnknown, UsageError
from rebut.core.files import real, repository
from rebut.core.frozen import frozen
from rebut.core.types import ModelSpec, Sampling
from rebut.domain.limits import RANGES, Limits
from rebut.engine.plan import OWN_OUTPUT, Environment, Plan, participants
from rebut.engine.protocol import Preparation, Protocol, load
from rebut.engine.runtime import Control
from rebut.record import sessions
from rebut.record.events import Line
from rebut.record.record import Record
from rebut.setup import config as configs, saved_keys
from rebut.setup.config_files import REPO_FILE
from rebut.setup.connect import PROGRAMS, Custom, connector
from rebut.setup.defaults import bounds_of, defaults, within
from rebut.setup.seats import Given, SeatAssignment, Seats, check_effort, is_self_debate, only_seats
from rebut.workspace.targets.target import headline

if TYPE_CHECKING:
    from rebut.proof.checks import CheckRunner
    from rebut.setup.discover import FoundModel
    from rebut.workspace.targets.target import Target, Wanted

MOST_CITED = 5
"""Citations of the text under review that a note names."""
NO_SETTINGS = ("topic", "limits", "allow_same_model")


@frozen
class DebateOptions:
    """What a user may choose for any debate, besides its seats and the settings of its protocol."""

    context: Sequence[str | Path] | str | Path = ()
    limits: Mapping[str, float | None] | None = None
    usual_limits: Mapping[str, float | None] | None = None
    """Limits where `limits` has none. The user did not ask for them, so there is no note if they are lowered."""
    fallbacks: Given | None = None
    allow_same_model: bool = False
    models: Mapping[str, str] | None = None
    """Role → the model that replaces the one of its spec."""
    temperature: float | None = None
    seed: int | None = None
    run_checks: bool | None = None
    """Whether debaters may add checks that are run; None for what the user's config says, if a person is there."""
    target: Target | None = None
    redaction: bytes = b""
    """The key by which the secrets of the target were replaced."""


class Setup:
    """What a debate needs from outside: config, environment, connections, and the folder of the sessions."""

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
        self._on_look = on_look  # looking for models may take seconds, so the screen says that it happens
        self.env = saved_keys.with_saved(os.environ) if env is None else dict(env)
        self.workspace = Path(workspace or Path.cwd()).resolve()
        self.config = config or configs.load_config(workspace=repository(self.workspace), env=self.env)
        self.rehearsal = rehearsal  # a dry run: no model is called, so neither keys nor a terminal are needed
        self.connect = connector(self.config, self.env, self.workspace, backends, rehearsal=rehearsal)
        self._backends, self._config = backends or {}, config
        self._resolved: tuple[Target, bytes] | None = None
        self._assigned: dict[str, Seats] = {}
        """Request → its seats, so that debates of a batch that ask for the same models get the same ones."""
        self.environment = Environment(
            connect=self.connect,
            root=sessions.home(self.env),
            known_secrets=self.config.known_secrets(self.env),
            never=self.config.never,
            check_runner=self._check_runner,
            control=control or Control(),
            listener=listener,
            on_ready=on_ready,
        )

    def _check_runner(self, project: Path, redact: Callable[[str], str]) -> CheckRunner:
        from rebut.proof.checks import CheckRunner
        from rebut.proof.runners import load_runners

        tables = self.config.runners or load_runners()  # a config made by hand in Python has none
        return CheckRunner(project, self.env, redact, tables)

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
            rehearsal=self.rehearsal,
        )

    def under(self, control: Control, on_ready: Callable[[Record, Path], None]) -> Setup:
        """The same setup, with the same connections, for one of several debates."""
        mine = copy.copy(self)
        mine.environment = replace(self.environment, control=control, on_ready=on_ready)
        return mine

    def find(self, name: str) -> Path:
        """The folder of a session."""
        return sessions.find(self.environment.root, name, self.workspace)

    def for_session(self, name: str) -> tuple[Setup, Path, Record]:
        """The setup in the session's own workspace, whatever the current folder; the session's folder; its record."""
        folder = self.find(name)
        record = sessions.load(folder)
        workspace = record.opened.workspace
        return self if workspace == str(self.workspace) else self.at(workspace, self._config), folder, record

    # The plan of a new debate. ----------------------------------------------------------------------------------------

    def plan(self, protocol: str | Path, topic: str, **named: Any) -> Plan:
        """Make the plan of a new debate, and do all checks that need no call to a model.

        `named` holds seats, settings of the protocol, and fields of `DebateOptions`.
        """
        if not self.workspace.is_dir():
            raise UsageError(f"there is no folder {self.workspace} to work in", "Give a workspace that exists.")
        options = DebateOptions(**{one.name: named.pop(one.name) for one in fields(DebateOptions) if one.name in named})
        made = load(protocol)
        if options.run_checks and not made.checks:
            raise UsageError(f"{made.name} has no checks to run", "Leave out --run-checks.")
        given, wanted, notices = self._prepared(made, named)
        usual = defaults(self.config, made)
        lowered = self.lowered({**(options.limits or {}), "rounds": wanted.get("rounds")})
        settings, clamped = self._settings(made, wanted, usual.settings)
        made = made.with_settings(settings)
        target, context = options.target, options.context
        limits = self._limits(options, made.limits(settings) if made.limits else {}, usual.limits)
        effort = str(wanted.get("effort") or usual.settings.get("effort") or "")
        kind = target.kind if target else ""
        try:
            seats = self._seats(made, {**made.models, **given}, options, effort, usual.seats)
        except NotSeated:  # a program that cannot answer is reported before an empty seat
            texts = {role: [who] if isinstance(who, str) else who for role, who in given.items()}
            self._refuse_programs(made, {role: [*map(ModelSpec.parse, who)] for role, who in texts.items()}, kind)
            raise
        plan = Plan(
            protocol=made,
            topic=topic or (headline(target) if target else ""),
            seats=seats.participants,
            settings=settings,
            workspace=self.workspace,
            limits=limits,
            context=[self._inside(path) for path in ([context] if isinstance(context, str | Path) else context)],
            fallbacks=seats.fallbacks,
            one_model=seats.one_model,
            notes=(
                *seats.notes,
                *notices,
                *usual.notices,
                *clamped,
                *lowered,
                *(target.notes if target else ()),
                *self.config.notices,
            ),
            target=target,
            most_rounds=self._most_rounds,
            redaction=options.redaction,
            unread_ok=self.config.gate.unread_ok,
            run_checks=self._runs_checks(made, options.run_checks),
            searched=target is not None and (target, options.redaction) == self._resolved,
        )
        if made.check:
            plan = replace(plan, notes=(*plan.notes, *made.check(plan)), checked=True)
        in_config = "usd" in self.config.limits or "usd" in usual.limits
        usual_limit = (options.usual_limits or {}).get("usd") is not None or not in_config
        asked = (options.limits or {}).get("usd") is not None
        self._affordable(plan, "--max-usd" if asked else "the default limit" if usual_limit else "the config's limit")
        self._refuse_programs(made, {p.seat: (p.spec, *plan.fallbacks.get(p.seat, ())) for p in plan.seats}, kind)
        self._readable(plan)
        return plan

    def _prepared(
        self, protocol: Protocol, named: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any], Sequence[str]]:
        """The seats that the user named, the settings of the user and the protocol, and the protocol's notices."""
        given = {name: value for name, value in named.items() if name in protocol.seats and value}
        wanted = {name: value for name, value in named.items() if name not in protocol.seats and value is not None}
        if protocol.prepare is None:
            return given, wanted, ()
        host = state_dir(self.env, self.workspace)
        asked = Preparation({**given, **wanted}, self.workspace, self.env, host, self.rehearsal)
        found, notices = protocol.prepare(asked)
        return given, {**wanted, **found}, notices

    def _settings(
        self, protocol: Protocol, wanted: Mapping[str, Any], of_config: Mapping[str, Any]
    ) -> tuple[Any, list[str]]:
        """The settings of a protocol, and notices about values of the config that are out of its range.

        A setting comes from the user, else from the config; the repository may lower the rounds.
        """
        wanted, notices = {**of_config, **wanted}, list[str]()
        values = dict(wanted)
        if "rounds" in protocol.settings.model_fields:
            if isinstance(wanted.get("rounds"), int):
                values["rounds"] = int(self.config.capped("rounds", wanted["rounds"]))
            elif "rounds" not in wanted and (usual := self.config.limits.get("rounds")):
                source = f"limits.rounds of your config, for {protocol.name},"
                values["rounds"] = within(protocol, "rounds", usual, source, notices)
        return settings_of(protocol, values), notices

    def _seats(
        self,
        protocol: Protocol,
        given: Given,
        options: DebateOptions,
        effort: str,
        usual: Mapping[str, tuple[ModelSpec, ...]],
    ) -> Seats:
        config = replace(self.config, seats={**self.config.seats, **usual}) if usual else self.config
        sampling = Sampling.of(options.temperature, options.seed)
        more: dict[str, Any] = {
            "effort": effort,
            "models": options.models,
            "fallbacks": options.fallbacks,
            "allow_same_model": options.allow_same_model,
            "programs": protocol.programs if options.target is not None and options.target.kind == "code" else None,
            "wrote": options.target.wrote if options.target is not None else "",
        }
        asked = repr((protocol.name, protocol.version, protocol.source, protocol.seats, given, usual, sampling, more))
        if asked not in self._assigned:
            assignment = SeatAssignment(
                *(protocol, config, self.connect),
                attended=self._attended,
                find=self._find,
                custom=self._backends,
                env=self.env,
            )
            seats = assignment.assign(given, **more)
            seated = tuple(replace(p, sampling=sampling) for p in seats.participants)
            self._assigned[asked] = replace(seats, participants=seated)
        return self._assigned[asked]

    def _runs_checks(self, protocol: Protocol, asked: bool | None) -> bool:
        """Whether checks are run. A flag decides; without one, the config counts only if a person is there.

        So no hook and no agent runs checks because of the config.
        """
        if asked is not None or not protocol.checks:
            return bool(asked)
        return self.config.run_checks and self._attended() and not self.rehearsal

    def _attended(self) -> bool:
        """Whether a person is there. Standard error counts too, since `git diff | rebut review -` reads from a pipe."""
        return self.rehearsal or any(stream and stream.isatty() for stream in (sys.stdin, sys.stderr))

    def _find(self, wanted: Callable[[str], bool]) -> Sequence[FoundModel]:
        from rebut.setup.discover import look_now

        if self._on_look:
            self._on_look()
        found = look_now(self.config, self.env, wanted, until=self.environment.control.ends)
        if found is None:
            raise self.environment.control.late()
        return found

    async def resolve(self, wanted: Wanted) -> tuple[Target, bytes]:
        """Read what is to be debated. Also returns the key by which its secrets were replaced."""
        from rebut.core.redaction import Redactor
        from rebut.workspace.targets.resolve import resolve

        key = secrets.token_bytes(32)
        redactor = Redactor(key, self.environment.known_secrets)
        target = await resolve(self.workspace, wanted, redactor.door, (*self.environment.never, *OWN_OUTPUT))
        if target.text and target.kind != "code":
            target = await self._with_citations(target, wanted.artifact_file, redactor.door)
        self._resolved = target, key
        return target, key

    async def _with_citations(self, target: Target, file: str, door: Callable[[str], str]) -> Target:
        """Check the citations in the text of a target; return the target with the results and a note about them."""
        from rebut.evidence.lookup import look_up, summed

        folder = real(self.workspace / file).parent if file else None
        cites = summed(await look_up(target.prose, self.workspace, door, self.environment.never, folder))
        if not cites:
            return target
        rest = f"; {len(cites) - 1 - MOST_CITED} more" if len(cites) - 1 > MOST_CITED else ""
        note = "; ".join((f"what the text cites: {cites[0]}", *cites[1 : 1 + MOST_CITED])) + rest
        return replace(target, cites=cites, path=file, notes=(*target.notes, note))

    # The plan of a recorded debate. -----------------------------------------------------------------------------------

    def plan_of(self, record: Record, changes: Mapping[str, Any] | None = None) -> Plan:
        """The plan of a recorded session, with the changes of a fork."""
        changes = {k: v for k, v in (changes or {}).items() if v is not False and v not in (None, "", ())}
        opened = record.opened
        made = load(opened.source or opened.protocol)
        before, fallbacks = participants(record)
        only = only_seats(before, changes)
        changes = {only.get(name, name): value for name, value in changes.items()}
        # A default judge has the model of a party. If a fork changes that model, it changes the judge's too.
        specs = {p.seat: p.spec for p in before if not p.default or p.seat in changes}
        all_seats = [*(p.seat for p in before), *(role for role, count in made.seats.items() if not count)]
        specs |= {seat: ModelSpec.parse(str(changes[seat])) for seat in all_seats if seat in changes}
        if effort := str(changes.get("effort") or ""):
            check_effort(effort)
            specs = {seat: spec if seat in changes else replace(spec, effort=effort) for seat, spec in specs.items()}
        values = {**opened.settings, **{k: v for k, v in changes.items() if k not in (*NO_SETTINGS, *all_seats)}}
        settings = settings_of(made, values)
        made = made.with_settings(settings)
        for role, count in made.seats.items():
            recorded = max(1, sum(seat.startswith(f"{role}.") for seat in all_seats))
            if count > 0 and count != recorded:
                raise UsageError(
                    f"a fork keeps its number of {role}s: the session has {recorded}, not {count}",
                    "Start a new debate for another number.",
                )
        # A seat that only the old settings need, such as the person of a manual review, is not in the fork.
        dropped = load(opened.source or opened.protocol).with_settings(settings_of(made, opened.settings)).models
        dropped = {seat: text for seat, text in dropped.items() if seat not in made.models and seat not in changes}
        specs = {seat: spec for seat, spec in specs.items() if dropped.get(seat) != str(spec)}
        specs |= {seat: ModelSpec.parse(text) for seat, text in made.models.items() if seat not in specs}
        # A stand-in that the user did not name has the model of another seat, and changes with it.
        models = {p.seat: str(p.spec) for p in before}
        named = {seat: [str(s) for s in more] for seat, more in fallbacks.items()}
        named = {s: more for s, more in named.items() if s not in made.stand_ins or more != [models[made.stand_ins[s]]]}
        named = {seat: more for seat, more in named.items() if seat in specs or seat not in dropped}
        allow_same_model = bool(changes.get("allow_same_model")) or is_self_debate(record, before, made)
        assignment = SeatAssignment(made, self.config, self.connect, custom=self._backends, env=self.env)
        seats = assignment.fill(specs, fallbacks=named, allow_same_model=allow_same_model)
        reviewed = record.facts.get("target")
        kind = str(reviewed.value.get("kind")) if reviewed and isinstance(reviewed.value, dict) else ""
        self._refuse_programs(made, {p.seat: (p.spec,) for p in seats.participants if p.seat in changes}, kind)
        kept: dict[str, Any] = {p.seat: {"persona": p.persona, "sampling": p.sampling} for p in before}
        if isinstance(values.get("rounds"), int):
            capped = int(self.config.capped("rounds", values["rounds"]))
            settings = settings_of(made, {**values, "rounds": capped})
        asked_for: Mapping[str, float | None] = changes.get("limits") or {}
        limits = Limits.from_json({**record.limits, **self.narrowed(record), **self.permitted_limits(asked_for)})
        plan = Plan(
            protocol=made,
            topic=str(changes.get("topic", opened.topic)),
            seats=[replace(p, **kept.get(p.seat, {})) for p in seats.participants],
            settings=settings,
            workspace=Path(opened.workspace),
            limits=limits,
            fallbacks=seats.fallbacks,
            one_model=seats.one_model,
            notes=(*seats.notes, *self.lowered({**asked_for, "rounds": changes.get("rounds")}), *self.config.notices),
            decided="rounds" not in changes,
            started_in=opened.started_in,
            most_rounds=self._most_rounds,
        )
        self._affordable(plan, "the session's limit" if asked_for.get("usd") is None else "--max-usd")
        return plan

    # Limits. ----------------------------------------------------------------------------------------------------------

    @property
    def _most_rounds(self) -> int | None:
        most = self.config.ceilings.get("rounds")
        return None if most is None else int(most)

    def _limits(
        self, options: DebateOptions, of_protocol: Mapping[str, float], of_config: Mapping[str, float]
    ) -> Limits:
        """The user's limits, else the config's, else the protocol's; all lowered to what the repository permits."""
        given = {**(options.usual_limits or {}), **(options.limits or {})}
        mine = {name: value for name, value in self.config.limits.items() if name in Limits.__dataclass_fields__}
        chosen = {"timeout": Limits().timeout, **of_protocol, **mine, **of_config, **self.permitted_limits(given)}
        return Limits.from_json({k: self.config.capped(k, v) for k, v in chosen.items()})

    def permitted_limits(self, given: Mapping[str, float | None]) -> dict[str, float]:
        """Limits as given, lowered to what the repository permits. An unknown name is an error, not "no limit"."""
        known = Limits.__dataclass_fields__
        if unknown := sorted(set(given) - set(known)):
            raise UsageError(f"there is no limit {unknown[0]!r}", f"Limits are {', '.join(known)}.")
        for name, value in given.items():
            # Programs may set limits below the range for people, but not above it: a zero too many costs both the same.
            if value is not None and value > RANGES[name][1]:
                raise UsageError(f"the {name} limit must be at most {RANGES[name][1]:,.0f}, got {value:,g}")
        return {k: self.config.capped(k, v) for k, v in given.items() if v is not None}

    def narrowed(self, record: Record) -> dict[str, float]:
        """The limits of the repository that are lower than the recorded ones."""
        ceilings = {name: most for name, most in self.config.ceilings.items() if name in Limits.__dataclass_fields__}
        had: Mapping[str, Any] = record.limits
        return {name: most for name, most in ceilings.items() if most < had.get(name, math.inf)}

    def lowered(self, given: Mapping[str, Any]) -> list[str]:
        """Notes on limits that the repository lowers: a flag without effect would look like a defect."""
        numbers = {name: v for name, v in given.items() if name in RANGES and isinstance(v, int | float)}
        return [
            f"limits.{name}: {value:g} was asked for, {REPO_FILE} permits {most:g}, so {most:g}"
            for name, value in numbers.items()
            if (most := self.config.capped(name, value)) < value
        ]

    # Checks. ----------------------------------------------------------------------------------------------------------

    def _inside(self, path: str | Path) -> str:
        full = real(self.workspace / path)
        if not full.exists():
            raise UsageError(f"there is no {path} to give as context")
        if not full.is_relative_to(repository(self.workspace)):
            raise UsageError(
                f"{path} is outside of the workspace {repository(self.workspace)}",
                "Run rebut in a folder that contains it, or copy it there.",
            )
        return str(full)

    def _refuse_programs(self, protocol: Protocol, seats: Mapping[str, Sequence[ModelSpec]], target: str) -> None:
        """Refuse analysers and rules in a debate without code, and in a seat that is not theirs: they could not answer.

        `target` is the kind of the target; empty for a question.
        """
        if protocol.source:
            return  # a user's own protocol may give them code without a target, and other questions
        own = {program: role for role, program in protocol.programs.items()}
        asked = [(seat, spec.provider) for seat, specs in seats.items() for spec in specs]
        for seat, name in asked:
            if name not in PROGRAMS or name in self._backends or seat in protocol.silent:
                continue
            if target in ("", "proposal"):
                raise UsageError(
                    f"{name} {PROGRAMS[name]}, and this is {'a text' if target else 'a question'}: "
                    f"it cannot be the {seat}",
                    "Nothing was called. Name a model; for a change there is `rebut review --with lint,rules`.",
                )
            if name in own and own[name] != seat:
                each = " and ".join(f"{program} is the {role}" for program, role in own.items())
                raise UsageError(
                    f"{name} {PROGRAMS[name]}: it cannot be the {seat}, only the {own[name]}",
                    f"Nothing was called. In a review without models, {each}: `rebut review --with lint,rules`.",
                )

    def _readable(self, plan: Plan) -> None:
        """Refuse a participant that reads whole files if the files of the diff are not here."""
        target = plan.target
        if target is None or not target.loose or len(target.changes) > 1:
            return
        asked = [p for p in plan.seats if p.seat not in (*plan.protocol.silent, plan.protocol.judge)]
        for who in asked:
            if not plan.fallbacks.get(who.seat) and self.connect(who.spec).whole_files:
                raise UsageError(
                    f"{who.spec} ({who.seat}) reads whole files, and the files here do not match {target.origin}, "
                    f"neither before the change nor after it: {', '.join(target.loose[:5])}",
                    "Nothing was called. Run it where the diff was made, or name the change (rebut review A..B), "
                    f"or choose a model as the {who.seat}.",
                )

    def _affordable(self, plan: Plan, limit: str) -> None:
        """Refuse a dollar limit for a model whose price is unknown (C4); `limit` says whose limit it is."""
        if plan.limits.usd is None or plan.limits.tokens is not None:
            return
        asked = [p for p in plan.seats if p.seat not in plan.protocol.silent]
        specs = [(p.seat, spec) for p in asked for spec in (p.spec, *plan.fallbacks.get(p.seat, ()))]
        for seat, spec in specs:
            try:
                price = self.connect(spec).price(1000, 1000)
            except NotAvailable:  # its fallback is called instead
                continue
            if price is None:
                raise PriceUnknown(
                    f"the price of {spec} ({seat}) is not known, so {limit} of ${plan.limits.usd:.2f} cannot be kept",
                    "Add --max-tokens N, which can be kept.",
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
        bounds = bounds_of(protocol, name)
        if set(bounds) == {"ge", "le"}:
            raise UsageError(f"{name} must be {bounds['ge']} to {bounds['le']}, got {first['input']}") from error
        raise UsageError(f"{name}: {first['msg']}, got {first['input']!r}") from error


def state_dir(env: Mapping[str, str], workspace: Path) -> str:
    """Where a coding agent looks for the last debate: `AI_STATE_DIR`, else the folder of the agent that runs rebut."""
    if named := env.get("AI_STATE_DIR"):
        return str(real(workspace / named))
    for folder, markers in HOSTS.items():
        if any(env.get(marker) for marker in markers):
            return str(workspace / folder)
    return ""


HOSTS = {
    ".claude": ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
    ".opencode": ("OPENCODE", "OPENCODE_SESSION_ID"),
    ".codex": ("CODEX_SANDBOX", "CODEX_THREAD_ID"),
}
