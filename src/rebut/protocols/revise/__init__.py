"""Two authors critique each other's plan or review, revise their own, converge, and one result is made of both."""

from rebut.protocols.revise.ending import partial
from rebut.protocols.revise.run import run
from rebut.protocols.revise.settings import Settings, calls, prepare, seats_for

name = "revise"
version = "6"
seats = {"author": 2, "synthesizer": 1}
judge = "synthesizer"
letter = "W"
closing_tokens = 24_000
place = "place"

__all__ = [
    "Settings",
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
    "seats_for",
    "version",
]
