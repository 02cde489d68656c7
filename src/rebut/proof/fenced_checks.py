"""Checks in a text: fenced blocks of code, each below a line with `check:` and what the check should show.

    check: prints 3

    ```python
    print(1 + 2)
    ```

After `check:` comes `passes` (the default), `fails`, or `prints` and the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rebut.core.frozen import frozen
from rebut.domain.checks import CodeCheck, Shows
from rebut.proof.runners import Runner

SAYS = re.compile(r"(?i)^[\s>#*_+-]*check:[*_]*\s*(?P<what>.*?)[\s*_]*$")
FENCE = re.compile(r"^\s{0,3}(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w+.-]*)[^`]*$")


@frozen
class FencedCheck:
    """A check and the line on which it is announced."""

    line: int
    check: CodeCheck
    wrong: str = ""
    """Why it cannot be run: no language is given, or no runner has it."""


def fenced_checks(text: str, runners: Mapping[str, Runner]) -> list[FencedCheck]:
    """Every check of a text, in order."""
    languages = {language: runner.name for runner in runners.values() for language in runner.languages}
    lines, found, n = text.split("\n"), list[FencedCheck](), 0
    while n < len(lines):
        if opened := FENCE.match(lines[n]):  # a block that is no check: lines in it announce no checks
            n = _end(lines, n, opened["fence"]) + 1
            continue
        said = SAYS.match(lines[n])
        below = next((m for m in range(n + 1, len(lines)) if lines[m].strip()), None) if said else None
        fence = FENCE.match(lines[below]) if below is not None else None
        if said is None or fence is None or below is None:
            n += 1
            continue
        end = _end(lines, below, fence["fence"])
        shows, prints = _expected(said["what"])
        language = fence["language"].casefold()
        runner = languages.get(language, "")
        wrong = "" if runner else f"no runner is known for {language!r}" if language else "its block names no language"
        code = "\n".join(lines[below + 1 : end]) + "\n"
        found.append(FencedCheck(n + 1, CodeCheck(runner, code, shows, prints), wrong))
        n = end + 1
    return found


def _end(lines: list[str], start: int, fence: str) -> int:
    """The line that closes a block; the end of the text if none does."""
    closes = re.compile(rf"^\s{{0,3}}{re.escape(fence[0])}{{{len(fence)},}}\s*$")
    return next((n for n in range(start + 1, len(lines)) if closes.match(lines[n])), len(lines))


def _expected(words: str) -> tuple[Shows, str]:
    verb, _, rest = words.strip().partition(" ")
    match verb.casefold().rstrip(".,;:"):
        case "prints":
            return "prints this", rest.strip().strip("`\"'")
        case "fails":
            return "fails on the new version", ""
    return "passes on the new version", ""
