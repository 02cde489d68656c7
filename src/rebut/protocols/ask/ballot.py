"""The ballots of a person who judges a question: whether two answers are the same, and which is the better one."""

from __future__ import annotations

from rebut.core.ballot import Ballot, KeyChoice, Option, Remark
from rebut.core.text import squeeze
from rebut.domain.ledger import Ledger
from rebut.protocols.ask.state import PARTIES, AskState, author, renamed
from rebut.protocols.duel.ballot import points
from rebut.protocols.shared import NO_REASON

SAME = KeyChoice(
    "same",
    "Would a reader do the same by following either?",
    (Option("S", True, "the same"), Option("D", False, "different things")),
)
BETTER = KeyChoice(
    "better", "Which is better?", (Option("1", "answer 1", "answer 1"), Option("2", "answer 2", "answer 2"))
)


def of_comparison(topic: str, state: AskState) -> Ballot:
    first, second = (squeeze(state.first[seat]) for seat in PARTIES)
    said = {"S": "a person judged them to be the same", "D": "a person judged them to be different"}
    return Ballot(
        case=(squeeze(topic), "", f"answer 1: {first}", f"answer 2: {second}"),
        picks=(SAME,),
        remarks=(Remark("reason", "Why", said),),
        rest={"first": first, "second": second, "recommendation": first},
    )


def of_verdict(topic: str, state: AskState, ledger: Ledger, other_order: bool = False) -> Ballot:
    """Build the ballot of the verdict. In the other order, the answers swap numbers, as in a model's prompt."""
    seats = PARTIES[::-1] if other_order else PARTIES
    now = {str(n): squeeze(state.now.get(seat) or state.first[seat]) for n, seat in enumerate(seats, 1)}
    answers = [f"answer {n}: {text}" for n, text in now.items()]
    raised = [renamed(line) if other_order else line for line in points(ledger, author)]
    return Ballot(
        case=(squeeze(topic), "", *answers, "", *raised),
        picks=(BETTER,),
        remarks=(Remark("answer", "The answer for the reader", now), Remark("reasoning", "Why", {"": NO_REASON})),
    )
