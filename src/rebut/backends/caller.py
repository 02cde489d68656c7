"""The caller in a seat: the agent that runs rebut. Its turn ends the run; `rebut answer` brings its reply.

An answer is held here until its question is asked, and the engine puts it on record like any other reply before it is
used. So a run that dies in between has either recorded the answer, and never asks again, or still waits for it.
"""

from __future__ import annotations

from rebut.core.errors import WaitingForCaller
from rebut.core.types import Reply, Request


class Caller:
    """A backend that is the program's own caller. Without an answer for the question it waits."""

    def __init__(self, answer: str = "", key: str = "") -> None:
        self._answer = answer
        self._key = key
        """Which question the answer is for; empty: the first that is asked."""

    async def complete(self, request: Request) -> Reply:
        if self._answer and self._key in ("", request.key):
            text, self._answer = self._answer, ""
            return Reply(text, model="caller", family="caller")
        raise WaitingForCaller(
            f"it is the {request.participant.seat}'s turn ({request.key}), and that seat is the caller's",
            key=request.key,
            question=request.whole,
            schema=request.schema,
            followup=request.followup,
        )
