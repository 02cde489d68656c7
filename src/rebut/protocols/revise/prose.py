"""What a document cites in its prose, and what looking it up showed: as prompts, the log and the screen tell it."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.text import cut, squeeze
from rebut.domain.ledger import Claim, Evidence, baseless
from rebut.engine.debate import Debate
from rebut.protocols.revise import prompts as words

STATEMENT = 160


async def looked_up(debate: Debate, step: str, by: str, round: int, text: str) -> tuple[Claim, ...]:
    """What a document says with a place beside it, each place looked up; on record where any of it is new."""
    if fresh := [claim for claim in debate.cited(by, round, text) if not claim.id]:
        await debate.enter(step, fresh)
    return tuple(debate.cited(by, round, text))


def places(claims: Sequence[Claim]) -> list[Evidence]:
    return list(dict.fromkeys(e for claim in claims for e in claim.evidence))


def tally(claims: Sequence[Claim]) -> str:
    """`4 places: 2 found, 1 located, 1 absent (src/x.py:9)`; empty where nothing is cited."""
    cited = places(claims)
    if not cited:
        return ""
    marks: dict[str, int] = {}
    for one in cited:
        marks[one.mark] = marks.get(one.mark, 0) + 1
    absent = ", ".join(one.place for one in cited if one.mark == "absent")
    counts = ", ".join(f"{count} {mark}" for mark, count in marks.items())
    return f"{len(cited)} place{'' if len(cited) == 1 else 's'}: {counts}" + (f" ({absent})" if absent else "")


def shown(debate: Debate, label: str, claims: Sequence[Claim]) -> str:
    """For a prompt, below the document: every place with its mark, and the statements that rest on what is absent."""
    if not claims:
        return ""
    rows = [_row(one) for one in places(claims)]
    bare = [f'rests on what is absent: "{cut(claim.text, STATEMENT)}"' for claim in claims if baseless(claim.evidence)]
    return f"\n\n{words.LOOKED_UP}\n\n" + debate.quote(f"places that {label} cites", "\n".join([*rows, *bare]))


def _row(one: Evidence) -> str:
    quoted = f' "{cut(one.quote, STATEMENT)}"' if one.quote else ""
    note = f" ({squeeze(one.note)})" if one.note else ""
    return f"{one.place}{quoted}: {one.mark}{note}"
