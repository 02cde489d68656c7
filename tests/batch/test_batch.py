"""`rebut batch`: a file of debates, one result line each; run again, only what is missing is done."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import crashing
import duels
import forkserver
import pytest
from console import REBUT, at_a_terminal, piped

from rebut.batch.batch import Batch
from rebut.batch.budget import BatchBudget
from rebut.batch.debate import BatchDebate
from rebut.batch.lines import BatchLine, LineFields
from rebut.batch.results import ResultRow, Results
from rebut.cli.screen import batch_progress
from rebut.cli.screen.batch_progress import BatchProgress
from rebut.core.errors import Interrupted
from rebut.domain.limits import Limits
from rebut.record import sessions
from rebut.record.events import Asked, Resumed
from rebut.record.journal import read
from rebut.record.record import Amount, Record

Row = dict[str, Any]


def debate(seats: dict[str, str], name: str, **more: Any) -> Row:
    return {"id": name, "protocol": "duel", "topic": f"{name}: Redis or not?", "seats": seats, **more}


def written(path: Path, rows: list[Row]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def asked() -> Counter[tuple[str, str]]:
    """How often each question of each session was asked, by the journals on disk."""
    root = sessions.home()
    return Counter(
        (one.id, line.event.key)
        for one in sessions.sessions(root)
        for line in read(root / one.id).lines
        if isinstance(line.event, Asked)
    )


PROCESSES = pytest.mark.parametrize("processes", ["1", "2"])


@PROCESSES
def test_every_line_is_a_debate_and_a_result(workspace: Path, tmp_path: Path, processes: str) -> None:
    seats, out = duels.seats(tmp_path), tmp_path / "out.jsonl"
    file = written(tmp_path / "in.jsonl", [debate(seats, f"q{n}") for n in range(5)])
    done = piped("batch", file, "--out", str(out), "--at-once", "3", "--processes", processes)
    assert done.returncode == 0, done.stderr
    rows = rows_of(out)
    assert sorted(row["id"] for row in rows) == ["q0", "q1", "q2", "q3", "q4"]
    assert {row["session"] for row in rows} == {one.id for one in sessions.sessions(sessions.home())}
    assert {(row["heading"], row["winner"], row["exit"]) for row in rows} == {("VERDICT", "challenger", 0)}
    assert all(row["calls"] == 5 and row["seconds"] > 0 and "usd" in row for row in rows)
    assert "5 debates: 5 ended" in done.stdout


def test_the_same_command_again_does_nothing_and_a_new_line_alone_is_run(workspace: Path, tmp_path: Path) -> None:
    seats, out = duels.seats(tmp_path), tmp_path / "out.jsonl"
    given = [debate(seats, "a"), debate(seats, "b")]
    file = written(tmp_path / "in.jsonl", given)
    first = piped("batch", file, "--out", str(out))
    assert first.returncode == 0 and "run now" not in first.stdout, "nothing was there before"
    before, questions = out.read_bytes(), asked()
    done = piped("batch", file, "--out", str(out), "--json")
    assert done.returncode == 0 and out.read_bytes() == before and asked() == questions
    assert json.loads(done.stdout) | {"ended_now": 0, "ended_before": 2} == json.loads(done.stdout)
    assert "  run now: 0; there already, and not run again: 2\n" in piped("batch", file, "--out", str(out)).stdout
    written(tmp_path / "in.jsonl", [debate(seats, "c"), *given])
    done = piped("batch", file, "--out", str(out))
    assert "3 debates: 3 ended" in done.stdout and "  run now: 1; there already, and not run again: 2\n" in done.stdout
    assert [row["id"] for row in rows_of(out)][2:] == ["c"]
    done = piped("batch", file, "--out", str(out), "--json")
    assert json.loads(done.stdout) | {"ended_now": 0, "ended": 3} == json.loads(done.stdout)


def test_equal_lines_are_debates_of_their_own(workspace: Path, tmp_path: Path) -> None:
    line = {name: value for name, value in debate(duels.seats(tmp_path), "x").items() if name != "id"}
    out = tmp_path / "out.jsonl"
    assert piped("batch", written(tmp_path / "in.jsonl", [line, line]), "--out", str(out)).returncode == 0
    assert [row["id"] for row in sorted(rows_of(out), key=lambda row: row["line"])] == [1, 2]
    assert len({row["session"] for row in rows_of(out)}) == 2


def test_bad_lines_are_named_before_anything_is_called_and_can_be_skipped(workspace: Path, tmp_path: Path) -> None:
    seats, out = duels.seats(tmp_path), tmp_path / "out.jsonl"
    good = debate(seats, "good")
    wrong = [
        {**good, "id": "p", "protocol": "nonesuch"},
        {**good, "id": "s", "settings": {"rounds": 99}},
        {**good, "id": "f", "colour": "red"},
        {**good},
        {**good, "id": "t", "topic": " "},
        {**good, "id": "h", "seats": {**seats, "challenger": "human"}},
    ]
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in [good, *wrong]) + "not json\n\n")
    done = piped("batch", str(file), "--out", str(out))
    assert done.returncode == 2 and not out.exists() and not sessions.sessions(sessions.home())
    assert "7 lines cannot be run" in done.stderr
    for number in range(2, 9):
        assert f"line {number}: " in done.stderr
    assert "line 1: " not in done.stderr and "nonesuch" in done.stderr and "id of line 1" in done.stderr
    done = piped("batch", str(file), "--out", str(out), "--skip-bad")
    assert done.returncode == 0, done.stderr
    assert [row["id"] for row in rows_of(out)] == ["good"] and "7 lines cannot be run" in done.stderr


def test_a_file_may_begin_with_a_byte_order_mark(workspace: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(debate(duels.seats(tmp_path), "a")).encode() + b"\r\n")
    done = piped("batch", str(file), "--out", str(out))
    assert done.returncode == 0 and [row["id"] for row in rows_of(out)] == ["a"], done.stderr


def test_a_limit_of_a_whole_batch_may_be_larger_than_that_of_one_debate(workspace: Path, tmp_path: Path) -> None:
    file, out = written(tmp_path / "in.jsonl", [debate(duels.seats(tmp_path), "a")]), tmp_path / "out.jsonl"
    limits = ("--max-calls", "5000000", "--max-tokens", "20000000000")
    assert piped("batch", file, "--out", str(out), *limits).returncode == 0
    done = piped("batch", file, "--out", str(out), "--max-calls", "0")
    assert done.returncode == 2 and "--max-calls must be 1 to 1,000,000,000, got 0" in done.stderr


def test_a_failed_debate_is_a_row_with_its_class_and_is_resumed(workspace: Path, tmp_path: Path) -> None:
    said = {**duels.answers(2), "r1/opening@proposer": {"fail": "auth"}}
    (tmp_path / "bad").mkdir()
    bad, good = duels.seats(tmp_path / "bad", said), duels.seats(tmp_path)
    out = tmp_path / "out.jsonl"
    file = written(tmp_path / "in.jsonl", [debate(bad, "bad"), debate(good, "good")])
    done = piped("batch", file, "--out", str(out))
    assert done.returncode == 3 and "1 failed" in done.stdout
    row = next(row for row in rows_of(out) if row["id"] == "bad")
    assert row["failure"] == "auth" and row["error"] and row["exit"] == 3 and row["session"]
    duels.seats(tmp_path / "bad", duels.answers(2))  # the key is valid again
    done = piped("batch", file, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert (last := rows_of(out)[-1])["id"] == "bad" and last["session"] == row["session"] and "failure" not in last
    assert asked()[row["session"], "r1/opening@proposer"] == 2


def started(file: str, out: Path, *more: str) -> subprocess.Popen[str]:
    words = [REBUT, "batch", file, "--out", str(out), *more]
    return forkserver.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(path: Path, count: int) -> None:
    """Wait until a file has so many lines."""
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        time.sleep(0.01)


def begun(journal: Path, count: int) -> None:
    """Wait until the sessions of so many debates are on record. The first line of the journal is about all of them."""
    until(journal, 1 + count)


def slow(folder: Path) -> dict[str, str]:
    """Seats whose later answers take a while, so that a batch can be hit in the middle."""
    said = {key: {"json": value, "delay": 0.3} for key, value in duels.answers(2).items()}
    return duels.seats(folder, said)


@PROCESSES
def test_after_kill_9_everything_ends_and_nothing_on_record_is_asked_again(
    workspace: Path, tmp_path: Path, processes: str
) -> None:
    out = tmp_path / "out.jsonl"
    file = written(tmp_path / "in.jsonl", [debate(slow(tmp_path), f"q{n}") for n in range(8)])
    more = ("--at-once", "4", "--processes", processes)
    child = started(file, out, *more)
    until(out, 1)
    while not half_way() and child.poll() is None:
        time.sleep(0.01)
    child.kill()
    child.communicate()  # its processes hold standard error until they have ended, too
    with out.open("ab") as torn:
        torn.write(b'{"id": "q7", "line_ha')  # as a kill in the middle of a write leaves it
    root = sessions.home()
    on_record = {
        (one.id, line.event.key)
        for one in sessions.sessions(root)
        for line in read(root / one.id).lines
        if line.event.kind == "answered"
    }
    before = asked()
    assert on_record and len(rows_of_whole(out)) < 8
    done = piped("batch", file, "--out", str(out), *more)
    assert done.returncode == 0, done.stderr
    assert sorted(row["id"] for row in rows_of(out)) == [f"q{n}" for n in range(8)]
    assert len({row["session"] for row in rows_of(out)}) == 8
    after = asked()
    assert all(after[one] == before[one] for one in on_record)
    assert any(any_resumed(one.id) for one in sessions.sessions(root))


def half_way() -> bool:
    """Whether a debate has some of its five answers on record, and is not about to end."""
    kinds = ([line.event.kind for line in read(one.folder).lines] for one in sessions.sessions(sessions.home()))
    return any(1 <= found.count("answered") <= 3 for found in kinds)


def rows_of_whole(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1]


def test_the_debates_of_a_process_that_dies_are_resumed_by_another(workspace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    file = written(tmp_path / "in.jsonl", [debate(slow(tmp_path), f"q{n}") for n in range(8)])
    child = started(file, out, "--at-once", "8", "--processes", "2", "--max-calls", "100")
    begun(tmp_path / "out.jsonl.journal", 8)
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    workers = [pid for pid in children if b"worker_process" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(workers) == 2
    os.kill(int(workers[0]), signal.SIGKILL)
    stdout, stderr = child.communicate()
    assert child.returncode == 0, stderr + stdout
    assert sorted(row["id"] for row in rows_of(out)) == [f"q{n}" for n in range(8)]
    root = sessions.home()
    assert len(sessions.sessions(root)) == 8
    resumed = [one for one in sessions.sessions(root) if any_resumed(one.id)]
    assert 1 <= len(resumed) <= 4
    twice = [one for one, count in asked().items() if count > 1]
    assert len(twice) <= 4, "only what was in flight when it died is asked again"


KILLER = """import os, signal
name, version, seats = "killer", "1", {"a": 1}
async def run(debate):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_debate_whose_process_dies_twice_has_failed(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "killer.py").write_text(KILLER)
    (tmp_path / "a.json").write_text(json.dumps({"answers": {}}))
    line = {"id": "x", "protocol": str(tmp_path / "killer.py"), "topic": "Redis?", "arm": "mine"}
    file = written(tmp_path / "in.jsonl", [line | {"seats": {"a": f"scripted:{tmp_path / 'a.json'}"}}])
    done = piped("batch", file, "--out", str(tmp_path / "out.jsonl"), "--processes", "2")
    [row] = rows_of(tmp_path / "out.jsonl")
    assert done.returncode == 3 and row["failure"] == "crashed" and "died 2 times" in row["error"], done.stderr
    assert row["arm"] == "mine" and row["topic"] == "Redis?"


