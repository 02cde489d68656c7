"""The sections of a Markdown document: its headings, which a revision must keep, and their text. Pure functions."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rebut.core.frozen import frozen
from rebut.core.markdown import tame
from rebut.core.text import squeeze

if TYPE_CHECKING:
    from markdown_it.token import Token

HIDING = re.compile(r"<(?=[!?]|/?(?i:script|pre|style|textarea|template|iframe|noscript|xmp|title)\b)")
"""The start of HTML that may span many lines, or whose content is not shown."""
MOST_LAYERS = 20
COMMENT = re.compile(r"\s*<!--\s*Revision\b.*?-->[ \t]*\n?", re.S | re.I)


FALLBACK = re.compile(r"\A<!-- Fallback: .*? -->\n", re.S)
"""The first line of a document that a fallback wrote. It is for readers: no model sees it."""


def signed(text: str, by: str) -> str:
    """Add a comment on the fallback that wrote a document; unchanged if its author wrote it."""
    return f"<!-- Fallback: {squeeze(by).replace('-->', '->')} -->\n{text}" if by else text


def unsigned(text: str) -> str:
    """Remove that comment from the text of a file."""
    return FALLBACK.sub("", text)


@frozen
class Section:
    """A heading and the text up to the next one."""

    level: int
    title: str
    body: str
    at: int
    """The line on which it begins, from 0."""

    @property
    def head(self) -> str:
        return f"{'#' * self.level} {self.title}"


@frozen
class Parts:
    """A document without the comment and the Defense section that a revision adds at the top."""

    document: str
    defense: str = ""
    """The text of its Defense section."""


def sections(text: str) -> list[Section]:
    """The sections of a Markdown document, in order. Text before the first heading is not part of any."""
    return [*_sections(text)]


@lru_cache(maxsize=32)
def _sections(text: str) -> tuple[Section, ...]:
    """Cached: a document of 4 MB, as a model may send, takes seconds to parse, and is looked at again and again."""
    from markdown_it import MarkdownIt

    lines = text.split("\n")
    heads: list[tuple[int, int, int, str]] = []
    tokens = MarkdownIt("commonmark").disable("inline").parse(text)  # what is inside of a line makes no section
    for n, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = squeeze(tokens[n + 1].content)
            heads.append((token.map[0], token.map[1], int(token.tag[1]), title))
    out = []
    for n, (at, after, level, title) in enumerate(heads):
        end = heads[n + 1][0] if n + 1 < len(heads) else len(lines)
        out.append(Section(level, title, "\n".join(lines[after:end]).strip(), at))
    return tuple(out)


def retitled(document: str, title: str, other: str) -> str:
    """Rename each section of a document that is called `title` to `other`."""
    lines = document.split("\n")
    for one in sections(document):
        if one.title.casefold() == title.casefold():
            lines[one.at] = f"{'#' * one.level} {other}"
    return "\n".join(lines)


def contained(document: str) -> str:
    """Change a model's document so that nothing in it hides a part of it, or the text below it.

    Its Markdown stays. HTML that may hide lines becomes text, and a block of code that is never closed is closed.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    for _ in range(MOST_LAYERS if HIDING.search(document) else 0):
        lines = document.split("\n")
        odd = [one for one in parser.parse(document) if one.map and any(HIDING.search(html) for html in _html(one))]
        for one in odd:
            start, end = one.map or (0, 0)
            lines[start:end] = [HIDING.sub(r"\\\g<0>", line) for line in lines[start:end]]
        document = "\n".join(lines)
        if not odd:
            break
    parser.disable("inline")  # only blocks matter from here on
    closed = (f"{document}\n{one.markup}" for one in reversed(parser.parse(document)) if one.type == "fence")
    for text in (document, *closed):
        below = parser.parse(f"{text}\n\n# below")
        if [one.type for one in below[-3:]] == ["heading_open", "inline", "heading_close"]:
            return text
    return tame(document)


def _html(token: Token) -> list[str]:
    if token.type == "html_block":
        return [token.content]
    return [one.content for one in token.children or () if one.type == "html_inline"]


def headings(text: str) -> list[str]:
    return [section.head for section in sections(parts(text).document)]


def parts(text: str) -> Parts:
    """Split off the revision comment and the Defense section at the top."""
    rest = COMMENT.sub("", text, count=1) if COMMENT.match(text) else text
    found = sections(rest)
    if not found or found[0].title.casefold() != "defense":
        return Parts(rest.strip("\n"))
    lines = rest.split("\n")
    after = lines[found[1].at :] if len(found) > 1 else []
    document = "\n".join([*lines[: found[0].at], *after]).strip("\n")
    return Parts(document, found[0].body)


def changed_headings(was: Sequence[str], now: Sequence[str]) -> list[str]:
    """What is wrong with the headings of a revision, one line each; none if they are unchanged."""
    if list(was) == list(now):
        return []
    out: list[str] = []
    before, after = set(was), set(now)
    # Not `ndiff`: it looks for similar lines in a time that grows with the cube of their number.
    for kind, at, end, new_at, new_end in difflib.SequenceMatcher(None, was, now).get_opcodes():
        if kind != "equal":
            lost, found = was[at:end], now[new_at:new_end]
            out += [f"the heading {h!r} {'is not where it was' if h in after else 'is gone'}" for h in lost]
            out += [f"the heading {h!r} is new" for h in found if h not in before]
    return out or ["the headings are in another order than before"]


def changed(was: str, now: str) -> tuple[int, int]:
    """Count the sections of a document that are different or missing in a later one, and all of its sections."""
    before, after = sections(parts(was).document), sections(parts(now).document)
    was_there, is_there = (Counter((one.head, squeeze(one.body)) for one in found) for found in (before, after))
    return (was_there - is_there).total(), len(before)
