"""How a review ends: the rules that end it, its result, and what the debate changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rebut.core.json_value import Json
from rebut.core.text import counted, cut, plural
from rebut.domain import review_result
from rebut.domain.checks import CheckMark, CodeCheck
from rebut.domain.doubts import Doubt
from rebut.domain.ledger import Ledger, Move, Rerun
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import (
    CHANGED,
    CHECK,
    MOVES,
    UNCHECKED,
    Decision,
    ReviewFinding,
    ReviewResult,
    findings_of,
)
from rebut.domain.worth import Worth, tally
from rebut.engine.debate import Debate
from rebut.protocols.cross import findings, versions
from rebut.protocols.cross.artifacts import final_artifact, patch_of
from rebut.protocols.cross.state import CrossState
from rebut.protocols.cross.versions import ArtifactVersion
from rebut.protocols.shared import misread, of_rounds
from rebut.workspace.targets.target import Target, absent_citations
from rebut.workspace.targets.unread import not_read

WHY = {
    "agreed": "the critic agrees",
    "clean": review_result.ENDED["clean"],
    "unread": review_result.ENDED["unread"],
    "quiet": "two rounds in a row brought no new P1 or P2",
    "rounds": "all rounds are used",
    "A": "the original is kept",
    "B": "the critic's recommendation is accepted",
    "unwritten": review_result.ENDED["unwritten"],
    "E": "no version was chosen",
}
QUIET_ROUNDS = 2
CITATION = "C"
"""The letter that begins the ids of the program's own findings."""


# the rules that end a review


def cause(ledger: Ledger, n: int, limit: int, choice: str) -> str:
    """Return why the review ends after a judged round; empty if it continues."""
    if choice in ("A", "B", "E"):
        return choice
    if n >= QUIET_ROUNDS and all(is_quiet(ledger, n - back) for back in range(QUIET_ROUNDS)):
        return "quiet"
    return "rounds" if n >= limit else ""


def is_quiet(ledger: Ledger, n: int) -> bool:
    """Whether a round brought no new P1 or P2, by id and as the judge weighed it in that round."""
    # In sessions with version 1 of the ledger, the last weighing of a finding counts, even that of a later round.
    then = ledger.upto(n) if ledger.version > 1 else ledger
    return not any(p.round == n and findings.is_grave(then, p) for p in then.points)


def decision(cause: str, compromised: bool) -> tuple[Decision, bool]:
    """The decision that follows from the cause, and whether the review converged.

    `compromised`: a version was written for a choice of C.
    """
    if cause == "A":
        return "Keep Original", True
    if cause == "B":
        return "Accept Opposite", True
    if cause in ("E", "unwritten", "contradiction"):
        return "Stopped", False
    if cause in ("agreed", "quiet"):
        return ("Compromise" if compromised else "Keep Original"), True
    return ("Compromise" if compromised else "Stopped"), False


# the outcome


def ended(debate: Debate, state: CrossState, cause: str) -> Outcome:
    if state.unwritten and cause in ("agreed", "quiet", "rounds", "B") and not _by_person(debate, state, cause):
        cause = "unwritten"  # the chosen version does not exist, so nothing is decided
    if cause == "agreed" and _reads_nothing(debate):
        cause = "unread"  # a critic that read nothing cannot agree
    made, done = result(debate, state, cause), of_rounds(state.rounds, debate.planned(debate.settings.rounds))
    whole = cause not in ("minutes", "limit", "failed", "settled")
    doubts = [] if whole else [Doubt("ended early", said=debate.stopped)]
    doubts += _doubts(debate, state, cause)
    last = state.history[-1].reason if state.history else ""
    return Outcome(
        kind=made.decision.lower(),
        unsettled="not decided" if made.decision == "Stopped" else "",
        heading=made.decision.upper() + ("" if whole else f" AFTER {done}"),
        decision=f"{made.decision}: {state.contradiction or WHY.get(_why(made, cause), debate.stopped)}."
        + (f" {last}" if last else ""),
        doubts=tuple(doubts),
        stopped=(state.unwritten or state.contradiction) if whole else debate.stopped,
        final=made.markdown(),
        data=data(state, made),
        notes=tuple(state.notes),
        worth=worth(
            made,
            len(state.versions) - 1,
            "the change" if debate.target.changes else "the text",
            "" if whole else done.lower(),
            debate.ledger.unplaced,
        ),
    )


