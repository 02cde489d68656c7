"""Scripted revisions for the tests: two authors who write, critique and revise, and a synthesizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duels

import rebut
from rebut.domain.outcome import Outcome
from rebut.workspace.targets.target import Wanted

TOPIC = "Where to keep user sessions?"


def document(who: str, more: str = "") -> str:
    return (
        f"# Sessions\n\n## Goal\n\nKeep sessions, as {who} would.\n\n## Steps\n\n1. Change src/session.py. {more}\n\n"
        "## Checks\n\nThe tests pass.\n"
    )


def objection(text: str, place: str = "§ Steps", **changes: Any) -> dict[str, Any]:
    fields = {"severity": "high", "impact": "correctness", "evidence": [duels.cite(place)], "same_as": ""}
    return {"text": text, **fields, **changes}


def dispute(text: str, place: str = "§ Goal", **changes: Any) -> dict[str, Any]:
    return objection(text, place, **{"why": "mine needs no server", **changes})


def critique(*weaknesses: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "strengths": [{"text": "The goal is plain.", "evidence": [duels.cite("§ Goal")]}],
        "weaknesses": list(weaknesses),
        "disagreements": [],
        "concessions": [],
        "need": [],
    } | changes


def revision(text: str, addressed: list[str], against: list[str] | None = None, **changes: Any) -> dict[str, Any]:
    return {
        "document": text,
        "addressed": [{"id": id, "change": f"{id} is taken care of"} for id in addressed],
        "defended": [
            {"id": id, "reason": f"{id} is meant that way", "evidence": [duels.cite("src/session.py:2", "ttl = 3600")]}
            for id in against or ()
        ],
        "summary": "The steps say more.",
        "need": [],
    } | changes


def plan(ids: list[str], **changes: Any) -> dict[str, Any]:
    return {
        "document": "# Sessions\n\n## Goal\n\nSigned cookies.\n\n## Steps\n\n1. Sign them.\n",
        "summary": "Sign cookies.",
        "adopted": [{"id": id, "how": "step 1"} for id in ids[:1]],
        "overruled": [{"id": id, "why": "it costs too much"} for id in ids[1:2]],
        "unresolved": [{"id": id, "tie_break": "the simpler way"} for id in ids[2:]],
    } | changes


def verdict(**changes: Any) -> dict[str, Any]:
    return {
        "decision": "approve with changes",
        "summary": "The ttl must be set from outside.",
        "first": "It can go in.",
        "second": "It can go in with a change.",
        "findings": [
            {
                "text": "The ttl is fixed.",
                "severity": "medium",
                "held_by": "both",
                "evidence": [duels.cite("src/session.py:2", "ttl = 60")],
                "why": "one said high, one said low",
            }
        ],
        "agreement": ["The ttl is fixed."],
        "disagreement": [],
    } | changes


def answers(rounds: int = 2, stage: str = "plan") -> dict[str, Any]:
    """A whole debate that never converges: in every round each author finds something new and gives in to it."""
    out: dict[str, Any] = {f"r0/draft@author.{n}": {"document": document(f"author {n}"), "need": []} for n in (1, 2)}
    out["r0/draft@author"] = out["r0/draft@author.1"]  # who reviews alone
    for n in range(1, rounds + 1):
        for by in (1, 2):
            out[f"r{n}/critique@author.{by}"] = critique(
                objection(f"Flaw {n} that author {by} sees.", f"§ {PLACES[n]}")
            )
            # The first author's point comes first in each round; each answers the other's.
            mine = f"W{2 * n - 1 + (by == 1)}"
            out[f"r{n}/revision@author.{by}"] = revision(document(f"author {by}", f"As of round {n}."), [mine])
    ids = [f"W{n}" for n in range(1, 2 * rounds + 1)]
    out["synthesis@synthesizer"] = plan(ids) if stage == "plan" else verdict()
    return out


PLACES = {1: "Steps", 2: "Checks", 3: "Goal"}


def seats(folder: Path, said: dict[str, Any], names: tuple[str, ...] = ("claude", "codex")) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    authors = [f"{name}={duels.script(folder / f'{name}.json', said, model=f'model {name}')}" for name in names]
    return {"author": authors, "synthesizer": duels.script(folder / "s.json", said, model="model s")}


def run(workspace: Path, said: dict[str, Any] | None = None, **named: Any) -> Outcome:
    """A debate through the public door. `stage` and `rounds` choose the script, unless one is given."""
    stage, rounds = named.get("stage", "plan"), named.get("rounds", 2)
    said = answers(rounds if isinstance(rounds, int) else 2, stage) if said is None else said
    sitting = seats(workspace.parent / "scripts", said, named.pop("names", ("claude", "codex")))
    if stage == "review":
        named.setdefault("target", Wanted("code", "uncommitted"))
    if named.get("strategy") == "single":
        sitting = {"author": sitting["author"][:1]}
    return rebut.run("revise", named.pop("topic", TOPIC), workspace=workspace, **{**sitting, **named})


def change(workspace: Path) -> None:
    """Something to review."""
    file = workspace / "src/session.py"
    file.write_text(file.read_text().replace("ttl = 3600", "ttl = 60"))


def phase(workspace: Path, number: int = 1) -> Path:
    return workspace / f".kiln/tracks/phase-{number}"


def tree(workspace: Path, number: int = 1) -> list[str]:
    return sorted(path.name for path in phase(workspace, number).iterdir())


def configure(workspace: Path, text: str) -> Path:
    file = workspace / ".kiln/config.json"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode(errors="surrogateescape"))
    return file
