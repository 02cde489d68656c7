"""Enqueueing and working: one result per line, again only what is missing, draining, versions, health."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duels
import psycopg
import pytest
from console import REBUT, piped
from crashing import repository

import rebut.api
from rebut.batch.lines import BatchLine, LineFields
from rebut.batch.queue import Queue
from rebut.batch.queue_worker import QueueWorker
from rebut.batch.shared_budget import DebateBudget
from rebut.record.events import Asked
from rebut.record.postgres.connection import PatientConnection
from rebut.record.record import Amount
from tests_postgres import provider
from tests_postgres.provider import Provider
from tests_postgres.workers import Recorded, Worker, batch, working

Sql = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def mine(own_home: Path, tmp_path: Path) -> Iterator[Provider]:
    with provider.serving(tmp_path / "calls", 0.05) as one:
        one.configure(own_home)
        yield one


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_batch_is_enqueued_worked_on_and_collected(mine: Provider, database: str, tmp_path: Path) -> None:
    file, out = batch(tmp_path, 8), tmp_path / "out.jsonl"
    done = piped("batch", str(file), "--on", database, cwd=tmp_path)
    assert done.returncode == 0 and "8 debates: 8 enqueued" in done.stdout, done.stderr
    done = piped("batch", str(file), "--on", database, cwd=tmp_path)
    assert "0 enqueued, 8 waiting or running" in done.stdout
    assert not mine.calls(), "no model is called by enqueueing"
    done = piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    assert done.returncode == 0 and "ended 8" in done.stderr, done.stderr
    done = piped("batch", str(file), "--on", database, "--out", str(out), cwd=tmp_path)
    assert done.returncode == 0 and "8 debates: 8 ended" in done.stdout, done.stderr
    rows = rows_of(out)
    assert sorted(row["id"] for row in rows) == [f"q{n}" for n in range(8)]
    assert {(row["heading"], row["calls"]) for row in rows} == {("VERDICT", 5)}
    assert len(mine.calls()) == 40
    for row in rows[:2]:
        assert "  ok" in piped("verify", row["session"], env={"REBUT_HOME": database}).stdout
    file.write_text(file.read_text() + json.dumps(rows_of(file)[0] | {"id": "more", "topic": "q9: And now?"}) + "\n")
    assert "1 enqueued, 8 ended before" in piped("batch", str(file), "--on", database, cwd=tmp_path).stdout


def test_the_same_lines_in_another_folder_are_other_debates(mine: Provider, database: str, tmp_path: Path) -> None:
    file, other = batch(tmp_path, 2), tmp_path / "other"
    other.mkdir()
    for cwd, said in ((tmp_path, "2 enqueued"), (tmp_path, "0 enqueued, 2 waiting"), (other, "2 enqueued")):
        done = piped("batch", str(file), "--on", database, cwd=cwd)
        assert f"2 debates: {said}" in done.stdout, done.stderr


def test_a_queued_line_keeps_its_note_its_arm_and_its_topic(mine: Provider, database: str, tmp_path: Path) -> None:
    file, out = batch(tmp_path, 1, note="The budget is fixed.", arm="duel of two"), tmp_path / "out.jsonl"
    with working(1, database, tmp_path):
        done = piped("batch", str(file), "--on", database, "--out", str(out), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [row] = rows_of(out)
    assert (row["arm"], row["topic"]) == ("duel of two", "q0: Redis or not?")
    [lines] = Recorded(database).sessions.values()
    asked = [line.event for line in lines if isinstance(line.event, Asked)]
    assert asked and all("The budget is fixed." in one.prompt for one in asked if one.prompt)


def test_what_another_worker_has_done_is_not_left(mine: Provider, database: str, tmp_path: Path) -> None:
    piped("batch", str(batch(tmp_path, 1)), "--on", database, cwd=tmp_path)
    worker = QueueWorker(database, at_once=1, grace=5, until_empty=True, status_file=None, log=lambda *_: None)
    worker._left = {"done-by-another": "its repository is not on this machine"}
    asyncio.run(worker.run())
    assert worker.unfinished == 0 and Recorded(database).closed == 1


def test_waiting_for_the_results_shows_them_as_they_end(mine: Provider, database: str, tmp_path: Path) -> None:
    file, out = batch(tmp_path, 6), tmp_path / "out.jsonl"
    with working(2, database, tmp_path):
        done = piped("batch", str(file), "--on", database, "--out", str(out), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) | {"ended": 6, "failed": 0, "missing": 0} == json.loads(done.stdout)


def test_two_processes_that_enqueue_the_same_file_enqueue_it_once(
    mine: Provider, database: str, sql: Sql, tmp_path: Path
) -> None:
    file = batch(tmp_path, 20)
    command = [REBUT, "batch", str(file), "--on", database, "--json"]
    both = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    added = [json.loads(one.communicate(timeout=60)[0])["enqueued"] for one in both]
    assert sum(added) == 20
    jobs = sql.execute("select args ->> 'session' from procrastinate_jobs").fetchall()
    lines = sql.execute("select session from rebut_line").fetchall()
    assert sorted(jobs) == sorted(lines) == sorted(sql.execute("select id from rebut_session").fetchall())


def test_a_line_that_another_process_has_added_is_not_enqueued(database: str, sql: Sql) -> None:
    for name in ("first", "second", "third"):
        sql.execute("insert into rebut_session (id) values (%s)", [name])
    queue, line = Queue(database), BatchLine.of(1, LineFields(protocol="duel", topic="t"))
    assert queue.add("f", [(line, "first", "/")]) == {"first"}
    assert queue.add("f", [(line, "second", "/")]) == set()
    sql.execute("delete from rebut_session where id = 'first'")
    assert queue.add("f", [(line, "third", "/")]) == {"third"}, "its session was deleted"
    queue._connection.close()


def test_a_debate_whose_session_was_deleted_fails_and_starts_over(
    mine: Provider, database: str, sql: Sql, tmp_path: Path
) -> None:
    words = ("batch", str(batch(tmp_path, 2)), "--on", database)
    piped(*words, cwd=tmp_path)
    [(gone,)] = sql.execute("select session from rebut_line where number = 1").fetchall()
    assert piped("delete", str(gone), "--yes", env={"REBUT_HOME": database}).returncode == 0
    done = piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    assert done.returncode == 0 and f"its session {gone} was deleted" in done.stderr, done.stderr
    done = piped(*words, cwd=tmp_path)
    assert "1 enqueued, 1 ended before" in done.stdout, done.stderr
    piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    done = piped(*words, "--out", str(tmp_path / "out"), cwd=tmp_path)
    assert done.returncode == 0 and "2 debates: 2 ended" in done.stdout, done.stderr


def test_a_record_that_was_altered_is_a_failure(mine: Provider, database: str, sql: Sql, tmp_path: Path) -> None:
    piped("batch", str(batch(tmp_path, 1)), "--on", database, cwd=tmp_path)
    sql.execute("update rebut_event set line = line || '\\x20' where seq = 1")
    done = piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    assert done.returncode == 0 and "failure RecordAltered" in done.stderr, done.stderr


def test_a_failed_debate_is_enqueued_again(database: str, own_home: Path, tmp_path: Path) -> None:
    seats = duels.seats(tmp_path, {"verdict@judge": {"fail": "auth"}})
    line = {"id": "a", "protocol": "duel", "topic": "q1: Redis?", "seats": seats}
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_text(json.dumps(line) + "\n")
    words = ("batch", str(file), "--on", database)
    piped(*words, cwd=tmp_path)
    piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    assert "1 enqueued again" in piped(*words, cwd=tmp_path).stdout
    duels.seats(tmp_path)
    piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    assert piped(*words, "--out", str(out), cwd=tmp_path).returncode == 0
    assert rows_of(out)[-1]["heading"] == "VERDICT"
    recorded = Recorded(database)
    assert len(recorded.sessions) == 1 and not recorded.asked_again_though_answered()


# Stopping and health.


def test_sigterm_lets_calls_in_flight_finish(database: str, own_home: Path, tmp_path: Path) -> None:
    with provider.serving(tmp_path / "calls", 1.5) as mine:
        mine.configure(own_home)
        piped("batch", str(batch(tmp_path, 4)), "--on", database, cwd=tmp_path)
        with working(1, database, tmp_path, "--grace", "20") as [worker]:
            worker.until("took")
            time.sleep(0.7)
            assert json.loads(worker.status.read_text())["state"] == "working"
            worker.signal(signal.SIGTERM)
            assert worker.process.wait(20) == 0, worker.log.read_text()
        assert json.loads(worker.status.read_text())["state"] == "stopped"
        recorded = Recorded(database)
        answered = sum(line.event.kind == "attempt" for rows in recorded.sessions.values() for line in rows)
        assert answered == sum(recorded.asked().values()) == len(mine.calls()) > 0, "each call that began was recorded"
        done = piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
        assert done.returncode == 0 and Recorded(database).closed == 4
        assert len(mine.calls()) == 20, "none was made twice"


def test_what_takes_longer_than_the_grace_is_dropped_and_done_by_another(
    database: str, own_home: Path, tmp_path: Path
) -> None:
    with provider.serving(tmp_path / "calls", 4) as mine:
        mine.configure(own_home)
        piped("batch", str(batch(tmp_path, 2)), "--on", database, cwd=tmp_path)
        with working(1, database, tmp_path, "--grace", "0.5") as [worker]:
            worker.until("took")
            time.sleep(1)
            began = time.monotonic()
            worker.signal(signal.SIGTERM)
            assert worker.process.wait(20) == 3 and time.monotonic() - began < 4
            assert len(worker.events("put_back")) == len(worker.events("took"))
    with provider.serving(tmp_path / "more", 0.05) as mine:
        mine.configure(own_home)
        assert piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path).returncode == 0
    assert Recorded(database).closed == 2


def test_the_log_of_a_worker_has_nothing_but_events(mine: Provider, database: str, sql: Sql, tmp_path: Path) -> None:
    """Another worker puts a job back that this one has, as one does that was stopped and comes back."""
    with provider.serving(tmp_path / "slow", 3) as slow:
        slow.configure(Path(os.environ["HOME"]))
        piped("batch", str(batch(tmp_path, 1)), "--on", database, cwd=tmp_path)
        with working(1, database, tmp_path, "--grace", "0") as [worker]:
            worker.until("took")
            sql.execute("update procrastinate_jobs set status = 'todo', scheduled_at = now() + interval '1 h'")
            worker.signal(signal.SIGTERM)
            assert worker.process.wait(20) == 3
    assert all(line.startswith("{") for line in worker.log.read_text().splitlines()), worker.log.read_text()
    assert not worker.events("defect")


def test_a_defect_is_a_failed_debate_and_the_worker_continues(
    mine: Provider, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped("batch", str(batch(tmp_path, 2)), "--on", database, cwd=tmp_path)
    resume, said = rebut.api.resume, list[tuple[str, dict[str, Any]]]()

    async def resumed(session: str, **more: Any) -> Any:
        if not said or all(event != "defect" for event, _ in said):
            raise ValueError("not foreseen")
        return await resume(session, **more)

    monkeypatch.setattr(rebut.api, "resume", resumed)
    worker = QueueWorker(
        database, at_once=1, grace=5, until_empty=True, status_file=None, log=lambda *one: said.append(one)
    )
    asyncio.run(worker.run())
    [defect] = [fields for event, fields in said if event == "defect"]
    assert "not foreseen" in defect["error"] and "Traceback" in defect["trace"]
    assert Recorded(database).closed == 1 and [fields["failed"] for event, fields in said if event == "stopped"] == [1]


def test_ctrl_c_while_waiting_leaves_the_workers_alone(mine: Provider, database: str, tmp_path: Path) -> None:
    file, out = batch(tmp_path, 3), tmp_path / "out.jsonl"
    command = [REBUT, "batch", str(file), "--on", database, "--out", str(out)]
    waiting = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert waiting.stdout and "3 debates" in waiting.stdout.readline()
    time.sleep(2)
    waiting.send_signal(signal.SIGINT)
    said, noted = waiting.communicate(timeout=20)
    assert waiting.returncode == 130 and "the workers go on" in noted, said + noted
    assert piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path).returncode == 0
    assert piped(*command[1:], cwd=tmp_path).returncode == 0 and len(rows_of(out)) == 3


# Versions, and what a machine lacks.


def left(worker: Worker) -> str:
    found = worker.until("left")
    time.sleep(0.5)
    assert not worker.events("took")
    assert json.loads(worker.status.read_text())["left"]
    return str(found["why"])


def change_opening(sql: Sql, **fields: str) -> None:
    """As if another version had opened the sessions."""
    for id, line in sql.execute("select session, line from rebut_event where seq = 1").fetchall():
        changed = json.dumps(json.loads(bytes(line)) | fields).encode()
        sql.execute("delete from rebut_event where session = %s and seq > 1", [id])
        sql.execute("update rebut_event set line = %s where session = %s", (changed, id))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rebut": "99.0.0"}, "it was started by rebut 99.0.0, which is later than this one"),
        ({"protocol_version": "99"}, "its protocol duel has version 99, here it has"),
        ({"protocol": "unheard-of"}, "its protocol unheard-of is not on this machine"),
    ],
)
def test_a_session_of_a_later_version_is_left_to_another_worker(
    mine: Provider, database: str, sql: Sql, tmp_path: Path, fields: dict[str, str], said: str
) -> None:
    piped("batch", str(batch(tmp_path, 1)), "--on", database, cwd=tmp_path)
    change_opening(sql, **fields)
    with working(1, database, tmp_path) as [worker]:
        assert said in left(worker)
    assert not mine.calls()


def test_a_worker_that_cannot_call_a_model_leaves_the_debate_to_others(
    mine: Provider, database: str, own_home: Path, tmp_path: Path
) -> None:
    piped("batch", str(batch(tmp_path, 2)), "--on", database, cwd=tmp_path)
    config = own_home / ".config/rebut/config.toml"
    good = config.read_text()
    config.write_text("")
    with working(1, database, tmp_path) as [worker]:
        assert "mine:a cannot be called on this machine: unknown provider 'mine'" in left(worker)
    config.write_text("broken = [")
    done = piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    assert done.returncode == 2 and "config.toml" in done.stderr
    config.write_text(good)
    done = piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    assert done.returncode == 0 and Recorded(database).closed == 2, done.stderr


def test_what_is_enqueued_or_put_back_leaves_no_copies_on_the_machine(
    database: str, own_home: Path, tmp_path: Path
) -> None:
    with provider.serving(tmp_path / "calls", 2) as mine:
        mine.configure(own_home)
        work = repository(tmp_path / "work")
        (work / "src/session.py").write_text("ttl = 60  # changed, so that it is a part of the snapshot\n")
        piped("batch", str(batch(tmp_path, 2)), "--on", database, cwd=work)
        assert not list(own_home.glob(".local/state/rebut/databases/*/sessions/*"))
        with working(1, database, tmp_path, "--grace", "20") as [worker]:
            worker.until("took")
            worker.signal(signal.SIGTERM)
            assert worker.process.wait(20) == 0 and worker.events("put_back")
        assert not list(own_home.glob(".local/state/rebut/databases/*/sessions/*"))
    with provider.serving(tmp_path / "more", 0.05) as mine:
        mine.configure(own_home)
        assert piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path).returncode == 0
    assert Recorded(database).closed == 2


def test_a_debate_about_a_repository_needs_its_commit(mine: Provider, database: str, tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    piped("batch", str(batch(tmp_path, 1)), "--on", database, cwd=work)
    work.rename(tmp_path / "moved")
    with working(1, database, tmp_path) as [worker]:
        assert f"its repository {work} is not on this machine" in left(worker)
    (tmp_path / "moved").rename(work)
    assert "ended 1" in piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path).stderr


def test_what_holds_for_one_machine_is_refused(database: str, tmp_path: Path) -> None:
    done = piped("batch", str(batch(tmp_path, 1)), "--on", database, "--processes", "2", cwd=tmp_path)
    assert done.returncode == 2 and "on one machine" in done.stderr


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    done = piped("batch", "work", "--on", "mysql://x")
    assert done.returncode == 2 and "postgresql://USER@HOST:5432/NAME" in done.stderr


# Limits of a whole batch.


def limit_of(sql: Sql) -> tuple[Any, ...]:
    """What a batch has spent and reserved, and the limit that it reached."""
    [found] = sql.execute("select calls, tokens, usd, reached from rebut_batch_limit").fetchall()
    return found


def test_a_limit_holds_over_all_workers_and_runs(mine: Provider, database: str, sql: Sql, tmp_path: Path) -> None:
    file, out = batch(tmp_path, 12), tmp_path / "out.jsonl"
    words = ("batch", str(file), "--on", database, "--json")
    for most, ended in ((23, False), (41, False), (1000, True)):
        with working(2, database, tmp_path, "--at-once", "4"):
            done = piped(*words, "--max-calls", str(most), "--out", str(out), cwd=tmp_path)
        rows = {row["id"]: row for row in rows_of(out)}
        shown = json.loads(piped("batch", "status", str(out), "--json").stdout)
        if ended:
            assert done.returncode == 0 and len(mine.calls()) == 60, done.stderr
            assert not shown["stopped_by_limit"]
            continue
        assert done.returncode == 3 and json.loads(done.stdout)["limit"] == "calls", done.stderr
        assert len(mine.calls()) == most == limit_of(sql)[0], "all of it is used, and nothing more"
        stopped = [row for row in rows.values() if row.get("limit") == "calls"]
        assert stopped and all(row["failure"] == "batch limit" and "--max-calls" in row["error"] for row in stopped)
        assert len(stopped) == shown["stopped_by_limit"] == 12 - shown["ended"]
        told = piped("batch", "status", "--on", database).stdout
        assert f"--max-calls: {most} calls of {most} calls" in told and f"{len(stopped)} debates stopped by it" in told
    assert not Recorded(database).asked_again_though_answered()
    assert limit_of(sql)[0] == 60 and not limit_of(sql)[3]


def test_a_limit_counts_what_a_batch_spent_without_one(mine: Provider, database: str, sql: Sql, tmp_path: Path) -> None:
    file = batch(tmp_path, 3)
    words = ("batch", str(file), "--on", database)
    piped(*words, cwd=tmp_path)
    piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    file.write_text(file.read_text() + json.dumps(rows_of(file)[0] | {"id": "more", "topic": "q9: And now?"}) + "\n")
    piped(*words, "--max-calls", "17", cwd=tmp_path)
    assert limit_of(sql)[:2] == (15, 15 * 1400)
    piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    assert len(mine.calls()) == 17 and limit_of(sql)[3] == "calls"
    # Lines that have ended and left the file are no longer of this batch.
    file.write_text(file.read_text().splitlines()[-1] + "\n")
    piped(*words, cwd=tmp_path)
    assert limit_of(sql)[0] == 2 and not limit_of(sql)[3], "without a new one, the old limit stays"
    piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path)
    assert Recorded(database).closed == 4 and limit_of(sql)[0] == 5


def test_a_limit_cannot_begin_while_debates_run_without_it(database: str, own_home: Path, tmp_path: Path) -> None:
    with provider.serving(tmp_path / "calls", 5) as mine:
        mine.configure(own_home)
        words = ("batch", str(batch(tmp_path, 2)), "--on", database)
        piped(*words, cwd=tmp_path)
        with working(1, database, tmp_path, "--grace", "0") as [worker]:
            worker.until("took")
            done = piped(*words, "--max-calls", "5", cwd=tmp_path)
            assert done.returncode == 2 and "outside its limits" in done.stderr


def test_the_debates_of_dead_workers_wait_and_can_get_a_limit(
    database: str, own_home: Path, sql: Sql, tmp_path: Path
) -> None:
    with provider.serving(tmp_path / "calls", 30) as mine:
        mine.configure(own_home)
        words = ("batch", str(batch(tmp_path, 2)), "--on", database)
        piped(*words, cwd=tmp_path)
        with working(1, database, tmp_path) as [worker]:
            worker.until("took")
            assert "running" in piped("batch", "status", "--on", database).stdout
        # It was killed, and has not been heard of for longer than a lease.
        sql.execute("update procrastinate_workers set last_heartbeat = now() - interval '1 minute'")
        sql.execute("update rebut_session set lease_until = now() - interval '1 minute'")
        before = dict(sql.execute("select id, epoch from rebut_session").fetchall())
        assert "0 of 2 ended, 2 waiting" in piped("batch", "status", "--on", database).stdout
        done = piped(*words, "--max-calls", "5", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        after = dict(sql.execute("select id, epoch from rebut_session").fetchall())
        taken = {row["session"] for row in worker.events("took")}
        assert taken and all(after[id] > before[id] for id in taken), "if it comes back, it writes nothing more"


def test_a_dollar_limit_needs_the_prices_of_what_is_in_the_queue(
    mine: Provider, database: str, own_home: Path, sql: Sql, tmp_path: Path
) -> None:
    config = own_home / ".config/rebut/config.toml"
    config.write_text(config.read_text().replace("free = true", ""))
    file = batch(tmp_path, 2)
    words = ("batch", str(file), "--on", database)
    env = {"MINE_API_KEY": "sk-test"}
    assert piped(*words, cwd=tmp_path, env=env).returncode == 0
    done = piped(*words, "--max-usd", "1", "--skip-bad", cwd=tmp_path, env=env)
    assert done.returncode == 2 and "line 2: the price of mine:a" in done.stderr and "in the queue" in done.stderr
    assert piped(*words, "--max-usd", "1", "--max-tokens", "100000", cwd=tmp_path, env=env).returncode == 0
    # A limit that was given before holds for lines that are added.
    [first, second] = file.read_text().splitlines()
    file.write_text("\n".join([first, second, json.dumps(json.loads(first) | {"id": "q2"})]))
    sql.execute("update rebut_batch_limit set max_tokens = null")
    done = piped(*words, cwd=tmp_path, env=env)
    assert done.returncode == 2 and "the price of mine:a" in done.stderr


def test_what_a_dead_worker_had_reserved_is_replaced_by_what_is_on_record(
    mine: Provider, database: str, sql: Sql, tmp_path: Path
) -> None:
    piped("batch", str(batch(tmp_path, 1)), "--on", database, "--max-calls", "5", cwd=tmp_path)
    # A worker reserved the last calls, and died before it could record them.
    [(line, epoch)] = sql.execute("select l.hash, s.epoch from rebut_line l join rebut_session s on s.id = l.session")
    reserve = "select rebut_reserve(%s, %s, 0, 0, 0, 0, 5, 9, 0, false)"
    assert sql.execute(reserve, (line, epoch)).fetchone() == ("",)
    assert limit_of(sql)[0] == 5
    assert piped("batch", "work", "--on", database, "--until-empty", cwd=tmp_path).returncode == 0
    assert Recorded(database).closed == 1 and limit_of(sql)[0] == 5 == len(mine.calls())


def test_budgets_of_two_workers_in_the_database(database: str, sql: Sql) -> None:
    """Dollars, waiting, and a worker that lost its debate, as two workers ask one after the other."""
    for name in "ab":
        sql.execute("insert into rebut_session (id, epoch, lease_until) values (%s, 2, now() + interval '1 h')", [name])
        sql.execute(
            "insert into rebut_line (hash, batch, number, name, session) values (%s, 'f', 1, '1', %s)", [name] * 2
        )
    sql.execute("insert into rebut_batch_limit (batch, max_usd) values ('f', 1)")

    async def act() -> None:
        connection, spent, stops = PatientConnection(database), {"a": Amount(), "b": Amount()}, []
        a, b, old = (
            DebateBudget(connection, lambda e=epoch: e, lambda n=name: spent[n], lambda: bool(stops))  # type: ignore[misc]
            for name, epoch in (("a", 2), ("b", 2), ("b", 1))
        )
        assert await a.reserve("a", Amount(1, 100, 0.6))
        spent["a"] = Amount(1, 100, 0.6)  # a call that is permitted is on record at once
        waiting = asyncio.ensure_future(b.reserve("b", Amount(1, 100, 0.5)))
        await asyncio.sleep(0.6)
        assert not waiting.done() and not await a.add("a", Amount(1, 100, 0.6)), (
            "it does not fit as long as that is reserved"
        )
        spent["a"] = Amount(1, 50, 0.2)
        a.end_call("a", spent["a"])
        assert await waiting and limit_of(sql)[2] == pytest.approx(0.7)
        spent["b"] = Amount(1, 100, 0.5)
        assert not await old.reserve("b", Amount(1, 1, 0.01)) and not old.reached, "it lost the debate"
        old.settle("b", Amount())
        await old.close()
        assert limit_of(sql)[2] == pytest.approx(0.7)
        # Nothing is in flight any more, and the next one does not fit.
        b.end_call("b", spent["b"])
        await b.close()
        assert not await a.reserve("a", Amount(1, 100, 0.4)) and a.reached == "usd" == limit_of(sql)[3]
        assert not await b.reserve("b", Amount(1, 1, 0.01)) and b.reached == "usd", "no further call is made"
        # A worker that died in a call leaves it in doubt; a call waits for it, but not for ever.
        sql.execute("update rebut_batch_limit set reached = ''")
        sql.execute("update rebut_line set in_flight = 1 where hash = 'b'")
        waiting = asyncio.ensure_future(a.reserve("a", Amount(1, 100, 0.4)))
        await asyncio.sleep(0.4)
        assert not waiting.done()
        sql.execute("update rebut_session set lease_until = now() - interval '61 s' where id = 'b'")
        assert not await waiting and a.reached == "usd"
        # One that is told to stop while it waits does.
        sql.execute("update rebut_batch_limit set reached = ''")
        sql.execute("update rebut_session set lease_until = now() + interval '1 h' where id = 'b'")
        sql.execute("update rebut_line set in_flight = 1 where hash = 'b'")
        a.reached, stops[:] = "", [1]
        assert not await a.reserve("a", Amount(1, 100, 0.4)) and not a.reached
        await connection.close()

    asyncio.run(act())
