"""Prompt bytes of each round of a long duel, beside what they would be if every prompt held the whole transcript."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import rebut
from bench import said
from bench.places import own_home
from bench.table import Row
from rebut.core.types import Reply, Request, Usage
from rebut.record import sessions
from rebut.record.events import Asked

ROUNDS = 5


class Voice:
    """Says what is to be said at each key."""

    def __init__(self) -> None:
        self._said = said.by_key(ROUNDS)

    async def complete(self, request: Request) -> Reply:
        return Reply(json.dumps(self._said[request.key]), model="m", family="f", usage=Usage(900, 500), usd=0.0)


def rows() -> list[Row]:
    with own_home() as workspace:
        outcome = asyncio.run(_duel(workspace))
        record = sessions.load(Path(os.environ["REBUT_HOME"]) / "sessions" / outcome.session)
    asked = [line.event for line in record.lines if isinstance(line.event, Asked)]
    sent = {n: sum(_size(a.prompt) for a in asked if a.key.startswith(f"r{n}/")) for n in range(1, ROUNDS + 1)}
    spoken: dict[int, int] = dict.fromkeys(sent, 0)
    for row in outcome.data["exchanges"]:  # type: ignore[union-attr]
        spoken[row["round"]] += _size(str(row["response"]))  # type: ignore[index,call-overload]
    out = []
    for n in sent:
        # Two prompts a round; the whole transcript in each is what a duel without a summary would send.
        whole = sent[1] + 2 * sum(spoken[k] for k in range(1, n))
        out.append(Row(f"prompt bytes of round {n}, beside whole transcripts", sent[n] / 1000, "kB", whole / 1000))
    growth = (sent[ROUNDS] - sent[3]) / (ROUNDS - 3)
    turn = 2 * spoken[ROUNDS]
    out.append(Row("  growth a round from 3 on, beside two turns quoted", growth / 1000, "kB", turn / 1000, 0.5))
    return out


async def _duel(workspace: Path) -> rebut.Outcome:
    voice = Voice()
    outcome = await rebut.start(
        "duel",
        "Should the shop keep user sessions in Redis?",
        proposer="a:m",
        challenger="b:m",
        judge="c:m",
        rounds=ROUNDS,
        backends={"a": voice, "b": voice, "c": voice},
        workspace=workspace,
    )
    if outcome.heading != "VERDICT":
        raise RuntimeError(f"the duel ended early: {outcome.heading}, {outcome.notes}")
    return outcome


def _size(text: str) -> int:
    return len(text.encode())
