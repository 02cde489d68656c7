"""Looking up citations: each gets a mark.

A mark states where the quoted words are, never whether a claim is right. Only *absent* counts against a claim.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Literal, cast, get_args
from weakref import WeakKeyDictionary

from rebut.core import event_loop
from rebut.core.citation_syntax import Citation, FoundCitation, Place, find_citations
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row
from rebut.core.text import cut
from rebut.workspace.snapshot import Redact
from rebut.workspace.tree import LiveView, Missing, Text, UnreadableFile, Workspace

Verdict = Literal["found", "moved", "located", "absent", "uncheckable"]

PLANNED = "described as planned, not yet existing"
NOT_A_PLACE = "not a place that can be looked up"
NO_TEXT = "there is no text under discussion to look it up in"
UNCLEAR = "it is not clear where the quote ends"
SHORTEST = 3
LONG_ENOUGH = 10
"""Characters, white space aside, that a quote needs to be looked for in files that the citation does not name."""
SHOWN = 60
MOST_PARTS = 20
MOST_HITS = 1_000
LARGE = 100_000
"""A file with more characters is searched in a thread."""
MOST_KEPT = 16_000_000
"""Characters of the files that are kept ready to search, for each version of a workspace."""


@frozen
class Mark:
    """What checking one citation showed."""

    mark: Verdict
    place: str
    note: str = ""
    moved_to: str = ""

    def to_json(self) -> dict[str, Json]:
        return cast(dict[str, Json], as_row(self))


async def look_up_citation(
    citation: Citation,
    view: Workspace,
    *,
    artifact: str | None = None,
    other: Workspace | None = None,
    base: str = "",
    planned: bool = False,
) -> Mark:
    """Look one citation up.

    `artifact` is the text under discussion, cited by section. `other` is the old side of a diff, tried if the new side
    does not have what is cited. `base` is a folder that a path may be relative to. `planned` means that the text
    describes the place as something to create, so that its absence says nothing.
    """
    mark = await _check(citation, view, artifact, base)
    if mark.mark == "absent" and other is not None:
        there = await _check(citation, other, None, base)
        if there.mark in ("found", "moved", "located"):
            note = "on the old side of the diff" + (f"; {there.note}" if there.note else "")
            return Mark(there.mark, there.place, note, there.moved_to)
    if mark.mark == "absent" and citation.shorter:
        shorter = replace(citation, quote=citation.shorter, shorter="")
        if (await look_up_citation(shorter, view, artifact=artifact, other=other, base=base)).mark != "absent":
            return Mark("uncheckable", mark.place, UNCLEAR)
    return Mark("uncheckable", mark.place, PLANNED) if mark.mark == "absent" and planned else mark


async def check_text(text: str, view: Workspace, base: str = "") -> list[tuple[FoundCitation, Mark]]:
    """Find and look up every citation in a text. `base` is the text's own folder in the workspace."""
    results: list[tuple[FoundCitation, Mark]] = []
    for found in find_citations(view.redact(text)):
        results.append((found, await look_up_citation(found.citation, view, base=base, planned=found.planned)))
    return results


async def _check(citation: Citation, view: Workspace, artifact: str | None, base: str) -> Mark:
    place = citation.parsed
    if place.kind == "url":
        return Mark("uncheckable", citation.place, "a URL: not opened")
    if place.kind == "commit":
        return await _commit(citation, place, view)
    if place.kind == "section":
        return _section(citation, place, artifact)
    if place.path and (mark := await _file(citation, place, view, base)):
        return mark
    # `Risks` or `the proposal, Risks` means the section as much as `## Risks` does.
    if not citation.place.strip():
        return Mark("uncheckable", citation.place, NOT_A_PLACE)
    named = TEXT_NAME.sub("", citation.place.strip(), count=1)
    section = _section(citation, Place("section", name=named), artifact)
    if section.mark in ("found", "moved", "located") or (artifact is not None and _is_section(named, artifact)):
        return section
    return Mark("uncheckable", citation.place, NOT_A_PLACE)


