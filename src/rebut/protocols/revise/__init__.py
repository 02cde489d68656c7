"""Two authors critique each other's plan or review, revise their own, converge, and one result is made of both."""

from rebut.protocols.revise.run import partial, run
from rebut.protocols.revise.settings import Settings, calls, company, prepare

name = "revise"
version = "3"
seats = {"author": 2, "synthesizer": 1}
judge = "synthesizer"
letter = "W"
closing_tokens = 24_000

__all__ = [
    "Settings",
    "calls",
    "closing_tokens",
    "company",
    "judge",
    "letter",
    "name",
    "partial",
    "prepare",
    "run",
    "seats",
    "version",
]