def any_resumed(session: str) -> bool:
    return any(isinstance(line.event, Resumed) for line in read(sessions.home() / session).lines)


@PROCESSES
def test_ctrl_c_lets_calls_in_flight_finish_and_a_second_one_drops_them(
    workspace: Path, tmp_path: Path, processes: str
) -> None:
    out = tmp_path / "out.jsonl"
    file = written(tmp_path / "in.jsonl", [debate(slow(tmp_path), f"q{n}") for n in range(4)])
    journal = tmp_path / "out.jsonl.journal"
    child = started(file, out, "--at-once", "2", "--processes", processes)
    begun(journal, 2)
    child.send_signal(signal.SIGINT)
    stdout, stderr = child.communicate()
    assert child.returncode == 130 and "no new calls" in stderr and "4 missing" in stdout
    root = sessions.home()
    for one in sessions.sessions(root):  # what was in flight is on record
        kinds = Counter(line.event.kind for line in read(root / one.id).lines)
        assert kinds["asked"] == kinds["attempt"]
    said = {key: {"hang": True} for key in duels.answers(2)}
    (tmp_path / "stuck").mkdir()
    file = written(tmp_path / "stuck.jsonl", [debate(duels.seats(tmp_path / "stuck", said), "stuck")])
    child = started(file, tmp_path / "stuck-out.jsonl", "--processes", processes)
    begun(tmp_path / "stuck-out.jsonl.journal", 1)
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    assert child.stderr is not None
    while "no new calls" not in child.stderr.readline():
        pass
    child.send_signal(signal.SIGINT)
    child.communicate()
    assert child.returncode == 130


