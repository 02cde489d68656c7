"""How a revision ends: each way with a heading of its own, so that a degraded one never reads as a whole one."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.types import Json
from rebut.domain.outcome import Outcome
from rebut.domain.worth import Worth
from rebut.engine.debate import Debate
from rebut.protocols.revise.prose import tally
from rebut.protocols.revise.state import Course
from rebut.protocols.revise.worth import DRAFTS, Figures


def heading(course: Course, contested: bool) -> str:
    word = "PLAN" if course.stage.name == "plan" else "REVIEW VERDICT"
    if not course.settings.debates:
        return f"{word} OUT OF TWO DRAFTS, NOT DEBATED"
    done, budget = course.complete, course.planned
    if course.cut_short:
        stale = ", ONE VERSION STALE" if course.stale else ""
        return f"{word} AFTER {done} OF {budget} ROUNDS{stale}"
    if not contested:
        word = f"UNCONTESTED {word}"
    if course.converged:
        return f"{word}, CONVERGED AFTER {done} OF {budget} ROUNDS"
    return f"{word} AFTER {done} ROUND{'' if done == 1 else 'S'}"


def ended(
    debate: Debate, course: Course, text: str, decision: str, figures: Figures, notes: Sequence[str] = ()
) -> Outcome:
    debated = course.settings.debates
    page, rows = (figures.markdown(), figures.rows()) if debated else ("", ())
    return Outcome(
        kind="synthesis",
        heading=heading(course, bool(debate.ledger.points or debate.ledger.unplaced)),
        decision=decision,
        conclusive=not course.cut_short and not notes,
        stopped=course.cut_short,
        final=f"{text}\n{page}" if page else text,
        data=told(course),
        notes=tuple(notes),
        rows=(*rows, *_where(course)),
        worth=figures.worth(course.files.names, "it ended early" if course.cut_short else "")
        if debated
        else Worth(caveat="the drafts were not debated", keys=DRAFTS),
    )


def no_synthesis(course: Course, why: str) -> Outcome:
    """The money for the closing call was not there: both documents stand side by side."""
    texts = [f"# {course.files.names[n]}\n\n{versions[-1].text}" for n, versions in enumerate(course.versions)]
    return Outcome(
        kind="no synthesis",
        heading=f"NO SYNTHESIS, {course.complete} OF {course.planned} ROUNDS",
        conclusive=False,
        stopped=why,
        final="\n\n".join(texts) + "\n",
        data=told(course),
        rows=_where(course),
        worth=Worth(caveat="there is no synthesis to hold the drafts against", keys=DRAFTS),
    )


def one_sided(course: Course) -> Outcome:
    [there] = [versions[-1] for versions in course.versions if versions]
    word = course.stage.name.upper()
    return Outcome(
        kind="one-sided",
        heading=f"ONE-SIDED {word}, 1 OF 2 AUTHORS",
        conclusive=False,
        stopped=course.cut_short,
        final=f"[WARN] Only one of two authors wrote a {course.stage.name}; nobody examined it.\n\n{there.text}",
        data=told(course),
        rows=_where(course),
        worth=Worth(caveat="only one of two authors wrote, so nothing was debated", keys=DRAFTS),
    )


def single(course: Course, notes: Sequence[str]) -> Outcome:
    return Outcome(
        kind="single",
        heading="SINGLE REVIEW, NOT DEBATED",
        conclusive=not notes,
        final=course.latest(0).text,
        data=told(course),
        notes=tuple(notes),
        rows=_where(course),
    )


def told(course: Course) -> dict[str, Json]:
    return {
        "stage": course.stage.name,
        "strategy": course.settings.strategy,
        "phase": course.phase,
        "rounds_completed": course.complete,
        "converged": course.converged,
        "stale": [course.files.names[author] for author in sorted(course.stale)],
        "taken_up": [
            course.files.version(author, 1)
            for author, versions in enumerate(course.versions)
            if versions and versions[0].taken_up
        ],
    }


def _where(course: Course) -> tuple[tuple[str, str], ...]:
    up = [f"{v[0].path.rpartition('/')[2]} was there and was taken up" for v in course.versions if v and v[0].taken_up]
    folder = "/".join(course.folder.parts[-3:])
    if course.settings.shared and course.settings.place:
        folder = str(course.folder)
    latest = [versions[-1].path for versions in course.versions if versions]
    # One document is the result itself where there was no other to set beside it.
    path = course.result_path or (latest[0] if len(latest) == 1 else "")
    # Nobody knows by heart where a session lies, so that what was asked for is named in full there.
    rows = [("result", f"{folder}/{path.rpartition('/')[2]}" if course.settings.shared else path)] if path else []
    inside = "" if course.settings.shared else ", in the session's own folder"
    return (*_cited(course), *rows, ("files", "; ".join([folder + inside, *up])))


def _cited(course: Course) -> tuple[tuple[str, str], ...]:
    """What the last version of each document cites; the result's first, where there is one."""
    named = [("result", course.result)]
    named += [(course.files.names[n], versions[-1].claims) for n, versions in enumerate(course.versions) if versions]
    rows = [f"{name} cites {cites}" for name, claims in named if (cites := tally(claims))]
    return tuple(("citations" if not n else "", row) for n, row in enumerate(rows))
