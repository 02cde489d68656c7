"""The status, outcome and ledger of a session, from its record alone: no protocol code, no lock."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.text import counted, cut
from rebut.core.types import ModelSpec
from rebut.domain.checks import CHECKS
from rebut.domain.doubts import Doubt
from rebut.domain.ledger import Ledger, from_json, noun_in
from rebut.domain.outcome import Outcome, Seated
from rebut.domain.user_notes import notes_of, unheard
from rebut.record.events import Asked
from rebut.record.record import Record, seat_of

LONGEST = 80
"""Characters of an answer in a list."""


def outcome_of(record: Record) -> Outcome | None:
    return Outcome.from_json(record.closed.outcome) if record.closed else None


def is_review(record: Record) -> bool:
    """Whether the session ended as a review."""
    outcome = outcome_of(record)
    return outcome is not None and outcome.review is not None


ASKED = "asked"
"""The key of the fact with the flags and the command that a session was started with."""


def asked_by(record: Record) -> str:
    """The command that started a session: `review` or `plan`; empty for the command of a protocol."""
    fact = record.facts.get(ASKED)
    return str(fact.value.get("verb") or "") if fact and isinstance(fact.value, dict) else ""


def headline_of(outcome: Outcome) -> str:
    """What follows the heading in a list: the answer to a question, the side that won, or the findings of a review."""
    if outcome.answers:
        return cut(outcome.decision, LONGEST) if outcome.verdict else ""
    if outcome.verdict:
        return outcome.verdict.winner
    return outcome.review.headline if outcome.review else ""


def status(record: Record, running: str = "") -> str:
    """The status of a session in a few words; `running` is the process that works on it."""
    if outcome := outcome_of(record):
        said = headline_of(outcome)
        name, colon, words = outcome.heading.partition(": ")
        return name.lower() + colon + words + (f": {said}" if said else "")
    if running:
        return f"running in process {running}, {counted(record.answers, 'answer')} so far"
    return f"open, {progress(record)}"


# What an ending must state: what each seat did, notes, and doubts.


def seated(record: Record) -> tuple[Seated, ...]:
    """What each seat did. Seats that failed count as seats, too."""
    out = []
    for row in record.opened.seats:
        seat = str(row["seat"])
        calls = [c for c in record.calls.values() if seat_of(c.key) == seat]
        answered = [c.answered for c in calls if c.answered]
        # A call that a limit forbade, or a deadline cut off, is not a failure of the seat.
        failed = [c.failed for c in calls if c.failed and not c.answered]
        failed = [f for f in failed if f.failure != "budget" and not f.reopened]
        out.append(
            Seated(
                seat=seat,
                spec=str(row["spec"]),
                family=str(row.get("family", "")),
                spoke=tuple(dict.fromkeys(a.model for a in answered if a.model)),
                answered=len(answered),
                failed=len(failed),
                why=f"{failed[0].failure}: {failed[0].message}" if failed else "",
            )
        )
    return tuple(out)


def described(record: Record) -> list[str]:
    """Notes that follow from the record: fallbacks, remarks of providers, replies that broke the rules twice."""
    notes = [*record.notes]
    offer = record.facts.get(CHECKS)
    if offer and isinstance(offer.value, dict) and (missing := offer.value["missing"]):
        notes.append(f"no check could be run: {missing}")
    late = unheard(record)
    for note in notes_of(record):
        what = "the user's note came too late for every seat" if note in late else "note from the user to the seats"
        notes.append(f"{what}: {cut(note.text, 160)}")
    notes += fallbacks(record)
    for call in record.calls.values():
        seat = seat_of(call.key)
        for attempt in call.attempts.values():
            notes += [f"{seat}: {note}" for note in attempt.notes]
        if call.answered:
            notes += [f"{call.key}: {call.answered.unread}"] if call.answered.unread else []
            notes += [f"{call.key}: {complaint}" for complaint in call.answered.complaints]
    return notes


def fallbacks(record: Record) -> list[str]:
    """Which model answered for which, and why."""
    notes = []
    for key, fact in record.facts.items():
        if key.startswith("fallback@") and isinstance(fact.value, dict):
            seat, why = key.removeprefix("fallback@"), fact.value["why"]
            did = "answered" if record.spoke_for(seat) else "was to answer, and gave no answer,"
            notes.append(f"{seat}: {fact.value['spec']} {did} for {_seated_as(record, seat)}, as a fallback ({why})")
    return notes


def stood_in(record: Record, key: str) -> str:
    """Who gave the answer under this key instead of the seat's own model; empty if that model did."""
    call, seat = record.calls.get(key), seat_of(key)
    spec = record.stand_in(seat)
    gave = [asked.spec for asked, attempt in call.returned if asked and attempt.outcome == "ok"] if call else []
    return f"{spec} answered for {_seated_as(record, seat)}, as a fallback." if spec and gave[-1:] == [spec] else ""


