"""Checks of the replies in a revision, the headings of documents, and when a debate has converged. Pure functions."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rebut.core.text import squeeze
from rebut.domain.ledger import Ledger, Point, Severity
from rebut.protocols.revise.forms import Critique, Draft, Plan, Revision, Verdict
from rebut.protocols.shared import unknown


def draft(reply: Draft) -> list[str]:
    if not reply.document:
        return ["the document is empty"]
    return [] if sections(reply.document) else ["the document has no heading: give every section one"]


def due(ledger: Ledger, critic: str) -> list[str]:
    """Points of this critic that were answered with a defense: it may press them or give in, but not keep silent."""
    return [p.id for p in ledger.having("defended") if critic in p.voices]


def critique(ledger: Ledger, critic: str) -> Callable[[Critique], list[str]]:
    def check(reply: Critique) -> list[str]:
        wrong = []
        for kind, items in (("weakness", reply.weaknesses), ("disagreement", reply.disagreements)):
            for n, item in enumerate(items, 1):
                if not item.text:
                    wrong.append(f"{kind} {n} is empty")
                elif not item.evidence:
                    wrong.append(f"{kind} {n} names no place: a section of the document, or a file and line")
        named = spoken_of(reply)
        wrong += unknown(sorted(named), (p.id for p in ledger.points))
        wrong += [
            f"{id} was defended: raise it again (`same_as`) or concede it" for id in unspoken(ledger, critic, reply)
        ]
        return wrong

    return check


def spoken_of(reply: Critique) -> set[str]:
    again = {item.same_as for item in (*reply.weaknesses, *reply.disagreements) if item.same_as}
    return again | {c.id for c in reply.concessions if c.id}


def unspoken(ledger: Ledger, critic: str, reply: Critique) -> list[str]:
    return [id for id in due(ledger, critic) if id not in spoken_of(reply)]


def revision(ledger: Ledger, required: Sequence[str], before: str) -> Callable[[Revision], list[str]]:
    """`before` is the version that is revised, `required` the points that need an answer."""
    was = headings(before)

    def check(reply: Revision) -> list[str]:
        if not reply.document:
            return ["the document is empty: give the whole document, including what does not change"]
        wrong = difference(was, headings(reply.document))
        addressed, defended = {a.id for a in reply.addressed}, {d.id for d in reply.defended}
        wrong += [
            f"{id} is not answered: put it under `addressed` or `defended`"
            for id in required
            if id not in addressed | defended
        ]
        wrong += [f"{id} is both addressed and defended" for id in sorted(addressed & defended)]
        wrong += [f"{a.id} is addressed, but the change is not described" for a in reply.addressed if not a.change]
        wrong += [f"{d.id} is defended without a reason" for d in reply.defended if not d.reason]
        wrong += unknown(sorted(addressed | defended), (p.id for p in ledger.points))
        same = squeeze(parts(reply.document).document) == squeeze(parts(before).document)
        if addressed and same:
            wrong.append("points are addressed, but the document is word for word the same")
        return wrong

    return check


def plan(ledger: Ledger) -> Callable[[Plan], list[str]]:
    def check(reply: Plan) -> list[str]:
        wrong = [] if reply.document else ["the document is empty"]
        ruled = Counter(reply.ruled())
        wrong += [
            f"{p.id} is not accounted for: adopted, overruled or unresolved" for p in ledger.points if p.id not in ruled
        ]
        wrong += [f"{id} is accounted for more than once" for id, count in ruled.items() if count > 1]
        wrong += [f"{r.id} is overruled without a reason" for r in reply.overruled if not r.why]
        wrong += [f"{u.id} is unresolved without a tie-break" for u in reply.unresolved if not u.tie_break]
        return wrong + unknown(sorted(ruled), (p.id for p in ledger.points))

    return check


def verdict(ledger: Ledger) -> Callable[[Verdict], list[str]]:
    def check(reply: Verdict) -> list[str]:
        wrong = [f"the assessment of the {n} review is empty" for n in ("first", "second") if not getattr(reply, n)]
        wrong += [f"finding {n} is empty" for n, f in enumerate(reply.findings, 1) if not f.text]
        wrong += [f"disagreement {n} has no tie-break" for n, d in enumerate(reply.disagreement, 1) if not d.tie_break]
        said = " ".join(d.point for d in reply.disagreement).replace(":", " ").replace(",", " ").split()
        wrong += [f"{p.id} is still open: say what decides it" for p in ledger.open if p.id not in said]
        return wrong

    return check


# The headings of a document: what a revision must keep, and what stands under each. Pure functions.

COMMENT = re.compile(r"\s*<!--\s*Revision\b.*?-->[ \t]*\n?", re.S | re.I)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text up to the next one."""

    level: int
    title: str
    body: str
    at: int
    """The line on which it begins, from 0."""

    @property
    def head(self) -> str:
        return f"{'#' * self.level} {self.title}"


