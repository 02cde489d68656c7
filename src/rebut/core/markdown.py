"""Untrusted text in a Markdown document: every word of it is shown, and none becomes a heading, link or HTML."""

from __future__ import annotations

import re

from rebut.core.text import squeeze


def tame(text: str) -> str:
    """Text of a model, a user or a server, escaped for a Markdown document so that every word is shown as text.

    No line begins a heading, a quote, a table, a fence, a rule or a definition, not even after the mark of a list.
    Nothing becomes HTML, an entity, a link or an image. Emphasis, lists and code within a line stay as they are.
    """
    return "\n".join([_tame_line(_escaped(line)) for line in _BREAKS.sub("\n", text).split("\n")])


def inline(text: str) -> str:
    """`tame` in one line, for a heading, an item of a list or a cell."""
    return tame(squeeze(text))


def unlinked(text: str) -> str:
    """`inline`, for a comment on GitHub: nothing in it mentions a person, refers to an issue or becomes a link."""
    line = inline(text)
    out, end = "", 0
    for start, stop in reversed(_code(line)):  # within code, GitHub makes no links
        out += _LINKING.sub(_parted, line[end:start]) + line[start:stop]
        end = stop
    return out + _LINKING.sub(_parted, line[end:])


def backticks(text: str, least: int = 3) -> str:
    """The backticks that open and close code with this text in it: more than the text has in a row."""
    return "`" * max(least, 1 + max(map(len, _TICKS.findall(text)), default=0))


_LINKING = re.compile(r"@(?=[\w\\])|#(?=\d)|(?i:\bgh)(?=-\d)|(?<=:)(?=//)|(?i:\bwww)(?=\.)|(?<=:)(?=[\w+-]{1,40}:)")
"""Where GitHub would see a mention, a reference, a link or an emoji."""


def _parted(found: re.Match[str]) -> str:
    return f"{found[0]}\u200b"


_BREAKS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_INLINE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)"  # a backslash that would escape something, or break the line
    r"|<(?=[A-Za-z/!?])|&(?=#?\w{1,32};)|\](?=[(\[:])|\$(?=[$\\`])|`"
)
_TICKS = re.compile("`+")


def _escaped(line: str) -> str:
    """The line with a backslash before each special character, except in code, where a backslash would be shown.

    A backtick that opens no code on this line is escaped, too: it could open code that ends on another line.
    """
    if "`" not in line:
        return _INLINE.sub(r"\\\g<0>", line)
    code = _code(line)

    def escaped(m: re.Match[str]) -> str:
        while code and code[-1][1] <= m.start():
            code.pop()
        return m[0] if code and code[-1][0] <= m.start() else f"\\{m[0]}"

    return _INLINE.sub(escaped, line)


def _code(line: str) -> list[tuple[int, int]]:
    """The pieces of code within a line, with their backticks, the last one first."""
    runs = [m.span() for m in _TICKS.finditer(line)]
    after: dict[int, int] = {}
    closes = [0] * len(runs)
    for n in range(len(runs) - 1, -1, -1):
        size = runs[n][1] - runs[n][0]
        closes[n] = after.get(size, 0)
        after[size] = n
    found, n = list[tuple[int, int]](), 0
    while n < len(runs):
        if closes[n]:
            found.append((runs[n][0], runs[closes[n]][1]))
            n = closes[n]
        n += 1
    return found[::-1]


_LIST_MARKS = re.compile(r"[ \t]{0,200}(?:(?:[-+*]|\d{1,9}[.)])(?:[ \t]{1,200}|$)){0,20}")
_RULE = re.compile(r"([-*_=])(?:[ \t]*\1)*[ \t]*$|[ \t|:-]+$")
"""A rule, the line below a heading, or the line below the head of a table."""


def _tame_line(line: str) -> str:
    marks = _LIST_MARKS.match(line)
    at = marks.end() if marks else 0
    # Four spaces would turn the line into code, where an escape is shown.
    start, rest = re.sub(r"(?<=\S)[ \t]+", " ", re.sub(r"^[ \t]{4,}|^ {0,3}\t[ \t]*", "   ", line[:at])), line[at:]
    if not rest:  # only list marks: they may make a rule, or a heading of the line above
        first = start.lstrip()
        return f"{start[: len(start) - len(first)]}\\{first}" if first and not first[0].isdigit() else line
    opens = rest[0] in "#>|" or rest.startswith("~~~") or _RULE.match(rest)
    return f"{start}\\{rest}" if opens else start + rest
