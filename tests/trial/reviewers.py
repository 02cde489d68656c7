"""Models of known behaviour for trials: each reads the changed file in its prompt and reviews it in its own way."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import crosses
import duels
import panels
from dialects import question, schema_name
from loopback import Loopback

from rebut.trial.defect_kinds import KINDS
from rebut.trial.pairs import CLEAN, DEFECT, DefectPair, bundled

Raised = tuple[int, str, str]
"""A line, a kind and a severity."""
Critic = Callable[[DefectPair, str], list[Raised]]
"""What a critic raises on one side of a pair."""
_NUMBERED = re.compile(r"^ *(\d+)\| (.*)$", re.M)


@cache
def known() -> dict[str, tuple[DefectPair, str]]:
    """The text of every side → its pair and the side. Of a clean side, any pair will do."""
    out: dict[str, tuple[DefectPair, str]] = {}
    for pair in bundled():
        out[_bare(pair.defect.text)] = (pair, DEFECT)
        out.setdefault(_bare(pair.after), (pair, CLEAN))
    return out


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip()


def shown(prompt: str) -> tuple[DefectPair, str]:
    """The side that a prompt shows: its first file with numbered lines."""
    body = list[str]()
    for number, text in _NUMBERED.findall(prompt):
        if int(number) == len(body) + 1:
            body.append(text)
        elif body:
            break
    return known()[_bare("\n".join(body))]


def position(pair: DefectPair, raised: list[Raised]) -> str:
    return "\n".join(f"{pair.path}:{line} [{kind}] {grade} It is wrong." for line, kind, grade in raised) or "no defect"


def critique(pair: DefectPair, side: str, raised: list[Raised]) -> Any:
    rows = pair.text(side).splitlines()
    return crosses.critique(
        *(
            crosses.raised(
                f"[{kind}] It is wrong.",
                f"{pair.path}:{line}",
                severity=severity,
                evidence=[duels.cite(f"{pair.path}:{line}", rows[line - 1].strip())],
            )
            for line, kind, severity in raised
        )
    )


def judgement(prompt: str, keeps: Callable[[str], bool]) -> Any:
    ids = re.search(r"Rule on every finding of this round \(([^)]*)\)", prompt)
    assert ids is not None
    rulings = {name: "valid P1" if keeps(name) else "invalid P3" for name in ids[1].split(", ") if name.startswith("F")}
    return crosses.judgement("E", rulings)


def answers(
    critic: Critic, keeps: Callable[[str], bool] = lambda id: True, check: dict[str, str] | None = None
) -> Callable[[dict[str, Any]], str]:
    def answer(body: dict[str, Any]) -> str:
        prompt = question(body)
        if schema_name(body) == "Judgement" or "You are the JUDGE" in prompt:
            return json.dumps(judgement(prompt, keeps))
        if not _NUMBERED.search(prompt):
            return "ready"  # a panel asks first whether an expert can be reached
        match schema_name(body):
            case "Personas":
                return json.dumps(panels.personas(1))
            case "Challenge":
                return json.dumps(panels.agree())
        pair, side = shown(prompt)
        if schema_name(body) == "Opening":
            return json.dumps(panels.opening(position=position(pair, critic(pair, side)), reasoning=[]))
        made = critique(pair, side, critic(pair, side))
        if schema_name(body).startswith("Checked"):
            for finding in made["findings"]:
                finding["check"] = check
        return json.dumps(made)

    return answer


@contextmanager
def serving(
    critic: Critic, keeps: Callable[[str], bool] = lambda id: True, check: dict[str, str] | None = None
) -> Iterator[Loopback]:
    with Loopback(answers(critic, keeps, check), keep=False) as server:
        yield server


# Ways to review


def drawn(pair: DefectPair, side: str, salt: str = "") -> random.Random:
    return random.Random(f"{pair.id} {side} {salt}")


def finds(share: float, alarms: float = 0.0) -> Critic:
    """Finds this share of the defects, and raises a false alarm on this share of the twins."""

    def critic(pair: DefectPair, side: str) -> list[Raised]:
        draw = drawn(pair, side)
        if side == DEFECT:
            return [(pair.defect.first, pair.defect.kind, "P1")] if draw.random() < share else []
        return [(draw.choice(lines_of(pair, side)), draw.choice(list(KINDS)), "P2")] if draw.random() < alarms else []

    return critic


def lines_of(pair: DefectPair, side: str) -> list[int]:
    last = pair.text(side).count("\n")
    return [line for line in pair.changed if line <= last]


def always_first(pair: DefectPair, side: str) -> list[Raised]:
    return [(lines_of(pair, side)[0], "off by one", "P2")]


def always_p1(pair: DefectPair, side: str) -> list[Raised]:
    draw = drawn(pair, side)
    found: list[Raised] = [(pair.defect.first, pair.defect.kind, "P1")] if side == DEFECT else []
    return [*found, *((draw.choice(lines_of(pair, side)), draw.choice(list(KINDS)), "P1") for _ in range(4))]


def everything(pair: DefectPair, side: str) -> list[Raised]:
    return [(line, kind, "P2") for line in lines_of(pair, side)[::3] for kind in KINDS]


def wrong_kind(pair: DefectPair, side: str) -> list[Raised]:
    other = next(kind for kind in KINDS if kind != pair.defect.kind)
    return [(pair.defect.first, other, "P1")] if side == DEFECT else []


def at_chance(pair: DefectPair, side: str) -> list[Raised]:
    draw = drawn(pair, side)
    return [(draw.choice(lines_of(pair, side)), draw.choice(list(KINDS)), "P1")]
