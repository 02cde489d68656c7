"""Two blind answers to a question; where they differ, each model challenges the other's and defends its own."""

from rebut.protocols.ask.ending import partial
from rebut.protocols.ask.run import run
from rebut.protocols.ask.settings import Settings, calls

name = "ask"
version = "5"
seats = {"proposer": 1, "challenger": 1, "judge": 1}
judge = "judge"
letter = "D"
closing_tokens = 16_000

__all__ = ["Settings", "calls", "closing_tokens", "judge", "letter", "name", "partial", "run", "seats", "version"]