async def _file(citation: Citation, place: Place, view: Workspace, base: str) -> Mark | None:
    """The mark of a path; None if there is no such file and something else may have been meant."""
    read, note = await _open(place.path, view, base)
    if isinstance(read, Missing):
        return Mark("absent", citation.place, f"{read.path}: {read.why}") if place.kind == "file" else None
    if isinstance(read, UnreadableFile):
        return Mark("uncheckable", citation.place, read.why)
    if not isinstance(read, Text):
        return Mark("located", citation.place, "a folder")
    body = _body(view, read)
    # In a thread, so that the debate continues while a large file is searched.
    if body.size > LARGE:
        mark = await event_loop.in_thread(_in_lines, citation, place, read, body)
    else:
        mark = _in_lines(citation, place, read, body)
    return Mark(mark.mark, mark.place, "; ".join(filter(None, (mark.note, note, read.note))), mark.moved_to)


async def _open(path: str, view: Workspace, base: str) -> tuple[object, str]:
    """Read a path, with a note: as written; from the text's folder; without `a/` or `b/`; or as the end of a path."""
    read = first = await view.read(path)
    if not isinstance(first, Missing):
        return first, ""
    tries = [posixpath.join(folder, path) for folder in (base, view.folder) if folder and not path.startswith("/")]
    tries += [path[2:]] if path.startswith(("a/", "b/")) else []
    # An accent may be one character with its letter, or one behind it.
    tries += [] if path.isascii() else [unicodedata.normalize(form, path) for form in ("NFC", "NFD")]
    for candidate in tries:
        if not isinstance(read := await view.read(candidate), Missing):
            return read, ""
    tail = "/" + posixpath.normpath(path).removeprefix("./")
    if path.startswith(("/", "~", "..")) or "\0" in path:
        return first, ""
    names = await view.names()
    longer = {name for name in names if name.endswith(tail)}
    longer |= {name[: name.index(tail + "/")] + tail for name in names if tail + "/" in name} if not longer else set()
    if len(longer) == 1:
        return await view.read(longer.copy().pop()), f"read as {longer.pop()}"
    if longer:
        return UnreadableFile(path, f"{len(longer)} paths end like this, such as {min(longer)}"), ""
    return first, ""


def _in_lines(citation: Citation, place: Place, text: Text, body: _Body) -> Mark:
    mark = _in_range(citation, place, text, body)
    if not place.reversed or mark.mark == "absent":
        return mark
    note = f"the range is reversed: read as lines {place.start}-{place.end}"
    return replace(mark, note="; ".join(filter(None, (mark.note, note))))


def _in_range(citation: Citation, place: Place, text: Text, body: _Body) -> Mark:
    count, start, end = len(text.lines), place.start, place.end
    beyond = "" if start <= count else f"the file ends at line {count}"
    if re.search(r":0+(?:-|$)", citation.place.strip()):
        beyond = "there is no line 0"
    if not citation.quote.strip():
        if beyond:
            return Mark("absent", citation.place, beyond)
        return Mark("located", citation.place, f"the file ends at line {count}" if end > count else "")
    if _too_short(citation.quote):
        mark: Verdict = "absent" if beyond else "located"
        return Mark(mark, citation.place, beyond or "the quote is too short to search for")
    lines = list(_lines_with(citation.quote, body))
    if not lines:
        return Mark("absent", citation.place, beyond or _actual_line(start, text))
    if not (end or beyond) or any(start <= line <= end for line in lines):
        return Mark("found", citation.place)
    nearest = min(lines, key=lambda line: (abs(line - start), line))
    return Mark("moved", citation.place, f"is at line {nearest}", f"{text.path}:{nearest}")


def _actual_line(start: int, text: Text) -> str:
    line = text.line(start) if start else None
    if line is None:
        return f"the quoted text is nowhere in {text.path}"
    shown = " ".join(line.split())
    if not shown:
        return f"line {start} is empty"
    return f"line {start} is: {cut(shown, SHOWN)}"


