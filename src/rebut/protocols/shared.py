"""How authors are asked: in parallel, and once more where one fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from rebut.core.types import LEFT
from rebut.engine.debate import Answer, Ask, Debate, Failure

V = TypeVar("V")
LONG = 8192
"""Tokens for a whole document."""


async def ask_twice(debate: Debate, step: str, asks: Sequence[Ask[V]], *, need: int = 0) -> list[Answer[V] | Failure]:
    """Ask all at once; whoever fails is asked once more. Raises `TooFewReplies` when fewer than `need` answer then.

    What a limit forbids is not tried again: it would be forbidden again. Nor is what somebody decided to leave behind.
    """
    got = list(await debate.ask_all(step, asks, need=0))
    again = [n for n, one in enumerate(got) if isinstance(one, Failure) and one.kind not in ("budget", LEFT)]
    if again:
        still = max(0, need - sum(isinstance(one, Answer) for one in got))
        more = await debate.ask_all(step, [replace(asks[n], part="again") for n in again], need=min(still, len(again)))
        for n, one in zip(again, more, strict=True):
            got[n] = one
    return got


def told(failure: Failure) -> str:
    return failure.message if failure.kind == "budget" else f"{failure.kind}: {failure.message}"
