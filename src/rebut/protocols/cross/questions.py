"""The questions of a round to the critic, the judge and the decider, and the ledger entries of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rebut.core.errors import ParticipantFailed
from rebut.core.text import counted, squeeze, tokens
from rebut.core.types import Changed, Material
from rebut.domain import checks, review_result
from rebut.domain.forms import code_of
from rebut.domain.ledger import Entry, Move, Slip
from rebut.domain.prompts import FENCES, fill
from rebut.engine.debate import Answer, Answers, Ask, Debate, Round
from rebut.protocols.cross import ballot, findings as weighing, outcome, prompts, render, reply_checks
from rebut.protocols.cross.forms import (
    Additions,
    Chosen,
    CodeCritique,
    Judgement,
    ProposalCritique,
    Rebuttal,
    Weighed,
)
from rebut.protocols.cross.settings import DIFF_TOKENS
from rebut.protocols.cross.state import CrossState
from rebut.protocols.cross.versions import PROGRAMS, ArtifactVersion
from rebut.protocols.shared import reason_of
from rebut.workspace.targets.split import split
from rebut.workspace.targets.target import Target, whole_files

MOST_CITES = 100


def artifact(r: Round, version: ArtifactVersion, part: Target, *, text: bool = True) -> str:
    """The artifact, quoted: the diff and the files of a part, and what this version changed."""
    parts = list[str]()
    if part.diff:
        parts.append("The change:\n\n" + r.quote("diff", part.diff))
    files = whole_files(replace(part, changes=_changes(r.target, version, part))).text
    if files:
        parts.append("The changed files in their new version, with line numbers:\n\n" + r.quote("files", files))
    if version.patch:
        parts.append(
            f"Version {version.n} is under review. Its changes to version 1:\n\n"
            + r.quote("changes of this version", version.patch)
        )
    if text and version.text:
        parts.append(_text(r, version))
    return "\n\n".join(parts)


def _text(r: Round, version: ArtifactVersion) -> str:
    """The text and the result of checking its citations. The citations of later versions are not checked."""
    said = "The text:\n\n" + r.quote(f"text, version {version.n}", version.text)
    if version.n > 1 or not r.target.cites:
        return said
    return f"{said}\n\n{prompts.CITES}\n\n" + r.quote("citations of the text", "\n".join(r.target.cites[:MOST_CITES]))


def _changes(target: Target, version: ArtifactVersion, part: Target) -> tuple[Changed, ...]:
    """The files of a part in this version. Files that this version adds belong to every part."""
    mine, known = {c.path for c in part.changes}, {c.path for c in target.changes}
    return tuple(c for c in version.change(target) if c.path in mine or c.path not in known)


async def carry_over(debate: Debate, state: CrossState) -> None:
    """Enter the findings of the earlier review, each with the judge's ruling."""
    state.earlier = earlier = debate.earlier_review
    if earlier is None or not earlier.findings:
        return
    entered = await debate.enter("earlier", [one.point() for one in earlier.findings])
    ids = [id for id, _ in entered]
    state.carried = dict(zip(ids, earlier.findings, strict=True))
    await debate.note("earlier rulings", [move for id, one in state.carried.items() for move in one.moves(id)])
    await debate.run_again("earlier checks", 1, 0)
    state.passing = {one.point for one in debate.ledger.reruns if one.side == "passes"}


def for_judge(r: Round, state: CrossState, *, whole: bool = False) -> str:
    """The artifact for the judge, or the lines around each citation if it is too large.

    Without `whole`, only what has changed since the earlier review, if there is one.
    """
    version, part = state.latest, r.target if whole else state.part(r.target)
    shown = artifact(r, version, part)
    if tokens(shown) <= 2 * DIFF_TOKENS:
        return shown if part is r.target else f"{prompts.SINCE}\n\n{shown}"
    changes = version.change(r.target)
    return "The change is too large to be shown as a whole. The lines around each citation:\n\n" + r.quote(
        "cited lines", render.cited_excerpts(r.ledger, changes)
    )