async def by_quote(citation: Citation, view: Workspace, paths: Sequence[str]) -> Mark | None:
    """The mark of a citation without an existing file, if its quote is at exactly one place in the files `paths`.

    Small models give the description of the field as the place, or misspell a path, and still quote what is there.
    """
    place = citation.parsed
    if len("".join(citation.quote.split())) < LONG_ENOUGH or place.kind in ("url", "commit"):
        return None
    if place.path and not isinstance((await _open(place.path, view, ""))[0], Missing):
        return None
    hits: list[str] = []
    for path in paths:
        read = await view.read(path)
        if isinstance(read, Text):
            hits += [f"{path}:{line}" for line in _lines_with(citation.quote, _body(view, read))]
    if len(hits) != 1:
        return None
    return Mark("moved", citation.place, f"no such place; the quote is at {hits[0]}", hits[0])


async def _commit(citation: Citation, place: Place, view: Workspace) -> Mark:
    history = await view.history()
    if history == "none":
        return Mark("uncheckable", citation.place, "the workspace is not a git repository")
    if not await view.commit_exists(place.name):
        if history == "shallow":
            return Mark("uncheckable", citation.place, "not in this shallow clone")
        return Mark("absent", citation.place, f"no commit {place.name}")
    if not citation.quote.strip() or _too_short(citation.quote):
        return Mark("located", citation.place)
    texts = await view.commit_texts(place.name)
    if texts is None:
        return Mark("located", citation.place, "too large to search for the quote")
    if any(True for text in texts for _ in _lines_with(citation.quote, _Body(text.split("\n")))):
        return Mark("found", citation.place)
    return Mark("absent", citation.place, "the quoted text is neither in its message nor in its change")


HEADING = re.compile(r"(?P<marks>#{1,6})\s+(?P<name>.*)|\*\*(?P<bold>[^*]+)\*\*:?\s*$")
FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})(.*)")
NUMBER = re.compile(r"(?<!\d)\d+(?:[.)]\d+)*[.)]?\s+")


TEXT_NAME = re.compile(r"^(?:the )?(?:artifact|document|plan|proposal|text)(?:\s*[,:;]\s*|$)", re.I)
"""A name of the text under discussion, before the name of a section or alone."""


def _is_section(name: str, artifact: str) -> bool:
    """Whether `name` is the beginning of a heading, or empty, which means the text as a whole."""
    wanted = _bare(name)
    heads = (_bare(section.name) for section in _sections(artifact.split("\n")))
    return not name or (bool(wanted) and any(head.startswith(wanted) for head in heads))


def _section(citation: Citation, place: Place, artifact: str | None) -> Mark:
    if artifact is None:
        return Mark("uncheckable", citation.place, NO_TEXT)
    text = Text.of("the text", artifact)
    body = _Body(text.lines)
    if place.start:
        mark = _in_lines(citation, place, text, body)
        return Mark(mark.mark, mark.place, mark.note, mark.moved_to.replace(f"{text.path}:", "line "))
    if not place.name:
        return _in_lines(citation, place, text, body)
    meant = _sections_named(place.name, text.lines)
    if not meant:
        return Mark("absent", citation.place, "no section of that name")
    if not citation.quote.strip() or _too_short(citation.quote):
        return Mark("located", citation.place)
    lines = list(_lines_with(citation.quote, body))
    if any(section.start <= line <= section.end for section in meant for line in lines):
        return Mark("found", citation.place)
    if not lines:
        return Mark("absent", citation.place, "the quoted text is nowhere in the text under discussion")
    home = [section.name for section in _sections(text.lines) if section.start <= lines[0] <= section.end]
    moved_to = f"§ {home[-1]}" if home else f"line {lines[0]}"
    return Mark("moved", citation.place, f"is at line {lines[0]}", moved_to)


def part_of(name: str, lines: Sequence[str]) -> tuple[int, int] | None:
    """The first and the last line of the section that a name means; None if there is no such section."""
    found = _sections_named(name, lines)
    return (found[0].start, found[0].end) if found else None


def _sections_named(name: str, lines: Sequence[str]) -> list[_Part]:
    """The sections that a name may mean: by its words, else by its number, else by how it begins."""
    sections = list(_sections(lines))
    wanted = _bare(name)
    number = re.match(r"[\d.]*\d", name)
    meant = [s for s in sections if _bare(s.name) == wanted]
    meant = meant or [s for s in sections if number and re.match(re.escape(number[0]) + r"(?![\d])", s.name)]
    return meant or [s for s in sections if wanted and _bare(s.name).startswith(wanted)]


