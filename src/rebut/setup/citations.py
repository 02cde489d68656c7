"""Checks the citations in any text against a folder. No model, no key: `rebut check` and `rebut.check`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rebut.core import event_loop
from rebut.core.errors import UsageError
from rebut.core.files import real, repository
from rebut.core.frozen import frozen
from rebut.core.text import clean
from rebut.evidence.lookup import Verdict, look_up
from rebut.setup.config_files import never_sent


@frozen
class CheckedCitation:
    """A place that a text cites, and what looking it up showed."""

    line: int
    """The line of the text that cites it."""
    place: str
    quote: str
    mark: Verdict
    note: str = ""
    moved_to: str = ""
    """Where the quoted words are now, if they moved."""


@frozen
class CheckedText:
    """Every citation in a text, in the order of the text."""

    citations: tuple[CheckedCitation, ...]

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """Mark → how many citations have it."""
        counts: dict[Verdict, int] = {}
        for one in self.citations:
            counts[one.mark] = counts.get(one.mark, 0) + 1
        return counts

    @property
    def ok(self) -> bool:
        """Whether no citation is absent. It does not mean that what the text claims is right."""
        return all(one.mark != "absent" for one in self.citations)


def check(text: str, *, root: Path | str | None = None, folder: Path | str | None = None) -> CheckedText:
    """Look up every citation in a text. No model is called.

    `root` is the folder that the citations refer to, by default the current one; `folder` is the folder of the text
    itself, if it has one: its paths may also start there.
    """
    event_loop.refuse_to_wait("check", "check_async")
    return event_loop.run(check_async(text, root=root, folder=folder))


async def check_async(text: str, *, root: Path | str | None = None, folder: Path | str | None = None) -> CheckedText:
    """`check`, for async code."""
    workspace = real(Path(root or Path.cwd()))
    if not workspace.is_dir():
        raise UsageError(f"there is no folder {root}")
    never = never_sent(workspace=repository(workspace), env=os.environ)
    own = real(Path(folder)) if folder is not None else None
    found = await look_up(clean(text), workspace, str, never, own)
    return CheckedText(
        tuple(CheckedCitation(f.line, f.citation.place, f.citation.quote, m.mark, m.note, m.moved_to) for f, m in found)
    )
