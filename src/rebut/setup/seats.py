"""Which model has which seat: models that the user names, models of the config, and models that are found here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rebut.core.errors import NotAvailable, NotSeated, UsageError
from rebut.core.files import shipped
from rebut.core.frozen import frozen
from rebut.core.network import same_place
from rebut.core.types import EFFORTS, ModelSpec, Participant
from rebut.domain.outcome import BY_PROGRAMS
from rebut.engine.protocol import MANY, MOST_FOUND, Protocol
from rebut.engine.runtime import Connection
from rebut.record.record import Record
from rebut.setup.config import BUILT_IN, Config

if TYPE_CHECKING:
    from rebut.setup.discover import FoundModel

Given = Mapping[str, str | Sequence[str]]
Find = Callable[[Callable[[str], bool]], "Sequence[FoundModel]"]
"""Looks for the providers that the given function admits."""


@frozen
class Seats:
    """The seats of a debate, filled."""

    participants: tuple[Participant, ...]
    fallbacks: Mapping[str, tuple[ModelSpec, ...]]
    notes: tuple[str, ...] = ()
    one_model: Mapping[str, str] = field(default_factory=dict)
    """Names of a model → the name under which it counts, where two names mean one model."""


class SeatAssignment:
    """Assigns models to the seats of a protocol.

    If the user is not present (`attended`), only models that the user named or listed are used (C16). Without `find`,
    no models are looked for.
    """

    def __init__(
        self,
        protocol: Protocol,
        config: Config,
        connect: Callable[[ModelSpec], Connection],
        *,
        attended: bool | Callable[[], bool] = True,
        find: Find | None = None,
        custom: Collection[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._protocol, self._config, self._connect = protocol, config, connect
        self._custom, self._env = custom, env or {}
        self._is_attended, self._find = attended, find
        self._judge = protocol.judge

    @cached_property
    def _attended(self) -> bool:
        """Whether the user is present. Not determined until it is needed: with every seat named, it never is."""
        return self._is_attended() if callable(self._is_attended) else self._is_attended

    def assign(
        self,
        given: Given,
        *,
        effort: str = "",
        models: Mapping[str, str] | None = None,
        fallbacks: Given | None = None,
        allow_same_model: bool = False,
        programs: Mapping[str, str] | None = None,
        wrote: str = "",
    ) -> Seats:
        """Fill each role with the models in `given`, else in the config, else found here, else with its program.

        `wrote` is the family that wrote the target, if that is known: a critic of another family is preferred.
        """
        check_effort(effort)
        roles, notes = self._protocol.seats, list[str]()
        chosen = {
            role: [replace(spec, model=(models or {}).get(role) or spec.model) for spec in self._named(role, given)]
            for role in roles
        }
        missing = [role for role, count in roles.items() if count and role != self._judge and not chosen[role]]
        third = self._wants_third(chosen)
        found = self._look() if missing else self._look_for_judge(chosen) if third else []
        by_programs = any(not chosen[role] for role in programs or () if role != self._judge)
        if missing and by_programs:
            self._refuse_silent_programs(found)
        repeated = False
        if able := self._available(found):
            if missing:
                repeated = self._choose_found(chosen, able, notes, wrote)
                notes += [f"not used: {one.name} ({one.problem})" for one in found if one.here and one.problem]
                if not self._attended and self._config.user_allow is None:
                    notes.append(UNLISTED)
            if third:
                self._choose_judge(chosen, able, notes)
        elif programs and by_programs:
            self._choose_programs(chosen, programs, notes)
        if self._judge and 0 < len(chosen[self._judge]) < roles[self._judge]:
            # Fewer models than judges: a model judges more than once, each time in a new conversation.
            named = chosen[self._judge]
            chosen[self._judge] = [named[n % len(named)] for n in range(roles[self._judge])]
        specs: dict[str, ModelSpec] = {}
        for role, count in roles.items():
            if not chosen[role] and (count == 0 or role == self._judge):
                continue
            if not self._has_count(role, len(chosen[role])):
                self._can_be_called(chosen, fallbacks or {})  # a wrong named model is reported before an empty seat
                raise self._too_few(role, len(chosen[role]))
            for n, spec in enumerate(chosen[role], 1):
                seat = role if count in (0, 1) else f"{role}.{n}"
                model = (models or {}).get(role) or spec.model
                specs[seat] = replace(spec, model=model, effort=spec.effort or effort)
        seats = self.fill(specs, fallbacks=fallbacks, allow_same_model=allow_same_model or repeated)
        return replace(seats, notes=(*notes, *seats.notes))

    def fill(
        self, named: Mapping[str, ModelSpec], *, fallbacks: Given | None = None, allow_same_model: bool = False
    ) -> Seats:
        """Seats with the given models. Adds the default judge, and notes on how independent the models are."""
        protocol, notes = self._protocol, list[str]()
        specs = {seat: self._resolved(spec) for seat, spec in named.items()}
        parties = {s: spec for s, spec in specs.items() if not self._judges(s) and protocol.seats.get(s) != 0}
        self._must_differ(parties, allow_same_model, notes)
        named_judges = [seat for seat in specs if self._judges(seat)]
        seats = self._judge_seats() if self._judge and self._judge not in specs else []
        default = [seat for seat in seats if seat not in specs]
        if default:
            party, spec = self._model_of_judge(parties)
            judges = {seat: specs.pop(seat, replace(spec, name="")) for seat in seats}
            specs |= judges
            fresh = f"{_called(party)}'s model ({spec}) in a new conversation"
            whole = len(default) == len(seats) > 1
            notes += [
                f"{who} {fresh}, so it is not independent"
                for who in ([f"every {self._judge} is"] if whole else [f"{_called(seat)} is" for seat in default])
            ]
        for judge in named_judges:
            for seat, spec in parties.items():
                # No note for people: they know that they judge their own work.
                if spec.provider not in PEOPLE and self._model_id(spec) == self._model_id(specs[judge]):
                    notes.append(f"{_called(judge)} is {_called(seat)}'s model too ({spec}), so it is not independent")
        for seat, spec in specs.items():
            if seat not in protocol.silent:  # nothing is sent to a silent seat
                permitted(self._config, seat, spec)
        with_fallback = fallbacks or {}
        filled = [
            Participant(s, spec, self._family(s, spec, has_fallback=s in with_fallback), default=s in default)
            for s, spec in specs.items()
        ]
        families = {p.family for p in filled if p.seat in parties}
        if len(families) == 1 < len({self._model_id(spec) for spec in parties.values()}) and "" not in families:
            notes.append(f"all debaters are of one family ({families.pop()}): less independent than two families")
        others = self._fallbacks(specs, parties, fallbacks or {}, allow_same_model)
        every = [*specs.values(), *(spec for more in others.values() for spec in more)]
        names = {spec.identity: who for spec in every if (who := self._model_id(spec)) != spec.identity}
        return Seats(tuple(filled), others, tuple(notes), names)

    def _judges(self, seat: str) -> bool:
        """Whether a seat is one of the judges'."""
        return bool(self._judge) and (seat == self._judge or seat.startswith(f"{self._judge}."))

    def _judge_seats(self) -> list[str]:
        count = self._protocol.seats[self._judge]
        return [self._judge] if count in (0, 1) else [f"{self._judge}.{n}" for n in range(1, count + 1)]

    # Models that are named. ---------------------------------------------------------------------------------------

    def _named(self, role: str, given: Given) -> list[ModelSpec]:
        """The models that the user or the config names for a role."""
        if texts := given.get(role):
            return [self._read(text) for text in ([texts] if isinstance(texts, str) else texts)]
        specs = self._configured(role)
        judged = self._judge and (given.get(self._judge) or self._configured(self._judge))
        if not specs and judged and role in self._protocol.silent:
            specs = [ModelSpec("human")]  # a silent role is never asked, so no model is looked for
        if not self._attended:
            for spec in specs:
                self._must_be_listed(role, spec.provider)
        return specs

    def _read(self, text: str) -> ModelSpec:
        return self._resolved(ModelSpec.parse(text))

    def _resolved(self, spec: ModelSpec) -> ModelSpec:
        """The spec with its provider, if the user named a model alone."""
        from rebut.setup.model_names import resolved

        return resolved(spec, self._config, self._custom, self._env)

    def _configured(self, role: str) -> list[ModelSpec]:
        """The config's models for a role; none if their number does not fit: they are meant for another protocol."""
        specs, count = [*map(self._resolved, self._config.seats.get(role, ()))], self._protocol.seats[role]
        return specs if count == MANY or len(specs) == max(1, count) else []

    def _must_be_listed(self, role: str, provider: str) -> None:
        if not self._config.listed(provider):
            raise UsageError(
                f"there is no terminal, and {provider} ({role}) is not in [egress] allow of your config",
                f"Name the seat with --{role}, or list the provider there.",
            )

    def _has_count(self, role: str, found: int) -> bool:
        count = self._protocol.seats[role] or 1
        return found == count or (count == MANY and found > 0)

    def _can_be_called(self, chosen: Mapping[str, Sequence[ModelSpec]], fallbacks: Given) -> None:
        """Refuse a named model that is not allowed, unknown or not available here."""
        for role, specs in chosen.items():
            for spec in () if role in self._protocol.silent else specs:
                permitted(self._config, role, spec)
                self._family(role, spec, has_fallback=role in fallbacks)

    def _too_few(self, role: str, found: int) -> NotSeated:
        from rebut.setup.discover import GET_ONE, two_of

        count = self._protocol.seats[role] or 1
        article = "an" if role[0] in "aeiou" else "a"
        how_to = (
            f"Name each with --seat {role}=SPEC, for example --seat {role}=openai:MODEL."
            if self._protocol.source
            else f"Name one with --{role} SPEC, for example --{role} openai:MODEL, or in [seats] of your config."
        )
        needs = (
            f"{self._protocol.name} needs {article if count in (1, MANY) else count} {role}{'s' if count > 1 else ''}"
        )
        if found:
            return NotSeated(f"{needs}, got {found}", how_to, "", role)
        # As if there were a terminal: a provider that cannot be used is named whether it is listed or not.
        here = self._find(self._config.allowed) if self._find else []
        in_vain = _set_up_in_vain(here)
        if unlisted := [] if self._attended else self._models(here):
            return NotSeated(needs, how_to, _not_listed(unlisted), role, in_vain, two_of(unlisted))
        return NotSeated(needs, how_to, "" if in_vain else GET_ONE, role, in_vain)

    # Models that are found. ---------------------------------------------------------------------------------------

    def _look(self) -> Sequence[FoundModel]:
        if self._find is None:
            return []
        return self._find(self._config.allowed if self._attended else self._config.listed)

    def _available(self, found: Sequence[FoundModel]) -> list[FoundModel]:
        """The models that can take a seat, each with one spec and its family, best first.

        A server may list fifty models, so only one of each family is kept. An embedded model counts only if it is
        the only one: it would lose every debate with a large model, which is worse than a self-debate that is labelled
        as such.
        """
        out: dict[tuple[str, str], FoundModel] = {}
        for model in found:
            for spec in () if model.only_named else model.specs:
                try:
                    family = self._connect(spec).family or spec.identity
                except UsageError:
                    continue
                out.setdefault((model.name, family), replace(model, specs=(spec,), family=family))
        return [one for one in out.values() if one.kind != "embedded"] or list(out.values())

    def _choose_found(
        self, chosen: dict[str, list[ModelSpec]], able: Sequence[FoundModel], notes: list[str], wrote: str = ""
    ) -> bool:
        """Fill empty roles: first with another family, then another model, last with a model that has a seat already.

        True if a model has two seats that way.
        """
        named = [spec for role, specs in chosen.items() if role != self._judge for spec in specs]
        families = self._families(chosen) | ({wrote} - {""})
        models = {self._model_id(spec) for spec in named}
        repeated = False
        for role, count in self._protocol.seats.items():
            if chosen[role] or role == self._judge or not count:
                continue
            for n in range(1, (MOST_FOUND if count == MANY else count) + 1):
                one = next((o for o in able if o.family == wrote and role in self._protocol.silent), None)
                one = one or _of_new_family(able, families)
                one = one or next((o for o in able if self._model_id(o.specs[0]) not in models), None)
                if one is None and count == MANY and n > 1:
                    break  # the same model in two seats of a role adds nothing
                repeated = repeated or one is None
                one = one or able[0]
                chosen[role].append(told_apart(one.specs[0], chosen[role]))
                notes.append(f"the {role if count == 1 else f'{role}.{n}'} is {one.described}")
                families.add(one.family)
                models.add(self._model_id(one.specs[0]))
        return repeated

    def _wants_third(self, chosen: Mapping[str, list[ModelSpec]]) -> bool:
        """Whether a model of a third family is to judge. Scripted debates have no family to be independent of."""
        if not self._judge or chosen[self._judge] or not self._protocol.third_judges:
            return False
        return all(spec.provider != "scripted" for specs in chosen.values() for spec in specs)

    def _look_for_judge(self, chosen: Mapping[str, list[ModelSpec]]) -> Sequence[FoundModel]:
        """Look for a judge where the user named the parties: only providers that could be of another family."""
        if self._find is None or not (self._attended or self._config.user_allow):
            return []
        families = self._families(chosen)
        tools = shipped("tools.toml")["tools"]
        taken = {spec.provider for specs in chosen.values() for spec in specs if spec.provider in tools}

        def could_judge(name: str) -> bool:
            if name in BUILT_IN or name in taken or tools.get(name, {}).get("family") in families:
                return False
            return self._config.allowed(name) if self._attended else self._config.listed(name)

        return self._find(could_judge)

    def _families(self, chosen: Mapping[str, list[ModelSpec]]) -> set[str]:
        """The families of the parties, so far."""
        specs = [(role, spec) for role, more in chosen.items() if role != self._judge for spec in more]
        return {self._family(role, spec) or spec.identity for role, spec in specs}

    def _choose_judge(self, chosen: dict[str, list[ModelSpec]], able: Sequence[FoundModel], notes: list[str]) -> None:
        """Let models of families without a seat judge, as far as there are any."""
        families = self._families(chosen)
        for seat in self._judge_seats():
            third = _judge_of_new_family(able, families)
            if third is None or third.kind == "embedded":
                break
            chosen[self._judge].append(third.specs[0])
            families.add(third.family)
            own = "with whatever model it is set to" if third.any_family else "a family of its own"
            notes.append(f"{_called(seat)} is {third.family}, {own}: {third.why}")

    def _refuse_silent_programs(self, found: Sequence[FoundModel]) -> None:
        """Without a terminal and a list, give programs no seat that a model here could fill: the user must decide."""
        from rebut.setup.discover import two_of

        if self._attended or self._config.user_allow is not None or self._find is None:
            return
        if any(one.kind != "embedded" for one in self._available(found)):
            return
        models = self._models(self._find(self._config.allowed))
        if not models:
            return
        raise NotSeated(
            "no model is named, and without a terminal rebut cannot ask you which to use",
            "Name them, or use static analysers and no model: --with lint,rules.",
            _not_listed(models),
            unlisted=two_of(models),
        )

    def _models(self, found: Sequence[FoundModel]) -> list[FoundModel]:
        """The models that rebut could use if the user allowed them."""
        return [one for one in self._available(found) if one.kind != "embedded"]

    def _choose_programs(
        self, chosen: dict[str, list[ModelSpec]], programs: Mapping[str, str], notes: list[str]
    ) -> None:
        """Fill empty roles with programs such as static analysers, and silent roles with a person."""
        empty = [role for role in (*self._protocol.silent, *programs) if not chosen[role]]
        for role in empty:
            chosen[role] = [ModelSpec.parse(programs.get(role, "human"))]
        taken = [f"the {role} is {programs[role]}" for role in empty if role in programs]
        notes.append(f"{BY_PROGRAMS}{self._why_none()}; {' and '.join(taken)}, which apply fixed rules")

    def _why_none(self) -> str:
        """Why no model takes a seat: none is here, or the ones that are here may not or cannot be used."""
        lists = self._config.user_allow is not None or self._config.repo_allow is not None
        every = self._find(lambda _: True) if self._find and lists else []
        failing = _failing(self._find(self._config.allowed)) if self._find else []
        if failing:
            return " and ".join(f"{one.name} cannot be used ({one.problem})" for one in failing)
        barred = [one.name for one in self._available(every) if one.kind != "embedded"]
        barred = [name for name in dict.fromkeys(barred) if not self._config.allowed(name)]
        return f"[egress] allow does not list {' or '.join(barred)}" if barred else "none was found"

    # The judge, families and fallbacks. ---------------------------------------------------------------------------

    def _model_of_judge(self, parties: Mapping[str, ModelSpec]) -> tuple[str, ModelSpec]:
        """The party whose model judges by default: the first one.

        If a person argued the case there, it is the first party that has a model, if any has.
        """
        party, spec = next(iter(parties.items()))
        if spec.provider in PEOPLE and party not in self._protocol.silent:
            models = [(seat, other) for seat, other in parties.items() if other.provider not in PEOPLE]
            party, spec = models[0] if models else (party, spec)
        return party, spec

    def _family(self, seat: str, spec: ModelSpec, *, has_fallback: bool = False) -> str:
        """The family of a model. A silent seat is never asked, so its model need not be available.

        If the seat `has_fallback`, it need not be available either: the fallback takes over at the first call.
        """
        try:
            return self._connect(spec).family
        except UsageError as error:
            if seat in self._protocol.silent or (has_fallback and isinstance(error, NotAvailable)):
                return ""
            raise

    def _model_id(self, spec: ModelSpec) -> str:
        """A name that is equal for two specs of one model: the first provider with that address, and the model there.

        `here` and `here:qwen3` may be one model, and so may two tables of the config with one address.
        """
        provider = self._config.provider(spec.provider)
        if provider is None:
            return spec.identity
        place, model = same_place(provider.base_url), spec.model or provider.model
        for other in self._config.providers:
            if other.name not in self._config.faults and same_place(other.base_url) == place:
                return ModelSpec(other.name, model.casefold().removesuffix(":latest")).identity
        return spec.identity

    def _must_differ(self, specs: Mapping[str, ModelSpec], allowed: bool, notes: list[str]) -> None:
        """Refuse one model in two seats, under whatever names, unless that is `allowed`; then `notes` says so."""
        seen: dict[str, str] = {}
        for seat, spec in specs.items():
            who = self._model_id(spec)
            if spec.provider == "human" or who not in seen:
                seen[who] = seat
                continue
            first = seen[who]
            one, names = specs[first], (f"{first} and {seat}", f"both {spec.identity}")
            if one.provider != spec.provider:
                names = f"{first} ({one}) and {seat} ({spec})", "one model: two names for the same address"
            if not allowed:
                raise UsageError(
                    f"{names[0]} are {names[1]}; name two different models, or --allow-same-model for a self-debate"
                )
            notes.append(f"self-debate: {names[0]} are {names[1]}, so this is not two independent opinions")

    def _fallbacks(
        self, specs: Mapping[str, ModelSpec], parties: Mapping[str, ModelSpec], given: Given, allow_same_model: bool
    ) -> dict[str, tuple[ModelSpec, ...]]:
        """The fallbacks that the user named, and the models of stand-in roles."""
        out = {
            seat: tuple(self._read(text) for text in ([more] if isinstance(more, str) else more))
            for seat, more in given.items()
        }
        stand_ins = {seat: specs[other] for seat, other in self._protocol.stand_ins.items() if other in specs}
        for seat, stand_in in stand_ins.items():
            is_model = stand_in.provider not in NO_STAND_IN
            if (
                is_model
                and seat not in out
                and seat in specs
                and self._model_id(stand_in) != self._model_id(specs[seat])
            ):
                out[seat] = (replace(stand_in, name=""),)
        for seat, more in out.items():
            if seat not in specs:
                raise UsageError(f"there is no seat {seat!r} for a fallback", f"Seats: {', '.join(specs)}.")
            for spec in more:
                permitted(self._config, seat, spec)
                self._connect(spec)
                if seat not in stand_ins or self._model_id(stand_ins[seat]) != self._model_id(spec):
                    others = {other: party for other, party in parties.items() if other != seat}
                    self._must_differ({**others, seat: spec}, allow_same_model, [])
        return out


