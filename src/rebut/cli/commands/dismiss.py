"""`rebut dismiss` hides a finding until the lines that it cites change, or a whole class of findings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.commands.show import folder_of
from rebut.cli.completion import SESSION
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.ci.dismissals import Dismissal
    from rebut.ci.recorded_reviews import Review
    from rebut.domain.review_result import ReviewFinding


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
    from rebut.ci.dismissals import dismissal
    from rebut.cli.output import say, say_json
    from rebut.core.text import clean

    review, workspace = _review(id)
    one = dismissal(_finding(review, name), review.target, clean(reason), review.session, _now())
    file = _saved(one, workspace, shared)
    if as_json:
        say_json({"dismissed": one.id, "finding": name.upper(), "path": one.path, "shared": shared, "file": str(file)})
        return 0
    say(f"  dismissed {name.upper()} as {one.id}: {one.category} in {one.place}, until these lines change")
    _say_next(one, file, shared)
    return 0


def _dismiss_class(name: str, glob: str, reason: str, id: str, as_json: bool) -> int:
    from rebut.ci.dismissals import dismissal_of_class, matching
    from rebut.cli.output import say, say_json
    from rebut.core.text import clean, counted

    review, workspace = _review(id)
    finding = _finding(review, name)
    one = dismissal_of_class(finding, review.contract, clean(glob).strip(), clean(reason), review.session, _now())
    here = matching(review.contract, review.target, [one])
    file = _saved(one, workspace, shared=True)
    if as_json:
        said = {"dismissed": one.id, "rule": one.rule, "category": one.category, "glob": one.path}
        say_json({**said, "findings": [*here], "shared": True, "file": str(file)})
        return 0
    what, count = one.rule or f"category {one.category}", counted(len(here), "finding")
    say(f"  dismissed every finding of {what} in {one.path} as {one.id}; {count} of this review")
    if name.upper() not in here:
        say(f"  {name.upper()} itself is not in {one.path}")
    _say_next(one, file, shared=True)
    return 0


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _saved(one: Dismissal, workspace: Path, shared: bool) -> Path:
    from rebut.ci import dismissals

    file = _file(workspace, shared)
    dismissals.add(file, one, private=not shared)
    return file


def _say_next(one: Dismissal, file: Path, shared: bool) -> None:
    from rebut.cli.output import say

    if shared:
        say(f"  commit {file.relative_to(file.parent.parent)}; the gate uses it once it is in the base commit")
    say(f"  to undo this   rebut dismiss --undo {one.id}")


def _undo(name: str, id: str, as_json: bool) -> int:
    from rebut.ci import dismissals
    from rebut.ci.dismissals import matching
    from rebut.cli.output import say, say_json
    from rebut.core.errors import UsageError

    workspace = Path.cwd().resolve()
    wanted = {name}
    if name[:1] in "Ff":
        review, workspace = _review(id)
        finding = _finding(review, name)
        covering = [matching(review.contract, review.target, [one]) for _, one in _dismissals(workspace)]
        wanted = {found[finding.id].id for found in covering if finding.id in found}
    removed = [
        one.id
        for shared in (False, True)
        for one in (dismissals.remove(_file(workspace, shared), which, private=not shared) for which in sorted(wanted))
        if one is not None
    ]
    if not removed:
        raise UsageError(f"no dismissal here is called {name!r}", "`rebut dismiss --list` shows them.")
    if as_json:
        say_json({"undone": removed})
    else:
        say(f"  removed: {', '.join(dict.fromkeys(removed))}")
    return 0


def _list(as_json: bool) -> int:
    from rebut.cli.output import say, say_json, width
    from rebut.reports.terminal import hanging

    dismissals = _dismissals(Path.cwd().resolve())
    if as_json:
        names = ("id", "path", "category", "rule", "place", "reason", "text", "session", "at")
        say_json([{**{name: getattr(one, name) for name in names}, "shared": shared} for shared, one in dismissals])
        return 0
    for shared, one in dismissals:
        where = "shared" if shared else "yours"
        say("\n".join(hanging(f"  {one.id}  {where:<6}  {one.place}  {one.category}: {one.text}", width(), 21)))
        say("\n".join(hanging(f"{'':<19}because: {one.reason}", width(), 21)))
    if not dismissals:
        say("  no dismissals here")
    return 0


def _dismissals(workspace: Path) -> list[tuple[bool, Dismissal]]:
    from rebut.ci import dismissals

    return [
        (shared, one)
        for shared in (False, True)
        for one in dismissals.load_dismissals(_file(workspace, shared), private=not shared)
    ]


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

    for finding in review.contract.findings:
        if finding.id == name.upper():
            return finding
    ids = ", ".join(f.id for f in review.contract.findings) or "none"
    raise UsageError(f"review {review.session} has no finding {name!r}", f"Its findings: {ids}.")
