"""What every tool returns: one form of at most 8 kB, made from a session's record or from the check of a text."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rebut.ci.gate import grounds_of, stand
from rebut.ci.recorded_reviews import Review, reviewed_target
from rebut.core.errors import RebutError
from rebut.core.json_value import Json
from rebut.core.text import counted, cut
from rebut.domain.ledger import Ledger, Point
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import ReviewFinding
from rebut.domain.session_status import headline_of, ledger_of, outcome_of, progress
from rebut.mcp.debate_process import LOG
from rebut.record import sessions, turn
from rebut.record.events import Asked
from rebut.record.record import Record, seconds
from rebut.record.turn import WaitingTurn
from rebut.reports import review
from rebut.setup.checked_text import CheckedText

LARGEST = 8000
"""Bytes of a result as compact JSON."""
PART, SCHEMA = 4000, 2500
"""Bytes of a question in one result, and of the schema of its answer, both as JSON. They are never cut."""
TEXT, ITEM = 2500, 400
"""Characters of a text, and of one item of a list, before anything has to be dropped."""
URI = "rebut://session/"

Status = Literal["running", "waiting", "done", "inconclusive", "stopped", "failed"]


class ResultFinding(BaseModel):
    """A finding of a review, a point of a debate, or a citation."""

    id: str = ""
    severity: str = Field(default="", description="P1 is the gravest")
    place: str = Field(default="", description="file:line")
    mark: str = Field(default="", description="what a program found there: found, moved, located, absent, uncheckable")
    check: str = Field(default="", description="what running its check showed: shown, refuted, broken, not run")
    fate: str = Field(default="", description="what became of it: valid, conceded, open, …")
    text: str = ""


class ResultCost(BaseModel):
    """What the session cost so far."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = Field(default=None, description="absent if a price is unknown")
    seconds: int = 0


class CallerQuestion(BaseModel):
    """A question to you, if you have the seat `caller`."""

    key: str
    text: str
    part: int = 1
    parts: int = 1
    answer_schema: str = Field(default="", description="JSON schema of the answer; empty: plain text")


class SessionResult(BaseModel):
    """The state of a session."""

    model_config = ConfigDict(title="Result")

    session: str = Field(default="", description="the handle; empty for check")
    status: Status
    heading: str = Field(description="the result in a line; never claims more than the record holds")
    answer: str = ""
    findings: list[ResultFinding] = []
    more: str = Field(default="", description="what is not listed in findings")
    question: CallerQuestion | None = None
    notes: list[str] = []
    cost: ResultCost | None = None
    next: str = Field(default="", description="what to call next")

    def fitted(self) -> SessionResult:
        """A copy of at most `LARGEST` bytes: the last findings are dropped first, then notes; then texts are cut."""
        shown = self.model_copy(deep=True)
        dropped = 0
        while _size(shown) > LARGEST:
            if len(shown.findings) > 3:
                shown.findings.pop()
                dropped += 1
                whole = f"; all of them: resource {URI}{self.session}" if self.session else ""
                shown.more = "; ".join(part for part in (self.more, f"{dropped} more, not shown{whole}") if part)
            elif len(shown.notes) > 1:
                shown.notes.pop()
            elif not _halve(shown):
                break
        return shown

    @property
    def row(self) -> dict[str, Json]:
        """The result as it is sent: fields that are not set are left out."""
        return self.model_dump(mode="json", exclude_defaults=True)


def _size(result: SessionResult) -> int:
    return len(compact(result.row).encode())


def compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _halve(result: SessionResult) -> bool:
    """Cut the longest text in half; False if all texts are short."""
    texts = [
        (len(value), result, name) for name in ("answer", "heading", "more", "next") if (value := getattr(result, name))
    ]
    holders: list[tuple[int, Any, str]] = [*texts, *((len(one.text), one, "text") for one in result.findings)]
    holders += [(len(note), result.notes, "") for note in result.notes]
    length, holder, name = max(holders, key=lambda row: row[0])
    if length < 60:
        return False
    if isinstance(holder, list):
        holder[:] = [cut(note, max(40, len(note) // 2)) for note in holder]
    else:
        setattr(holder, name, cut(getattr(holder, name), length // 2))
    return True


# from a record


async def result_of(folder: Path, part: int = 1) -> SessionResult:
    """The state of a session, read from its folder."""
    pid = sessions.running(folder)  # before the record is read: once the process has ended, the record is final
    record = sessions.load(folder)
    spent = record.spent()
    usd = None if spent.usd is None else round(spent.usd, 4)
    cost = ResultCost(calls=spent.calls, tokens=spent.tokens, usd=usd, seconds=round(spent.seconds))
    if outcome := outcome_of(record):
        found = await _ended(record, outcome)
    elif pid:
        found = _running(record)
    elif waits := turn.whose_turn(folder, record):
        found = _waiting(record, waits, part)
    else:
        found = _stopped(record, _printed(folder))
    return found.model_copy(update={"session": record.opened.id, "cost": cost})


async def _ended(record: Record, outcome: Outcome) -> SessionResult:
    id, said = record.opened.id, headline_of(outcome) if not outcome.answers else ""
    heading, answer = f"{outcome.heading}: {said}" if said else outcome.heading, outcome.decision
    notes = [outcome.stopped] if outcome.stopped else []
    findings, more = _points(outcome.ledger), ""
    if outcome.review is not None:
        target, answer = reviewed_target(record), ""
        try:
            outcome = stand(Review.of(record), await grounds_of(record)).outcome
        except RebutError as error:
            notes.append(f"dismissals could not be read: {error.message}")
        made = outcome.review
        assert made is not None
        listed = [f for f in made.findings if f.hidden in ("", "P3")]
        findings = [_finding(f) for f in sorted(listed, key=lambda f: f.severity)]
        unlisted = review.unlisted_citations(made, target)
        findings += [ResultFinding(mark="absent", text=cut(line, ITEM)) for line in unlisted]
        first = [line for line in (review.by_programs(outcome), review.doubtful(outcome, target)) if line]
        heading = " ".join([*first, review.headline(outcome, target).upper()])
        more = made.hidden_line(listed)
    return SessionResult(
        status="done" if outcome.conclusive else "inconclusive",
        heading=cut(heading, ITEM),
        answer=cut(answer, TEXT),
        findings=findings,
        more=more,
        notes=[cut(note, ITEM) for note in (*notes, *outcome.notes)],
        next=f"Nothing more to call. The whole session is the resource {URI}{id}, or `rebut show {id}`.",
    )


def _running(record: Record) -> SessionResult:
    id = record.opened.id
    return SessionResult(
        status="running",
        heading=f"RUNNING: {under_way(record)}",
        findings=_points(ledger_of(record)),
        next=f'Call result with session "{id}"; it waits up to 45 s. Do not start the same again.',
    )


def under_way(record: Record) -> str:
    """What a running debate is doing, in a line."""
    said = [counted(record.answers, "answer")]
    began = {(e.key, e.attempt): line.at for line in record.lines if isinstance(e := line.event, Asked)}
    for asked in record.in_doubt[:3]:
        waits = max(0.0, time.time() - seconds(began[asked.key, asked.attempt]))
        said.append(f"{asked.key} asked {waits:.0f} s ago")
    spent = record.spent()
    return ", ".join([*said, *([f"${spent.usd:.2f}"] if spent.usd else [])])


def _waiting(record: Record, waits: WaitingTurn, part: int) -> SessionResult:
    id = record.opened.id
    if waits.who == "person":
        return SessionResult(
            status="waiting",
            heading=f"WAITING FOR A PERSON: {cut(waits.message, ITEM)}",
            findings=_points(ledger_of(record)),
            next=f"Tell the user: the debate continues in a terminal, with `rebut resume {id}`. answer cannot do that.",
        )
    schema, text = compact(dict(waits.schema)) if waits.schema else "", waits.question
    if _bytes(schema) > SCHEMA:
        text, schema = f"{text}\n\nThe JSON schema of the answer:\n\n{schema}", "at the end of the last part"
    parts = list(_parts(text))
    at = min(max(1, part), len(parts))
    question = CallerQuestion(key=waits.key, text=parts[at - 1], part=at, parts=len(parts), answer_schema=schema)
    rest = f' Read the other parts first: result with session "{id}" and part {at + 1}.' if at < len(parts) else ""
    answer = f'Call answer with session "{id}", key "{waits.key}" and your answer as text'
    return SessionResult(
        status="waiting",
        heading=f"WAITING FOR YOUR ANSWER: {cut(waits.message, ITEM)}",
        question=question,
        next=f"{answer}{', which is JSON that fits answer_schema' if schema else ''}.{rest}",
    )


def _parts(text: str) -> Iterator[str]:
    """A long question in parts, cut at line ends where possible."""
    while _bytes(text) > PART:
        at = PART
        while _bytes(text[:at]) > PART:
            at = at * 9 // 10
        at = text.rfind("\n", at // 2, at) + 1 or at
        yield text[:at]
        text = text[at:]
    yield text


def _bytes(text: str) -> int:
    return len(compact(text).encode(errors="replace"))


def _printed(folder: Path) -> list[str]:
    """The last line that the process of the debate printed, if it failed."""
    try:
        rows = (folder / LOG).read_text(errors="replace").strip().splitlines()
    except OSError:
        return []
    return [f"its process failed: {cut(rows[-1], ITEM)}"] if rows else []


def _stopped(record: Record, printed: list[str]) -> SessionResult:
    id, failed = record.opened.id, _failures(record)
    again = f'Call debate with resume "{id}"; recorded answers are not asked again. In a terminal: rebut resume {id}'
    if failed:
        return SessionResult(
            status="failed",
            heading=cut(f"NO RESULT: {failed[0]}", ITEM),
            findings=_points(ledger_of(record)),
            notes=failed[1:],
            next=f"What failed must be fixed first. Then: {again}",
        )
    return SessionResult(
        status="stopped",
        heading=f"STOPPED BEFORE ITS END: {progress(record)}",
        findings=_points(ledger_of(record)),
        notes=printed,
        next=again,
    )


def _failures(record: Record) -> list[str]:
    """The failures since the last answer on record, each with its hint."""
    said = [(f"the {f.seat} gave no answer ({f.failure}): {f.message}", f.hint) for f in record.last_failures]
    return [f"{why.rstrip('.')}. {hint}".strip() for why, hint in said]


def _points(ledger: Ledger) -> list[ResultFinding]:
    points = sorted(ledger.points, key=lambda p: (p not in ledger.open, ledger.severity(p.id)))
    return [_point(ledger, point) for point in points]


def _point(ledger: Ledger, point: Point) -> ResultFinding:
    cited = point.evidence[0] if point.evidence else None
    return ResultFinding(
        id=point.id,
        severity=ledger.severity(point.id),
        place=cut(cited.place, 120) if cited else "",
        mark=cited.mark if cited else "",
        check=point.check.mark if point.check else "",
        fate=ledger.shown_status(point.id),
        text=cut(point.text, ITEM),
    )


def _finding(found: ReviewFinding) -> ResultFinding:
    fate = found.seen or (found.status if found.status in ("resolved", "withdrawn") else "") or found.ruling
    fix = f" Fix: {cut(found.action, 160)}" if found.action else ""
    return ResultFinding(
        id=found.id,
        severity=found.severity,
        place=cut(found.place, 120),
        mark=found.mark,
        check=found.check.mark if found.check else "",
        fate=fate or "not judged",
        text=cut(found.text, ITEM) + fix,
    )


# from a check of citations

BAD = ("absent", "moved")


def checked(text: CheckedText) -> SessionResult:
    """The citations of a text: absent and moved ones are listed, the others only counted."""
    counts = text.counts
    tally = ", ".join(f"{number} {mark}" for mark, number in sorted(counts.items()))
    bad = sorted((one for one in text.citations if one.mark in BAD), key=lambda one: BAD.index(one.mark))
    said = counted(len(text.citations), "citation")
    right = len(text.citations) - len(bad)
    return SessionResult(
        status="done",
        heading=f"{said.upper()}: {tally}" if tally else "NO CITATION IN THE TEXT",
        findings=[
            ResultFinding(
                place=cut(one.place, 120),
                mark=one.mark,
                text=cut(
                    f"line {one.line} cites it{f' with “{cut(one.quote, 100)}”' if one.quote else ''}. "
                    f"{f'Now at {one.moved_to}' if one.moved_to else one.note}",
                    ITEM,
                ),
            )
            for one in bad
        ],
        more=f"not listed: {right} found, located or uncheckable" if right and bad else "",
        next="Correct what is absent or moved, and check again." if bad else "",
    )
