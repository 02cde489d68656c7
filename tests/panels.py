"""Scripted panels for the tests: answers by key, as models would give them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from duels import cite, script

TOPIC = "Redis or Memcached for sessions?"
LENSES = ("Architect", "Operator", "Adversary", "User", "Economist", "Maintainer", "Tester", "Regulator")


def persona(lens: str, **changes: Any) -> dict[str, Any]:
    own = [f"{lens.lower()} matter {n}" for n in ("one", "two", "three")]
    return {
        "lens": lens,
        "name": f"seasoned {lens.lower()}",
        "background": f"Ten years as {lens.lower()}.",
        "looks_for": own,
        "questions": ["What breaks?"],
    } | changes


def personas(count: int = 3, **changes: Any) -> dict[str, Any]:
    return {"domain": "web backends", "personas": [persona(lens) for lens in LENSES[:count]]} | changes


def opening(**changes: Any) -> dict[str, Any]:
    return {
        "position": "Use Redis for sessions.",
        "reasoning": [
            {"text": "Sessions live an hour.", "evidence": [cite("src/session.py:2", "ttl = 3600")]},
            {"text": "Redis is always faster.", "evidence": []},
        ],
        "confidence": "high",
        "weaknesses": ["one node"],
        "assumptions": ["one region is enough"],
        "need": [],
    } | changes


def point(text: str, strength: str = "strong", line: int = 3, **changes: Any) -> dict[str, Any]:
    return {
        "text": text,
        "strength": strength,
        "category": "design",
        "evidence": [cite(f"src/session.py:{line}")],
        "about": "",
    } | changes


def looked(lens: str = "Architect") -> list[dict[str, str]]:
    return [{"angle": f"{lens.lower()} matter one", "what": "the session file", "found": "nothing wrong"}]


def agree(lens: str = "Architect", **changes: Any) -> dict[str, Any]:
    return {
        "verdict": "agree",
        "objection_strength": "minor",
        "points": [],
        "examined": looked(lens),
        "summary": f"It holds for the {lens}.",
        "need": [],
    } | changes


def objects(
    text: str, strength: str = "strong", line: int = 3, lens: str = "Architect", **changes: Any
) -> dict[str, Any]:
    return (
        agree(lens)
        | {
            "verdict": "partial" if strength == "minor" else "disagree",
            "objection_strength": strength,
            "points": [point(text, strength, line)],
            "summary": f"{lens}: {text}",
        }
        | changes
    )


def confront(moves: Mapping[str, str], position: str = "", **changes: Any) -> dict[str, Any]:
    """The lead's answer. What is accepted changes the position because of it."""
    given = [id for id, move in moves.items() if move != "reject"]
    return {
        "responses": [
            {
                "id": id,
                "move": move,
                "reason": f"I {move} {id} for good reasons.",
                "evidence": [cite("src/session.py:5")],
            }
            for id, move in moves.items()
        ],
        "position": position or ("Use Redis for sessions." if not given else f"Redis, mended for {', '.join(given)}."),
        "changes": [{"what": f"mended for {id}", "because": [id]} for id in given],
        "confidence": "medium",
        "need": [],
    } | changes


def rebut(ruled: Mapping[str, str], answer: str = "", **changes: Any) -> dict[str, Any]:
    own = answer or ("accept" if all(r == "accept" for r in ruled.values()) else "maintain")
    return {
        "answer": own,
        "rulings": [
            {"id": id, "ruling": ruling, "reason": f"I {ruling} {id}, seen from my angle.", "evidence": []}
            for id, ruling in ruled.items()
        ],
        "points": [],
        "examined": [],
        "summary": f"I {own}.",
        "need": [],
    } | changes


def grounds(party: str, **changes: Any) -> dict[str, Any]:
    return {
        "why": f"The {party} weighs failure differently.",
        "other_right": f"if outages were rare, says the {party}",
        "assumptions": [f"{party}: outages happen monthly"],
        "cruxes": [
            {"question": f"How many outages did the {party} count last year?", "how": "read the incident log"},
            {"question": f"a feeling of safety for the {party}", "how": ""},
        ],
    } | changes


def mapped(*parties: str) -> dict[str, Any]:
    return {
        "core_disagreement": "How often a node is lost.",
        "assumptions": [{"text": "nodes are lost monthly", "held_by": list(parties[1:]), "denied_by": [parties[0]]}],
    }


def consensus() -> dict[str, Any]:
    """Two rounds: one agrees at once, one is won over, one has a minor remark."""
    return {
        "opening/personas@judge": personas(),
        "opening/position@lead": opening(),
        "r1/challenge@challenger.1": objects("One node is a single point of failure."),
        "r1/challenge@challenger.2": agree("Operator"),
        "r1/challenge@challenger.3": objects(
            "Keys are guessable.",
            "minor",
            20,
            "Adversary",
            points=[point("Keys are guessable.", "minor", 20, category="security")],
        ),
        "r2/confront@lead": confront({"B1": "accept", "B2": "partial"}, "Use Redis with a replica."),
        "r2/rebuttal@challenger.1": rebut({"B1": "accept"}),
    }


def tradeoff(rounds: int = 2) -> dict[str, Any]:
    """One challenger never gives in."""
    said = consensus()
    for n in range(2, rounds + 1):
        moves = {"B1": "reject", "B2": "partial"} if n == 2 else {"B1": "reject"}
        said[f"r{n}/confront@lead"] = confront(
            moves,
            changes=[{"what": "keys are random", "because": ["B2"]}] if n == 2 else [],
            position="Use Redis with random keys.",
        )
        said[f"r{n}/rebuttal@challenger.1"] = rebut({"B1": "maintain"})
    said["assumptions/grounds@lead"] = grounds("Lead")
    said["assumptions/grounds@challenger.1"] = grounds("Architect")
    said["map@judge"] = mapped("Lead", "Architect")
    return said


def seats(
    folder: Path, said: Mapping[str, Any], names: Sequence[str] = ("gemini", "codex", "qwen"), **common: Any
) -> dict[str, Any]:
    """Scripted participants over one set of answers; the challengers carry the given names."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {role: script(folder / f"{role}.json", dict(said), model=role, **common) for role in ("lead", "judge")}
    others = [f"{name}={script(folder / f'{name}.json', dict(said), model=name, **common)}" for name in names]
    return {**made, "challenger": others}


def files(workspace: Path) -> Path:
    """The one folder that a panel left."""
    [one] = [p for p in (workspace / "debates").iterdir() if p.is_dir()]
    return one


def state(workspace: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files(workspace) / "state.json").read_text())
    return found
