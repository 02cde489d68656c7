"""The frozen values that the rooms of rebut pass to each other."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from typing import Any, Literal, Protocol, get_args

from rebut.core.ballot import Ballot
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, remade

FailureKind = Literal["timeout", "auth", "rate limit", "bad reply", "missing tool", "crashed", "budget"]
LEFT = "left behind"
"""The class of a call that the user skipped: not a failure of the model."""
FAILURES: tuple[FailureKind, ...] = get_args(FailureKind)

EFFORTS = ("low", "medium", "high", "max")


@frozen
class ModelSpec:
    """The model for a seat: `[NAME=]PROVIDER[:MODEL][@EFFORT]`."""

    provider: str
    model: str = ""
    effort: str = ""
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> ModelSpec:
        """Read a spec as a person types it.

        A model name may itself contain `:` or `@VERSION`; a plain word after the last `@` can only be an effort.
        """
        rest, name = text.strip(), ""
        if named := re.match(r"([A-Za-z][\w.-]*)=(?=.)", rest):
            name, rest = named[1], rest[named.end() :]
        provider, colon, model = rest.partition(":")
        if "=" in provider:
            wrong = provider.partition("=")[0]
            raise UsageError(
                f"{wrong!r} cannot be the name of a model in {text!r}",
                "Write NAME=SPEC. A name begins with a letter from A to Z and has letters, digits, dots, - and _.",
            )
        effort = ""
        holder = model if colon else provider
        if "@" in holder:
            head, _, tail = holder.rpartition("@")
            if tail in EFFORTS:
                holder, effort = head, tail
            elif not colon or re.fullmatch(r"[A-Za-z]+", tail):
                raise UsageError(f"unknown effort {tail!r} in {text!r}", f"Efforts are {', '.join(EFFORTS)}.")
            provider, model = (provider, holder) if colon else (holder, "")
        if not re.fullmatch(r"[A-Za-z][\w.-]*", provider) or (colon and not model):
            raise UsageError(
                f"{text!r} is not a model spec",
                "Write PROVIDER, PROVIDER:MODEL or PROVIDER:MODEL@EFFORT, for example openai:gpt-5@high.",
            )
        return cls(provider, model, effort, name)

    @property
    def identity(self) -> str:
        """What makes two seats the same model: provider and model, whatever the effort or the name."""
        return f"{self.provider}:{self.model}" if self.model else self.provider

    @property
    def written(self) -> str:
        """The spec as a person would type it, with its name."""
        return f"{self.name}={self}" if self.name else str(self)

    def __str__(self) -> str:
        return self.identity + (f"@{self.effort}" if self.effort else "")


@frozen
class Sampling:
    """Sampling settings of a seat; None where not set. A provider that lacks one reports that and continues."""

    temperature: float | None = None
    seed: int | None = None

    @classmethod
    def of(cls, temperature: float | None, seed: int | None) -> Sampling:
        """The settings that the user gives; UsageError if no provider would accept them."""
        if temperature is not None and not 0 <= temperature <= 2:
            raise UsageError(f"temperature must be 0 to 2, got {temperature:g}")
        if seed is not None and not 0 <= seed < 2**31:
            raise UsageError(f"seed must be a whole number from 0 to {2**31 - 1}, got {seed}")
        return cls(None if temperature is None else float(temperature), seed)

    def to_json(self) -> dict[str, Json]:
        """Only what was set, so that a seat without settings has its old fingerprint."""
        given: dict[str, Json] = {"temperature": self.temperature, "seed": self.seed}
        return {name: value for name, value in given.items() if value is not None}


@frozen
class Participant:
    """A seat (`proposer`, `author.1`) and the model that has it."""

    seat: str
    spec: ModelSpec
    family: str = ""
    persona: str = ""
    default: bool = False
    """Whether the user named no model for this seat, so that it got a default."""
    sampling: Sampling = Sampling()

    @property
    def label(self) -> str:
        """The name to show: the one the user gave, else the spec."""
        return self.spec.name or str(self.spec)

    @property
    def fingerprint(self) -> list[str]:
        """The seat as configured. `family` is not part of it: it is discovered, not chosen."""
        drawn = [f"{name} {value!r}" for name, value in self.sampling.to_json().items()]
        return [self.seat, str(self.spec), self.persona, *drawn]


@frozen
class Usage:
    """Tokens that a call took; None where the provider did not report them."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None

    @property
    def total(self) -> int:
        return (self.input or 0) + (self.output or 0)


