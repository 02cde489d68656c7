"""The ledger: what is at issue, what each participant said about it, and the status of every point. Pure functions.

Ids are given here and nowhere else: claims are C1, C2 …, points take the protocol's letter (D1, F1 …). The same entries
in the same order give the same ledger, so it is rebuilt by replay and can be read from the record alone.

The words of a point are never replaced. Two points become one issue only if the later one names the earlier one
(`same_as`), if a participant says so of two points on the ledger (`Same`), or if their texts are the same apart from
case, white space and the punctuation at the end, and they do not cite different places. The issue then has both texts,
each with its speaker, round and citations. Points about different documents stay apart, and so do points that only cite
the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row, remade
from rebut.core.text import squeeze
from rebut.domain.checks import CodeCheck, check_of, strongest

if TYPE_CHECKING:
    from rebut.core.citation_syntax import Place

VERSION = 2
"""The version of the rules by which points become one issue.

Version 1 joined points that cite the same lines. A session that was opened under version 1 stays on it, because its
replies cite the ids that version 1 gave.
"""

Severity = Literal["P1", "P2", "P3"]
MoveKind = Literal["concede", "defend", "partly", "withdraw", "resolve", "maintain", "contest", "mend"]
Status = Literal[
    "raised",
    "conceded",
    "conceded without evidence",
    "defended",
    "partly accepted",
    "withdrawn",
    "resolved",
    "unanswered",
    "unresolved",
]
AFTER: Mapping[MoveKind, Status] = {
    "concede": "conceded",
    "defend": "defended",
    "partly": "partly accepted",
    "withdraw": "withdrawn",
    "resolve": "resolved",
    "maintain": "unresolved",
    "contest": "unresolved",  # its author says that the answer, even a concession, does not settle it
    "mend": "resolved",  # a later version fixed it, whether or not it was conceded before
}
UNPROVEN: Status = "conceded without evidence"
"""The status after a move that settles its point only with evidence (`Move.proof`), and that has none."""
NOTHING_KEPT = "no workspace was kept"
"""The note on a citation that could not be looked up, because the debate has no copy of a workspace."""
OVER: frozenset[Status] = frozenset({"withdrawn", "resolved"})
SETTLED: frozenset[Status] = frozenset({"conceded", "withdrawn", "resolved"})
GIVEN_UP: frozenset[MoveKind] = frozenset({"resolve", "withdraw"})
"""The moves by which a point's own author gives it up."""


@frozen
class Evidence:
    """A citation and what checking it showed; `mark` is empty until it was checked."""

    place: str
    quote: str = ""
    mark: str = ""
    note: str = ""

    @property
    def shown(self) -> str:
        """The citation with its mark, as prompts and reports show it."""
        quoted = f' "{self.quote}"' if self.quote else ""
        note = f", {self.note}" if self.note else ""
        return f"{self.place}{quoted} [{self.mark or 'unchecked'}{note}]"


@frozen
class Claim:
    """Something a participant asserts in its own case."""

    text: str
    by: str
    round: int
    evidence: tuple[Evidence, ...] = ()
    id: str = ""
    check: CodeCheck | None = None
    """Code that should show it."""

    @property
    def unsupported(self) -> bool:
        return not self.evidence and (self.check is None or self.check.mark != "shown")


