"""The text of a revision: critiques, revised documents, points and citations, and the result; for files and prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rebut.core.markdown import inline, tame
from rebut.core.text import counted, cut, squeeze
from rebut.domain import checks, render as ledgers
from rebut.domain.checks import CodeCheck
from rebut.domain.forms import cited, fault_of
from rebut.domain.ledger import Claim, Entry, Evidence, Ledger, Move, Point, Unspoken, baseless, distinct
from rebut.domain.render import CITES_NOTHING, bullets, section
from rebut.engine.debate import Debate
from rebut.protocols.revise import prompts
from rebut.protocols.revise.forms import Critique, Objection, Plan, Revision, Verdict
from rebut.protocols.revise.sections import contained, parts as parts_of, retitled
from rebut.protocols.revise.state import ReviseState

NONE = "None."
NOTES = "Synthesis Notes"
"""The title of the section that rebut adds to a plan. A section of the synthesizer with this title is renamed."""
POINT = 100
STATEMENT = 160
Placed = Sequence[tuple[str, Entry]]


# a round: critiques, revised documents and the points at issue


def critique(
    form: Critique,
    weaknesses: Placed,
    disagreements: Placed,
    source: str,
    round: int,
    strengths: Sequence[Claim] = (),
    said: Callable[[str], str] = squeeze,
    *,
    code: bool = True,
) -> str:
    """A critique as Markdown, with one line for each item; `said` turns a model's text into such a line.

    `code`: also show the code of its checks. The mark of a check follows its item in any case.
    """
    looked_up = {claim.text: claim.evidence for claim in strengths}
    strong = [f"{s.text}{ledgers.evidence(looked_up.get(s.text, cited(s.evidence)))}" for s in form.strengths if s.text]
    weak = [_objection(o, *placed) for o, placed in _paired(form.weaknesses, weaknesses)]
    against = [_objection(o, *placed) for o, placed in _paired(form.disagreements, disagreements)]
    given = [f"{f'{c.id}: ' if c.id else ''}{c.text}" for c in form.concessions if c.text or c.id]
    lists = {"Strengths": strong, "Weaknesses": weak, "Disagreements": against, "Concessions": given}
    parts = [f"## Critique of {source} (Round {round})"]
    parts += [bullets(f"### {title}", map(said, items), NONE) for title, items in lists.items()]
    if code and (ran := [_code(id, entry) for id, entry in (*weaknesses, *disagreements) if _check(entry)]):
        parts.append("\n\n".join(["### Checks", *ran]))
    return "\n\n".join(parts) + "\n"


def _check(entry: Entry) -> CodeCheck | None:
    return None if isinstance(entry, Unspoken) else entry.check


def _code(id: str, entry: Entry) -> str:
    """A check with its code and its result, indented so that Markdown shows every line as code."""
    check = _check(entry)
    lines = "\n".join([f"{id or 'no such point'}:", *checks.check_rows(check)]).splitlines() if check else []
    return "\n".join(f"    {line}" for line in lines)


def _verdict(entry: Entry) -> str:
    """The mark of a statement's check, to be put after the statement; empty without a check."""
    check = _check(entry)
    return f" [check {check.verdict}]" if check else ""


def signed_critique(text: str, by: str) -> str:
    """A critique for its file. If a fallback wrote it, `by` is a sentence on that, which is put below the heading."""
    heading, _, rest = text.partition("\n\n")
    return f"{heading}\n\n*{inline(by)}*\n\n{rest}" if by else text


def _paired(items: Sequence[Objection], placed: Placed) -> list[tuple[Objection, tuple[str, Entry]]]:
    return list(zip([item for item in items if item.text], placed, strict=True))


def _objection(item: Objection, id: str, entry: Entry) -> str:
    evidence = () if isinstance(entry, Unspoken) else entry.evidence
    severity, lowered = weighed(item.severity, evidence)
    grade = f"{severity}, {item.impact}{lowered}"
    cites = ledgers.evidence(evidence, CITES_NOTHING)
    return f"{id or 'no such point'} ({grade}) {item.whole}{cites}{_verdict(entry)}"


