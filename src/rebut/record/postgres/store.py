"""The sessions of a database."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from weakref import WeakValueDictionary

from rebut.core import files
from rebut.core.errors import RecordError, SessionBusy
from rebut.record.events import Line
from rebut.record.journal import Journal, parsed
from rebut.record.postgres.connection import DatabaseConnection
from rebut.record.postgres.journal import DatabaseJournal
from rebut.record.postgres.writer import LEASE, Writer

FILES_AT_ONCE = 100
"""Files that one statement asks for."""


class DatabaseStore:
    """The sessions of one database. The writer writes the journals; a connection, opened when needed, does the rest."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection = DatabaseConnection(url)
        self.writer = Writer(url)
        self._journals: WeakValueDictionary[str, DatabaseJournal] = WeakValueDictionary()

    # Sessions. --------------------------------------------------------------------------------------------------------

    def away(self) -> str:
        """Why the database does not answer; empty while it does."""
        return self.writer.away

    def create(self, id: str) -> bool:
        """Claim the id of a new session. False if there is one with that id."""
        sql = "insert into rebut_session (id) values (%s) on conflict do nothing returning id"
        return bool(self.connection.query(sql, id))

    def exists(self, id: str) -> bool:
        return bool(self.connection.query("select 1 from rebut_session where id = %s", id))

    def ids(self, prefix: str) -> list[str]:
        """The ids that begin with `prefix`."""
        return [id for (id,) in self.connection.query("select id from rebut_session where starts_with(id, %s)", prefix)]

    def openings(self) -> Iterable[tuple[str, bytes]]:
        """The id and the first line of each session."""
        found = self.connection.query("select session, line from rebut_event where seq = 1")
        return [(id, bytes(line)) for id, line in found]

    def lines(self, id: str, after: int = 0) -> list[bytes]:
        """The lines of a journal, without their line ends, after the one with the number `after`."""
        sql = "select line from rebut_event where session = %s and seq > %s order by seq"
        found = [bytes(line) for (line,) in self.connection.query(sql, id, after)]
        if not found and not after and not self.exists(id):
            raise RecordError(f"{id}: there is no such session in the database")
        return found

    def open(self, folder: Path, listener: Callable[[Line], None] | None) -> Journal:
        """Take the session for this process. `SessionBusy` while another has it."""
        id = folder.name
        self.writer.settle(id)
        epoch = self._take(id)
        files.private_folder(folder)
        found = parsed(id, b"".join(line + b"\n" for line in self.lines(id)))
        journal = DatabaseJournal(folder, epoch, found, self.writer, listener)
        self._journals[id] = journal
        return journal

    def _take(self, id: str) -> int:
        who = f"{socket.gethostname()}:{os.getpid()}"
        found = self.connection.query("select taken, holder, remaining from rebut_take(%s, %s, %s)", id, who, LEASE)
        if not found:
            raise RecordError(f"{id}: there is no such session in the database")
        [(epoch, holder, remaining)] = found
        if epoch is None:
            raise SessionBusy(
                f"session {id} is being run by another process ({holder})",
                f"Watch it with `rebut show {id}`. If that process has died, the session is free in {remaining:.0f} s.",
            )
        return int(epoch)

    def epoch(self, id: str) -> int:
        """The epoch in which this process has a session: each process that takes the session raises it. 0 for none."""
        held = self._journals.get(id)
        return held.epoch if held is not None else 0

    def running(self, id: str) -> str:
        """The process that has the session; empty for none."""
        sql = "select owner from rebut_session where id = %s and lease_until > clock_timestamp()"
        return next((str(owner) for (owner,) in self.connection.query(sql, id)), "")

    def delete(self, id: str) -> None:
        """Delete a session that no process has; `SessionBusy` while one does."""
        self.writer.settle(id)
        epoch = self._take(id)
        shas = [sha for (sha,) in self.connection.query("select distinct sha from rebut_file where session = %s", id)]
        self.connection.query("delete from rebut_session where id = %s and epoch = %s", id, epoch)
        # Also delete contents that no other session has.
        unused = "not exists (select from rebut_file f where f.sha = b.sha)"
        self.connection.query(f"delete from rebut_blob b where sha = any(%s) and {unused}", shas)

    # Files. -----------------------------------------------------------------------------------------------------------

    def keep(self, id: str, found: Mapping[str, Path]) -> None:
        """Store files with the session, by their names in its folder."""
        contents = {name: path.read_bytes() for name, path in found.items()}
        shas = {name: hashlib.sha256(data).digest() for name, data in contents.items()}
        rows = self.connection.query("select sha from rebut_blob where sha = any(%s)", list(shas.values()))
        there = {bytes(sha) for (sha,) in rows}
        new = [(sha, contents[name]) for name, sha in shas.items() if sha not in there]
        if new:
            self.connection.send("insert into rebut_blob (sha, data) values (%s, %s) on conflict do nothing", new)
        self.connection.send(
            """insert into rebut_file (session, name, sha) values (%s, %s, %s)
               on conflict (session, name) do update set sha = excluded.sha""",
            [(id, name, sha) for name, sha in shas.items()],
        )

    def fetch(self, id: str, folder: Path, below: str) -> None:
        """Copy the files whose names begin with `below` into the session's folder, if they are not there yet."""
        wanted = [name for name in self.files(id) if name.startswith(below) and not (folder / name).is_file()]
        for n in range(0, len(wanted), FILES_AT_ONCE):
            sql = """select f.name, b.data from rebut_file f join rebut_blob b using (sha)
                      where f.session = %s and f.name = any(%s)"""
            for name, data in self.connection.query(sql, id, wanted[n : n + FILES_AT_ONCE]):
                if ".." in Path(name).parts or Path(name).is_absolute():
                    raise RecordError(f"{id}: the database has a file with the name {name!r}", "Nothing was written.")
                files.private_folder((folder / name).parent)
                files.write(folder / name, bytes(data), 0o600)

    def files(self, id: str) -> Mapping[str, str]:
        """The names of the session's files, each with the SHA-256 of its content."""
        rows = self.connection.query("select name, sha from rebut_file where session = %s", id)
        return {name: bytes(sha).hex() for name, sha in rows}

    # Notes. -----------------------------------------------------------------------------------------------------------

    def leave_note(self, id: str, text: str) -> str:
        """Leave a note for the process that has the session. Returns the note's number."""
        [(number,)] = self.connection.query(
            "insert into rebut_note (session, said) values (%s, %s) returning id", id, text
        )
        return str(number)

    def notes(self, id: str) -> list[tuple[str, str]]:
        """Number and text of the notes that are not on record yet, as far as this process knows."""
        held = self._journals.get(id)
        if held is not None and not held.looks_for_notes():
            return []
        sql = "select id, said from rebut_note where session = %s and not taken order by id"
        return [(str(number), said) for number, said in self.connection.query(sql, id)]

    def take_note(self, number: str, refused: str) -> None:
        self.connection.query("update rebut_note set taken = true, refused = %s where id = %s", refused, int(number))

    def withdraw_note(self, number: str) -> None:
        self.connection.query("delete from rebut_note where id = %s and not taken", int(number))

    def answer(self, number: str) -> str | None:
        """What became of a note: None while it waits, empty if it is on record, else why it was refused."""
        found = self.connection.query("select taken, refused from rebut_note where id = %s", int(number))
        return next((str(refused) if taken else None for taken, refused in found), "")
