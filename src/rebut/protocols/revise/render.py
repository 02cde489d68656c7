"""How critiques and revisions read in Markdown: in their files, and in the prompts of others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rebut.core.text import cut, squeeze, tame
from rebut.domain import render as ledgers
from rebut.domain.forms import cited
from rebut.domain.ledger import Claim, Entry, Evidence, Ledger, Move, Slip, baseless
from rebut.domain.render import CITES_NOTHING, bullets, section
from rebut.engine.debate import Debate
from rebut.protocols.revise import prompts, reply_checks
from rebut.protocols.revise.forms import Critique, Dispute, Objection, Plan, Revision, Verdict
from rebut.protocols.revise.settings import PLAN, REVIEW, STAGES, Stage
from rebut.protocols.revise.state import Critiqued, Revised, ReviseState, RoundSoFar

NONE = "None."
Placed = Sequence[tuple[str, Entry]]


def critique(
    form: Critique,
    weaknesses: Placed,
    disagreements: Placed,
    source: str,
    round: int,
    strengths: Sequence[Claim] = (),
) -> str:
    """A critique under the header of its round. One line for each item, so that they can be counted."""
    looked_up = {claim.text: claim.evidence for claim in strengths}
    strong = [f"{s.text}{ledgers.evidence(looked_up.get(s.text, cited(s.evidence)))}" for s in form.strengths if s.text]
    parts = [
        f"## Critique of {source} (Round {round})",
        bullets("### Strengths", strong, NONE),
        bullets("### Weaknesses", [_objection(o, *placed) for o, placed in _paired(form.weaknesses, weaknesses)], NONE),
        bullets(
            "### Disagreements",
            [_objection(o, *placed) for o, placed in _paired(form.disagreements, disagreements)],
            NONE,
        ),
        bullets(
            "### Concessions",
            [f"{f'{c.id}: ' if c.id else ''}{c.text}" for c in form.concessions if c.text or c.id],
            NONE,
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _paired(items: Sequence[Objection], placed: Placed) -> list[tuple[Objection, tuple[str, Entry]]]:
    return list(zip([item for item in items if item.text], placed, strict=True))


def _objection(item: Objection, id: str, entry: Entry) -> str:
    evidence = () if isinstance(entry, Slip) else entry.evidence
    severity, lowered = weighed(item.severity, evidence)
    grade = severity if item.impact == "none" else f"{severity}, {item.impact}"
    text = f"{item.text}: {item.why}" if isinstance(item, Dispute) and item.why else item.text
    return f"{id or 'no such point'} ({grade}{lowered}) {text}{ledgers.evidence(evidence)}"


def weighed(severity: str, evidence: Sequence[Evidence]) -> tuple[str, str]:
    """A severity as it may stand, and why it is not as it was said: nothing is high that rests on what is absent."""
    if severity == "high" and baseless(evidence):
        return "medium", "; said to be high, but what it cites is absent"
    return severity, ""


def revision(form: Revision, number: int, known: Sequence[str], entered: Sequence[Entry] = ()) -> str:
    """The comment, the Defense where anything is defended, then the document. `entered` are its moves, looked up."""
    marked = {m.point: m.evidence for m in entered if isinstance(m, Move) and m.kind == "defend"}
    inner = reply_checks.parts(form.document)
    addressed = [a.id for a in form.addressed if a.id in known]
    defended = [d for d in form.defended if d.id in known]
    listed = f"Addressed critique points [{', '.join(addressed)}]. Defended: [{', '.join(d.id for d in defended)}]."
    top = [f"<!-- Revision v{number}: {listed} -->"]
    rows = [f"- {d.id}: {squeeze(d.reason)}{ledgers.evidence(marked.get(d.id, cited(d.evidence)))}" for d in defended]
    if inner.defense:
        rows += ["", inner.defense]  # what the author wrote there by hand is not lost
    if rows:
        top += ["", "### Defense", "", *rows]
    return "\n".join([*top, "", inner.document.strip("\n"), ""])


def points(ledger: Ledger, who: Sequence[str], names: Sequence[str]) -> str:
    """The ledger as authors and the synthesizer see it: who raised a point, by the name that the reader knows."""
    called = dict(zip(who, names, strict=True))
    # What rests on a citation that is absent is not P1, whatever its author said.
    shown = [replace(p, severity="P2") if p.severity == "P1" and p.struck else p for p in ledger.points]
    rows = ledgers.points(ledger, only=shown, name=lambda seat: called.get(seat, seat), answers="all")
    return "\n".join(rows) or "none"


# The result of a revision as a file: the plan with its synthesis notes, or the verdict of a review.

POINT = 100


def of_plan(form: Plan, ledger: Ledger, state: ReviseState) -> str:
    """The plan, then what became of each point."""
    texts = {p.id: cut(p.text, POINT) for p in ledger.points}
    ruled = set(form.ruled())

    def named(id: str) -> str:
        return f"{id} ({texts[id]})" if id in texts else f"{id} (no point of this debate)"

    notes = [
        "## Synthesis Notes",
        how(state),
        section("### Adopted", [f"{named(r.id)}: {r.how}" for r in form.adopted], NONE),
        section("### Overruled", [f"{named(r.id)}: {r.why or 'no reason given'}" for r in form.overruled], NONE),
        section(
            "### Unresolved",
            [f"{named(r.id)}. Tie-break: {r.tie_break or 'none given'}" for r in form.unresolved],
            NONE,
        ),
    ]
    if cites := tally(state.result):
        notes.append(f"### Citations\n\nThe plan cites {cites}.")
    if left := [named(id) for id in texts if id not in ruled]:
        notes.append(section("### Not accounted for by the synthesizer", left))
    return "\n\n".join([form.document.strip("\n"), *notes]) + "\n"


def of_verdict(form: Verdict, placed: Sequence[tuple[str, Entry]], state: ReviseState) -> str:
    """The verdict of a review: assessments, findings, agreement, disagreement."""
    parts = [
        "# Review Verdict",
        f"**Decision**: {form.decision}",
        tame(form.summary),
        how(state),
        "## Final Assessments",
    ]
    for author, said in enumerate((form.first, form.second)):
        name, version = state.files.names[author], state.latest(author)
        stale = f", stale: {state.stale[author]}" if author in state.stale else ""
        parts += [f"### {name} ({Path(version.path).name}{stale})", tame(said) or "None given."]
    holders = {"both": "both", "first": state.files.names[0], "second": state.files.names[1]}
    rows = []
    for finding, (id, claim) in zip([f for f in form.findings if f.text], placed, strict=True):
        assert isinstance(claim, Claim)
        why = f" Severity: {finding.why}" if finding.why else ""
        number = f"{id} " if id else ""
        severity, lowered = weighed(finding.severity, claim.evidence)
        text = f"{finding.text}{ledgers.evidence(claim.evidence, CITES_NOTHING)}"
        rows.append(f"{number}[{severity}{lowered}] ({holders[finding.held_by]}) {text}.{why}")
    parts.append(section("## Findings", rows, NONE))
    parts.append(section("## Points of Agreement", form.agreement, NONE))
    split = [f"{d.point}. Tie-break: {d.tie_break or 'none given'}" for d in form.disagreement]
    parts.append(section("## Points of Disagreement", split, NONE))
    return "\n\n".join(p for p in parts if p) + "\n"


def how(state: ReviseState) -> str:
    """How the result came about, in a sentence or two: a degraded debate never reads as a whole one."""
    if not state.settings.debates:
        return "Made out of two drafts at once; nothing was debated."
    done, budget = state.complete, state.planned
    rounds = f"{done} of {budget} round{'' if budget == 1 else 's'}"
    if state.cut_short:
        stale = [f"the version of {state.files.names[a]} is stale" for a in state.stale]
        return f"The debate was cut short after {rounds}: {'; '.join([squeeze(state.cut_short), *stale])}."
    if state.converged:
        return f"Debated for {rounds}; converged: {state.converged}."
    return f"Debated for {rounds}; not converged."


# The debate log: the audit trail of a phase. Plan and review share the file, each session owning its section.

SUMMARY = 200
Told = Callable[[str], str]
CONFIGURED = re.compile(r"^- (?P<name>Plan strategy|Review strategy|Max rounds): (?P<value>.*)$", re.M)


@dataclass(frozen=True, slots=True)
class LogNames:
    """How a log calls the authors and their files: as they are, or neutrally in a prompt."""

    authors: Sequence[str]
    path: Told
    """A file as it was left → as the reader is told of it."""
    reasons: bool = True
    """Whether to say why somebody failed: providers' messages have no business in a prompt."""

    def failed(self, why: str) -> str:
        return f"failed ({squeeze(why)})" if self.reasons else "failed"


