"""Prints text and JSON in a form that the terminal, pipe or workflow log at the other end can show."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from contextlib import suppress
from typing import TextIO

from rebut.core.lazy_pattern import LazyPattern
from rebut.core.text import clean, harmless, wrapped

_ASCII = str.maketrans(
    {"…": "...", "·": "-", "–": "-", "—": "-", "→": "->", "←": "<-"}
    | {"«": "<<", "»": ">>", "‹": "<", "›": ">", "“": '"', "”": '"', "’": "'"}
)
"""Stand-ins for the marks that rebut prints, at a terminal that has ASCII only."""

_SPOKEN = {" · ": ", ", "·": ",", "→": "to do:", "←": "gets", "…": "..."}
_CODE = LazyPattern(r" +(\|(?: .*)?)|    ([> ] +\d+ \|(?: .*)?)")
"""A row of code, of a diff or of a prompt: after a gutter, perhaps with the number of the line."""
_FIX = LazyPattern(r"    (fix|   )    ([-+] .*)")
"""A row of a fix, as a diff: only the first row has the label."""
ENDLESS = 1_000_000
"""A width at which no line is wrapped."""


def is_plain() -> bool:
    """Whether `--plain` or `REBUT_PLAIN` is set: plain lines, one fact each, for screen readers."""
    import click

    here = click.get_current_context(silent=True)
    return bool(os.environ.get("REBUT_PLAIN") or (here and here.find_root().meta.get("rebut.plain")))


def can_ask() -> bool:
    """Whether there is a person to ask: a terminal for the answer, and one for the question."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def spoken(text: str) -> str:
    """Rows without layout: columns are joined by commas, empty rows are removed. Code stays as it is."""
    out = list[str]()
    in_fix = False
    for line in text.splitlines():
        if code := _CODE.fullmatch(line):
            out.append(code[1] or code[2])
            continue
        fix = _FIX.fullmatch(line)
        in_fix = fix is not None and (in_fix or fix[1] == "fix")
        if fix and in_fix:
            out += ["fix:"] if fix[1] == "fix" else []
            out.append(fix[2])
            continue
        for sign, word in _SPOKEN.items():
            line = line.replace(sign, word)
        said, *rest = re.split(r" {2,}", line.strip())
        for n, cell in enumerate(rest):
            said += ("" if said.endswith((".", ",", ":", ";", "?")) else "," if n else ":") + f" {cell}"
        out.append(said)
    return "\n".join(line for line in out if line)


def width() -> int:
    return ENDLESS if is_plain() else max(40, min(_columns(), 120))


def rows_of_terminal() -> float:
    """The rows of the terminal on standard output; infinite if that is not a terminal, or with `--plain`."""
    with suppress(OSError, ValueError):
        if not is_plain() and sys.stdout.isatty():
            return os.get_terminal_size(sys.stdout.fileno()).lines or math.inf
    return math.inf


def _columns() -> int:
    """The columns of the terminal on standard output; if that is a pipe, of the one on standard error."""
    if (given := os.environ.get("COLUMNS", "")).isdecimal() and int(given):
        return int(given)
    for stream in (1, 2):
        with suppress(OSError):
            return os.get_terminal_size(stream).columns or 80
    return 80


def folded(text: str, file: TextIO, indent: int | None = None, *, less: int = 0) -> str:
    """Lines wrapped to the terminal, `less` columns narrower; unchanged for a pipe, whose text may be searched.

    The indent of what follows shrinks where a word would not fit beside it: the terminal would cut an address.
    """
    if is_plain() or not file.isatty():
        return text
    out: list[str] = []
    for line in text.split("\n"):
        space = width() - less
        lead = len(line) - len(line.lstrip()) + 2 if indent is None else indent
        longest = max((len(word) for word in line.split() if len(word) <= space), default=0)
        out += wrapped(line, space, hanging=" " * min(lead, space - longest))
    return "\n".join(out)


