"""The debate log, the audit trail of a phase. Plan and review share the file; each session owns its section."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rebut.core.frozen import frozen
from rebut.core.markdown import inline
from rebut.core.text import counted, cut, squeeze
from rebut.protocols.revise.render import places, tally
from rebut.protocols.revise.settings import PLAN, REVIEW, STAGES, Stage
from rebut.protocols.revise.state import Critiqued, Revised, ReviseState, RoundSoFar

SUMMARY = 200
CONFIGURED = re.compile(r"^- (?P<name>Plan strategy|Review strategy|Max rounds): (?P<value>.*)$", re.M)


@frozen
class LogNames:
    """The names of authors and files in a log: the real ones, or neutral ones for a prompt."""

    authors: Sequence[str]
    path: Callable[[str], str]
    """The real path of a file → the path that the log shows."""
    reasons: bool = True
    """Whether to say why an author failed: providers' messages do not belong in a prompt."""
    notes: Sequence[str] = ()
    """What a reader of the file must know: settings that were clamped, and the fallbacks that answered."""

    def said(self, text: str) -> str:
        """A text of others on one line, escaped for Markdown; in a prompt it is between fences and needs no escapes."""
        return inline(text) if self.reasons else squeeze(text)

    def failed(self, why: str) -> str:
        return f"failed ({inline(why)})" if self.reasons else "failed"


def document(state: ReviseState, naming: LogNames) -> str:
    """The whole log, as if this session were the only one that writes it."""
    mine, other = state.settings.strategy, state.settings.other
    strategies = {stage.name: mine if stage is state.stage else other for stage in STAGES.values()}
    return _whole(state.phase, strategies, str(state.planned), {state.stage.name: section(state, naming)})


def merged(state: ReviseState, naming: LogNames) -> Callable[[str], str]:
    """Return a function that adds this section to a log, and keeps the other stage's section if there is one."""

    def merge(existing: str) -> str:
        other = REVIEW if state.stage is PLAN else PLAN
        theirs = _section_of(existing, other)
        if not theirs:
            return document(state, naming)
        found = {match["name"]: match["value"] for match in CONFIGURED.finditer(existing)}
        other_strategy = found.get(f"{other.name.capitalize()} strategy", state.settings.other)
        strategies = {state.stage.name: state.settings.strategy, other.name: other_strategy}
        rounds = {other.name: _rounds_of(found.get("Max rounds", ""), other), state.stage.name: state.planned}
        said = ", ".join(f"{rounds[stage]} ({stage})" for stage in STAGES)
        shown = str(state.planned) if len(set(rounds.values())) == 1 else said
        return _whole(state.phase, strategies, shown, {other.name: theirs, state.stage.name: section(state, naming)})

    return merge


def section(state: ReviseState, naming: LogNames) -> str:
    rows = [f"## {state.stage.title}", *(f"- Note: {inline(note)}" for note in naming.notes)]
    for played in state.rounds:
        rows += [*_round(played, naming), ""]
    if state.over:
        rows += _outcome(state, naming)
    return "\n".join(rows).rstrip("\n")


def _round(played: RoundSoFar, naming: LogNames) -> list[str]:
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
            rows.append(f"- {name} revision: {naming.path(made.version.path)} (changes: {naming.said(_changes(made))})")
            notes += [f"{name} revision, accepted as it is: {complaint}" for complaint in made.complaints]
        elif why := played.failed.get(("revision", by)):
            rows.append(f"- {name} revision: {naming.failed(why)}")
    if played.complete:
        found = f"converged — {played.convergence}" if played.convergence else "not converged"
        rows.append(f"- Convergence check: {found}")
    return rows + [f"- Note: {naming.said(note)}" for note in notes]


def counts(done: Critiqued) -> str:
    return f"{len(done.text.split())} words, {counted(len(done.weaknesses), 'weakness', 'weaknesses')}"


def _changes(made: Revised) -> str:
    return cut(made.form.summary or "none described", SUMMARY)


def _outcome(state: ReviseState, naming: LogNames) -> list[str]:
    early = state.converged if state.complete < state.planned else ""
    show = naming.reasons or state.settled or not state.cut_short
    why = (state.cut_short if show else "an author failed") or early
    rows = ["### Outcome", f"- Rounds completed: {state.complete} of {state.planned}"]
    rows.append(f"- Early termination: {f'yes — {naming.said(why)}' if why else 'no'}")
    for author, name in enumerate(naming.authors):
        if author in state.missing:
            rows.append(f"- Final {name} version: none, {naming.failed(state.missing[author])}")
            continue
        stale = f" (stale: {naming.said(state.stale[author])})" if author in state.stale else ""
        rows.append(f"- Final {name} version: {naming.path(state.latest(author).path)}{stale}")
    for author, name in enumerate(naming.authors):
        claims = () if author in state.missing else state.latest(author).claims
        if any(one.mark == "absent" for one in places(claims)):
            rows.append(f"- Note: the final {name} version cites {naming.said(tally(claims))}")
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
