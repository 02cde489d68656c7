"""A critic of another family tears into a change or a proposal, a judge weighs what it found, and you decide."""

from rebut.protocols.cross.artifacts import artifacts as artifacts
from rebut.protocols.cross.outcome import partial as partial
from rebut.protocols.cross.run import run as run
from rebut.protocols.cross.settings import (
    SEATS,
    Settings as Settings,
    calls as calls,
    check as check,
    folder as folder,
    limits as limits,
    prepare as prepare,
    seats_for as seats_for,
)

name = "cross"
version = "6"
seats = SEATS
judge = "judge"
letter = "F"
checks = True
noun = "finding"
reviews = True
place = "state_dir"
