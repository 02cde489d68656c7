"""Frames: what the page gets of a debate, one for each event of its journal, as plain JSON.

A frame says what an event changed: an answer, points that were raised or answered, the outcome. The page applies frames
in their order, so that a running debate, one that is replayed and an exported file are shown by the same code. Every
rule about a debate stays in Python: the page knows none.

Only what is listed here leaves the record. Keys, prompts, raw replies and files that were given as context are in no
frame; prompts and replies are served one by one, on request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, cast

from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row
from rebut.core.text import counted
from rebut.domain import render
from rebut.domain.amounts import duration, money, size, spent
from rebut.domain.checks import CodeCheck
from rebut.domain.ledger import Claim, Evidence, Ledger, Move, Point, Same, Slip, distinct, from_json, noun_in, similar
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import MOVES, SILENT
from rebut.domain.session_status import headline_of, ledger_of
from rebut.domain.user_notes import FACT as NOTE
from rebut.record.events import (
    Amended,
    Answered,
    Asked,
    Attempt,
    Closed,
    Fact,
    Failed,
    Line,
    Opened,
    Resumed,
    Wrote,
)
from rebut.record.record import TURNED_AWAY, Record, name_of_step, step_of
from rebut.reports import review, worth
from rebut.reports.terminal import RULINGS, VERBS, decided, shown_limits, shown_spec
from rebut.workspace.diff import BothTexts, head_and_hunks, hunk_range, names, sections, without_prefix
from rebut.workspace.targets.target import Target, absent_citations, headline, target_of

Row = dict[str, Json]
DOCUMENT = "document"
"""The field of an answer that is a whole document, with versions from round to round."""
VERSION = "version"
"""The fact that has a later version of the change under review."""
ROUND = re.compile(r"r(\d+)/")


@frozen
class PageCitation:
    """A citation, and what it was looked up in."""

    version: int
    """The version of the change under review."""
    by: str
    evidence: Evidence
    about: str = ""
    documents: int = 0
    """How many documents had been written before its round."""

    @property
    def id(self) -> str:
        """The same for the same citation of the same version, so that the page can ask for its lines."""
        of = f"{self.version}\0{self.documents}\0{self.about}"
        named = f"{of}\0{self.evidence.place}\0{self.evidence.quote}\0{self.evidence.mark}"
        return hashlib.sha256(named.encode(errors="replace")).hexdigest()[:12]


class Frames:
    """Makes the frames of one debate, in the order of its events."""

    def __init__(self) -> None:
        self.record = Record()
        self.ledger = Ledger()
        self.cited: dict[str, PageCitation] = {}
        """Every citation that a frame has, by its id."""
        self.versions: list[tuple[int, Mapping[str, str | None]]] = []
        """Later versions of the change under review: the event that recorded each, and the files that it replaces."""
        self.documents: list[tuple[str, str]] = []
        """The documents that were written, each with its seat."""
        self._known_in: dict[int, tuple[int, int]] = {}
        """Round → how many versions and documents there were when it began."""
        self._entered: set[str] = set()
        """The facts whose entries are in the ledger."""
        self._answered: dict[str, dict[str, Answered]] = {}
        """Step → the answers in it, by their keys."""
        self._documents: dict[str, str] = {}
        """Seat → its last document."""
        self._sent: dict[tuple[str, str], list[Json]] = {}
        """What the page has of each list that grows: the id of a point, the name of the list → its rows."""
        self._move_rows: dict[int, tuple[Move, Row]] = {}
        """`id()` of a move → the move and its row: to hash a move would take as long as to make its row."""
        self._tokens = 0
        self._usd: float | None = 0.0

    def take(self, line: Line) -> Row:
        """The frame of the next event."""
        self.record.add(line)
        frame: Row = {"seq": line.seq, "at": line.at, "kind": line.event.kind}
        match line.event:
            case Opened() as e:
                frame |= _opening(e)
            case Asked() as e:
                frame |= {**_where(e.key), "attempt": e.attempt, "why": e.why, "spec": shown_spec(e.spec)}
                frame |= {"size": len(e.prompt or e.followup), "patient": e.patient}
            case Attempt() as e:
                frame |= {**_where(e.key), "attempt": e.attempt, "outcome": e.outcome, "message": e.message}
                frame |= {"hint": e.hint, "model": e.model, "input": e.input, "output": e.output, "usd": e.usd}
                frame |= {"ms": e.ms, "notes": [*e.notes], "patient": e.patient, "truncated": e.truncated}
                frame |= self._so_far(e)
            case Answered() as e:
                frame |= {**_where(e.key), **self._answer(e)}
            case Failed() as e:
                frame |= {**_where(e.key), "failure": e.failure, "message": e.message, "hint": e.hint}
                frame |= {"reopened": e.reopened}
            case Resumed() as e:
                frame |= {"orphans": len(e.orphans), "torn": e.torn}
            case Amended() as e:
                frame |= {"text": f"limits changed: {', '.join(shown_limits(self.record.limits))}"}
            case Wrote() as e:
                frame |= {"name": e.path.rpartition("/")[2]}
            case Fact() as e:
                # A protocol of the user may record anything under any key.
                with suppress(KeyError, TypeError, ValueError, AttributeError):
                    frame |= self._fact(line.seq, e)
            case Closed() as e:
                frame |= self._ending(Outcome.from_json(e.outcome))
        return _filled(frame)

    def _so_far(self, attempt: Attempt) -> Row:
        """Tokens and dollars up to this attempt. As in the record, a call without a price makes the sum unknown."""
        self._tokens += (attempt.input or 0) + (attempt.output or 0)
        if attempt.usd is None and attempt.outcome not in TURNED_AWAY:
            self._usd = None
        elif self._usd is not None:
            self._usd += attempt.usd or 0.0
        return {"tokens": self._tokens, "total": "unknown" if self._usd is None else self._usd}

    # answers

    def _answer(self, event: Answered) -> Row:
        self._answered.setdefault(step_of(event.key), {})[event.key] = event
        row: Row = {"model": event.model, "family": event.family, "ms": event.ms, "complaints": [*event.complaints]}
        row |= {"unread": event.unread, "copied_from": event.copied_from[:8]}
        value = event.value
        if isinstance(value, dict) and isinstance(value.get(DOCUMENT), str) and value[DOCUMENT]:
            text, before = str(value[DOCUMENT]), self._documents.get(event.seat)
            self._documents[event.seat] = text
            self.documents.append((event.seat, text))
            row[DOCUMENT] = text
            if before is not None:
                row["diff"] = file_diff(event.seat, before, text)
        # An answer in a round gets its ids and marks with the entries that follow; only other answers get them now.
        return row | {"rows": self._rows(event, self.ledger if _round(event.key) is None else Ledger())}

    def _rows(self, event: Answered, ledger: Ledger) -> list[Json]:
        """An answer as paragraphs, labels and items, with the ids and marks that a ledger has."""
        value = event.value
        if isinstance(value, dict):
            value = {name: part for name, part in value.items() if name not in (DOCUMENT, "need")}
        return [[row.kind, row.label, row.text] for row in render.answer(value, render.Known(ledger, event.seat))]

    # facts

    def _fact(self, seq: int, fact: Fact) -> Row:
        value = fact.value
        if fact.key.endswith("#ledger") and isinstance(value, dict):
            return self._entries(fact.key.removesuffix("#ledger"), value)
        if fact.key == "notes" and isinstance(value, list):
            return {"notes": [str(note) for note in value]}
        if fact.key == "target" and isinstance(value, dict):
            return {"target": _target(Target.from_json(value))}
        if fact.key.startswith("fallback@") and isinstance(value, dict):
            seat = fact.key.removeprefix("fallback@")
            said = f"{shown_spec(str(value.get('spec')))} answers for the {seat} from here on: {value.get('why')}"
            return {"seat": seat, "fallback": shown_spec(str(value.get("spec"))), "text": said}
        if name_of_step(f"{fact.key}@") == VERSION and isinstance(value, dict) and not value.get("complaint"):
            return self._later_version(seq, fact.key, value)
        if said := decided(fact):
            return {"text": said, "decision": True, "note": fact.key.startswith(NOTE)}
        if fact.key.endswith("#left"):
            return {"text": f"{fact.key.removesuffix('#left')} was skipped {value}", "decision": True}
        return {}

    def _later_version(self, seq: int, key: str, value: Mapping[str, Json]) -> Row:
        files = value.get("files")
        texts = {}
        if isinstance(files, dict):
            texts = {path: None if text is None else str(text) for path, text in files.items()}
        self.versions.append((seq, texts))
        patch = str(value.get("patch") or "")
        return {VERSION: len(self.versions) + 1, "round": _round(key), "files": files_of(patch)}

    def _entries(self, step: str, value: Mapping[str, Any]) -> Row:
        if not self.ledger.entries:
            version = self.record.opened.ledger
            self.ledger = Ledger(str(value["letter"]), noun=noun_in(value), version=version)
        entries = [from_json(row) for row in value["entries"]]
        earlier = self.ledger
        again = step in self._entered
        self._entered.add(step)
        # Entries that an upgrade has recorded again replace the earlier ones, so that everything is sent again.
        self.ledger = ledger_of(self.record) if again else earlier.add(entries)
        claims = 0 if again else len(earlier.claims)
        before = {p.id for p in earlier.points}
        changed = {self.ledger.issue_of(id) for e in entries for id in _points_of(e)}
        changed |= {p.id for p in self.ledger.points if again or p.id not in before}
        texts = {e.text for e in entries if isinstance(e, Point)}
        changed |= {p.id for p in self.ledger.points if p.said and any(one.text in texts for one in p.said)}
        row: Row = {"noun": self.ledger.noun, "step": step}
        row["claims"] = [self._claim(c) for c in self.ledger.claims[claims:]]
        now = {p.id for p in self.ledger.points} | {c.id for c in self.ledger.claims}
        had: Sequence[Point | Claim] = (*earlier.points, *earlier.claims)
        gone = [one.id for one in had if one.id not in now]
        row["gone"] = [*gone]
        if gone:
            self._sent = {(of, name): rows for (of, name), rows in self._sent.items() if of not in gone}
        row["points"] = self._points(changed)
        row["unmatched"] = [self._move(m) for m in self.ledger.unmatched]
        self._without_sent("", row, ("unmatched",))
        answered = self._answered.get(step_of(step), {}).values()
        # An answer finds its ids and marks in what its own step added, so that no answer searches a long ledger.
        added = [one for p in self.ledger.points if p.id in changed for one in p.wordings if again or one.text in texts]
        part = Ledger(
            self.ledger.letter,
            self.ledger.claims[claims:],
            tuple(added),
            self.ledger.moves[0 if again else len(earlier.moves) :],
            self.ledger.unmatched,
        )
        row["turns"] = {e.key: self._rows(e, part) for e in answered}
        return row

    # the ledger

    def _points(self, changed: Set[str]) -> list[Json]:
        """The points with these ids. Each is read from a ledger of its own, so that none searches a long ledger."""
        moves, slips = {id: list[Move]() for id in changed}, {id: list[Slip]() for id in changed}
        for move in self.ledger.moves:
            if move.point in moves:
                moves[move.point].append(move)
        for slip in self.ledger.slips:
            if slip.point in slips:
                slips[slip.point].append(slip)
        out: list[Json] = []
        for p in self.ledger.points:
            if p.id in changed:
                own, slipped = tuple(moves[p.id]), tuple(slips[p.id])
                out.append(
                    self._point(p, Ledger(self.ledger.letter, (), (p,), own, (), slipped, held=self.ledger.held))
                )
        return out

    def _point(self, p: Point, ledger: Ledger) -> Row:
        row: Row = {"id": p.id, "text": p.text, "by": p.by, "voices": [*p.voices], "round": p.round}
        row |= {"severity": ledger.severity(p.id), "raised_as": p.severity, "category": p.category, "about": p.about}
        row |= {"status": ledger.status(p.id), "struck": p.struck, "contested": ledger.contested(p)}
        row["said"] = [self._wording(one) for one in distinct(p.wordings)]
        row["moves"] = [self._move(m) for m in ledger.answers]
        row["slips"] = [as_row(s) for s in dict.fromkeys(ledger.slips)]
        self._without_sent(p.id, row, ("said", "moves", "slips"))
        return row

    def _without_sent(self, of: str, row: Row, names: Iterable[str]) -> None:
        """Remove from growing lists the rows that the page has. `kept` says how many rows of each list it keeps.

        Without this, a point that is discussed in every round would be sent with its whole history each time.
        """
        kept: Row = {}
        for name in names:
            now, had = cast(list[Json], row[name]), self._sent.get((of, name), [])
            self._sent[of, name] = now
            if had and now[: len(had)] == had:
                kept[name], row[name] = len(had), now[len(had) :]
        if kept:
            row["kept"] = kept

    def _wording(self, p: Point) -> Row:
        row: Row = {"by": p.by, "round": p.round, "text": p.text, "action": p.action, "fix": p.fix, "was": p.was}
        return _filled(row | {"cites": self._cites(p.evidence, p.by, p.round, p.about), "check": _check(p.check)})

    def _claim(self, c: Claim) -> Row:
        row: Row = {"id": c.id, "text": c.text, "by": c.by, "round": c.round}
        cites = self._cites(c.evidence, c.by, c.round, "")
        return row | {"cites": cites} | ({"check": _check(c.check)} if c.check else {})

    def _move(self, m: Move) -> Row:
        if id(m) not in self._move_rows:
            self._move_rows[id(m)] = m, self._move_row(m)
        return self._move_rows[id(m)][1]

    def _move_row(self, m: Move) -> Row:
        word = (RULINGS if m.by in ("judge", "decider") else VERBS).get(m.kind) or VERBS.get(m.kind, m.kind)
        if word == VERBS[MOVES["fixed"]] and m.reason.startswith(SILENT):  # rebut 0.1 recorded that as fixed
            word = SILENT
        row: Row = {"point": m.point, "kind": m.kind, "word": word, "by": m.by, "round": m.round, "reason": m.reason}
        row |= {"severity": m.severity, "after": m.after, "objection": m.objection}
        return _filled(row | {"cites": self._cites(m.evidence, m.by, m.round, ""), "check": _check(m.check)})

    def _cites(self, evidence: Sequence[Evidence], by: str, round: int, about: str) -> list[Json]:
        version, documents = self._known_in.setdefault(round, (len(self.versions), len(self.documents)))
        out: list[Json] = []
        for one in evidence:
            cited = PageCitation(version, by, one, about, documents)
            self.cited[cited.id] = cited
            row: Row = {"id": cited.id, "place": one.place, "quote": one.quote, "mark": one.mark, "note": one.note}
            out.append(_filled(row))
        return out

    # the outcome

    def _ending(self, outcome: Outcome) -> Row:
        ledger, made = outcome.ledger, outcome.review
        target = target_of(self.record)
        row: Row = {"heading": outcome.heading, "decision": outcome.decision, "label": outcome.label}
        row |= {"conclusive": outcome.conclusive, "complete": outcome.complete, "stopped": outcome.stopped}
        row |= {"said": headline_of(outcome), "notes": [*outcome.notes], "rows": [[*pair] for pair in outcome.rows]}
        row |= {"spent": spent(outcome.spent), "cost": money(outcome.spent.usd)}
        row |= {"time": duration(outcome.spent.seconds), "tokens": size(outcome.spent.tokens)}
        row |= {"calls": counted(outcome.spent.calls, "call"), "text": outcome.final}
        row["worth"] = [*worth.sentences(outcome.worth)] if outcome.worth else []
        row["seats"] = [as_row(seat) for seat in outcome.seats]
        row["verdict"] = as_row(outcome.verdict) if outcome.verdict else None
        row["answers"] = outcome.answers.to_json() if outcome.answers else None
        if ledger.points:  # the ledger of an outcome may have the complete rounds only
            row["final"] = {
                p.id: {"status": ledger.shown_status(p.id), "severity": ledger.severity(p.id)} for p in ledger.points
            }
            row["similar"] = {id: [*others] for id, others in similar(ledger.points).items()}
        if made:
            row["review"] = _review(outcome, target or Target("proposal", "low", ""))
        return row


def _opening(e: Opened) -> Row:
    seats: list[Json] = [
        {"seat": str(row["seat"]), "spec": shown_spec(str(row["spec"])), "family": str(row.get("family") or "")}
        for row in e.seats
    ]
    rounds = e.settings.get("rounds")
    row: Row = {"id": e.id, "protocol": e.protocol, "topic": e.topic, "seats": seats}
    row |= {"rounds": rounds if isinstance(rounds, int) else None, "limits": [*shown_limits(e.limits)]}
    return row | {"forked_from": e.forked_from, "rebut": e.rebut, "own_protocol": bool(e.source)}


def _review(outcome: Outcome, target: Target) -> Row:
    made = outcome.review
    assert made is not None
    findings: Row = {}
    for f in made.findings:
        row: Row = {"severity": f.severity, "ruling": f.ruling, "reason": f.reason, "seen": f.seen}
        findings[f.id] = _filled(row | {"hidden": f.hidden, "outside": f.outside})
    row = {"headline": _capital(review.headline(outcome, target)), "doubt": review.doubtful(outcome, target)}
    row |= {"absent": [*absent_citations(target)], "decision": made.decision, "patch": files_of(made.patch)}
    row |= {"history": [as_row(one) for one in made.history], "next": [*made.next_actions]}
    return _filled(row | {"findings": findings})


def _target(target: Target) -> Row:
    row: Row = {"line": headline(target), "files": files_of(target.diff), "left_out": [*target.left_out]}
    return _filled(row | {"text": target.text, "cites": [*target.cites]})


def files_of(diff: str) -> list[Json]:
    """A diff as the page draws it: each file with its hunks, and for each hunk its first line numbers and its text."""
    out: list[Json] = []
    for section in sections(diff):
        head, hunks = head_and_hunks(section)
        old, new = names(section)
        file: Row = {"path": without_prefix(new or old), "old": without_prefix(old)}
        rows: list[Json] = []
        for hunk in hunks:
            found = hunk_range(hunk)
            if found is not None:
                start_old, _, start_new, _ = found.span
                rows.append([start_old + 1, start_new + 1, hunk.partition("\n")[2].rstrip("\n")])
        out.append(file | {"hunks": rows, "note": "" if rows else " ".join(head.split("\n")[1:]).strip()})
    return out


def file_diff(name: str, before: str, after: str) -> list[Json]:
    """The difference of two texts, in the form of `files_of`."""
    sides = BothTexts(before, after)
    hunks = "\n".join(sides.hunks(sides.differences()))
    return files_of(f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n{hunks}\n") if hunks else []


def _where(key: str) -> Row:
    return {"key": key, "seat": key.rpartition("@")[2], "step": name_of_step(key), "round": _round(key)}


def _round(key: str) -> int | None:
    found = ROUND.match(key)
    return int(found[1]) if found else None


def _points_of(entry: object) -> Iterable[str]:
    """The ids of the points that an entry refers to."""
    if isinstance(entry, Same):
        return (entry.point, entry.same_as)
    if isinstance(entry, Point):
        return (entry.same_as,) if entry.same_as else ()
    point = getattr(entry, "point", "")
    return (point,) if point else ()


def _check(check: CodeCheck | None) -> Json:
    """A check as the page shows it; None if there is none."""
    return {**as_row(check), "claim": check.claim, "verdict": check.verdict} if check else None


def _filled(row: Row) -> Row:
    """The row without empty values. 0 is not empty: round 0 is before the first one, and a free call has a price."""
    return {name: value for name, value in row.items() if value is not False and value not in (None, "", [], {})}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
