"""Two blind answers to a question; a duel only if they do not choose the same."""

from rebut.protocols.ask.run import Settings, calls, partial, run

name = "ask"
version = "3"
seats = {"proposer": 1, "challenger": 1, "judge": 1}
judge = "judge"
letter = "D"
closing_tokens = 16_000

__all__ = ["Settings", "calls", "closing_tokens", "judge", "letter", "name", "partial", "run", "seats", "version"]