async def critique(r: Round, state: CrossState) -> Answers[Any]:
    """Ask for all parts of the critique in parallel."""
    target, version, critic = r.target, state.latest, r.seat("critic")
    changed = [p for p in r.ledger.points if not state.trusting and state.differs(p, r.n)]
    earlier = [f for f in review_result.findings_of(r.ledger) if f.status not in weighing.OVER]
    where = f"{squeeze(r.topic)}, round {r.n}"
    asks = list[Ask[Any]]()
    runners = r.runners_for(critic)
    may_check = checks.may_add("finding", runners, both_sides=r.has_old_side)
    shared = {"rule": prompts.EVIDENCE_RULE + may_check, "severities": prompts.SEVERITIES, "fences": FENCES}
    again = any(not state.is_kept(p.id) for p in r.ledger.points)
    shared |= {"context": _context(r), "before": _before(r, state), "again": prompts.AGAIN if again else ""}
    asked = state.part(target)
    since = "" if asked is target else f"{prompts.SINCE}\n\n"
    if target.kind != "proposal":
        check = reply_checks.critique(r.ledger, changed, document(target, CodeCritique))
        parts = split(replace(asked, text=""), DIFF_TOKENS)
        for n, part in enumerate(parts, 1):
            shown = artifact(r, version, part, text=target.kind == "code")
            name = "" if len(parts) == 1 and target.kind == "code" else f"code{n if len(parts) > 1 else ''}"
            seen = version.patch or part.diff or "\n".join(c.after or "" for c in part.changes) or version.text
            mine = ballot.of_critic(where, seen, earlier)
            changes = _changes(target, version, part)
            is_part = len(parts) > 1 and any(c.after is not None for c in version.change(target))
            material = Material(changes, weighing.for_programs(r.ledger, True), mine, is_part)
            prompt = fill(prompts.CODE, **shared, artifact=since + shown)
            asks.append(Ask(critic, prompt, CodeCritique, check, name, material))
    if target.kind != "code":
        check = reply_checks.critique(r.ledger, changed, document(target, ProposalCritique))
        prompt = fill(prompts.PROPOSAL, **shared, artifact=_text(r, version))
        of_text = Material(ballot=ballot.of_critic(where, version.text, earlier))
        asks.append(Ask(critic, prompt, ProposalCritique, check, "text" if asks else "", of_text))
    # If no part is answered, round 1 fails, so that resume asks again; a later round ends the review with its results.
    return await r.ask_all("critique", asks, need=1 if r.n == 1 else 0)


def document(target: Target, form: type[CodeCritique]) -> str:
    """The document that a critique is about, if there are two: the same words about code and text are two findings."""
    if target.kind != "mixed":
        return ""
    return "the text" if issubclass(form, ProposalCritique) else "the code"


def _context(r: Round) -> str:
    return f"\n\nMore files that you can read and cite:\n\n{r.quote('files', r.context)}" if r.context else ""


def _before(r: Round, state: CrossState) -> str:
    if not r.ledger.points:
        return ""
    kept = [p for p in r.ledger.points if state.is_kept(p.id)]
    asked = [p for p in r.ledger.points if p not in kept]
    parts = list[str]()
    if asked:
        of = "an earlier review of this branch" if all(p.round == 0 for p in asked) else "earlier rounds"
        said = r.quote("earlier findings", render.findings_text(r.ledger, asked))
        parts.append(f"\n\nThe findings of {of}:\n\n{said}")
    if kept:
        said = r.quote("known findings", render.findings_text(r.ledger, kept))
        parts.append(f"{'' if asked else chr(10) * 2}{prompts.KNOWN}\n\n{said}")
    if state.rebuttal:
        parts.append("The answer to the last critique:\n\n" + r.quote("rebuttal", state.rebuttal))
    return "\n\n".join(parts)


