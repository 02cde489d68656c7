"""Dismissals: findings that stay hidden until the lines that they cite change; and whole classes of findings.

A private list is in the user's state folder, a shared one in the repository.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, fields
from pathlib import Path

from rebut.ci.cited_place import Cited, cited_place
from rebut.core import files
from rebut.core.errors import ConfigError, UsageError
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import cut
from rebut.domain.review_result import ReviewFinding, ReviewResult
from rebut.record import folder_claims, sessions as session
from rebut.workspace.targets.git_change import DISMISSALS
from rebut.workspace.targets.target import Target
from rebut.workspace.targets.unread import covers

SHARED = DISMISSALS
LARGEST_LIST = 10_000_000
LONGEST_REASON = 500


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
        raise UsageError(f"{finding.id} has neither a rule nor a category, so --like cannot be used with it")
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


def load_dismissals(file: Path, *, private: bool) -> tuple[Dismissal, ...]:
    try:
        raw = files.read(file, LARGEST_LIST + 1)
        if len(raw) > LARGEST_LIST:
            raise ConfigError(f"{file} is larger than {LARGEST_LIST:,} bytes", "Remove expired lines.")
        return parse_dismissals(raw.decode("utf-8-sig", "replace"), str(file))
    except FileNotFoundError:
        return ()
    except NotADirectoryError as error:
        above = next((place for place in reversed(file.parents) if not place.is_dir()), file.parent)
        hint = session.how_to_move() if private else f"Move {above} away: rebut needs a folder of that name."
        raise ConfigError(f"cannot read {file}: {above} is not a folder", hint) from error
    except OSError as error:
        hint = f"Check its permissions. Or: {session.how_to_move()}" if private else "Check its permissions."
        raise ConfigError(f"cannot read {file}: {error.strerror}", hint) from error


def add(file: Path, one: Dismissal, *, private: bool) -> None:
    """Save a dismissal; it replaces one with the same id."""
    with _locked(file):
        _write(file, [*(d for d in load_dismissals(file, private=private) if d.id != one.id), one], private=private)


def remove(file: Path, id: str, *, private: bool) -> Dismissal | None:
    with _locked(file):
        every = load_dismissals(file, private=private)
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
