"""Finished debates of every kind for the page to show: scripted, recorded once for each process of the tests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import revisions
from crashing import repository

import rebut
from rebut.record import sessions
from rebut.workspace.targets.target import Wanted

QUESTION = "Where to keep user sessions?"


@dataclass(frozen=True)
class Material:
    """Where the sessions are, and the id of each by its name."""

    work: Path
    ids: dict[str, str]

    @property
    def root(self) -> Path:
        return sessions.home()


def asked() -> dict[str, Any]:
    rival = duels.opening(position="Sign cookies.", claims=[{"text": "No store, no failover.", "evidence": []}])
    flaw = duels.flaw("A cookie cannot be revoked.", 3, about="C3", category="security")
    compared = {"first": "Keep Redis.", "second": "Sign cookies.", "same": False, "recommendation": ""}
    return {
        "answer@proposer": duels.opening(),
        "answer@challenger": rival,
        "comparison@judge": compared | {"reason": "one keeps the store, the other drops it"},
        "r1/challenge@proposer": duels.challenge(flaws=[flaw], unsupported=["C3"], alternatives=["Keep Redis."]),
        "r1/challenge@challenger": duels.challenge(unsupported=["C2"]),
        "r1/defense@proposer": duels.defense(1, {"D2": "concede", "D3": "rebut"}),
        "r1/defense@challenger": duels.defense(1, {"D1": "rebut"}) | {"position": "Sign cookies, as of round 1."},
        "verdict@judge": duels.verdict(better="answer 2", answer="Sign cookies, and drop the store."),
    }


def reviewed() -> dict[str, Any]:
    new = crosses.raised("None is returned.", "api/orders.py:7", category="tests", severity="P2")
    new["evidence"] = [duels.cite("api/orders.py:7", "return None")]
    return {
        "r1/critique@critic": crosses.critique(crosses.raised(), new),
        "r1/judgement@judge": crosses.judgement("C", {"F1": "valid P1", "F2": "invalid P2"}),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked()]),
    }


def made(folder: Path) -> Material:
    """Record all of them in one folder."""
    work = repository(folder / "work")
    seats = folder / "seats"
    seats.mkdir()
    ids = {}
    said = {"r1/opening@proposer": duels.opening(claims=[
        {"text": "Sessions must survive a restart.", "evidence": [duels.cite("src/session.py:2", "ttl = 3600")]},
        {"text": "There is a cache.", "evidence": [duels.cite("src/session.py:9", "cache = True")]},
    ])}  # fmt: skip
    ids["duel"] = duels.duel(seats, said, rounds=3, workspace=work).session
    ids["fork"] = asyncio.run(rebut.fork(ids["duel"], rounds=2)).session
    roles = ("proposer", "challenger", "judge")
    specs = {role: duels.script(seats / f"ask-{role}.json", asked(), model=role) for role in roles}
    ids["ask"] = rebut.run("ask", QUESTION, workspace=work, **specs).session
    panel = panels.seats(folder / "panel", panels.tradeoff())
    ids["panel"] = rebut.run("panel", panels.TOPIC, workspace=work, rounds=2, **panel).session
    ids["revise"] = revisions.run(work).session
    shop = crosses.repository(folder / "shop")
    ids["review"] = crosses.review(shop, reviewed(), rounds=2).session
    proposal = crosses.raised("A replica is needed.", "## Cost")
    proposal["evidence"] = [duels.cite("## Cost", "A replica is not needed.")]
    judged = {"r1/critique@critic": crosses.proposal(proposal), "r1/judgement@judge": crosses.judgement("E")}
    text = Wanted("proposal", content=crosses.PROPOSAL)
    ids["plan"] = crosses.review(shop, judged, text, rounds=1).session
    return Material(work, ids)
