"""`rebut gate` judges a review on record by a policy; `rebut dismiss` hides a finding until its lines change."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.commands.show import folder_of
from rebut.cli.completion import SESSION
from rebut.cli.options import gate_options, json_flag
from rebut.core.files import repository

if TYPE_CHECKING:
    from rebut.ci.dismissals import Dismissal
    from rebut.ci.gate import GatedReview
    from rebut.ci.recorded_reviews import Review
    from rebut.domain.gate_policy import Wish
    from rebut.domain.outcome import Outcome
    from rebut.domain.review_result import ReviewFinding
    from rebut.record.record import Record

USUAL = "P1"


@click.command("gate")
@click.argument("id", type=SESSION, default="last")
@gate_options
@json_flag
def gate_command(id: str, fail_on: str | None, on_inconclusive: str | None, as_json: bool) -> int:
    """Pass or fail the review of session ID by its findings. Calls no model.

    The threshold is that of your flags or config, or a stricter one of the base commit; else P1. Exit code 1 if a
    finding at or above it is open, 3 if the review is inconclusive. A finding is open unless the judge rejected it or
    the critic withdrew it.
    """
    from rebut.cli.output import say, say_json, width
    from rebut.domain.gate_policy import Wish
    from rebut.record import sessions

    record = sessions.load(folder_of(id))
    standing = gated(record, Wish(fail_on, on_inconclusive))
    if as_json:
        say_json({"session": record.opened.id, "gate": standing.ruling.to_json(), "exit": standing.ruling.code})
    else:
        say("\n".join(rows(standing, width())), emphasis=True)
    return standing.ruling.code


def gated(record: Record, flags: Wish | None = None) -> GatedReview:
    """The review of a session, judged by its policy, with the threshold P1 if that has none."""
    from rebut.ci.gate import grounds_of, stand, with_threshold
    from rebut.ci.recorded_reviews import Review

    review = Review.of(record)
    held = with_threshold(asyncio.run(grounds_of(record, flags)), USUAL)
    return stand(review, held, applied=_is_final_version_there(record, review.outcome))


def _is_final_version_there(record: Record, outcome: Outcome) -> bool:
    """Whether the final version of a review is in its working tree now."""
    from rebut.ci.apply import final_patch, is_applied
    from rebut.setup import config

    workspace = Path(record.opened.workspace)
    if not (patch := final_patch(outcome)) or not workspace.is_dir():
        return False
    settings = config.load_config(workspace=repository(workspace), env=os.environ)
    return asyncio.run(is_applied(patch, record, tuple(settings.known_secrets(os.environ))))


def rows(standing: GatedReview, width: int) -> list[str]:
    """The result of the gate, as rows for a terminal."""
    from rebut.reports.terminal import hanging, labelled

    ruling, policy = standing.ruling, standing.ruling.policy
    out = [f"  {_heading(standing)}"]
    for f in ruling.failing:
        note = "  (dismissed, but not in the base commit, so it counts)" if f.id in standing.pending else ""
        head = f"    {f.id:<4} {f.severity}  "
        out += hanging(f"{head}{f.place + '  ' if f.place else ''}{' '.join(f.text.split())}{note}", width, len(head))
    for doubt in ruling.doubts:
        out += labelled("in doubt", doubt, width)
    for line in ruling.accepted:
        out += labelled("not read", f"{line}; accepted by [gate] unread_ok", width)
    if ruling.fixed:
        fixed = f"{', '.join(ruling.fixed)}, by the final version, which is in the working tree"
        out += labelled("fixed", fixed, width)
    if ruling.outside:
        out += labelled("outside", f"{', '.join(ruling.outside)}: not about lines of the change", width)
    reasons = {f.id: f.dismissed for f in standing.contract.findings}
    for id in ruling.dismissed:
        out += labelled("dismissed", f"{id}: {reasons[id]}", width)
    only = ", if a check shows it" if policy.counts == "shown" else ""
    threshold = f"fails on {_above(policy.fail_on)}{only}" if policy.fail_on else "no threshold"
    basis = standing.grounds.basis
    source = f"; made stricter by {basis.source}" if basis.wish.is_stricter else ""
    rule = f"{threshold}; an inconclusive review {'fails' if policy.on_inconclusive == 'fail' else 'passes'}{source}"
    out += labelled("policy", rule, width)
    for notice in policy.notices:
        out += labelled("note", notice, width)
    return out


def _heading(standing: GatedReview) -> str:
    from rebut.core.text import counted

    ruling = standing.ruling
    count = len(ruling.failing)
    if not standing.review.outcome.complete:
        return "GATE NOT REACHED: the review has not ended"
    if count:
        return f"GATE FAILED: {counted(count, 'finding')} of severity {_above(ruling.policy.fail_on)}"
    if ruling.passed:
        return "GATE PASSED" + (", BUT INCONCLUSIVE" if ruling.doubts else "")
    return "GATE FAILED: the review is inconclusive"


def _above(severity: str) -> str:
    return "P1" if severity == "P1" else f"{severity} or above"


@click.command("dismiss")
@click.argument("finding", required=False, default="")
@click.option("--reason", metavar="TEXT", default="", help="Why; shown wherever the finding is hidden.")
@click.option(
    "--like", metavar="FINDING", default="", help="Dismiss all of its rule or category in --glob. Implies --shared."
)
@click.option(
    "--glob", metavar="GLOB", default="", help="With --like: a path, a folder or a pattern such as 'tests/*'."
)
@click.option(
    "--session", "id", type=SESSION, default="", help="The session of the review. [the last one of this folder]"
)
@click.option("--shared", is_flag=True, help="Save it in .rebut/dismissals.jsonl, to commit. [only for you]")
@click.option("--list", "listing", is_flag=True, help="List the dismissals of this repository.")
@click.option("--undo", metavar="ID", default="", help="Remove a dismissal, by its id (d…) or its finding (F…).")
@json_flag
def dismiss_command(
    finding: str, reason: str, like: str, glob: str, id: str, shared: bool, listing: bool, undo: str, as_json: bool
) -> int:
    """Dismiss FINDING (such as F3) of a review: it is hidden and fails no gate until the lines it cites change.

    A shared dismissal counts for a gate once it is in the base commit: a change cannot dismiss findings about itself.
    """
    if sum(map(bool, (finding, like, listing, undo))) != 1:
        raise click.UsageError("give a finding, --like FINDING, --list, or --undo ID")
    if glob and not like:
        raise click.UsageError("--glob needs --like FINDING")
    if listing:
        return _list(as_json)
    if undo:
        return _undo(undo, id, as_json)
    if like:
        return _dismiss_class(like, glob, reason, id, as_json)
    return _dismiss(finding, reason, id, shared, as_json)


def _dismiss(name: str, reason: str, id: str, shared: bool, as_json: bool) -> int:
    from rebut.ci import dismissals
    from rebut.ci.dismissals import dismissal
    from rebut.cli.output import say, say_json
    from rebut.core.text import clean

    review, workspace = _review(id)
    one = dismissal(
        _finding(review, name), review.target, clean(reason), review.session, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    )
    file = _file(workspace, shared)
    dismissals.add(file, one, private=not shared)
    if as_json:
        say_json({"dismissed": one.id, "finding": name.upper(), "path": one.path, "shared": shared, "file": str(file)})
        return 0
    say(f"  dismissed {name.upper()} as {one.id}: {one.category} in {one.place}, until these lines change")
    if shared:
        say(f"  commit {file.relative_to(file.parent.parent)}; the gate uses it once it is in the base commit")
    say(f"  to undo this   rebut dismiss --undo {one.id}")
    return 0


def _dismiss_class(name: str, glob: str, reason: str, id: str, as_json: bool) -> int:
    from rebut.ci import dismissals
    from rebut.ci.dismissals import dismissal_of_class, matching
    from rebut.cli.output import say, say_json
    from rebut.core.text import clean, counted

    review, workspace = _review(id)
    at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    finding = _finding(review, name)
    one = dismissal_of_class(finding, review.contract, clean(glob).strip(), clean(reason), review.session, at)
    here = matching(review.contract, review.target, [one])
    file = _file(workspace, True)
    dismissals.add(file, one, private=False)
    what = one.rule or f"category {one.category}"
    if as_json:
        said = {"dismissed": one.id, "rule": one.rule, "category": one.category, "glob": one.path}
        say_json({**said, "findings": [*here], "shared": True, "file": str(file)})
        return 0
    say(
        f"  dismissed every finding of {what} in {one.path} as {one.id}; {counted(len(here), 'finding')} of this review"
    )
    if name.upper() not in here:
        say(f"  {name.upper()} itself is not in {one.path}")
    say(f"  commit {file.relative_to(file.parent.parent)}; the gate uses it once it is in the base commit")
    say(f"  to undo this   rebut dismiss --undo {one.id}")
    return 0


def _undo(name: str, id: str, as_json: bool) -> int:
    from rebut.ci import dismissals
    from rebut.ci.dismissals import matching
    from rebut.cli.output import say, say_json
    from rebut.core.errors import UsageError

    workspace = Path.cwd().resolve()
    wanted = {name}
    if name[:1] in "Ff":
        review, workspace = _review(id)
        held = _finding(review, name)
        covering = [matching(review.contract, review.target, [one]) for _, one in _kept(workspace)]
        wanted = {found[held.id].id for found in covering if held.id in found}
    gone = [
        one.id
        for shared in (False, True)
        for one in (dismissals.remove(_file(workspace, shared), which, private=not shared) for which in sorted(wanted))
        if one is not None
    ]
    if not gone:
        raise UsageError(f"no dismissal here is called {name!r}", "`rebut dismiss --list` shows them.")
    if as_json:
        say_json({"undone": gone})
    else:
        say(f"  removed: {', '.join(dict.fromkeys(gone))}")
    return 0


def _list(as_json: bool) -> int:
    from rebut.cli.output import say, say_json, width
    from rebut.reports.terminal import hanging

    kept = _kept(Path.cwd().resolve())
    if as_json:
        names = ("id", "path", "category", "rule", "place", "reason", "text", "session", "at")
        say_json([{**{name: getattr(one, name) for name in names}, "shared": shared} for shared, one in kept])
        return 0
    for shared, one in kept:
        where = "shared" if shared else "yours"
        say("\n".join(hanging(f"  {one.id}  {where:<6}  {one.place}  {one.category}: {one.text}", width(), 21)))
        say("\n".join(hanging(f"{'':<19}because: {one.reason}", width(), 21)))
    if not kept:
        say("  no dismissals here")
    return 0


def _kept(workspace: Path) -> list[tuple[bool, Dismissal]]:
    from rebut.ci import dismissals

    return [(shared, one) for shared in (False, True) for one in dismissals.load_dismissals(_file(workspace, shared))]


def _file(workspace: Path, shared: bool) -> Path:
    from rebut.ci import dismissals
    from rebut.record import sessions

    return dismissals.shared_file(workspace) if shared else dismissals.private_file(sessions.home(), workspace)


def _review(id: str) -> tuple[Review, Path]:
    """A review and its workspace; without an id, the last review of this folder that has ended."""
    from rebut.ci.recorded_reviews import Review
    from rebut.core.errors import UnknownSession
    from rebut.record import sessions

    if id:
        record = sessions.load(folder_of(id))
        return Review.of(record), Path(record.opened.workspace)
    here = Path.cwd().resolve()
    for found in sessions.of_workspace(sessions.home(), here):
        record = sessions.load(found.folder)
        if record.closed and "target" in record.facts:
            return Review.of(record), Path(record.opened.workspace)
    raise UnknownSession(f"no review has ended in {here}", "Name one with --session ID.")


def _finding(review: Review, name: str) -> ReviewFinding:
    from rebut.core.errors import UsageError

    for held in review.contract.findings:
        if held.id == name.upper():
            return held
    ids = ", ".join(f.id for f in review.contract.findings) or "none"
    raise UsageError(f"review {review.session} has no finding {name!r}", f"Its findings: {ids}.")