def _doubts(debate: Debate, state: CrossState, cause: str) -> list[Doubt]:
    """Return the doubts about a review, however it ended. Some are also added to the notes."""
    doubts: list[Doubt] = []
    if cause == "rounds":
        doubts.append(Doubt("not converged", "NOT CONVERGED", "all rounds were used"))
    stand_in = debate.spoke_for(debate.seat("critic"))
    others = [debate.seat("judge"), *(p for p in debate.seats("author") if p.spec.provider != "human")]
    # A fallback of a family of its own is a second opinion, like the critic that it replaces.
    same = bool(stand_in) and not debate.independent(stand_in, *others)
    if stand_in:
        state.notes.append(
            f"{stand_in} answered for the critic and is also the judge: one opinion, not two independent ones"
            if stand_in == str(debate.seat("judge").spec)
            else f"{stand_in} answered for the critic, as a fallback"
        )
    reviews_itself = not stand_in and _reviews_itself(debate)
    if reviews_itself:
        state.notes.append("critic and author are the same model: one opinion, not two independent ones")
    if same or reviews_itself:
        doubts.append(Doubt("same model", "SELF-REVIEW", state.notes[-1]))
    if state.unwritten:
        doubts.append(Doubt("not written", "THE CHOSEN VERSION WAS NOT WRITTEN", state.unwritten))
    if state.contradiction:
        doubts.append(Doubt("contradiction", "THE JUDGE CONTRADICTS ITSELF", state.contradiction))
    if any(state.overruled.values()):
        calls = [f"the {seat} calls {', '.join(ids)} invalid" for seat, ids in state.overruled.items() if ids]
        said = f"{' and '.join(calls)}, and does not say what is wrong with the check"
        doubts.append(Doubt("check ignored", "A CHECK WAS IGNORED", said))
    if state.unnamed:
        said = "the critic does not agree, and names no finding"
        doubts.append(Doubt("nothing raised", "THE CRITIC NAMES NO FINDING", said))
    if state.unread:
        doubts.append(Doubt("part missing", "A PART OF THE CRITIQUE IS MISSING", "a part of the critique is missing"))
    reasons = [] if state.trusting else [one.reason for one in state.history if one.by == "judge"]
    if wrong := [line for reason in reasons for line in misread(debate.ledger, reason)]:
        doubts.append(Doubt("misread record", "THE JUDGE MISREADS THE RECORD", "; ".join(wrong)))
    unweighed = findings.unweighed(debate.ledger) if state.history else ()
    added = [p.id for p in unweighed if p.voices == ("judge",)]
    no_ruling = plural(len(unweighed), "A FINDING HAS NO RULING", "SOME FINDINGS HAVE NO RULING")
    if left := [p.id for p in unweighed if p.id not in added]:
        state.notes.append(f"the judge did not rule on {', '.join(left)}")
        doubts.append(Doubt("not weighed", no_ruling, state.notes[-1]))
    if added:
        state.notes.append(f"the critic did not weigh {', '.join(added)}, which the judge added")
        doubts.append(Doubt("not weighed", no_ruling, state.notes[-1]))
    still_valid = [p.id for p in findings.valid_and_grave(debate.ledger)]
    if cause in ("agreed", "quiet") and still_valid:
        doubts.append(Doubt("contested", said=f"the judge calls {', '.join(still_valid)} valid"))
    return doubts


def _why(made: ReviewResult, cause: str) -> str:
    return "clean" if made.analysed and cause == "agreed" else cause


def _reads_nothing(debate: Debate) -> bool:
    """Whether no file of the change was read, as when there is no analyser for any of them."""
    unread = debate.unread.lines
    changes = debate.target.changes
    return bool(changes) and all(any(line.startswith(f"{c.path}: ") for line in unread) for c in changes)


def _by_person(debate: Debate, state: CrossState, cause: str) -> bool:
    """Whether a person chose to accept the critic's recommendation. That choice counts even without a new version."""
    return cause == "B" and debate.seat(state.history[-1].by).spec.provider == "human"


def apart(debate: Debate, state: CrossState) -> frozenset[str]:
    """The ids of findings outside the change. An analyser's findings count as part of it, wherever they are."""
    if debate.seat("critic").spec.provider in versions.PROGRAMS:
        return frozenset()
    return versions.outside(debate.ledger, debate.target, state.versions)


def _reviews_itself(debate: Debate) -> bool:
    """Whether critic and author are the same model, as when only one is available."""
    return any(debate.same_model(debate.seat("critic"), author) for author in debate.seats("author"))


