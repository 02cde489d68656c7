"""The journal in PostgreSQL beside the one in a file, and workers: appends, debates, and how fast they are enqueued.

The server is one of its own in a temporary folder, which waits for the disk as a real one does. `REBUT_BENCH_DEBATES`
changes the number of debates, and `REBUT_BENCH_PARTS` measures only some of the figures: `appends`, `enqueued`, and a
number of workers, such as `appends,4`.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psycopg

from bench import said, server
from bench.places import own_home
from bench.table import Row
from rebut.record import sessions
from rebut.record.events import Fact, Opened
from rebut.record.journal import Journal
from tests_postgres import cluster

DEBATES = int(os.environ.get("REBUT_BENCH_DEBATES", "2000"))
ENQUEUED = 5 * DEBATES
WORKERS = (1, 2, 4)
PARTS = os.environ.get("REBUT_BENCH_PARTS", ",".join(["appends", *map(str, WORKERS), "enqueued"])).split(",")
LATENCY = 0.05
AT_ONCE = 50
APPENDS = 400
LINE = "x" * 3000
"""About as long as an answer."""
REBUT = str(Path(sys.executable).parent / "rebut")


def rows() -> list[Row]:
    if missing := cluster.get():
        print(f"left out: {missing}", file=sys.stderr)
        return []
    with own_home() as workspace, cluster.running(sync=True) as database:
        found = _appends(database) if "appends" in PARTS else []
        return found + (_debates(database, workspace) if PARTS != ["appends"] else [])


# Appends.


def _appends(database: cluster.Cluster) -> list[Row]:
    url = _made(database, "appends")
    with psycopg.connect(url, autocommit=True) as bare:
        bare.execute("create table floor (n bigint primary key, line bytea)")
        began = time.perf_counter()
        for n in range(APPENDS):
            bare.execute("insert into floor values (%s, %b)", (n, LINE.encode()))
        floor = (time.perf_counter() - began) / APPENDS * 1000
    found = []
    for many in (1, 50):
        file, there = (_each_append(many, home) for home in (os.environ["REBUT_HOME"], url))
        words = f"append to PostgreSQL, {many} session{'s' if many > 1 else ''} at once"
        found += [
            Row(f"{words}: beside one bare insert", there, "ms", floor),
            Row("  appends a second", 1000 / there, "/s"),
            Row("  the same in files", file, "ms", floor),
        ]
    return found


def _each_append(many: int, home: str) -> float:
    """Milliseconds for each append while so many sessions append as fast as they can."""
    root = sessions.home({**os.environ, "REBUT_HOME": home})

    async def one(count: int) -> None:
        journal = Journal.open(await asyncio.to_thread(sessions.create, root))
        journal.write(Opened(id=journal.folder.name, protocol="duel", topic="t"))
        for n in range(count):
            await journal.append(Fact(key=f"k{n}", value=LINE))
        journal.close()

    async def all_of_them() -> float:
        began = time.perf_counter()
        await asyncio.gather(*(one(max(10, APPENDS // many)) for _ in range(many)))
        return (time.perf_counter() - began) / (max(10, APPENDS // many) * many) * 1000

    return median(asyncio.run(all_of_them()) for _ in range(3))


# Debates.


def _debates(database: cluster.Cluster, workspace: Path) -> list[Row]:
    with server.serving(said.by_form(), LATENCY) as where:
        _configure(where.url)
        out: list[Row] = []
        ideal = 5 * LATENCY / AT_ONCE * 1000
        url, before = _enqueued(database, workspace)
        for count in WORKERS:
            if str(count) not in PARTS:
                continue
            wall, cpu = _in_files(workspace, count)
            files = f"{DEBATES:,} debates in files, {count} process{'es' if count > 1 else ''}"
            out += [
                Row(f"{files}: wall a debate, beside the ideal", wall, "ms", ideal / count),
                Row("  CPU a debate", cpu, "ms"),
            ]
            there, used, by_server, kept = _on_workers(database, workspace, count)
            words = f"  in PostgreSQL, {count} worker{'s' if count > 1 else ''}"
            out += [
                Row(f"{words}: wall a debate, beside the files", there, "ms", wall),
                Row(f"{words}: CPU a debate, beside the files", used, "ms", cpu),
                Row("  CPU of the database a debate", by_server, "ms"),
                Row("  the database grows by, a debate", kept, "kB"),
            ]
        if "enqueued" in PARTS:
            with _measured(ENQUEUED) as took:
                _enqueue(workspace, url, ENQUEUED)
            wall, used = (mine + first * DEBATES / ENQUEUED for mine, first in zip(took(), before, strict=True))
            out += [Row(f"{ENQUEUED:,} debates enqueued: each", wall, "ms"), Row("  CPU of the command", used, "ms")]
    return out


def _enqueued(database: cluster.Cluster, workspace: Path) -> tuple[str, tuple[float, float]]:
    """A database with the debates of one run, which is copied for each number of workers; and what enqueueing took."""
    url = _made(database, "enqueued")
    with _measured(DEBATES) as took:
        _enqueue(workspace, url, DEBATES)
    return url, took()


def _enqueue(workspace: Path, url: str, count: int) -> None:
    _run(workspace, "batch", str(_lines(workspace, "enqueued", count)), "--on", url, "--at-once", "50")


def _in_files(workspace: Path, count: int) -> tuple[float, float]:
    file = _lines(workspace, f"files{count}", DEBATES)
    words = ["batch", str(file), "--out", f"{file}.out", "--at-once", str(AT_ONCE * count), "--processes", str(count)]
    with _measured(DEBATES) as took:
        _run(workspace, *words, "--quiet")
    return took()


def _on_workers(database: cluster.Cluster, workspace: Path, count: int) -> tuple[float, float, float, float]:
    """For each debate: wall, CPU of the workers, CPU of the server (all in ms), and kB of the database."""
    url = database.create(f"workers{count}", "enqueued")
    size, busy = _size(url), database.cpu()
    with _measured(DEBATES) as took:
        command = [REBUT, "batch", "work", "--on", url, "--at-once", str(AT_ONCE), "--until-empty", "--log-json"]
        workers = [subprocess.Popen(command, cwd=workspace, stderr=subprocess.DEVNULL) for _ in range(count)]
        for worker in workers:
            assert worker.wait() == 0
    return *took(), (database.cpu() - busy) / DEBATES * 1000, (_size(url) - size) / DEBATES / 1000


def _size(url: str) -> int:
    with psycopg.connect(url) as connection:
        [(size,)] = connection.execute("select pg_database_size(current_database())").fetchall()
    return int(size)


def _made(database: cluster.Cluster, name: str) -> str:
    url = database.create(name)
    _run(None, "batch", "upgrade", "--on", url)
    return url


def _lines(folder: Path, name: str, count: int) -> Path:
    row = {"protocol": "duel", "seats": {"proposer": "loop:a", "challenger": "loop:b"}, "settings": {"rounds": 2}}
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({**row, "topic": f"{n}: Redis or not?"}) + "\n" for n in range(count)))
    return path


def _configure(url: str) -> None:
    """The measured server as the user's provider."""
    path = Path(os.environ["REBUT_HOME"]).parent / "config.toml"
    path.write_text(f'[providers.loop]\nwire = "openai"\nbase_url = "{url}"\nat_once = 1000\nfree = true\n')
    os.environ["REBUT_CONFIG"] = str(path)


def _run(folder: Path | None, *words: str) -> None:
    done = subprocess.run([REBUT, *words], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"rebut {' '.join(words)}: {done.stdout[-500:]}{done.stderr[-2000:]}")


@contextmanager
def _measured(debates: int) -> Iterator[Callable[[], tuple[float, float]]]:
    """Milliseconds of wall and of processor time for each debate, in the processes that are started and end here."""
    began, used, ended = time.perf_counter(), _children(), list[tuple[float, float]]()
    yield lambda: ended[0]
    ended.append(((time.perf_counter() - began) / debates * 1000, (_children() - used) / debates * 1000))


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
