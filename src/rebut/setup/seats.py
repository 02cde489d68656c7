"""Seating: who sits where, named or found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rebut.core.errors import NotSeated, UsageError
from rebut.core.types import EFFORTS, ModelSpec, Participant
from rebut.engine.protocol import MANY, MOST_FOUND, Protocol
from rebut.engine.runtime import Connection
from rebut.setup.config import Config
from rebut.setup.connect import connector as connector
from rebut.setup.discover import FoundModel, usable

Given = Mapping[str, str | Sequence[str]]
Find = Callable[[Callable[[str], bool]], Sequence[FoundModel]]
"""Looks around for those providers that the given function admits."""


@dataclass(frozen=True, slots=True)
class Seats:
    """A filled table."""

    participants: tuple[Participant, ...]
    fallbacks: Mapping[str, tuple[ModelSpec, ...]]
    notes: tuple[str, ...] = ()


def seat(
    protocol: Protocol,
    given: Given,
    config: Config,
    connect: Callable[[ModelSpec], Connection],
    *,
    effort: str = "",
    models: Mapping[str, str] | None = None,
    fallbacks: Given | None = None,
    allow_same_model: bool = False,
    attended: bool = True,
    find: Find | None = None,
    programs: Mapping[str, str] | None = None,
) -> Seats:
    """Fill the seats of a protocol from what was named, the user's config, what is found, and the default judge.

    `programs` sit where no model was found.
    """
    check_effort(effort)
    named: dict[str, list[str]] = {}
    for role, count in protocol.seats.items():
        by_hand = given.get(role) or _configured(config, role, count)
        named[role] = [by_hand] if isinstance(by_hand, str) else list(by_hand)
        if role in protocol.silent and not named[role] and _judge_is_named(protocol, given, config):
            named[role] = ["human"]  # nobody is asked here, so nobody needs to be found for it
        if not attended and not given.get(role):
            _listed(named[role], role, config)
    company = FilledSeats()
    if find and any(count and not named[role] for role, count in protocol.seats.items() if role != protocol.judge):
        # With somebody watching, whatever no list forbids; else only what the user has listed (C16).
        company = found_company(protocol, named, find(config.allowed if attended else config.listed), connect)
        if company.specs and not attended and config.user_allow is None:
            company = replace(company, notes=(*company.notes, UNLISTED))
    if programs and not company.specs and any(not named[role] for role in programs if role != protocol.judge):
        taken = {**dict.fromkeys(protocol.silent, "human"), **programs}
        filled_in = [role for role in taken if not named[role]]
        named |= {role: [taken[role]] for role in filled_in}
        unlisted = () if attended or config.user_allow is not None else (UNLISTED,)
        why = NONE_LISTED if unlisted else NO_MODEL
        company = FilledSeats(notes=(*(f"the {role} is {why}" for role in filled_in if role in programs), *unlisted))
    specs: dict[str, ModelSpec] = {}
    for role, count in protocol.seats.items():
        if count == 0 and not named[role]:
            continue
        count = count or 1
        wanted = named[role] or [spec.written for spec in company.specs.get(role, ())]
        if role == protocol.judge and not wanted:
            continue
        if (len(wanted) != count) if count != MANY else not wanted:
            a = "an" if role[0] in "aeiou" else "a"
            raise NotSeated(
                f"{protocol.name} needs {a if count in (1, MANY) else count} {role}{'s' if count > 1 else ''}"
                + (f", got {len(wanted)}" if wanted else ""),
                _how_to_name(protocol, role) + ("" if wanted else NOBODY if attended else UNATTENDED),
            )
        for n, text in enumerate(wanted, 1):
            spec = ModelSpec.parse(text)
            if models and models.get(role):
                spec = replace(spec, model=models[role])
            specs[role if count == 1 else f"{role}.{n}"] = replace(spec, effort=spec.effort or effort)
    filled = fill(
        protocol, specs, config, connect, fallbacks=fallbacks, allow_same_model=allow_same_model or company.repeated
    )
    return replace(filled, notes=(*company.notes, *filled.notes))


def check_effort(effort: str) -> None:
    if effort and effort not in EFFORTS:
        raise UsageError(f"effort must be {', '.join(EFFORTS)}, got {effort!r}")


def fill(
    protocol: Protocol,
    named: Mapping[str, ModelSpec],
    config: Config,
    connect: Callable[[ModelSpec], Connection],
    *,
    fallbacks: Given | None = None,
    allow_same_model: bool = False,
) -> Seats:
    """Seat the named specs, and the judge by default; say what the reader must know of this company."""
    specs, notes = dict(named), list[str]()
    extra = {role for role, count in protocol.seats.items() if count == 0}
    parties = {role: spec for role, spec in specs.items() if role != protocol.judge and role not in extra}
    _must_differ({role: _whole(spec, config) for role, spec in parties.items()}, allow_same_model, notes)
    default = protocol.judge if protocol.judge and protocol.judge not in specs else ""
    if default:
        party, spec = next(iter(parties.items()))
        if spec.provider in PEOPLE and party not in protocol.silent:  # nobody decides on a case that he has just argued
            models = [one for one in parties.items() if one[1].provider not in PEOPLE]
            party, spec = models[0] if models else (party, spec)
        specs[default] = replace(spec, name="")
        notes.append(f"the {default} is a fresh call of {_called(party)}'s model ({spec}), not an independent third")
    for role, spec in parties.items():
        if not default and protocol.judge in specs and specs[protocol.judge].identity == spec.identity:
            notes.append(f"the {protocol.judge} is {_called(role)}'s model too ({spec}), not an independent third")
    for role, spec in specs.items():
        if role not in protocol.silent:  # nothing is sent to one who is never asked
            permitted(config, role, spec)
    filled = [
        Participant(role, spec, _family(spec, connect, role in protocol.silent), default=role == default)
        for role, spec in specs.items()
    ]
    families = {p.family for p in filled if p.seat in parties}
    if len(families) == 1 < len({spec.identity for spec in parties.values()}) and "" not in families:
        notes.append(f"all debaters are of one family ({families.pop()}): less independent than two families")
    others = {
        role: tuple(ModelSpec.parse(s) for s in ([more] if isinstance(more, str) else more))
        for role, more in (fallbacks or {}).items()
    }
    for role, other in protocol.stand_ins.items():
        kin = specs.get(other)
        if kin is None or role not in specs or role in others or kin.provider in NO_STAND_IN:
            continue
        if kin.identity != specs[role].identity:
            others[role] = (replace(kin, name=""),)
    for role, more in others.items():
        if role not in specs:
            raise UsageError(f"there is no seat {role!r} to fall back in", f"Seats: {', '.join(specs)}.")
        for spec in more:
            permitted(config, role, spec)
            connect(spec)
            kin = specs.get(protocol.stand_ins.get(role, ""))
            if kin is None or kin.identity != spec.identity:
                _must_differ({**{p: s for p, s in parties.items() if p != role}, role: spec}, allow_same_model, [])
    return Seats(tuple(filled), others, tuple(notes))


NO_MODEL = "a program, since no model was found: it knows rules, and argues nothing"
NONE_LISTED = "a program, since no model was named and none is seated by itself: it knows rules, and argues nothing"
PEOPLE = ("human", "caller")
NO_STAND_IN = (*PEOPLE, "lint", "rules")
NOBODY = " Nothing was found to fill it with: `rebut providers` tells what there could be."
UNLISTED = (
    "without a terminal only the embedded model is seated by itself: list others in [egress] allow of your config, "
    "or name them"
)
UNATTENDED = " Without a terminal, rebut by itself seats only what [egress] allow of your config lists."


def _judge_is_named(protocol: Protocol, given: Given, config: Config) -> bool:
    return bool(protocol.judge and (given.get(protocol.judge) or _configured(config, protocol.judge, 1)))


def _family(spec: ModelSpec, connect: Callable[[ModelSpec], Connection], silent: bool) -> str:
    """Its family; one who is never asked need not be there."""
    try:
        return connect(spec).family
    except UsageError:
        if not silent:
            raise
        return ""


def _how_to_name(protocol: Protocol, role: str) -> str:
    if protocol.source:
        return f"Name each with --seat {role}=SPEC, for example --seat {role}=openai:MODEL."
    return f"Name one with --{role} SPEC, for example --{role} openai:MODEL, or in [seats] of your config."


def permitted(config: Config, role: str, spec: ModelSpec) -> None:
    """Text may go to this provider, as far as the user and the repository say (C16)."""
    if not config.allowed(spec.provider):
        raise UsageError(
            f"{spec.provider} ({role}) is not among the providers that [egress] allow lists",
            "Choose another, or add it there: `rebut config path` tells where your own list is.",
        )


def _listed(wanted: Sequence[str], role: str, config: Config) -> None:
    """With nobody at a terminal, a seat that was not named may only use what the user has listed (C16)."""
    for text in wanted:
        provider = ModelSpec.parse(text).provider
        if not config.listed(provider):
            raise UsageError(
                f"there is no terminal, and {provider} ({role}) is not in [egress] allow of your config",
                f"Name the seat with --{role}, or list the provider there.",
            )


def _configured(config: Config, role: str, count: int) -> list[str]:
    """What the user's config has for a role. A list that does not fit the number of seats is for another protocol."""
    specs = [spec.written for spec in config.seats.get(role, ())]
    return specs if count == MANY or len(specs) == max(1, count) else []