@dataclass(frozen=True, slots=True)
class Parts:
    """A document without what a revision puts on top of it."""

    document: str
    defense: str = ""
    """The text of its Defense section."""


def sections(text: str) -> list[Section]:
    """The sections of a Markdown document, in order. What stands before the first heading is none."""
    from markdown_it import MarkdownIt

    lines = text.split("\n")
    heads: list[tuple[int, int, int, str]] = []
    tokens = MarkdownIt("commonmark").parse(text)
    for n, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = squeeze(tokens[n + 1].content)
            heads.append((token.map[0], token.map[1], int(token.tag[1]), title))
    out = []
    for n, (at, after, level, title) in enumerate(heads):
        end = heads[n + 1][0] if n + 1 < len(heads) else len(lines)
        out.append(Section(level, title, "\n".join(lines[after:end]).strip(), at))
    return out


def headings(text: str) -> list[str]:
    return [section.head for section in sections(parts(text).document)]


def parts(text: str) -> Parts:
    """Take the revision comment and the Defense section off the top."""
    rest = COMMENT.sub("", text, count=1) if COMMENT.match(text) else text
    found = sections(rest)
    if not found or found[0].title.casefold() != "defense":
        return Parts(rest.strip("\n"))
    lines = rest.split("\n")
    after = lines[found[1].at :] if len(found) > 1 else []
    document = "\n".join([*lines[: found[0].at], *after]).strip("\n")
    return Parts(document, found[0].body)


def difference(was: Sequence[str], now: Sequence[str]) -> list[str]:
    """What is wrong with the headings of a revision, one line each; none if they are as they were."""
    if list(was) == list(now):
        return []
    out: list[str] = []
    for line in difflib.ndiff(list(was), list(now)):
        mark, heading = line[:2], line[2:]
        if mark == "- ":
            moved = heading in now
            out.append(f"the heading {heading!r} {'is not where it was' if moved else 'is gone'}")
        elif mark == "+ " and heading not in was:
            out.append(f"the heading {heading!r} is new")
    return out or ["the headings are in another order than before"]


def changed(was: str, now: str) -> tuple[int, int]:
    """How many sections of a document read differently in a later one, or are gone; and how many it had."""
    before, after = sections(parts(was).document), sections(parts(now).document)
    left = [(s.head, squeeze(s.body)) for s in after]
    count = 0
    for section in before:
        same = (section.head, squeeze(section.body))
        if same in left:
            left.remove(same)
        else:
            count += 1
    return count, len(before)


# When a debate has converged: pure functions over the ledger as the critiques of a round left it.

WEAKNESS, DISAGREEMENT = "weakness", "disagreement"
COSMETIC: Severity = "P3"


def reached(
    ledger: Ledger, round: int, authors: Sequence[str], *, weaknesses: int = 0, weightiest: Severity = COSMETIC
) -> str:
    """Why no further round is needed; empty if one is.

    `weaknesses` and `weightiest` are what the critiques themselves list. The ledger alone would pass over an item that
    names a point which is not there, and take a weakness for a disagreement where it repeats one.
    """
    if not weaknesses and not pressed(ledger, round, WEAKNESS):
        return "no weakness in either critique"
    if weightiest == COSMETIC and only_cosmetic(ledger, round):
        return "only cosmetic disagreements are left"
    if shared := conceded_by_all(ledger, round, authors):
        return f"both concede the same points ({', '.join(shared)})"
    return ""


def pressed(ledger: Ledger, round: int, kind: str) -> list[Point]:
    """Points of a kind that a critique of this round raised, or raised again."""
    again = {m.point for m in ledger.moves if m.kind == "maintain" and m.round == round}
    return [p for p in ledger.points if p.category.startswith(kind) and (p.round == round or p.id in again)]


def only_cosmetic(ledger: Ledger, round: int) -> bool:
    """At least one disagreement, and none with a severity above low or with an impact."""
    at_issue = pressed(ledger, round, DISAGREEMENT)
    return bool(at_issue) and all(_severity(ledger, p, round) == COSMETIC for p in at_issue)


def conceded_by_all(ledger: Ledger, round: int, authors: Sequence[str]) -> list[str]:
    """The points that every author concedes, where these are all that any of them concedes; from round 2 on."""
    sets = [
        {m.point for m in ledger.moves if m.round == round and m.by == author and m.kind in ("concede", "withdraw")}
        for author in authors
    ]
    if round < 2 or not sets or any(one != sets[0] for one in sets):
        return []
    return [p.id for p in ledger.points if p.id in sets[0]]


def _severity(ledger: Ledger, point: Point, round: int) -> str:
    """As grave as this round's critiques take it."""
    said = [m.severity for m in ledger.moves if m.point == point.id and m.round == round and m.severity]
    if point.round == round or not said:
        said.append(point.severity)
    return min(said)
