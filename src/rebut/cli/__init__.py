"""The command line. `rebut --help` prints a generated page without loading click, so it is quick."""

from __future__ import annotations

import gc
import os
import sys

PARTIAL = 5
"""The exit code of a result at its deadline."""
COMPLETE = "_REBUT_COMPLETE"
"""The environment variable by which a completion script asks what Tab should offer."""
ENCODING = "_REBUT_ENCODING"
"""The environment variable by which rebut, started again, learns the encoding of the terminal."""


def main() -> None:
    try:
        _main()
    except KeyboardInterrupt:  # while modules are loaded; a running command handles Ctrl-C itself
        _complain("rebut: interrupted\n")
        sys.exit(130)


def _main() -> None:
    gc.set_threshold(100_000)  # loading modules makes many objects and no garbage
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for plugins takes 15 ms
    _open_closed_streams()
    _read_every_file_name()
    _forget_relative_places()
    try:
        code = _answer(sys.argv[1:])
        if sys.stdout is not None:  # it is None after the reader has closed the pipe
            sys.stdout.flush()
    except OSError as error:
        # A reader that closes the pipe early is not an error; any other failure to write the output is one.
        code = 0 if isinstance(error, BrokenPipeError) else 2
        if code:
            _complain(f"rebut: the output could not be written: {error.strerror}\n")
        sys.stdout = None
    gc.freeze()  # otherwise Python looks through everything for garbage before it exits
    if code:
        sys.exit(code)


def _complain(message: str) -> None:
    try:
        sys.stderr.write(message)
    except OSError:  # the terminal is gone, too
        sys.stderr = None


def _open_closed_streams() -> None:
    """Open /dev/null for each closed standard stream, so that no file that rebut opens gets its number."""
    import io

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    encoding = os.environ.pop(ENCODING, None)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that the terminal lacks must not stop the output
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _read_every_file_name() -> None:
    """Start again where file names are not UTF-8, as with `LC_ALL=C PYTHONUTF8=0`: names in texts must find files.

    The output keeps the encoding that the terminal has.
    """
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        os.environ[ENCODING] = sys.stdout.encoding
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _forget_relative_places() -> None:
    """Take relative entries out of PATH: a repository could plant a pager, an editor or a browser there.

    An empty PATH would mean the current folder, too.
    """
    places = os.environ.get("PATH", "/").split(":")
    absolute = [place for place in places if place.startswith("/")]
    if absolute != places:
        os.environ["PATH"] = ":".join(absolute) or os.devnull


def _answer(words: list[str]) -> int:
    if words in (["--help"], ["-h"], ["help"], ["help", "all"], ["--help-all"]):
        _print_help("help_all.txt" if words[-1] in ("all", "--help-all") else "help.txt")
        return 0
    if words in (["--version"], ["-V"]):
        from rebut import __version__

        print(f"rebut {__version__}")
        return 0
    if not words and (instruction := os.environ.get(COMPLETE)):
        from rebut.cli.completion import complete

        return complete(instruction)
    from rebut.cli import deadline

    deadline.note_start()
    from rebut.cli.app import enter

    code = enter(words)
    if code == PARTIAL:
        deadline.exit_at_once(code)  # a thread in which a model still answers must not delay the exit
    return code


def _print_help(file: str) -> None:
    """Show a page that `make docs` has written."""
    with open(__file__.replace("__init__.py", file), encoding="utf-8") as page:  # noqa: PTH123  no pathlib here
        text = page.read()
    if sys.stdout.isatty():
        text = _folded(text)
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        text = text.replace("…", "...").replace("–", "-")
    sys.stdout.write(text)


def _folded(page: str) -> str:
    """The page for a narrow terminal: a long line continues under the start of its text."""
    columns = os.get_terminal_size(sys.stdout.fileno()).columns
    if not 0 < columns < max(map(len, page.splitlines())):
        return page
    import re

    from rebut.core.text import wrapped

    out: list[str] = []
    for line in page.splitlines():
        begins = re.match(r"  \w+ +", line)
        indent = " " * (len(begins[0]) if begins else 0)
        out += wrapped(line, max(30, columns), hanging=indent)
    return "\n".join(out) + "\n"