@frozen
class Point:
    """Something said against a case: weakness, finding, objection, challenge."""

    text: str
    by: str
    round: int
    severity: Severity = "P2"
    category: str = ""
    evidence: tuple[Evidence, ...] = ()
    about: str = ""
    """The document, or the id of the claim, that the point is about."""
    same_as: str = ""
    """The id of an earlier point that this one repeats, if its author says so."""
    id: str = ""
    voices: tuple[str, ...] = ()
    """The seats that raised it; several may raise one point."""
    action: str = ""
    """What its author would do about it."""
    fix: str = ""
    """The text that should replace the lines it cites."""
    said: tuple[Point, ...] = ()
    """For an issue that was raised more than once: every point that belongs to it, as it was raised, with the first.

    The issue itself has the text of the first, the gravest severity, and the citations of all.
    """
    was: str = ""
    """For a point that a participant joined to an earlier issue: the id under which it was raised."""
    check: CodeCheck | None = None
    """Code that should show it; for an issue that was raised more than once, the check with the strongest mark."""

    @property
    def wordings(self) -> tuple[Point, ...]:
        """Every point that belongs to this issue, as it was raised."""
        return self.said or (self,)

    def words(self, name: Callable[[str], str] = str) -> str:
        """The text; for an issue that was raised more than once every text, with the `name` of its speaker."""
        first, *others = distinct(self.wordings)
        return first.text + "".join(
            f" [the same by {name(p.by)} in round {p.round}{p.raised_as}: {p.text}]" for p in others
        )

    @property
    def raised_as(self) -> str:
        """For a point that was joined to an earlier issue: `, raised as F2`."""
        return f", raised as {self.was}" if self.was else ""

    @property
    def struck(self) -> bool:
        """Whether it rests on a citation that is absent: nothing that it quotes is in the file that it names."""
        return baseless(self.evidence)


@frozen
class Move:
    """What a participant says about a point."""

    point: str
    kind: MoveKind
    by: str
    round: int
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    severity: str = ""
    """How severe the participant considers the point; empty if the form does not ask for that."""
    objection: bool = False
    """Whether it was raised as a repetition of a point that does not exist. Such a move belongs to no point."""
    proof: bool = False
    """Whether, by the rules of its protocol, it settles the point only with evidence."""
    action: str = ""
    """For an objection: what its author would do about it."""
    fix: str = ""
    """For an objection: the text that should replace the lines it cites."""
    check: CodeCheck | None = None
    """Code that should show what the move says."""

    @property
    def after(self) -> Status:
        """The status of its point after this move."""
        shown = not self.proof or any(e.mark != "absent" for e in self.evidence)
        return AFTER[self.kind] if shown else UNPROVEN


@frozen
class Slip:
    """A concession walked back without new evidence, or an objection dropped without a reason.

    A seat also walks back a concession when it later calls the conceded point less severe, or when it presses a point
    of its own again that it gave up.
    """

    kind: Literal["walked back", "dropped"]
    point: str
    by: str
    round: int


@frozen
class Same:
    """A participant says of two points on the ledger that the later one is the same issue as the earlier one."""

    point: str
    same_as: str
    by: str
    round: int


@frozen
class Rerun:
    """The check of a point, run again on a later version of what is debated."""

    point: str
    version: int
    side: str
    """What the check does on that version: passes, fails, cannot run; empty if it was not run."""
    round: int
    note: str = ""


Entry = Claim | Point | Move | Slip | Same | Rerun
Unspoken = Slip | Same | Rerun
"""Entries without a text of a participant, and so without citations."""


