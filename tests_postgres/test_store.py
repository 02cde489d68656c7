"""The journal in PostgreSQL: the same lines, one writer at a time, and every command reads it from anywhere."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duels
import psycopg
import pytest
from console import piped
from crashing import repository

import rebut
from rebut.batch import queue
from rebut.core.errors import RecordLost, SessionBusy
from rebut.core.installation import with_extra
from rebut.record import sessions, stores
from rebut.record.events import Fact, Opened
from rebut.record.journal import NAME, Journal, read
from rebut.record.postgres import migrations

Sql = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def root(database: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REBUT_HOME", database)
    return sessions.home()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = repository(tmp_path / "work")
    monkeypatch.chdir(folder)
    return folder


def begun(root: Path) -> Journal:
    journal = Journal.open(sessions.create(root))
    journal.write(Opened(id=journal.folder.name, protocol="duel", topic="t"))
    return journal


def expire(sql: Sql) -> None:
    """As if all processes had been silent for the length of a lease."""
    sql.execute("update rebut_session set lease_until = '-infinity'")


def debated(folder: Path) -> rebut.Outcome:
    return rebut.run("duel", duels.TOPIC, **duels.seats(folder), rounds=1)


def test_every_command_reads_the_database(root: Path, workspace: Path, tmp_path: Path) -> None:
    (workspace / "src/session.py").write_text("import redis\nttl = 3600\nchanged = True\n")
    id = debated(tmp_path).session
    there = {"HOME": str(tmp_path / "elsewhere")}  # another machine: nothing of the session is in its folders
    for words, said in (
        (("list",), id[:4]),
        (("show", id), "VERDICT"),
        (("verify", id), "  ok"),
        (("export", id, "--format", "md"), "# duel"),
        (("export", id, "--format", "html", "-o", str(tmp_path / "page.html")), "page.html"),
        (("replay", id), "the same outcome"),
        (("fork", id, "--dry-run"), "reuses 3 answers"),
        (("resume", id), "VERDICT"),
    ):
        done = piped(*words, env=there)
        assert done.returncode == 0 and said in done.stdout + done.stderr, f"{words}: {done.stdout}{done.stderr}"
    done = piped("fork", id, "--again", "--json", env=there)
    assert done.returncode == 0, done.stderr
    forked = json.loads(done.stdout)["session"]
    assert "ok" in piped("verify", forked, env=there).stdout
    done = piped("delete", forked, "--yes", env=there)
    assert done.returncode == 0 and "no session is called" in piped("show", forked, env=there).stderr
    assert "  ok" in piped("verify", id, env=there).stdout, "what both had in common is still there"


def test_the_lines_are_the_bytes_that_were_hashed(root: Path, workspace: Path, tmp_path: Path, sql: Sql) -> None:
    id = debated(tmp_path).session
    lines = [
        bytes(line) for (line,) in sql.execute("select line from rebut_event where session = %s order by seq", [id])
    ]
    before = ""
    for number, line in enumerate(lines, 1):
        event = json.loads(line)
        assert (event["seq"], event["prev"]) == (number, before)
        before = hashlib.sha256(line).hexdigest()[:32]
    assert read(root / id).last_hash == before
    # Another program changes a line: that is noticed.
    changed = lines[3].replace(b'"at":"20', b'"at":"19')
    sql.execute("update rebut_event set line = %s where session = %s and seq = 4", (changed, id))
    done = piped("verify", id)
    assert done.returncode == 3 and "does not follow" in done.stderr


def test_equal_files_are_stored_once(root: Path, workspace: Path, tmp_path: Path, sql: Sql) -> None:
    (workspace / "src/session.py").write_text("import redis\nttl = 3600\nchanged = True\n")
    first, second = debated(tmp_path).session, debated(tmp_path).session
    copies = "select count(*), count(distinct sha) from rebut_file where name like 'snapshot/%'"
    contents = (
        "select count(*) from rebut_blob where sha in (select sha256(E'import redis\nttl = 3600\nchanged = True\n'))"
    )
    assert sql.execute(copies).fetchone() == (2, 1) and sql.execute(contents).fetchone() == (1,)
    sessions.delete(root / first)
    assert sql.execute(contents).fetchone() == (1,)
    sessions.delete(root / second)
    assert sql.execute("select count(*) from rebut_blob").fetchone() == (0,)


# One writer at a time.


def test_a_session_has_one_writer(root: Path) -> None:
    journal = begun(root)
    with pytest.raises(SessionBusy, match="is being run by another process"):
        Journal.open(journal.folder)
    assert sessions.running(journal.folder).endswith(f":{os.getpid()}")
    journal.close()
    assert not sessions.running(journal.folder)
    Journal.open(journal.folder).close()


def test_who_lost_the_lease_writes_nothing_more(root: Path, sql: Sql) -> None:
    async def act() -> None:
        old = begun(root)
        await old.sync()
        expire(sql)
        new = Journal.open(old.folder)
        stopped = asyncio.Event()
        old.on_lost = stopped.set
        with pytest.raises(RecordLost, match="taken over by another process"):
            await old.append(Fact(key="k", value="of the old one"))
        await asyncio.wait_for(stopped.wait(), 5)
        with pytest.raises(RecordLost):
            await old.append(Fact(key="k", value="again"))
        await new.append(Fact(key="k", value="of the new one"))
        old.close()
        await new.append(Fact(key="l", value="still the new one's"))
        new.close()

    asyncio.run(act())
    [found] = sessions.sessions(root)
    values = [line.event.value for line in read(found.folder).lines if isinstance(line.event, Fact)]
    assert values == ["of the new one", "still the new one's"]


def test_what_is_in_flight_is_cancelled_when_the_lease_is_lost(root: Path, tmp_path: Path, sql: Sql) -> None:
    ended = []

    class Slow:
        async def complete(self, request: object) -> object:
            try:
                sql.execute("update rebut_session set epoch = epoch + 1, owner = 'another'")
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ended.append(time.monotonic())
                raise
            return None

    began = time.monotonic()
    with pytest.raises(RecordLost):
        rebut.run(
            "duel", duels.TOPIC, backends={"slow": Slow()}, proposer="slow:a", challenger="slow:b", workspace=tmp_path
        )
    assert len(ended) == 1 and ended[0] - began < 30, "the next renewal says so, and the call ends"


def test_an_append_is_sent_again_when_the_connection_is_cut(root: Path, sql: Sql) -> None:
    async def act() -> Journal:
        journal = begun(root)
        await journal.sync()
        for n in range(30):
            if n % 3 == 0:
                sql.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'rebut'")
            await journal.append(Fact(key=f"k{n}", value=n))
        return journal

    journal = asyncio.run(act())
    journal.close()
    assert [line.event.value for line in read(journal.folder).lines[1:]] == list(range(30))  # type: ignore[union-attr]


def test_an_append_that_was_done_is_not_done_twice(root: Path, sql: Sql) -> None:
    journal = begun(root)
    asyncio.run(journal.sync())
    [(epoch, line, hash)] = sql.execute("select s.epoch, e.line, s.last_hash from rebut_session s, rebut_event e")
    again = "select rebut_append(%b, %b, %b, %b, %b, %b)"
    values = ([journal.folder.name], [epoch], [1], [1], [hash], [line])
    assert sql.execute(again, values).fetchone() == ([True],)
    assert sql.execute("select count(*) from rebut_event").fetchone() == (1,)
    assert sql.execute(again, ([journal.folder.name], [epoch], [1], [1], ["another"], [line])).fetchone() == ([False],)
    journal.close()


def test_a_note_reaches_a_debate_from_another_machine(root: Path, workspace: Path, tmp_path: Path) -> None:
    seats = duels.seats(tmp_path, {"verdict@judge": {"fail": "rate limit"}}, rounds=1)
    with pytest.raises(rebut.Aborted):
        rebut.run("duel", duels.TOPIC, **seats, rounds=1)
    [found] = sessions.sessions(root)
    done = piped("say", found.id, "Think of the on-call engineer.", env={"HOME": str(tmp_path / "elsewhere")})
    assert done.returncode == 0 and "not running" in done.stdout, done.stderr
    duels.seats(tmp_path, rounds=1)
    assert piped("resume", found.id).returncode == 0
    assert any("on-call" in str(line.event) for line in read(found.folder).lines)


# What a user may do wrong.


def test_errors_say_what_to_do(empty: str, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for address, said in (
        (empty, "has no tables of rebut yet\n  Run `rebut batch upgrade --on"),
        (server.url("nothing"), 'database "nothing" does not exist\n  Check that it runs'),
        ("postgresql://nobody@127.0.0.1:1/x", "cannot be reached: Connection refused\n  Check that it runs"),
        ("postgresql://a b", "is not an address of a database"),
    ):
        for words in (("list",), ("batch", "work", "--on", address)):
            done = piped(*words, env={"REBUT_HOME": address})
            assert done.returncode == 2 and said in done.stderr, f"{words} {address}: {done.stderr}"
            assert len(done.stderr.strip().splitlines()) == 2


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:open-sesame@127.0.0.1:1/x",
        "postgresql://me:open#sesame@127.0.0.1:1/x",
        "postgresql://me:open?sesame@127.0.0.1:1/x",
        "postgresql://me:open/sesame@127.0.0.1:1/x",
        "postgresql://me:open@sesame@127.0.0.1:1/x",
        "postgresql://me:open%zzsesame@127.0.0.1:1/x",
        "postgresql://me:open sesame@127.0.0.1:1/x",
        "postgresql://me:open-sesame@[::1/x",
        "postgresql://127.0.0.1:1/x?user=me&password=open-sesame",
        "postgres:me:open-sesame@127.0.0.1/x",
    ],
)
def test_a_password_is_not_shown(address: str) -> None:
    for words in (("batch", "work", "--on", address), ("batch", "upgrade", "--on", address), ("list",)):
        if words != ("list",) or address.startswith("postgresql:"):
            done = piped(*words, env={"REBUT_HOME": address})
            assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
            assert "sesame" not in done.stderr + done.stdout and "open" not in done.stderr, done.stderr


def test_without_the_extra_the_error_names_it(database: str, tmp_path: Path) -> None:
    hide = "import sys; sys.modules['psycopg'] = None; sys.modules['procrastinate'] = None"
    go = f"{hide}; from rebut.cli import main; sys.argv = ['rebut', *sys.argv[1:]]; main()"
    for words in (["list"], ["batch", "work", "--on", database], ["batch", "upgrade", "--on", database]):
        done = subprocess.run(
            [sys.executable, "-c", go, *words],
            capture_output=True,
            text=True,
            env={**os.environ, "REBUT_HOME": database},
        )
        assert done.returncode == 2, done.stderr
        said = f"rebut: PostgreSQL needs psycopg, which is not installed\n  Run `{with_extra('postgres')}`.\n"
        assert done.stderr == said


def test_tables_of_another_version_are_refused(database: str, sql: Sql) -> None:
    sql.execute("insert into rebut_migration (part, name, by) values ('rebut', '9999_later', '9.0')")
    done = piped("list", env={"REBUT_HOME": database})
    assert done.returncode == 2 and "were made by a later version of rebut" in done.stderr
    sql.execute("delete from rebut_migration where name = '9999_later' or name = '0002_batches'")
    done = piped("batch", "work", "--on", database)
    assert done.returncode == 2 and "are older than this rebut" in done.stderr and "batch upgrade" in done.stderr


def test_tables_of_another_queue_are_refused(database: str, sql: Sql) -> None:
    """A worker may have another procrastinate than the one whose tables are there."""
    sql.execute("insert into rebut_migration (part, name, by) values ('procrastinate', '99.00.00_01_later', '9.0')")
    done = piped("batch", "work", "--on", database, "--until-empty")
    assert done.returncode == 2 and "were made by a later version of procrastinate" in done.stderr
    assert piped("list", env={"REBUT_HOME": database}).returncode == 0, "what does not use the queue is not concerned"
    sql.execute("delete from rebut_migration where name = '99.00.00_01_later'")
    last = "select max(name) from rebut_migration where part = 'procrastinate' and name < '1'"
    sql.execute(f"delete from rebut_migration where part = 'procrastinate' and name = ({last})")  # type: ignore[arg-type]
    done = piped("batch", "status", "--on", database)
    assert done.returncode == 2 and "are older than the procrastinate of this machine" in done.stderr
    assert "batch upgrade" in done.stderr


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_database_of_an_earlier_version_is_upgraded_with_what_is_in_it(
    empty: str, workspace: Path, tmp_path: Path, count: int
) -> None:
    debate = debated(tmp_path)  # in a folder; its lines are what an earlier version wrote to the database, too
    raw = (sessions.home() / debate.session / NAME).read_bytes().splitlines()
    wanted, there = migrations.known()[:count], {"REBUT_HOME": empty}
    with psycopg.connect(empty, autocommit=True) as sql:
        migrations.upgrade(sql, wanted if count < 2 else queue.as_new([*wanted, *queue._of_queue()], []))
        values = (debate.session, len(raw))
        sql.execute("insert into rebut_session (id, epoch, last_seq) values (%s, 1, %s)", values)
        for seq, line in enumerate(raw, 1):
            sql.execute("insert into rebut_event values (%s, %s, 1, %s)", (debate.session, seq, line))
        if count >= 2:
            row = json.dumps({"id": "a", "calls": 3, "usd": 0.5})
            ended = ("a", "old.jsonl", 1, '"a"', debate.session, row)
            sql.execute(
                "insert into rebut_line (hash, batch, number, name, session, outcome) values (%s,%s,%s,%s,%s,%s)", ended
            )
    done = piped("verify", debate.session, env=there)
    assert done.returncode == 2 and f"Run `rebut batch upgrade --on {empty}`" in done.stderr
    done = piped("batch", "upgrade", "--on", empty, "--json")
    assert done.returncode == 0, done.stderr
    changed = [name for name in json.loads(done.stdout)["changes"] if name.startswith("rebut")]
    assert changed == [f"rebut {one.name}" for one in migrations.known()[count:]]
    assert "  ok" in piped("verify", debate.session, env=there).stdout
    if count >= 2:
        assert "1 of 1 ended; 3 calls, $0.50" in piped("batch", "status", "--on", empty).stdout


def test_upgrading_twice_changes_nothing(database: str) -> None:
    done = piped("batch", "upgrade", "--on", database)
    assert done.returncode == 0 and "nothing was changed" in done.stdout


def test_a_root_without_a_database_has_none(tmp_path: Path) -> None:
    assert stores.of(tmp_path) is None
