"""One round: both authors critique each other's document, then both revise their own."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.domain.ledger import Claim
from rebut.domain.prompts import fill
from rebut.engine.debate import Answer, Ask, Failure, Round
from rebut.engine.protocol import Artifact
from rebut.protocols.revise import (
    convergence,
    entering,
    headings,
    prompts as words,
    prose,
    render as rendering,
    reply_checks as rules,
)
from rebut.protocols.revise.forms import Critique, Revision
from rebut.protocols.revise.material import Labels, shared
from rebut.protocols.revise.state import Course, Critiqued, Played, Revised, Version
from rebut.protocols.shared import LONG, ask_twice, told


async def play(r: Round, course: Course) -> None:
    """Play a round as far as it goes. It goes no further than the first step in which an author fails."""
    played = Played(r.n)
    course.rounds.append(played)
    await critiques(r, course, played)
    if _cut_short(course, played, "critique"):
        return
    critiqued = r.ledger
    if r.settled_before("revision"):
        r.settle(f"in round {r.n}, before its revisions")  # the critiques go to the synthesis as they are
        return
    await revisions(r, course, played)
    if _cut_short(course, played, "revision"):
        return
    forms = [one.form for one in played.critiques.values()]
    played.convergence = convergence.reached(
        critiqued,
        r.n,
        [who.seat for who in course.authors],
        weaknesses=sum(1 for form in forms for w in form.weaknesses if w.text),
        weightiest=min((d.grade for form in forms for d in form.disagreements if d.text), default="P3"),
    )


async def critiques(r: Round, course: Course, played: Played) -> None:
    before = r.ledger
    asks = []
    for by, who in enumerate(course.authors):
        check = rules.critique(before, who.seat)
        asks.append(Ask(who, _critique_prompt(r, course, by), Critique, check))
    for by, got in enumerate(await ask_twice(r, "critique", asks)):
        if isinstance(got, Failure):
            _failed(played, "critique", by, got)
            continue
        me, them = course.authors[by].seat, course.authors[1 - by].seat
        form = got.value
        entries = entering.critique(form, me, them, r.n, before)
        r.take_up({}, course.latest(1 - by).text)  # the document that this critique cites sections of
        placed = await r.enter(f"critique@{me}", entries)
        weak = sum(1 for w in form.weaknesses if w.text)
        against = sum(1 for d in form.disagreements if d.text)
        points = placed[:weak], placed[weak : weak + against]
        strong = [entry for _, entry in placed if isinstance(entry, Claim)]
        text = rendering.critique(form, *points, course.files.source(1 - by), r.n, strong)
        [path] = await r.leave(Artifact(course.path(course.files.critique(1 - by, r.n)), text))
        played.critiques[by] = Critiqued(by, form, *points, text, path, got.complaints, strong)


def _critique_prompt(r: Round, course: Course, by: int) -> str:
    labels = Labels(course.settings, course.files)
    theirs = labels.theirs(1 - by)
    due = ", ".join(rules.due(r.ledger, course.authors[by].seat)) or "none"
    seats = [who.seat for who in course.authors]
    names = ["you" if n == by else "the other" for n in range(2)]
    points = r.quote("the points so far", rendering.points(r.ledger, seats, names))
    return fill(
        words.CRITIQUE,
        **shared(r),
        noun=labels.noun,
        round=str(r.n),
        theirs=theirs,
        own=_document(r, labels.mine, course.latest(by)),
        other=_document(r, theirs, course.latest(1 - by)),
        before="" if not r.ledger.points else "\n" + fill(words.BEFORE, points=points, due=due) + "\n",
    )


def _document(r: Round, label: str, version: Version) -> str:
    """A document for a prompt, and below it what looking up its citations showed."""
    return r.quote(label, version.text) + prose.shown(r, label, version.claims)


async def revisions(r: Round, course: Course, played: Played) -> None:
    asks = []
    for by, who in enumerate(course.authors):
        critique = played.critiques[1 - by]
        required = list(dict.fromkeys(id for id, _ in critique.weaknesses if id))
        check = rules.revision(r.ledger, required, course.latest(by).text)
        asks.append(Ask(who, _revision_prompt(r, course, by, critique, required), Revision, check, max_output=LONG))
    known = [p.id for p in r.ledger.points]
    got = await ask_twice(r, "revision", asks)
    for by, one in enumerate(got):
        if isinstance(one, Failure):
            _failed(played, "revision", by, one)
        else:
            await _revised(r, course, played, by, one, known)


async def _revised(
    r: Round, course: Course, played: Played, by: int, got: Answer[Revision], known: Sequence[str]
) -> None:
    number, seat = course.latest(by).number + 1, course.authors[by].seat
    text, document = rendering.revision(got.value, number, known), headings.parts(got.value.document).document
    r.take_up({}, text)
    fresh = [claim for claim in r.cited(seat, r.n, document) if not claim.id]
    placed = await r.enter(f"revision@{seat}", [*entering.revision(got.value, seat, r.n), *fresh])
    text = rendering.revision(got.value, number, known, [entry for _, entry in placed])
    [path] = await r.leave(Artifact(course.path(course.files.version(by, number)), text))
    version = Version(number, text, path, claims=tuple(r.cited(seat, r.n, document)))
    course.versions[by].append(version)
    played.revisions[by] = Revised(by, got.value, version, got.complaints)


def _revision_prompt(r: Round, course: Course, by: int, critique: Critiqued, required: Sequence[str]) -> str:
    labels, own = Labels(course.settings, course.files), course.latest(by)
    text = rendering.critique(
        critique.form, critique.weaknesses, critique.disagreements, labels.mine, r.n, critique.strengths
    )
    listed = "\n".join(headings.headings(own.text)) or "(it has none)"
    return fill(
        words.REVISE,
        **shared(r),
        noun=labels.noun,
        round=str(r.n),
        own=_document(r, labels.mine, own),
        critique=r.quote(f"the critique of {labels.mine}", text),
        due=", ".join(required) or "there is none",
        headings=r.quote("headings", listed),
    )


def _failed(played: Played, step: str, by: int, failure: Failure) -> None:
    played.failed[step, by] = told(failure)
    if failure.kind == "budget":
        played.forbidden.add(by)


def _cut_short(course: Course, played: Played, step: str) -> bool:
    """Whether an author failed in this step; then its latest version is marked, and the rounds are over."""
    failed = [by for kind, by in played.failed if kind == step]
    if not failed:
        return False
    names = " and ".join(course.files.names[by] for by in failed)
    why = "; ".join(dict.fromkeys(played.failed[step, by] for by in failed))
    course.cut_short = f"no {step} by {names} in round {played.n} ({why})"
    behind = step == "revision" or failed[0] not in played.forbidden
    if len(failed) == 1 and behind:
        course.stale[failed[0]] = f"no {step} in round {played.n}"
    return True
