"""A critic of another family tears into a change or a proposal, a judge weighs what it found, and you decide."""

from rebut.protocols.cross.artifacts import artifacts
from rebut.protocols.cross.run import partial, run
from rebut.protocols.cross.settings import Settings, calls, claim, implied, limits, notices, state_dir

name = "cross"
version = "2"
seats = {"author": 1, "critic": 1, "judge": 1, "decider": 0}
judge = "judge"
letter = "F"
silent = ("author",)
third_judges = False
stand_ins = {"critic": "judge"}
programs = {"critic": "lint", "judge": "rules"}

__all__ = [
    "Settings",
    "artifacts",
    "calls",
    "claim",
    "implied",
    "judge",
    "letter",
    "limits",
    "name",
    "notices",
    "partial",
    "programs",
    "run",
    "seats",
    "silent",
    "stand_ins",
    "state_dir",
    "third_judges",
    "version",
]
