"""A panel's phases beside their slowest part, and its prompt bytes from round to round when nothing new is raised."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import rebut
from bench.places import own_home
from bench.said import ARGUMENT, cite
from bench.table import Row
from rebut.core.types import Reply, Request, Usage
from rebut.record import sessions
from rebut.record.events import Answered, Asked
from rebut.record.record import Record, seconds

ROUNDS = 5
RUNS = 5
LENSES = ("Architect", "Operator", "Adversary", "User", "Economist", "Maintainer", "Tester", "Regulator")


class Voice:
    """Takes its time, differently for each seat, and notes how long it took."""

    def __init__(self, challengers: int, latency: float) -> None:
        self._count, self._latency = challengers, latency
        self.took: dict[str, float] = {}

    async def complete(self, request: Request) -> Reply:
        began = time.perf_counter()
        seat = request.key.rpartition("@")[2]
        share = int(seat.partition(".")[2] or 1) / self._count if seat.startswith("challenger") else 1.0
        await asyncio.sleep(self._latency * share)
        text = json.dumps(_said(request.key, self._count))
        self.took[request.key] = time.perf_counter() - began
        return Reply(text, model="m", family="f", usage=Usage(900, 500), usd=0.0)


def rows() -> list[Row]:
    out = []
    for count in (3, 8):
        runs = [_phases(count) for _ in range(RUNS)]
        wall, slowest = median(r[0] for r in runs), median(r[1] for r in runs)
        ratio = median(r[0] / r[1] for r in runs)
        name = f"challenge of {count} at once: wall, beside the slowest"
        out.append(Row(name, wall * 1000, "ms", slowest * 1000, 1.1, ratio))
        if count == 3:
            both, slower = median(r[2] for r in runs), median(r[3] for r in runs)
            name = "  personas and opening side by side, beside the slower"
            out.append(Row(name, both * 1000, "ms", slower * 1000, 1.1, median(r[2] / r[3] for r in runs)))
    sent = _bytes()
    out += [Row(f"panel: prompt bytes of round {n}, nothing new raised", sent[n] / 1000, "kB") for n in sent]
    out.append(Row("  round 5 beside round 3", sent[ROUNDS] / 1000, "kB", sent[3] / 1000, 1.01))
    return out


def _phases(count: int) -> tuple[float, float, float, float]:
    """Wall and slowest part of the challenge, then of the opening, in seconds."""
    voice, record = _held(count, 0.8, rounds=1)
    return (
        _wall(record, "r1/challenge@"),
        max(took for key, took in voice.took.items() if key.startswith("r1/challenge@")),
        _wall(record, "opening/"),
        max(took for key, took in voice.took.items() if key.startswith("opening/")),
    )


def _wall(record: Record, prefix: str) -> float:
    """From the first question of a phase on record to its last answer on record."""
    at = [seconds(line.at) for line in record.lines if _is(line.event, prefix)]
    return max(at) - min(at)


def _is(event: object, prefix: str) -> bool:
    return isinstance(event, Asked | Answered) and event.key.startswith(prefix)


def _bytes() -> dict[int, int]:
    _, record = _held(3, 0.0, rounds=ROUNDS)
    asked = [line.event for line in record.lines if isinstance(line.event, Asked)]
    return {
        n: sum(len(a.prompt.encode()) for a in asked if a.key.startswith(f"r{n}/") and a.why == "ask")
        for n in range(1, ROUNDS + 1)
    }


def _held(count: int, latency: float, rounds: int) -> tuple[Voice, Record]:
    voice, names = Voice(count, latency), [f"c{n}" for n in range(1, count + 1)]
    with own_home() as workspace:
        outcome = asyncio.run(
            rebut.start(
                "panel",
                "Should the shop keep user sessions in Redis?",
                lead="lead",
                judge="judge",
                challenger=names,
                rounds=rounds,
                workspace=workspace,
                backends=dict.fromkeys(["lead", "judge", *names], voice),
            )
        )
        record = sessions.load(Path(os.environ["REBUT_HOME"]) / "sessions" / outcome.session)
    if outcome.heading != "TRADEOFF":
        raise RuntimeError(f"this is not the panel that was to be measured: {outcome.heading}, {outcome.notes}")
    return voice, record


def _said(key: str, count: int) -> dict[str, Any]:
    """One challenger never gives in, and nobody raises anything new after round 1."""
    step, seat = key.rpartition("/")[2].split("@")
    position = f"Keep sessions in Redis. {ARGUMENT}"
    lens = LENSES[int(seat.partition(".")[2] or 1) - 1]
    looked = [{"angle": f"{lens} matter 1", "what": "the store", "found": ARGUMENT}]
    point = {"text": f"No replica. {ARGUMENT}", "strength": "strong", "category": "design", "evidence": [cite(3)]}
    objects = seat == "challenger.1"
    forms: dict[str, dict[str, Any]] = {
        "personas": {
            "domain": "web",
            "personas": [
                {"lens": x, "name": x, "background": x, "looks_for": [f"{x} matter {n}" for n in (1, 2, 3)]}
                for x in LENSES[:count]
            ],
        },
        "position": {
            "position": position,
            "reasoning": [{"text": f"Claim {n}. {ARGUMENT}", "evidence": [cite(n)]} for n in range(1, 5)],
            "confidence": "high",
            "weaknesses": [ARGUMENT],
            "assumptions": [ARGUMENT],
        },
        "challenge": {
            "verdict": "disagree" if objects else "agree",
            "objection_strength": "strong" if objects else "minor",
            "points": [point] if objects else [],
            "examined": looked,
            "summary": ARGUMENT,
        },
        "confront": {
            "responses": [{"id": "B1", "move": "reject", "reason": ARGUMENT, "evidence": [cite(5)]}],
            "position": position,
            "confidence": "medium",
        },
        "rebuttal": {
            "answer": "maintain",
            "rulings": [{"id": "B1", "ruling": "maintain", "reason": ARGUMENT}],
            "summary": ARGUMENT,
        },
        "grounds": {
            "why": ARGUMENT,
            "other_right": ARGUMENT,
            "assumptions": [ARGUMENT],
            "cruxes": [{"question": "How many outages were there?", "how": "the log"}],
        },
        "map": {
            "core_disagreement": ARGUMENT,
            "assumptions": [{"text": ARGUMENT, "held_by": ["Lead"], "denied_by": ["Architect"]}],
        },
    }
    return forms[step]
