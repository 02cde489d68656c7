"""The judges of a debate between two sides: one or several, each asked once or in both orders of the sides.

A judge may favour the side that it reads first. So each session draws which side comes first, and a judge that is asked
in both orders has no vote if its choice changes with the order. Several judges decide by majority.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

from rebut.core.errors import Aborted, ParticipantFailed, TooFewReplies
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row
from rebut.core.text import counted, cut, squeeze
from rebut.core.types import Material
from rebut.domain.answers import Check
from rebut.domain.doubts import Doubt
from rebut.domain.forms import Form
from rebut.domain.ledger import Ledger
from rebut.domain.outcome import VOTES, Verdict, Vote
from rebut.engine.debate import Answer, Ask, Debate, Failure
from rebut.protocols.shared import aborted, began_before, misread

F = TypeVar("F", bound=Form)
SIDES = ("proposer", "challenger")
DRAWN = 7
"""The first version, of a duel and of a question, that draws which side the judge reads first."""
OTHER_ORDER = "other-order"
LONGEST = 160
"""The most characters of a dissenting judge's reasons on the screen."""


@frozen
class Order:
    """How the two sides are shown to a judge."""

    first: int
    """The side that is shown first: 0 or 1."""
    renamed: bool = False
    """Whether the sides swap numbers, where prompts call them by numbers."""

    def arranged(self) -> tuple[str, str]:
        return (SIDES[self.first], SIDES[1 - self.first])


@frozen
class JudgesDecision(Generic[F]):
    """What the judges decided."""

    votes: tuple[Vote, ...]
    winner: str = ""
    """The side that more than half of all judges chose; empty if there is none."""
    form: F | None = None
    """The reply of the first judge that chose the winner."""
    by: str = ""
    """The model of that judge."""
    missing: tuple[str, ...] = ()
    """Judges that did not answer, and why."""
    said: tuple[tuple[str, str], ...] = ()
    """The reasons of each judge, by its seat; twice if it was asked in both orders."""

    @property
    def dissent(self) -> tuple[Vote, ...]:
        """The votes that are not for the winner; every vote if there is no winner."""
        return tuple(vote for vote in self.votes if not self.winner or vote.winner != self.winner)

    @property
    def single(self) -> bool:
        """Whether there is one judge, asked once: then results and reports do not mention votes."""
        return len(self.votes) == 1 and not self.votes[0].other_order and not self.missing

    def data(self, named: Callable[[Vote], Vote] = lambda vote: vote) -> dict[str, Json]:
        return {} if self.single else {VOTES: [as_row(named(vote)) for vote in self.votes]}

    def rows(self, name: Callable[[str], str] = str) -> tuple[tuple[str, str], ...]:
        """The votes for the screen: their count, then each dissenting vote with its reasons."""
        if self.single:
            return ()
        total = len(self.votes) + len(self.missing)
        most = [vote for vote in self.votes if vote.winner == self.winner]
        asked = ", each asked in both orders" if any(vote.other_order for vote in self.votes) else ""
        count = f"{len(most)} of {counted(total, 'judge')} for {name(self.winner)}" if self.winner else "no majority"
        rows = [("votes", f"{count}{asked}")]
        rows += [("dissent" if self.winner else "vote", self.described(vote, name)) for vote in self.dissent]
        return (*rows, *(("no vote", missing) for missing in self.missing))

    def verdict(self, reasoning: str, recommendation: str) -> Verdict:
        votes, dissent = ((), ()) if self.single else (self.votes, self.dissent)
        return Verdict(self.winner, reasoning, recommendation, self.by, votes, dissent)

    def lines(self, name: Callable[[str], str] = str) -> list[str]:
        """The votes in full, for a report: each judge with its reasons."""
        if self.single:
            return []
        return [*(self.described(vote, name, longest=10_000) for vote in self.votes), *self.missing]

    def dissenting(self, ledger: Ledger, name: Callable[[str], str] = str) -> tuple[str, ...] | None:
        """For a decision record: the dissenting judges, then the open points; None if no judge dissents."""
        if self.single or not self.dissent:
            return None
        said = (self.described(vote, name) for vote in self.dissent)
        return (*said, *(f"{point.id}: {point.text}" for point in ledger.open))

    def described(self, vote: Vote, name: Callable[[str], str] = str, longest: int = LONGEST) -> str:
        if vote.flipped:
            return f"{vote.judge} ({vote.by}) chooses the side that it reads {vote.flipped}, so it has no vote"
        return f"{vote.judge} ({vote.by}) for {name(vote.winner)}: {cut(squeeze(vote.reasoning), longest)}"

    def misreadings(self, ledger: Ledger) -> tuple[list[Doubt], list[str]]:
        """What judges say that the record contradicts, even after their replies were sent back.

        It is a doubt if the judge voted for the winner, and a note if the judge is outvoted or has no vote.
        """
        majority = {vote.judge for vote in self.votes if self.winner and vote.winner == self.winner}
        found = dict.fromkeys((seat, wrong) for seat, text in self.said for wrong in misread(ledger, text))
        several = len({seat for seat, _ in self.said}) > 1
        wrong = [f"{seat}: {line}" if several else line for seat, line in found if seat in majority]
        heading = f"{'A' if several else 'THE'} JUDGE MISREADS THE RECORD"
        doubts = [Doubt("misread record", heading, "; ".join(wrong))] if wrong else []
        return doubts, [f"{seat} misreads the record: {line}" for seat, line in found if seat not in majority]

    def undecided(self) -> Doubt:
        """Why there is no decision."""
        if not self.missing and all(vote.flipped for vote in self.votes):
            said = "the verdict changes with the order in which the sides are shown"
            return Doubt("order decides", "INCONCLUSIVE BECAUSE THE VERDICT CHANGES WITH THE ORDER OF THE SIDES", said)
        return Doubt("no majority", "NO MAJORITY OF THE JUDGES", "no side has more than half of the judges")


