"""Was a duel worth it: the opening as it stood before any challenge, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rebut.core.text import cut, squeeze
from rebut.core.types import Json
from rebut.domain.ledger import Ledger
from rebut.domain.worth import TAKEN, Worth, fates

OPENING = "r1/opening@proposer"
LONGEST = 200
VERDICTS = {"proposer": "the verdict stays with it", "": "nobody decided"}


def weighed(answers: Mapping[str, Json], ledger: Ledger, winner: str = "", caveat: str = "") -> Worth:
    """The account of a duel. `winner` is empty where nobody decided."""
    first = _position(answers.get(OPENING))
    mine = [c for c in ledger.claims if c.round == 1 and c.by == "proposer"]
    bare = sum(1 for c in mine if c.unsupported)
    claims = f"{len(mine)} claim{'' if len(mine) == 1 else 's'}" + (f", {bare} unsupported" if bare else "")
    changed = moved(answers, ledger, first)
    same = not changed if winner == "proposer" else False if winner else None
    if not same:
        changed.insert(0, VERDICTS.get(winner, "the verdict goes against it"))
    return Worth(
        first=f"“{cut(first, LONGEST)}” on {claims}",
        points=fates(ledger),
        changed=tuple(changed),
        same=same,
        caveat=caveat,
        keys=(OPENING,),
    )


def moved(answers: Mapping[str, Json], ledger: Ledger, first: str) -> list[str]:
    """Whether the proposer's position moved, and which points it gave in to. Other words alone are no change."""
    taken = [p.id for p in ledger.points if _gave_in(ledger, p.id)]
    later = [_position(v) for k, v in answers.items() if k.endswith("/defense@proposer")]
    last = next((p for p in reversed(later) if p), first)
    if taken and squeeze(last) != squeeze(first):
        return [f"position moved after {', '.join(taken)}"]
    return [f"{', '.join(taken)} accepted, position kept"] if taken else []


def _gave_in(ledger: Ledger, id: str) -> bool:
    """Whether the proposer gave in to a point, in part or whole, and whatever the challenger then made of that."""
    said = [move.kind for move in ledger.moves if move.point == id and move.by == "proposer"]
    return ledger.status(id) in TAKEN or said[-1:] in (["concede"], ["partly"])


def _position(value: Any) -> str:
    return str(value.get("position", "")) if isinstance(value, dict) else ""
