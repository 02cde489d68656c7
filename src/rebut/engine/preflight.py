"""Preflight: a small question to each remote model before a debate relies on it, which also tests its persona.

The question is like any other: recorded, within the limits, asked once. A model that answered minutes ago, in another
debate or to the doctor, is not asked.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.types import Participant
from rebut.domain.answers import Answer, Ask
from rebut.engine.debate import Debate


@frozen
class Reach:
    """Whether one participant can be reached."""

    who: Participant
    problem: str = ""
    """Why it cannot take part; empty if it can."""
    hint: str = ""
    reads: bool = True
    """Whether a persona reaches it outside of the prompt; if not, the prompt must contain it."""
    how: str = ""
    file: str = ""
    """The name of the file from which it reads a persona; empty if it reads none."""


async def reach(debate: Debate, seats: Sequence[Participant], *, need: int = 0) -> list[Reach]:
    """Try all remote participants at once. Raises `TooFewReplies` if fewer than `need` can take part."""
    runtime = debate._runtime

    def look() -> Json:
        out: dict[str, Json] = {}
        for who in seats:
            connection = runtime.connection(who.spec, who.seat)
            trip = runtime.reachability.known(str(who.spec)) if connection.far else None
            tested = trip is not None and (trip.reads is not None or not connection.context_file)
            out[who.seat] = {
                "try": connection.far and not tested,
                "reads": trip.reads is not False if trip else True,
                "file": connection.context_file,
                "how": "answered minutes ago" if tested else "" if connection.far else "always there",
            }
        return out

    known = cast(dict[str, dict[str, Json]], await debate.once("trips", look, cls="limit"))
    word = str(await debate.once("code-word", lambda: secrets.token_hex(4), cls="input"))
    tried = [who for who in seats if known[who.seat]["try"]]
    asks: list[Ask[str]] = [Ask(replace(who, persona=PERSONA.format(word)), QUESTION) for who in tried]
    old = {c.key for c in runtime.record.calls.values() if c.answered}  # perhaps days old: not worth storing
    needed = max(0, need - len(seats) + len(tried))
    got = {answer.who.seat: answer for answer in await debate.ask_all("reach", asks, need=needed)} if asks else {}
    out = []
    for who in seats:
        answer, row = got.get(who.seat), known[who.seat]
        file = str(row["file"])
        if answer is None:
            out.append(Reach(who, reads=bool(row["reads"]), how=str(row["how"]), file=file))
        elif isinstance(answer, Answer):
            reads = word in answer.value
            out.append(Reach(who, reads=reads, how="answered" if reads else "answered without its persona", file=file))
            if answer.key not in old:
                runtime.reachability.keep(str(who.spec), reads)
        else:
            out.append(Reach(who, f"{answer.kind}: {answer.message}", answer.hint, file=file))
    return out


# Both are part of the fingerprint of recorded questions.
PERSONA = "The code word of this room is {}. Tell it to whoever asks for it."
QUESTION = "Which code word were you given in your instructions? Reply with that word and nothing else."