def say(text: str, file: TextIO | None = None, *, emphasis: bool = False, verbatim: bool = False) -> None:
    """Print a text. Control characters are removed, so that a model's text cannot control the terminal.

    With `emphasis`, lines that begin in capitals are bold on a terminal. With `verbatim`, `--plain` changes nothing:
    for documents.
    """
    file = file or sys.stdout
    text = fitted(text, file, emphasis=emphasis, verbatim=verbatim)
    if text or not is_plain() or verbatim:
        _print(text, file)


def _print(text: str, file: TextIO) -> None:
    """Print. If the reader has closed the pipe (`… | head`), output is dropped; the exit code stays."""
    try:
        print(text, file=file, flush=True)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, file.fileno())
        os.close(nowhere)


def fitted(text: str, file: TextIO, *, emphasis: bool = False, verbatim: bool = False) -> str:
    """A text as `say` prints it to `file`."""
    text = clean(text)
    if is_plain() and not verbatim:
        text, emphasis = spoken(text), False
    if _is_workflow():
        text = harmless(text)
    if emphasis and file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        for pattern, codes in COLOURS:
            text = re.sub(pattern, f"\\1\x1b[{codes}m\\2\x1b[0m", text, flags=re.M)
    encoding = file.encoding or "ascii"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode()
    return text


COLOURS = (
    (r"^()(  [A-Z][A-Z ]{5,}[^\n]*)", "1"),
    (r"^(  \S[^\n]*?  )(P1)(?=  )", "1;31"),
    (r"^(  \S[^\n]*?  )(P2)(?=  )", "33"),
    (r"^()(  \S+:\d[\d-]*)(?=  .{0,9}P[123].{0,4}  )", "1"),
    (r"^(    )(>)(?= +\d+ \|)", "1;31"),
    (r"^(    (?:fix|   )    )(- [^\n]*)", "31"),
    (r"^(    (?:fix|   )    )(\+ [^\n]*)", "32"),
    (r"^((?:    )?  \| )(-[^\n]*)", "31"),
    (r"^((?:    )?  \| )(\+[^\n]*)", "32"),
    (r"^((?:    )?  \| )(@@[^\n]*)", "36"),
    (r"^(  )(Not decided:)", "1;33"),
    (r"^(  )(No problems found)", "1;32"),
)
"""What is emphasised: a pattern of two groups, of which the second is printed in this colour or bold."""


def say_json(value: object) -> None:
    """One JSON document on standard output."""
    text = as_json(value)
    # The same document, escaped so that a GitHub workflow finds no command in it.
    _print(text.replace("##[", "##\\u005b") if _is_workflow() else text, sys.stdout)


def as_json(value: object, *, indent: int | None = 2) -> str:
    """JSON in the encoding of standard output."""
    return json.dumps(value, ensure_ascii=not _is_utf8(sys.stdout), indent=indent)


def _is_workflow() -> bool:
    """Whether the output goes to the log of a GitHub workflow, which executes some lines as commands."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _is_utf8(file: TextIO) -> bool:
    return (file.encoding or "").lower().replace("-", "") == "utf8"


def print_paged(text: str, *, allowed: bool = True) -> None:
    """Print a text at a terminal through the pager (`PAGER`, else `less`) if it is longer than the screen."""
    wanted = (
        allowed and not is_plain() and os.environ.get("TERM") != "dumb" and os.environ.get("PAGER") not in ("", "cat")
    )
    import shutil
    import signal

    is_long = text.count("\n") + 2 > shutil.get_terminal_size((80, 24)).lines
    if not (wanted and is_long and sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        say(text, emphasis=True)
        return
    import click

    os.environ.setdefault("LESS", "FRX")  # exit if it fits, show colours, keep the text on the screen
    before = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the pager
    try:
        click.echo_via_pager(fitted(text, sys.stdout, emphasis=True), color=True)
    except ValueError:  # PAGER has an unbalanced quote
        say(text, emphasis=True)
    finally:
        signal.signal(signal.SIGINT, before)
