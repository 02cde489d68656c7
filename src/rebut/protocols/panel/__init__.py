"""One position against several expert challengers at once, to a consensus or an honest trade-off."""

from rebut.engine.protocol import MANY
from rebut.protocols.panel.artifacts import artifacts
from rebut.protocols.panel.ending import partial
from rebut.protocols.panel.run import run
from rebut.protocols.panel.settings import Settings, calls, check, folder, limits

name = "panel"
version = "6"
seats = {"lead": 1, "challenger": MANY, "judge": 1}
judge = "judge"
letter = "B"
closing_tokens = 16_000
place = "place"

__all__ = [
    "Settings",
    "artifacts",
    "calls",
    "check",
    "closing_tokens",
    "folder",
    "judge",
    "letter",
    "limits",
    "name",
    "partial",
    "place",
    "run",
    "seats",
    "version",
]