def document(state: ReviseState, naming: LogNames) -> str:
    """The whole log, as if this were its only session."""
    mine, other = state.settings.strategy, state.settings.other
    strategies = {stage.name: mine if stage is state.stage else other for stage in STAGES.values()}
    return _whole(state.phase, strategies, str(state.planned), {state.stage.name: log_section(state, naming)})


def merged(state: ReviseState, naming: LogNames) -> Callable[[str], str]:
    """What becomes of a log that holds the other stage's section already: ours is put into it, theirs stays."""

    def merge(there: str) -> str:
        other = REVIEW if state.stage is PLAN else PLAN
        theirs = _section_of(there, other)
        if not theirs:
            return document(state, naming)
        found = {match["name"]: match["value"] for match in CONFIGURED.finditer(there)}
        was = found.get(f"{other.name.capitalize()} strategy", state.settings.other)
        strategies = {state.stage.name: state.settings.strategy, other.name: was}
        rounds = {other.name: _rounds_of(found.get("Max rounds", ""), other), state.stage.name: state.planned}
        said = ", ".join(f"{rounds[stage]} ({stage})" for stage in STAGES)
        shown = str(state.planned) if len(set(rounds.values())) == 1 else said
        return _whole(
            state.phase, strategies, shown, {other.name: theirs, state.stage.name: log_section(state, naming)}
        )

    return merge


