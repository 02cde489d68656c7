"""The debate log: the audit trail of a phase. Plan and review share the file, each session owning its section."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rebut.core.text import cut, squeeze
from rebut.protocols.revise.prose import places, tally
from rebut.protocols.revise.stages import PLAN, REVIEW, STAGES, Stage
from rebut.protocols.revise.state import Course, Critiqued, Played, Revised

SUMMARY = 200
Told = Callable[[str], str]
CONFIGURED = re.compile(r"^- (?P<name>Plan strategy|Review strategy|Max rounds): (?P<value>.*)$", re.M)


@dataclass(frozen=True, slots=True)
class Naming:
    """How a log calls the authors and their files: as they are, or neutrally in a prompt."""

    authors: Sequence[str]
    path: Told
    """A file as it was left → as the reader is told of it."""
    reasons: bool = True
    """Whether to say why somebody failed: providers' messages have no business in a prompt."""

    def failed(self, why: str) -> str:
        return f"failed ({squeeze(why)})" if self.reasons else "failed"


def document(course: Course, naming: Naming) -> str:
    """The whole log, as if this were its only session."""
    mine, other = course.settings.strategy, course.settings.other
    strategies = {stage.name: mine if stage is course.stage else other for stage in STAGES.values()}
    return _whole(course.phase, strategies, str(course.planned), {course.stage.name: section(course, naming)})


def merged(course: Course, naming: Naming) -> Callable[[str], str]:
    """What becomes of a log that holds the other stage's section already: ours is put into it, theirs stays."""

    def merge(there: str) -> str:
        other = REVIEW if course.stage is PLAN else PLAN
        theirs = _section_of(there, other)
        if not theirs:
            return document(course, naming)
        found = {match["name"]: match["value"] for match in CONFIGURED.finditer(there)}
        was = found.get(f"{other.name.capitalize()} strategy", course.settings.other)
        strategies = {course.stage.name: course.settings.strategy, other.name: was}
        rounds = {other.name: _rounds_of(found.get("Max rounds", ""), other), course.stage.name: course.planned}
        said = ", ".join(f"{rounds[stage]} ({stage})" for stage in STAGES)
        shown = str(course.planned) if len(set(rounds.values())) == 1 else said
        return _whole(course.phase, strategies, shown, {other.name: theirs, course.stage.name: section(course, naming)})

    return merge


def section(course: Course, naming: Naming) -> str:
    rows = [f"## {course.stage.title}"]
    for played in course.rounds:
        rows += [*_round(course, played, naming), ""]
    if course.over:
        rows += _outcome(course, naming)
    return "\n".join(rows).rstrip("\n")


def _round(course: Course, played: Played, naming: Naming) -> list[str]:
    rows, notes = [f"### Round {played.n}"], list[str]()
    for by, name in enumerate(naming.authors):
        head = f"{name} critique of {naming.authors[1 - by]}"
        if done := played.critiques.get(by):
            rows.append(f"- {head}: {naming.path(done.path)} ({counts(done)})")
            notes += [f"{head}: {complaint}" for complaint in done.complaints]
        elif why := played.failed.get(("critique", by)):
            rows.append(f"- {head}: {naming.failed(why)}")
    for by, name in enumerate(naming.authors):
        if made := played.revisions.get(by):
            rows.append(f"- {name} revision: {naming.path(made.version.path)} (changes: {_changes(made)})")
            notes += [f"{name} revision, accepted as it is: {complaint}" for complaint in made.complaints]
        elif why := played.failed.get(("revision", by)):
            rows.append(f"- {name} revision: {naming.failed(why)}")
    if played.complete:
        state = f"converged — {played.convergence}" if played.convergence else "not converged"
        rows.append(f"- Convergence check: {state}")
    return rows + [f"- Note: {squeeze(note)}" for note in notes]


def counts(done: Critiqued) -> str:
    words, weak = len(done.text.split()), len(done.weaknesses)
    return f"{words} words, {weak} weakness{'' if weak == 1 else 'es'}"


def _changes(made: Revised) -> str:
    return cut(made.form.summary or "none told", SUMMARY)


def _outcome(course: Course, naming: Naming) -> list[str]:
    early = course.converged if course.complete < course.planned else ""
    told = naming.reasons or course.settled or not course.cut_short
    why = (course.cut_short if told else "an author failed") or early
    rows = ["### Outcome", f"- Rounds completed: {course.complete} of {course.planned}"]
    rows.append(f"- Early termination: {f'yes — {squeeze(why)}' if why else 'no'}")
    for author, name in enumerate(naming.authors):
        if author in course.missing:
            rows.append(f"- Final {name} version: none, {naming.failed(course.missing[author])}")
            continue
        stale = f" (stale: {squeeze(course.stale[author])})" if author in course.stale else ""
        rows.append(f"- Final {name} version: {naming.path(course.latest(author).path)}{stale}")
    for author, name in enumerate(naming.authors):
        claims = () if author in course.missing else course.latest(author).claims
        if any(one.mark == "absent" for one in places(claims)):
            rows.append(f"- Note: the final {name} version cites {tally(claims)}")
    return rows


def _whole(phase: int, strategies: dict[str, str], rounds: str, sections: dict[str, str]) -> str:
    head = [f"# Debate Log — Phase {phase}", "", "## Configuration"]
    head += [f"- {stage.name.capitalize()} strategy: {strategies[stage.name]}" for stage in STAGES.values()]
    head.append(f"- Max rounds: {rounds}")
    body = [sections[stage.name] for stage in STAGES.values() if stage.name in sections]
    return "\n\n".join(["\n".join(head), *body]) + "\n"


def _section_of(text: str, stage: Stage) -> str:
    found = re.search(rf"^## {stage.title}[ \t]*$.*?(?=^## |\Z)", text, re.M | re.S)
    return found[0].rstrip("\n") if found else ""


def _rounds_of(value: str, stage: Stage) -> int:
    found = re.search(rf"(\d+) \({stage.name}\)", value) or re.match(r"(\d+)", value)
    return int(found[1]) if found else 0