async def _drawn(debate: Debate) -> Order:
    """Draw the order of this session. In sessions of earlier versions the proposer comes first."""
    in_turn = await began_before(debate, DRAWN, "in turn")
    return Order(0 if in_turn else debate.draw("order of the sides", 2))


async def judge(
    debate: Debate,
    prompt: Callable[[Order], str],
    *,
    schema: type[F],
    winner: Callable[[F, Order], str],
    reasoning: Callable[[F, Order], str],
    check: Callable[[Order], Check],
    material: Callable[[Order], Material],
) -> JudgesDecision[F]:
    """Ask every judge. Raises `ParticipantFailed` if too few answer for a majority."""
    seats, order = debate.seats("judge"), await _drawn(debate)
    orders = [order, Order(1 - order.first, renamed=True)] if debate.settings.both_orders else [order]
    if len(seats) == 1 and len(orders) == 1:
        got: list[Answer[F] | Failure] = [
            await debate.ask(
                seats[0],
                "verdict",
                prompt(order),
                schema=schema,
                check=check(order),
                closing=True,
                material=material(order),
            )
        ]
    else:
        asks = [
            Ask(who, prompt(one), schema, check(one), part=OTHER_ORDER if n else "", material=material(one))
            for who in seats
            for n, one in enumerate(orders)
        ]
        try:
            got = [*await debate.ask_all("verdict", asks, need=len(asks) // 2 + 1, closing=True)]
        except TooFewReplies as error:
            # Unless a limit stopped all of them, resume can ask the judges that failed again.
            kind = next((kind for kind in error.kinds if kind != "budget"), "budget")
            raise ParticipantFailed(kind, error.message, error.hint) from error
    votes, forms, missing = list[Vote](), list[tuple[F, str]](), list[str]()
    reasons = list[tuple[str, str]]()
    for at, who in enumerate(seats):
        replies = got[at * len(orders) : (at + 1) * len(orders)]
        if failed := next((one for one in replies if isinstance(one, Failure)), None):
            missing.append(f"{who.seat} ({debate.speaker(who)}): {failed.kind}, {failed.message}")
            continue
        answers = [one for one in replies if isinstance(one, Answer)]
        chosen = [winner(one.value, order) for one, order in zip(answers, orders, strict=True)]
        flipped = ""
        if len(set(chosen)) > 1:  # in both orders the judge chose the side that it read first, or last
            flipped = "first" if chosen[0] == SIDES[order.first] else "last"
        by = answers[0].model or who.label
        said = [reasoning(one.value, order) for one, order in zip(answers, orders, strict=True)]
        vote = Vote(who.seat, by, "" if flipped else chosen[0], said[0], chosen[1] if len(chosen) > 1 else "", flipped)
        votes.append(vote)
        reasons += [(who.seat, text) for text in said]
        forms.append((answers[0].value, by))
    decided = JudgesDecision[F](tuple(votes), missing=tuple(missing), said=tuple(reasons))
    for vote, (form, by) in zip(votes, forms, strict=True):
        if vote.winner and 2 * sum(one.winner == vote.winner for one in votes) > len(seats):
            return replace(decided, winner=vote.winner, form=form, by=by)
    return decided


def stopped(debate: Debate, error: ParticipantFailed, data: dict[str, Json]) -> Aborted:
    """The error to raise if too few judges answered. Every answer is on record; resume asks the other judges again."""
    seats = debate.seats("judge")
    if len(seats) == 1:
        hint = "Every answer is kept. Resume when it can answer, or fork with another --judge."
        return aborted(debate, seats[0], "gave no verdict", error, hint, data)
    hint = "Every answer is kept. Resume when they can answer, or fork with another model: --seat judge.N=SPEC."
    said = error.message.removeprefix("verdict: ")
    return Aborted(f"too few judges gave a verdict: {said}", error.hint or hint, data)
