"""Desks: one real tool each, and all of them together for rebut itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rebut.backends.cli_tools import tables as tools
from rebut.backends.cli_tools.backend import Command
from rebut.core.errors import ParticipantFailed
from rebut.core.types import ModelSpec, Participant, Reply, Request
from tests_tools import real
from tests_tools.server import Server

SLOW = 90.0
"""First starts unpack themselves, and a machine may be busy."""


@dataclass
class Desk:
    """One tool with a home of its own, and the server that it takes for its provider."""

    name: str
    home: Path
    server: Server
    pids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.real = real.TOOLS[self.name]
        self.home.mkdir()
        real.lay_home(self.real, self.home, self.server.url)
        self.tool = tools.load_tools({self.name: real.filled(self.real.table, self.server.url)})[self.name]

    def command(self, effort: str = "", workdir: Path | None = None, **without: bool) -> Command:
        own = {k: v for k, v in real.filled(self.real.env, self.server.url).items() if k not in without}
        env = {"PATH": real.path(), "HOME": str(self.home), "LANG": "C.UTF-8", **own}
        return Command(self.tool, model=self.real.model, effort=effort, env=env, workdir=workdir)

    def ask(
        self, command: Command, prompt: str = "Where do sessions belong?", timeout: float = SLOW, **more: Any
    ) -> Reply:
        who = Participant("proposer", ModelSpec(self.name))
        request = Request("r1/opening@proposer", who, prompt, timeout=timeout, on_spawn=self.pids.append, **more)
        return asyncio.run(command.complete(request))

    def failure(self, command: Command, timeout: float = SLOW) -> ParticipantFailed:
        with pytest.raises(ParticipantFailed) as caught:
            self.ask(command, timeout=timeout)
        return caught.value

    def cut_off(self, command: Command) -> ParticipantFailed:
        """How a short wait ends. A busy machine starts it late: the wait grows until it has asked its provider."""
        timeout = 6.0
        while not self.server.bodies:
            error = self.failure(command, timeout=timeout)
            assert self.server.bodies or timeout < SLOW, "it never asked its provider"
            timeout *= 2
        return error


def around(setup: Desk, others: Sequence[Desk] = ()) -> dict[str, str]:
    """What rebut itself needs to find these tools, with their homes in one."""
    tables = {d.name: real.filled(d.real.table, d.server.url) for d in (setup, *others)}
    file = setup.home / "config.toml"
    file.write_text("".join(f"[tools.{name}]\n{_toml(table)}" for name, table in tables.items()))
    env = {"PATH": real.path(), "HOME": str(setup.home), "LANG": "C.UTF-8", "REBUT_CONFIG": str(file)}
    for one in (setup, *others):
        env |= real.filled(one.real.env, one.server.url)
        real.lay_home(one.real, setup.home, one.server.url)
    (setup.home / "work").mkdir()
    return env


def _toml(table: Mapping[str, list[str]]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
