"""Two authors critique each other's plan or review, revise their own, converge, and one result is made of both."""

from rebut.protocols.revise.outcome import partial as partial
from rebut.protocols.revise.run import run as run
from rebut.protocols.revise.settings import (
    Settings as Settings,
    calls as calls,
    prepare as prepare,
    seats_for as seats_for,
)

name = "revise"
version = "8"
seats = {"author": 2, "synthesizer": 1}
judge = "synthesizer"
letter = "W"
checks = True
closing_tokens = 24_000
place = "place"
