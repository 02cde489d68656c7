"""Scripted duels for the tests: answers by key, as a model would give them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import rebut
from rebut.record import sessions
from rebut.record.record import Record

TOPIC = "Should sessions live in Redis?"


def cite(place: str, quote: str = "") -> dict[str, str]:
    return {"place": place, "quote": quote}


def opening(**changes: Any) -> dict[str, Any]:
    return {
        "position": "Use Redis for user sessions.",
        "claims": [
            {"text": "Sessions must survive a restart.", "evidence": [cite("src/session.py:2", "ttl = 3600")]},
            {"text": "Redis is always faster.", "evidence": []},
        ],
        "need": [],
    } | changes


def flaw(text: str, n: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "text": text,
        "severity": "P1",
        "category": "correctness",
        "evidence": [cite(f"src/session.py:{n}")],
        "about": "C1",
    } | changes


def challenge(**changes: Any) -> dict[str, Any]:
    return {
        "flaws": [
            flaw("No replica: a failover loses every session."),
            flaw("The port is open.", 2, category="security"),
        ],
        "unsupported": ["C2"],
        "alternatives": ["Keep sessions in a signed cookie."],
        "coverage": {"correctness": "failover", "security": "open port", "developer_experience": "nothing found"},
        "agreements": [],
        "need": [],
    } | changes


def defense(n: int, moves: dict[str, str] | None = None) -> dict[str, Any]:
    moves = moves or {"D1": "concede", "D2": "rebut"}
    return {
        "responses": [
            {
                "id": id,
                "move": move,
                "argument": f"In round {n} I say to {id}: {move} it is.",
                "evidence": [cite("src/session.py:3")],
            }
            for id, move in moves.items()
        ],
        "position": f"Redis with a replica, as of round {n}.",
        "claims": [],
        "need": [],
    }


def follow_up(n: int, rulings: dict[str, str], flaws: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "rulings": [
            {"id": id, "ruling": ruling, "reason": f"because of round {n}", "evidence": [cite("src/session.py:3")]}
            for id, ruling in rulings.items()
        ],
        "flaws": flaws or [],
        "need": [],
    }


def summary(n: int, concessions: list[str] | None = None) -> dict[str, Any]:
    return {
        "proposer": "Redis.",
        "challenger": "No Redis.",
        "concessions": concessions if concessions is not None else ["In round 2 I say to D1: concede it is."][: n - 3],
        "agreements": [],
        "disagreements": ["the port"],
        "contradictions": [],
    }


def verdict(**changes: Any) -> dict[str, Any]:
    return {
        "winner": "challenger",
        "reasoning": "D1 weighs most and C2 cites nothing.",
        "genuine_disagreement": "high",
        "evidence_quality": "medium",
        "challenge_depth": "high",
        "agreements": [{"text": "a replica is needed", "evidence": [cite("src/session.py:1")], "risk": "cost"}],
        "disagreements": [{"point": "the port", "proposer": "it is closed", "challenger": "it is open"}],
        "unresolved": ["What does a replica cost?"],
        "recommendation": "Sign cookies, and drop the store.",
    } | changes


def answers(rounds: int = 2) -> dict[str, Any]:
    """A whole duel. From round 3 on, each round has one new point, so that something is always open."""
    out: dict[str, Any] = {"r1/opening@proposer": opening(), "r1/challenge@challenger": challenge()}
    still_open = ["D1", "D2"]
    for n in range(2, rounds + 1):
        moves = {id: ("concede" if id == "D1" else "rebut") for id in still_open}
        out[f"r{n}/defense@proposer"] = defense(n, moves)
        still_open = [id for id in still_open if id != "D1"]
        out[f"r{n}/follow-up@challenger"] = follow_up(
            n, dict.fromkeys(still_open, "unresolved"), [flaw(f"New in round {n}.", 10 + n)]
        )
        still_open.append(f"D{n + 1}")
    for n in range(3, rounds + 1):
        out[f"r{n}/summary@judge"] = summary(n)
    out["verdict@judge"] = verdict()
    return out


def by_form() -> dict[str, Any]:
    """The answers of a duel of two rounds by the name of the form, for servers and tools that know no keys."""
    said = answers(2)
    return {
        "Opening": said["r1/opening@proposer"],
        "Challenge": said["r1/challenge@challenger"],
        "Defense": said["r2/defense@proposer"],
        "FollowUp": said["r2/follow-up@challenger"],
        "Decision": said["verdict@judge"],
    }


def script(path: Path, said: dict[str, Any], *, model: str = "m", **common: Any) -> str:
    """Write a scripted participant's file and return its spec. A value with a known field is taken as it is."""
    known = ("text", "json", "fail", "hang")
    usage = {"input": 100, "output": 50}

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(v) for v in value]
        return (
            ({"usage": usage} | common | value)
            if any(k in value for k in known)
            else {"json": value, "usage": usage} | common
        )

    path.write_text(
        json.dumps({"model": model, "family": f"family {model}", "answers": {k: one(v) for k, v in said.items()}})
    )
    return f"scripted:{path}"


def seats(folder: Path, said: dict[str, Any] | None = None, rounds: int = 2, **common: Any) -> dict[str, str]:
    """Three scripted participants over one set of answers."""
    said = answers(rounds) | (said or {})
    return {
        role: script(folder / f"{role}.json", said, model=role, **common)
        for role in ("proposer", "challenger", "judge")
    }


def duel(folder: Path, said: dict[str, Any] | None = None, rounds: int = 2, **named: Any) -> rebut.Outcome:
    """A scripted duel through the public door."""
    return rebut.run("duel", TOPIC, rounds=rounds, **seats(folder, said, rounds), **named)


def record_of(outcome: rebut.Outcome) -> Record:
    return sessions.load(sessions.home() / outcome.session)
