"""The scorecard: what the sessions on record say about each model in each role, and from how many cases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import cast

from rebut.ci import dismissals
from rebut.ci.cited_place import cited_place
from rebut.ci.recorded_reviews import reviewed_target
from rebut.core import files
from rebut.core.errors import RebutError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import counted
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import ReviewResult
from rebut.domain.user_notes import notes_of
from rebut.record import sessions
from rebut.record.record import Record, seat_of
from rebut.trial.defect_kinds import NOTE
from rebut.trial.report import percent

FEWEST = 5
"""Cases from which a figure is shown."""
LARGEST = 5_000_000
"""Bytes of a file that is read to see whether its lines changed."""
PROGRAMS = ("lint", "rules", "human", "caller", "scripted")
"""Providers whose specs name no model."""
NAMED = re.compile(r"^[A-Za-z][\w.-]*=")
RAN = ("shown", "refuted", "broken")
"""Marks of checks that were run, or that could not run by a fault of their own."""


@dataclass
class SeatScore:
    """One model in one role, over all sessions."""

    model: str
    role: str
    sessions: int = 0
    points: int = 0
    citations: int = 0
    found: int = 0
    absent: int = 0
    checks: int = 0
    shown: int = 0
    refuted: int = 0
    ruled: int = 0
    """Points on which another seat ruled, or which it conceded or answered."""
    valid: int = 0
    dismissed: int = 0
    of_dismissable: int = 0
    """Points of reviews whose place is known, so that they can be dismissed."""
    changed: int = 0
    """Points whose cited lines are no longer in the file."""
    of_changeable: int = 0
    answers: int = 0
    """Points of others that it answered."""
    conceded: int = 0
    walked_back: int = 0
    usd: float = 0.0
    unpriced: int = 0
    """Sessions in which the price of a call is unknown."""


@frozen
class Scorecard:
    """All models in all roles, and how many sessions were read."""

    seats: tuple[SeatScore, ...]
    sessions: int
    left_out: int
    """Sessions that have not ended, cannot be read, or belong to a trial."""


def scorecard(root: Path) -> Scorecard:
    """Read every session on record. Sessions of a trial are left out: their defects were planted."""
    seats = dict[tuple[str, str], SeatScore]()
    read = left_out = 0
    for one in sessions.sessions(root):
        try:
            record = sessions.load(one.folder)
        except RebutError:
            left_out += 1
            continue
        if record.closed is None or any(note.text == NOTE for note in notes_of(record)):
            left_out += 1
            continue
        read += 1
        _SessionScore(record, root, seats).add()
    ranked = sorted(seats.values(), key=lambda one: (-one.points, -one.answers, one.model, one.role))
    return Scorecard(tuple(ranked), read, left_out)


class _SessionScore:
    """Adds one session to the scores."""

    def __init__(self, record: Record, root: Path, seats: dict[tuple[str, str], SeatScore]) -> None:
        assert record.closed is not None
        self.record, self.root, self._seats = record, root, seats
        self.outcome = Outcome.from_json(record.closed.outcome)
        self.specs = {str(row["seat"]): str(row["spec"]) for row in record.opened.seats}

    def seat(self, seat: str) -> SeatScore | None:
        """The score of the model that had a seat; None if it was no model, or never answered."""
        if seat not in self.specs or not any(
            seat_of(key) == seat and c.answered for key, c in self.record.calls.items()
        ):
            return None
        spec = NAMED.sub("", self.record.spoke_for(seat) or self.specs[seat])  # without the user's name for the model
        if spec.partition(":")[0] in PROGRAMS:
            return None
        role = seat.partition(".")[0]
        return self._seats.setdefault((spec, role), SeatScore(spec, role))

    def add(self) -> None:
        judge_rules = self.outcome.review is not None
        for seat in self.specs:
            if score := self.seat(seat):
                score.sessions += 1
                self._add_cost(score, seat)
        # Findings that a review takes over from an earlier one of the same branch were counted there.
        taken_over = (
            {finding.id for finding in review.findings if finding.since} if (review := self.outcome.review) else ()
        )
        for point in (one for one in self.outcome.ledger.points if one.id not in taken_over):
            for wording in point.wordings:
                if (score := self.seat(wording.by)) is None:
                    continue
                score.points += 1
                marks = [evidence.mark for evidence in wording.evidence]
                score.citations += len(marks)
                score.found += marks.count("found")
                score.absent += marks.count("absent")
                if wording.check and wording.check.mark in RAN:
                    score.checks += 1
                    score.shown += wording.check.mark == "shown"
                    score.refuted += wording.check.mark == "refuted"
                if not judge_rules:
                    fate = self.outcome.ledger.final_status(point.id)
                    score.ruled += fate != "raised"
                    score.valid += fate in ("conceded", "partly accepted")
        if review is not None:
            self._add_rulings(review)
        for move in self.outcome.ledger.moves:
            if (score := self.seat(move.by)) is None or (judge_rules and move.by == "judge"):
                continue
            score.answers += move.kind in ("concede", "defend", "partly")
            score.conceded += move.kind == "concede"
        for slip in self.outcome.ledger.slips:
            if slip.kind == "walked back" and (score := self.seat(slip.by)):
                score.walked_back += 1

    def _add_cost(self, score: SeatScore, seat: str) -> None:
        costs = [call.usd for key, call in self.record.calls.items() if seat_of(key) == seat]
        if None in costs:
            score.unpriced += 1
        score.usd += sum(cost for cost in costs if cost is not None)

    def _add_rulings(self, review: ReviewResult) -> None:
        target = reviewed_target(self.record) if "target" in self.record.facts else None
        workspace = Path(self.record.opened.workspace)
        known: Mapping[str, object] = {}
        if target is not None and target.changes:
            known = dismissals.matching(review, target, _dismissals(self.root, workspace))
        for finding in (one for one in review.findings if not one.since):
            for voice in finding.voices[:1]:
                if (score := self.seat(voice)) is None:
                    continue
                score.ruled += bool(finding.ruling)
                score.valid += finding.ruling == "valid"
                place = cited_place(finding, target) if target is not None and target.changes else None
                if place is None:
                    continue
                score.of_dismissable += 1
                score.dismissed += finding.id in known
                if place.lines and workspace.is_dir():
                    now = _text(workspace / place.path)
                    score.of_changeable += 1
                    score.changed += now is None or not _contains(now, place.lines)


def _dismissals(root: Path, workspace: Path) -> list[dismissals.Dismissal]:
    """The dismissals of the user and of the repository, without lists that cannot be read."""
    out = list[dismissals.Dismissal]()
    with suppress(RebutError):
        out += dismissals.load_dismissals(dismissals.private_file(root, workspace), private=True)
    with suppress(RebutError):
        out += dismissals.load_dismissals(dismissals.shared_file(workspace), private=False)
    return out


def _text(path: Path) -> str | None:
    try:
        return files.read(path, LARGEST).decode("utf-8", "replace")
    except OSError:
        return None


def _contains(text: str, lines: tuple[str, ...]) -> bool:
    """Whether these lines still are in a text, one after another, whatever their indentation."""
    now = [line.strip() for line in text.splitlines()]
    wanted = [line.strip() for line in lines]
    return any(now[at : at + len(wanted)] == wanted for at in range(len(now) - len(wanted) + 1))


# As a table

COLUMNS: Mapping[str, Callable[[SeatScore], str]] = {
    "points": lambda one: str(one.points),
    "found": lambda one: figure(one.found, one.citations),
    "absent": lambda one: figure(one.absent, one.citations),
    "shown": lambda one: figure(one.shown, one.checks),
    "refuted": lambda one: figure(one.refuted, one.checks),
    "valid": lambda one: figure(one.valid, one.ruled),
    "dismissed": lambda one: figure(one.dismissed, one.of_dismissable),
    "lines changed": lambda one: figure(one.changed, one.of_changeable),
    "conceded": lambda one: figure(one.conceded, one.answers),
    "walked back": lambda one: str(one.walked_back) if one.answers + one.points >= FEWEST else TOO_FEW,
    "cost per valid": lambda one: per_valid(one),
}
"""Name of a figure → how it is written."""
TOO_FEW = "–"


def figure(hits: int, of: int) -> str:
    """A share with the number of its cases; a dash if there are too few."""
    return f"{percent(hits / of)} of {of}" if of >= FEWEST else TOO_FEW


def per_valid(one: SeatScore) -> str:
    if one.valid < FEWEST or one.unpriced:
        return TOO_FEW
    return f"${one.usd / one.valid:.3f} of {one.valid}"


def blocks(card: Scorecard) -> Iterator[str]:
    """The scorecard as lines: a block for each model and role, with the figures that have enough cases."""
    for one in card.seats:
        yield f"{one.model} as {one.role}, {counted(one.sessions, 'session')}"
        rows = {name: write(one) for name, write in COLUMNS.items()}
        shown = {name: said for name, said in rows.items() if said != TOO_FEW}
        for name, said in shown.items():
            yield f"  {name:<15} {said}"
        missing = [name for name in rows if name not in shown]
        if missing:
            yield f"  too few cases   {', '.join(missing)}"


def heading(card: Scorecard) -> str:
    """The first line: how many sessions the scorecard is made from."""
    if not card.sessions:
        return "No ended session is on record, so there is nothing to say about any model."
    if not card.seats:
        return f"{counted(card.sessions, 'ended session')} on record, none with a model."
    rest = (
        f"; {counted(card.left_out, 'session')} left out (not ended, not readable, or of a trial)"
        if card.left_out
        else ""
    )
    few = "" if any(one.points >= FEWEST for one in card.seats) else " Too few points for any share."
    return f"{counted(card.sessions, 'ended session')} on record{rest}. A share needs {FEWEST} cases.{few}"


def to_json(card: Scorecard) -> dict[str, Json]:
    rows = [{one.name: getattr(seat, one.name) for one in fields(SeatScore)} for seat in card.seats]
    return {
        "sessions": card.sessions,
        "left_out": card.left_out,
        "fewest_cases": FEWEST,
        "seats": cast(Json, rows),
    }