@frozen
class _Part:
    name: str
    start: int
    end: int


def _sections(lines: Sequence[str]) -> Iterator[_Part]:
    """The sections of a text, each up to the next heading of the same or a higher level."""
    heads: list[tuple[int, int, str]] = []
    fence = ""
    for number, line in enumerate(lines, 1):
        mark = FENCE.fullmatch(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not mark[2].strip() else fence
        elif mark:
            fence = mark[1]
        elif head := HEADING.match(line):
            depth = len(head["marks"]) if head["marks"] else 7
            heads.append((number, depth, (head["name"] or head["bold"] or "").strip(" #*`")))
    for index, (number, depth, name) in enumerate(heads):
        following = [n for n, d, _ in heads[index + 1 :] if d <= depth]
        yield _Part(name, number, following[0] - 1 if following else len(lines))


def _bare(name: str) -> str:
    """A heading without its number, marks and case."""
    return " ".join(re.findall(r"\w+", NUMBER.sub("", name, count=1).casefold()))


def _too_short(quote: str) -> bool:
    return len("".join(quote.split())) < SHORTEST


@frozen(slots=False)
class _Body:
    """Lines to look quotes up in. They are prepared once, when needed, which takes long for a large file."""

    lines: Sequence[str]

    @cached_property
    def size(self) -> int:
        return sum(map(len, self.lines))

    @cached_property
    def canonical(self) -> tuple[str, list[int], list[int]]:
        return _canonical(self.lines)


_bodies: WeakKeyDictionary[Workspace, dict[str, _Body]] = WeakKeyDictionary()
"""Version of a workspace → its files by path, the one used last at the end."""


def _body(view: Workspace, text: Text) -> _Body:
    """The prepared lines of a file, cached for other citations of the same file."""
    kept = _bodies.setdefault(view, {})
    body = kept.pop(text.path, None)
    if body is not None and body.lines is text.lines:
        kept[text.path] = body
        return body
    body = kept[text.path] = _Body(text.lines)
    total = sum(one.size for one in kept.values())
    while total > MOST_KEPT and len(kept) > 1:
        total -= kept.pop(next(iter(kept))).size
    return body


def _lines_with(quote: str, where: _Body) -> Iterator[int]:
    """The lines where a quote begins, ignoring white space, and additions of models if it is not found as it is."""
    body, offsets, numbers = where.canonical
    for form in _quote_forms(quote):
        parts = [_canonical(p.split("\n"))[0] for p in form]
        if max(map(len, parts)) < SHORTEST:
            continue
        hits = list(_in_order(parts, body))
        if hits:
            yield from sorted({numbers[bisect_right(offsets, at) - 1] for at in hits})
            return


def _quote_forms(quote: str) -> Iterator[list[str]]:
    yield [quote]
    lines = quote.split("\n")
    full = [line for line in lines if line.strip()]
    if all(re.match(r"\s*\d+\|", line) for line in full):  # copied with the line numbers of served context
        yield ["\n".join(re.sub(r"^\s*\d+\|", "", line) for line in lines)]
    if any(line[0] in "+-" for line in full) and all(line[0] in "+- " for line in full):  # copied from a diff
        yield ["\n".join(line[1:] for line in lines)]
    if '\\"' in quote:  # copied from a text in quotation marks
        yield [quote.replace('\\"', '"')]
    bare = quote.strip()
    if len(bare) > 2 and bare[0] == bare[-1] and bare[0] in "`\"'":
        yield [bare.strip(bare[0])]
    if "..." in quote or "…" in quote:
        yield re.split(r"\.{3,}|…", quote)[:MOST_PARTS]


def _in_order(parts: Sequence[str], body: str) -> Iterator[int]:
    """Where the first part begins, wherever the others follow it. An empty first or last part stands for any text."""
    first, last = bool(parts[0]), bool(parts[-1])
    parts = [part for part in parts if part]
    start = body.find(parts[0])
    for _ in range(MOST_HITS):
        at = start
        for index, part in enumerate(parts):
            if at >= 0 and index:
                at = body.find(part, at)
            at = at + len(part) if at >= 0 else -1
        if start < 0 or at < 0:
            return  # parts that do not follow this one cannot follow a later one
        if not (first and INSIDE.match(body, start)) and not (last and INSIDE.match(body, at)):
            yield start
        start = body.find(parts[0], start + 1)


INSIDE = re.compile(
    r"(?<=[0-9])(?=\.?[0-9])|(?<=[0-9]\.)(?=[0-9])|(?<=[a-z])(?=[a-z])|(?<=[A-Z])(?=[a-z]|[A-Z](?![a-z]))"
)
"""A place inside a number or a word: a quote of `timeout = 3` is not in `timeout = 30`, nor one of `user` in `users`.

The words of `max_retries` and `maxRetries` are words of their own. Other letters than those from A to Z are not looked
at: some languages have no spaces between words.
"""
SPACE = re.compile(r" (?:(?=\W)|(?<=\W )(?:(?<!\d\. )|(?!\d)))")
"""White space that separates no words. That of `port 6379. 2 nodes` stays, for it is not `6379.2`."""


LOOKALIKE = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " ", "–": "-", "—": "-"})


