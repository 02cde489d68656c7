"""What has come in of one reply; each wire has its own way to read on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from rebut.core.types import Json, Usage


class Heard(ABC):
    """What has come in of one reply."""

    __slots__ = ("blocked", "cut", "done", "error", "finish", "model", "pieces", "size", "usage", "usd", "written")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.size = 0
        self.model = ""
        self.finish = ""
        """Why the model stopped, in the provider's word; empty while it has not."""
        self.done = False
        """Nothing of interest follows, even if the stream goes on."""
        self.cut = False
        self.blocked = ""
        """Why this is no answer whatever its text: a refusal, a filter."""
        self.usage: Usage | None = None
        """Only once it is final: a count from the middle of a stream would be too low a price."""
        self.written = 0
        """Input tokens that were put into the provider's cache, which may cost more than others."""
        self.usd: float | None = None
        self.error: Json = None

    @abstractmethod
    def take(self, frame: Any) -> str:
        """Read one frame (or a whole reply that was not streamed); give its text.

        A frame of another shape raises AttributeError, TypeError or LookupError, which the caller knows: checking
        every level by hand would double the cost of the part that runs once per token.
        """

    def say(self, text: str) -> str:
        if type(text) is not str:
            raise TypeError("text is no text")
        if text:
            self.pieces.append(text)
            self.size += len(text)
        return text


def count(value: Json) -> int | None:
    """A number of tokens, None when it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