def weighed(severity: str, evidence: Sequence[Evidence]) -> tuple[str, str]:
    """The severity that counts, and why it is not the stated one: it is not high if it rests on an absent citation."""
    if severity == "high" and baseless(evidence):
        return "medium", "; said to be high, but what it cites is absent"
    return severity, ""


def revision(
    form: Revision, number: int, known: Sequence[str], entered: Sequence[Entry] = (), *, shown: bool = False
) -> str:
    """A revision as text: the comment, the Defense if any, then the document. `entered`: its checked moves.

    `shown`: escape the model's text for the file, so that it can neither imitate a part of the file nor hide one.
    """
    one, whole = (inline, contained) if shown else (squeeze, str)
    defends = {m.point: m for m in entered if isinstance(m, Move) and m.kind == "defend"}
    marked = {id: f"{squeeze(m.reason)}{ledgers.evidence(m.evidence)}{_verdict(m)}" for id, m in defends.items()}
    inner = parts_of(form.document)
    addressed = [a.id for a in form.addressed if a.id in known]
    defended = [d for d in form.defended if d.id in known]
    listed = f"Addressed critique points [{', '.join(addressed)}]. Defended: [{', '.join(d.id for d in defended)}]."
    top = [f"<!-- Revision v{number}: {listed} -->"]
    rows = [
        f"- {one(f'{d.id}: {marked.get(d.id) or squeeze(d.reason) + ledgers.evidence(cited(d.evidence))}')}"
        for d in defended
    ]
    if inner.defense:
        rows += ["", whole(inner.defense)]  # the author wrote a Defense section itself
    if rows:
        top += ["", "### Defense", "", *rows]
    return "\n".join([*top, "", whole(inner.document.strip("\n")), ""])


def points(ledger: Ledger, who: Sequence[str], names: Sequence[str]) -> str:
    """The points for authors and the synthesizer. `names` are the authors' names in that prompt."""
    called = dict(zip(who, names, strict=True))
    # A point that rests on an absent citation is not P1, whatever its author said.
    shown = [replace(p, severity="P2") if p.severity == "P1" and p.struck else p for p in ledger.points]
    rows = ledgers.points(ledger, only=shown, name=lambda seat: called.get(seat, seat), answers="all")
    return "\n".join(rows) or "none"


# the result: a plan with its synthesis notes, or the verdict of a review


def of_plan(form: Plan, ledger: Ledger, state: ReviseState) -> str:
    """The plan, then what was decided on each point."""
    texts = {p.id: " / ".join(cut(one.text, POINT) for one in distinct(p.wordings)) for p in ledger.points}
    ruled = set(form.ruled())

    def named(id: str) -> str:
        return f"{id} ({texts[id]})" if id in texts else f"{id} (does not exist)"

    notes = [
        f"## {NOTES}",
        how_made(state),
        *fallbacks(state),
        section("### Adopted", [f"{named(r.id)}: {r.how}" for r in form.adopted], NONE),
        section("### Overruled", [f"{named(r.id)}: {r.why or 'no reason given'}" for r in form.overruled], NONE),
        section(
            "### Unresolved",
            [f"{named(r.id)}. Tie-break: {r.tie_break or 'none given'}" for r in form.unresolved],
            NONE,
        ),
    ]
    if cites := tally(state.result):
        notes.append(f"### Citations\n\nThe plan cites {inline(cites)}.")
    notes += ran(ledger, fault_of(form))
    if left := [named(id) for id in texts if id not in ruled]:
        notes.append(section("### Not accounted for by the synthesizer", left))
    document = retitled(contained(form.document.strip("\n")), NOTES, "Notes by the synthesizer")
    return "\n\n".join([document, *notes]) + "\n"


