"""A critic of another family tears into a change or a proposal, a judge weighs what it found, and you decide."""

from rebut.protocols.cross.artifacts import artifacts
from rebut.protocols.cross.ending import partial
from rebut.protocols.cross.run import run
from rebut.protocols.cross.settings import SEATS, Settings, calls, check, folder, limits, prepare, seats_for

name = "cross"
version = "5"
seats = SEATS
judge = "judge"
letter = "F"
noun = "finding"
reviews = True
place = "state_dir"

__all__ = [
    "Settings",
    "artifacts",
    "calls",
    "check",
    "folder",
    "judge",
    "letter",
    "limits",
    "name",
    "noun",
    "partial",
    "place",
    "prepare",
    "reviews",
    "run",
    "seats",
    "seats_for",
    "version",
]
