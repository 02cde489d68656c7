"""A check: code that a debater adds to a statement, what it should show, and what running it showed.

*Shown* means that the code ran and did what its author said, on the versions that its author said. It does not mean
that the code tests what the statement says: the judge must read the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from rebut.core.frozen import frozen
from rebut.core.json_value import remade

Shows = Literal["fails only on the new version", "fails on the new version", "passes on the new version", "prints this"]
CheckMark = Literal["shown", "refuted", "broken", "not run"]
MARKS: tuple[CheckMark, ...] = get_args(CheckMark)
CHECKS = "checks"
"""The key of the fact that lists the runners of a debate with checks, or says what is missing if none works."""
MOST_OUTPUT = 2_000
"""Bytes of a check's output that are kept."""
MOST_CODE = 8_000
"""Characters that the code of a check may have."""


@frozen
class CodeCheck:
    """Code that should show that a statement is true; `mark` is empty until the code is run."""

    runner: str
    code: str
    shows: Shows = "fails only on the new version"
    prints: str = ""
    """What the code should print, for `prints this`."""
    mark: str = ""
    note: str = ""
    """The reason for the mark, and its limits."""
    command: str = ""
    """The command as it was run in the sandbox."""
    output: str = ""

    @property
    def claim(self) -> str:
        """What the code should do, in words."""
        return f"prints {self.prints!r}" if self.shows == "prints this" else self.shows

    @property
    def shows_by_failing(self) -> bool:
        """Whether the check showed a problem by failing. If it passes on a later version, the problem is gone."""
        return self.mark == "shown" and self.shows.startswith("fails")

    @property
    def verdict(self) -> str:
        """The mark and its reason, as prompts and reports show them."""
        return f"{self.mark or 'not run'}{f': {self.note}' if self.note else ''}"


def check_of(row: Mapping[str, Any]) -> CodeCheck | None:
    """The check of a recorded statement, if it has one."""
    return remade(CodeCheck, row["check"]) if row.get("check") else None


def strongest(found: Iterable[CodeCheck | None]) -> CodeCheck | None:
    """The check with the strongest mark, the first of equal ones; None if there is no check."""
    order: dict[str, int] = {mark: n for n, mark in enumerate(MARKS)}
    return min((one for one in found if one), key=lambda one: order.get(one.mark, len(MARKS)), default=None)


def check_rows(check: CodeCheck) -> list[str]:
    """A check for a prompt or a page: what it should show, its mark, its code and what it printed."""
    out = [f"   check ({check.runner}; its author says that it {check.claim}) [{check.verdict}]"]
    out += [f"   | {line}" for line in check.code.strip("\n").split("\n")]
    if check.output:
        out.append("   what it did:")
        out += [f"   | {line}" for line in check.output.strip("\n").split("\n")]
    return out


# prompts, for a debate in which checks are run

MAY = """You may add a `check` to a $noun: a few lines of code that a program runs in a sandbox, and under `shows` \
what they are to show. It runs on a copy of $sides, without network, conftest.py and other configuration. All \
participants are shown the code, what it did and its mark: shown, refuted (it ran and does not show it) or broken (it \
cannot run). What is shown weighs more than any quote; what is refuted or broken counts against you. Add one where a \
few lines settle the matter, and leave `check` empty elsewhere. Test behaviour: code that reads the source, the clock \
or the network shows nothing. Runners: $runners."""
BOTH_SIDES = "the old and one of the new version"
ONE_SIDE = "the project as it is, which counts as the new version"

WEIGH = """
Checks were run by a program, and the result is listed with each: *shown* means that the code did what its author \
says, not that it tests what the $noun says, so read the code. *Refuted* or *broken* does not make a $noun wrong: the \
check may be clumsy. If you rule against a $noun whose check is marked shown, say under `check_fault` what is wrong \
with that check. You may answer with a `check` of your own."""


def may_add(noun: str, runners: Mapping[str, str], *, both_sides: bool) -> str:
    """The part of a prompt that offers checks; empty if none can be run."""
    from rebut.domain.prompts import fill

    if not runners:
        return ""
    listed = "; ".join(f"{name}: {about}" for name, about in runners.items())
    return "\n\n" + fill(MAY, noun=noun, sides=BOTH_SIDES if both_sides else ONE_SIDE, runners=listed)


def to_weigh(noun: str, runners: Mapping[str, str]) -> str:
    """The part of a judge's prompt about checks; empty if none can be run."""
    return WEIGH.replace("$noun", noun) if runners else ""
