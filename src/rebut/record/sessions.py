"""The folders of sessions: one private folder each, found by id, prefix, alias or `last`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rebut.core import files
from rebut.core.errors import ODD_VALUE, RecordAltered, RecordError, UnknownSession, UsageError
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.process_identity import runs
from rebut.core.text import printable
from rebut.record import journal, stores
from rebut.record.events import Opened
from rebut.record.record import Record

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
SNAPSHOT = "snapshot"


@frozen
class FoundSession:
    """A session as a listing shows it."""

    id: str
    folder: Path
    at: str
    opened: Opened


def home(env: Mapping[str, str] | None = None) -> Path:
    """The folder with all sessions: `REBUT_HOME`, else the user's state folder. `REBUT_HOME` may name a database."""
    env = os.environ if env is None else env
    if (moved := env.get("REBUT_HOME")) and not stores.is_database(moved):
        if "://" in moved:  # the value is not shown: it may have a password in it
            raise UsageError(
                "REBUT_HOME is not a folder, and its kind of database is not supported",
                "Write a folder, or postgresql://USER@HOST:5432/NAME.",
            )
        return _owned(_owned(Path(moved).expanduser()) / "sessions")
    state = env.get("XDG_STATE_HOME") or str(Path(env.get("HOME") or Path.home()) / ".local" / "state")
    own = Path(state) / "rebut"
    return stores.database_root(moved, own) if moved else own / "sessions"


def how_to_move(env: Mapping[str, str] | None = None) -> str:
    """What to set if nothing can be stored in `home`. With a database, `home` has only copies of files."""
    moved = (os.environ if env is None else env).get("REBUT_HOME")
    name = "XDG_STATE_HOME" if moved and stores.is_database(moved) else "REBUT_HOME"
    return f"Set {name} to a folder that you can write to."


def _owned(folder: Path) -> Path:
    """The folder; UsageError if it belongs to another user, who could change every record in it, or is a file."""
    try:
        there = folder.stat()
    except OSError:
        return folder  # it does not exist yet, or the error appears when it is used
    owner = there.st_uid
    if not stat.S_ISDIR(there.st_mode):
        raise UsageError(f"REBUT_HOME: {folder} is not a folder", "Set it to a folder of your own.")
    if owner not in (os.geteuid(), 0):
        raise UsageError(f"REBUT_HOME: {folder} belongs to another user", "Set it to a folder of your own.")
    return folder


def create(root: Path) -> Path:
    """Claim a new session folder by exclusive mkdir, so that two processes never share one."""
    import secrets

    store = stores.of(root)
    try:
        if not root.is_dir():  # to ask is far quicker than to make a folder that is there
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            folder = root / "".join(secrets.choice(ALPHABET) for _ in range(8))
            if store:
                if store.create(folder.name):
                    folder.mkdir(mode=0o700, exist_ok=True)
                    return folder
                continue
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                continue
            (folder / journal.NAME).touch(mode=0o600)
            for made in (folder, root):
                _sync_folder(made)
            return folder
    except OSError as error:
        raise UsageError(
            f"no session can be stored in {root}: {error.strerror}", f"Nothing was called. {how_to_move()}"
        ) from error


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)  # else a power cut may lose the new entry, whatever was synced below it
    finally:
        os.close(fd)


FIRST_BYTES = 65_536


def first_event(folder: Path) -> FoundSession | None:
    """Read only the first line: fast enough for a listing of thousands."""
    if store := stores.of(folder.parent):
        return next((_found(folder, line) for line in store.lines(folder.name)[:1]), None)
    try:
        return _found(folder, _first_line(os.path.join(folder, journal.NAME)))  # noqa: PTH118  pathlib takes twice as long
    except OSError:
        return None


def _found(folder: Path, line: bytes) -> FoundSession | None:
    try:
        first = journal.line_of(json.loads(line))
        opened = first.event
        return FoundSession(folder.name, folder, first.at, opened) if isinstance(opened, Opened) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _first_line(path: str) -> bytes:
    """The first line of a file. Most are short; a file that is not a journal may have no line end at all."""
    start = files.read(path, FIRST_BYTES)
    return start.partition(b"\n")[0] if b"\n" in start else files.read(path).partition(b"\n")[0]


def sessions(root: Path) -> list[FoundSession]:
    """All sessions, newest first."""
    if store := stores.of(root):
        listed = (_found(root / id, line) for id, line in store.openings())
        return sorted((f for f in listed if f), key=lambda f: (f.at, f.id), reverse=True)
    if not root.is_dir():
        return []
    found = (first_event(root / name) for name in os.listdir(root) if not name.startswith("."))  # noqa: PTH208
    return sorted((f for f in found if f), key=lambda f: (f.at, f.id), reverse=True)


def of_workspace(root: Path, folder: Path) -> Iterator[FoundSession]:
    """The sessions that were started in this workspace, newest first: in the same repository, or the same folder."""
    here = repository(folder)
    known = {str(folder): True, "": False}
    for one in sessions(root):
        for there in (one.opened.workspace, one.opened.started_in):
            if there not in known:
                known[there] = repository(Path(there)) == here
            if known[there]:
                yield one
                break


def find(root: Path, name: str, workspace: Path | None = None) -> Path:
    """The folder of the session called `name`: an id, a unique prefix of one, a slug, an alias, or `last`."""
    exact = root / name
    if re.fullmatch(r"[a-z2-7]{8}", name) and exists(exact):
        return exact
    if name == "last":
        here = workspace or Path.cwd()
        for one in of_workspace(root, here):
            return one.folder
        raise UnknownSession(
            f"no session was started in {here}", "`rebut list --all` shows the sessions of all folders."
        )
    every = sessions(root)
    matches = [f for f in every if f.id.startswith(name)] if name else []
    if not matches:
        matches = [f for f in every if name in (f.opened.slug, *f.opened.aliases)]
    if len(matches) == 1:
        return matches[0].folder
    if not matches:
        raise UnknownSession(f"no session is called {name!r}", "`rebut list` shows the sessions of this folder.")
    shown = ", ".join(f.id for f in matches[:6])
    raise UnknownSession(f"{len(matches)} sessions match {name!r}: {shown}", "Give more letters of the id.")