def of_verdict(
    form: Verdict,
    placed: Sequence[tuple[str, Entry]],
    state: ReviseState,
    untied: Sequence[Point] = (),
    ledger: Ledger | None = None,
) -> str:
    """The verdict of a review: assessments, findings, agreement, disagreement, checks.

    `untied` are the open points for which the synthesizer gives no tie-break.
    """
    parts = [
        "# Review Verdict",
        f"**Decision**: {form.decision}",
        tame(form.summary),
        how_made(state),
        *fallbacks(state),
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
    split += [
        f"{p.id}: {cut(p.text.rstrip('. '), POINT)}. Still open; the synthesizer gave no tie-break." for p in untied
    ]
    parts.append(section("## Points of Disagreement", split, NONE))
    parts += ran(ledger, fault_of(form), "##") if ledger else []
    return "\n\n".join(p for p in parts if p) + "\n"


def ran(ledger: Ledger, fault: str, level: str = "###") -> list[str]:
    """A section on what the checks showed and what the synthesizer says against them; empty if there is no check."""
    rows = [f"{id}: {check.runner}, {check.claim}: {check.verdict}" for id, check in ledger.checks]
    rows += [f"The synthesizer on the checks: {fault}"] if fault and rows else []
    return [section(f"{level} Checks", rows)] if rows else []


def how_made(state: ReviseState) -> str:
    """How the result was made, in a sentence or two, so that an incomplete debate never reads as a complete one."""
    if not state.settings.debates:
        return "Made of two drafts; nothing was debated."
    done, budget = state.complete, state.planned
    rounds = f"{done} of {counted(budget, 'round')}"
    if state.cut_short:
        stale = [f"the version of {state.files.names[a]} is stale" for a in state.stale]
        return f"The debate was cut short after {rounds}: {'; '.join([inline(state.cut_short), *stale])}."
    if state.converged:
        return f"Debated for {rounds}; converged: {state.converged}."
    return f"Debated for {rounds}; not converged."


def fallbacks(state: ReviseState) -> list[str]:
    """A list of the fallbacks that answered; empty if none did."""
    return ["\n".join(f"- {inline(one)}" for one in state.fallbacks)] if state.fallbacks else []


# the citations of a document, and the result of checking them


async def looked_up(debate: Debate, step: str, by: str, round: int, text: str) -> tuple[Claim, ...]:
    """Return the statements of a document that cite a place, with each place checked. New statements are recorded."""
    if fresh := [claim for claim in debate.cited(by, round, text) if not claim.id]:
        await debate.enter(step, fresh)
    return tuple(debate.cited(by, round, text))


def places(claims: Sequence[Claim]) -> list[Evidence]:
    return list(dict.fromkeys(e for claim in claims for e in claim.evidence))


def tally(claims: Sequence[Claim]) -> str:
    """`4 places: 2 found, 1 located, 1 absent (src/x.py:9)`; empty if nothing is cited."""
    cited = places(claims)
    if not cited:
        return ""
    absent = ", ".join(one.place for one in cited if one.mark == "absent")
    marks = ", ".join(f"{count} {mark}" for mark, count in Counter(one.mark for one in cited).items())
    return f"{counted(len(cited), 'place')}: {marks}" + (f" ({absent})" if absent else "")


def citation_results(debate: Debate, label: str, claims: Sequence[Claim]) -> str:
    """For a prompt, below the document: each cited place with its mark, and the statements that rest on absent ones."""
    if not claims:
        return ""
    rows = [_row(one) for one in places(claims)]
    struck = [claim for claim in claims if baseless(claim.evidence)]
    bare = [f'rests on an absent citation: "{cut(claim.text, STATEMENT)}"' for claim in struck]
    return f"\n\n{prompts.LOOKED_UP}\n\n" + debate.quote(f"places that {label} cites", "\n".join([*rows, *bare]))


def checked(debate: Debate, label: str, seat: str) -> str:
    """For a prompt, below the document: its statements that have a check, with the code and the result of the check."""
    if made := [claim for claim in debate.ledger.claims if claim.by == seat and claim.check]:
        return "\n\n" + debate.quote(f"checks of {label}", ledgers.claims(made))
    return ""


def _row(one: Evidence) -> str:
    quoted = f' "{cut(one.quote, STATEMENT)}"' if one.quote else ""
    note = f" ({squeeze(one.note)})" if one.note else ""
    return f"{one.place}{quoted}: {one.mark}{note}"
