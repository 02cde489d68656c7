"""Unified diffs: reading them, finding them in a text, comparing two texts, and writing the difference.

Two kinds of diff are read here. A diff that git wrote follows its format exactly. A diff that a person pasted or a
model wrote may have wrong counts, extra lines, other line ends and no line `diff --git`. Libraries that parse diffs
refuse the second kind, so none is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from rebut.core.frozen import frozen
from rebut.workspace.file_reader import confine

CONTEXT = 3
MOST_COMPARED = 4_000_000
"""Above this many pairs of lines a comparison would take seconds: the whole text then counts as replaced."""
ABSENT = "/dev/null"
NO_NEWLINE = "\\ No newline at end of file"

_GIT = "diff --git "
_NAME = r'("(?:[^"\\\n]|\\.)*+"|[^\t\r\n]++)'  # possessive, so that a long line is read once
_SECTION = re.compile(rf"^(?={_GIT})", re.M)
_HUNK_START = re.compile(r"^(?=@@ )", re.M)
_RANGE = re.compile(r"^@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@", re.M)
# Both lines are matched together, since a removed line `-- x` also looks like `--- x`.
_BOTH_NAMES = re.compile(rf"^--- {_NAME}[^\n]*+\n\+\+\+ {_NAME}", re.M)
_EVERY_NAME = re.compile(rf"{_BOTH_NAMES.pattern}|^(?:rename|copy) (?:from|to) {_NAME}", re.M)
_MOVED = re.compile(rf"^(rename|copy) from {_NAME}\r?\n(?:rename|copy) to {_NAME}", re.M)
_MODE = re.compile(r"^(?:(old|deleted file)|new(?: file)?) mode ([0-9]{6})$", re.M)
_OBJECT_IDS = re.compile(r"^index ([0-9a-f]+)\.\.([0-9a-f]+)", re.M)
_BINARY = re.compile(r"^(?:GIT binary patch|Binary files .* differ)", re.M)
_BINARY_OR_LINK = re.compile(r"^(?:GIT binary patch|(?:new|old) (?:file )?mode 1[26]0000)", re.M)
_LINK = re.compile(r"^(?:(?:new|old|deleted) (?:file )?mode 1[26]0000|index \S+ 1[26]0000)", re.M)
_DIFF_START = re.compile(r"(?m)^(?:diff --git |--- (?:a/|/dev/null)|@@ -\d)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_BETWEEN_HUNKS = re.compile(
    r"diff --git |index [0-9a-f]+|(?:old|new|deleted file|new file) mode |(?:dis)?similarity index |"
    r"(?:rename|copy) (?:from|to) |--- \S|\+\+\+ \S|Binary files .* differ|\\ No newline"
)
_PASTED_START = re.compile(r"^(?:diff --git |--- [^\n]*\n\+\+\+ [^\n]*\n@@ -)", re.M)


class Span(NamedTuple):
    """Lines `old` up to `old_end` of the old text, which lines `new` up to `new_end` replace. Counted from 0."""

    old: int
    old_end: int
    new: int
    new_end: int


class HunkRange(NamedTuple):
    """The numbers in the first line of a hunk. Lines count from 1; an empty range names the line before it."""

    old: int
    old_count: int
    new: int
    new_count: int

    @property
    def span(self) -> Span:
        """All lines of the hunk, context included."""
        old, new = self.old - (self.old_count > 0), self.new - (self.new_count > 0)
        return Span(old, old + self.old_count, new, new + self.new_count)

    @property
    def new_lines(self) -> tuple[int, int]:
        """The first and the last line of the new side."""
        return self.new, self.new + self.new_count - 1


# Reading a diff, file by file.


def sections(diff: str) -> list[str]:
    """The diff split into one text for each file, at the lines `diff --git`. Joined, they are the diff again."""
    return [part for part in _SECTION.split(diff) if part]


def head_and_hunks(section: str) -> tuple[str, list[str]]:
    """The lines before the first hunk, and each hunk as text."""
    head, *hunks = _HUNK_START.split(section)
    return head, hunks


def hunk_range(hunk: str) -> HunkRange | None:
    """The numbers in the first line of a hunk; None if the text does not begin like a hunk."""
    return _numbers(found) if (found := _RANGE.match(hunk)) else None


def hunk_ranges(section: str) -> list[HunkRange]:
    return [_numbers(found) for found in _RANGE.finditer(section)]


def _numbers(found: re.Match[str]) -> HunkRange:
    return HunkRange(*(1 if number is None else int(number) for number in found.groups()))


def modes(head: str) -> tuple[str, str]:
    """The old and the new mode that the head of a section states, empty where it states none."""
    found = {bool(m[1]): m[2] for m in _MODE.finditer(head)}
    return found.get(True, ""), found.get(False, "")


def object_ids(head: str) -> tuple[str, str]:
    """The ids of both blobs from git's line `index`, empty without one."""
    found = _OBJECT_IDS.search(head)
    return (found[1], found[2]) if found else ("", "")


