"""Checks any text against a folder: its citations, and on demand the code in it. `rebut check` and `rebut.check`.

No model and no key is needed. Only `rebut check --run-checks` runs code: no config and no other command does.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.core import event_loop, files
from rebut.core.errors import UsageError
from rebut.core.files import real, repository
from rebut.core.frozen import frozen
from rebut.core.text import clean
from rebut.evidence.lookup import Verdict, look_up
from rebut.setup.config_files import never_sent

if TYPE_CHECKING:
    from rebut.domain.checks import CodeCheck
    from rebut.proof.checks import CheckRunner
    from rebut.proof.fenced_checks import FencedCheck


LARGEST = 20_000_000
BINARY = 8_000
"""Bytes at the start of a file; a zero byte among them means binary."""


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
        return dict(Counter(one.mark for one in self.citations))

    @property
    def ok(self) -> bool:
        """Whether no citation is absent. It does not mean that what the text claims is right."""
        return all(one.mark != "absent" for one in self.citations)


def check(text: str | Path, *, root: Path | str | None = None, folder: Path | str | None = None) -> CheckedText:
    """Look up every citation in a text, or in the text of a file that is given as a `Path`. No model is called.

    `root` is the folder that the citations refer to, by default the current one; `folder` is the folder of the text
    itself, if it has one: its paths may also start there. For a file it is the file's own.
    """
    event_loop.refuse_to_wait("check", "check_async")
    return event_loop.run(check_async(text, root=root, folder=folder))


async def check_async(
    text: str | Path, *, root: Path | str | None = None, folder: Path | str | None = None
) -> CheckedText:
    """`check`, for async code."""
    if isinstance(text, Path):
        file, text = text, text_of(text)
        folder = real(file).parent if folder is None else folder
    elif not isinstance(text, str):
        raise UsageError(
            f"check takes a text or the path of a file, got {type(text).__name__}",
            "Give the text as str, or a file as pathlib.Path.",
        )
    workspace = real(Path(root or Path.cwd()))
    try:
        there = workspace.is_dir()
    except OSError:  # in Python 3.11 and 3.12, for a name that is too long
        there = False
    if not there:
        raise UsageError(f"there is no folder {root}")
    never = never_sent(workspace=repository(workspace), env=os.environ)
    own = real(Path(folder)) if folder is not None else None
    found = await look_up(clean(text), workspace, str, never, own)
    return CheckedText(
        tuple(CheckedCitation(f.line, f.citation.place, f.citation.quote, m.mark, m.note, m.moved_to) for f, m in found)
    )


def text_of(file: Path) -> str:
    """The text of a file, or of a pipe, that is to be checked."""
    try:
        data = files.read(file, LARGEST + 1, pipes=True)
    except IsADirectoryError as error:
        raise UsageError(f"{file} is a folder", "Name a file in it.") from error
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:  # a null character
        raise UsageError(f"{str(file)!r} cannot be the name of a file") from error
    return decoded(data, str(file))


def decoded(data: bytes, name: str) -> str:
    """Decode what was read. UsageError if it is too large or binary."""
    if len(data) > LARGEST:  # the rest would go unchecked
        raise UsageError(f"{name} is larger than the limit of {LARGEST:,} bytes")
    if b"\0" in data[:BINARY]:
        raise UsageError(f"{name} is binary", "Only text files can be checked.")
    return data.decode(errors="replace")


def run_checks(text: str, *, root: Path | None = None, folder: Path | None = None) -> list[tuple[int, CodeCheck]]:
    """Run every check in a text on the present files of its repository or folder; return each with its line."""
    import asyncio
    import secrets

    from rebut.core.redaction import Redactor
    from rebut.proof.checks import CheckRunner
    from rebut.proof.fenced_checks import fenced_checks
    from rebut.setup import config as configs

    top = repository((root or folder or Path.cwd()).resolve())
    config = configs.load_config(workspace=top, env=os.environ)
    found = fenced_checks(text, config.runners)
    if not found:
        return []
    redact = Redactor(secrets.token_bytes(32), config.known_secrets(os.environ)).door
    runner = CheckRunner(top, os.environ, redact, config.runners)
    ran = asyncio.run(_run_all(found, top, runner, config.never))
    return [(one.line, check) for one, check in zip(found, ran, strict=True)]


async def _run_all(
    found: Sequence[FencedCheck], top: Path, runner: CheckRunner, never: tuple[str, ...]
) -> list[CodeCheck]:
    from rebut.proof.checks import CheckedSides
    from rebut.workspace.tree import LiveView

    view = await LiveView.open(top, runner.redact, never)
    # A check in a plan may be about the language or the system alone, so it need not depend on the project.
    sides = CheckedSides(view, of_project=False)
    try:
        out = []
        for one in found:
            wrong = replace(one.check, mark="broken", note=one.wrong)
            out.append(wrong if one.wrong else await runner.run(one.check, sides))
        return out
    finally:
        await runner.close()
        await view.close()
