"""Was asking worth it: two blind answers, and what a debate made of them."""

from __future__ import annotations

from collections.abc import Mapping

from rebut.core.text import cut
from rebut.core.types import Json
from rebut.domain.ledger import Ledger
from rebut.domain.outcome import Outcome
from rebut.domain.worth import Worth, fates
from rebut.protocols.ask.forms import Comparison
from rebut.protocols.duel.worth import LONGEST, moved

BLIND = ("answer@*",)


def agreed(compared: Comparison) -> Worth:
    """Both chose the same: nothing was left to debate."""
    return Worth(first=f"both chose “{cut(compared.first, LONGEST)}”", same=True, keys=BLIND)


def debated(ended: Outcome, compared: Comparison, ledger: Ledger, answers: Mapping[str, Json]) -> Worth:
    """They differed, and a duel followed. Of two answers one wins, so that the end is never what both said."""
    first, second = (cut(text, LONGEST) for text in (compared.first, compared.second))
    blind = answers.get("answer@proposer")
    changed = moved(answers, ledger, str(blind.get("position", "")) if isinstance(blind, dict) else "")
    won = ended.verdict.winner if ended.verdict else ""
    changed.insert(0, f"judged for the {'first' if won == 'proposer' else 'other'}" if won else "nobody decided")
    return Worth(
        first=f"one said “{first}”, the other “{second}”",
        points=fates(ledger),
        changed=tuple(changed),
        same=False if won else None,
        caveat=ended.worth.caveat if ended.worth else "",
        keys=BLIND,
    )
