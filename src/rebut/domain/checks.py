"""A check: a few lines of code that a debater adds to a statement, what they are to show, and what running them showed.

*Shown* means that the code ran and did what its author said, on the versions that its author said. It does not mean
that the code tests what the statement says: who judges must read it.
"""

from __future__ import annotations

from typing import Literal, get_args

from rebut.core.frozen import frozen

Shows = Literal["fails only on the new version", "fails on the new version", "passes on the new version", "prints this"]
CheckMark = Literal["shown", "refuted", "broken", "not run"]
MARKS: tuple[CheckMark, ...] = get_args(CheckMark)
MOST_OUTPUT = 2_000
"""Bytes of a check's output that are kept."""
MOST_CODE = 8_000
"""Characters that the code of a check may have."""


@frozen
class CodeCheck:
    """Code that is to show something; `mark` is empty until it was run."""

    runner: str
    code: str
    shows: Shows = "fails only on the new version"
    prints: str = ""
    """What it is to print, for `prints this`."""
    mark: str = ""
    note: str = ""
    """Why it has this mark, and what limits it."""
    command: str = ""
    """The command as it was run in the sandbox."""
    output: str = ""

    @property
    def claim(self) -> str:
        """What it is to show, in words."""
        return f"prints {self.prints!r}" if self.shows == "prints this" else self.shows

    @property
    def verdict(self) -> str:
        """Its mark and the reason, as prompts and reports show them."""
        return f"{self.mark or 'not run'}{f': {self.note}' if self.note else ''}"
