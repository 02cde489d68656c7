"""The two ways to the measured server: rebut's public door, and a bare call of the same HTTP client."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import rebut
from bench import said, server
from rebut.backends.http.client import shared
from rebut.setup.config import Config, Provider

__all__ = ["CALLS", "bare", "duel", "sent", "shared"]

TOPIC = "Should the shop keep user sessions in Redis?"
HEADERS = {"Content-Type": "application/json"}
FORMS = ("Opening", "Challenge", "Defense", "FollowUp", "Decision")
CALLS = len(FORMS)
"""Of a duel of two rounds, one after the other: its critical path."""


async def duel(url: str, workspace: Path) -> float:
    """A duel of two rounds through the public door; gives its wall time."""
    began = time.perf_counter()
    # A user's config with one provider, which takes more calls at once than are ever made here.
    config = Config(providers=(Provider("loop", "openai", url, model="m", family="loop", at_once=400),))
    outcome = await rebut.start(
        "duel", TOPIC, proposer="loop:a", challenger="loop:b", rounds=2, config=config, workspace=workspace
    )
    took = time.perf_counter() - began
    if outcome.heading != "VERDICT" or outcome.spent.calls != CALLS:
        raise RuntimeError(f"this is not the duel that was to be measured: {outcome.heading}, {outcome.notes}")
    return took


async def bare(url: str, bodies: Sequence[bytes]) -> float:
    """The same requests without rebut, each reply read to its end; gives their wall time."""
    session = await shared().session()
    began = time.perf_counter()
    for body in bodies:
        async with session.post(f"{url}/chat/completions", data=body, headers=HEADERS) as response:
            async for _ in response.content.iter_any():
                pass
    return time.perf_counter() - began


async def sent(workspace: Path) -> list[bytes]:
    """The request bodies of one duel, in order."""
    with server.serving(said.by_form(), latency=0.0) as where:
        await duel(where.url, workspace)
        bodies = where.told()["bodies"]
    return [bodies[form].encode() for form in FORMS]
