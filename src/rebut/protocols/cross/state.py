"""The state of a review: its versions, what the judge recommended, and what is attached for the next round."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rebut.core.text import cut
from rebut.domain import review_result
from rebut.domain.review_result import Recommended, ReviewResult, findings_of
from rebut.engine.debate import Debate, Round
from rebut.protocols.cross import findings, reply_checks, versions as mending
from rebut.protocols.cross.forms import Judgement
from rebut.protocols.cross.versions import ArtifactVersion
from rebut.workspace.targets.target import Target


@dataclass
class CrossState:
    """Local to one run, and rebuilt by replay like any other variable."""

    versions: list[ArtifactVersion]
    history: list[Recommended] = field(default_factory=list)
    last: Judgement | None = None
    rebuttal: str = ""
    """Attached to the next critique."""
    pages: dict[str, str] = field(default_factory=dict)
    """`round-N-critique.md` and the like, by name."""
    notes: list[str] = field(default_factory=list)
    rounds: int = 0
    compromised: bool = False
    accepted: bool = False
    unread: bool = False
    """A part of the artifact was read by nobody."""

    @property
    def now(self) -> ArtifactVersion:
        return self.versions[-1]

    def take(self, version: ArtifactVersion, r: Round) -> None:
        self.versions.append(replace(version, round=r.n))
        r.take_up(version.files, version.text, version.modes)
        if version.caveat:
            self.notes.append(f"version {version.n}: {version.caveat}")

    @property
    def changed(self) -> bool:
        """Whether the last round that was judged ended in another version: a C may fail to write one."""
        return bool(self.history) and self.history[-1].round == self.now.round


def contract(debate: Debate, state: CrossState, cause: str) -> ReviewResult:
    """The ending, from what the ledger and the judge's history hold."""
    decision, converged = reply_checks.ending(cause, state.compromised)
    ledger, judge = debate.ledger, state.last
    final = state.now
    if decision == "Keep Original":
        # What only a later version mended stands in the original.
        final, ledger = state.versions[0], findings.unmended(ledger)
    left = [p for p in ledger.points if findings.stands(ledger, p) and not p.struck]
    grave = [p for p in left if findings.is_grave(ledger, p)]
    # What an accepted or a last version mends, nobody has looked at again: it is said to be open.
    unresolved = [f"{p.id} ({review_result.severity(ledger, p)}): {cut(p.text, 300)}" for p in grave]
    known = {p.id for p in grave}
    unresolved += [said for said in judge.unresolved if said.partition(":")[0] not in known] if judge else []
    actions = list(judge.next_actions) if judge else []
    unseen = final.n > 1 and final.round == state.rounds
    actions += [f"Look at version {final.n}: nobody has reviewed it since it was written."] if unseen else []
    actions += [f"{p.id}: {p.action}" for p in grave if p.action and not unseen]
    return ReviewResult(
        session=debate.session,
        target=debate.target.kind,
        rounds=state.rounds,
        converged=converged,
        decision=decision,
        artifact=reference(debate.target, final, decision, state),
        folder=f"{debate.settings.state_dir}/{debate.session}" if debate.settings.state_dir else "",
        content=final.text if final.n > 1 else "",
        patch=final.patch,
        findings=findings_of(ledger, fixed=mending.mended(ledger, state.versions, final)),
        history=tuple(state.history),
        unresolved=tuple(dict.fromkeys(unresolved)),
        next_actions=tuple(dict.fromkeys(actions)),
        stopped_by=cause,
    )


def reference(target: Target, final: ArtifactVersion, decision: str, state: CrossState) -> str:
    """Where the final artifact is."""
    what = "the change" if target.changes else "the text"
    if decision == "Accept Opposite" and not state.accepted:
        return f"not written: {what} as it was, with the critic's findings to be carried out by hand"
    if final.n == 1:
        return f"{what} as it was ({target.scope or 'artifact.md'})"
    patch = f"artifact-v{final.n}.patch" if decision == "Stopped" else "final.patch"
    parts = [f"{patch}, on top of the change that was reviewed"] if final.patch else []
    parts += [f"artifact-v{final.n}.md"] if final.text and final.text != state.versions[0].text else []
    told = ", which nobody decided for" if decision == "Stopped" else ""
    return f"version {final.n}{told}: {'; '.join(parts) or 'nothing was changed'}"
