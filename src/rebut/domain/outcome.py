"""The outcome of a debate, as a typed value and as recorded JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, cast

from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row, remade
from rebut.core.text import counted
from rebut.domain import ledger as ledgers
from rebut.domain.doubts import Doubt, heading_with, may_claim, other_doubts
from rebut.domain.ledger import Ledger
from rebut.domain.review_result import ReviewResult
from rebut.domain.side_by_side import SideBySide
from rebut.domain.worth import Worth
from rebut.record.record import Spent

REVIEW = "contract"
"""The key of a review's result in `Outcome.data`, on record since the first version."""
ANSWERS = "side_by_side"
"""The key of the answers that were compared in `Outcome.data`."""
VOTES = "votes"
"""The key of the judges' votes in `Outcome.data`."""
REWRITTEN = "rewritten"
"""The key of a rewritten text."""
BY_PROGRAMS = "no model was used: "
"""The beginning of the note that programs fill the seats for which the user named no model."""
_UNRECORDED: Mapping[str, Mapping[str, str]] = {
    "tradeoff": {"label": "POSITION, CONTESTED", "unsettled": "contested"},
    "stopped": {"unsettled": "not decided"},
    "uncontested": {"unsettled": "uncontested"},
}
"""By kind of outcome: the fields that version 0.1 did not record, with their values."""


@frozen
class Rewritten:
    """A new version of a text, written by a debate."""

    file: str
    """The name of the earlier text."""
    path: str
    """The path of the new text."""
    diff: str
    """The hunks of the diff between the two."""

    def to_json(self) -> dict[str, Json]:
        return cast(dict[str, Json], as_row(self))


@frozen
class Vote:
    """What one judge chose, if there are several judges or each is asked in both orders of the sides."""

    judge: str
    """The seat of the judge."""
    by: str
    """The judge's model."""
    winner: str
    """The side that it chose; empty if its choice follows the order of the sides."""
    reasoning: str
    other_order: str = ""
    """The side that it chose when the sides were shown in the other order; empty if it was not asked."""
    flipped: str = ""
    """`first` or `last`, if the judge chooses the side that is shown there, whichever it is; else empty."""


@frozen
class Verdict:
    """The side that a judge, or a majority of several judges, picked, and why."""

    winner: str
    """The seat that had the better case."""
    reasoning: str
    recommendation: str
    by: str = ""
    """The model that judged; with several judges, that of the first one in the majority."""
    votes: tuple[Vote, ...] = ()
    """All votes; empty for one judge that was asked once."""
    dissent: tuple[Vote, ...] = ()
    """The votes that are not for the winner."""

    def __bool__(self) -> bool:
        """Whether a side was picked."""
        return bool(self.winner)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        votes, dissent = (tuple(remade(Vote, row) for row in data.get(name, ())) for name in ("votes", "dissent"))
        return remade(cls, data, votes=votes, dissent=dissent)


NO_VERDICT = Verdict("", "", "")
"""No side was picked: `outcome.verdict.winner` is empty, and `if outcome.verdict` is false."""


@frozen
class Seated:
    """What one seat did: its model, its answers and its failures."""

    seat: str
    spec: str
    family: str = ""
    spoke: tuple[str, ...] = ()
    """The models that answered, fallbacks included."""
    answered: int = 0
    failed: int = 0
    why: str = ""
    """Why it failed the first time; empty if it never failed."""


ORDER = (
    *("kind", "heading", "decision", "conclusive", "complete", "basis", "stopped", "final", "label", "unsettled"),
    *("session", "verdict", "decision_notes", "data", "notes", "ledger", "seats", "spent", "rounds", "rows"),
    *("caveats", "worth", "doubts", "unread"),
)
"""The fields of an outcome in the order of the journal."""


