"""The code and the proposal in one text, split by fixed rules: fenced blocks and diffs are code, the rest is not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rebut.core.types import Changed

FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
BETWEEN = re.compile(
    r"diff --git |index [0-9a-f]+|(?:old|new|deleted file|new file) mode |(?:dis)?similarity index |"
    r"(?:rename|copy) (?:from|to) |--- \S|\+\+\+ \S|Binary files .* differ|\\ No newline"
)
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
SAME = frozenset(
    (
        *("c", "h", "java", "php", "sql", "json", "toml", "html", "css", "scss", "jsx", "tsx", "swift", "lua", "r"),
        *("xml", "ini", "vue", "zig", "dart", "ex", "scala"),
    )
)


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of code in a text."""

    name: str
    text: str

    @property
    def is_diff(self) -> bool:
        return self.name.endswith(".diff")


def split_mixed(text: str) -> tuple[tuple[Block, ...], str]:
    """The blocks of code, and the rest, in which a line names each block where it stood.

    A fence is closed by one of the same sign that is at least as long; one that is never closed reaches to the end. It
    may be indented by any amount, as in a list. A diff without a fence ends where its hunks do.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    blocks: list[Block] = []
    rest: list[str] = []
    at = 0
    while at < len(lines):
        if opening := _opens(lines[at]):
            body, at = _fenced(lines, at, opening)
            ending = _ending(opening["info"], body)
        elif end := diff_end(lines, at):
            body, ending = lines[at:end], "diff"
            at = end
        else:
            rest.append(lines[at])
            at += 1
            continue
        if any(line.strip() for line in body):
            blocks.append(Block(f"snippet-{len(blocks) + 1}.{ending}", "\n".join(body) + "\n"))
            rest.append(f"({blocks[-1].name})")
    return tuple(blocks), "\n".join(rest) if any(line.strip() for line in rest) else ""


def prose_of(blocks: Sequence[Block], rest: str) -> str:
    """The rest of a split text without the lines that stand for its blocks."""
    names = {f"({block.name})" for block in blocks}
    return "\n".join(line for line in rest.split("\n") if line not in names).strip()


def snippets(blocks: Sequence[Block]) -> tuple[Changed, ...]:
    """Blocks as files that were not there before."""
    return tuple(Changed(block.name, None, block.text, ((1, block.text.count("\n")),)) for block in blocks)


def _opens(line: str) -> re.Match[str] | None:
    found = FENCE.fullmatch(line)
    # With a backtick in what follows it is a span of code in a sentence.
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
    known = ENDINGS.get(word) or (word if word in SAME else "")
    first = next((n for n, line in enumerate(body) if line.strip()), 0)
    return known or ("diff" if diff_end(body, first) else "txt")


def diff_end(lines: Sequence[str], at: int) -> int:
    """Where the diff that begins at a line ends; 0 if none begins there."""
    if at >= len(lines) or not (lines[at].startswith("diff --git ") or _is_head(lines, at)):
        return 0
    end = at
    while end < len(lines):
        if hunk := HUNK.match(lines[end]):
            end = _hunk_end(lines, end + 1, int(hunk[1] or 1), int(hunk[2] or 1))
        elif BETWEEN.match(lines[end]):
            end += 1
        else:
            break
    return end


def _is_head(lines: Sequence[str], at: int) -> bool:
    return (
        lines[at].startswith("--- ")
        and at + 2 < len(lines)
        and lines[at + 1].startswith("+++ ")
        and HUNK.match(lines[at + 2]) is not None
    )


def _hunk_end(lines: Sequence[str], at: int, old: int, new: int) -> int:
    while at < len(lines) and (old > 0 or new > 0):
        sign = lines[at][:1] or " "  # mail and editors take the only space of an empty line away
        if sign not in " +-\\":
            break
        old -= sign in " -"
        new -= sign in " +"
        at += 1
    return at