@frozen
class Ledger:
    """The claims, points and moves of a debate. A ledger is immutable: `add` returns the next one."""

    letter: str = "P"
    claims: tuple[Claim, ...] = ()
    points: tuple[Point, ...] = ()
    moves: tuple[Move, ...] = ()
    unmatched: tuple[Move, ...] = ()
    """Moves on points that do not exist, with objections that repeat such a point. They never become new points."""
    slips: tuple[Slip, ...] = ()
    noun: str = field(default="point", compare=False)
    """What the protocol calls a point, for reports."""
    version: int = field(default=VERSION, compare=False)
    """The version of the rules by which points become one issue."""
    joined: tuple[Same, ...] = ()
    """Points that belong to an earlier issue because a participant said so. Their ids still refer to that issue."""
    reruns: tuple[Rerun, ...] = ()
    """Checks that were run again on later versions."""
    held: tuple[str, ...] = ()
    """At the end of a debate: the ids of points whose author still objects, even if the point was conceded."""
    entries: tuple[Entry, ...] = field(default=(), compare=False, repr=False)
    """Everything that was added, in order. Empty for a ledger that was read from an outcome."""

    def add(self, entries: Iterable[Entry]) -> Ledger:
        return self.enter(entries)[0]

    def enter(self, entries: Iterable[Entry]) -> tuple[Ledger, list[tuple[str, Entry]]]:
        """The ledger with the entries added, and each entry with its id there; an empty id if it matches no point."""
        ledger, added = self, list[tuple[str, Entry]]()
        worded: set[str] | None = None
        for entry in entries:
            before = ledger
            match entry:
                case Claim():
                    ledger = replace(ledger, claims=(*ledger.claims, replace(entry, id=f"C{len(ledger.claims) + 1}")))
                case Point():
                    # A point whose text is new cannot repeat another by its words: the slow comparison is skipped.
                    worded = ledger._worded() if worded is None else worded
                    ledger = ledger._raise(entry, worded)
                case Move():
                    ledger = ledger._move(entry)
                case Slip() if known := ledger.point(entry.point):
                    ledger = replace(ledger, slips=(*ledger.slips, replace(entry, point=known.id)))
                case Same():
                    ledger = ledger._unite(entry)
                case Rerun() if known := ledger.point(entry.point):
                    ledger = replace(ledger, reruns=(*ledger.reruns, replace(entry, point=known.id)))
            added.append((_id(entry, before, ledger), entry))
        return replace(ledger, entries=(*self.entries, *(entry for _, entry in added))) if added else self, added

    def _worded(self) -> set[str]:
        """The texts of all points raised so far, in the form in which texts are compared."""
        return {_plain(one.text) for issue in self.points for one in issue.wordings}

    def _raise(self, point: Point, worded: set[str]) -> Ledger:
        words = _plain(point.text)
        may_repeat = self.version == 1 or point.same_as or words in worded
        if may_repeat and (issue := self.repeated(point)):
            worded.add(words)
            return self._join(issue, point)
        if point.same_as and self.point(point.same_as) is None:
            return replace(self, unmatched=(*self.unmatched, unplaced(point)))
        id = f"{self.letter}{len(self.points) + len(self.joined) + 1}"
        new = replace(point, id=id, voices=(point.by,), same_as="", said=())
        worded.add(words)
        return replace(self, points=(*self.points, new))

    def repeated(self, point: Point) -> Point | None:
        """The issue that a point would belong to; None if it is new or names a point that does not exist."""
        named = self.point(point.same_as)
        if self.version == 1:
            return named if point.same_as else next((p for p in self.points if self._same_place(point, p)), None)
        if named and not self._of_other_document(point, named):
            return named
        if point.same_as and not named:
            return None
        words = _plain(point.text)
        said = [p for p in self.points if _plain(p.text) == words or (p.said and _is_said(words, p.said))]
        # A settled point stays settled: what is raised after that is a new point.
        alike = [p for p in said if words and _same_matter(point, p) and self.status(p.id) not in OVER]
        return min(alike, key=lambda p: not overlap(point, p), default=None)

    def _of_other_document(self, a: Point, b: Point) -> bool:
        documents = {p.about for p in (a, b) if p.about and p.about not in self.ids()}
        return len(documents) > 1

    def _same_place(self, point: Point, known: Point) -> bool:
        """The rule of version 1: the same category and overlapping lines, whatever the words."""
        twice = point.by in known.voices and point.round == known.round
        alike = bool(point.category) and point.category == known.category and overlap(point, known)
        return alike and not twice and self.status(known.id) not in OVER

    def _join(self, issue: Point, point: Point) -> Ledger:
        """Add a point, in its own words, to an issue. In a later round this is also a move that maintains the issue."""
        said = (*issue.wordings, replace(point, id=issue.id, voices=(point.by,)))
        points = tuple(_issue(said) if p.id == issue.id else p for p in self.points)
        ledger = replace(self, points=points)
        if point.round == issue.round:
            return ledger
        again = Move(issue.id, "maintain", point.by, point.round, point.text, point.evidence)
        return ledger._move(again)

    def separate(self, id: str, other: str, noun: str = "point") -> str:
        """Why a point cannot be called the same as another one; empty if it can."""
        point, issue = self.point(id), self.point(other)
        if point is None or issue is None:
            return f"there is no {noun} {id if point is None else other}"
        if point.id == issue.id:
            return f"{id} and {other} are one {noun} already: leave `same_as` empty"
        if next(p.id for p in self.points if p.id in (point.id, issue.id)) == point.id:
            return f"{other} was raised after {id}: put `same_as` on the later one, with the id of the earlier one"
        if self._of_other_document(point, issue):
            return f"{other} is about another document than {id}, so they are not the same: leave `same_as` empty"
        return ""

    def _unite(self, same: Same) -> Ledger:
        """Make one issue of two, with every wording and move of both. An entry that makes no sense changes nothing."""
        later, issue = self.point(same.point), self.point(same.same_as)
        if later is None or issue is None or self.separate(same.point, same.same_as):
            return self
        was = (replace(one, id=issue.id, was=one.was or later.id) for one in later.wordings)
        whole = _issue((*issue.wordings, *was))
        return replace(
            self,
            points=tuple(whole if p.id == issue.id else p for p in self.points if p.id != later.id),
            moves=tuple(replace(m, point=issue.id) if m.point == later.id else m for m in self.moves),
            slips=tuple(replace(s, point=issue.id) if s.point == later.id else s for s in self.slips),
            reruns=tuple(replace(one, point=issue.id) if one.point == later.id else one for one in self.reruns),
            joined=(*self.joined, replace(same, point=later.id, same_as=issue.id)),
        )

    def _move(self, move: Move) -> Ledger:
        known = self.point(move.point)
        if move.objection or known is None:
            return replace(self, unmatched=(*self.unmatched, move))
        move = replace(move, point=known.id)
        slips = self.slips
        if slip := self._slip(move):
            slips = (*slips, slip)
        return replace(self, moves=(*self.moves, move), slips=slips)

    def _slip(self, move: Move) -> Slip | None:
        if self._takes_back(move) and not self._is_proven(move):
            return Slip("walked back", move.point, move.by, move.round)
        if move.kind in ("resolve", "withdraw") and not move.reason.strip() and not move.evidence:
            return Slip("dropped", move.point, move.by, move.round)
        return None

    def _takes_back(self, move: Move) -> bool:
        """Whether a seat retracts its concession, calls a conceded point less severe, or presses one it gave up."""
        own = [m for m in self.moves if (m.point, m.by) == (move.point, move.by)]
        given_up = [m for m in own if m.kind in GIVEN_UP and m.after != UNPROVEN]
        if move.kind in ("maintain", "contest") and given_up and own[-1] is given_up[-1]:
            return True
        if not any(m.kind == "concede" for m in own):
            return False
        if move.kind in ("defend", "partly") or (move.kind == "maintain" and move.severity):
            return True  # with a severity it is a ruling, which now says that evidence is missing
        weighed = [m.severity for m in own if m.severity and not self._walks_back(m)]
        return move.kind == "concede" and bool(weighed and move.severity) and move.severity > weighed[-1]

    def _is_proven(self, move: Move) -> bool:
        """Whether a move cites something that exists, and that no seat cited on its point before."""
        known = self.point(move.point)
        holders = (*(m for m in self.moves if m.point == move.point), *([known] if known else ()))
        seen = {_place(e) for holder in holders for e in holder.evidence}
        return any(_place(e) not in seen and e.mark != "absent" for e in move.evidence)

    def _walks_back(self, move: Move) -> bool:
        return bool(self.slips) and Slip("walked back", move.point, move.by, move.round) in self.slips

    def upto(self, round: int) -> Ledger:
        """The ledger as it was at the end of a round: points that were joined later are separate in it."""
        if self.entries and not self.held and all(entry.round <= round for entry in self.entries):
            return self
        then = Ledger(self.letter, noun=self.noun, version=self.version)
        return then.add(entry for entry in self.entries if entry.round <= round)

    @property
    def unplaced(self) -> tuple[Move, ...]:
        """Objections that name an earlier point which does not exist. They are not answered and do not count."""
        return tuple(m for m in self.unmatched if m.objection)

    def point(self, id: str) -> Point | None:
        """The issue with this id, or the issue to which the point with this id was joined; None if there is none."""
        wanted = self.issue_of(id)
        for point in self.points:
            if point.id == wanted:
                return point
        return None

    def issue_of(self, id: str) -> str:
        """The id of the issue to which a point was joined; the id itself if it was not."""
        for one in self.joined:
            id = one.same_as if one.point == id else id
        return id

    @property
    def point_ids(self) -> list[str]:
        """The ids of all points, with those that were joined to an earlier issue."""
        return [*(p.id for p in self.points), *(one.point for one in self.joined)]

    def raised_by(self, seat: str, round: int) -> list[Point]:
        """The points that a seat raised in a round, in its own words, each with the id of its issue."""
        return [one for p in self.points for one in p.wordings if (one.by, one.round) == (seat, round)]

    @property
    def answers(self) -> tuple[Move, ...]:
        """The moves without those that only say that a point was raised again: the issue has these words already."""
        again = {(p.id, one.by, one.round, one.text) for p in self.points for one in p.said[1:]}
        return tuple(m for m in self.moves if (m.point, m.by, m.round, m.reason) not in again)

    def status(self, id: str) -> Status:
        """The status of a point after all moves on it.

        A concession is binding: neither repeating the point nor walking back without new evidence undoes it. An issue
        that several participants raised is resolved when all of them say so.
        """
        now: Status = "raised"
        id = self.issue_of(id)
        moves = [move for move in self.moves if move.point == id]
        point = self.point(id) if moves else None
        voices = point.voices if point else ()
        satisfied: set[str] = set()
        by = ""
        for move in moves:
            if move.by in voices:
                given_up = move.kind in GIVEN_UP and move.after != UNPROVEN
                (satisfied.add if given_up else satisfied.discard)(move.by)
                if given_up and not satisfied.issuperset(voices):
                    continue
            if now in ("conceded", UNPROVEN):
                slipped = self._walks_back(move)
                pressed = move.kind in ("maintain", "contest") and (now == "conceded" or move.by != by)
                if slipped or pressed or (now == "conceded" and (move.kind == "resolve" or move.after == UNPROVEN)):
                    continue
            now, by = move.after, move.by
        return now

    def severity(self, id: str) -> str:
        """How severe a point was when last weighed, or else raised. A move that walks back a concession is left out."""
        point = self.point(id)
        if point is None:
            return ""
        weighed = (m for m in reversed(self.moves) if m.severity and m.point == point.id)
        return next((m.severity for m in weighed if not self._walks_back(m)), point.severity)

    def final_status(self, id: str) -> Status:
        """The status at the end of a debate, when no more answers come."""
        status = self.status(id)
        return "unanswered" if status == "raised" else status

    def shown_status(self, id: str) -> str:
        """The final status for reports, with a mark on a settled point that its author still contests."""
        point, status = self.point(id), self.final_status(id)
        return f"{status}, contested" if point and status in SETTLED and self.contested(point) else status

    @property
    def open(self) -> tuple[Point, ...]:
        return tuple(p for p in self.points if self.status(p.id) not in SETTLED or self.contested(p))

    @property
    def agreed(self) -> tuple[Point, ...]:
        """The points that were conceded or resolved, and are not contested any more."""
        return tuple(p for p in self.having("conceded", "resolved") if not self.contested(p))

    def contested(self, point: Point) -> bool:
        """Whether a seat that raised the point still objects at the end, or contests the answer in its last move."""
        if point.id in self.held:
            return True
        last = {m.by: m.kind for m in self.moves if m.point == point.id}
        return any(last.get(voice) == "contest" for voice in point.voices)

    def having(self, *wanted: Status) -> tuple[Point, ...]:
        return tuple(p for p in self.points if self.status(p.id) in wanted)

    @property
    def unsupported(self) -> tuple[Claim, ...]:
        return tuple(c for c in self.claims if c.unsupported)

    def rerun(self, id: str, version: int) -> Rerun | None:
        """What the check of a point did on a later version; None if it was not run there."""
        wanted = self.issue_of(id)
        return next((one for one in reversed(self.reruns) if (one.point, one.version) == (wanted, version)), None)

    @property
    def checks(self) -> tuple[tuple[str, CodeCheck], ...]:
        """Every check of every participant, with the id of the claim or point that it is about."""
        said: Sequence[Claim | Point] = (*self.claims, *(one for p in self.points for one in p.wordings))
        own = [(one.id, one.check) for one in said if one.check]
        return (*own, *((m.point, m.check) for m in self.moves if m.check))

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Every citation of every participant."""
        holders: Sequence[Claim | Point | Move] = (*self.claims, *self.points, *self.answers)
        return tuple(e for holder in holders for e in holder.evidence)

    def marks(self) -> dict[str, int]:
        """The number of citations with each mark."""
        out: dict[str, int] = {}
        for evidence in self.evidence:
            out[evidence.mark or "unchecked"] = out.get(evidence.mark or "unchecked", 0) + 1
        return out

    def ids(self) -> frozenset[str]:
        return frozenset([c.id for c in self.claims] + self.point_ids)


def unplaced(point: Point) -> Move:
    """The move for an objection that repeats a point which does not exist. It never becomes a new point."""
    return Move(
        point.same_as,
        "maintain",
        point.by,
        point.round,
        point.text,
        point.evidence,
        severity=point.severity,
        objection=True,
        action=point.action,
        fix=point.fix,
        check=point.check,
    )


def distinct(said: Iterable[Point]) -> list[Point]:
    """The points, without those in which a seat only repeats its own words."""
    out: dict[tuple[object, ...], Point] = {}
    for point in said:
        places = tuple(e.place for e in point.evidence)
        out.setdefault((point.by, _squeezed(point.text), point.action, point.fix, places), point)
    return list(out.values())


def overlap(a: Point, b: Point) -> bool:
    """Whether two points cite the same lines. That makes them similar, never the same."""
    return any(_overlap(_place(x), _place(y)) for x in a.evidence for y in b.evidence)


def similar(points: Sequence[Point]) -> dict[str, list[str]]:
    """The ids of points that cite the same lines as other points, each with the ids of those others."""
    by_path: dict[str, list[tuple[str, tuple[str, int, int]]]] = {}
    for point in points:
        for place in {_place(e) for e in point.evidence}:
            if place[1]:
                by_path.setdefault(place[0], []).append((point.id, place))
    out: dict[str, list[str]] = {}
    for rows in by_path.values():
        for id, place in rows:
            others = (other for other, there in rows if other != id and _overlap(place, there))
            out[id] = list(dict.fromkeys([*out.get(id, ()), *others]))
    return {id: others for id, others in out.items() if others}


def _issue(said: tuple[Point, ...]) -> Point:
    """One issue out of the points that belong to it."""
    if len(said) == 1:
        return said[0]
    return replace(
        said[0],
        voices=tuple(dict.fromkeys(p.by for p in said)),
        severity=min(p.severity for p in said),
        evidence=tuple(dict.fromkeys(e for p in said for e in p.evidence)),
        action=next((p.action for p in said if p.action), ""),
        fix=next((p.fix for p in said if p.fix), ""),
        check=strongest(p.check for p in said),
        said=said,
    )


def _is_said(words: str, said: Sequence[Point]) -> bool:
    return any(_plain(one.text) == words for one in said)


def _same_matter(point: Point, issue: Point) -> bool:
    """Whether a point in the words of an issue is about the same document and place."""
    # An author who says the same twice in one reply means two issues if the places or categories differ.
    twice = [one for one in issue.wordings if (one.by, one.round) == (point.by, point.round)]
    if any(_category_and_places(one) != _category_and_places(point) for one in twice):
        return False
    alike = [one for one in issue.wordings if _plain(one.text) == _plain(point.text)]
    return not all(_elsewhere(point, one) for one in alike)


def _category_and_places(point: Point) -> tuple[str, ...]:
    return (point.category, *(e.place for e in point.evidence))


def _elsewhere(a: Point, b: Point) -> bool:
    """Whether two points are about different claims or documents, or cite different places in files or sections."""
    if a.about and b.about and a.about != b.about:
        return True
    here, there = ([place for e in p.evidence if (place := _located(e.place))] for p in (a, b))
    return bool(here and there) and not any(_meets(x, y) for x in here for y in there)


@lru_cache(maxsize=4096)
def _located(place: str) -> Place | None:
    """A place in a file or a section; None for a commit, a URL and other evidence, which is not where the issue is."""
    from rebut.core.citation_syntax import understand

    found = understand(place)
    return found if found.kind in ("file", "section") else None


def _meets(a: Place, b: Place) -> bool:
    same = (a.kind, a.path.removeprefix("./"), a.name.casefold()) == (
        b.kind,
        b.path.removeprefix("./"),
        b.name.casefold(),
    )
    whole = not a.start or not b.start
    return same and (whole or (a.start <= b.end and b.start <= a.end))


_squeezed = lru_cache(maxsize=4096)(squeeze)


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """The words of a text for comparison: without case, white space and the punctuation at its end."""
    return squeeze(text).casefold().rstrip(" .,;:!?…")


def _id(entry: Entry, before: Ledger, after: Ledger) -> str:
    """The id of the entry that turned `before` into `after`; empty if it matches no point."""
    match entry:
        case Claim():
            return after.claims[-1].id
        case Point() if len(after.unmatched) > len(before.unmatched):
            return ""
        case Point() if len(after.points) > len(before.points):
            return after.points[-1].id
        case Point():  # joined to an earlier issue, which was pressed again or has one more wording
            if len(after.moves) > len(before.moves):
                return after.moves[-1].point
            return next(new.id for old, new in zip(before.points, after.points, strict=True) if old != new)
        case Move(objection=True):
            return ""
        case _:
            found = after.point(entry.point)
            return found.id if found else ""


def baseless(evidence: Sequence[Evidence]) -> bool:
    """Whether a statement rests on a citation that is absent: nothing that it quotes was found."""
    marks = {e.mark for e in evidence}
    return "absent" in marks and not marks & {"found", "moved"}


def _place(evidence: Evidence) -> tuple[str, int, int]:
    return _parsed(evidence.place)


@lru_cache(maxsize=4096)
def _parsed(place: str) -> tuple[str, int, int]:
    found = re.fullmatch(r"(.+?)(?:[:#]L?(\d+)(?:[-–]L?(\d+))?)?", place.strip(), re.S)
    if found is None:  # nothing but white space
        return "", 0, 0
    start = int((found[2] or "0")[:9])
    return found[1].removeprefix("./"), start, int((found[3] or found[2] or "0")[:9])


def _overlap(a: tuple[str, int, int], b: tuple[str, int, int]) -> bool:
    # A place without lines is too wide to conclude that two points mean the same.
    return a[0] == b[0] and a[1] > 0 and b[1] > 0 and a[1] <= b[2] and b[1] <= a[2]


def with_evidence(entry: Entry) -> Entry:
    """The entry with its citations as `Evidence`: protocols may pass the citations of a form unchanged."""
    if isinstance(entry, Unspoken):
        return entry
    cited: Sequence[Any] = entry.evidence
    if type(cited) is tuple and all(type(e) is Evidence for e in cited):
        return entry
    return replace(entry, evidence=tuple(e if isinstance(e, Evidence) else e.evidence() for e in cited))


def said(entry: Entry) -> str:
    """The prose of an entry, which may contain more citations."""
    if isinstance(entry, Unspoken):
        return ""
    return entry.reason if isinstance(entry, Move) else entry.text


def to_json(entry: Entry) -> dict[str, Json]:
    """An entry for the record."""
    return {"entry": type(entry).__name__.lower(), **_row(entry)}


def _row(entry: Entry) -> dict[str, Json]:
    row: dict[str, Json] = as_row(entry)
    if isinstance(entry, Point):
        row["said"] = [_row(one) for one in entry.said]
    for name in LATER.get(type(entry), ()):
        if not row[name]:
            del row[name]
    return row


LATER: Mapping[type[Entry], tuple[str, ...]] = {
    Claim: ("check",),
    Point: ("action", "fix", "said", "was", "check"),
    Move: ("severity", "proof", "action", "fix", "check"),
}
"""Fields that older records lack: omitted where they are empty, so that an old entry has its old fingerprint."""
KINDS: Mapping[str, type[Entry]] = {kind.__name__.lower(): kind for kind in (Claim, Point, Move, Slip, Same, Rerun)}


def from_json(data: Mapping[str, Any]) -> Entry:
    """Read an entry back."""
    kind, parts = KINDS[data["entry"]], dict[str, Any]()
    if kind in LATER:
        parts["evidence"] = tuple(Evidence(**row) for row in data.get("evidence", ()))
        parts["check"] = check_of(data)
    if data.get("said"):
        parts["said"] = tuple(from_json({"entry": "point", **one}) for one in data["said"])
    return remade(kind, data, **parts)


def noun_in(data: Mapping[str, Any]) -> str:
    """What a recorded ledger calls a point. Sessions of 0.1 did not record it; only reviews used the letter F."""
    return str(data.get("noun") or ("finding" if data.get("letter") == "F" else "point"))


def ledger_to_json(ledger: Ledger) -> dict[str, Json]:
    """The folded ledger, with the status of each point, for outcomes and `--json`."""
    return {
        "letter": ledger.letter,
        "noun": ledger.noun,
        "claims": [_row(c) for c in ledger.claims],
        "points": [{**_row(p), "status": ledger.final_status(p.id)} for p in ledger.points],
        "moves": [_row(m) for m in ledger.moves],
        "unmatched": [_row(m) for m in ledger.unmatched],
        "slips": [_row(s) for s in ledger.slips],
        **({"joined": [_row(one) for one in ledger.joined]} if ledger.joined else {}),
        **({"reruns": [_row(one) for one in ledger.reruns]} if ledger.reruns else {}),
        **({"held": list(ledger.held)} if ledger.held else {}),
    }


def ledger_from_json(data: Mapping[str, Any]) -> Ledger:
    """Read a folded ledger back."""

    def all_of(name: str, kind: str) -> tuple[Any, ...]:
        return tuple(from_json({"entry": kind, **row}) for row in data.get(name, ()))

    return Ledger(
        letter=data.get("letter", "P"),
        noun=noun_in(data),
        claims=all_of("claims", "claim"),
        points=all_of("points", "point"),
        moves=all_of("moves", "move"),
        unmatched=all_of("unmatched", "move"),
        slips=all_of("slips", "slip"),
        joined=all_of("joined", "same"),
        reruns=all_of("reruns", "rerun"),
        held=tuple(map(str, data.get("held", ()))),
    )