def _whole(spec: ModelSpec, config: Config) -> ModelSpec:
    """The spec with the model that its provider takes by default: `here` and `here:qwen3` may be the same."""
    provider = None if spec.model else config.provider(spec.provider)
    return replace(spec, model=provider.model) if provider else spec


def _must_differ(specs: Mapping[str, ModelSpec], allowed: bool, notes: list[str]) -> None:
    seen: dict[str, str] = {}
    for role, spec in specs.items():
        if spec.provider == "human" or spec.identity not in seen:
            seen[spec.identity] = role
            continue
        first = seen[spec.identity]
        if not allowed:
            raise UsageError(
                f"{first} and {role} are both {spec.identity}; name two different models, "
                "or --allow-same-model for a self-debate"
            )
        notes.append(
            f"self-debate: {first} and {role} are both {spec.identity}, so this is not two independent opinions"
        )


def only_seats(protocol: Protocol, seats: Sequence[Participant], named: Iterable[str]) -> dict[str, str]:
    """Roles of many that were named by themselves, and the one seat that each has."""
    out: dict[str, str] = {}
    for role in [name for name in named if protocol.seats.get(name) == MANY]:
        mine = [p.seat for p in seats if p.seat.startswith(f"{role}.")]
        if len(mine) > 1:
            raise UsageError(f"this debate has more than one {role}", f"Name one of {', '.join(mine)}.")
        out[role] = mine[0]
    return out