async def enter(r: Round, state: CrossState, replies: Sequence[CodeCritique], agreed: bool) -> None:
    """Enter the findings of a round, and the new status of earlier findings that were not raised again."""
    documents = [(reply, document(r.target, type(reply))) for reply in replies]
    await r.note(
        "critique", [f.point("critic", r.n, about) for reply, about in documents for f in reply.findings if f.text]
    )
    raised_again = {p.id for p in weighing.raised_in(r.ledger, r.n)}
    looked_at = {r.ledger.issue_of(one.id): one for reply in replies for one in reply.earlier}
    entries: list[Entry] = []
    for p in r.ledger.points:
        if p.round == r.n or p.id in raised_again or r.ledger.status(p.id) in weighing.OVER or state.is_kept(p.id):
            continue
        said = looked_at.get(p.id)
        state_of, why = (said.state, said.reason) if said else ("", "")
        is_valid = review_result.ruling(r.ledger, p) == "valid"
        unproven = reply_checks.not_passing(r.ledger, p.id)  # a check that failed must pass now, whatever a model says
        if state.trusting and state.changed:
            entries.append(Move(p.id, "mend", "critic", r.n, f"not raised again against version {state.latest.n}"))
        elif state_of == "fixed" and state.differs(p, r.n) and not unproven:
            entries.append(Move(p.id, "mend", "critic", r.n, why or f"fixed in version {state.latest.n}"))
        elif state_of == "still there":
            entries.append(Move(p.id, "maintain", "critic", r.n, why or "still there"))
        # A finding that the judge calls valid stays open until a version fixes it, even if the critic withdraws it.
        elif state_of == "withdrawn" and why and not is_valid:
            entries.append(Move(p.id, "withdraw", "critic", r.n, why))
        elif agreed and state.rebuttal and not is_valid:
            entries.append(Move(p.id, "withdraw", "critic", r.n, "the critic agrees after the answer to it"))
        elif state_of != "not checked" and Slip("dropped", p.id, "critic", r.n - 1) not in r.ledger.slips:
            entries.append(Slip("dropped", p.id, "critic", r.n))
    if entries:
        await r.note("settled", entries)


async def judge(r: Round, state: CrossState, said: str) -> Answer[Judgement]:
    who, version = r.seat("judge"), state.latest
    runners = r.runners_for(who)
    fresh = weighing.raised_in(r.ledger, r.n)
    earlier = [p for p in r.ledger.points if p not in fresh]
    before = "Findings of earlier rounds:\n\n" + r.quote("earlier findings", render.findings_text(r.ledger, earlier))
    prompt = fill(
        prompts.JUDGE,
        fences=FENCES,
        artifact=for_judge(r, state),
        round=str(r.n),
        critique=r.quote("critique", said),
        before=before if earlier else "",
        ids=", ".join(p.id for p in fresh) or "none",
        rulings=prompts.RULINGS + checks.to_weigh("finding", runners),
    )
    by_rule = r.seat("critic").spec.provider in PROGRAMS
    found = [f for f in review_result.findings_of(r.ledger) if any(p.id == f.id for p in fresh)]
    shown = ballot.of_judge(found, _where(r, found))
    material = Material(version.change(r.target), weighing.for_programs(r.ledger, by_rule), shown)
    changed = {p.id for p in r.ledger.points if state.differs(p, r.n)}
    failing = {id for id in changed if reply_checks.not_passing(r.ledger, id)}
    check = reply_checks.judgement(
        r.ledger,
        r.n,
        changed - failing,
        outside=outcome.apart(r, state),
        unquestioned=state.trusting or who.spec.provider == "human",
    )
    answer = await r.ask(who, "judgement", prompt, schema=Judgement, check=check, material=material)
    form = answer.value
    entries: list[Entry] = [
        _weighed(w, "judge", r.n)
        for w in form.findings
        if w.ruling != "fixed" or r.ledger.issue_of(w.id) in changed - failing  # only a later version can fix it
    ]
    entries += reply_checks.joins(r.ledger, form, r.n)[0]
    entries += [f.point("judge", r.n) for f in form.missed if f.text]
    await r.note("judgement", entries)
    return answer


