"""A tool's answer while it is being written: which of its lines are pieces of it, and which are to be kept."""

from __future__ import annotations

from collections.abc import Callable

from rebut.backends.cli_tools.tables import Output
from rebut.backends.json_path import decoded, picked
from rebut.core.types import Json

LONGEST_LINE = 262_144
"""Bytes of a line beyond which it is no piece of anything: it is kept as it is, and understood at the end."""


class Pieces:
    """One call's lines. What is shown of them is for the eye alone: the answer comes at the end, from what was kept."""

    def __init__(self, shape: Output, on_text: Callable[[str], None], is_notice: Callable[[str], bool]) -> None:
        self._stream, self._wanted = shape.stream, shape.wanted
        self._on_text = on_text
        self._is_notice = is_notice
        self._held = ""
        """What may yet be a notice in the place of an answer: it is not shown while it may."""
        self._length = 0

    def take(self, line: bytes) -> bool:
        """Look at one line. True if it is to be kept: words that are no JSON are, and what the table asks for.

        Nothing else is. A model thinks in thousands of little lines, and its words must not be read as a tool's error.
        """
        if len(line) > LONGEST_LINE or line.lstrip()[:1] not in (b"{", b"["):
            return True
        item = decoded(line.decode("utf-8", "replace"))
        if item is None:
            return line.endswith(b"\n")  # without its end, it is half of what nobody can tell
        self._say(item)
        return any(picked(item, pick) for pick in self._wanted)

    def _say(self, item: Json) -> None:
        for pick in self._stream:
            for piece in picked(item, pick):
                if isinstance(piece, str) and piece:
                    self._length += len(piece)
                    self._held += piece
                    if not (len(self._held) == self._length and self._is_notice(self._held)):
                        self._on_text(self._held)
                        self._held = ""
