"""Scripted reviews for the tests: a small change to look at, and answers as models would give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duels
from repositories import commit, copied, new

import rebut
from rebut.domain.outcome import Outcome
from rebut.workspace.targets.target import Wanted

BEFORE = "import os\n\n\ndef pay(order):\n    charge(order)\n    commit(order)\n"
AFTER = "import os\n\n\ndef pay(order):\n    commit(order)\n    charge(order)\n    return None\n"
MENDED = "import os\n\n\ndef pay(order):\n    charge(order)\n    commit(order)\n    return None\n"
PATCH = (
    "--- a/api/orders.py\n+++ b/api/orders.py\n@@ -2,6 +2,6 @@\n \n \n def pay(order):\n"
    "-    commit(order)\n     charge(order)\n+    commit(order)\n     return None\n"
)
PROPOSAL = "# Design\n\nKeep sessions in Redis.\n\n## Cost\n\nA replica is not needed.\n"


def repository(folder: Path) -> Path:
    """One commit, and an uncommitted change of one file."""
    copied(_committed, folder)
    (folder / "api/orders.py").write_text(AFTER)
    return folder


def _committed(folder: Path) -> None:
    commit(new(folder, {"api/orders.py": BEFORE, "README.md": "# Shop\n"}))


def raised(text: str = "It commits before it charges.", place: str = "api/orders.py:5", **changes: Any) -> Any:
    return {
        "text": text,
        "severity": "P1",
        "category": "correctness",
        "evidence": [duels.cite(place, "commit(order)")],
        "action": "charge first",
        "fix": "",
        "same_as": "",
    } | changes


def critique(*findings: Any, **changes: Any) -> Any:
    return {
        "findings": list(findings),
        "earlier": [],
        "agrees": not findings,
        "agreements": ["The name is good."],
        "suggestions": ["Say why."],
        "need": [],
    } | changes


def looked(id: str = "F1", state: str = "fixed") -> Any:
    """What a critic says about an earlier finding."""
    return {"id": id, "reason": f"In this version it is {state}.", "state": state}


def proposal(*findings: Any, **changes: Any) -> Any:
    more = {"alternatives": ["signed cookies"], "recommendation": "Use cookies."}
    return critique(*findings) | more | changes


def judgement(choice: str = "E", rulings: dict[str, str] | None = None, **changes: Any) -> Any:
    rulings = {"F1": "valid P1"} if rulings is None else rulings
    return {
        "findings": [
            {"id": id, "ruling": word[:-3], "severity": word[-2:], "reason": f"{id} is {word[:-3]}"}
            for id, word in rulings.items()
        ],
        "missed": [],
        "choice": choice,
        "reason": f"because of {choice}",
        "rebuttal": "F1 is wrong: charge() is idempotent." if choice == "D" else "",
        "unresolved": ["Is charge() idempotent?"],
        "next_actions": ["Ask the payments team."],
    } | changes


def text(words: str, **changes: Any) -> Any:
    # Beside a bare `text`, a scripted answer would be taken for words.
    return {"json": {"text": words, "changes": ["F1: mended"]} | changes}


def patch(diff: str = PATCH, **changes: Any) -> Any:
    return {"patch": diff, "changes": ["F1: charge first"]} | changes


def seats(folder: Path, said: dict[str, Any], **common: Any) -> dict[str, str]:
    """Critic and judge over one set of answers; the author is never asked."""
    folder.mkdir(parents=True, exist_ok=True)
    return {role: duels.script(folder / f"{role}.json", said, model=role, **common) for role in ("critic", "judge")}


def review(workspace: Path, said: dict[str, Any], wanted: Wanted | None = None, **named: Any) -> Outcome:
    """One review through the public door."""
    sat = seats(workspace.parent / "seats", said)
    target = wanted or Wanted(scope="uncommitted")
    return rebut.run("cross", target=target, workspace=workspace, **{**sat, **named})
