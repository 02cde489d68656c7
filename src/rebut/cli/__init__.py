"""The command line. `rebut --help` prints a generated page without loading click: it must answer at once."""

from __future__ import annotations

import sys


def main() -> None:
    words = sys.argv[1:]
    if words in (["--help"], ["-h"], ["help"]):
        _print_help()
        return
    if words in (["--version"], ["-V"]):
        from rebut import __version__

        print(f"rebut {__version__}")
        return
    from rebut.cli.app import enter

    sys.exit(enter(words))


def _print_help() -> None:
    with open(__file__.replace("__init__.py", "help.txt"), encoding="utf-8") as page:  # noqa: PTH123  no pathlib here
        text = page.read()
    sys.stdout.write(text)
