"""Questions, and what comes back: an answer, a failure, or several of both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from rebut.core.frozen import frozen
from rebut.core.types import NO_MATERIAL, Material, Participant
from rebut.domain.limits import MAX_OUTPUT

V = TypeVar("V")
Check = Callable[[Any], Sequence[str] | Awaitable[Sequence[str]]]
"""Returns what is wrong with a reply. It looks only at the reply and at what is on record."""


@frozen
class Answer(Generic[V]):
    """What a participant answered, final and on record."""

    who: Participant
    key: str
    value: V
    complaints: tuple[str, ...] = ()
    """What its check still found wrong after the reply was sent back once."""
    model: str = ""
    family: str = ""
    ms: int = 0


@frozen
class Failure:
    """A participant did not answer. A failure has a class and a message, and is never an argument."""

    who: Participant
    key: str
    kind: str
    message: str
    hint: str = ""
    raw: str = ""
    """What it replied, where that could not be parsed as an answer. It counts for no side, but is kept."""


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
    """What the prompt was made of, for participants that are programs."""
    max_output: int = MAX_OUTPUT
    """Tokens that the reply may have at most."""
    refused: str = ""
    """Why it must not be asked, if so: it fails at once, on record, and no call is made."""


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
