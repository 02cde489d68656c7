"""`rebut check`: checks the citations in any text. No model, no key."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import click

from rebut.cli.completion import PATH
from rebut.cli.options import json_flag

BAD = ("absent", "moved")
MOST = 200
EXAMPLE = 'A citation looks like this: src/app.py:12 "the words on that line"'
SLOW = 2.0
"""Seconds after which a terminal shows what takes so long."""


@click.command("check")
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="FILE...")
@click.option("--all", "everything", is_flag=True, help="List every citation, not only absent and moved ones.")
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that citations refer to. [this repository or folder]",
)
@click.option(
    "--run-checks", "run", is_flag=True, help="Also run each block of code below a line `check:`, in a sandbox."
)
@json_flag
def check_command(files: tuple[str, ...], everything: bool, root: Path | None, run: bool, as_json: bool) -> int:
    """Check every citation in FILE (- for standard input): does the path exist, is the quoted text at that line?

    Exit code 1 if a citation is absent, or with --run-checks if a check does not show what it says; 3 if one could not
    be run. Found means that the quoted words are there, not that they prove anything.
    """
    from rebut.cli.output import say_json
    from rebut.core.errors import UsageError

    if run and os.environ.get("PRE_COMMIT"):  # the repository, not the user, chooses the flags of a hook
        raise UsageError("a hook does not run the code in a text", "Run `rebut check --run-checks` yourself.")
    rows = [_check(file, everything, root, run, as_json) for file in files]
    code = max(exit for exit, _ in rows)
    if as_json:
        say_json(rows[0][1] if len(rows) == 1 else {"files": [row for _, row in rows], "exit": code})
    return code


def _check(file: str, everything: bool, root: Path | None, run: bool, as_json: bool) -> tuple[int, dict[str, object]]:
    """Check one file; returns the exit code and the result as JSON, and prints the result unless `as_json`."""
    from rebut.cli.output import folded, say, width
    from rebut.core.json_value import as_row
    from rebut.core.text import counted, cut, wrapped
    from rebut.evidence.lookup import Verdict
    from rebut.setup.checked_text import check

    text, name, folder = _text(file)
    with _said_if_slow(f"  checking the citations in {name} …", wanted=not as_json):
        checked = check(text, root=root, folder=folder)
    found, counts = checked.citations, checked.counts
    code = 0 if checked.ok else 1
    row = {"file": name, "counts": counts, "citations": as_row(found), "exit": code}
    ran, lines = _run(text, root, folder) if run else ([], [])
    if run:
        code = max([code, *(exit for exit, _ in ran)])
        row |= {"checks": [shown for _, shown in ran], "exit": code}
    if as_json:
        return code, row
    tally = ", ".join(f"{counts[mark]} {mark}" for mark in get_args(Verdict) if mark in counts)
    count = f"  {counted(len(found), 'citation')} in {name}"
    say(folded(count + (f": {tally}" if tally else ""), sys.stdout))
    if not found:
        say(folded(f"  {EXAMPLE}", sys.stdout))
    listed = [one for one in found if everything or one.mark in BAD]
    for one in listed[:MOST]:
        quote = f'  "{cut(one.quote, 60)}"' if one.quote else ""
        note = f"now at {one.moved_to}" if one.moved_to else one.note.removeprefix(f"{one.place}: ")
        head = f"    {one.mark:<11} {one.place}{quote}  (line {one.line})"
        beside = len(head) + len(note) + 3 <= width()
        notes = wrapped(note, max(30, width() - 2), indent=" " * 16) if note else []
        below = "\n".join([folded(head, sys.stdout, 16), *notes])
        say(f"{head}   {note}".rstrip() if beside else below)
    if len(listed) > MOST:
        say(f"    … {len(listed) - MOST:,} more; --json has them all")
    for line in lines:
        say(folded(line, sys.stdout, 16))
    return code, row


def _run(text: str, root: Path | None, folder: Path | None) -> tuple[list[tuple[int, dict[str, object]]], list[str]]:
    """Run the checks of a text: the exit code and a row for each, and what a terminal shows."""
    from rebut.core.json_value import as_row
    from rebut.core.text import counted
    from rebut.setup.checked_text import run_checks

    found = run_checks(text, root=root, folder=folder)
    lines = [f"  {counted(len(found), 'check')}" if found else "  no checks: a check is a block of code below `check:`"]
    codes = {"shown": 0, "not run": 3}
    rows = []
    for line, check in found:
        rows.append((codes.get(check.mark, 1), {"line": line, **as_row(check)}))
        what = f"{check.runner}, {check.claim}" if check.runner else check.claim
        said = f"    {check.mark:<11} line {line}: {what}: {check.note}".rstrip(": ")
        lines.append(said.replace(" on the new version", ""))  # a text has one version only
    return rows, lines


@contextmanager
def _said_if_slow(text: str, *, wanted: bool) -> Iterator[None]:
    """Print a line at a terminal if the block takes longer than two seconds."""
    from rebut.cli.output import say

    timer = threading.Timer(SLOW, say, (text, sys.stderr))
    timer.daemon = True
    if wanted and sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _text(file: str) -> tuple[str, str, Path | None]:
    from rebut.core.errors import UsageError
    from rebut.setup.checked_text import LARGEST, decoded, text_of

    if file != "-":
        return text_of(Path(file)), file, Path(os.path.realpath(file)).parent
    from rebut.cli.shorthand import read_stdin

    name = "standard input"
    try:
        data = read_stdin(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from error
    return decoded(data, name), name, None