def test_results_of_another_program_and_of_a_running_batch_are_left_alone(workspace: Path, tmp_path: Path) -> None:
    seats, out = slow(tmp_path), tmp_path / "out.jsonl"
    file = written(tmp_path / "in.jsonl", [debate(seats, "a")])
    out.write_text("measured last year")
    done = piped("batch", file, "--out", str(out))
    assert done.returncode == 2 and "not a result" in done.stderr and out.read_text() == "measured last year"
    out.unlink()
    child = started(file, out)
    until(tmp_path / "out.jsonl.journal", 1)
    done = piped("batch", file, "--out", str(out))
    assert done.returncode == 2 and "another process" in done.stderr
    child.communicate()
    assert child.returncode == 0 and len(rows_of(out)) == 1


@PROCESSES
@pytest.mark.parametrize(
    ("flag", "value", "name"), [("--max-calls", "12", "calls"), ("--max-tokens", "10000", "tokens")]
)
def test_a_limit_holds_for_the_whole_batch_and_over_its_runs(
    workspace: Path, tmp_path: Path, flag: str, value: str, name: str, processes: str
) -> None:
    out = tmp_path / "out.jsonl"
    file = written(tmp_path / "in.jsonl", [debate(duels.seats(tmp_path), f"q{n}") for n in range(6)])
    for _ in range(2):
        done = piped("batch", file, "--out", str(out), flag, value, "--json", "--processes", processes)
        shown = json.loads(done.stdout)
        assert done.returncode == 3 and shown["limit"] == name and shown["missing"] > 0, done.stderr
        root = sessions.home()
        records = [sessions.load(root / one.id).committed for one in sessions.sessions(root)]
        assert 0 < sum(getattr(one, name) for one in records) <= int(value)
    assert name != "calls" or sum(asked().values()) == 12
    done = piped("batch", file, "--out", str(out))
    assert done.returncode == 0 and sorted(row["id"] for row in rows_of(out)) == [f"q{n}" for n in range(6)]
    assert set(asked().values()) == {1}


