"""The journal: one debate's events on disk, appended durably, each line with the hash of the line before.

The interface is small (`read`, `Journal.open`, `append`): a database implements it, too (`record/postgres`), with the
same lines. Three rules:

* number, hash and write happen without an await in between, so that lines cannot interleave or overtake each other;
* events that arrive together are made durable by one fdatasync, and `append` returns only then;
* a short write is cut back to the last whole line; after a failed sync nothing more is written, because it is
  unknown what is on disk.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rebut.core import files
from rebut.core.errors import RecordAltered, RecordError, RecordLost, RecordNewer, RecordPoisoned, SessionBusy
from rebut.core.frozen import frozen
from rebut.core.json_value import count
from rebut.core.process_identity import own_start, runs
from rebut.core.text import encoded
from rebut.core.working_time import WorkingTime
from rebut.record import stores
from rebut.record.events import SCHEMA, Event, Line, from_json, to_json
from rebut.record.record import Record

if TYPE_CHECKING:
    import asyncio

NAME = "journal.jsonl"
QUICK = 0.002
"""Seconds that the event loop may be blocked by a sync."""
ROOM = 8_000_000
"""Bytes that must be free before a call: twice the longest reply. A reply that cannot be stored is a waste of money."""
OTHER_HANDS = "The file was changed by something other than rebut. Nothing was written to it."
_sync = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


@frozen
class Read:
    """The content of a journal file."""

    lines: list[Line]
    good: int
    """Bytes up to the end of the last whole line."""
    torn: bytes
    """An unfinished tail: the process died while writing it."""
    last_hash: str


def digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()[:32]


def read(folder: Path) -> Read:
    """Read a journal without the lock."""
    if store := stores.of(folder.parent):
        return parsed(folder.name, b"".join(line + b"\n" for line in store.lines(folder.name)))
    try:
        data = files.read(folder / NAME)
    except OSError as error:
        raise RecordError(f"{folder.name}: the journal cannot be read ({error.strerror})") from error
    return parsed(folder.name, data)


def parsed(name: str, data: bytes) -> Read:
    """The content of a journal. Splits on the newline byte only: U+2028 in a text does not end a line."""
    lines: list[Line] = []
    prev, start = "", 0
    while (end := data.find(b"\n", start)) >= 0:
        raw = data[start:end]
        found = None
        try:
            found = json.loads(raw.decode())  # from bytes, `json` would first guess the encoding
            if not lines and found.get("schema", SCHEMA) > SCHEMA:
                raise RecordNewer(
                    f"{name}: written with event schema {found['schema']}, this rebut reads up to {SCHEMA}",
                    "Update rebut to read this session.",
                )
            line, follows = line_of(found), found["prev"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if end == len(data) - 1 and lines and not isinstance(found, dict):
                break  # the last line is garbage: a block that was never flushed
            raise RecordAltered(f"{name}: line {len(lines) + 1} of the journal is not an event", OTHER_HANDS) from error
        if follows != prev or line.seq != len(lines) + 1:
            raise RecordAltered(
                f"{name}: line {len(lines) + 1} of the journal does not follow from the line before it",
                OTHER_HANDS,
            )
        lines.append(line)
        prev, start = digest(raw), end + 1
    if lines and lines[0].event.kind != "opened":
        raise RecordAltered(f"{name}: the journal does not begin with its opening", OTHER_HANDS)
    return Read(lines, start, data[start:], prev)


class Tail:
    """Reads a journal while another process writes it: `take` returns the whole lines that were added since.

    After a crash, the end of the file may be cut off and replaced by other lines. `take` then returns all lines again,
    from the first. It does not check every hash: `read` does that.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._at, self._seq = folder, 0, 0
        self._last = ""
        """The hash of the last line that was taken."""

    def take(self) -> list[Line]:
        size, added = self._added()
        if size < self._at or not self._follows(added):
            self._at, self._seq, self._last = 0, 0, ""
            size, added = self._added()
        lines: list[Line] = []
        for number, raw in enumerate(added, 1):
            try:
                line = line_of(json.loads(raw.decode()))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                if number == len(added):  # it may be torn: the next process cuts it off
                    break
                raise RecordAltered(
                    f"{self._folder.name}: line {self._seq + 1} of the journal is not an event", OTHER_HANDS
                ) from error
            lines.append(line)
            self._at, self._seq = self._at + len(raw) + 1, self._seq + 1
        if lines:
            self._last = digest(added[len(lines) - 1])
        return lines

    def _added(self) -> tuple[int, list[bytes]]:
        """The size of the file, and its whole lines after those that were taken."""
        if store := stores.of(self._folder.parent):
            added = store.lines(self._folder.name, self._seq)
            return self._at + sum(map(len, added)), added
        try:
            with (self._folder / NAME).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size <= self._at:
                    return size, []
                file.seek(self._at)
                data = file.read()
        except OSError as error:
            raise RecordError(f"{self._folder.name}: the journal cannot be read ({error.strerror})") from error
        return size, data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]

    def _follows(self, added: list[bytes]) -> bool:
        """Whether `added` follows the last line that was taken. True for a single torn line: it may still follow."""
        if not self._at or not added:
            return True
        try:
            return bool(json.loads(added[0].decode())["prev"] == self._last)
        except (ValueError, KeyError, TypeError, RecursionError):
            return len(added) == 1


