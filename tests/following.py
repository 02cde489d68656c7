"""Follows a page of the docs word for word: saves what it says to save, types what it says to type, and compares."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
SAVED = re.compile(r"`([\w./-]+)`:\s*$")


@dataclass(frozen=True)
class Block:
    """One fenced block: a file to save, commands to type, or a table to check."""

    kind: str
    text: str
    saved_as: str = ""


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^````.*?^````$", "", text, flags=re.M | re.S)  # blocks of an example that is a text itself
    for found in BLOCK.finditer(text):
        named = SAVED.search(text[: found.start()])
        yield Block(found[1], found[2], named[1] if named else "")


class Reader:
    """Somebody at a shell, in an empty folder."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        bin = Path(sys.executable).parent
        self.shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**os.environ, **env, "PATH": f"{bin}:{os.environ['PATH']}", "COLUMNS": "120"},
        )

    def types(self, command: str) -> str:
        assert self.shell.stdin and self.shell.stdout
        end = uuid.uuid4().hex
        self.shell.stdin.write(f"{{ {command}\n}} </dev/null\necho {end}\n")
        self.shell.stdin.flush()
        seen = []
        for line in self.shell.stdout:
            if line.strip() == end:
                return "".join(seen)
            seen.append(line)
        raise AssertionError(f"the shell ended during: {command}\n{''.join(seen)}")

    def leaves(self) -> None:
        assert self.shell.stdin and self.shell.stdout
        self.shell.stdin.close()
        self.shell.wait()
        self.shell.stdout.close()

    def follows(self, block: Block) -> None:
        """Type each command after a `$`, and find the lines below it in its output, in order; `…` is anything."""
        for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            said = self.types(command)
            at = 0
            for line in expected.splitlines():
                if line.strip() == "…" or not line.strip():
                    continue
                wanted = ".*".join(re.escape(piece) for piece in line.rstrip().split("…"))
                found = re.compile(rf"^{wanted}", re.M).search(said, at)
                assert found, f"after `{command}` there is no line {line!r} in:\n{said}"
                at = found.end()
            assert expected.strip() or not said.strip(), f"`{command}` says what the page does not show:\n{said}"
