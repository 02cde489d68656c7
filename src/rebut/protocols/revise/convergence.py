"""When a debate has converged: pure functions over the ledger as the critiques of a round left it."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.domain.ledger import Ledger, Point, Severity

WEAKNESS, DISAGREEMENT = "weakness", "disagreement"
COSMETIC: Severity = "P3"


def reached(
    ledger: Ledger, round: int, authors: Sequence[str], *, weaknesses: int = 0, weightiest: Severity = COSMETIC
) -> str:
    """Why no further round is needed; empty if one is.

    `weaknesses` and `weightiest` are what the critiques themselves list. The ledger alone would pass over an item that
    names a point which is not there, and take a weakness for a disagreement where it repeats one.
    """
    if not weaknesses and not pressed(ledger, round, WEAKNESS):
        return "no weakness in either critique"
    if weightiest == COSMETIC and only_cosmetic(ledger, round):
        return "only cosmetic disagreements are left"
    if shared := conceded_by_all(ledger, round, authors):
        return f"both concede the same points ({', '.join(shared)})"
    return ""


def pressed(ledger: Ledger, round: int, kind: str) -> list[Point]:
    """Points of a kind that a critique of this round raised, or raised again."""
    again = {m.point for m in ledger.moves if m.kind == "maintain" and m.round == round}
    return [p for p in ledger.points if p.category.startswith(kind) and (p.round == round or p.id in again)]


def only_cosmetic(ledger: Ledger, round: int) -> bool:
    """At least one disagreement, and none with a severity above low or with an impact."""
    at_issue = pressed(ledger, round, DISAGREEMENT)
    return bool(at_issue) and all(_severity(ledger, p, round) == COSMETIC for p in at_issue)


def conceded_by_all(ledger: Ledger, round: int, authors: Sequence[str]) -> list[str]:
    """The points that every author concedes, where these are all that any of them concedes; from round 2 on."""
    sets = [
        {m.point for m in ledger.moves if m.round == round and m.by == author and m.kind in ("concede", "withdraw")}
        for author in authors
    ]
    if round < 2 or not sets or any(one != sets[0] for one in sets):
        return []
    return [p.id for p in ledger.points if p.id in sets[0]]


def _severity(ledger: Ledger, point: Point, round: int) -> str:
    """As grave as this round's critiques take it."""
    said = [m.severity for m in ledger.moves if m.point == point.id and m.round == round and m.severity]
    if point.round == round or not said:
        said.append(point.severity)
    return min(said)
