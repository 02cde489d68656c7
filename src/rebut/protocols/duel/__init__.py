"""Proposer against challenger, every claim cited, until a judge picks a side."""

from rebut.protocols.duel.artifacts import artifacts as artifacts
from rebut.protocols.duel.outcome import partial as partial
from rebut.protocols.duel.run import run as run
from rebut.protocols.duel.settings import (
    Settings as Settings,
    calls as calls,
    closings as closings,
    folder as folder,
    prepare as prepare,
    seats_for as seats_for,
)

name = "duel"
version = "7"
seats = {"proposer": 1, "challenger": 1, "judge": 1}
judge = "judge"
letter = "D"
checks = True
place = "state_dir"
closing_tokens = 16_000
