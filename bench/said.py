"""What the debaters of the measured duels say: replies of the length that models give, valid in every round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ARGUMENT = (
    "The session store is read on every request and written on every login, so what it does when a node goes away "
    "decides whether people stay signed in. The deployment as it stands keeps one primary and no replica, and the "
    "client library retries for three seconds before it gives up, which is longer than the gateway's own patience. "
)
LOOKED = "Looked at the code and the deployment files; what was found is above."

CITED, QUOTE = "src/session.py", "ttl = 3600"
LINES = 1000


def cite(line: int) -> dict[str, str]:
    return {"place": f"{CITED}:{line}", "quote": QUOTE}


def write_cited_file(workspace: Path) -> None:
    """The file that all of them cite, so that the quotes are found."""
    file = workspace / CITED
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{QUOTE}\n" * LINES)


def _flaw(n: int) -> dict[str, Any]:
    return {
        "text": f"Weakness {n}. {ARGUMENT}",
        "severity": "P2",
        "category": "correctness",
        "evidence": [cite(100 * n)],
        "about": "C1",
    }


def opening() -> dict[str, Any]:
    claims = [{"text": f"Claim {n}. {ARGUMENT}", "evidence": [cite(n)]} for n in range(1, 5)]
    return {"position": f"Keep sessions in Redis. {ARGUMENT}", "claims": claims, "need": []}


def challenge() -> dict[str, Any]:
    return {
        "flaws": [_flaw(1), _flaw(2)],
        "unsupported": [],
        "alternatives": [f"Keep sessions in a signed cookie. {ARGUMENT}"],
        "coverage": dict.fromkeys(("correctness", "security", "developer_experience"), LOOKED),
        "agreements": [],
        "need": [],
    }


def defense(n: int) -> dict[str, Any]:
    """Round `n`: the older of the two open points is conceded, the newer one is rebutted."""
    moves = {f"D{n - 1}": "concede", f"D{n}": "rebut"}
    said = [
        {"id": id, "move": move, "argument": f"On {id} in round {n}. {ARGUMENT}", "evidence": [cite(10 * n)]}
        for id, move in moves.items()
    ]
    return {"responses": said, "position": f"Redis with a replica. {ARGUMENT}", "claims": [], "need": []}


def follow_up(n: int) -> dict[str, Any]:
    """Round `n`: what was rebutted stays open and one new point comes, so that two are open in every round."""
    ruling = {"id": f"D{n}", "ruling": "unresolved", "reason": f"Not answered. {ARGUMENT}", "evidence": [cite(11 * n)]}
    return {"rulings": [ruling], "flaws": [_flaw(n + 1)], "need": []}


def summary() -> dict[str, Any]:
    return {
        "proposer": f"Redis. {ARGUMENT}",
        "challenger": f"No Redis. {ARGUMENT}",
        "concessions": [],
        "agreements": [],
        "disagreements": ["whether a replica is enough"],
        "contradictions": [],
    }


def verdict() -> dict[str, Any]:
    return {
        "winner": "challenger",
        "reasoning": f"D1 was conceded and decides it against C1. {ARGUMENT}",
        "genuine_disagreement": "high",
        "evidence_quality": "medium",
        "challenge_depth": "high",
        "agreements": [{"text": "a replica is needed", "evidence": [cite(1)], "risk": "cost"}],
        "disagreements": [{"point": "the store", "proposer": "a replica is enough", "challenger": "it is not"}],
        "unresolved": ["What does a replica cost?"],
        "recommendation": "Sign cookies, and drop the store.",
    }


def by_form() -> dict[str, Any]:
    """The answers of a duel of two rounds, by the name of the form that is asked for."""
    return {
        "Opening": opening(),
        "Challenge": challenge(),
        "Defense": defense(2),
        "FollowUp": follow_up(2),
        "Decision": verdict(),
    }


def by_key(rounds: int) -> dict[str, Any]:
    """The answers of a longer duel, by the key of each question."""
    out: dict[str, Any] = {"r1/opening@proposer": opening(), "r1/challenge@challenger": challenge()}
    for n in range(2, rounds + 1):
        out[f"r{n}/defense@proposer"] = defense(n)
        out[f"r{n}/follow-up@challenger"] = follow_up(n)
    out |= {f"r{n}/summary@judge": summary() for n in range(3, rounds + 1)}
    return out | {"verdict@judge": verdict()}
