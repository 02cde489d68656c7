"""A PostgreSQL of the tests' own: in a temporary folder, on a free port of the loopback address, ended with them."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

USERS = ("postgres", "nobody")
"""Whom the server runs as if the tests run as root: it refuses to run as root itself."""
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/pgsql/bin")


def binaries() -> Path | None:
    """The folder with `initdb` and `pg_ctl`; the newest if there are several."""
    found = [path for place in PLACES for path in Path("/").glob(place[1:]) if (path / "initdb").exists()]
    if found:
        return max(
            found, key=lambda path: [int(n) for n in "".join(c if c.isdigit() else " " for c in str(path)).split()]
        )
    there = shutil.which("initdb")
    return Path(there).parent if there else None


def get() -> str:
    """Install PostgreSQL where that is allowed. Returns why there is none; empty if there is."""
    if binaries():
        return ""
    if os.getuid() != 0 or not shutil.which("apt-get"):
        return "PostgreSQL is not installed, and only root on Debian may install it here (apt-get install postgresql)"
    words = ["apt-get", "install", "-y", "--no-install-recommends", "postgresql"]
    # No cluster of the system's own is wanted: it would be started, and take the usual port.
    Path("/etc/postgresql-common").mkdir(exist_ok=True)
    config = Path("/etc/postgresql-common/createcluster.conf")
    if not config.exists():
        config.write_text("create_main_cluster = false\n")
    if subprocess.run(words).returncode and (
        subprocess.run(["apt-get", "update"]).returncode or subprocess.run(words).returncode
    ):
        return "apt-get could not install postgresql"
    return "" if binaries() else "apt-get installed postgresql, but there is no initdb"


class Cluster:
    """A running server."""

    def __init__(self, folder: Path, port: int, bin: Path, sync: bool) -> None:
        self.folder, self.port, self._bin = folder, port, bin
        self._user = _user()
        flags = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=500"
        self._flags = flags if sync else f"{flags} -c fsync=off -c synchronous_commit=off"

    def url(self, name: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def begin(self) -> None:
        self._run("initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8")
        self.start()

    def start(self) -> None:
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-o", self._flags, "-w", "start"
        )

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", how, "-w", "stop")

    def create(self, name: str, template: str = "template1") -> str:
        """A new database: empty, or a copy of one that nobody is connected to. Returns its address."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'create database "{name}" template "{template}"')  # type: ignore[arg-type]
        return self.url(name)

    def cpu(self) -> float:
        """Seconds of processor time that the server took, with its processes that have ended."""
        first = (self.folder / "data/postmaster.pid").read_text().split()[0]
        below = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        ticks = 0
        for pid in (first, *below):
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended: its time is with that of the others
                ticks += sum(map(int, _stat(pid)[11:13]))
        return (ticks + sum(map(int, _stat(first)[13:15]))) / os.sysconf("SC_CLK_TCK")

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [*_as(self._user), str(self._bin / program), *words], capture_output=True, text=True, cwd=self.folder
        )
        log = self.folder / "log"
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}{log.read_text() if log.exists() else ''}"


def _stat(pid: str) -> list[str]:
    """The fields of a process after its name: its state is the first."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _user() -> str:
    if os.getuid() != 0:
        return ""
    known = {one.pw_name for one in pwd.getpwall()}
    return next(name for name in USERS if name in known)


def _as(user: str) -> Sequence[str]:
    return ["setpriv", f"--reuid={user}", "--regid=" + str(pwd.getpwnam(user).pw_gid), "--clear-groups"] if user else []


@contextmanager
def running(*, sync: bool = False) -> Iterator[Cluster]:
    """A new cluster. With `sync` it waits for the disk, as a real one does."""
    found = binaries()
    assert found is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="rebut-pg-", dir="/tmp"))
    cluster = Cluster(folder, port, found, sync)
    if cluster._user:
        shutil.chown(folder, cluster._user)
    with suppress(ValueError):  # only the main thread may: a run that is terminated ends its server, too
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        cluster.begin()
        try:
            yield cluster
        finally:
            cluster.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
