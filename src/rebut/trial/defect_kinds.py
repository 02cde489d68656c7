"""The closed list of kinds of defect: what reviewers are told about them, and which kind a finding names."""

from __future__ import annotations

import re
from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "off by one": "a bound, an index or a limit is one too high or too low, such as < for <=",
    "inverted condition": "a condition is true where it should be false",
    "wrong operator": "another operator or function of the same form, such as + for -, and for or, min for max",
    "swapped arguments": "two arguments of a call are in the wrong order",
    "wrong variable": "another variable of the same scope is used",
    "wrong default": "the default value of a parameter or a lookup is wrong",
    "missing check": "a case that was refused or skipped is let through",
    "lost error": "an error is swallowed, or caught too widely",
    "missing await": "a coroutine is called and not awaited",
    "not closed": "a file, lock, connection or the like is not closed or released",
    "shared state": "a list, dict or other object is passed on without a copy",
    "unsafe call": "input reaches a shell, query, page or interpreter unescaped; a secret is compared with ==",
}
"""Kind → what it is. No two of them overlap, so that one defect has one kind."""
OTHER = "other"

NOTE = "\n".join(
    (
        "Begin the text of every finding with its kind in square brackets, such as `[off by one] The last row …`. "
        "The kinds are:",
        *(f"- {kind}: {what}" for kind, what in KINDS.items()),
        f"- {OTHER}: anything else",
        "Where the answer is a position and not a list of findings, the position has one line per defect of the "
        "change and no other words, such as `src/app.py:41 [off by one] P1 The last row is left out.`, or the one "
        "line `no defect`.",
    )
)
"""What every seat of every arm is told, as a note of the user."""

RULES: Mapping[str, str] = {
    **{f"ruff {code}": "lost error" for code in ("E722", "BLE001", "B012")},
    **{f"ruff {code}": "shared state" for code in ("B006", "B008", "B023")},
    **{f"ruff {code}": "not closed" for code in ("SIM115",)},
    **{f"ruff {code}": "wrong operator" for code in ("F632",)},
    **{f"ruff {code}": "wrong variable" for code in ("F821", "F823", "B007")},
    **{f"bandit {code}": "lost error" for code in ("B110", "B112")},
    **{f"bandit {code}": "unsafe call" for code in ("B102", "B301", "B302", "B307", "B506", "B602", "B604", "B605")},
    **{f"bandit {code}": "unsafe call" for code in ("B608", "B609", "B701", "B703")},
}
"""A rule of an analyser → the kind that it reports."""

_BRACKETS = re.compile(r"\[([A-Za-z _-]{3,30})\]")
_RULE = re.compile(r"\(([a-z]+ [A-Z]{1,7}\d{2,4})\)")


def kind_of(text: str) -> str:
    """The kind that a finding names; `other` if it names that, or a rule of no kind; empty if it names none."""
    for found in _BRACKETS.finditer(text):
        name = re.sub(r"[\s_-]+", " ", found[1]).strip().lower()
        if name in KINDS or name == OTHER:
            return name
    if rule := _RULE.search(text):
        return RULES.get(rule[1], OTHER)
    return ""
