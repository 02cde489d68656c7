"""Careless models: which share of three true findings reaches the record, for each of twelve habits of models."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rebut
from bench.places import own_home
from bench.table import Row
from rebut.core.errors import RebutError
from rebut.core.types import Reply, Request, Usage
from rebut.workspace.targets.target import Wanted

LINES = [
    "import os",
    "",
    "def pay(order):",
    "    commit_the(order)",
    "    charge_the(order)",
    "    return open_log(order)",
]
CITED = {4: "commit_the(order)", 5: "charge_the(order)", 6: "return open_log(order)"}
Reviews = dict[str, Any]


def review(**changes: Any) -> Reviews:
    """A critique that a careful model would give; `changes` go into each of its findings."""
    findings = [
        {
            "evidence": [{"place": f"pay.py:{line}", "quote": quote}],
            "text": f"Line {line} is wrong.",
            "category": "correctness",
            "severity": "P2",
            "action": "fix it",
            "fix": "",
            "same_as": "",
            **changes,
        }
        for line, quote in CITED.items()
    ]
    return {"findings": findings, "agreements": [], "suggestions": [], "agrees": False, "need": []}


def _cited(place: str) -> Reviews:
    made = review()
    for row in made["findings"]:
        row["evidence"][0]["place"] = place
    return made


def _bare() -> Reviews:
    made = review()
    for row in made["findings"]:
        for name in ("action", "fix", "same_as"):
            del row[name]
    return {"findings": made["findings"], "agrees": False}


HABITS: dict[str, Callable[[], str]] = {
    "careful": lambda: json.dumps(review()),
    "a place copied from its description": lambda: json.dumps(_cited("path:first-last")),
    "a misspelt path": lambda: json.dumps(_cited("src/payy.py:4")),
    "the first id as same_as": lambda: json.dumps(review(same_as="F1")),
    "a word for nothing as same_as": lambda: json.dumps(review(same_as="none")),
    "null as same_as": lambda: json.dumps(review(same_as=None)),
    "a list as action": lambda: json.dumps(review(action=["one", "two"])),
    "a category of its own": lambda: json.dumps(review(category="style")),
    "a severity in words": lambda: json.dumps(review(severity="high")),
    "optional keys left out": lambda: json.dumps(_bare()),
    "prose around it": lambda: f"Here is my review:\n\n{json.dumps(review())}\n\nI hope it helps.",
    "trailing commas": lambda: json.dumps(review()).replace("}]", "},]"),
    "agrees beside findings": lambda: json.dumps(review() | {"agrees": True}),
}


class Critic:
    def __init__(self, text: str) -> None:
        self._text = text

    async def complete(self, request: Request) -> Reply:
        return Reply(self._text, model="critic", family="a", usage=Usage(10, 10), usd=0.0)


class Judge:
    async def complete(self, request: Request) -> Reply:
        found = re.search(r"Rule on every finding of this round \(([^)]*)\)", request.prompt)
        ids = [id for id in (found[1].split(", ") if found else []) if id != "none"]
        rows = [{"id": id, "reason": "so it is", "severity": "P2", "ruling": "valid"} for id in ids]
        said = {"findings": rows, "missed": [], "choice": "E", "reason": "enough", "unresolved": [], "next_actions": []}
        return Reply(json.dumps(said), model="judge", family="b", usage=Usage(10, 10), usd=0.0)


def shares() -> dict[str, float]:
    """Habit → the share of findings on record whose citation was found, moved or located."""
    out = {}
    with own_home() as workspace:
        for command in (
            ["init", "-q"],
            ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "x"],
        ):
            subprocess.run(["git", *command], cwd=workspace, check=True)
        (workspace / "pay.py").write_text("\n".join(LINES) + "\n")
        for habit, text in HABITS.items():
            out[habit] = asyncio.run(_share(workspace, text()))
    return out


async def _share(workspace: Path, text: str) -> float:
    try:
        outcome = await rebut.start(
            "cross", target=Wanted(scope="uncommitted"), workspace=workspace, author="human", critic="a:m", judge="b:m",
            rounds=1, backends={"a": Critic(text), "b": Judge()},
        )  # fmt: skip
    except RebutError:
        return 0.0
    marks = [point.evidence[0].mark for point in outcome.ledger.points if point.evidence]
    return sum(mark in ("found", "moved", "located") for mark in marks) / len(CITED)


def rows() -> list[Row]:
    found = shares()
    habits = [share for name, share in found.items() if name != "careful"]
    whole = Row("careless models: findings on record, of 12 habits", 100 * sum(habits) / len(habits), "%", 100.0)
    return [whole, *(Row(f"  {name}", 100 * share, "%", 100.0) for name, share in found.items())]
