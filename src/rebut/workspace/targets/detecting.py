"""What kind of thing a text is, how sure that is, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from rebut.workspace.targets.mixed import ENDINGS, SAME, prose_of, split_mixed
from rebut.workspace.targets.target import Confidence, Kind

SHORT = 2_000
HEADING = re.compile(
    r"^(?:[ ]{0,3}\#{1,6}[ \t]*|[*_]{2})(?:[\dIVX]+[.)][ \t]*)?(?:(?:the|our|proposed|high-level|technical)[ ]+)?"
    r"(?:design|proposal|approach|decision)\b|^(?:design|proposal|approach|decision)[^\n]{0,60}\n(?:={3,}|-{3,})[ ]*$",
    re.I | re.M | re.X,
)
CODE_LINE = re.compile(
    r"\s*(?:(?:def|class|fn|func|function|impl|struct|enum|package|namespace|const|let|var|public|private|static)\s+\w"
    r"|(?:from\s+\S+\s+)?import\s+[\w{*\"']|\#include\b|return\b.*|@\w+|(?:if|for|while|switch|elif|else|try)\b.*[:{]\s*$"
    r"|[\w.\[\]\"']+\s*(?::\s*\w+\s*)?[-+*/|&]?=\s*\S|[\w.]+\(.*\)\s*[;{:]?\s*$|.*[;{}]\s*$|</?\w[^>]*>\s*$)"
)
CODE = frozenset(f".{ending}" for ending in {*ENDINGS.values(), *SAME, *ENDINGS} - {"md", "markdown"})


@dataclass(frozen=True, slots=True)
class Guess:
    """What a text was taken for."""

    kind: Kind
    confidence: Confidence
    why: str


def detect(text: str, name: str = "") -> Guess:
    """Judge a message or, by its name first, a file."""
    ending = PurePath(name).suffix.lower()
    if ending in CODE:
        return Guess("code", "high", f"{PurePath(name).name} is a file of code")
    blocks, rest = split_mixed(text)
    prose = prose_of(blocks, rest)
    heading = HEADING.search(prose)
    if blocks:
        what = "a diff" if blocks[0].is_diff else "fenced code"
        if heading:
            return Guess("mixed", "medium", f"it holds {what} and the heading {_shown(heading)!r}")
        inside = sum(len(block.text) for block in blocks)
        if 2 * inside >= inside + len(prose):
            return Guess("code", "high", f"most of it is {what}")
        return Guess("code", "medium", f"it holds {what}, and more words than code")
    if heading:
        return Guess("proposal", "high", f"it has the heading {_shown(heading)!r}")
    lines = [line for line in text.split("\n") if line.strip()]
    share = sum(CODE_LINE.match(line[:400]) is not None for line in lines) / max(1, len(lines))
    if share >= 0.6 and len(lines) > 1:
        return Guess("code", "medium", "its lines look like code, though nothing is fenced")
    if share >= 0.3 and len(lines) > 3:
        return Guess("proposal", "low", "some of its lines look like code and some do not, and nothing is fenced")
    if len(text) < SHORT:
        return Guess("proposal", "medium", "it is short and holds no code, so all of it is taken")
    return Guess(
        "proposal", "low", f"it is longer than {SHORT:,} characters and has neither fenced code nor a telling heading"
    )


def _shown(heading: re.Match[str]) -> str:
    return heading[0].split("\n")[0].strip("#*_ \t")
