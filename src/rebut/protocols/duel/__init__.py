"""Proposer against challenger, every claim cited, until a judge picks a side."""

from rebut.protocols.duel.render import artifacts
from rebut.protocols.duel.run import Settings, calls, partial, prepare, run

name = "duel"
version = "4"
seats = {"proposer": 1, "challenger": 1, "judge": 1}
judge = "judge"
letter = "D"
closing_tokens = 16_000
place = "state_dir"

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
