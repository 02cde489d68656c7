"""Noting: entries of the ledger on their way in. Their citations are checked, and each learns its id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rebut.core.types import Json
from rebut.domain import ledger as ledgers
from rebut.domain.ledger import Claim, Entry, Ledger, Point, Slip
from rebut.engine.runtime import Room


async def checked(room: Room, entries: Sequence[Entry]) -> Json:
    """The entries for the record, each citation looked up and marked."""
    from rebut.evidence.marks import marked

    rows: list[Json] = []
    for entry in entries:
        if not isinstance(entry, Slip):
            entry = replace(entry, evidence=await marked(entry.evidence, ledgers.said(entry), room.sides))
        rows.append(ledgers.to_json(entry))
    return {"letter": room.ledger.letter, "entries": rows}


def placed(ledger: Ledger, entries: Sequence[Entry]) -> tuple[Ledger, list[tuple[str, Entry]]]:
    """The next ledger, and the id under which each entry stands in it; empty for one that matched nothing."""
    out: list[tuple[str, Entry]] = []
    for entry in entries:
        before, ledger = ledger, ledger.add([entry])
        out.append((_id(entry, before, ledger), entry))
    return ledger, out


def _id(entry: Entry, before: Ledger, after: Ledger) -> str:
    match entry:
        case Claim():
            return after.claims[-1].id
        case Point() if len(after.unmatched) > len(before.unmatched):
            return ""
        case Point() if len(after.points) > len(before.points):
            return after.points[-1].id
        case Point():  # joined to one that was there: either its voices grew, or it was pressed again
            if len(after.moves) > len(before.moves):
                return after.moves[-1].point
            return next(new.id for old, new in zip(before.points, after.points, strict=True) if old != new)
        case _:
            return entry.point if after.point(entry.point) else ""
