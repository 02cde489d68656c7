"""Parts that several protocols share: how a prompt begins, and asking once more where a call failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from rebut.core.types import LEFT
from rebut.domain.prompts import CONTEXT, FENCES
from rebut.engine.debate import Answer, Ask, Debate, Failure
from rebut.engine.protocol import Preparation

V = TypeVar("V")
UNCONTESTED = "uncontested: the models that answered chose the same, and none argued against it"
"""Why such an outcome is not an accepted decision."""
LONG = 8192
"""Tokens for a whole document."""

NO_CONTEXT = (
    """No files were given. Cite what you know how to cite, and list under `need` what you must see of the workspace."""
)


def prompt_head(debate: Debate, rule: str) -> dict[str, str]:
    """How the prompt of every debater begins: rule, topic and files, in an order that stays from round to round."""
    files = f"\n\n{CONTEXT}\n\n{debate.quote('files', debate.context)}" if debate.context else f"\n\n{NO_CONTEXT}"
    return {"rule": rule, "fences": FENCES, "topic": debate.quote("topic", debate.topic), "context": files}


def chosen_folder(asked: Preparation, setting: str) -> str | None:
    """The folder that the user named in a setting, as an absolute path; empty for `-`, the session's own folder.

    None where the user named none. A relative folder is relative to the workspace.
    """
    chosen = asked.named.get(setting)
    if chosen == "-":
        return ""
    return str((asked.workspace / Path(str(chosen)).expanduser()).resolve()) if chosen else None


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