def test_a_call_that_waits_for_room_is_not_made_after_a_stop(tmp_path: Path) -> None:
    async def act() -> None:
        budget = BatchBudget(Limits(calls=1))
        assert await budget.reserve("another", Amount(1))
        line = BatchLine.of(1, LineFields(protocol="duel", topic="q"))
        one = BatchDebate(line, "", tmp_path / "journal", budget)
        one.record = Record()

        async def call() -> None:
            async with one.control.room(Amount(1)):
                raise AssertionError("it was made")

        waiting = asyncio.ensure_future(call())
        await asyncio.sleep(0)
        one.control.drain()
        budget.end_call("another", Amount())
        with pytest.raises(Interrupted):
            await waiting
        assert await budget.reserve("another", Amount(1)), "what was reserved for it is free"

    asyncio.run(act())


def test_a_dollar_limit_needs_prices(workspace: Path, tmp_path: Path) -> None:
    seats = {"proposer": "openai:nobody-knows-it", "challenger": "openai:nor-this", "judge": "openai:nor-that"}
    file = written(tmp_path / "in.jsonl", [debate(seats, "a")])
    done = piped(
        "batch", file, "--out", str(tmp_path / "out.jsonl"), "--max-usd", "5", env={"OPENAI_API_KEY": "sk-test"}
    )
    assert done.returncode == 2 and "line 1: the price of openai:nobody-knows-it" in done.stderr


