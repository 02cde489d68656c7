"""Debates that die where they are told to, and are taken up again in another process under another sky.

    results = crashing.play(jobs, days=400, PYTHONHASHSEED="2", TZ="Asia/Tokyo")

A job starts or resumes one debate. The jobs of one `play` share a few interpreters that were started with that hash
seed, zone, locale and date; each job then has a process of its own (a fork), because that is what dies.
"""

from __future__ import annotations

import asyncio
import ctypes
import datetime
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rebut.testing import _move_clock as another_day

if TYPE_CHECKING:
    from rebut.core.types import Reply, Request
    from rebut.engine.runtime import Connection
    from rebut.record.events import Line

DIED = 86
SEATS = {"proposer": "one", "challenger": "two", "judge": "three"}
TOPIC = "Redis or cookies for sessions?"
FIRST = {"PYTHONHASHSEED": "1", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"}
SECOND = {
    "PYTHONHASHSEED": "2",
    "TZ": "Pacific/Kiritimati",
    # No UTF-8 unless the code asks for it.
    **{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
}


@dataclass(frozen=True)
class Job:
    """One debate to start or, with `resume`, to take up again."""

    folder: str
    """Of this debate alone: holds `calls.jsonl`, its sessions, and where it is run."""
    said: Mapping[str, Sequence[Any]]
    """Key → what is said at first, and what when asked again."""
    resume: str = ""
    """An id; `*` for the only session there is."""
    workspace: str = ""
    protocol: str = "duel"
    scope: str = ""
    """Of the target, for a protocol that has one."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    seats: Mapping[str, str | Sequence[str]] = field(default_factory=lambda: dict(SEATS))
    """Role → one spec, or several."""
    far: bool = False
    """The debaters are such as may not be there, and are tried first."""
    forked: bool = True
    """Not, for the many that need no process of their own."""
    die_at_call: int = 0
    """In the middle of the nth call of this process."""
    die_after_event: int = 0
    """As soon as the event with this number is in the journal."""
    die_at_file: str = ""
    """`before` or `after` the state file takes its place."""
    version: str = ""
    """Another version of rebut."""
    largest_file: int = 0
    """A disk that is full: no file may grow beyond so many bytes."""
    powerless: bool = False
    """Held to file permissions, root or not."""
    spawn: bool = False
    """Each call starts a tool, and then hangs."""
    hang_at: str = ""
    """The key at which a model hangs, and the time is up."""
    decide: Mapping[str, str] = field(default_factory=dict)
    """Key → what somebody decides while it is asked: `settle`, `more`, or to `leave` it."""
    ask_left: bool = False
    """On resume, whoever was left behind is asked again."""
    fake_start: str = ""
    """What the system is made to say about when a tool started."""


@dataclass(frozen=True)
class Result:
    """What came of a job."""

    code: int
    outcome: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    message: str = ""
    hint: str = ""
    year: int = 0

    @property
    def died(self) -> bool:
        return self.code == DIED


def play(jobs: Sequence[Job], *, days: int = 0, workers: int = 2, **env: str) -> list[Result]:
    """Run the jobs in interpreters of their own. With one worker they come one after another."""
    _close_connections()
    shares = [list(jobs[n::workers]) for n in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(lambda share: _interpreter(share, days, env) if share else [], shares))
    return [done[n % workers][n // workers] for n in range(len(jobs))]


def command() -> list[str]:
    return [sys.executable, __file__]


def environment(**changes: str) -> dict[str, str]:
    import rebut

    source = str(Path(rebut.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, **changes}


def _interpreter(jobs: list[Job], days: int, env: Mapping[str, str]) -> list[Result]:
    import forkserver

    # Modules that are loaded keep the version that they were loaded with.
    run = subprocess.run if any(job.version for job in jobs) else forkserver.run
    with tempfile.TemporaryDirectory() as elsewhere:  # a working folder that no debate was started in
        Path(elsewhere).chmod(0o755)
        done = run(
            [*command(), str(days)],
            input=json.dumps([asdict(job) for job in jobs]),
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment(**env),
            cwd=elsewhere,
        )
    assert done.returncode == 0, done.stderr
    results = [Result(**json.loads(line)) for line in done.stdout.splitlines()]
    assert all(r.code in (0, DIED) for r in results), done.stderr
    return results


def calls(folder: Path) -> list[tuple[str, str, str]]:
    """Every call that reached a model: key, first line of what came after the question, hash of it all."""
    log = folder / "calls.jsonl"
    return [tuple(json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []


DATABASE = "REBUT_TEST_DATABASE"
"""The variable with the address of a database: the journals of jobs are there then, and not in their folders."""


def home(folder: Path) -> str:
    """REBUT_HOME of a job: a folder of its own, or a schema of its own in the database."""
    url = os.environ.get(DATABASE)
    if not url:
        return str(folder / "home")
    from rebut.record.postgres import migrations
    from rebut.record.postgres.connection import connect

    name = f"job_{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
    mine = f"{url}?options=-csearch_path%3D{name}"
    with connect(url) as connection:
        new = connection.execute("select 1 from pg_namespace where nspname = %s", (name,)).fetchone() is None
        connection.execute(f"create schema if not exists {name}")
    if new:
        with connect(mine) as connection:
            migrations.upgrade(connection, migrations.known())
    return mine


def _expire_leases(place: str) -> None:
    """As if the processes that died had been silent for the length of a lease, as they are 400 days later."""
    from rebut.record import stores
    from rebut.record.postgres.connection import connect

    if stores.is_database(place):
        with connect(place) as connection:
            connection.execute("update rebut_session set lease_until = '-infinity'")


def _close_connections() -> None:
    """Those of this process to the databases of earlier jobs."""
    from rebut.record import stores

    for store in stores._databases.values():
        store.connection.close()  # type: ignore[attr-defined]


def session(folder: Path) -> Path:
    """The one session that a job left."""
    [one] = all_sessions(folder)
    return one


def all_sessions(folder: Path) -> list[Path]:
    from rebut.record import sessions, stores

    root = sessions.home({"HOME": str(folder), "REBUT_HOME": home(folder)})
    store = stores.of(root)
    return [root / id for id in store.ids("")] if store else list(root.iterdir())


def repository(folder: Path) -> Path:
    """A workspace with one file to cite, the same wherever it lies."""
    from repositories import copied

    return copied(_cited, folder)


def _cited(folder: Path) -> None:
    from repositories import commit, new

    lines = "".join(f"line_{n} = {n}\n" for n in range(3, 40))
    commit(new(folder, {"src/session.py": f"import redis\nttl = 3600\n{lines}"}))


def same(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """What must not differ between two runs of one debate: all but ids, times and spend."""
    assert outcome, "it came to no end"
    names = ("kind", "heading", "decision", "verdict", "final", "ledger", "data", "conclusive", "stopped", "notes")
    return {name: outcome[name] for name in names}


# what tests ask of a job


def resumed(job: Job, **changes: Any) -> Job:
    folder = session(Path(job.folder))
    return replace(job, resume=folder.name, die_at_call=0, die_after_event=0, **changes)


def journal(job: Job) -> bytes:
    return journal_bytes(session(Path(job.folder)))


def journal_bytes(folder: Path) -> bytes:
    from rebut.record import stores

    if store := stores.of(folder.parent):
        return b"".join(line + b"\n" for line in store.lines(folder.name))
    return (folder / "journal.jsonl").read_bytes()


def wire(job: Job) -> list[tuple[str, str, str]]:
    return calls(Path(job.folder))


def questions(job: Job) -> list[tuple[str, str]]:
    return [(key, again) for key, again, _ in wire(job)]


def end_of(result: Result) -> dict[str, Any]:
    assert result.outcome, f"{result.code} {result.error}: {result.message}"
    return same(result.outcome)


def all_end_like(expected: dict[str, Any], jobs: Sequence[Job], results: Sequence[Result]) -> None:
    assert len(jobs) == len(results)
    for job, result in zip(jobs, results, strict=True):
        found = end_of(result)
        for name, value in expected.items():
            assert found[name] == value, f"{name} of {Path(job.folder).name}"


@contextmanager
def quick_folder(otherwise: Path) -> Iterator[Path]:
    """A folder in memory where the system has one: so many debates wait long for a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else otherwise) as made:
        yield Path(made)


# in the child


class Debater:
    """A model that answers by key, whatever the attempt is numbered: a pure function of the request.

    Each call is in the log before anything else happens, so the log is what a provider would have seen.
    """

    def __init__(self, job: Job) -> None:
        from rebut.engine.steering import Control

        self.job, self.calls, self.control = job, 0, Control()

    async def _decide(self, decision: str, key: str) -> None:
        """Somebody at the screen. What an earlier process has on record is not decided twice."""
        from rebut.engine.steering import added

        assert self.control.steering is not None
        if decision == "settle":
            self.control.settle()
        elif decision == "more" and not added(self.control.steering.runtime.record):
            assert self.control.more() == ""
        elif decision == "leave":
            while self.control.skip(key):  # noqa: ASYNC110  refused until a sibling has answered
                await asyncio.sleep(0)
            await asyncio.Event().wait()

    async def complete(self, request: Request) -> Reply:
        from rebut.core.types import Reply, Usage

        self.calls += 1
        log = Path(self.job.folder) / "calls.jsonl"
        sha = hashlib.sha256(request.whole.encode()).hexdigest()[:12]
        with log.open("ab", buffering=0) as file:
            file.write(json.dumps([request.key, request.followup.partition("\n")[0], sha]).encode() + b"\n")
        if request.key == self.job.hang_at:
            self.control.expire()
            await asyncio.Event().wait()
        if decision := self.job.decide.get(request.key):
            await self._decide(decision, request.key)
        if self.job.spawn:
            await _tool(Path(self.job.folder), request.on_spawn)
        if self.calls == self.job.die_at_call:
            os._exit(DIED)
        if (tries := self.job.said.get(request.key)) is None and "code word" in request.whole:
            tries = [request.whole.partition("room is ")[2].partition(".")[0]]
        assert tries is not None, request.key
        value = tries[min(1 if request.followup else 0, len(tries) - 1)]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return Reply(text, f"model {request.participant.seat}", "family", Usage(100, 50))


async def _tool(folder: Path, on_spawn: Callable[[int], None]) -> NoReturn:
    # The child ignores the gentle signal, as tools do: to end it, the group must be ended by force.
    script = 'trap "" TERM; sleep 1000 & trap - TERM; echo $!; wait'
    pipe = asyncio.subprocess.PIPE
    tool = await asyncio.create_subprocess_exec("sh", "-c", script, start_new_session=True, stdout=pipe)
    on_spawn(tool.pid)
    assert tool.stdout
    child = int(await tool.stdout.readline())
    (folder / "tools.part").write_text(json.dumps([tool.pid, child]))
    (folder / "tools.part").rename(folder / "tools")
    await asyncio.Event().wait()
    raise AssertionError


def _give_up_powers() -> None:
    """Drop every capability. Another user would do too, but could perhaps not read the interpreter."""
    version = 0x20080522
    header, sets = (ctypes.c_uint32 * 2)(version, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


def _far(debater: Debater) -> Connection:
    from rebut.engine.runtime import Connection

    return Connection(debater, lambda sent, back: 0.0, family="far", far=True)


def _act(job: Job) -> Result:
    import rebut
    from rebut.core.errors import RebutError

    folder = Path(job.folder)
    os.environ["HOME"] = job.folder
    if job.powerless and os.getuid() == 0:
        _give_up_powers()
    if job.largest_file:  # Python ignores the signal, so the write comes back short and then fails
        resource.setrlimit(resource.RLIMIT_FSIZE, (job.largest_file, resource.RLIM_INFINITY))
    if job.fake_start:
        from rebut.core import process_identity

        process_identity.started = lambda pid: job.fake_start

    if job.die_at_file:
        place = Path.replace

        def replace(self: Path, target: Path) -> Path:
            if job.die_at_file == "after":
                place(self, target)
            os._exit(DIED)

        Path.replace = replace  # type: ignore[assignment, method-assign]

    def listen(line: Line) -> None:
        if line.seq == job.die_after_event and DATABASE not in os.environ:
            os._exit(DIED)

    if DATABASE in os.environ:
        _die_after_sync(job.die_after_event)

    debater = Debater(job)
    outside: dict[str, Any] = {
        "backends": dict.fromkeys(_specs(job), _far(debater) if job.far else debater),
        "listener": listen,
        "control": debater.control,
        "env": {"HOME": job.folder, "REBUT_HOME": home(folder), "PATH": os.environ["PATH"]},
    }
    year = datetime.datetime.now().year
    try:
        if job.resume:
            _expire_leases(home(folder))
            name = session(folder).name if job.resume == "*" else job.resume
            outcome = asyncio.run(rebut.resume(name, ask_left=job.ask_left, **outside))
        else:
            from rebut.workspace.targets.target import Wanted

            named = {"target": Wanted(scope=job.scope)} if job.scope else {}
            named |= {**job.seats, **job.settings, "workspace": job.workspace or job.folder, **outside}
            outcome = rebut.run(job.protocol, TOPIC, **named)
    except RebutError as error:
        return Result(0, error=type(error).__name__, message=error.message, hint=error.hint, year=year)
    return Result(0, outcome.to_json(), year=year)


def _die_after_sync(number: int) -> None:
    """An event is in a database when it is stored there, which is not at once."""
    from rebut.record.postgres.journal import DatabaseJournal

    stored = DatabaseJournal.sync

    async def sync(self: DatabaseJournal) -> None:
        await stored(self)
        if number and len(self.record.lines) >= number:
            os._exit(DIED)

    DatabaseJournal.sync = sync  # type: ignore[method-assign]


def _specs(job: Job) -> list[str]:
    """The models of a job, without the names that they go by."""
    named = [s for specs in job.seats.values() for s in ([specs] if isinstance(specs, str) else specs)]
    return [spec.rpartition("=")[2] for spec in named]


def _in_a_fork(job: Job) -> Result:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            data = json.dumps(asdict(_act(job))).encode()
            while data:
                data = data[os.write(writer, data) :]
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        said = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Result(**json.loads(said)) if code == 0 else Result(code)


def warm_up(folder: Path) -> None:
    """Hold one debate here, so that forks need not make what is made on first use."""
    import duels

    said = {key: [value] for key, value in duels.answers(2).items()}
    result = _act(Job(str(folder), said, workspace=str(repository(folder / "work"))))
    assert result.outcome, f"{result.error}: {result.message}"


def act() -> None:
    """Jobs in on standard input, results out, one line each."""
    jobs = [Job(**job) for job in json.load(sys.stdin)]
    import rebut

    if version := next((job.version for job in jobs if job.version), ""):
        rebut.__version__ = version
    # Once for all forks.
    shipped = {f"protocols.{job.protocol}" for job in jobs if not job.protocol.endswith(".py")}
    for name in (
        "api",
        "workspace.context",
        "evidence.marks",
        "workspace.snapshot",
        "workspace.tree",
        "core.process",
        *sorted(shipped),
    ):
        __import__(f"rebut.{name}")
    for job in jobs:
        forked = job.forked or DATABASE in os.environ  # connections to a database end with their process
        print(json.dumps(asdict(_in_a_fork(job) if forked else _act(job))), flush=True)


if __name__ == "__main__":
    if DAYS := int(sys.argv[1]):
        another_day(DAYS)
    act()