def partial(debate: Debate) -> Outcome:
    """The result at a deadline: the findings and rulings so far."""
    state = CrossState([ArtifactVersion(1, debate.target.text)])
    state.rounds = len({k.partition("/")[0] for k in debate.answers if k.endswith("@judge")})
    if isinstance(debate.state, CrossState):  # what the judge said in completed rounds
        state.history, state.last = list(debate.state.history), debate.state.last
        state.earlier, state.carried = debate.state.earlier, debate.state.carried
    made = result(debate, state, "minutes")
    made = replace(made, next_actions=(*made.next_actions, "Resume the review: it is not over."))
    return Outcome(
        kind="partial",
        heading=f"NO DECISION YET, {of_rounds(state.rounds, debate.planned(debate.settings.rounds))}",
        decision=f"{counted(len(made.shown), 'P1 or P2 finding')} so far.",
        basis=f"round {state.rounds}" if state.rounds else "the critique alone" if made.findings else "nothing yet",
        final=made.markdown(),
        data=data(state, made),
    )


def result(debate: Debate, state: CrossState, cause: str) -> ReviewResult:
    """The result of the review, from the ledger and the judge's recommendations."""
    chosen, converged = decision(cause, state.compromised)
    ledger, judge, final = debate.ledger, state.last, state.latest
    if chosen == "Keep Original":
        # A finding that only a later version fixes still applies to the original.
        final, ledger = state.versions[0], findings.without_fixes(ledger, state.first_rounds)
    outside = apart(debate, state)
    seen = versions.seen(ledger, state.versions, final, state.rounds)
    left = [
        p
        for p in ledger.points
        if (findings.is_open(ledger, p) or seen.get(p.id) in UNCHECKED) and not p.struck and p.id not in outside
    ]
    grave = [p for p in left if findings.is_grave(ledger, p)]
    # A finding that the final version may have fixed, but was not seen to be fixed there, is listed as unresolved.
    unresolved = [
        f"{p.id} ({review_result.severity(ledger, p)}): {cut(p.words(), 300)}"
        + (f" [{seen[p.id]}]" if p.id in seen else "")
        for p in grave
    ]
    false = false_citations(debate.target, final.text if final.n > 1 else "")
    unresolved += [f"{f.id} ({f.severity}): {f.text}" for f in false if not f.hidden]
    known = {p.id for p in grave}
    unresolved += [said for said in judge.unresolved if said.partition(":")[0] not in known] if judge else []
    unresolved += [
        f"{m.by}, on {m.point}, which does not exist, so it was not weighed: {cut(m.reason, 300)}"
        for m in ledger.unplaced
    ]
    unresolved += [said for said in (state.unwritten, state.contradiction) if said]
    unresolved += not_read(debate.unread.doubtful)
    actions = list(judge.next_actions) if judge else []
    unseen = final.n > 1 and final.round == state.rounds
    actions += [f"Look at version {final.n}: it was not reviewed after it was written."] if unseen else []
    actions += [f"{p.id}: {one.action}" for p in grave for one in p.wordings if one.action and not unseen]
    return ReviewResult(
        session=debate.session,
        target=debate.target.kind,
        rounds=state.rounds,
        converged=converged,
        decision=chosen,
        artifact=final_artifact(debate.target, final, chosen, state),
        folder=f"{debate.settings.state_dir}/{debate.session}" if debate.settings.state_dir else "",
        content=(final.whole or final.text) if final.n > 1 else "",
        patch=patch_of(final.to_json()) if final.whole else final.patch,
        findings=(
            *false,
            *(_with_origin(f, ledger, state) for f in findings_of(ledger, seen=seen, outside=outside, final=final.n)),
        ),
        earlier=state.earlier.session if state.earlier else "",
        since=state.earlier.commit if state.earlier else "",
        history=tuple(state.history),
        unresolved=tuple(dict.fromkeys(unresolved)),
        next_actions=tuple(dict.fromkeys(actions)),
        stopped_by=cause,
        checked=bool(debate.runners),
        analysed=debate.seat("critic").spec.provider in versions.PROGRAMS
        and not debate.spoke_for(debate.seat("critic")),
        judge_failed=state.judge_failed,
        slips=tuple(f"{s.point} {s.kind} by the {s.by} in round {s.round}" for s in dict.fromkeys(ledger.slips)),
    )


def _with_origin(finding: ReviewFinding, ledger: Ledger, state: CrossState) -> ReviewFinding:
    """Add to a finding of an earlier review which session raised it and, if a fix was seen, which commit fixed it."""
    one = state.carried.get(finding.id)
    if one is None:
        return finding
    seen_fixes = [
        m for m in ledger.moves if (m.point, m.kind) == (finding.id, MOVES["fixed"]) and m.round in state.first_rounds
    ]
    fixed = finding.is_fixed and bool(seen_fixes)
    by = (one.by or "the new commits") if fixed else ""
    check = finding.check if fixed else _checked_now(finding.check, ledger.rerun(finding.id, 1))
    return replace(finding, since=one.session, fixed_by=by, check=check)


