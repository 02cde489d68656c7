"""Two blind answers to a question; where they differ, each model challenges the other's and defends its own."""

from rebut.protocols.ask.outcome import partial as partial
from rebut.protocols.ask.run import run as run
from rebut.protocols.ask.settings import (
    Settings as Settings,
    calls as calls,
    closings as closings,
    seats_for as seats_for,
)

name = "ask"
version = "8"
seats = {"proposer": 1, "challenger": 1, "judge": 1}
judge = "judge"
letter = "D"
checks = True
closing_tokens = 16_000