async def weigh_additions(r: Round, state: CrossState) -> None:
    """Have the critic weigh each P1 or P2 that the judge added. What a person adds needs no second opinion."""
    added = [p for p in r.ledger.points if p.voices == ("judge",) and p.round == r.n and weighing.is_grave(r.ledger, p)]
    if not added:
        return
    if r.seat("judge").spec.provider == "human":
        await r.note("additions", [Move(p.id, "concede", "decider", r.n, "a person added it") for p in added])
        return
    critic = r.seat("critic")
    if critic.spec.provider in PROGRAMS:
        return  # an analyser cannot weigh what a model says
    prompt = fill(
        prompts.ADDED,
        fences=FENCES,
        artifact=for_judge(r, state),
        added=r.quote("what the judge added", render.findings_text(r.ledger, added)),
        ids=", ".join(p.id for p in added),
        rulings=prompts.RULINGS + checks.to_weigh("finding", r.runners_for(critic)),
    )
    check = reply_checks.additions(r.ledger, [p.id for p in added])
    try:
        answer = await r.ask(critic, "additions", prompt, schema=Additions, check=check)
    except ParticipantFailed as error:
        state.notes.append(f"round {r.n}: the critic did not weigh what the judge added: {error.kind}, {error.message}")
        return
    ids = {p.id for p in added}
    rulings = [w for w in answer.value.findings if w.id in ids and w.ruling != "fixed"]
    state.overrule("critic", ids, reply_checks.overruled(r.ledger, rulings))
    await r.note("additions", [_weighed(w, "critic", r.n) for w in rulings])


async def rebuttal(r: Round, state: CrossState, said: str) -> str:
    """Ask the judge to answer the critique, if the decider chose to rebut and the judgement contains no rebuttal."""
    prompt = fill(prompts.REBUTTAL, fences=FENCES, artifact=for_judge(r, state), critique=r.quote("critique", said))
    return (await r.ask(r.seat("judge"), "rebuttal", prompt, schema=Rebuttal)).value.text


async def decide(r: Round, state: CrossState, form: Judgement) -> tuple[str, str]:
    """Return the choice, and the seat that made it: the decider if there is one, else the judge."""
    deciders = r.seats("decider")
    if not deciders:
        return form.choice, "judge"
    findings = [f for f in review_result.findings_of(r.ledger) if f.status not in weighing.OVER]
    recommends = f"{form.choice}, {prompts.CHOICES[form.choice]}"
    prompt = fill(
        prompts.DECIDER,
        fences=FENCES,
        round=str(r.n),
        findings=r.quote("findings", render.findings_text(r.ledger, r.ledger.points)),
        choice=recommends,
        reason=r.quote("the judge's reason", form.reason),
    )
    advice = f"judge recommends  {form.choice}  {prompts.CHOICES[form.choice]}: {form.reason}"
    shown = ballot.of_decider(findings, _where(r, findings), advice)
    answer = await r.ask(deciders[0], "decision", prompt, schema=Chosen, material=Material(ballot=shown))
    chosen, seat = answer.value, deciders[0].seat
    own = [w for w in chosen.findings if r.ledger.point(w.id)]
    if own:  # a person may rule otherwise than the judge
        await r.note("decision", [Move(w.id, w.move, seat, r.n, w.reason, severity=w.severity) for w in own])
    if chosen.reason:
        state.notes.append(f"round {r.n}: the {seat} says: {chosen.reason}")
    return chosen.choice, seat


def _weighed(one: Weighed, by: str, n: int) -> Move:
    return Move(one.id, one.move, by, n, reason_of(one.reason, one), severity=one.severity, check=code_of(one))


def _where(r: Round, findings: Sequence[review_result.ReviewFinding]) -> str:
    return f"round {r.n} of {r.planned(r.settings.rounds)}, {counted(len(findings), 'finding')}"