def _checked_now(check: CodeCheck | None, again: Rerun | None) -> CodeCheck | None:
    """The check of a finding that an earlier review raised, with what it shows about the change as it is now."""
    if check is None or again is None or again.side == "fails":
        return check
    marks: Mapping[str, CheckMark] = {"passes": "refuted", "cannot run": "broken"}
    note = f"shown in the earlier review; on the change as it is now it {again.side or 'was not run'}"
    said = f"{note}: {again.note}" if again.note else note
    return replace(check, mark=marks.get(again.side, "not run"), note=said, output="")


def false_citations(target: Target, final: str = "") -> tuple[ReviewFinding, ...]:
    """The citations of the reviewed text that are absent, as findings of the program. `final` is a later version."""
    text, found = target.given or target.text, list[ReviewFinding]()
    rows = text.split("\n")
    for n, said in enumerate(absent_citations(target), 1):
        cited, _, why = said.partition(" (")
        place = cited.partition(' "')[0]
        path = place.partition(":")[0]
        at = next((i for i, row in enumerate(rows, 1) if place in row), 0)
        found.append(
            ReviewFinding(
                id=f"{CITATION}{n}",
                severity="P2",
                raised_as="P2",
                category="citation",
                text=f"It cites {cited}: {why.removesuffix(')').removeprefix(f'{path}: ')}.",
                place=f"{target.path or 'artifact.md'}:{at}" if at else "",
                quote=rows[at - 1].strip() if at else "",
                mark="found" if at else "",
                ruling="valid",
                reason="looked up by rebut",
                voices=(CHECK,),
                round=1,
                seen=CHANGED if final and place not in final else "",
            )
        )
    return tuple(found)


def data(state: CrossState, made: ReviewResult) -> dict[str, Json]:
    """The result as JSON, with the contents of the session's files."""
    pages: dict[str, Json] = dict(state.pages)
    return {
        "contract": made.to_json(),
        "versions": [v.to_json() for v in state.versions[1:]],
        "pages": pages,
    }


# whether the debate was worth it: the artifact as it was, the findings of the critic alone, and what the debate changed


CRITIQUE = ("r1/critique*",)
FATES = (
    *("valid", "without evidence", "unweighed", "unmatched", "fixed", "withdrawn", "invalid", "struck"),
    "outside the change",
)


def worth(made: ReviewResult, written: int, what: str, caveat: str = "", unplaced: Sequence[Move] = ()) -> Worth:
    """Return what the debate changed.

    `written` is the number of later versions; `what` was reviewed: `the change` or `the text`.
    `unplaced` are objections that name a finding which does not exist.
    """
    critics = [f.raised_as for f in made.findings if f.round == 1 and "critic" in f.voices]
    critics += [m.severity for m in unplaced if (m.by, m.round) == ("critic", 1)]
    grave = critics.count("P1")
    found = counted(len(critics), "finding") if critics else "nothing"
    found += f" ({grave} P1)" if grave else ""
    changed = _changes(made.findings, written)
    kept = made.decision == "Keep Original"
    if made.decision == "Stopped":
        changed.insert(0, "no decision")
    elif not kept:
        changed.insert(0, "the original is not kept")
    return Worth(
        first=f"{what} as it was; the critic alone raised {found}",
        points=tally([*map(_fate, made.findings), *("unmatched" for _ in unplaced)], FATES),
        changed=tuple(changed),
        same=None if made.decision == "Stopped" else kept and not changed,
        caveat=caveat,
        noun="finding",
        keys=CRITIQUE,
    )


def _changes(findings: Sequence[ReviewFinding], written: int) -> list[str]:
    """What the judge and later rounds changed about the critic's findings and about the artifact."""
    said = []
    if regraded := [f for f in findings if f.ruling and not f.struck and f.severity != f.raised_as]:
        said.append(", ".join(f"{f.id} {f.raised_as} to {f.severity}" for f in regraded[:3]))
        said[-1] += f" and {len(regraded) - 3} more regraded" if len(regraded) > 3 else ""
    if added := [f.id for f in findings if f.voices == ("judge",)]:
        said.append(f"{', '.join(added)} added by the judge")
    if written:
        said.append(f"version {written + 1} written")
    return said


def _fate(f: ReviewFinding) -> str:
    if f.ruling == "invalid":
        return "invalid"
    if f.status == "withdrawn":
        return "withdrawn"
    if f.is_fixed:
        return "fixed"
    if f.struck:
        return "struck"
    if f.outside:
        return "outside the change"
    return {"valid": "valid", "missing evidence": "without evidence"}.get(f.ruling, "unweighed")