def test_a_terminal_shows_one_line_that_is_redrawn(workspace: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "in.jsonl", [debate(slow(tmp_path), f"q{n}") for n in range(3)])
    seen = at_a_terminal("batch", file, "--out", str(tmp_path / "out.jsonl"))
    assert seen.code == 0 and "0 of 3 done, 3 running" in seen.text and "\r\x1b[K" in seen.raw
    assert "3 debates: 3 ended" in seen.text and (tmp_path / "out.jsonl.journal").exists()


def test_the_progress_fits_into_a_narrow_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_progress, "time", SimpleNamespace(monotonic=lambda: 5.0))
    lines = [BatchLine.of(n, LineFields(protocol="duel", topic=f"t{n}")) for n in range(1, 41)]
    results = Results(tmp_path / "out.jsonl")
    batch = Batch(lines, results, 4)
    progress = BatchProgress(batch, quiet=False)
    for line in lines[:10]:
        results.add(
            ResultRow(line.id, line.number, line.hash, "duel", "s", usd=0.01, failure="auth"[: line.number - 1])
        )
    batch.ended, batch.running, progress._began = 10, 4, 0.0
    results.close()
    assert progress.line() == "10 of 40 done, 4 running, 9 failed, $0.10, 2.0/s, about 20 s left"
    assert progress.line(80) == f"[###.........] {progress.line()}"
    assert progress.line(70) == progress.line()
    assert progress.line(56) == "[###.........] 10/40, 9 failed, $0.10, 2.0/s, 20 s left"
    assert progress.line(36) == "10/40 9 failed $0.10 2.0/s 20 s"
    results.rows[lines[0].hash] = ResultRow("1", 1, lines[0].hash, "duel", "s", usd=None)
    assert "$" not in progress.line(), "a cost that is not known is not shown as 0"


# tables, commands, status and report


def folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


def test_a_table_is_read_like_lines(workspace: Path, tmp_path: Path) -> None:
    seats, out = duels.seats(tmp_path), tmp_path / "out.jsonl"
    head = ["id", "protocol", "topic", *(f"seats.{role}" for role in seats), "settings.rounds", "arm"]
    text = ",".join(head) + "\r\n"
    for name, arm in (("7", "a"), ("q2", "b")):
        text += ",".join([name, "duel", '"Redis, or\nnot?"', *seats.values(), "2", arm]) + "\r\n"
    table = tmp_path / "in.csv"
    table.write_bytes(("\ufeff" + text).encode())
    done = piped("batch", str(table), "--out", str(out))
    assert done.returncode == 0, done.stderr
    rows = {row["id"]: row for row in rows_of(out)}
    assert set(rows) == {"7", "q2"}, "an id that looks like a number is text, as every cell of that column"
    assert rows["q2"]["topic"] == "Redis, or not?" and rows["q2"]["arm"] == "b"
    again = piped("batch", str(table), "--out", str(out), "--json")
    assert json.loads(again.stdout)["ended_now"] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("protocol,topic\nduel,A?\nduel,B?,extra\n", "line 3: it has 3 cells, and the table has 2 columns"),
        ("protocol,protocol\nduel,duel\n", "two columns 'protocol'"),
        ('protocol,topic\nduel,A?\nduel,"B?\n', "line 3 of the table cannot be read"),
        ("protocol;topic\nduel;A?\n", "separated by semicolons"),
        ("topic\nA?\n", "line 2: it has no 'protocol'"),
        ("protocol,settings.rounds\nduel,nine\n", "line 2: "),
        ("colour,protocol\nred,duel\n", "line 2: there is no field 'colour'"),
        ("protocol,target,target.kind\ncross,staged,code\n", "line 2: it has 'target' and a part of it"),
        ("protocol,target.kind,target\ncross,code,staged\n", "line 2: it has 'target' and a part of it"),
    ],
)
def test_a_bad_table_is_named_by_its_line(workspace: Path, tmp_path: Path, text: str, said: str) -> None:
    table = tmp_path / "in.csv"
    table.write_text(text)
    done = piped("batch", str(table), "--out", str(tmp_path / "out.jsonl"))
    assert done.returncode == 2 and said in done.stderr


