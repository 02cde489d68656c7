"""Proposer against challenger, every claim cited, until a judge picks a side."""

from rebut.protocols.duel.artifacts import artifacts
from rebut.protocols.duel.ending import partial
from rebut.protocols.duel.run import run
from rebut.protocols.duel.settings import Settings, calls, prepare

name = "duel"
version = "5"
seats = {"proposer": 1, "challenger": 1, "judge": 1}
judge = "judge"
letter = "D"
place = "state_dir"
closing_tokens = 16_000

__all__ = [
    "Settings",
    "artifacts",
    "calls",
    "closing_tokens",
    "judge",
    "letter",
    "name",
    "partial",
    "place",
    "prepare",
    "run",
    "seats",
    "version",
]
