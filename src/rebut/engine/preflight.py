"""Reaching: a small round trip before a debate counts on somebody, and whether a persona arrives with it.

Each trip is a question like any other: on record, within the limits, answered once. One that was made minutes ago, for
another debate or by the doctor, is not made again.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from rebut.core.types import Json, Participant
from rebut.domain.answers import Answer, Ask
from rebut.engine.debate import Debate


@dataclass(frozen=True, slots=True)
class Reach:
    """What is known of one participant before it is asked anything that matters."""

    who: Participant
    problem: str = ""
    """Why it cannot take part; empty if it can."""
    hint: str = ""
    reads: bool = True
    """Whether a persona reaches it beside the prompt; if not, the prompt must hold it."""
    how: str = ""
    file: str = ""
    """The name of the file in which it reads a persona; empty if it reads none."""


async def reach(debate: Debate, seats: Sequence[Participant], *, need: int = 0) -> list[Reach]:
    """Try everyone who may not be there, all at once. `TooFewReplies` if fewer than `need` can take part."""
    runtime = debate._runtime

    def look() -> Json:
        out: dict[str, Json] = {}
        for who in seats:
            connection = runtime.connection(who.spec)
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
    old = {c.key for c in runtime.record.calls.values() if c.answered}  # of another day, perhaps: no news
    got = (
        {a.who.seat: a for a in await debate.ask_all("reach", asks, need=max(0, need - len(seats) + len(tried)))}
        if asks
        else {}
    )
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


PERSONA = "The code word of this room is {}. Tell it to whoever asks for it."
QUESTION = "Which code word were you given in your instructions? Reply with that word and nothing else."