def is_self_debate(seats: Sequence[Participant], protocol: Protocol) -> bool:
    """Whether one model already fills two sides, which somebody once allowed."""
    parties = [p.spec.identity for p in seats if p.seat != protocol.judge and p.spec.provider != "human"]
    return len(set(parties)) < len(parties)


def _called(seat: str) -> str:
    """A seat in a sentence: the proposer, but author.1."""
    return seat if "." in seat else f"the {seat}"


# Choosing: who of those that were found takes which seat, and why.


@dataclass(frozen=True, slots=True)
class FilledSeats:
    """The seats that nobody named, filled."""

    specs: Mapping[str, Sequence[ModelSpec]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    repeated: bool = False
    """A model sits twice: a self-debate."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One who could sit."""

    spec: ModelSpec
    family: str
    found: FoundModel

    @property
    def about(self) -> str:
        """Its family and why it can sit, told once where one says the other."""
        says = self.found.about and self.family.startswith(self.found.about)
        return self.family if says else f"{self.family}: {self.found.why}"


def found_company(
    protocol: Protocol,
    named: Mapping[str, Sequence[str]],
    found: Sequence[FoundModel],
    connect: Callable[[ModelSpec], Connection],
) -> FilledSeats:
    """Fill the roles that are empty in `named`: first another family, then another model, last the same one again."""
    able = candidates(found, connect)
    if not able:
        return FilledSeats()
    seated = [ModelSpec.parse(text) for role, texts in named.items() if role != protocol.judge for text in texts]
    families = {_family_or_model(spec, connect) for spec in seated}
    models = {spec.identity for spec in seated}
    specs: dict[str, list[ModelSpec]] = {}
    notes: list[str] = []
    repeated = False
    for role, count in protocol.seats.items():
        if named[role] or role == protocol.judge or not count:
            continue
        for n in range(1, (MOST_FOUND if count == MANY else count) + 1):
            one = _another(able, families)
            one = one or next((c for c in able if c.spec.identity not in models), None)
            if one is None and count == MANY and n > 1:
                break  # a second voice of a model that is heard already adds nothing
            repeated = repeated or one is None
            one = one or able[0]
            beside = specs.setdefault(role, [])
            beside.append(told_apart(one.spec, beside))
            notes.append(f"the {role if count == 1 else f'{role}.{n}'} is {one.about}")
            families.add(one.family)
            models.add(one.spec.identity)
    if protocol.judge and protocol.third_judges and not seated and not named[protocol.judge]:
        # Where parties were named, their models are whom the user lets read this; a third is not added to them.
        third = _third(able, families)
        if third:
            specs[protocol.judge] = [third.spec]
            own = "with whatever model it is set to" if third.found.any_family else "a family of its own"
            notes.append(f"the {protocol.judge} is {third.family}, {own}: {third.found.why}")
    notes += [f"not seated: {one.name} ({one.problem})" for one in found if one.here and one.problem]
    return FilledSeats(specs, tuple(notes), repeated)


def told_apart(spec: ModelSpec, beside: Sequence[ModelSpec]) -> ModelSpec:
    """The spec with a name of its own where its provider sits in that role already: files may be called by it."""
    count = sum(other.provider == spec.provider for other in beside)
    return replace(spec, name=f"{spec.provider}-{count + 1}") if count and not spec.name else spec


def _another(able: Sequence[Candidate], families: Collection[str]) -> Candidate | None:
    """One of a family that does not sit yet: tools first, and of those the ones whose family is known."""
    new = [c for c in able if c.family not in families]
    return min(new, key=lambda c: (c.found.kind != "tool", c.found.any_family), default=None)


def _third(able: Sequence[Candidate], families: Collection[str]) -> Candidate | None:
    """Who judges: that it is of another family counts for more here than how it is reached."""
    return min((c for c in able if c.family not in families), key=lambda c: c.found.any_family, default=None)


def candidates(found: Sequence[FoundModel], connect: Callable[[ModelSpec], Connection]) -> list[Candidate]:
    """Those who could really sit, best first. The embedded model is one of them only where there is nobody else:
    opposite a large model it would lose every debate, which is worse than a self-debate that says so."""
    out: dict[tuple[str, str], Candidate] = {}
    for spec, one in usable(found):
        try:
            family = connect(spec).family or spec.identity
        except UsageError:
            continue
        # A server may list fifty models; one of each family is enough to choose from.
        out.setdefault((one.name, family), Candidate(spec, family, one))
    real = [c for c in out.values() if c.found.kind != "embedded"]
    return real or list(out.values())


def _family_or_model(spec: ModelSpec, connect: Callable[[ModelSpec], Connection]) -> str:
    return connect(spec).family or spec.identity
