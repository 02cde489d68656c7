"""A ledger and the answers of a debate as text: for prompts, Markdown files and the terminal.

The layout is the same for every protocol. A `Vocabulary` holds a protocol's own words for severities and moves:

    B1 (Architect, round 1; strong, design, about C2; conceded): what is wrong — src/a.py:3 "x = 1" [found]
       Operator, round 2, the same (strong): what is wrong, in the words of another — src/a.py:4 [located]
       Lead, round 2, accept: the reason — src/a.py:5 [located]
       note: Lead took its concession back without new evidence in round 3
       note: B2 cites the same lines; these are separate points
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from rebut.core.frozen import frozen
from rebut.core.lazy_pattern import LazyPattern
from rebut.core.markdown import backticks, inline, tame
from rebut.core.text import cut, squeeze
from rebut.domain import checks
from rebut.domain.ledger import Claim, Evidence, Ledger, Move, Point, distinct, similar

CITES_NOTHING = " (cites nothing)"
SLIPS = {"walked back": "took its concession back without new evidence", "dropped": "dropped it without a reason"}
LONGEST_CELL = 300
FIRST_WORDS = 60
ENDLESS = 1_000_000


@frozen
class Vocabulary:
    """A protocol's words for what its ledger holds. A severity or move without a word is called as in the ledger."""

    severities: Mapping[str, str] = field(default_factory=dict)
    moves: Mapping[str, str] = field(default_factory=dict)
    moves_of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By seat: its words for moves, where they differ from `moves`."""
    needs_evidence: Collection[str] = ()
    """Kinds of moves that are marked if they cite nothing."""

    def severity(self, point: Point) -> str:
        return self.severities.get(point.severity, point.severity)

    def move(self, move: Move) -> str:
        return self.moves_of.get(move.by, self.moves).get(move.kind, move.kind)


PLAIN = Vocabulary()


# the ledger


def evidence(cited: Sequence[Evidence], none: str = "") -> str:
    """The citations behind a statement: ` — src/a.py:3 "x = 1" [found]; …`."""
    return f" — {'; '.join(e.shown for e in cited)}" if cited else none


def claim_line(claim: Claim) -> str:
    return f"{claim.id}: {squeeze(claim.text)}{evidence(claim.evidence, CITES_NOTHING)}{below(claim.check)}"


def point_line(point: Point, words: Vocabulary = PLAIN) -> str:
    """A point as it was raised; an issue in every wording."""
    return "\n".join(_issue(point, f"{words.severity(point)}, {point.category}", words))


def move_line(move: Move, words: Vocabulary = PLAIN) -> str:
    return f"{move.point} {words.move(move)}: {_reason(move, words)}"


def claims(found: Iterable[object]) -> str:
    """The claims among some entries, one bullet each."""
    return "\n".join(f"- {claim_line(c)}" for c in found if isinstance(c, Claim))


def raised(found: Iterable[object], words: Vocabulary = PLAIN) -> str:
    """The points among some entries as they were raised, one bullet each."""
    return "\n".join(f"- {point_line(p, words)}" for p in found if isinstance(p, Point))


def moves(found: Iterable[Move], words: Vocabulary = PLAIN) -> str:
    return "\n".join(f"- {move_line(m, words)}" for m in found)


def points(
    ledger: Ledger,
    words: Vocabulary = PLAIN,
    *,
    only: Sequence[Point] | None = None,
    name: Callable[[str], str] = str,
    status: Callable[[str], str] | None = None,
    answers: Literal["none", "last", "all"] = "last",
    quoted_since: int = ENDLESS,
) -> list[str]:
    """Points with their status and, indented below each, the moves on it: none, the last of each seat, or all.

    A point of round `quoted_since` or later is quoted elsewhere in the prompt, so only its first words are shown.
    """
    rows, alike, moves = list[str](), similar(ledger.points), ledger.answers
    for p in ledger.points if only is None else only:
        # A record of rebut 0.1 may have a second voice without its words.
        who = f"{' and '.join(name(seat) for seat in ([p.by] if p.said else p.voices))}, round {p.round}"
        about = f", about {name(p.about)}" if p.about else ""
        kind = f"{words.severity(p)}, {p.category or 'no category'}{about}"
        stands = (status or ledger.status)(p.id)
        if p.round >= quoted_since and not p.said:  # all wordings of an issue are shown
            rows.append(f"{p.id} ({words.severity(p)}{about}; {stands}): {cut(p.text, FIRST_WORDS)}")
        else:
            rows += _issue(p, f"{who}; {kind}; {stands}", words, name)
        said = [m for m in moves if m.point == p.id and answers != "none"]
        for m in said if answers == "all" else {m.by: m for m in said}.values():
            rows.append(f"   {name(m.by)}, round {m.round}, {words.move(m)}: {_reason(m, words)}")
        for again in (one for one in ledger.reruns if one.point == p.id):
            # A check runs again on the first version only for a finding of an earlier review.
            on = f"version {again.version}" if again.version > 1 else "the change as it is now"
            rows.append(f"   the check on {on}: {again.side or 'not run'}{_because(again.note)}")
        for slip in dict.fromkeys(s for s in ledger.slips if s.point == p.id):
            rows.append(f"   note: {name(slip.by)} {SLIPS[slip.kind]} in round {slip.round}")
        for same in (one for one in ledger.joined if ledger.issue_of(one.point) == p.id):
            rows.append(
                f"   note: {name(same.by)} said in round {same.round} that {same.point} is the same as {same.same_as}"
            )
        if others := alike.get(p.id):
            cite = "cites" if len(others) == 1 else "cite"
            rows.append(f"   note: {', '.join(others)} {cite} the same lines; these are separate points")
    return rows


def raised_by(ledger: Ledger, seat: str, round: int, words: Vocabulary = PLAIN) -> str:
    """The points of a seat in a round, one bullet each, with objections that repeat a point which does not exist."""
    rows = [f"- {row}" for row in unplaced_by(ledger, seat, round, words)]
    return "\n".join([*filter(None, [raised(ledger.raised_by(seat, round), words)]), *rows])


def unplaced_by(ledger: Ledger, seat: str, round: int, words: Vocabulary = PLAIN) -> list[str]:
    """Objections of a seat in a round that repeat a point which does not exist."""
    lost = [m for m in ledger.unplaced if (m.by, m.round) == (seat, round)]
    return [f"repeats {m.point}, which does not exist: {_reason(m, words)}" for m in lost]


def unplaced(found: Iterable[Move], words: Vocabulary = PLAIN, name: Callable[[str], str] = str) -> list[str]:
    """Objections that name a point which does not exist, for a prompt: in their own words, and marked."""
    return [
        f"no id ({name(m.by)}, round {m.round}; {words.severities.get(m.severity, m.severity) or 'no severity'};"
        f" names {m.point}, which does not exist): {_reason(m, words)}"
        for m in found
    ]


def unmatched(ledger: Ledger, name: Callable[[str], str] = str) -> list[str]:
    """A note for each answer to a point that does not exist."""
    return [f"note: {name(m.by)} answered {m.point}, which does not exist" for m in ledger.unmatched]


def table(ledger: Ledger, severities: Mapping[str, str] | None = None) -> list[str]:
    """Claims and points as the rows of a Markdown table. `severities` are those at the end of a review, by id."""
    rows = ["| id | who | what | status | evidence |", "|---|---|---|---|---|"]
    for c in ledger.claims:
        rows.append(_cells(c.id, c.by, c.text, "unsupported" if c.unsupported else "", _shown(c)))
    for p in ledger.points:
        severity = (severities or {}).get(p.id) or ledger.severity(p.id)
        status = severity if severity == p.severity else f"{severity}, raised as {p.severity}"
        status += f", {ledger.shown_status(p.id)}" + (", struck" if p.struck else "")
        # An issue of several wordings has a row for each; a record of rebut 0.1 may lack them.
        for one in distinct(p.wordings):
            who = one.by if p.said else ", ".join(p.voices)
            rows.append(_cells(p.id, who, one.text, status, _shown(one)))
    return rows


def cell(value: object) -> str:
    """A value for a table: on one line, and without a bar that would end the cell."""
    return re.sub(r"(?<!\\)\|", r"\|", inline(cut(str(value), LONGEST_CELL)))


def _issue(issue: Point, tags: str, words: Vocabulary, name: Callable[[str], str] = str) -> list[str]:
    """A row for every wording, the first one with the id."""
    first, *others = distinct(issue.wordings)
    rows = [f"{issue.id} ({tags}): {_wording(first)}"]
    for one in others:
        again = f"{name(one.by)}, round {one.round}{one.raised_as}, the same ({words.severity(one)})"
        rows.append(f"   {again}: {_wording(one)}")
    return rows


def _wording(point: Point) -> str:
    return f"{squeeze(point.text)}{evidence(point.evidence, CITES_NOTHING)}{_remedy(point)}{below(point.check)}"


def below(check: checks.CodeCheck | None) -> str:
    """The check of a statement, on lines of its own below it."""
    return "\n" + "\n".join(checks.check_rows(check)) if check else ""


def _remedy(objection: Point | Move) -> str:
    """What the author of an objection would do about it, and the text that should replace the cited lines."""
    to_do = f" To do: {squeeze(objection.action)}" if objection.action else ""
    return f"{to_do} Proposed text: {objection.fix}" if objection.fix else to_do


def _reason(move: Move, words: Vocabulary) -> str:
    none = CITES_NOTHING if move.kind in words.needs_evidence else ""
    return f"{squeeze(move.reason)}{evidence(move.evidence, none)}{_remedy(move)}{below(move.check)}"


def _because(note: str) -> str:
    return f" ({note})" if note else ""


def _shown(said: Claim | Point) -> str:
    check = [f"check {said.check.verdict}"] if said.check else []
    return "; ".join([*(e.shown for e in said.evidence), *check])


def _cells(*values: object) -> str:
    return f"| {' | '.join(cell(value) for value in values)} |"


# lists with a title


def bullets(title: str, items: Iterable[str], none: str = "") -> str:
    """A title with its bullets right below it, as in prompts. Without items: `none`, or no title either."""
    rows = [f"- {squeeze(item)}" for item in items if squeeze(item)] or [none]
    return "\n".join([title, *rows]) if rows[0] else ""


def section(heading: str, items: Iterable[str], none: str = "- none") -> str:
    """A heading of a Markdown document and its bullets, whose text cannot open a heading of its own."""
    rows = [f"- {inline(item)}" for item in items if squeeze(item)] or [none]
    return "\n".join([heading, "", *rows]) if rows[0] else ""


# an answer, whatever its form

LEADS = ("text", "argument", "position", "document", "question", "point", "summary", "reason", "reasoning")
"""Fields that hold what is said; the others describe it."""
TAGS = dict.fromkeys(("severity", "category", "move", "ruling", "choice", "verdict", "strength", "confidence"), "") | {
    "about": "about",
    "same_as": "the same as",
    "raised_as": "raised as",
}
"""Fields of a word or two, and what is written before them."""
EMPTY: tuple[Any, ...] = (None, "", [], {}, False)


@frozen
class Row:
    """A part of an answer: a paragraph, a label with or without a value behind it, a diff, or an item below a label."""

    kind: Literal["text", "label", "item", "diff"]
    text: str
    label: str = ""


class Known:
    """What the ledger knows of the parts of an answer: their ids, and the marks of their citations.

    Two seats may use the same words about different documents; then the ids of the `seat` that answered count.
    """

    def __init__(self, ledger: Ledger, seat: str = "") -> None:
        said: list[Claim | Point] = [*ledger.claims, *(one for p in ledger.points for one in p.wordings)]
        self._ids = {squeeze(one.text): one.id for one in sorted(said, key=lambda one: one.by == seat)}
        cited = [e for e in (*ledger.evidence, *(e for m in ledger.unmatched for e in m.evidence)) if e.mark]
        self._cited = {(e.place, e.quote): e for e in cited}
        # The ledger has the corrected place of a quote that was moved; the answer has the place as it was given.
        moved = [e for e in cited if e.mark == "moved" and e.quote]
        self._moved = {("", e.quote): e for e in moved} | {(_path(e.place), e.quote): e for e in moved}

    def id_of(self, text: str) -> str:
        return self._ids.get(squeeze(text), "")

    def evidence(self, cites: Sequence[Mapping[str, Any]]) -> str:
        named = [(str(one.get("place", "")), str(one.get("quote") or "")) for one in cites]
        return evidence([self._checked(place, quote) or Evidence(place, quote) for place, quote in named])

    def _checked(self, place: str, quote: str) -> Evidence | None:
        found = self._cited.get((place, quote)) or self._moved.get((_path(place), quote))
        return found or self._moved.get(("", quote))


def _path(place: str) -> str:
    """A place without its lines."""
    return re.sub(r"[:#]L?\d.*$", "", place.strip()).removeprefix("./")


HUNK = LazyPattern(r"(?m)^@@ -\d")
"""How a hunk of a diff begins."""
CONCLUSIONS = ("position", "verdict", "winner", "choice", "answer", "decision")


def answer(value: Any, known: Known) -> Iterator[Row]:
    """A recorded answer as paragraphs, labels and items. Needs no code of the protocol."""
    if not isinstance(value, dict):
        yield Row("text", str(value))
        return
    # Forms ask for reasons first; people read the conclusion first.
    for name, item in sorted(value.items(), key=lambda one: one[0] not in CONCLUSIONS):
        label = name.replace("_", " ")
        if item in EMPTY and item is not False:
            continue
        if _are_citations(item):
            yield Row("label", known.evidence(item).removeprefix(" — "), label)
        elif isinstance(item, list):
            yield Row("label", "", label)
            yield from (Row("item", _item(one, known)) for one in item)
        elif isinstance(item, dict):
            yield Row("label", "", label)
            for key, one in item.items():
                if one not in EMPTY:
                    yield Row("item", f"{key.replace('_', ' ')}: {_nested(one, known)}")
        elif name in LEADS:
            yield Row("text", str(item))
        elif isinstance(item, str) and HUNK.search(item):
            yield Row("diff", item.strip("\n"), label)
        else:
            yield Row("label", _word(item), label)


def markdown(value: Any, known: Known) -> str:
    """A recorded answer as Markdown."""
    blocks: list[str] = []
    last = ""
    for row in answer(value, known):
        if row.kind == "diff":
            fence = backticks(row.text)
            blocks.append(f"**{inline(row.label)}:**\n\n{fence}diff\n{row.text}\n{fence}")
        elif row.kind == "item":
            blocks[-1] += f"{chr(10) if last == 'item' else chr(10) * 2}- {inline(row.text)}"
        else:
            blocks.append(
                tame(row.text) if row.kind == "text" else f"**{inline(row.label)}:** {inline(row.text)}".rstrip()
            )
        last = row.kind
    return "\n\n".join(blocks)


def _item(one: Any, known: Known) -> str:
    """An item of a list: its id, short remarks in brackets, what it says, then what it cites."""
    if not isinstance(one, dict):
        return squeeze(_word(one))
    fields = {k: v for k, v in one.items() if v not in EMPTY}
    lead = next((k for k in LEADS if isinstance(fields.get(k), str)), "")
    said = squeeze(str(fields.pop(lead))) if lead else ""
    id = str(fields.pop("id", "")) or known.id_of(said)
    tags, more, cited = list[tuple[int, str]](), list[str](), ""
    for name, item in fields.items():
        if _are_citations(item):
            cited += known.evidence(item)
        elif name == "check" and isinstance(item, dict) and "code" in item:
            more.append(f"check: {item.get('runner')}, {_claim(item)}")  # its code is in the ledger, with its mark
        elif isinstance(item, str) and name in TAGS:
            tags.append((list(TAGS).index(name), f"{TAGS[name]} {item}".strip()))
        else:
            more.append(f"{name.replace('_', ' ')}: {_nested(item, known)}")
    named = ", ".join(tag for _, tag in sorted(tags))
    head = " ".join(part for part in (id, f"({named})" if named else "") if part)
    body = ". ".join([*(part.rstrip(".") for part in (said, *more)[:-1] if part), (said, *more)[-1]])
    return ": ".join(part for part in (head, body) if part) + cited


def _claim(check: Mapping[str, Any]) -> str:
    return checks.CodeCheck("", "", check.get("shows", ""), str(check.get("prints", ""))).claim


def _nested(item: Any, known: Known) -> str:
    return "; ".join(_item(one, known) for one in item) if isinstance(item, list) else _item(item, known)


def _are_citations(item: Any) -> bool:
    return isinstance(item, list) and bool(item) and all(isinstance(one, dict) and "place" in one for one in item)


def _word(item: Any) -> str:
    return {True: "yes", False: "no"}[item] if isinstance(item, bool) else str(item)