def exists(folder: Path) -> bool:
    """Whether there is a session of this name."""
    if store := stores.of(folder.parent):
        return store.exists(folder.name)
    return (folder / journal.NAME).is_file()


def load(folder: Path) -> Record:
    """Read a session to show it: events only, no lock, no protocol code."""
    lines = journal.read(folder).lines
    if not lines:
        raise RecordError(
            f"session {folder.name} is empty: its process died before the first event was written",
            f"Nothing was called. Start a new one; `rebut delete {folder.name}` removes the remains.",
        )
    return Record(lines)


@contextmanager
def understood(name: str) -> Iterator[None]:
    """RecordAltered in place of the errors that odd values in the record of a session lead to, wherever they are read.

    The events are checked when they are read; what is inside of facts, answers and outcomes is not.
    """
    try:
        yield
    except ODD_VALUE as error:
        raise not_understood(name, error) from error


def not_understood(name: str, error: BaseException) -> RecordAltered:
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    where = f", at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return RecordAltered(
        f"session {name}: its record has a value that rebut does not write",
        "Was its journal changed by something other than rebut? If not, this is a bug of rebut: report it with the "
        f"words “{type(error).__name__}: {printable(str(error), 100)}{where}”.",
    )


def loader(root: Path) -> Callable[[str], Record | None]:
    """A function that loads a session by its id; it returns None if the session was deleted or cannot be read."""

    def load_one(id: str) -> Record | None:
        try:
            return load(root / id)
        except RecordError:
            return None

    return load_one


def delete(folder: Path) -> None:
    """Delete a session. It is locked meanwhile, so that no process resumes it; SessionBusy if one is running it."""
    import secrets
    import shutil

    if folder.is_symlink():
        where = folder.readlink()
        raise UsageError(
            f"{folder} is a link to {where}, not a session", "Nothing was deleted. Remove the link by hand."
        )
    if store := stores.of(folder.parent):
        store.delete(folder.name)
        shutil.rmtree(folder, ignore_errors=True)
        return
    lock = journal.take_lock(folder)
    gone = folder.with_name(f".deleted-{folder.name}-{secrets.token_hex(4)}")
    try:
        folder.rename(gone)  # at once: half a session must never be found
        shutil.rmtree(gone)
    except OSError as error:
        raise UsageError(f"session {folder.name} cannot be deleted: {error.strerror}", f"Look at {gone}.") from error
    finally:
        os.close(lock)


def discard(folder: Path, record: journal.Journal) -> None:
    """Remove a new session that this process has open, and in which no model was asked."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    if store := stores.of(folder.parent):
        record.close()
        store.delete(folder.name)


def keep_files(folder: Path, *, snapshot: bool = False) -> None:
    """Store the files of a session's folder, or its snapshot, in the database, if the session is in one."""
    store = stores.of(folder.parent)
    if store is None:
        return
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    mine = {name: path for name, path in found.items() if name.startswith(f"{SNAPSHOT}/") == snapshot}
    if mine:
        store.keep(folder.name, mine)


def snapshot(folder: Path) -> Path:
    """The folder with the snapshot of a session. From a database its files are fetched first."""
    if store := stores.of(folder.parent):
        store.fetch(folder.name, folder, f"{SNAPSHOT}/")
    return folder / SNAPSHOT


def without_copy(folder: Path, names: Iterable[str]) -> list[str]:
    """Those of `names` for which the snapshot of a session has no file."""
    if store := stores.of(folder.parent):
        there = store.files(folder.name)
        return [name for name in names if f"{SNAPSHOT}/{name}" not in there]
    return [name for name in names if not (folder / SNAPSHOT / name).exists()]


def changed_files(folder: Path, wrote: Mapping[str, str]) -> list[str]:
    """The files that a session wrote (path → hash) and that are gone or have another content.

    With a database, another machine may have written them. Files in the session's own folder are then compared in the
    database. A file elsewhere that is not on this machine counts as unchanged: it may be on the other one.
    """
    store, out = stores.of(folder.parent), list[str]()
    there = store.files(folder.name) if store else {}
    for path, sha in wrote.items():
        inside = path.partition(f"/{folder.name}/")[2]
        try:
            same = (there.get(inside) or hashlib.sha256(files.read(path)).hexdigest()) == sha
        except OSError:
            same = store is not None and not inside
        if not same:
            out.append(path)
    return out


def running(folder: Path) -> str:
    """The number of the process that works on a session, in a database with its machine before it; empty for none.

    Read from the lock file, since trying the lock, even shared, could block a process that is about to take it.
    """
    if store := stores.of(folder.parent):
        return store.running(folder.name)
    try:
        pid, _, since = files.read(folder / "lock", 200).decode(errors="replace").partition(" ")
    except OSError:
        return ""
    return pid if runs(pid, since) else ""


def short(root: Path, id: str) -> str:
    """The shortest prefix of an id, four letters or more, that no other session begins with."""
    store = stores.of(root)
    try:
        names = store.ids(id[:4]) if store else [entry.name for entry in root.iterdir()]
    except OSError:
        names = []
    others = [name for name in names if name != id]
    for n in range(4, len(id)):
        if not any(other.startswith(id[:n]) for other in others):
            return id[:n]
    return id
