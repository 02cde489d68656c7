"""The demonstration: a small shop and a scripted duel about it. Its ledger, evidence and record are real."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rebut.cli import installed_files as laying
from rebut.core.errors import UsageError
from rebut.record import sessions as session

TOPIC = "Should the shop keep user sessions in Redis?"
CONTEXT = ("infra", "src")
SEATS = {"proposer": "redis", "challenger": "cookie", "judge": "judge"}
"""Seat → the name it goes by."""
NOTE = "scripted: every word of this debate comes from files that ship with rebut; ledger, evidence and record are real"


@dataclass(frozen=True, slots=True)
class Shop:
    """The mini-repository, unpacked."""

    folder: Path
    edited: tuple[str, ...] = ()
    """Files that are not as they were shipped."""
    again: str = "rebut demo"
    """The command that shows it once more, on the same files."""


def unpack(wanted: Path | None, env: Mapping[str, str]) -> Shop:
    """Lay the shop where it was wanted, else beside the sessions. A file that was edited stays as it is."""
    folder = (wanted or session.home(env).parent / "demo").expanduser().resolve()
    if (above := session.repository(folder)) != folder:
        # Citations are looked up from the root of a repository, and the shop would not stand there.
        if wanted:
            raise UsageError(f"{folder} lies inside the repository {above}", "Choose a folder outside of one.")
        wanted = folder = Path(tempfile.mkdtemp(prefix="rebut-demo-")).resolve()
    laid = laying.lay(laying.shipped("demo/shop"), folder)
    edited = tuple(one.path.relative_to(folder).as_posix() for one in laid if one.how == "left alone")
    return Shop(folder, edited, f"rebut demo --folder {shlex.quote(str(folder))}" if wanted else "rebut demo")


def seats() -> dict[str, str]:
    """The specs of the debaters, whose words stay in this installation."""
    return {seat: f"{name}=scripted:{laying.place('demo') / seat}.json" for seat, name in SEATS.items()}
