"""Builds the review of a branch on its review at an earlier commit, so that only the changes since are asked about.

These changes are read from git. A finding of the earlier review is carried over to where its lines are now. If its
file is unchanged, so is the finding; otherwise the critic is asked what became of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rebut.ci.dismissals import Dismissal, matching
from rebut.ci.gate import stands
from rebut.ci.recorded_reviews import Review, asked_for, is_asked_alike, is_whole
from rebut.core.frozen import frozen
from rebut.core.redaction import Redactor
from rebut.core.text import clean, counted, cut
from rebut.core.types import Changed
from rebut.domain.checks import CHECKS
from rebut.domain.earlier_review import CarriedFinding, EarlierReview
from rebut.domain.fixes import lines_of
from rebut.domain.review_result import ReviewFinding
from rebut.engine.plan import OWN_OUTPUT, Environment, Plan
from rebut.record import sessions
from rebut.workspace.diff import BothTexts, Span, meets, section
from rebut.workspace.git import Git, GitFailed
from rebut.workspace.targets.git_change import draw
from rebut.workspace.targets.target import target_of
from rebut.workspace.targets.unread import unread_files

BRANCH = "base:"
"""The scope of a branch: its commits since its merge base with another one."""
PROGRAMS = ("lint",)
"""Critics that cost nothing: they read everything again, and the earlier findings are compared with what they find."""
MOST_COMMITS = 200
LONGEST_SUBJECT = 60


async def earlier_review(plan: Plan, environment: Environment, dismissals: Sequence[Dismissal]) -> EarlierReview | None:
    """The newest review of this branch that ended, was conclusive and asked the same seats; None if there is none.

    It must have had the same base: if the branch was rebased, or has merged its base, everything is reviewed again.
    """
    target = plan.target
    if target is None or plan.context or target.kind != "code" or not target.new:
        return None
    if not target.scope.startswith(BRANCH) or unread_files(target.left_out, plan.unread_ok).doubtful:
        return None
    wanted = asked_for(plan, environment.root)
    for found in sessions.of_workspace(environment.root, plan.workspace):
        if not is_asked_alike(found, wanted):
            continue
        record = sessions.load(found.folder)
        old = target_of(record)
        if old is None or (old.scope, old.base) != (target.scope, target.base) or not is_whole(record):
            continue
        if not old.new or old.new == target.new or (CHECKS in record.facts) != plan.run_checks:
            continue
        return await _since(Review.of(record), plan, environment, dismissals)
    return None


async def _since(
    review: Review, plan: Plan, environment: Environment, dismissals: Sequence[Dismissal]
) -> EarlierReview | None:
    target = plan.target
    assert target is not None
    git = await Git.open(plan.workspace)
    if git is None:
        return None
    redactor = Redactor(plan.redaction, environment.known_secrets)
    try:
        if not await git.commit(review.target.new):  # the branch was rewritten, and git has removed the commit
            return None
        never = (*environment.never, *OWN_OUTPUT)
        drawn = await draw(git, review.target.new, target.new, redactor.door, never)
        names = {name for c in (*target.changes, *review.target.changes) for name in (c.path, c.old_path) if name}
        changes = tuple(c for c in drawn.changes if c.path in names or c.old_path in names)
        critic = next((p.spec.provider for p in plan.seats if p.seat == "critic"), "")
        now = {name: c for c in changes for name in (c.path, c.old_path) if name}
        gone = matching(review.contract, review.target, dismissals)
        carried = []
        for finding in review.contract.findings:
            if stands(finding) or finding.ruling == "invalid":
                why = gone[finding.id].reason if finding.id in gone else ""
                one = _carried(finding, review.session, now, why)
                by = await _fixing_commit(git, review.target.new, target.new, one, finding) if one.shown else ""
                carried.append(replace(one, by=redactor.door(by)))
    except GitFailed:
        return None
    finally:
        await git.close()
    diff = "".join(_section(c) for c in changes)
    return EarlierReview(review.session, review.target.new, diff, changes, tuple(carried), critic in PROGRAMS)


def _section(change: Changed) -> str:
    sides = BothTexts(change.before, change.after)
    return section(change.path, change.before, change.after, sides.differences(), old_path=change.old_path, sides=sides)


def _carried(finding: ReviewFinding, session: str, now: Mapping[str, Changed], dismissed: str) -> CarriedFinding:
    place = _place(finding, now)
    return CarriedFinding(
        id=finding.id,
        session=finding.since or session,
        severity=finding.severity,
        category=finding.category,
        text=finding.text,
        place=place.name,
        quote="" if place.touched else finding.quote,
        ruling=finding.ruling,
        reason=finding.reason,
        action=finding.action,
        fix="" if place.touched else finding.fix,
        shown=place.shown,
        dismissed="" if place.touched else dismissed,
        check=finding.check,
    )


@frozen
class _Place:
    """Where a finding is now. `touched`: its lines have changed. `shown`: its file has, so the critic is asked."""

    name: str
    touched: bool = False
    shown: bool = False


def _place(finding: ReviewFinding, now: Mapping[str, Changed]) -> _Place:
    cited = lines_of(finding.place)
    path = cited[0] if cited else finding.place
    change = now.get(path)
    if change is None:
        return _Place(finding.place)
    if change.after is None:
        return _Place("", True, True)
    if cited is None:
        return _Place(change.path, True, True)
    spans = BothTexts(change.before, change.after).differences()
    touched = finding.mark == "absent" or meets(spans, cited[1], cited[2])
    first, last = _moved(spans, cited[1]), _moved(spans, cited[2], last=True)
    last = min(max(first, last), len(change.after.split("\n")))
    first = min(first, last)
    lines = f"{first}-{last}" if last > first else f"{first}"
    return _Place(f"{change.path}:{lines}", touched, True)


def _moved(spans: Sequence[Span], line: int, *, last: bool = False) -> int:
    """Where a line of the old text is in the new one; if it was changed, the first or last line that replaces it."""
    shift = 0
    for span in spans:
        if span.old >= line:
            break
        if line <= span.old_end:
            return max(1, span.new_end if last else span.new + 1)
        shift = span.new_end - span.old_end
    return line + shift


async def _fixing_commit(git: Git, old: str, new: str, one: CarriedFinding, finding: ReviewFinding) -> str:
    """In words, the commit that changed the place a finding cites; several commits if it is not certain which."""
    cited = lines_of(finding.place)
    path = cited[0] if cited else finding.place
    if await git.merge_base(old, new) != old:
        return f"the rewritten history up to {new[:12]}"
    here = lines_of(one.place)
    names = {path, here[0] if here else path}
    paths = [f":(top,literal){name}" for name in sorted(names)]
    said = await git.run("rev-list", "--reverse", f"--max-count={MOST_COMMITS}", f"{old}..{new}", "--", *paths)
    commits = said.decode().split()
    if not commits:
        return f"the commits up to {new[:12]}"
    before = await _lines_at(git, old, path)
    wanted = before[cited[1] - 1 : cited[2]] if cited else []
    if wanted and not one.quote:
        for commit in commits:
            if not _contains(await _lines_at(git, commit, path), wanted):
                return await _described(git, commit)
    if len(commits) == 1:
        return await _described(git, commits[0])
    return f"{counted(len(commits), 'commit')} from {commits[0][:12]} to {commits[-1][:12]}"


async def _lines_at(git: Git, commit: str, path: str) -> list[bytes]:
    data = await git.object(f"{commit}:{path}", 1_000_000)
    return data.split(b"\n") if isinstance(data, bytes) else []


def _contains(lines: Sequence[bytes], block: Sequence[bytes]) -> bool:
    size = len(block)
    return any(lines[n : n + size] == list(block) for n in range(len(lines) - size + 1))


async def _described(git: Git, commit: str) -> str:
    body = await git.object(commit, 100_000)
    message = body.partition(b"\n\n")[2].decode("utf-8", "replace") if isinstance(body, bytes) else ""
    subject = cut(clean(message.split("\n")[0]), LONGEST_SUBJECT)
    return f"commit {commit[:12]}" + (f" ({subject})" if subject else "")
