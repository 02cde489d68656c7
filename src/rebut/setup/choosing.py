"""Choosing: who of those that were found takes which seat, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rebut.core.errors import UsageError
from rebut.core.types import ModelSpec
from rebut.engine.protocol import MANY, MOST_FOUND, Protocol
from rebut.engine.runtime import Connection
from rebut.setup.discover import Found, usable


@dataclass(frozen=True, slots=True)
class Company:
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
    found: Found

    @property
    def about(self) -> str:
        """Its family and why it can sit, told once where one says the other."""
        says = self.found.about and self.family.startswith(self.found.about)
        return self.family if says else f"{self.family}: {self.found.why}"


def found_company(
    protocol: Protocol,
    named: Mapping[str, Sequence[str]],
    found: Sequence[Found],
    connect: Callable[[ModelSpec], Connection],
) -> Company:
    """Fill the roles that are empty in `named`: first another family, then another model, last the same one again."""
    able = candidates(found, connect)
    if not able:
        return Company()
    seated = [ModelSpec.parse(text) for role, texts in named.items() if role != protocol.judge for text in texts]
    families = {_family(spec, connect) for spec in seated}
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
    return Company(specs, tuple(notes), repeated)


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


def candidates(found: Sequence[Found], connect: Callable[[ModelSpec], Connection]) -> list[Candidate]:
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


def _family(spec: ModelSpec, connect: Callable[[ModelSpec], Connection]) -> str:
    return connect(spec).family or spec.identity