@frozen
class DecisionNotes:
    """What a decision record says besides the ledger; every line is a sentence."""

    context: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    dissent: tuple[str, ...] | None = None
    """None: the open points are the dissent."""

    def to_json(self) -> dict[str, Json]:
        return cast(dict[str, Json], as_row(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DecisionNotes:
        rows = {name: None if row is None else tuple(map(str, row)) for name, row in data.items()}
        return remade(cls, rows)


@frozen
class Outcome:
    """How a debate ended. `heading` is what may be announced; a degraded run has a heading of its own."""

    kind: str
    """verdict, uncontested, no verdict, partial; other protocols add theirs."""
    heading: str
    decision: str = ""
    """What to do, in a sentence or two."""
    verdict: Verdict = NO_VERDICT
    """The side that was picked. If none was, it is false in a condition and its fields are empty."""
    conclusive: bool = True
    """Whether it may count as decided. `settled` derives it from the doubts; False stays False."""
    complete: bool = True
    """False for the best result at a deadline: the debate can be resumed."""
    basis: str = ""
    """What an incomplete result rests on, such as `round 1`."""
    stopped: str = ""
    """The limit or failure that ended it early."""
    final: str = ""
    """The ending in full, as Markdown."""
    label: str = ""
    """What `decision` is called on the screen; empty for the usual word."""
    unsettled: str = ""
    """Why a decision record may not call the decision accepted, such as `contested`; empty if it may."""
    decision_notes: DecisionNotes | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ledger: Ledger = Ledger()
    """The ledger that the outcome counts: the one that the protocol gives, else everything on record."""
    seats: tuple[Seated, ...] = ()
    spent: Spent = Spent()
    rounds: Spent = Spent()
    """The part of `spent` that the rounds of the debate cost."""
    rows: tuple[tuple[str, str], ...] = ()
    """More rows for the ending, each with its label."""
    doubts: tuple[Doubt, ...] = ()
    """What weakens the outcome. `rebut.domain.doubts` says which claims each doubt denies."""
    caveats: tuple[str, ...] = ()
    """The words in the heading that come from the doubts."""
    worth: Worth | None = None
    """What the first answers alone would have said, what the debate changed, and what that cost."""
    unread: tuple[str, ...] = ()
    """Files of the target that were not read, each with the reason; a policy may accept some of them."""
    session: str = ""

    @property
    def exit_code(self) -> int:
        if not self.complete:
            return 5
        return 0 if self.conclusive else 3

    @property
    def only_unread(self) -> bool:
        """Whether it is inconclusive only because files were not read. A policy may accept these later."""
        return not self.conclusive and bool(self.doubts) and not other_doubts(self.doubts, "files unread")

    @property
    def accepted(self) -> bool:
        """Whether a decision record may call the decision accepted."""
        if not self.doubts and self.caveats:  # an outcome of a version that did not record doubts
            return False
        return self.conclusive and not self.unsettled and may_claim("accepted", self.doubts)

    def settled(self) -> Outcome:
        """The outcome with its doubts applied to its heading, its caveats, and whether it is conclusive."""
        doubts = self.doubts
        if not self.conclusive and may_claim("conclusive", doubts):
            doubts = (*doubts, Doubt("undecided", said=self.stopped))
        return replace(
            self,
            doubts=doubts,
            conclusive=may_claim("conclusive", doubts),
            heading=heading_with(self.heading, doubts),
            caveats=tuple(dict.fromkeys(doubt.heading for doubt in doubts if doubt.heading)),
        )

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The votes of several judges, or of one that was asked in both orders, even if they decided nothing."""
        made = self.data.get(VOTES)
        return tuple(remade(Vote, row) for row in made if isinstance(row, dict)) if isinstance(made, list) else ()

    @property
    def review(self) -> ReviewResult | None:
        """The findings that a gate can judge, if this was a review."""
        made = self.data.get(REVIEW)
        if not isinstance(made, dict):
            return None
        result = ReviewResult.from_json(made)
        return result if result.session else replace(result, session=self.session)

    def with_review(self, result: ReviewResult) -> Outcome:
        return replace(self, data={**self.data, REVIEW: result.to_json()})

    @property
    def answers(self) -> SideBySide | None:
        """The answers that were compared, if this was a question to several models."""
        made = self.data.get(ANSWERS)
        return SideBySide.from_json(made) if isinstance(made, dict) else None

    def with_answers(self, answers: SideBySide) -> Outcome:
        return replace(self, data={**self.data, ANSWERS: answers.to_json()})

    @property
    def rewritten(self) -> Rewritten | None:
        made = self.data.get(REWRITTEN)
        return remade(Rewritten, made) if isinstance(made, dict) else None

    def filled(self, **changes: Any) -> Outcome:
        return replace(self, **changes)

    def to_json(self) -> dict[str, Json]:
        worth = self.worth.to_json() if self.worth else None
        verdict = as_row(self.verdict) if self.verdict else None
        made = {"ledger": ledgers.ledger_to_json(self.ledger), "worth": worth, "verdict": verdict}
        return {name: made[name] if name in made else as_row(getattr(self, name)) for name in ORDER}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        notes = data.get("decision_notes")
        return remade(
            cls,
            {**_UNRECORDED.get(str(data.get("kind")), {}), **data},
            decision_notes=DecisionNotes.from_json(notes) if notes else None,
            verdict=Verdict.from_json(data["verdict"]) if data.get("verdict") else NO_VERDICT,
            ledger=ledgers.ledger_from_json(data.get("ledger", {})),
            seats=tuple(remade(Seated, row) for row in data.get("seats", ())),
            spent=remade(Spent, data.get("spent", {})),
            rounds=remade(Spent, data.get("rounds", {})),
            rows=tuple((str(label), str(text)) for label, text in data.get("rows", ())),
            worth=Worth.from_json(data["worth"]) if data.get("worth") else None,
            doubts=tuple(remade(Doubt, row) for row in data.get("doubts", ())),
            unread=tuple(map(str, data.get("unread", ()))),
        )


def so_far(answers: int) -> Outcome:
    """The result at a deadline before the protocol has one: how many answers are on record."""
    said = f"{counted(answers, 'answer is', 'answers are')} on record, no decision yet."
    basis = counted(answers, "answer") if answers else "nothing yet"
    return Outcome("partial", "PARTIAL", said, conclusive=False, complete=False, basis=basis)


def nothing_yet(why: str) -> Outcome:
    """The result when the time ended before anything was on record. There is nothing to resume."""
    stopped = f"{why}; no model was asked yet"
    return Outcome("partial", "NOTHING YET", conclusive=False, complete=False, basis="nothing yet", stopped=stopped)
