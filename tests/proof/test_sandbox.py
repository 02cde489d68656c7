"""The sandbox: thirty ways to get out of it, to disturb the machine, or to leave something behind. None works."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from pathlib import Path

import pytest

from rebut.proof import sandbox
from rebut.proof.environments import Interpreter, python
from rebut.proof.sandbox import Bounds, Ran, Sandbox

SECRET = "the-word-that-must-not-be-seen"


def box() -> Sandbox:
    found = asyncio.run(sandbox.find_sandbox(os.environ))
    if isinstance(found, str):
        pytest.skip(f"left out: {found}")
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "cart.py").write_text("TOTAL = 3\n")
    (tmp_path / "outside.txt").write_text(SECRET)
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "shop" / "up").symlink_to("../../..")
    return folder


def ran(copy: Path, argv: list[str], bounds: Bounds | None = None) -> Ran:
    return asyncio.run(box().run(argv, copy, bounds=bounds or Bounds(seconds=20)))


def by_python(copy: Path, code: str, bounds: Bounds | None = None) -> Ran:
    found = python(copy, {**os.environ, "VIRTUAL_ENV": ""}, copy.parent)
    assert isinstance(found, Interpreter)
    argv = [found.names["python"], "-I", "-c", code]
    return asyncio.run(box().run(argv, copy, found.inside, bounds=bounds or Bounds(seconds=20)))


# files, environment, home, other processes

READS = {
    "a file beside the copy": "cat {outside}",
    "a file beside the copy, by a relative path": "cat ../outside.txt ../../outside.txt {up}/outside.txt",
    "a link in the copy to a file outside": "cat /w/link.txt",
    "a link in a folder of the copy that leads up": "cat /w/shop/up/outside.txt /w/shop/up{outside}",
    "the list of users": "cat /etc/passwd /etc/shadow /etc/group",
    "the home of the user": "ls -A {home} /root /home; ls -A ~ | grep .",
    "the root of another process": "cat /proc/1/root{outside} /proc/self/root{outside}",
    "the folder of another process": "cat /proc/1/cwd/{outside} /proc/*/cwd/outside.txt",
    "the environment of another process": "cat /proc/*/environ | tr '\\0' '\\n' | grep REBUT_TEST",
    "the environment": "env | grep -i -e rebut -e token -e key -e secret",
    "the command line of another process": "tr '\\0' ' ' < /proc/1/cmdline | grep -e 'ro-[b]ind' -e '[p]ytest'",
    "open files that it inherits": "for f in /proc/*/fd/*; do readlink $f; done | grep -v -e pipe: -e /proc -e event",
    "the memory of the kernel": "head -c 1 /dev/mem /dev/kmem /proc/kcore /dev/sda /dev/vda",
    "sockets of the machine": "ls /run /var/run /var/lib/docker /run/user",
}


@pytest.mark.parametrize("way", READS)
def test_nothing_of_the_machine_can_be_read(way: str, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REBUT_TEST_TOKEN", SECRET)
    outside = copy.parent / "outside.txt"
    home = os.environ.get("HOME", "/root")
    script = READS[way].format(outside=outside, up=copy.parent, home=home)
    got = ran(copy, ["sh", "-c", script])
    assert not got.failed, got.failed
    assert SECRET not in got.out + got.err
    assert got.out.strip() == "", got.out
    assert got.code != 0


WRITES = {
    "a file beside the copy": "echo x > {outside}",
    "a file of the copy": "echo x > /w/shop/cart.py",
    "a new file in a folder of the copy": "echo x > /w/shop/new.py",
    "the programs of the system": "echo x > /usr/bin/true",
    "the root folder": "echo x > /x",
    "devices": "echo x > /dev/new",
    "settings of the kernel": "echo 0 > /proc/sys/kernel/printk_delay; echo h > /proc/sysrq-trigger",
    "mounts": "mount -t tmpfs none /usr; mount -o remount,rw /; umount /proc; unshare -U true; unshare -m true",
    "the clock and the host name": "date -s 2001-01-01; hostname other",
}


@pytest.mark.parametrize("way", WRITES)
def test_nothing_of_the_machine_can_be_changed(way: str, copy: Path) -> None:
    outside, name = copy.parent / "outside.txt", os.uname().nodename
    script = "set +e; ok=1; " + "; ".join(
        f"({part}) 2>/dev/null && ok=0" for part in WRITES[way].format(outside=outside).split("; ")
    )
    got = ran(copy, ["sh", "-c", f"{script}; exit $ok"])
    assert got.code == 1 and not got.failed, (got.out, got.err)
    assert outside.read_text() == SECRET and (copy / "shop" / "cart.py").read_text() == "TOTAL = 3\n"
    assert sorted(p.name for p in copy.rglob("*.py")) == ["cart.py"]
    assert os.uname().nodename == name


def test_a_command_can_write_in_memory_only_and_that_is_gone_afterwards(copy: Path) -> None:
    got = ran(copy, ["sh", "-c", "echo x > /w/new.txt && echo x > /tmp/new.txt && cat /w/new.txt /tmp/new.txt"])
    assert (got.code, got.out) == (0, "x\nx\n")
    assert not (copy / "new.txt").exists()
    assert ran(copy, ["sh", "-c", "ls /w/new.txt /tmp/new.txt"]).code != 0


# the network

NETWORK = {
    "a server on this machine": "socket.create_connection(('127.0.0.1', {port}), 2)",
    "an address outside": "socket.create_connection(('192.0.2.1', 80), 2)",
    "a name": "socket.getaddrinfo('example.org', 80)",
    "a socket of the machine without a file": "s = socket.socket(socket.AF_UNIX); s.connect('\\0rebut-{port}')",
}


@pytest.mark.parametrize("way", NETWORK)
def test_there_is_no_network(way: str, copy: Path) -> None:
    with socket.socket() as server, socket.socket(socket.AF_UNIX) as abstract:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        abstract.bind(f"\0rebut-{port}")
        abstract.listen()
        got = by_python(copy, f"import socket; {NETWORK[way].format(port=port)}; print('out')")
    assert got.code == 1 and "out" not in got.out, got.err
    assert "Error" in got.err or "error" in got.err


# limits

FLOODS = {
    "for ever": ("while True: pass", {"time"}),
    "asleep, deaf to signals": (
        "import signal, time\nfor n in (15, 2, 1): signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)",
        {"time"},
    ),
    "output": ("while True: print('x' * 10000)", {"size"}),
    "processes": ("import os\nwhile True: os.fork()", {"processes", "time", ""}),
    "processes that sleep": (
        "import os, time\nfor _ in range(1000):\n    if not os.fork(): time.sleep(60)\ntime.sleep(60)",
        {"processes", ""},
    ),
    "threads": (
        "import threading, time\nfor _ in range(5000): threading.Thread(target=time.sleep, args=(60,)).start()",
        {"processes", "", "time"},
    ),
    "memory": ("x = bytearray(3_000_000_000); print(len(x))", {""}),
    "memory of a file": ("open('/tmp/x', 'wb').write(bytes(300_000_000)); print('written')", {""}),
    "many files": (
        "for n in range(30): open(f'/tmp/{n}', 'wb').write(bytes(10_000_000))\nprint('written')",
        {""},
    ),
    "memory that processes share": (
        "for n in range(30): open(f'/dev/shm/{n}', 'wb').write(bytes(10_000_000))\nprint('written')",
        {""},
    ),
}


@pytest.mark.parametrize("way", FLOODS)
def test_a_flood_is_ended(way: str, copy: Path) -> None:
    code, cut = FLOODS[way]
    # What another limit ends has time for it, even on a machine that is busy.
    got = by_python(copy, code, Bounds(seconds=4 if "time" in cut else 40))
    assert got.cut in cut
    assert got.code != 0 and not got.failed
    assert len(got.out) <= 200_000 and "written" not in got.out
    assert got.seconds < 60


def test_no_process_is_left_behind(copy: Path) -> None:
    name = f"sleep 98{os.getpid()}"
    script = f"(setsid {name} &) ; (nohup {name} >/dev/null 2>&1 &) ; {name} & exit 0"
    got = ran(copy, ["sh", "-c", script])
    assert got.code == 0
    assert ends(name)


def test_a_run_that_is_cancelled_leaves_no_process(copy: Path) -> None:
    name = f"sleep 97{os.getpid()}"

    async def cancelled() -> None:
        task = asyncio.ensure_future(found.run(["sh", "-c", f"setsid {name}"], copy))
        while not running(name):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    found = box()
    asyncio.run(cancelled())
    assert ends(name)


def test_a_sandbox_ends_with_the_process_that_started_it(copy: Path) -> None:
    import subprocess

    box()
    name = f"sleep 96{os.getpid()}"
    code = (
        "import asyncio, os, sys; from pathlib import Path; from rebut.proof import sandbox\n"
        "async def main():\n"
        "    found = await sandbox.find_sandbox(os.environ)\n"
        f"    await found.run(['sh', '-c', 'setsid {name}'], Path(sys.argv[1]))\n"
        "asyncio.run(main())\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(copy)])
    until = time.monotonic() + 60
    while not running(name) and time.monotonic() < until:
        time.sleep(0.05)
    assert running(name)
    child.kill()
    child.wait()
    assert ends(name)


def ends(command: str) -> bool:
    """The kernel ends what is left of a sandbox a moment after its first process, later on a busy machine."""
    until = time.monotonic() + 20
    while running(command) and time.monotonic() < until:
        time.sleep(0.02)
    return not running(command)


def running(command: str) -> bool:
    wanted = command.replace(" ", "\0").encode()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if place.read_bytes().startswith(wanted):
                return True
        except OSError:
            continue
    return False


# where there is no sandbox


def test_it_says_what_is_missing(tmp_path: Path) -> None:
    said = asyncio.run(sandbox.find_sandbox({"PATH": str(tmp_path)}))
    assert isinstance(said, str) and "bubblewrap (`bwrap`) is not installed" in said
    for name, text in {
        "bwrap": "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    said = asyncio.run(sandbox.find_sandbox({"PATH": str(tmp_path)}))
    assert isinstance(said, str) and "prlimit" in said
    said = asyncio.run(sandbox.find_sandbox({"PATH": f"{tmp_path}:/usr/bin:/bin"}))
    assert isinstance(said, str) and "No permissions to create new namespace" in said