def line_of(found: Any) -> Line:
    """A line from its JSON; KeyError or TypeError if it is not one."""
    if not isinstance(found["at"], str):
        raise TypeError("its time is not a text")
    return Line(found["seq"], found["at"], from_json(found), count(found.get("ran")))


def _set_aside(folder: Path, found: Read) -> None:
    """Move a torn tail to a file of its own. Two tails may be torn at one place, if a resume dies as well."""
    for n in range(1000):
        with (
            suppress(FileExistsError),
            (folder / f"journal.torn-{found.good}{f'.{n}' if n else ''}").open("xb") as file,
        ):
            file.write(found.torn)
            file.flush()
            os.fsync(file.fileno())
            return
    said = f"session {folder.name}: too many unfinished ends of its journal have been set aside already"
    raise RecordError(said, f"Look at {folder}.")


DEAD_OWNER_WAIT = 5.0
"""Seconds to wait for a lock whose owner no longer runs."""


def take_lock(folder: Path) -> int:
    """Lock the session; `SessionBusy` while another process has it. Closing the returned descriptor unlocks it."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise RecordError(
            f"session {folder.name} cannot be written: {error.strerror}", f"The folder is {folder}."
        ) from error
    until = time.monotonic() + DEAD_OWNER_WAIT
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner, _, since = os.pread(lock, 200, 0).decode(errors="replace").partition(" ")
            # The owner was killed while it was starting another process: until that process has become a program of
            # its own, it shares the lock of its parent.
            if not runs(owner, since) and time.monotonic() < until:
                time.sleep(0.01)
                continue
            os.close(lock)
            by = f" (process {owner})" if owner else ""
            raise SessionBusy(
                f"session {folder.name} is being run by another process{by}",
                f"Wait for it to end, or watch it with `rebut show {folder.name}`.",
            ) from error
        return lock


async def opened_journal(folder: Path, listener: Callable[[Line], None] | None = None) -> Journal:
    """`Journal.open`, with a database in a thread: opening may take long, and other debates must continue meanwhile."""
    if stores.of(folder.parent) is None:
        return Journal.open(folder, listener)
    import asyncio

    return await asyncio.to_thread(Journal.open, folder, listener)


class Journal:
    """Writes a journal. Holds the session's lock from `open` to `close`."""

    at_once: ClassVar[bool] = True
    """Whether events that are written but not yet synced survive the death of this process."""
    _open: ClassVar[int] = 0
    """How many journals this process has open: a sync in the event loop delays one debate little, but many a lot."""

    def __init__(
        self, folder: Path, found: Read, listener: Callable[[Line], None] | None, lock: int = -1, fd: int = -1
    ) -> None:
        self.folder = folder
        self.record = Record(found.lines)
        self.torn = len(found.torn)
        self.working_time = WorkingTime()
        self.lost: RecordLost | None = None
        """Set when another process has taken the session over, which a database permits; a file lock cannot be lost."""
        self.on_lost: Callable[[], object] | None = None
        """Called in the event loop when that happens."""
        self._lock, self._fd = lock, fd
        self._seq, self._prev, self._good = len(found.lines), found.last_hash, found.good
        self._synced = found.good
        self._syncing = False
        self._waiting: list[asyncio.Future[None]] = []
        """Done when the current sync ends: one for each caller, so that cancelling one does not disturb the others."""
        self._poison = ""
        self._quick = False
        """Whether the last sync took so little time that going to a thread and back would take longer."""
        self._listener = listener

    @classmethod
    def open(cls, folder: Path, listener: Callable[[Line], None] | None = None) -> Journal:
        """Lock the session and open its journal, new or not. A torn tail is moved to another file, never deleted."""
        if store := stores.of(folder.parent):
            return store.open(folder, listener)
        lock = take_lock(folder)
        fd = -1
        try:
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()} {own_start(os.getpid())}".encode(), 0)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            fd = os.open(folder / NAME, flags, 0o600)
            found = read(folder) if os.fstat(fd).st_size else Read([], 0, b"", "")
            if found.torn:
                _set_aside(folder, found)
                os.ftruncate(fd, found.good)
        except (OSError, RecordError) as error:
            for opened in (fd, lock):
                if opened >= 0:
                    os.close(opened)
            if isinstance(error, RecordError):
                raise
            raise RecordError(
                f"session {folder.name} cannot be written: {error.strerror}", f"The folder is {folder}."
            ) from error
        Journal._open += 1
        return cls(folder, found, listener, lock, fd)

    def write(self, event: Event) -> None:
        """Write an event to the file. It is durable only after the next `sync`."""
        self._check()
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        seq, ran = self._seq + 1, round(self.working_time.seconds() * 1000)
        raw = encoded({"seq": seq, "prev": self._prev, "at": at, "ran": ran, **to_json(event)})
        self._put(raw + b"\n")
        self._seq, self._prev = seq, digest(raw)
        line = Line(seq, at, event, ran)
        self.record.add(line)
        if self._listener:
            self._listener(line)

    def _check(self) -> None:
        if self._poison:
            raise RecordPoisoned(
                f"session {self.folder.name}: the record stopped at event {self._seq} because {self._poison}",
                f"Look at the disk, then `rebut resume {self.folder.name}`.",
            )

    def _put(self, data: bytes) -> None:
        done = 0
        try:
            while done < len(data):
                done += os.write(self._fd, data[done:])
        except OSError as error:
            try:
                os.ftruncate(self._fd, self._good)
            except OSError:  # half a line is in the file: another one after it would make the record unreadable
                self._poison = f"a partly written event could not be removed ({error.strerror})"
            raise RecordError(
                f"session {self.folder.name}: an event could not be recorded ({error.strerror})",
                f"Everything before it is safe. Free some disk space, then `rebut resume {self.folder.name}`.",
            ) from error
        self._good += len(data)

    def no_room(self) -> RecordError | None:
        """An error if the disk is too full for one more answer. A file system that reports no size is trusted."""
        try:
            disk = os.fstatvfs(self._fd)
        except OSError:
            return None
        free = disk.f_frsize * (disk.f_bavail if os.geteuid() else disk.f_bfree)
        if not disk.f_blocks or free >= ROOM:
            return None
        return RecordError(
            f"session {self.folder.name}: the disk has {free // 1000:,} kB left, "
            f"and an answer may take {ROOM // 1000:,}",
            "The model was not asked: its answer would be paid for but could not be stored. "
            f"Free some disk space, then `rebut resume {self.folder.name}`.",
        )

    async def append(self, *events: Event) -> None:
        """Write events and wait until they are on disk."""
        for event in events:
            self.write(event)
        await self.sync()

    async def sync(self) -> None:
        """Wait until everything written so far is on disk. Callers that come while a sync runs share the next one."""
        import asyncio  # here: it takes long to load, and readers of a journal do not need it

        target = self._good
        while self._synced < target:
            # Each time: after a failed sync the next one may succeed although pages were lost.
            self._check()
            if not self._syncing and self._quick and Journal._open == 1:
                await asyncio.sleep(0)  # other tasks that are ready write first: one sync then serves them all
                if not self._syncing and self._synced < target:
                    self._sync_here()
                continue
            if not self._syncing:
                self._sync_in_thread()
                self._syncing = True
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    def _sync_here(self) -> None:
        try:
            self._timed_sync()
        except OSError as error:
            raise self._poisoned(error) from error
        self._synced = self._good

    def _sync_in_thread(self) -> None:
        from rebut.core.disk_threads import disk_threads

        upto = self._good

        def then(failed: OSError | RuntimeError | None) -> None:
            self._sync_ended(upto, self._poisoned(failed) if failed else None)

        disk_threads().run(self._timed_sync, then)

    def _sync_ended(self, upto: int, failed: RecordError | None) -> None:
        """Store the result and wake the waiting callers. A caller that comes before they run sees the result, too."""
        self._syncing = False
        if failed is None:
            self._synced = upto
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if waiter.done():  # cancelled
                continue
            if failed is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(failed)

    def _poisoned(self, error: Exception) -> RecordPoisoned:
        self._poison = f"the disk refused to sync ({getattr(error, 'strerror', error)})"
        return RecordPoisoned(
            f"session {self.folder.name}: {self._poison}; what was written last may be lost",
            f"Look at the disk, then `rebut resume {self.folder.name}`.",
        )

    def _timed_sync(self) -> None:
        began = time.perf_counter()
        _sync(self._fd)
        self._quick = time.perf_counter() - began < QUICK

    def close(self) -> None:
        """Flush, and release the lock."""
        if self._fd < 0:
            return
        with suppress(OSError):
            if not self._poison and self._synced < self._good:
                _sync(self._fd)
        with suppress(OSError):
            os.ftruncate(self._lock, 0)
        os.close(self._fd)
        os.close(self._lock)
        self._fd = self._lock = -1
        Journal._open -= 1
