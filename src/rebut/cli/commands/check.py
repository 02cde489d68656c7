"""`rebut check`: checks the citations in any text. No model, no key."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from rebut.cli.options import PATH, json_flag

BAD = ("absent", "moved")
LARGEST = 20_000_000
BINARY = 8_000
"""Bytes at the start of a file; a zero byte among them means binary."""
MOST = 200
SLOW = 2.0
"""Seconds after which a terminal shows what takes so long."""


@click.command("check")
@click.argument("file", type=PATH)
@click.option("--all", "everything", is_flag=True, help="List every citation, not only absent and moved ones.")
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that citations refer to. [this repository or folder]",
)
@json_flag
def check_command(file: str, everything: bool, root: Path | None, as_json: bool) -> int:
    """Check every citation in FILE (- for standard input): does the path exist, is the quoted text at that line?

    Exit code 1 if a citation is absent. Found means that the quoted words are there, not that they prove anything.
    """
    from rebut.cli.output import folded, say, say_json, width
    from rebut.core import event_loop
    from rebut.core.errors import UsageError
    from rebut.core.files import repository
    from rebut.core.text import clean, counted, cut, wrapped
    from rebut.evidence.lookup import look_up
    from rebut.setup.config_files import never_sent

    if root is not None and not root.is_dir():
        raise UsageError(f"there is no folder {root}")
    text, name, base = _text(file)
    workspace = (root or Path.cwd()).resolve()
    never = never_sent(workspace=repository(workspace), env=os.environ)
    with _said_if_slow(f"  checking the citations in {name} …", wanted=not as_json):
        found = event_loop.run(look_up(clean(text), workspace, str, never, base))
    counts: dict[str, int] = {}
    for _, mark in found:
        counts[mark.mark] = counts.get(mark.mark, 0) + 1
    code = 1 if counts.get("absent") else 0
    if as_json:
        rows = [{"line": f.line, "place": f.citation.place, "quote": f.citation.quote, **m.to_json()} for f, m in found]
        say_json({"file": name, "counts": counts, "citations": rows, "exit": code})
        return code
    order = ("found", "moved", "located", "absent", "uncheckable")
    tally = ", ".join(f"{counts[k]} {k}" for k in order if counts.get(k))
    count = f"  {counted(len(found), 'citation')} in {name}"
    say(folded(count + (f": {tally}" if tally else ""), sys.stdout))
    listed = [(f, m) for f, m in found if everything or m.mark in BAD]
    for f, m in listed[:MOST]:
        quote = f'  "{cut(f.citation.quote, 60)}"' if f.citation.quote else ""
        note = f"now at {m.moved_to}" if m.moved_to else m.note.removeprefix(f"{f.citation.place}: ")
        head = f"    {m.mark:<11} {f.citation.place}{quote}  (line {f.line})"
        beside = len(head) + len(note) + 3 <= width()
        below = "\n".join([folded(head, sys.stdout, 16), *wrapped(note, max(30, width() - 2), indent=" " * 16)])
        say(f"{head}   {note}".rstrip() if beside else below)
    if len(listed) > MOST:
        say(f"    … {len(listed) - MOST:,} more; --json has them all")
    return code


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
    from rebut.core import files
    from rebut.core.errors import UsageError

    name, base = ("standard input", None) if file == "-" else (file, Path(os.path.realpath(file)).parent)
    try:
        most = LARGEST + 1
        data = sys.stdin.buffer.read(most) if base is None else files.read(Path(file), most, pipes=True)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:  # the rest would go unchecked
        raise UsageError(f"{name} is larger than the limit of {LARGEST:,} bytes")
    if b"\0" in data[:BINARY]:
        raise UsageError(f"{name} is binary", "Only text files can be checked.")
    return data.decode(errors="replace"), name, base
