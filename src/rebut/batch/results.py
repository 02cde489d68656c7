"""The results of a batch: a file of rows, and beside it the journal that says which session belongs to which line."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from rebut.core import files
from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.redaction import Redactor, by_kind
from rebut.core.text import cut

JOURNAL = ".journal"
"""The ending of the journal's name."""
TOPIC = 300
"""Characters of a topic in a row."""


@frozen
class ResultRow:
    """How the debate of one line ended: with an outcome or with a failure."""

    id: str | int
    line: int
    line_hash: str
    protocol: str
    session: str | None
    outcome: str = ""
    heading: str = ""
    decision: str = ""
    winner: str | None = None
    conclusive: bool = False
    failure: str = ""
    """The class of the failure; empty if there is an outcome."""
    error: str = ""
    hint: str = ""
    usd: float | None = 0.0
    """None if the price of a call is unknown."""
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    exit: int = 0
    review: str = ""
    """What a review comes to, such as `2 problems to fix (1 P1, 1 P2)`."""
    arm: str = ""
    limit: str = ""
    """The limit of the whole batch that stopped it, such as `usd`."""
    topic: str = ""
    """The beginning of the topic, so that the same question in several arms can be compared."""

    @property
    def ending(self) -> str:
        """How the debate ended, for counting: without its own answer."""
        return self.review or self.heading.partition(": ")[0]

    def to_json(self) -> dict[str, Json]:
        without = (ENDED if self.failure else FAILED) + tuple(n for n in LATER if not getattr(self, n))
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in without}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ResultRow:
        return cls(**{one.name: data[one.name] for one in fields(cls) if one.name in data})


ENDED, FAILED = ("outcome", "heading", "decision", "winner", "conclusive"), ("failure", "error", "hint")
"""The fields of a row that only an outcome has, and those that only a failure has."""
LATER = ("review", "arm", "limit", "topic")
"""Fields that are left out where they are empty."""


def total_usd(costs: Iterable[float | None]) -> float | None:
    """The sum; None if the price of one of them is unknown."""
    known = list(costs)
    return None if None in known else sum(cost or 0.0 for cost in known)


def topic_of_row(topic: str) -> str:
    """A topic for a row: each secret as its kind alone, so that equal topics of several sessions stay equal."""
    return cut(by_kind(Redactor(b"rows").redact(topic)), TOPIC)


class Results:
    """The files of a batch, open for writing. Opening cuts off a last line that a killed process left unfinished."""

    def __init__(self, path: Path) -> None:
        self.path, self.journal = path, path.with_name(path.name + JOURNAL)
        files.refuse_link(path)
        ours = self.journal.exists()
        try:
            if not ours and path.exists() and path.stat().st_size:
                raise UsageError(
                    f"{path} already exists and is not a result of `rebut batch`: {self.journal.name} is not beside it",
                    "Choose another name with --out.",
                )
            self._lock = _appended(self.journal)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"another process is writing {path}", "Wait until it ends, or choose another name with --out."
                ) from None
            self._file = _appended(path)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}", "Choose another name with --out.") from None
        self.rows = _last(_rows(path))
        """The last row of each line, by the line's hash."""
        self.sessions()  # repairs the journal

    def sessions(self) -> dict[str, str]:
        """The last session of each line, by the line's hash."""
        return {row["line_hash"]: row["session"] for row in _rows(self.journal) if row["line_hash"]}

    def note_lines(self, source: str, count: int) -> None:
        """Record how many lines the batch has and where they are from, for `status`."""
        _write(self._lock, {"line_hash": "", "session": "", "source": source, "lines": count})

    def done(self, line_hash: str) -> bool:
        """Whether a debate has ended. A failed debate counts as not ended: it is resumed."""
        return line_hash in self.rows and not self.rows[line_hash].failure

    def add(self, row: ResultRow) -> None:
        _write(self._file, row.to_json())
        self.rows[row.line_hash] = row

    def close(self) -> None:
        os.close(self._file)
        os.close(self._lock)


@frozen
class BatchState:
    """What the files of a batch say about it. Nothing is written to read them."""

    source: str
    """Where its lines are from."""
    lines: int
    """The number of its lines; 0 if an earlier version ran it."""
    rows: tuple[ResultRow, ...]
    open: tuple[str, ...]
    """The sessions that have begun and have no result yet."""
    running: bool
    """Whether a process works on it."""


def state_of(path: Path) -> BatchState:
    journal = path.with_name(path.name + JOURNAL)
    if not path.exists() or not journal.exists():
        raise UsageError(
            f"{path} is not a result of `rebut batch`" if path.exists() else f"there is no file {path}",
            "Give the file that --out named; its journal is beside it.",
        )
    rows, begun = _last(_rows(path, repaired=False)), _rows(journal, repaired=False)
    said = [row for row in begun if not row["line_hash"]]
    open_sessions = {row["line_hash"]: row["session"] for row in begun if row["line_hash"]}
    return BatchState(
        str(said[-1].get("source", "")) if said else "",
        int(said[-1].get("lines", 0)) if said else 0,
        tuple(rows.values()),
        tuple(session for line_hash, session in open_sessions.items() if line_hash not in rows),
        _locked(journal),
    )


def _locked(journal: Path) -> bool:
    file = os.open(journal, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def ended(path: Path) -> set[str]:
    """The hashes of the lines that have ended, by a file of results that may not exist yet. Nothing is written."""
    rows = _rows(path, repaired=False) if path.exists() and path.with_name(path.name + JOURNAL).exists() else []
    return {line_hash for line_hash, row in _last(rows).items() if not row.failure}


def begun(path: Path) -> dict[str, str]:
    """The last session of each line that began and has not ended, by the line's hash. Nothing is written."""
    journal = path.with_name(path.name + JOURNAL)
    done = ended(path)
    rows = _rows(journal, repaired=False) if journal.exists() else []
    return {row["line_hash"]: row["session"] for row in rows if row["line_hash"] and row["line_hash"] not in done}


def _last(rows: list[dict[str, Any]]) -> dict[str, ResultRow]:
    return {row["line_hash"]: ResultRow.from_json(row) for row in rows}


def note_session(journal: Path, line_hash: str, session: str) -> None:
    """Record the session of a line before its first call. Several processes may do so at once."""
    file = _appended(journal)
    try:
        _write(file, {"line_hash": line_hash, "session": session})
    finally:
        os.close(file)


def _appended(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)


def _write(file: int, row: Mapping[str, Any]) -> None:
    data = (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    size = os.fstat(file).st_size
    written = os.write(file, data)
    if written < len(data):
        os.ftruncate(file, size)
        raise OSError(28, "the disk is full")
    os.fsync(file)


def _rows(path: Path, *, repaired: bool = True) -> list[dict[str, Any]]:
    """The rows of a file; with `repaired`, an unfinished last line is cut off."""
    data = files.read(path)
    whole = data.rfind(b"\n") + 1
    rows = list[dict[str, Any]]()
    for number, raw in enumerate(data[:whole].split(b"\n")[:-1], 1):
        try:
            row = json.loads(raw)
            row["line_hash"], row["session"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UsageError(
                f"{path}, line {number}: not a row of `rebut batch`", "Restore the file, or choose another --out."
            ) from None
        rows.append(row)
    if repaired and whole < len(data):
        os.truncate(path, whole)
    return rows
