"""The gate's policy and the shared dismissals, read from the base commit: no change can weaken its own review."""

from __future__ import annotations

import re
from pathlib import Path

from rebut.ci.dismissals import LARGEST_LIST, SHARED, Dismissal, parse_dismissals
from rebut.core.errors import ConfigError
from rebut.core.frozen import frozen
from rebut.domain.gate_policy import Wish
from rebut.setup.config_files import LARGEST_FILE, REPO_FILE, gate_wish, parse, repository_file
from rebut.workspace.git import Git, GitFailed


@frozen
class Basis:
    """Policy and dismissals of a base commit; empty if there is no base commit (outside git, or for a text)."""

    commit: str = ""
    wish: Wish = Wish()
    dismissals: tuple[Dismissal, ...] = ()

    @property
    def source(self) -> str:
        return f"{REPO_FILE} at commit {self.commit[:12]}"


async def read_basis(root: Path, base: str) -> Basis:
    """Read policy and dismissals from a commit, never from the files as they are now."""
    if not base:
        return Basis()
    git = await Git.open(root)
    if git is None:
        raise ConfigError(
            f"the gate's policy is in commit {base[:12]}, but git cannot read a repository in {root}",
            "Run the gate where the review was made.",
        )
    try:
        policy = await _file(git, base, REPO_FILE, LARGEST_FILE)
        shared = await _file(git, base, SHARED, LARGEST_LIST)
    finally:
        await git.close()
    found = parse_dismissals(_decoded(shared, base), f"{SHARED} at commit {base[:12]}")
    return Basis(base, policy_of(policy, f"{REPO_FILE} at commit {base[:12]}"), found)


async def _file(git: Git, base: str, path: str, cap: int) -> bytes:
    """A regular file of a commit; empty if there is none of that name."""
    try:
        entry = await git.run("ls-tree", "-z", "--full-tree", base, "--", path)
        if not entry:
            return b""
        mode, _, oid = entry.partition(b"\t")[0].decode().split(" ")
        if not mode.startswith("100"):
            raise ConfigError(f"{path} at commit {base[:12]} is not a regular file", "Commit a regular file instead.")
        data = await git.object(oid, cap)
    except GitFailed as error:
        raise ConfigError(
            f"the gate's policy is in commit {base[:12]}, which cannot be read: {error.message}",
            "Fetch that commit; a shallow clone may not have it.",
        ) from error
    if isinstance(data, bytes):
        return data
    what = "is not in this clone" if data is None else f"is larger than {cap:,} bytes"
    raise ConfigError(f"{path} at commit {base[:12]} {what}", "Fetch it, or make it smaller.")


def policy_of(raw: bytes, where: str) -> Wish:
    """The `[gate]` table of a repository's config file; an error names the line."""
    table = {key: value for key, value in parse(raw, where).items() if key == "gate"}
    try:
        return gate_wish(repository_file(table, where))
    except ConfigError as error:
        wrong = re.search(r": (?:unknown key )?(gate(?:\.\w+)?)", error.message)
        line = _line(raw.decode("utf-8", "replace"), wrong[1] if wrong else "gate")
        rest = error.message.removeprefix(where)
        raise ConfigError(f"{where}, line {line}{rest}", error.hint) from error


def _line(text: str, key: str) -> int:
    """The line on which a key of the `[gate]` table is set, or the table begins."""
    name = key.partition(".")[2]
    inside, first = False, 1
    for n, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[([^\]]*)\]", line):
            inside = head[1].strip() == "gate"
            first = n if inside else first
        elif re.match(rf"\s*gate\s*(?:=|\.\s*{name}\b)", line) or (inside and re.match(rf"\s*{name}\b", line)):
            return n
    return first


def _decoded(raw: bytes, base: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError(f"{SHARED} at commit {base[:12]}, line {line}: not UTF-8", "Save it as UTF-8.") from error