def is_binary(section: str) -> bool:
    return _BINARY.search(section) is not None


def changes_link(section: str) -> bool:
    """Whether the section changes a symbolic link or a submodule."""
    return _LINK.search(section) is not None


def writes_other_than_text(patch: str) -> bool:
    """Whether a patch writes a binary file, a link or a submodule. A link that it deletes does not count."""
    return _BINARY_OR_LINK.search(patch) is not None


def names(section: str) -> tuple[str, str]:
    """The old and the new name as the section writes them, prefix included; empty for a side that does not exist."""
    head = section.partition("\n@@ ")[0]
    if found := _BOTH_NAMES.search(head):
        old, new = (_unquoted(name) for name in found.groups())
        return ("" if old == ABSENT else old), ("" if new == ABSENT else new)
    if (found := _MOVED.search(head)) and found[1] == "rename":
        return f"a/{_unquoted(found[2])}", f"b/{_unquoted(found[3])}"
    return _names_in_first_line(section)


def _names_in_first_line(section: str) -> tuple[str, str]:
    """The names in the line `diff --git`, if they differ in their prefix only.

    The section of an empty file or a changed mode has no other line with a name. Nothing marks where the first name
    ends, so the line is split in the middle.
    """
    line = section.partition("\n")[0].rstrip("\r")
    if not line.startswith(_GIT):
        return "", ""
    both = line.removeprefix(_GIT)
    old, new = _unquoted(both[: len(both) // 2]), _unquoted(both[len(both) // 2 + 1 :])
    return (old, new) if old and without_prefix(old) == without_prefix(new) else ("", "")


def without_prefix(name: str) -> str:
    """A name without the `a/` or `b/` before it; git can be set to write other letters."""
    return re.sub(r"^[a-z]/", "", name)


def touched(patch: str) -> tuple[str, ...]:
    """The paths inside the workspace that a patch names, as `git apply` reads them without options."""
    return tuple(name for name in _named(patch) if confine(name, "/") not in (None, "."))


def outside(patch: str) -> tuple[str, ...]:
    """The paths outside the workspace that a patch names: such a patch must not be applied."""
    return tuple(name for name in _named(patch) if confine(name, "/") in (None, "."))


def _named(patch: str) -> dict[str, None]:
    found = [_unquoted(name) for m in _EVERY_NAME.finditer(patch) for name in m.groups() if name]
    found += [_names_in_first_line(section)[1] for section in sections(patch) if not _EVERY_NAME.search(section)]
    return dict.fromkeys(re.sub(r"^[ab]/", "", name) for name in found if name not in ("", ABSENT))


def created(patch: str) -> set[str]:
    """The paths of the files that a patch creates, except empty files."""
    found = [[_unquoted(name) for name in m.groups()] for m in _BOTH_NAMES.finditer(patch)]
    return {new.removeprefix("b/") for old, new in found if old == ABSENT}


def new_modes(patch: str, before: Mapping[str, str]) -> dict[str, str]:
    """Path → the mode that a patch gives to a file, or that a renamed or copied file has before it."""
    out: dict[str, str] = {}
    for section in sections(patch):
        head = section.partition("\n@@ ")[0]
        if moved := _MOVED.search(head):
            out[_unquoted(moved[3])] = before.get(_unquoted(moved[2]), "")
        mode = modes(head)[1]
        if mode in ("100644", "100755") and (paths := touched(section)):
            out[paths[-1]] = mode
    return {path: mode for path, mode in out.items() if mode}


@frozen
class FileChange:
    """What a patch does to one file, without the lines themselves."""

    path: str
    modes: tuple[str, str]
    spans: tuple[Span, ...]


def parts(patch: str) -> Iterator[FileChange]:
    """What a patch that git wrote does to each file."""
    for section in sections(patch):
        head, hunks = head_and_hunks(section)
        if paths := touched(head):
            yield FileChange(paths[0], modes(head), tuple(span for hunk in hunks for span in _changed_spans(hunk)))


def _changed_spans(hunk: str) -> Iterator[Span]:
    found = hunk_range(hunk)
    assert found is not None
    old, _, new, _ = found.span
    first_old, first_new = old, new
    for line in [*hunk.split("\n")[1:], " "]:
        if line[:1] == "-":
            old += 1
        elif line[:1] == "+":
            new += 1
        elif line[:1] != "\\":
            if (old, new) != (first_old, first_new):
                yield Span(first_old, old, first_new, new)
            old, new = old + 1, new + 1
            first_old, first_new = old, new


def meets(spans: Sequence[Span], first: int, last: int) -> bool:
    """Whether the spans change one of the old lines `first` to `last`, counted from 1, or insert between them."""
    return any(
        span.old < last and span.old_end >= first if span.old < span.old_end else first <= span.old < last
        for span in spans
    )


def line_counts(diff: str) -> tuple[int, int]:
    """How many lines a diff adds, and how many it removes."""
    lines = diff.split("\n")
    added = sum(1 for line in lines if line.startswith("+") and not line.startswith("+++ "))
    return added, sum(1 for line in lines if line.startswith("-") and not line.startswith("--- "))


def both_sides(diff: str) -> tuple[str, str]:
    """The lines of the old side that a diff shows, and the lines of the new side."""
    lines = diff.split("\n")
    old, new = ("\n".join(line[1:] for line in lines if line.startswith((" ", sign))) for sign in "-+")
    return old, new


# Finding diffs in a text: pasted by a person, or written by a model.


@frozen
class FileSection:
    """One file of a diff that was found in a text; names as `names` gives them."""

    text: str
    old: str
    new: str

    @property
    def name(self) -> str:
        """The file's name without prefix: the new one if there is a new side."""
        return without_prefix(self.new or self.old)

    @property
    def changes_text(self) -> bool:
        """Whether it changes lines or a name, and not only a mode."""
        return "\n@@ " in self.text or _MOVED.search(self.text) is not None


def is_diff(text: str) -> bool:
    """Whether a text is a diff, and not a text that shows one in a fenced block."""
    # In a diff, every line of a file begins with a sign, so a fence in the file is not at the start of a line.
    return _DIFF_START.search(_without_fenced(text[:100_000])) is not None


def _without_fenced(text: str) -> str:
    """The text without its fenced blocks. A fence that is never closed begins no block."""
    kept, block, fence = list[str](), list[str](), ""
    for line in text.split("\n"):
        if not fence and (opened := _FENCE.match(line)):
            block, fence = [line], opened[0]
        elif not fence:
            kept.append(line)
        elif line.rstrip(" \t") == fence:
            fence = ""
        else:
            block.append(line)
    return "\n".join([*kept, *block] if fence else kept)


def find_sections(text: str) -> Iterator[FileSection]:
    """Every file of every diff in a text."""
    lines = text.split("\n")
    if any(line.startswith((_GIT, "+++ ")) and line.endswith("\r") for line in lines):
        lines = [line.removesuffix("\r") for line in lines]  # the whole text was converted, not only a file's lines
    at = 0
    while at < len(lines):
        end = diff_end(lines, at)
        if not end:
            at += 1
            continue
        for section in _pasted_sections("\n".join(lines[at:end]) + "\n"):
            old, new = names(section)
            if old or new:
                yield FileSection(section, old, new)
        at = end


def _pasted_sections(diff: str) -> list[str]:
    """A diff split into one text for each file, at `diff --git`, or at the names where that line is missing."""
    starts = list[int]()
    for found in _PASTED_START.finditer(diff):
        continues = found[0].startswith("---") and starts and "\n@@ " not in diff[starts[-1] : found.start()]
        if not continues:  # otherwise these are the names below the line `diff --git` of the same section
            starts.append(found.start())
    ends = [*starts[1:], len(diff)]
    return [diff[start:end] for start, end in zip(starts, ends, strict=False)]  # there may be no start


def diff_end(lines: Sequence[str], at: int) -> int:
    """Where the diff that begins at line `at` ends; 0 if none begins there."""
    if at >= len(lines) or not (lines[at].startswith(_GIT) or _begins_without_git(lines, at)):
        return 0
    end = at
    while end < len(lines):
        if hunk := hunk_range(lines[end]):
            end = _hunk_end(lines, end + 1, hunk.old_count, hunk.new_count)
        elif _BETWEEN_HUNKS.match(lines[end]):
            end += 1
        else:
            break
    return end if end > at else 0


def _begins_without_git(lines: Sequence[str], at: int) -> bool:
    return (
        lines[at].startswith("--- ")
        and at + 2 < len(lines)
        and lines[at + 1].startswith("+++ ")
        and hunk_range(lines[at + 2]) is not None
    )


def _hunk_end(lines: Sequence[str], at: int, old: int, new: int) -> int:
    while at < len(lines) and (old > 0 or new > 0):
        sign = lines[at][:1] or " "  # mail programs and editors remove the only space of an empty line
        if sign not in " +-\\":
            break
        old -= sign in " -"
        new -= sign in " +"
        at += 1
    return at


def without_wrapping(patch: str) -> str:
    """A patch without the fence and the sentence that models put around it, and with a newline at its end."""
    text = patch.replace("\r\n", "\n") if "\r\n" in patch and "\r\n" not in patch.replace("\r\r\n", "") else patch
    if fenced := re.search(r"^```[\w-]*\n(.*?)^```\s*$", text, re.M | re.S):
        text = fenced[1]
    start = re.search(r"^(?:diff --git |--- )", text, re.M)
    text = text[start.start() :] if start else text
    return text if text.endswith("\n") or not text else f"{text}\n"


# Comparing two texts.


class BothTexts:
    """The lines of an old and a new text; a text that does not exist has none."""

    def __init__(self, before: str | None, after: str | None) -> None:
        self.old, self.old_ends = _lines(before)
        self.new, self.new_ends = _lines(after)

    @property
    def newlines(self) -> tuple[int, int]:
        return len(self.old) - (not self.old_ends), len(self.new) - (not self.new_ends)

    def differences(self) -> tuple[Span, ...]:
        """Where the texts differ, found without git."""
        old, new = (_with_last_marked(*side) for side in ((self.old, self.old_ends), (self.new, self.new_ends)))
        least, first, last = min(len(old), len(new)), 0, 0
        while first < least and old[first] == new[first]:
            first += 1
        while last < least - first and old[-1 - last] == new[-1 - last]:
            last += 1
        old, new = old[first : len(old) - last], new[first : len(new) - last]
        if len(old) * len(new) > MOST_COMPARED:
            return (Span(first, first + len(old), first, first + len(new)),)
        codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        return tuple(Span(*(first + n for n in place)) for tag, *place in codes if tag != "equal")

    def fits(self, spans: Sequence[Span]) -> bool:
        """Whether the spans lie within both texts, and the parts between them are equally long in both."""
        old = new = 0
        for span in spans:
            if span.old - old != span.new - new or not old <= span.old <= span.old_end <= len(self.old):
                return False
            if not span.new <= span.new_end <= len(self.new):
                return False
            old, new = span.old_end, span.new_end
        return len(self.old) - old == len(self.new) - new

    def hunks(self, spans: Sequence[Span]) -> Iterator[str]:
        """The hunks of a diff that changes these spans, with lines of context."""
        for group in _neighbours(spans):
            start, stop = max(0, group[0].old - CONTEXT), min(len(self.old), group[-1].old_end + CONTEXT)
            shift = group[0].new - group[0].old
            lines: list[str] = []
            at = start + shift
            for span in group:
                lines += _signed(" ", self.new, at, span.new, self.new_ends)
                lines += _signed("-", self.old, span.old, span.old_end, self.old_ends)
                lines += _signed("+", self.new, span.new, span.new_end, self.new_ends)
                at = span.new_end
            new_stop = group[-1].new_end + stop - group[-1].old_end
            lines += _signed(" ", self.new, at, new_stop, self.new_ends)
            yield "\n".join((f"@@ -{_range(start, stop)} +{_range(start + shift, new_stop)} @@", *lines))


def _lines(text: str | None) -> tuple[list[str], bool]:
    lines = (text or "").split("\n")
    ends = lines[-1] == ""
    if ends:
        lines.pop()
    return lines, ends


def _with_last_marked(lines: Sequence[str], ends: bool) -> list[str]:
    """The lines, with a mark on the last one if no newline ends it, since that is a difference too."""
    return [*lines] if ends or not lines else [*lines[:-1], f"{lines[-1]}\n"]


def _neighbours(spans: Sequence[Span]) -> Iterator[list[Span]]:
    """The spans in groups, each of which is one hunk: their lines of context meet."""
    group: list[Span] = []
    for span in spans:
        if group and span.old - group[-1].old_end > 2 * CONTEXT:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def _signed(sign: str, lines: Sequence[str], start: int, stop: int, ends: bool) -> list[str]:
    signed = [sign + line for line in lines[start:stop]]
    if stop == len(lines) and not ends and signed:
        signed.append(NO_NEWLINE)
    return signed


def _range(start: int, stop: int) -> str:
    count = stop - start
    return f"{start + 1}" if count == 1 else f"{start + 1 if count else start},{count}"


def added(spans: Sequence[Span]) -> tuple[tuple[int, int], ...]:
    """The lines that the new text adds, as first and last, counted from 1."""
    return tuple((span.new + 1, span.new_end) for span in spans if span.new_end > span.new)


def written(before: str | None, after: str | None) -> tuple[tuple[int, int], ...]:
    """The lines of `after` that differ from `before`, as first and last, by a comparison that never takes long."""
    return added(BothTexts(before, after).differences())


def all_new(text: str) -> tuple[Span, ...]:
    """The span of a file that did not exist before."""
    count = len(_lines(text)[0])
    return (Span(0, 0, 0, count),) if count else ()


# Writing a diff as git does.

_UNUSUAL = re.compile(r"[\x00-\x1f\x7f\"\\]")
_ESCAPES = dict(zip('\a\b\t\n\v\f\r"\\', map("\\{}".format, 'abtnvfr"\\'), strict=True))
_UNESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b'"': b'"', b"\\": b"\\"}


def quoted(name: str) -> str:
    """A name as git writes it in a diff."""
    if not _UNUSUAL.search(name):
        return name
    return '"' + _UNUSUAL.sub(lambda m: _ESCAPES.get(m[0]) or f"\\{ord(m[0]):03o}", name) + '"'


def _unquoted(name: str) -> str:
    """A name that git may have written in quotes, with octal escapes for bytes."""
    name = name.strip()
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name
    body = re.sub(
        rb"\\([0-7]{3}|.)",
        lambda m: bytes([int(m[1], 8) & 255]) if len(m[1]) == 3 else _UNESCAPES.get(m[1], m[1]),
        name[1:-1].encode("utf-8", "surrogateescape"),
    )
    return body.decode("utf-8", "replace")


def first_line(path: str, old_path: str = "") -> str:
    """The line `diff --git`, which begins the section of a file."""
    return f"{_GIT}{quoted(f'a/{old_path or path}')} {quoted(f'b/{path}')}"


def section(
    path: str,
    before: str | None,
    after: str | None,
    spans: Sequence[Span],
    *,
    old_path: str = "",
    modes: tuple[str, str] = ("", ""),
    sides: BothTexts | None = None,
) -> str:
    """One file of a diff. A side that does not exist is None."""
    lines = _head(path, old_path, before is not None, after is not None, modes)
    if spans:
        old, new = quoted(f"a/{old_path or path}"), quoted(f"b/{path}")
        # Like git, write a tab after a name with a space, so that programs know where it ends.
        ends = ["\t" if " " in name else "" for name in (old, new)]
        lines.append(f"--- {ABSENT if before is None else old + ends[0]}")
        lines.append(f"+++ {ABSENT if after is None else new + ends[1]}")
        lines += (sides or BothTexts(before, after)).hunks(spans)
    return "\n".join(lines) + "\n"


def binary_section(path: str, old_path: str, modes: tuple[str, str], *, existed: bool, exists: bool) -> str:
    """One binary file of a diff, whose content is not shown."""
    old = quoted(f"a/{old_path or path}") if existed else ABSENT
    new = quoted(f"b/{path}") if exists else ABSENT
    lines = [*_head(path, old_path, existed, exists, modes), f"Binary files {old} and {new} differ"]
    return "\n".join(lines) + "\n"


def _head(path: str, old_path: str, existed: bool, exists: bool, modes: tuple[str, str]) -> list[str]:
    lines = [first_line(path, old_path)]
    if not existed:
        lines.append(f"new file mode {modes[1] or '100644'}")
    elif not exists:
        lines.append(f"deleted file mode {modes[0] or '100644'}")
    elif modes[0] != modes[1]:
        lines += [f"old mode {modes[0]}", f"new mode {modes[1]}"]
    if old_path:
        lines += [f"rename from {quoted(old_path)}", f"rename to {quoted(path)}"]
    return lines


def hunk_of(lines: Sequence[str], old: int, new: int) -> str:
    """A hunk of these signed lines; `old` and `new` are the first line of each side, counted from 1."""
    olds, news = (sum(line[:1] in (" ", sign, "") for line in lines) for sign in "-+")
    start = f"@@ -{old - (not olds)},{olds} +{new - (not news)},{news} @@"
    return "\n".join((start, *lines)) + "\n"


def shorter_hunks(hunk: str, most_bytes: int) -> Iterator[str]:
    """A hunk split into several, the lines of each at most `most_bytes` together."""
    found = hunk_range(hunk)
    if found is None:
        yield hunk
        return
    old, new = found.span.old + 1, found.span.new + 1
    part: list[str] = []
    size = 0
    for line in hunk.removesuffix("\n").split("\n")[1:]:
        cost = len(line.encode(errors="replace")) + 1
        if part and size + cost > most_bytes and not line.startswith("\\"):
            yield hunk_of(part, old, new)
            old += sum(kept[:1] in (" ", "-", "") for kept in part)
            new += sum(kept[:1] in (" ", "+", "") for kept in part)
            part, size = [], 0
        part.append(line)
        size += cost
    yield hunk_of(part, old, new)
