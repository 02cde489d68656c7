"""`rebut apply`: the patch of a review, or the fixes of single findings, in the working tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from rebut.cli.completion import SESSION
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.domain.outcome import Outcome
    from rebut.record.record import Record


@click.command("apply")
@click.argument("id", type=SESSION, default="last", metavar="[SESSION]")
@click.argument("findings", nargs=-1, metavar="[FINDING]…")
@click.option("--check", is_flag=True, help="Only say whether it applies, and which files it changes.")
@click.option("--also", multiple=True, metavar="PATH", help="The patch may change this file, too.")
@click.option("--force", is_flag=True, help="Apply it even if the review is inconclusive.")
@json_flag
def apply_command(
    id: str, findings: tuple[str, ...], check: bool, also: tuple[str, ...], force: bool, as_json: bool
) -> int:
    """Apply the final patch of a review; with FINDING (such as F1), only the fixes of these findings.

    Git applies it: all files are changed, or none. It is refused if a reviewed file has changed since.
    """
    import asyncio

    from rebut.api import Setup
    from rebut.ci.apply import NotApplied, apply
    from rebut.cli.output import say, say_json
    from rebut.core.errors import RebutError, UsageError
    from rebut.domain.session_status import outcome_of, status
    from rebut.record import sessions

    if re.fullmatch(r"F\d+", id):  # the session was left out
        id, findings = "last", (id, *findings)
    setup = Setup()
    there, folder, record = setup.for_session(id)
    outcome = outcome_of(record)
    if outcome is None:
        raise UsageError(f"session {record.opened.id} has not ended: {status(record)}", "Resume it first.")
    if outcome.review is None:
        raise UsageError(f"session {record.opened.id} is not a review, so it has no patch")
    if not outcome.conclusive and not force:
        why = "; ".join(dict.fromkeys(one.said or one.kind for one in outcome.doubts if "conclusive" in one.denies))
        raise RebutError(
            f"the review is inconclusive: {why or outcome.heading}", "--force applies its patch nevertheless."
        )
    patch = _patch(record, outcome, findings, force)
    try:
        files = asyncio.run(apply(patch, record, folder, there.environment, also, check=check))
    except NotApplied as error:
        raise RebutError(f"not applied: {error.message}", error.hint) from error
    if as_json:
        say_json({"session": sessions.short(there.environment.root, record.opened.id), "applied": not check,
                  "files": list(files)})  # fmt: skip
    else:
        say(f"  {'it applies to' if check else 'applied to'} {', '.join(files)}")
    return 0


def _patch(record: Record, outcome: Outcome, findings: tuple[str, ...], force: bool) -> str:
    """The final patch (with `force`, also one that was not decided on), or one made of the fixes of single findings."""
    from rebut.ci.apply import final_patch
    from rebut.ci.recorded_reviews import reviewed_target
    from rebut.core.errors import RebutError, UsageError
    from rebut.domain.fixes import fixes
    from rebut.workspace.diff import BothTexts, section

    made = outcome.review
    assert made is not None
    if not findings and (patch := final_patch(outcome)):
        return patch
    if not findings and made.patch:
        if force:
            return made.patch
        raise RebutError(
            "the review ended without a decision on its patch",
            "--force applies it nevertheless; F1 and the like apply the fix of a finding.",
        )
    known = {f.id for f in made.findings}
    if odd := [id for id in findings if id not in known]:
        names = ", ".join(sorted(known)) or "none"
        raise UsageError(f"the review has no finding {odd[0]!r}", f"Its findings: {names}.")
    wanted = findings or tuple(f.id for f in made.shown if f.ruling == "valid")
    target = reviewed_target(record)
    texts = {c.path: c.after for c in target.changes if c.after is not None}
    fixed, taken = fixes(texts, [p for p in outcome.ledger.points if p.id in wanted])
    if left := [id for id in findings if id not in taken]:
        raise UsageError(
            f"{left[0]} has no fix of its own that could be applied",
            "`rebut apply` without findings applies the final patch, if there is one.",
        )
    if not fixed:
        raise UsageError("the review has no patch, and none of its findings has a fix that could be applied")
    parts = []
    for path, text in fixed.items():
        sides = BothTexts(texts[path], text)
        parts.append(section(path, texts[path], text, sides.differences(), sides=sides))
    return "".join(parts)
