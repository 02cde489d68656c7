"""The command line. `rebut --help` prints a generated page without loading click: it must answer at once."""

from __future__ import annotations

import sys


def main() -> None:
    _hold_open()
    try:
        code = _answer(sys.argv[1:])
        sys.stdout.flush()
    except OSError as error:
        # A page that nobody reads to its end is no fault; one that cannot be written is.
        code = 0 if isinstance(error, BrokenPipeError) else 2
        if code:
            sys.stderr.write(f"rebut: the output could not be written: {error.strerror}\n")
        sys.stdout = None
    if code:
        sys.exit(code)


def _hold_open() -> None:
    """A standard stream that was closed has nobody at its end; what we open must not come to stand in its place."""
    import os

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _answer(words: list[str]) -> int:
    if words in (["--help"], ["-h"], ["help"]):
        _print("help.txt")
        return 0
    if words in (["--version"], ["-V"]):
        from rebut import __version__

        print(f"rebut {__version__}")
        return 0
    if len(words) == 2 and words[0] == "completion" and words[1] in ("bash", "zsh", "fish"):
        _print(f"completion.{words[1]}")
        return 0
    from rebut.cli.app import enter

    return enter(words)


def _print(name: str) -> None:
    """Show a generated page. A shell asks for its completion whenever it starts, so that must be quick too."""
    with open(__file__.replace("__init__.py", name), encoding="utf-8") as page:  # noqa: PTH123  no pathlib here
        text = page.read()
    sys.stdout.write(text)