PEOPLE = ("human", "caller")
PROGRAMS = ("lint", "rules")
NO_STAND_IN = (*PEOPLE, *PROGRAMS)
UNLISTED = (
    "without a terminal, rebut chooses only the embedded model by itself; to use others, name them or add their "
    "providers to [egress] allow in your config"
)


def _not_listed(models: Sequence[FoundModel]) -> str:
    """Why rebut does not choose models that can be used, and how the user lets it."""
    names = list(dict.fromkeys(one.name for one in models))
    return (
        f"{' and '.join(names)} can be used, but without a terminal rebut by itself chooses only what [egress] allow "
        f"of your config names. {_to_list(names)}"
    )


def _to_list(names: Sequence[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f"Add to your config (`rebut config path`):  [egress] allow = [{listed}]"


def _set_up_in_vain(found: Sequence[FoundModel]) -> str:
    """The providers with a key, and the servers here, that cannot be used, with the reasons."""
    return " ".join(f"{one.name}: {one.problem}. {one.advice}" for one in _failing(found))


def _failing(found: Sequence[FoundModel]) -> list[FoundModel]:
    return [one for one in found if one.fails and one.kind in ("key", "server")]


def check_effort(effort: str) -> None:
    if effort and effort not in EFFORTS:
        raise UsageError(f"effort must be {', '.join(EFFORTS)}, got {effort!r}")


def permitted(config: Config, seat: str, spec: ModelSpec) -> None:
    """Refuse a provider to which the user or the repository does not allow text to be sent (C16)."""
    if not config.allowed(spec.provider):
        raise UsageError(
            f"{spec.provider} ({seat}) is not among the providers that [egress] allow lists",
            "Choose another, or add it there: `rebut config path` shows where your own list is.",
        )


def told_apart(spec: ModelSpec, others: Sequence[ModelSpec]) -> ModelSpec:
    """The spec with a name of its own if its provider is among `others`: files are named after it."""
    count = sum(other.provider == spec.provider for other in others)
    return replace(spec, name=f"{spec.provider}-{count + 1}") if count and not spec.name else spec


def only_seats(seats: Sequence[Participant], named: Iterable[str]) -> dict[str, str]:
    """Role → its only seat, such as `author.1`, for each named role with numbered seats. UsageError if it has more."""
    out: dict[str, str] = {}
    for role in named:
        mine = [p.seat for p in seats if p.seat.startswith(f"{role}.")]
        if not mine:
            continue
        if len(mine) > 1:
            raise UsageError(
                f"this debate has more than one {role}", f"Name one of {', '.join(mine)}: --seat {mine[0]}=SPEC."
            )
        out[role] = mine[0]
    return out


def is_self_debate(record: Record, seats: Sequence[Participant], protocol: Protocol) -> bool:
    """Whether one model has two sides in the recorded debate, which the user allowed then."""
    judging = [p.seat for p in seats if protocol.judge and p.seat.partition(".")[0] == protocol.judge]
    parties = [record.model(str(p.spec)) for p in seats if p.seat not in judging and p.spec.provider != "human"]
    return len(set(parties)) < len(parties)


def _of_new_family(able: Sequence[FoundModel], families: Collection[str]) -> FoundModel | None:
    """A model of a family without a seat: tools first, and of these the ones whose family is known."""
    new = [one for one in able if one.family not in families]
    return min(new, key=lambda one: (one.kind != "tool", one.any_family), default=None)


def _judge_of_new_family(able: Sequence[FoundModel], families: Collection[str]) -> FoundModel | None:
    """A judge of a family without a seat. A known family counts more here than how the model is reached."""
    return min((one for one in able if one.family not in families), key=lambda one: one.any_family, default=None)


def _called(seat: str) -> str:
    """A seat in a sentence: the proposer, but author.1."""
    return seat if "." in seat else f"the {seat}"
