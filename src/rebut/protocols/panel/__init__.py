"""One position against several expert challengers at once, to a consensus or an honest trade-off."""

from rebut.engine.protocol import MANY
from rebut.protocols.panel.artifacts import artifacts as artifacts
from rebut.protocols.panel.outcome import partial as partial
from rebut.protocols.panel.run import run as run
from rebut.protocols.panel.settings import (
    Settings as Settings,
    calls as calls,
    check as check,
    folder as folder,
    limits as limits,
)

name = "panel"
version = "8"
seats = {"lead": 1, "challenger": MANY, "judge": 1}
judge = "judge"
letter = "B"
checks = True
closing_tokens = 16_000
place = "place"
