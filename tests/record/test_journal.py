"""The journal on bad days: odd text, full and failing disks, other processes, other hands, other versions."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import crashing
import duels
import forkserver
import pytest
from crashing import FIRST, SECOND, Job, play
from hypothesis import given, settings, strategies as st

import rebut
from rebut.core.errors import RecordAltered, RecordError, RecordNewer, RecordPoisoned, SessionBusy
from rebut.record import journal as journals, sessions
from rebut.record.events import Fact, Opened, Resumed
from rebut.record.journal import NAME, Journal, read

TOPIC = crashing.TOPIC


def root() -> Path:
    return sessions.home()


def journal_of(id: str) -> Path:
    return root() / id / NAME


def begin(folder: Path) -> Journal:
    """A journal of its own, opened, to try the writing end itself."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal.open(folder)
    journal.write(Opened(id=folder.name, protocol="duel", topic="t"))
    return journal


def cli(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rebut", *words]
    return forkserver.run(command, capture_output=True, text=True, encoding="utf-8", env=crashing.environment())


def duel(folder: Path, said: dict[str, Any] | None = None, **common: Any) -> rebut.Outcome:
    return rebut.run("duel", TOPIC, **duels.seats(folder, said, rounds=1, **common), rounds=1)


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a debate that stands before its verdict, in a folder that is no repository."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rebut.Aborted):
        duel(tmp_path, {"verdict@judge": {"fail": "rate limit"}})
    duels.seats(tmp_path, rounds=1)  # it can answer now
    [found] = sessions.sessions(root())
    return found.id


# odd text


def test_line_separators_inside_a_text_are_not_line_ends(tmp_path: Path) -> None:  # C3
    odd = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\rj\nk"
    journal = begin(tmp_path / "s")
    asyncio.run(journal.append(Fact(key="k", value=odd), Fact(key="l", value="after")))
    journal.close()
    lines = read(tmp_path / "s").lines
    assert [line.event for line in lines[1:]] == [Fact(key="k", value=odd), Fact(key="l", value="after")]


def test_lone_surrogates_are_replaced_and_pairs_joined(tmp_path: Path) -> None:  # C3
    journal = begin(tmp_path / "s")
    asyncio.run(journal.append(Fact(key="k", value="half \ud83d, whole \ud83d\ude42, other half \ude42")))
    journal.close()
    [_, line] = read(tmp_path / "s").lines
    assert line.event == Fact(key="k", value="half \ufffd, whole 🙂, other half \ufffd")


def test_a_model_that_says_half_an_emoji_is_heard_and_replays(tmp_path: Path) -> None:  # C3
    odd = duels.opening(position="Half \ud83d, whole \ud83d\ude42\u2028and on.")
    raw = json.dumps(odd, ensure_ascii=False)
    escaped = json.dumps(odd)
    for text in (raw, escaped):
        assert "\\ud83d" in text or "\ud83d" in text
        outcome = duel(tmp_path, {"r1/opening@proposer": {"text": text}})
        said = outcome.data["exchanges"][0]["response"]  # type: ignore[index, call-overload]
        assert said.startswith("Half \ufffd, whole 🙂\u2028and on.")
        again = asyncio.run(rebut.replay(outcome.session))
        assert (again.final, again.data) == (outcome.final, outcome.data)
        assert outcome.spent.calls == 3, "it was not asked to repair what the program can"


# full and failing disks


def test_a_full_disk_cuts_back_to_the_last_whole_event_and_the_debate_goes_on_later(tmp_path: Path) -> None:  # C3
    answers = {key: [value] for key, value in duels.answers(1).items()}

    def job(name: str, **changes: Any) -> Job:
        (tmp_path / name).mkdir(exist_ok=True)
        return Job(str(tmp_path / name), answers, settings={"rounds": 1}, **changes)

    whole = job("whole")
    [expected] = play([whole], **FIRST)
    data = (crashing.session(tmp_path / "whole") / NAME).read_bytes()
    begun = data.index(b"\n", data.index(b'"key":"keys"')) + 1
    sizes = range(begun + 100, len(data) - 100, (len(data) - begun) // 15)
    full = [job(f"full {size}", largest_file=size) for size in sizes]
    for failed, size in zip(play(full, **FIRST), sizes, strict=True):
        assert failed.error == "RecordError" and "could not be recorded" in failed.message
        assert "Free some disk space" in failed.hint and "rebut resume" in failed.hint
        left = (crashing.session(tmp_path / f"full {size}") / NAME).read_bytes()
        assert left.endswith(b"\n") and left.count(b"\n") <= data.count(b"\n"), "no half event stays"
    room = [job(f"full {size}", resume="*") for size in sizes]
    for result, size in zip(play(room, **SECOND), sizes, strict=True):
        assert not result.error, f"{size}: {result.error}: {result.message}"
        assert crashing.same(result.outcome) == crashing.same(expected.outcome)
        asked = [key for key, _, _ in crashing.calls(tmp_path / f"full {size}")]
        # At most the one call whose return found no room was made again.
        assert sorted(set(asked)) == sorted(answers) and len(asked) <= len(answers) + 1
        assert not list(crashing.session(tmp_path / f"full {size}").glob("journal.torn-*"))


def test_half_an_event_that_cannot_be_taken_back_ends_all_writing(  # C3
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = begin(tmp_path / "s")
    put = os.write

    def half(fd: int, data: bytes) -> int:
        if len(data) > 50:
            return put(fd, data[:40])
        raise OSError(errno.ENOSPC, "No space left on device")

    def refused(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(journals.os, "write", half)
        broken.setattr(journals.os, "ftruncate", refused)
        with pytest.raises(RecordError, match="No space left"):
            journal.write(Fact(key="k", value="x" * 20))
    with pytest.raises(RecordPoisoned, match="could not be removed"):
        journal.write(Fact(key="l"))
    journal.close()
    found = read(tmp_path / "s")
    assert len(found.lines) == 1 and len(found.torn) > 0


def test_a_failed_sync_poisons_the_journal_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # C3
    good = journals._sync
    fails = [True]

    def sync(fd: int) -> None:
        if fails.pop() if fails else False:
            raise OSError(errno.EIO, "Input/output error")
        good(fd)

    monkeypatch.setattr(journals, "_sync", sync)

    async def run() -> None:
        journal = begin(tmp_path / "s")
        journal.write(Fact(key="early"))
        with pytest.raises(RecordPoisoned, match="refused to sync") as refused:
            await journal.append(Fact(key="k"))
        assert "may be lost" in refused.value.message and "rebut resume s" in refused.value.hint
        before = (tmp_path / "s" / NAME).read_bytes()
        with pytest.raises(RecordPoisoned, match="stopped at event 3"):
            journal.write(Fact(key="l"))
        # The disk would say yes now, of pages that it has already dropped.
        with pytest.raises(RecordPoisoned):
            await journal.sync()
        assert (tmp_path / "s" / NAME).read_bytes() == before
        journal.close()

    asyncio.run(run())


@pytest.mark.parametrize("others", [0, 1], ids=["in the loop", "in a thread"])
def test_what_is_appended_at_once_is_synced_at_once_and_a_failure_reaches_everybody(  # C3
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    monkeypatch.setattr(journals, "QUICK", 60.0)
    synced: list[bool] = []  # whether each sync ran in the event loop
    fails: list[int] = []

    def sync(fd: int) -> None:
        synced.append(threading.current_thread() is threading.main_thread())
        if fails:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(journals, "_sync", sync)

    async def run() -> None:
        beside = [begin(tmp_path / f"other{n}") for n in range(others)]
        journal = begin(tmp_path / "s")
        await journal.sync()
        assert synced == [False], "nothing is known of a disk before its first sync"
        synced.clear()
        await asyncio.gather(*(journal.append(Fact(key=f"k{n}")) for n in range(50)))
        assert len(synced) <= 2 and set(synced) == {not others}
        fails.append(1)
        appends = (journal.append(Fact(key=f"l{n}")) for n in range(3))
        ended = await asyncio.gather(*appends, return_exceptions=True)
        assert [type(e) for e in ended] == [RecordPoisoned] * 3
        for one in (journal, *beside):
            one.close()

    asyncio.run(run())


def test_a_debate_whose_disk_failed_a_sync_stops_and_can_be_resumed(  # C3
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, count = journals._sync, 0

    def sync(fd: int) -> None:
        nonlocal count
        count += 1
        if count == 4:
            raise OSError(errno.EIO, "Input/output error")
        good(fd)

    with monkeypatch.context() as broken:
        broken.setattr(journals, "_sync", sync)
        with pytest.raises(RecordPoisoned):
            duel(tmp_path)
    assert count == 4, "nothing was written or synced after it"
    [found] = sessions.sessions(root())
    assert asyncio.run(rebut.resume(found.id)).heading == "VERDICT"


@pytest.mark.skipif(os.getuid() == 0 and sys.platform != "linux", reason="root cannot be held to permissions here")
def test_a_session_folder_that_cannot_be_written_is_left_as_it_is_and_says_why(tmp_path: Path) -> None:  # C3
    answers = {key: [value] for key, value in duels.answers(1).items()}
    new = Job(str(tmp_path), answers, settings={"rounds": 1}, powerless=True)
    again = Job(str(tmp_path), answers, resume="*", powerless=True)
    assert play([replace(new, die_at_call=3)], **FIRST)[0].died
    folder = crashing.session(tmp_path)
    before = (folder / NAME).read_bytes()
    try:
        folder.chmod(0o500)
        for path in folder.iterdir():
            path.chmod(0o400)
        (tmp_path / "home/sessions").chmod(0o500)
        [refused, started] = play([again, new], **SECOND)
    finally:
        (tmp_path / "home/sessions").chmod(0o700)
        folder.chmod(0o700)
    assert refused.error == "RecordError" and "cannot be written: Permission denied" in refused.message
    assert str(folder) in refused.hint
    assert started.error == "UsageError" and "no session can be stored" in started.message
    assert "Nothing was called" in started.hint and "REBUT_HOME" in started.hint
    assert (folder / NAME).read_bytes() == before and len(crashing.calls(tmp_path)) == 3
    for path in folder.iterdir():
        path.chmod(0o600)
    [result] = play([again], **SECOND)
    assert result.outcome["heading"] == "VERDICT"


# other processes


@contextmanager
def held(folder: Path) -> Iterator[tuple[str, int]]:
    """A debate that another process is running right now: its id and that process."""
    specs = duels.seats(folder, {"r1/opening@proposer": {"hang": True}}, rounds=1)
    words = [word for role, spec in specs.items() for word in (f"--{role}", spec)]
    command = [sys.executable, "-m", "rebut", "duel", TOPIC, *words, "--rounds", "1", "--quiet"]
    run = forkserver.Popen(command, cwd=folder, env=crashing.environment())
    try:
        while not any(b'"asked"' in path.read_bytes() for path in root().glob(f"*/{NAME}")):
            assert run.poll() is None
            time.sleep(0.01)
        [found] = sessions.sessions(root())
        yield found.id, run.pid
    finally:
        run.kill()
        run.wait()


def test_a_second_process_is_told_who_runs_the_session(tmp_path: Path) -> None:  # C3
    with held(tmp_path) as (id, pid):
        before = journal_of(id).read_bytes()
        second = cli("resume", id)
        assert second.returncode == 3 and f"process {pid}" in second.stderr and f"rebut show {id}" in second.stderr
        with pytest.raises(SessionBusy, match=str(pid)):
            asyncio.run(rebut.resume(id))
        assert cli("show", id).returncode == 0, "reading needs no lock"
        assert journal_of(id).read_bytes() == before
    duels.seats(tmp_path, rounds=1)
    assert asyncio.run(rebut.resume(id)).heading == "VERDICT", "the lock goes with its process"


KILLED_WHILE_IT_FORKS = """
import os, sys, time
from pathlib import Path
from rebut.record.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
if os.fork():
    print("ready", flush=True)
    time.sleep(60)
else:  # as a child is between its fork and its exec: it has the parent's lock, too
    os.close(1)
    time.sleep(0.7)
    os._exit(0)
"""


def test_a_lock_that_a_killed_process_left_to_a_child_is_waited_for(tmp_path: Path) -> None:  # C3
    begin(tmp_path / "session").close()
    command = [sys.executable, "-c", KILLED_WHILE_IT_FORKS, str(tmp_path / "session")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        process.kill()
    Journal.open(tmp_path / "session").close()


def test_only_the_holder_of_the_lock_sets_a_torn_tail_aside(stopped: str) -> None:  # C3, C13
    path = journal_of(stopped)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"seq":99,"prev":"tor')
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    for words in (["show"], ["show", "--json"], ["verify"], ["export"]):
        done = cli(words[0], stopped, *words[1:])
        assert done.returncode == (3 if words == ["verify"] else 0), done.stderr
    assert "incomplete last line" in cli("verify", stopped).stdout
    assert {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()} == before
    assert asyncio.run(rebut.resume(stopped)).heading == "VERDICT"
    [aside] = path.parent.glob("journal.torn-*")
    assert aside.read_bytes() == b'{"seq":99,"prev":"tor'
    assert path.read_bytes().startswith(whole)


def test_two_tails_torn_at_one_place_are_both_kept(stopped: str) -> None:  # C3
    path = journal_of(stopped)
    whole = path.read_bytes()
    for torn in (b'{"seq":1', b'{"seq":2'):  # as when a resume dies while it writes its own first event
        path.write_bytes(whole + torn)
        Journal.open(path.parent).close()
    assert sorted(file.read_bytes() for file in path.parent.glob("journal.torn-*")) == [b'{"seq":1', b'{"seq":2']
    assert path.read_bytes() == whole


def test_a_last_block_that_was_never_flushed_is_set_aside(stopped: str) -> None:  # C3
    path = journal_of(stopped)
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(512) + b"\n")
    assert asyncio.run(rebut.resume(stopped)).heading == "VERDICT"
    [again] = [line.event for line in sessions.load(path.parent).lines if isinstance(line.event, Resumed)]
    assert again.torn == 513 and path.read_bytes().startswith(whole)


# other hands


def swapped(lines: list[bytes], n: int) -> list[bytes]:
    return [*lines[:n], lines[n + 1], lines[n], *lines[n + 2 :]]


CHANGES: dict[str, Callable[[list[bytes], int], list[bytes]]] = {
    "a byte": lambda lines, n: [*lines[:n], lines[n].replace(b'"at":"20', b'"at":"21'), *lines[n + 1 :]],
    "a line less": lambda lines, n: lines[:n] + lines[n + 1 :],
    "a line twice": lambda lines, n: lines[: n + 1] + lines[n:],
    "two lines the other way round": swapped,
    "no JSON": lambda lines, n: [*lines[:n], lines[n][1:], *lines[n + 1 :]],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_journal_that_something_else_changed_is_not_trusted(change: str, stopped: str) -> None:  # C3, C13
    path = journal_of(stopped)
    lines = path.read_bytes().split(b"\n")[:-1]
    for n in range(len(lines) - 2):
        altered = b"\n".join(CHANGES[change](lines, n)) + b"\n"
        assert altered.split(b"\n") != [*lines, b""]
        path.write_bytes(altered)
        with pytest.raises(RecordAltered):
            asyncio.run(rebut.resume(stopped))
        assert path.read_bytes() == altered
    assert not list(path.parent.glob("journal.torn-*"))
    for words in (["verify", stopped], ["resume", stopped]):
        told = cli(*words)
        assert told.returncode == 3 and "of the journal" in told.stderr


def test_a_last_line_that_is_whole_and_no_event_is_not_taken_for_a_torn_one(stopped: str) -> None:  # C3, C13
    path = journal_of(stopped)
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rpartition(b"\n")[2]
    for altered in (whole.replace(last, last.replace(b'"kind":"', b'"kind":"un')), whole + b'{"note":"by hand"}\n'):
        path.write_bytes(altered)
        with pytest.raises(RecordAltered, match="is not an event") as caught:
            asyncio.run(rebut.resume(stopped))
        assert "something other than rebut" in caught.value.hint
        assert path.read_bytes() == altered and not list(path.parent.glob("journal.torn-*"))


def test_a_refused_journal_leaves_no_file_open(stopped: str) -> None:  # C3
    path = journal_of(stopped)
    path.write_bytes(path.read_bytes().replace(b'"at":"20', b'"at":"21', 1))
    fds = Path("/dev/fd")
    before = len(list(fds.iterdir()))
    for _ in range(5):
        with pytest.raises(RecordAltered):
            Journal.open(path.parent)
    assert len(list(fds.iterdir())) == before


def test_a_whole_record_is_verified(stopped: str) -> None:  # C13
    told = cli("verify", stopped, "--json")
    assert told.returncode == 0
    shown = json.loads(told.stdout)
    found = read(journal_of(stopped).parent)
    assert (shown["events"], shown["last_hash"]) == (len(found.lines), found.last_hash)


# other versions


def test_a_journal_of_a_newer_rebut_is_left_alone_with_advice(stopped: str) -> None:  # C3
    path = journal_of(stopped)
    first, _, rest = path.read_bytes().partition(b"\n")
    newer = json.loads(first) | {"schema": 2, "a field": "nobody here knows"}
    data = json.dumps(newer).encode() + b"\n" + rest
    path.write_bytes(data)
    with pytest.raises(RecordNewer) as error:
        asyncio.run(rebut.resume(stopped))
    assert "schema 2" in error.value.message and "Update rebut" in error.value.hint
    for command in ("show", "resume", "verify", "replay", "export"):
        told = cli(command, stopped)
        assert told.returncode == 3 and "Update rebut" in told.stderr
    assert cli("list", "--all").returncode == 0
    assert path.read_bytes() == data


# many at once


def test_what_arrives_together_shares_a_sync_and_none_returns_before_it(  # C3
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, durable = journals._sync, [0]

    def sync(fd: int) -> None:
        size = os.fstat(fd).st_size
        good(fd)
        durable.append(size)

    monkeypatch.setattr(journals, "_sync", sync)

    async def run() -> None:
        journal = begin(tmp_path / "s")

        async def one(n: int) -> None:
            await journal.append(Fact(key=f"k{n}", value="x" * n))
            data = (tmp_path / "s" / NAME).read_bytes()
            end = data.index(b"\n", data.index(f'"key":"k{n}"'.encode())) + 1
            assert durable[-1] >= end, "handed on before it was on disk"

        await asyncio.gather(*(one(n) for n in range(400)))
        journal.close()

    asyncio.run(run())
    assert len(read(tmp_path / "s").lines) == 401
    assert len(durable) < 20


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), st.booleans()), min_size=1, max_size=25))
def test_events_are_in_order_and_chained_whoever_writes_when_and_is_cancelled(
    writers: list[tuple[int, int, bool]],
) -> None:  # C3
    async def run(folder: Path) -> tuple[list[str], list[str]]:
        journal = begin(folder)
        wrote: list[str] = []

        async def one(n: int, wait: int, count: int) -> None:
            for _ in range(wait):
                await asyncio.sleep(0)
            events = [Fact(key=f"{n}.{i}") for i in range(count)]
            wrote.extend(e.key for e in events)
            await journal.append(*events)

        tasks = [asyncio.ensure_future(one(n, wait, count)) for n, (wait, count, _) in enumerate(writers)]
        for _ in range(3):
            await asyncio.sleep(0)
        for task, (_, _, cancelled) in zip(tasks, writers, strict=True):
            if cancelled:
                task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        await journal.append(Fact(key="last"))
        journal.close()
        for result, (_, _, cancelled) in zip(done, writers, strict=True):
            assert result is None or (cancelled and isinstance(result, asyncio.CancelledError))
        return [*wrote, "last"], [line.event.key for line in read(folder).lines[1:] if isinstance(line.event, Fact)]

    with tempfile.TemporaryDirectory() as made:
        wrote, found = asyncio.run(run(Path(made) / "s"))
    assert found == wrote


def test_a_journal_survives_its_writer_without_a_farewell(tmp_path: Path) -> None:  # C3
    pid = os.fork()
    if pid == 0:
        try:
            journal = begin(tmp_path / "s")
            for n in range(50):
                journal.write(Fact(key=f"k{n}"))
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    found = read(tmp_path / "s")
    assert len(found.lines) == 51 and not found.torn
