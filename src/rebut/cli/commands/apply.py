"""`rebut apply`: the patch of a review, or the fixes of single findings, in the working tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from rebut.cli.completion import SESSION
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from collections.abc import Collection

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

    Without SESSION, that of the last review.

    Git applies it: all files are changed, or none. It is refused if a reviewed file has changed since.
    """
    import asyncio

    from rebut.api import Setup
    from rebut.ci.apply import AlreadyApplied, NotApplied, apply
    from rebut.cli.commands.show import review_folder
    from rebut.cli.output import say, say_json
    from rebut.core.errors import RebutError, UsageError
    from rebut.domain.session_status import outcome_of, status
    from rebut.record import sessions

    if re.fullmatch(r"F\d+", id):  # the session was left out
        id, findings = "last", (id, *findings)
    setup = Setup()
    there, folder, record = setup.for_session(review_folder(id, quiet=as_json).name)
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
    patch, fixed = _patch(record, outcome, findings, force)
    already = False
    try:
        files = asyncio.run(apply(patch, record, folder, there.environment, also, check=check))
    except AlreadyApplied as found:
        files, already = found.files, True
    except NotApplied as error:
        raise RebutError(f"not applied: {error.message}", error.hint) from error
    if as_json:
        say_json({"session": sessions.short(there.environment.root, record.opened.id), "applied": already or not check,
                  "files": list(files)})  # fmt: skip
    else:
        done = "already applied to" if already else "it applies to" if check else "applied to"
        left = [] if findings else _unfixed(outcome, fixed)
        say(f"  {done} {', '.join(files)}{'; nothing to do' if already and not left else ''}")
        for line in left:
            say(f"  {line}")
    return 0


def _unfixed(outcome: Outcome, fixed: Collection[str] | None) -> list[str]:
    """Lines on findings that the patch may not fix; `fixed` is None for a patch that was debated as a whole."""
    assert outcome.review is not None
    shown = outcome.review.shown
    if fixed is not None:
        left = [f.id for f in shown if f.id not in fixed]
        have, are = ("has", "is") if len(left) == 1 else ("have", "are")
        return [f"{', '.join(left)} {have} no fix in this patch and {are} still to do"] if left else []
    lines = []
    if open := [f.id for f in shown if not f.seen]:
        lines.append(f"nothing on record shows that this patch fixes {', '.join(open)}")
    return lines + [f"whether the patch fixes {f.id} is not known: {f.seen}" for f in shown if f.seen]


def _patch(
    record: Record, outcome: Outcome, findings: tuple[str, ...], force: bool
) -> tuple[str, Collection[str] | None]:
    """The final patch (with `force`, also one that was not decided on), or one made of the fixes of single findings.

    Also returns which findings have their fixes in it; None for a patch that was debated as a whole.
    """
    from rebut.ci.apply import final_patch
    from rebut.ci.recorded_reviews import reviewed_target
    from rebut.core.errors import RebutError, UsageError
    from rebut.domain.fixes import fixes
    from rebut.workspace.diff import BothTexts, section

    made = outcome.review
    assert made is not None
    if not findings and (patch := final_patch(outcome)):
        return patch, None
    if not findings and made.patch:
        if force:
            return made.patch, None
        raise RebutError(
            "the review ended without a decision on its patch",
            "--force applies it nevertheless; F1 and the like apply the fix of a finding.",
        )
    known = {f.id for f in made.findings}
    if unknown := [id for id in findings if id not in known]:
        names = ", ".join(sorted(known)) or "none"
        raise UsageError(f"the review has no finding {unknown[0]!r}", f"Its findings: {names}.")
    wanted = findings or tuple(f.id for f in made.shown if f.ruling == "valid")
    texts = reviewed_target(record).texts
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
    return "".join(parts), taken
