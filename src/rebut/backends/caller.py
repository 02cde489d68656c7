"""The program that called rebut, in a seat. Its turn ends the run; `rebut answer` delivers its reply.

`Caller` keeps the answer until its question is asked; the engine records it like any other reply before it is used. So
a run that is killed in between has either recorded the answer and does not ask again, or still waits for the answer.
"""

from __future__ import annotations

from rebut.core.errors import WaitingForCaller
from rebut.core.types import Reply, Request


class Caller:
    """A backend that returns the answer of the calling program. Without an answer to the question, the debate waits."""

    def __init__(self, answer: str = "", key: str = "") -> None:
        self._answer = answer
        self._key = key
        """The question that the answer is for; empty for the first question."""

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
