"""The command line. `rebut --help` prints a generated page without loading click: it must answer at once."""

from __future__ import annotations

import sys

PARTIAL = 5
"""The exit code of a result at its deadline."""


def main() -> None:
    words = sys.argv[1:]
    if words in (["--help"], ["-h"], ["help"]):
        _print("help.txt")
        return
    if words in (["--version"], ["-V"]):
        from rebut import __version__

        print(f"rebut {__version__}")
        return
    if len(words) == 2 and words[0] == "completion" and words[1] in ("bash", "zsh", "fish"):
        _print(f"completion.{words[1]}")
        return
    from rebut.cli import clock

    clock.start()
    from rebut.cli.app import enter

    code = enter(words)
    if code == PARTIAL:
        clock.leave_at_once(code)  # whoever set a deadline does not wait for a model's thread
    sys.exit(code)


def _print(name: str) -> None:
    """Show a generated page. A shell asks for its completion whenever it starts, so that must be quick too."""
    with open(__file__.replace("__init__.py", name), encoding="utf-8") as page:  # noqa: PTH123  no pathlib here
        text = page.read()
    sys.stdout.write(text)
