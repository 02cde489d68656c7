"""The bytes that a short question costs: prompts and schemas of a two-round duel about one line, all calls together.

Seven calls: the five of a duel, and two answers that are sent back, since models miss a rule now and then.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import Any

from pydantic_core import to_json

import rebut
from bench import said
from bench.places import own_home
from bench.table import Row
from rebut.core.types import Reply, Request, Usage

QUESTION = "Should the shop keep user sessions in Redis or in PostgreSQL?"
LARGEST = 28.0
"""kB, the schemas included."""


CARELESS = {"r1/challenge@challenger": {"alternatives": []}, "r2/defense@proposer": {"responses": []}}
"""What the first answers to two of the questions lack."""


class Voice:
    """Gives short answers, and counts what it is sent."""

    def __init__(self) -> None:
        self.sent: dict[str, int] = {}
        self._said: Any = _short(said.by_key(2))

    async def complete(self, request: Request) -> Reply:
        size = len(request.whole.encode()) + len(to_json(request.schema))
        again = request.attempt > 1
        self.sent[f"{request.key}{', sent back' if again else ''}"] = size
        answer = {**self._said[request.key], **({} if again else CARELESS.get(request.key, {}))}
        return Reply(json.dumps(answer), model="m", family="f", usage=Usage(900, 500), usd=0.0)


def _short(value: object) -> object:
    """The answers with one sentence in place of each paragraph."""
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    for long, short in ((said.ARGUMENT, "It fails over slowly."), (said.LOOKED, "Nothing else found.")):
        value = value.replace(long, short) if isinstance(value, str) else value
    return value


def rows() -> list[Row]:
    voice = Voice()
    with own_home() as workspace:
        subprocess.run(["git", "init", "-q", str(workspace)], check=True)
        said.write_cited_file(workspace)
        asyncio.run(
            rebut.start(
                "duel", QUESTION, proposer="a:m", challenger="b:m", judge="c:m", rounds=2, workspace=workspace,
                backends={"a": voice, "b": voice, "c": voice},
            )
        )  # fmt: skip
    total = sum(voice.sent.values()) / 1000
    question = len(QUESTION) / 1000
    out = [
        Row(
            f"a two-round duel about one line, {len(voice.sent)} calls: bytes sent, schemas included",
            total,
            "kB",
            LARGEST,
            1.0,
        )
    ]
    out += [Row(f"  {key}", size / 1000, "kB", question) for key, size in voice.sent.items()]
    return out