def test_each_commit_that_a_command_prints_is_reviewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = crashing.repository(tmp_path / "work")
    monkeypatch.chdir(work)
    for n in range(2):
        (work / f"new{n}.py").write_text("import subprocess\nsubprocess.call(input(), shell=True)\n")
        subprocess.run(["git", "add", "-A"], check=True)
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x"], check=True)
    out = tmp_path / "out.jsonl"
    words = ["batch", "--each", "git log --oneline -2", "--with", "lint,rules", "--out", str(out)]
    done = piped(*words)
    assert done.returncode == 0, done.stderr
    rows = rows_of(out)
    printed = subprocess.run(["git", "log", "--format=%h", "-2"], capture_output=True, text=True).stdout.split()
    assert {row["id"] for row in rows} == set(printed)
    assert all("to fix (" in row["review"] for row in rows), "each of the two commits brings in a problem"
    assert json.loads(piped(*words, "--json").stdout)["ended_now"] == 0
    none = piped("batch", "--each", "true", "--out", str(out))
    assert none.returncode == 2 and "the command of --each printed no line" in none.stderr
    wrong = piped("batch", "--each", "echo nonsense", "--with", "lint,rules", "--out", str(out))
    assert wrong.returncode == 2 and "Correct the command, or" in wrong.stderr
    failed = piped("batch", "--each", "exit 3", "--out", str(out))
    assert failed.returncode == 2 and "exit code 3" in failed.stderr


def test_status_says_how_far_a_batch_is_while_it_runs_and_afterwards(workspace: Path, tmp_path: Path) -> None:
    seats, out = duels.seats(tmp_path), tmp_path / "out.jsonl"
    file = written(tmp_path / "in.jsonl", [debate(seats, f"q{n}") for n in range(3)])
    assert piped("batch", file, "--out", str(out)).returncode == 0
    hanging = duels.seats(folder(tmp_path, "slow"), {"r1/opening@proposer": {"hang": True}})
    rows = [debate(seats, f"q{n}") for n in range(3)] + [debate(hanging, "slow"), debate(hanging, "slower")]
    longer = written(tmp_path / "more.jsonl", rows)
    running = forkserver.Popen([REBUT, "batch", longer, "--out", str(out), "--at-once", "1"], stderr=subprocess.DEVNULL)
    try:
        wanted = {"debates": 5, "ended": 3, "failed": 0, "begun": 1, "waiting": 1, "running": True}
        deadline = time.monotonic() + 60
        while (now := json.loads(piped("batch", "status", str(out), "--json").stdout)) | wanted != now:
            assert time.monotonic() < deadline, now
            time.sleep(0.2)
    finally:
        running.kill()
        running.wait()
    after = piped("batch", "status", str(out))
    assert "3 of 5 ended, 1 begun, 1 waiting" in after.stdout and "not running" in after.stdout
    assert piped("batch", "status", longer).returncode == 2


