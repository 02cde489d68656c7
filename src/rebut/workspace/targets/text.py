"""The text to debate: where it comes from, the code in it, and what kind of text it is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from rebut.core.errors import UsageError
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.types import Changed
from rebut.workspace.diff import diff_end
from rebut.workspace.file_reader import FILE_CAP, decode, is_never_sent, why_never
from rebut.workspace.targets.target import Confidence, Kind, Wanted
from rebut.workspace.targets.transcripts import last_said


@frozen
class Message:
    """A text, its origin in words, the name of its file if it has one, and what was given but not used."""

    text: str
    origin: str
    name: str = ""
    unused: tuple[str, ...] = ()
    wrote: str = ""
    """The family of the models that wrote it, if that is known."""


def find_text(root: Path, wanted: Wanted, never: Sequence[str]) -> Message | None:
    """The first given of: argument, `--artifact-file`, standard input, `--context-file`, `--from-transcript`."""
    given = [
        ("the argument", bool(wanted.content.strip())),
        (f"--artifact-file {wanted.artifact_file}", bool(wanted.artifact_file)),
        ("standard input", bool(wanted.stdin.strip())),
        (f"--context-file {wanted.context_file}", bool(wanted.context_file)),
        ("--from-transcript", wanted.from_transcript),
    ]
    origins = [origin for origin, is_given in given if is_given]
    if not origins:
        return None
    origin, unused = origins[0], tuple(origins[1:])
    if origin == "the argument":
        return Message(wanted.content, origin, unused=unused)
    if origin == "standard input":
        return Message(wanted.stdin, origin, unused=unused)
    if origin == "--from-transcript":
        said = last_said(root)
        return Message(
            said.text, f"the last message in {said.file.name}, a transcript of {said.tool}", wrote=said.family
        )
    path = wanted.artifact_file if origin.startswith("--artifact") else wanted.context_file
    return Message(_text(root, path, never), origin, path, unused)


def _text(root: Path, path: str, never: Sequence[str]) -> str:
    place = confined(root, path)
    top = repository(root.resolve())
    # A glob with a folder in it is matched against the path below the top, whatever the current folder.
    below = str(place.relative_to(top)) if place.is_relative_to(top) else place.name
    if is_never_sent(path, never) or is_never_sent(below, never):
        raise UsageError(f"{path} is {why_never(path, below)}", "Put what should be debated into another file.")
    text = read_text(place, path)[0]
    if not text.strip():
        raise UsageError(f"{path} is empty", "Name a file with the text to debate.")
    return text


def confined(root: Path, path: str) -> Path:
    """The real path of a file. A path in the workspace may be a link, but not one that leads out of it."""
    top = repository(root.resolve())
    place = Path(os.path.normpath(root.resolve() / Path(path).expanduser()))
    try:
        real = place.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"{path} is a link that leads nowhere", "Name the file itself.") from error
    if place.is_relative_to(top) and not real.is_relative_to(top):
        raise UsageError(f"{path} is a link that leads out of the workspace", f"If you mean {real}, name that.")
    return real


def read_text(place: Path, path: str) -> tuple[str, str]:
    """A file's text and a note on how it was read, or an error that names it as the user did."""
    try:
        if place.is_dir():
            raise UsageError(f"{path} is a folder", "Name a file in it.")
        if not place.is_file():
            raise UsageError(f"there is no file {path}", "Paths are relative to the current folder.")
        with place.open("rb") as file:
            data = file.read(FILE_CAP + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "Nothing was called.") from error
    found = decode(data)
    if found is None:
        raise UsageError(f"{path} is binary", "Only text can be debated.")
    if len(data) > FILE_CAP:
        raise UsageError(f"{path} is larger than 1 MB", "Shorten it to what should be debated.")
    return found


# Code and proposal in one text, split by fixed rules: fenced blocks and diffs are code, the rest is not.

FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
ENDINGS = {
    **dict.fromkeys(("python", "python3", "py", "pycon"), "py"),
    **dict.fromkeys(("javascript", "js", "node", "mjs"), "js"),
    **dict.fromkeys(("typescript", "ts"), "ts"),
    **dict.fromkeys(("bash", "sh", "shell", "zsh", "console"), "sh"),
    **dict.fromkeys(("c++", "cpp", "cc", "cxx"), "cpp"),
    **dict.fromkeys(("csharp", "cs", "c#"), "cs"),
    **dict.fromkeys(("golang", "go"), "go"),
    **dict.fromkeys(("rust", "rs"), "rs"),
    **dict.fromkeys(("ruby", "rb"), "rb"),
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    **dict.fromkeys(("kotlin", "kt"), "kt"),
    **dict.fromkeys(("markdown", "md"), "md"),
    **dict.fromkeys(("diff", "patch", "udiff"), "diff"),
    **dict.fromkeys(("terraform", "hcl", "tf"), "tf"),
    **dict.fromkeys(("perl", "pl"), "pl"),
}
SAME_ENDINGS = frozenset(
    (
        *("c", "h", "java", "php", "sql", "json", "toml", "html", "css", "scss", "jsx", "tsx", "swift", "lua", "r"),
        *("xml", "ini", "vue", "zig", "dart", "ex", "scala"),
    )
)


@frozen
class Block:
    """A piece of code in a text."""

    name: str
    text: str

    @property
    def is_diff(self) -> bool:
        return self.name.endswith(".diff")


def split_mixed(text: str) -> tuple[tuple[Block, ...], str]:
    """The blocks of code, and the rest, with a line that names each block where it was.

    A fence is closed by a fence of the same sign that is at least as long; an unclosed fence extends to the end. Fences
    may be indented by any amount, as in a list. A diff without a fence ends after its last hunk.
    """
    found = list(_pieces(text))
    blocks = tuple(piece.block for piece in found if piece.block)
    rest = [f"({piece.block.name})" if piece.block else piece.lines[0] for piece in found if not piece.is_empty]
    return blocks, "\n".join(rest) if any(line.strip() for line in rest) else ""


@frozen
class _Piece:
    """A line of a text that is not code, or a block of code with the lines that it was written in, fences included."""

    lines: tuple[str, ...]
    block: Block | None = None
    indent: str = ""
    head: int = 0
    """The number of lines before the code."""
    tail: int = 0
    """The number of lines after the code."""
    is_empty: bool = False
    """Whether it is a fence without code."""

    def holding(self, code: str) -> list[str]:
        """The lines of this block, with `code` in place of its own."""
        assert self.block is not None
        if code == self.block.text:
            return list(self.lines)
        body = [f"{self.indent}{line}" if line else "" for line in code.removesuffix("\n").split("\n")] if code else []
        return [*self.lines[: self.head], *body, *self.lines[len(self.lines) - self.tail :]]


def _pieces(text: str) -> Iterator[_Piece]:
    lines = text.replace("\r\n", "\n").split("\n")
    at = count = 0
    while at < len(lines):
        start, opening = at, _opens(lines[at])
        if opening:
            body, at = _fenced(lines, at, opening)
            ending, indent, head = _ending(opening["info"], body), opening["indent"], 1
        elif end := diff_end(lines, at):
            body, at = lines[at:end], end
            ending, indent, head = "diff", "", 0
        else:
            at += 1
            yield _Piece((lines[start],))
            continue
        written = tuple(lines[start:at])
        if not any(line.strip() for line in body):
            yield _Piece(written, is_empty=True)
            continue
        count += 1
        block = Block(f"snippet-{count}.{ending}", "\n".join(body) + "\n")
        yield _Piece(written, block, indent, head, len(written) - head - len(body))


def rejoined(given: str, code: Mapping[str, str], prose: str | None = None) -> str:
    """A text that was split, put together with other code, by the names of its blocks, and with `prose` if given.

    The prose has a line for each block, as in the result of `split_mixed`.
    """
    found = list(_pieces(given))
    if prose is None:
        rows = [
            piece.holding(code.get(piece.block.name, piece.block.text)) if piece.block else piece.lines
            for piece in found
        ]
    else:
        written = {f"({p.block.name})": p.holding(code.get(p.block.name, p.block.text)) for p in found if p.block}
        rows = [written.get(line.strip(), [line]) for line in prose.split("\n")]
    whole = "\n".join(line for lines in rows for line in lines)
    return whole.replace("\n", "\r\n") if "\r\n" in given else whole


