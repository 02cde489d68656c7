"""Saying something: text and JSON as the other end can show them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from typing import TextIO

from rebut.core.text import clean, harmless

_ASCII = str.maketrans({"…": "...", "–": "-", "—": "-", "«": "<<", "»": ">>", "“": '"', "”": '"', "’": "'", "→": "->"})


_SPOKEN = str.maketrans({"→": "to do:", "←": "gets", "…": "...", "·": ","})
ENDLESS = 1_000_000
"""A width at which nothing is wrapped."""


def plain() -> bool:
    """Whether everything is to be said in plain lines, one fact each, as a screen reader likes it: `--plain`."""
    import click

    here = click.get_current_context(silent=True)
    return bool(os.environ.get("REBUT_PLAIN") or (here and here.find_root().meta.get("rebut.plain")))


def spoken(text: str) -> str:
    """Rows without their layout: what stands in columns is joined by commas, and empty rows go."""
    out = []
    for line in text.translate(_SPOKEN).splitlines():
        said, *rest = re.split(r" {2,}", line.strip())
        for n, cell in enumerate(rest):
            said += ("" if said.endswith((".", ",", ":", ";", "?")) else "," if n else ":") + f" {cell}"
        out.append(said)
    return "\n".join(line for line in out if line)


def width() -> int:
    return ENDLESS if plain() else max(40, min(_columns(), 120))


def _columns() -> int:
    """Of standard output's terminal; where that goes elsewhere, of the one on which progress is shown."""
    if not os.environ.get("COLUMNS") and not sys.stdout.isatty():
        with suppress(OSError):
            return os.get_terminal_size(2).columns or 80
    return shutil.get_terminal_size((80, 24)).columns


def folded(text: str, file: TextIO, indent: int | None = None, *, less: int = 0) -> str:
    """Lines that end at words where a terminal ends; whole for a pipe, which may be searched.

    `less` columns are taken by whoever shows them.
    """
    if plain() or not file.isatty():
        return text
    out: list[str] = []
    for line in text.split("\n"):
        lead = " " * (len(line) - len(line.lstrip()) + 2 if indent is None else indent)
        out += textwrap.wrap(
            line, width() - less, subsequent_indent=lead, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return "\n".join(out)


def say(text: str, file: TextIO | None = None, *, emphasis: bool = False, verbatim: bool = False) -> None:
    """Print what the other end can show. Text of models must not drive the terminal, so controls are taken out.

    With `emphasis`, lines that begin in capitals are bold on a terminal. A document is said `verbatim`, also when
    everything else is said plainly.
    """
    file = file or sys.stdout
    text = fitted(text, file, emphasis=emphasis, verbatim=verbatim)
    if text or not plain() or verbatim:
        _print(text, file)


def _print(text: str, file: TextIO) -> None:
    """Print, also when the reader has gone away (`… | head`): what is found out still has to come out as a code."""
    try:
        print(text, file=file, flush=True)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, file.fileno())
        os.close(nowhere)


def fitted(text: str, file: TextIO, *, emphasis: bool = False, verbatim: bool = False) -> str:
    """A text as `say` prints it there."""
    text = clean(text)
    if plain() and not verbatim:
        text, emphasis = spoken(text), False
    if _is_workflow():
        text = harmless(text)
    if emphasis and file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        text = re.sub(r"^  [A-Z][A-Z ]{5,}[^\n]*", lambda m: f"\x1b[1m{m[0]}\x1b[0m", text, flags=re.M)
    encoding = file.encoding or "ascii"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        text = text.translate(_ASCII).encode("ascii", "replace").decode()
    return text


def say_json(value: object) -> None:
    """One JSON document on standard output."""
    text = as_json(value)
    # The same document, spelt so that a workflow finds no command in it.
    _print(text.replace("##[", "##\\u005b") if _is_workflow() else text, sys.stdout)


def as_json(value: object, *, indent: int | None = 2) -> str:
    """JSON as standard output can take it."""
    return json.dumps(value, ensure_ascii=not _is_utf8(sys.stdout), indent=indent)


def _is_workflow() -> bool:
    """Whether our words go into the log of a GitHub workflow, which takes some of them for orders."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _is_utf8(file: TextIO) -> bool:
    return (file.encoding or "").lower().replace("-", "") == "utf8"


# Paging: a long text through the user's pager, as git does it; only where somebody sits at a terminal.

USUAL = "less"
LESS = "FRX"
"""For a `less` without wishes of its own: leave at once what fits, keep colours, leave the screen as it was."""


def page(text: str, *, allowed: bool = True) -> None:
    """Say a text, through a pager if it is longer than the screen."""
    command = _pager() if allowed and _is_long(text) else []
    if not command or not _paged(command, text):
        say(text, emphasis=True)


def _is_long(text: str) -> bool:
    """Whether somebody is there to page through it, and has to. Without a terminal on both sides nobody is."""
    if plain() or os.environ.get("TERM") == "dumb" or not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return text.count("\n") + 2 > shutil.get_terminal_size((80, 24)).lines


def _pager() -> list[str]:
    """The user's own, else `less`; nothing for an empty one or `cat`."""
    try:
        words = shlex.split(os.environ.get("PAGER", USUAL))
    except ValueError:
        return []
    if not words or words == ["cat"]:
        return []
    return words if shutil.which(words[0]) else []


def _paged(command: list[str], text: str) -> bool:
    """Whether the pager took it. It may be left before it has read everything, and Ctrl-C is meant for it."""
    env = {**os.environ, "LESS": os.environ.get("LESS", LESS)}
    try:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, env=env)
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # after it has started, or it would ignore them as well
    try:
        child.communicate(f"{fitted(text, sys.stdout, emphasis=True)}\n".encode(errors="replace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return True
