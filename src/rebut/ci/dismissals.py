"""Dismissals: findings that stay hidden until the lines that they cite change; and whole classes of findings.

A private list is in the user's state folder, a shared one in the repository. For a gate, policy and shared dismissals
are read from the base commit, so that no change can weaken its own review.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, fields
from pathlib import Path

from rebut.core import files
from rebut.core.citation_syntax import exact_place, understand
from rebut.core.errors import ConfigError, UsageError
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.redaction import PLACEHOLDER
from rebut.core.text import cut, squeeze
from rebut.core.types import Changed
from rebut.domain.gate_policy import Wish
from rebut.domain.review_result import ReviewFinding, ReviewResult
from rebut.record import folder_claims, sessions as session
from rebut.setup.config_files import LARGEST_FILE, REPO_FILE, gate_wish, parse, repository_file
from rebut.workspace.git import Git, GitFailed
from rebut.workspace.targets.git_change import DISMISSALS
from rebut.workspace.targets.target import Target
from rebut.workspace.targets.unread import covers

SHARED = DISMISSALS
LARGEST_LIST = 10_000_000
LONGEST_REASON = 500


# Lines that a finding cites


@frozen
class Cited:
    """A place in a file, and its lines. Lines count from 1; 0 if none is named."""

    path: str
    first: int = 0
    last: int = 0
    lines: tuple[str, ...] = ()
    """Empty if the text at that place is unknown."""
    nth: int = 1
    of: int = 1
    """Which occurrence of these lines in the file this is (1-based), and how many there are."""
    changed: bool = False
    """It is in the new version of a changed file."""

    @property
    def digest(self) -> str:
        """A hash of the lines, independent of line ends and position.

        A secret counts by its kind: its placeholder differs in every session.
        """
        plain = (PLACEHOLDER.sub(_kind, line.rstrip("\r")) for line in self.lines)
        text = "\n".join(plain) + f"\n{self.nth}/{self.of}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def cited_place(finding: ReviewFinding, target: Target) -> Cited | None:
    """The place that a finding cites; None if that is no file."""
    found = _place(finding.place, target)
    if found is None:
        return None
    change, path, first, last = found
    quote = finding.quote if finding.mark in ("found", "moved") else ""
    if change is None:
        return Cited(path, first, last, tuple(quote.splitlines()))
    text, is_new = _side(change, quote)
    every = text.split("\n") if text else []
    if every and every[-1] == "":
        every.pop()
    first, last = _spanned(every, min(first, len(every)), min(last, len(every)), quote)
    lines = tuple(every[first - 1 : last]) if first else tuple(every)
    nth, of = _which(every, lines, first) if first else (1, 1)
    return Cited(change.path, first, last, lines, nth, of, is_new)


def _place(place: str, target: Target) -> tuple[Changed | None, str, int, int] | None:
    # First, paths of the change as they are: they may contain what the citation syntax does not allow.
    changes = {c.path: c for c in target.changes}
    if exact := exact_place(place, changes):
        return changes[exact.path], exact.path, exact.start, exact.end
    read = understand(place)
    if not read.path:
        return None
    path = read.path.removeprefix("./")
    names = (path, path[2:]) if path.startswith(("a/", "b/")) else (path,)
    mine = [c for c in target.changes if c.path in names or c.old_path in names]
    mine = mine or [c for c in target.changes if c.path.endswith(f"/{path}")]
    if len(mine) == 1:
        return mine[0], mine[0].path, read.start, read.end
    return (None, path, read.start, read.end) if read.kind == "file" else None


def _side(change: Changed, quote: str) -> tuple[str, bool]:
    """The version with the quote, old or new; the new one if that is unclear."""
    if change.after is None:
        return change.before or "", False
    if quote and change.before is not None:
        words = squeeze(quote)
        if words not in squeeze(change.after) and words in squeeze(change.before):
            return change.before, False
    return change.after, True


def _spanned(every: Sequence[str], first: int, last: int, quote: str) -> tuple[int, int]:
    """First and last line, extended to the quoted lines; found by the quote if no line is named."""
    rows = [row for row in quote.splitlines() if row.strip()]
    if not rows:
        return first, last
    words = squeeze(quote)
    if not first:
        starts = (n for n, line in enumerate(every, 1) if squeeze(rows[0]) in squeeze(line))
        first = last = next(starts, 0)
    span = len(quote.strip("\r\n").splitlines())
    if first and span > last - first + 1 and words in squeeze("\n".join(every[first - 1 : first - 1 + span])):
        last = min(len(every), first - 1 + span)
    return first, last


def _which(every: Sequence[str], lines: Sequence[str], first: int) -> tuple[int, int]:
    """Which of all blocks with these lines this is, and how many there are. One more block makes it another one."""
    block, count = list(lines), len(lines)
    starts = [n for n, line in enumerate(every, 1) if line == block[0] and list(every[n - 1 : n - 1 + count]) == block]
    return starts.index(first) + 1, len(starts)


def _kind(found: re.Match[str]) -> str:
    return found[0].rpartition(":")[0]


# One dismissal


EVERY_LINE = "*"
RULE = re.compile(r"\(([A-Za-z][\w-]{0,40} [\w./:@-]{1,80})\)\.")
"""How the critic `lint` names an analyser and its rule in the text of a finding."""


@frozen
class Dismissal:
    """What is dismissed (path, category, lines), with the reason and the text of the finding for readers.

    With `*` for its lines, it dismisses a class: all findings of a rule or a category in the files of a glob.
    """

    path: str
    """Of a class: a path, a folder or a glob."""
    category: str
    lines: str
    """The hash of the cited lines, or `*`."""
    reason: str
    place: str = ""
    text: str = ""
    session: str = ""
    at: str = ""
    rule: str = ""
    """Of a class: the analyser and its rule, such as `ruff S101`; empty for all findings of the category."""

    @property
    def is_class(self) -> bool:
        return self.lines == EVERY_LINE

    @property
    def id(self) -> str:
        """The same id for the same finding, however it is worded."""
        bound = "\0".join((self.path, self.category, self.lines, *([self.rule] if self.rule else [])))
        return f"d{hashlib.sha256(bound.encode('utf-8', 'replace')).hexdigest()[:8]}"

    def covers(self, finding: ReviewFinding, place: Cited | None, rule: str = "") -> bool:
        """Whether it dismisses a finding. `rule` is that of an analyser; no other participant has rules."""
        if self.is_class:
            alike = rule == self.rule if self.rule else finding.category == self.category
            return place is not None and alike and covers(self.path, place.path)
        if place is None or not place.lines:
            return False
        return (place.path, finding.category, place.digest) == (self.path, self.category, self.lines)

    def to_line(self) -> str:
        said: Mapping[str, Json] = {"id": self.id, **asdict(self)}
        return json.dumps(said, ensure_ascii=False) + "\n"


def dismissal(finding: ReviewFinding, target: Target, reason: str, session: str, at: str) -> Dismissal:
    """A dismissal of a finding, valid until the lines it cites change."""
    if not reason.strip():
        raise UsageError(f"a reason is needed to dismiss {finding.id}", "Add --reason TEXT.")
    place = cited_place(finding, target)
    if place is None or not place.lines:
        what = f"cites {finding.place}, whose text is not on record" if finding.place else "cites no lines"
        raise UsageError(
            f"{finding.id} {what}, so a dismissal could never expire",
            "Only a finding that cites lines of the change, or quotes what it cites, can be dismissed.",
        )
    return Dismissal(
        path=place.path,
        category=finding.category,
        lines=place.digest,
        reason=cut(reason, LONGEST_REASON),
        place=finding.place,
        text=cut(finding.text, 200),
        session=session,
        at=at,
    )


def dismissal_of_class(
    finding: ReviewFinding, made: ReviewResult, glob: str, reason: str, session: str, at: str
) -> Dismissal:
    """A dismissal of all findings like this one, in the files of a glob: of its rule, else of its category."""
    if not reason.strip():
        raise UsageError(f"a reason is needed to dismiss what is like {finding.id}", "Add --reason TEXT.")
    if not glob.strip("*/. "):
        raise UsageError(
            f"--glob {glob!r} names no files in particular" if glob else f"--like {finding.id} needs a glob",
            "Say where it is right to ignore this, for example --glob 'tests/*'.",
        )
    rule = rule_of(finding, made)
    what = rule or finding.category
    if not what:
        raise UsageError(f"{finding.id} has neither a rule nor a category, so nothing is like it")
    return Dismissal(
        path=glob,
        category=finding.category or "other",
        lines=EVERY_LINE,
        reason=cut(reason, LONGEST_REASON),
        place=glob,
        text=f"every finding of {what}",
        session=session,
        at=at,
        rule=rule,
    )


def rule_of(finding: ReviewFinding, made: ReviewResult) -> str:
    """The analyser and its rule; empty if a model raised the finding, whatever its text says."""
    found = RULE.search(finding.text) if made.analysed and finding.voices == ("critic",) else None
    return found[1] if found else ""


def parse_dismissals(text: str, where: str) -> tuple[Dismissal, ...]:
    """Dismissals from a file with one JSON object per line. `where` names the file in errors."""
    found: dict[str, Dismissal] = {}
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip():
            one = _read(line, f"{where}, line {n}")
            found[one.id] = one
    return tuple(found.values())


def _read(line: str, where: str) -> Dismissal:
    hint = "A line is one JSON object as `rebut dismiss` writes it; fix or remove it."
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: not JSON", hint) from error
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: not an object", hint)
    names = [f.name for f in fields(Dismissal)]
    for name in names:
        if not isinstance(data.get(name, ""), str) or (name in names[:4] and not data.get(name)):
            raise ConfigError(f"{where}: {name!r} is missing or not a text", hint)
    return Dismissal(**{name: data[name] for name in names if name in data})


def matching(made: ReviewResult, target: Target, dismissals: Iterable[Dismissal]) -> dict[str, Dismissal]:
    """Finding id → its dismissal, for all dismissed findings."""
    every = list(dismissals)
    found: dict[str, Dismissal] = {}
    for finding in made.findings if every else ():
        place, rule = cited_place(finding, target), rule_of(finding, made)
        for one in every:
            if one.covers(finding, place, rule):
                found[finding.id] = one
    return found


# The lists of dismissals


def private_file(sessions: Path, workspace: Path) -> Path:
    """The user's private list for a repository, beside the sessions."""
    key = hashlib.sha256(str(repository(workspace)).encode("utf-8", "replace")).hexdigest()[:16]
    return sessions.parent / "dismissals" / f"{key}.jsonl"