def prose_of(blocks: Sequence[Block], rest: str) -> str:
    """The rest of a split text without the lines that name its blocks."""
    names = {f"({block.name})" for block in blocks}
    return "\n".join(line for line in rest.split("\n") if line not in names).strip()


def snippets(blocks: Sequence[Block]) -> tuple[Changed, ...]:
    """Blocks as new files."""
    return tuple(Changed(block.name, None, block.text, ((1, block.text.count("\n")),)) for block in blocks)


def _opens(line: str) -> re.Match[str] | None:
    found = FENCE.fullmatch(line)
    # Backticks with another backtick later in the line are a span of code in a sentence, not a fence.
    return None if found is None or (found["fence"][0] == "`" and "`" in found["info"]) else found


def _fenced(lines: Sequence[str], at: int, opening: re.Match[str]) -> tuple[list[str], int]:
    sign = opening["fence"]
    body: list[str] = []
    for n in range(at + 1, len(lines)):
        line = lines[n].strip()
        if len(line) >= len(sign) and not line.strip(sign[0]):
            return body, n + 1
        body.append(_outdented(lines[n], opening["indent"]))
    while body and not body[-1].strip():
        body.pop()
    return body, len(lines)


def _outdented(line: str, indent: str) -> str:
    shared = 0
    while shared < min(len(indent), len(line)) and line[shared] == indent[shared]:
        shared += 1
    return line[shared:]


def _ending(info: str, body: Sequence[str]) -> str:
    words = re.split(r"[\s{,:]+", info.strip().strip("{").lstrip(".").lower(), maxsplit=1)
    word = words[0] if words else ""
    known = ENDINGS.get(word) or (word if word in SAME_ENDINGS else "")
    first = next((n for n, line in enumerate(body) if line.strip()), 0)
    return known or ("diff" if diff_end(body, first) else "txt")


# Which kind of text it is, how certain that is, and why.

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
CODE = frozenset(f".{ending}" for ending in {*ENDINGS.values(), *SAME_ENDINGS, *ENDINGS} - {"md", "markdown"})


@frozen
class Guess:
    """The kind that a text seems to be."""

    kind: Kind
    confidence: Confidence
    why: str


def detect(text: str, name: str = "") -> Guess:
    """Guess the kind of a message, or of a file, first by its name."""
    ending = PurePath(name).suffix.lower()
    if ending in CODE:
        return Guess("code", "high", f"{PurePath(name).name} is a file of code")
    blocks, rest = split_mixed(text)
    prose = prose_of(blocks, rest)
    heading = HEADING.search(prose)
    if blocks:
        what = "a diff" if blocks[0].is_diff else "fenced code"
        if heading:
            return Guess("mixed", "medium", f"it contains {what} and the heading {_shown(heading)!r}")
        inside = sum(len(block.text) for block in blocks)
        if 2 * inside >= inside + len(prose):
            return Guess("code", "high", f"most of it is {what}")
        return Guess("code", "medium", f"it contains {what}, and more words than code")
    if heading:
        return Guess("proposal", "high", f"it has the heading {_shown(heading)!r}")
    lines = [line for line in text.split("\n") if line.strip()]
    share = sum(CODE_LINE.match(line[:400]) is not None for line in lines) / max(1, len(lines))
    if share >= 0.6 and len(lines) > 1:
        return Guess("code", "medium", "its lines look like code, though nothing is fenced")
    if share >= 0.3 and len(lines) > 3:
        return Guess("proposal", "low", "some of its lines look like code and some do not, and nothing is fenced")
    if len(text) < SHORT:
        return Guess("proposal", "medium", "it is short and contains no code, so all of it is used")
    return Guess(
        "proposal", "low", f"it is longer than {SHORT:,} characters and has neither fenced code nor a telling heading"
    )


def _shown(heading: re.Match[str]) -> str:
    return heading[0].split("\n")[0].strip("#*_ \t")
