"""How a revision ends: each way with a heading of its own, so that a degraded one never reads as a whole one."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.debate import Debate
from rebut.outcome import Outcome
from rebut.protocols.revise.course import Course
from rebut.protocols.revise.worth import Worth
from rebut.types import Json


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
    debate: Debate, course: Course, text: str, decision: str, figures: Worth, notes: Sequence[str] = ()
) -> Outcome:
    worth = figures.markdown() if course.settings.debates else ""
    rows = figures.rows() if course.settings.debates else ()
    return Outcome(
        kind="synthesis",
        heading=heading(course, bool(debate.ledger.points or debate.ledger.unplaced)),
        decision=decision,
        conclusive=not course.cut_short and not notes,
        stopped=course.cut_short,
        final=f"{text}\n{worth}" if worth else text,
        data={**told(course), "worth": figures.to_json()},
        notes=tuple(notes),
        rows=(*rows, *_where(course)),
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
    if not course.settings.shared:
        folder += " in the session's own folder"
    elif course.settings.place:
        folder = str(course.folder)
    return (("files", "; ".join([folder, *up])),)