def test_a_report_compares_arms_and_counts_failures(workspace: Path, tmp_path: Path) -> None:
    seats, out = duels.seats(tmp_path), tmp_path / "out.jsonl"
    other = duels.seats(folder(tmp_path, "other"), {"verdict@judge": duels.verdict(winner="proposer")})
    broken = duels.seats(folder(tmp_path, "broken"), {"r1/opening@proposer": {"fail": "auth"}})
    rows = [debate(seats, f"a{n}", arm="one", topic=f"question {n}") for n in range(3)]
    rows += [debate(other, "b0", arm="two", topic="question 0"), debate(seats, "b1", arm="two", topic="question 1")]
    rows += [debate(broken, "b2", arm="two", topic="question 2")]
    piped("batch", written(tmp_path / "in.jsonl", rows), "--out", str(out))
    said = json.loads(piped("batch", "report", str(out), "--json").stdout)
    assert [(arm["arm"], arm["debates"], arm["failed"]) for arm in said["arms"]] == [("one", 3, 0), ("two", 3, 1)]
    assert said["agreement"] == [{"first": "one", "second": "two", "questions": 2, "same": 1}]
    assert said["failures"] == {"auth": 1}
    shown = piped("batch", "report", str(out)).stdout
    assert "one and two: the same in 1 of 2" in shown and "1   auth" in shown
    assert shown.splitlines()[0] == "  6 debates: 5 conclusive, 0 not, 1 failed"


def test_no_secret_of_a_topic_is_in_the_results_and_equal_topics_stay_equal(workspace: Path, tmp_path: Path) -> None:
    seats, out, secret = duels.seats(tmp_path), tmp_path / "out.jsonl", "ghp_" + "a1B2c3D4e5F6" * 3
    topic = f"Is {secret} still valid? {'x ' * 120}password = 'hunter2secret!'"
    rows = [debate(seats, arm, arm=arm, topic=topic) for arm in ("one", "two")]
    piped("batch", written(tmp_path / "in.jsonl", rows), "--out", str(out))
    said = {row["topic"] for row in rows_of(out)}
    assert len(said) == 1 and said.pop().startswith("Is [secret:github-token] still valid?")
    assert secret not in out.read_text() and "hunter2" not in out.read_text()
    report = json.loads(piped("batch", "report", str(out), "--json").stdout)
    assert report["agreement"] == [{"first": "one", "second": "two", "questions": 1, "same": 1}]


def test_a_line_cannot_run_checks(workspace: Path, tmp_path: Path) -> None:
    """The file may come from anywhere; whether code is run is the user's own word."""
    seats = duels.seats(tmp_path)
    given = [
        debate(seats, "a", run_checks=True),
        debate(seats, "b", run_checks=False),
        debate(seats, "c", settings={"run_checks": True}),
    ]
    done = piped("batch", written(tmp_path / "in.jsonl", given), "--out", str(tmp_path / "out.jsonl"))
    assert done.returncode == 2 and "3 lines cannot be run" in done.stderr, done.stderr
    assert not sessions.sessions(sessions.home())


def test_a_line_may_have_a_folder_and_a_note_of_its_own(workspace: Path, tmp_path: Path) -> None:
    there, out = tmp_path / "there", tmp_path / "out.jsonl"
    there.mkdir()
    plain = debate(duels.seats(tmp_path), "a")
    file = written(
        tmp_path / "in.jsonl", [plain, {**plain, "id": "b", "workspace": str(there), "note": "Mind the cost."}]
    )
    assert piped("batch", file, "--out", str(out)).returncode == 0
    root = sessions.home()
    by_id = {row["id"]: sessions.load(root / row["session"]) for row in rows_of(out)}
    assert by_id["b"].opened.workspace == str(there) and by_id["a"].opened.workspace == str(workspace)
    asked = {
        id: [a.prompt for c in one.calls.values() for a in c.asked.values() if a.prompt] for id, one in by_id.items()
    }
    assert all("Mind the cost." in prompt for prompt in asked["b"]) and "Mind the cost." not in str(asked["a"])