def log_section(state: ReviseState, naming: LogNames) -> str:
    rows = [f"## {state.stage.title}"]
    for played in state.rounds:
        rows += [*_round(state, played, naming), ""]
    if state.over:
        rows += _outcome(state, naming)
    return "\n".join(rows).rstrip("\n")


def _round(state: ReviseState, played: RoundSoFar, naming: LogNames) -> list[str]:
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
        found = f"converged — {played.convergence}" if played.convergence else "not converged"
        rows.append(f"- Convergence check: {found}")
    return rows + [f"- Note: {squeeze(note)}" for note in notes]


def counts(done: Critiqued) -> str:
    words, weak = len(done.text.split()), len(done.weaknesses)
    return f"{words} words, {weak} weakness{'' if weak == 1 else 'es'}"


def _changes(made: Revised) -> str:
    return cut(made.form.summary or "none told", SUMMARY)


def _outcome(state: ReviseState, naming: LogNames) -> list[str]:
    early = state.converged if state.complete < state.planned else ""
    told = naming.reasons or state.settled or not state.cut_short
    why = (state.cut_short if told else "an author failed") or early
    rows = ["### Outcome", f"- Rounds completed: {state.complete} of {state.planned}"]
    rows.append(f"- Early termination: {f'yes — {squeeze(why)}' if why else 'no'}")
    for author, name in enumerate(naming.authors):
        if author in state.missing:
            rows.append(f"- Final {name} version: none, {naming.failed(state.missing[author])}")
            continue
        stale = f" (stale: {squeeze(state.stale[author])})" if author in state.stale else ""
        rows.append(f"- Final {name} version: {naming.path(state.latest(author).path)}{stale}")
    for author, name in enumerate(naming.authors):
        claims = () if author in state.missing else state.latest(author).claims
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


# What a document cites in its prose, and what looking it up showed: as prompts, the log and the screen tell it.

STATEMENT = 160


async def looked_up(debate: Debate, step: str, by: str, round: int, text: str) -> tuple[Claim, ...]:
    """What a document says with a place beside it, each place looked up; on record where any of it is new."""
    if fresh := [claim for claim in debate.cited(by, round, text) if not claim.id]:
        await debate.enter(step, fresh)
    return tuple(debate.cited(by, round, text))


def places(claims: Sequence[Claim]) -> list[Evidence]:
    return list(dict.fromkeys(e for claim in claims for e in claim.evidence))


def tally(claims: Sequence[Claim]) -> str:
    """`4 places: 2 found, 1 located, 1 absent (src/x.py:9)`; empty where nothing is cited."""
    cited = places(claims)
    if not cited:
        return ""
    marks: dict[str, int] = {}
    for one in cited:
        marks[one.mark] = marks.get(one.mark, 0) + 1
    absent = ", ".join(one.place for one in cited if one.mark == "absent")
    counts = ", ".join(f"{count} {mark}" for mark, count in marks.items())
    return f"{len(cited)} place{'' if len(cited) == 1 else 's'}: {counts}" + (f" ({absent})" if absent else "")


def shown(debate: Debate, label: str, claims: Sequence[Claim]) -> str:
    """For a prompt, below the document: every place with its mark, and the statements that rest on what is absent."""
    if not claims:
        return ""
    rows = [_row(one) for one in places(claims)]
    struck = [claim for claim in claims if baseless(claim.evidence)]
    bare = [f'rests on an absent citation: "{cut(claim.text, STATEMENT)}"' for claim in struck]
    return f"\n\n{prompts.LOOKED_UP}\n\n" + debate.quote(f"places that {label} cites", "\n".join([*rows, *bare]))


def _row(one: Evidence) -> str:
    quoted = f' "{cut(one.quote, STATEMENT)}"' if one.quote else ""
    note = f" ({squeeze(one.note)})" if one.note else ""
    return f"{one.place}{quoted}: {one.mark}{note}"