def _canonical(lines: Sequence[str]) -> tuple[str, list[int], list[int]]:
    """The text with white space only between words, and the offset and the number of each line that is not empty."""
    pieces: list[str] = []
    offsets, numbers = [], []
    size, last = 0, ""
    for number, line in enumerate(lines, 1):
        text = re.sub(r"\s+", " ", line.translate(LOOKALIKE)).strip()
        text = SPACE.sub("", text)
        if not text:
            continue
        if last and not SPACE.match(f"{last} {text[0]}", len(last)):
            pieces.append(" ")
            size += 1
        offsets.append(size)
        numbers.append(number)
        pieces.append(text)
        size, last = size + len(text), text[-2:]
    return "".join(pieces), offsets, numbers


# The citations of a text, looked up in the workspace as it is now.


async def look_up(
    text: str, workspace: Path, redact: Redact, never: Sequence[str], folder: Path | None = None
) -> list[tuple[FoundCitation, Mark]]:
    """Every citation of a text with its mark. `folder` is the text's own folder: paths may be relative to it."""
    view = await LiveView.open(workspace, redact, never)
    try:
        base, start = (_below(view.root, one) for one in (folder, workspace))
        results = await check_text(text, view, base=base)
        return [(found, _as_written(found.citation, mark, (base, start))) for found, mark in results]
    finally:
        await view.close()


def _below(root: str, folder: Path | None) -> str:
    """A folder relative to the root; empty for the root itself, and for a folder that is not in it."""
    if folder is None or not folder.is_relative_to(root):
        return ""
    below = folder.relative_to(root).as_posix()
    return "" if below == "." else below


def _as_written(citation: Citation, mark: Mark, folders: Sequence[str]) -> Mark:
    """The mark with its new place relative to the same folder as the cited path, to be pasted into the text."""
    path = citation.parsed.path
    at, _, line = mark.moved_to.rpartition(":")
    if path and any(folder and at == posixpath.normpath(posixpath.join(folder, path)) for folder in folders):
        return replace(mark, moved_to=f"{path}:{line}")
    return mark


def summed(results: Sequence[tuple[FoundCitation, Mark]]) -> tuple[str, ...]:
    """The citations of a text in short: how many of each mark, then a line for each that is absent or moved."""
    marks = [mark for _, mark in results]
    counts = {name: sum(m.mark == name for m in marks) for name in get_args(Verdict)}
    tally = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    rows = [f"{m.mark}: {_citation_row(f.citation, m)}" for f, m in results if m.mark in ("absent", "moved")]
    return (tally, *dict.fromkeys(rows)) if tally else ()


def _citation_row(citation: Citation, mark: Mark) -> str:
    quote = f' "{cut(citation.quote, SHOWN)}"' if citation.quote else ""
    why = f"now at {mark.moved_to}" if mark.moved_to else mark.note.removeprefix(f"{citation.place}: ")
    return f"{citation.place}{quote} ({why})"