def shared_file(workspace: Path) -> Path:
    """The shared list in the working tree. A symbolic link is refused: it could point anywhere."""
    file = repository(workspace) / SHARED
    for place in (file.parent, file):
        if place.is_symlink():
            raise UsageError(
                f"{place} is a symbolic link, which rebut does not follow", "Replace it with a regular file."
            )
    return file


def load_dismissals(file: Path) -> tuple[Dismissal, ...]:
    try:
        raw = files.read(file, LARGEST_LIST + 1)
        if len(raw) > LARGEST_LIST:
            raise ConfigError(f"{file} is larger than {LARGEST_LIST:,} bytes", "Remove expired lines.")
        return parse_dismissals(raw.decode("utf-8-sig", "replace"), str(file))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}", "Check its permissions.") from error


def add(file: Path, one: Dismissal, *, private: bool) -> None:
    """Save a dismissal; the same one again replaces the first."""
    with _locked(file):
        _write(file, [*(d for d in load_dismissals(file) if d.id != one.id), one], private=private)


def remove(file: Path, id: str, *, private: bool) -> Dismissal | None:
    with _locked(file):
        every = load_dismissals(file)
        gone = next((d for d in every if d.id == id), None)
        if gone is not None:
            _write(file, [d for d in every if d.id != id], private=private)
    return gone


def _locked(file: Path) -> AbstractContextManager[None]:
    """Lock a list from reading to writing: without it, one of two writers would undo the other's change."""
    return folder_claims.alone(session.home(), file)


def _write(file: Path, every: list[Dismissal], *, private: bool) -> None:
    """Write the list atomically."""
    text = "".join(one.to_line() for one in every)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o777)
        files.write(file, text.encode("utf-8", "replace"), 0o600 if private else 0o666)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error


# Policy and dismissals of the base commit


@frozen
class Basis:
    """Policy and dismissals of a base commit; empty without one (outside git, or for a text)."""

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
    """The `[gate]` table of a repository's file; an error has its line."""
    table = {key: value for key, value in parse(raw, where).items() if key == "gate"}
    try:
        return gate_wish(repository_file(table, where))
    except ConfigError as error:
        wrong = re.search(r": (?:unknown key )?(gate(?:\.\w+)?)", error.message)
        line = _line(raw.decode("utf-8", "replace"), wrong[1] if wrong else "gate")
        told = error.message.removeprefix(where)
        raise ConfigError(f"{where}, line {line}{told}", error.hint) from error


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
