"""A question to a participant, and its result: an answer, a failure, or several of both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from rebut.core.frozen import frozen
from rebut.core.types import NO_MATERIAL, Material, Participant
from rebut.domain.limits import MAX_OUTPUT

V = TypeVar("V")
Check = Callable[[Any], Sequence[str] | Awaitable[Sequence[str]]]
"""A protocol's function that returns what is wrong with a reply. It may use only the reply and the record."""


@frozen
class Answer(Generic[V]):
    """What a participant answered, final and on record."""

    who: Participant
    key: str
    value: V
    complaints: tuple[str, ...] = ()
    """What the protocol's check still found wrong after the reply was sent back once."""
    model: str = ""
    family: str = ""
    ms: int = 0


@frozen
class Failure:
    """A participant gave no answer. A failure has a kind and a message, and never counts as an argument."""

    who: Participant
    key: str
    kind: str
    message: str
    hint: str = ""
    raw: str = ""
    """The text of a reply that could not be read as an answer; empty without one. It counts for no side."""


@frozen
class Ask(Generic[V]):
    """One of several questions that are asked at once."""

    who: Participant
    prompt: str
    schema: type[V] | None = None
    check: Check | None = None
    part: str = ""
    """Distinguishes two questions of one step to the same seat."""
    material: Material = NO_MATERIAL
    """The data that the prompt was made of, for participants that are programs."""
    max_output: int = MAX_OUTPUT
    """Tokens that the reply may have at most."""
    refused: str = ""
    """Why the question must not be asked; empty if it may. If so, it fails at once, on record, without a call."""


@frozen
class Answers(Generic[V]):
    """The results of several questions, in the order of asking."""

    all: tuple[Answer[V] | Failure, ...]

    def __iter__(self) -> Iterator[Answer[V] | Failure]:
        return iter(self.all)

    @property
    def answered(self) -> tuple[Answer[V], ...]:
        return tuple(a for a in self.all if isinstance(a, Answer))

    @property
    def failed(self) -> tuple[Failure, ...]:
        return tuple(a for a in self.all if isinstance(a, Failure))