def _seated_as(record: Record, seat: str) -> str:
    return next((str(row["spec"]) for row in record.opened.seats if row["seat"] == seat), seat)


def doubts_of(record: Record, judge: str = "", silent: Sequence[str] = ()) -> list[Doubt]:
    """Doubts of any protocol's outcome: one model had every seat, or a seat saw only a part of its question."""
    out = list[Doubt]()
    asked = {seat: who for seat, who in _speakers(record).items() if seat not in silent}
    parties = [who for seat, who in asked.items() if seat != judge]
    if any(len(group) > 1 and len(set(group)) == 1 for group in (parties, list(asked.values()))):
        out.append(Doubt("one model", "ONE MODEL ALONE", "one model had every seat"))
    partly_shown = {seat_of(call.key) for call in record.calls.values() if call.answered and call.answered.unread}
    if partly_shown:
        said = f"shown only a part of the question: {', '.join(sorted(partly_shown))}"
        who = f"THE {partly_shown.pop().upper()}" if len(partly_shown) == 1 else f"{len(partly_shown)} SEATS"
        out.append(Doubt("shown in part", f"{who} SAW ONLY PART OF THE QUESTION", said))
    return out


def _speakers(record: Record) -> dict[str, str]:
    """Seat → the model that answers for it, fallbacks included; people are not listed."""
    out = {}
    for row in record.opened.seats:
        seat = str(row["seat"])
        one = ModelSpec.parse(record.spoke_for(seat) or str(row["spec"]))
        if one.provider != "human":
            out[seat] = record.model(str(one))
    return out


def progress(record: Record) -> str:
    """A sentence on the progress of an unfinished debate."""
    answers, cut_off = record.answers, len(record.in_doubt)
    said = f"{counted(answers, 'answer is', 'answers are')} recorded" if answers else "no answer is recorded yet"
    if not cut_off:
        return f"{said}, and no call was cut off"
    last: Asked = record.in_doubt[-1]
    calls = counted(cut_off, "call was", "calls were")
    return f"{said}, and {calls} cut off and may be billed (the last: {last.key})"


def counted_ledger(record: Record) -> Ledger:
    """The ledger that the outcome counts, such as that of the complete rounds; without an outcome the whole ledger."""
    outcome = outcome_of(record)
    return outcome.ledger if outcome and outcome.ledger.points else ledger_of(record)


def ledger_of(record: Record) -> Ledger:
    """The ledger as the record has it: no protocol code needed, also for a debate that is still open."""
    ledger: Ledger | None = None
    for event in record.facts.values():  # each key once, with its last value: an upgrade may have computed a fact again
        if event.key.endswith("#ledger") and isinstance(event.value, dict):
            made = Ledger(str(event.value["letter"]), noun=noun_in(event.value), version=record.opened.ledger)
            ledger = ledger or made
            ledger = ledger.add(from_json(row) for row in event.value["entries"])  # type: ignore[union-attr,arg-type]
    return ledger or Ledger()