@frozen
class Changed:
    """One file of a change, both sides as text without secrets; None on the side where it does not exist."""

    path: str
    before: str | None
    after: str | None
    added: tuple[tuple[int, int], ...] = ()
    """First and last line of each range on the new side that the change added."""
    old_path: str = ""
    """Its path before, if it was renamed."""

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Changed:
        return remade(cls, row, added=tuple(map(tuple, row["added"])))


@frozen
class Finding:
    """A point at issue, as a rule-based judge gets it."""

    id: str
    severity: str
    category: str
    text: str
    marks: tuple[str, ...] = ()
    """The mark of each of its citations; empty if it cites nothing."""
    status: str = "raised"
    rule_based: bool = False
    """An analyser raised it, not a model."""
    has_fix: bool = False
    place: str = ""
    """Its first citation."""


@frozen
class Material:
    """The data behind a prompt, for programs and persons that fill a seat. It is never sent to a provider."""

    change: tuple[Changed, ...] = ()
    findings: tuple[Finding, ...] = ()
    ballot: Ballot | Callable[[], Ballot] | None = None
    """For a person at a terminal: the case in short, and what to decide, in place of the prompt.

    Most seats are models, so a protocol may give a function, which is called when a person is asked.
    """

    is_part: bool = False
    """Whether other parts of the same change have files that were not deleted."""

    def for_person(self) -> Ballot | None:
        """The ballot as a person gets it."""
        return self.ballot() if callable(self.ballot) else self.ballot


NO_MATERIAL = Material()


def ignore(what: object) -> None:
    """A listener that does nothing."""


async def allow(failed: ParticipantFailed) -> bool:
    """Allows another try: for callers that keep no record."""
    return True


@frozen
class SentBack:
    """A reply that is sent back, for participants that correct it part by part. It is never sent to a provider."""

    reply: str
    complaints: tuple[str, ...]


@frozen
class Request:
    """One call to a backend."""

    key: str
    participant: Participant
    prompt: str
    followup: str = ""
    """What comes after the prompt on a second call for the same key: a repair, a send-back, served context.
    Kept apart so that the long prompt stays a stable, cacheable prefix."""
    attempt: int = 1
    schema: Mapping[str, Json] | None = None
    schema_name: str = ""
    loose_schema: Mapping[str, Json] | None = field(default=None, compare=False)
    """The schema with optional keys, for the embedded model: it is asked for each field that is not optional."""
    timeout: float = 240.0
    """Seconds for the whole call, retries included."""
    max_output: int = 4096
    thinking: int = 0
    """How many tokens of `max_output` are for thinking alone, for providers that count thinking as output."""
    patience: float = float("inf")
    """Seconds for waiting in line and the call together: the rest of the debate's own time limit."""
    material: Material = field(default=NO_MATERIAL, compare=False)
    sent_back: SentBack | None = field(default=None, compare=False)
    on_text: Callable[[str], None] = field(default=ignore, compare=False)
    """Called with each piece of text as it streams in; progress only, never an answer."""
    on_wait: Callable[[str], None] = field(default=ignore, compare=False)
    """Called when the call must wait, with a reason such as "openai: 429, again in 12 s", and "" when it continues."""
    on_spawn: Callable[[int], None] = field(default=ignore, compare=False)
    """Called with the process group of a tool as soon as it is started, so that resume can end it if rebut dies."""

    on_again: Callable[[ParticipantFailed], Awaitable[bool]] = field(default=allow, compare=False)
    """Called before a request that was lost on its way, but may have been paid for, is sent again. The callback first
    records the lost request, or returns False to stop."""

    @property
    def sampling(self) -> Sampling:
        """Temperature and seed as the seat has them; a question that is asked again is drawn with another seed."""
        own = self.participant.sampling
        if own.seed is None or self.attempt == 1:
            return own
        return replace(own, seed=(own.seed + self.attempt - 1) % 2**31)

    @property
    def whole(self) -> str:
        return f"{self.prompt}\n\n{self.followup}" if self.followup else self.prompt


@frozen
class Reply:
    """What came back from a backend that answered."""

    text: str
    model: str = ""
    """The model that answered, as the provider names it."""
    family: str = ""
    usage: Usage = Usage()
    usd: float | None = None
    """None when the price is unknown, never 0 for that."""
    truncated: bool = False
    """The provider cut the reply at the output limit."""
    notes: tuple[str, ...] = ()
    """What the user should know about this call, such as a retry or a schema that was put into the prompt."""
    unread: str = ""
    """The part of the question that the participant was not shown or could not read: such an answer is incomplete."""
    skipped: tuple[str, ...] = ()
    """The paths of changed files that the participant did not read, because it has no rules for such files."""


class Backend(Protocol):
    """A model behind one method. It returns what the model answered, or raises `ParticipantFailed`."""

    async def complete(self, request: Request) -> Reply: ...
