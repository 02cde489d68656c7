"""Sessions of versions before 5, and their forks: if two answers differ, only the first is challenged, as in a duel.

Their records have no challenge of the second answer, so they continue and replay by the rules that they began with.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebut.core.json_value import Json
from rebut.domain.doubts import Doubt
from rebut.domain.ledger import Ledger
from rebut.domain.outcome import Outcome
from rebut.domain.worth import Worth, fates, quoted
from rebut.engine.debate import Debate
from rebut.protocols.ask.state import AskState
from rebut.protocols.duel import outcome as duel_outcome
from rebut.protocols.duel.run import contest as duel
from rebut.protocols.duel.state import DuelState, Turn
from rebut.protocols.shared import began_before

SYMMETRICAL = 5
"""The first version that challenges both answers."""
BLIND = ("answer@*",)
"""The keys of the two blind answers."""


async def applies(debate: Debate) -> bool:
    """Whether this debate, or the session that it is forked from, began under the earlier rules."""
    return await began_before(debate, SYMMETRICAL, "one-sided")


async def contest(debate: Debate, state: AskState) -> Outcome:
    compared = state.compared
    assert compared is not None
    duel_state = DuelState(own_answer=state.answers["challenger"])
    duel_state.turns = [
        Turn(1, "proposer", state.answers["proposer"], state.first["proposer"], state.first["proposer"])
    ]
    ended = await duel(debate, duel_state)
    first: Json = {"same": False, "reason": compared.reason, "answers": dict[str, Json](state.first)}
    worth = _worth(ended, compared.first, compared.second, debate)
    doubt = Doubt("one-sided", said="the second answer was not challenged, as in every version before 5")
    return ended.filled(data={**ended.data, "first": first}, worth=worth, doubts=(*ended.doubts, doubt))


def _worth(ended: Outcome, one: str, other: str, debate: Debate) -> Worth:
    """Return what the debate changed. One of two different answers wins, so the result is never what both said."""
    ledger: Ledger = ended.ledger if ended.verdict else debate.ledger
    answers: Mapping[str, Json] = debate.answers
    blind = answers.get("answer@proposer")
    changed = duel_outcome.moved(answers, ledger, str(blind.get("position", "")) if isinstance(blind, dict) else "")
    won = ended.verdict.winner if ended.verdict else ""
    changed.insert(0, f"judged for the {'first' if won == 'proposer' else 'other'}" if won else "no decision")
    return Worth(
        first=f"one said {quoted(one)}, the other {quoted(other)}",
        points=fates(ledger),
        changed=tuple(changed),
        same=False if won else None,
        caveat=ended.worth.caveat if ended.worth else "",
        keys=BLIND,
    )
