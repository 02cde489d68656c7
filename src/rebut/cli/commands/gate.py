"""`rebut gate`: a review on record judged anew by today's policy. No model, no call."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.commands.show import folder_of, root
from rebut.cli.options import gate_options, json_flag

if TYPE_CHECKING:
    from rebut.ci.standing import Grounds, Standing
    from rebut.domain.gate_policy import Wish
    from rebut.domain.outcome import Outcome
    from rebut.record.record import Record

USUAL = "P1"


@click.command("gate")
@click.argument("id", default="last")
@gate_options
@json_flag
def gate_command(id: str, fail_on: str | None, on_inconclusive: str | None, as_json: bool) -> int:
    """Judge the review of session ID anew: may the change go in? Calls nothing.

    Without a threshold of yours or of the base commit, P1 fails. Exit code 1 when findings at or above it stand, 3 when
    the review is inconclusive.
    """
    from rebut.ci.recorded_reviews import Review
    from rebut.ci.standing import stand, with_threshold
    from rebut.cli.output import say, say_json, width
    from rebut.domain.gate_policy import Wish
    from rebut.record import sessions as session

    record = session.load(folder_of(id))
    review = Review.of(record)
    held = with_threshold(grounds_of(record, Wish(fail_on, on_inconclusive)), USUAL)
    standing = stand(review, held, applied=is_there(record, review.outcome))
    if as_json:
        say_json({"session": review.session, "gate": standing.ruling.to_json(), "exit": standing.ruling.code})
    else:
        say("\n".join(rows(standing, held, width())), emphasis=True)
    return standing.ruling.code


def is_there(record: Record, outcome: Outcome) -> bool:
    """Whether the final version of a review stands in its working tree by now."""
    from rebut.ci.apply import final_patch, is_applied
    from rebut.record import sessions as session
    from rebut.setup import config

    workspace = Path(record.opened.workspace)
    if not (patch := final_patch(outcome)) or not workspace.is_dir():
        return False
    settings = config.load(workspace=session.repository(workspace), env=os.environ)
    return asyncio.run(is_applied(patch, record, tuple(settings.known_secrets(os.environ))))


def grounds_of(record: Record, flags: Wish) -> Grounds:
    """What the review of a session is held against, wherever we stand now."""
    from rebut.ci.recorded_reviews import Review
    from rebut.ci.standing import grounds
    from rebut.record import sessions as session
    from rebut.setup import config

    workspace = Path(record.opened.workspace)
    settings = config.load(workspace=session.repository(workspace), env=os.environ)
    return asyncio.run(grounds(workspace, root(), Review.of(record).target, settings, flags))


def rows(standing: Standing, held: Grounds, width: int) -> list[str]:
    """What the gate says, for people."""
    from rebut.reports.terminal import wrapped

    ruling, policy = standing.ruling, standing.ruling.policy
    out = [f"  {_heading(standing)}"]
    for f in ruling.failing:
        note = "  (dismissed, but not in the base commit, so it counts)" if f.id in standing.pending else ""
        head = f"    {f.id:<4} {f.severity}  "
        out += wrapped(f"{head}{f.place + '  ' if f.place else ''}{' '.join(f.text.split())}{note}", width, len(head))
    for doubt in ruling.doubts:
        out += wrapped(f"  {'in doubt':<12}  {doubt}", width, 16)
    if ruling.mended:
        told = f"{', '.join(ruling.mended)}, by the final version, which stands in the working tree"
        out += wrapped(f"  {'mended':<12}  {told}", width, 16)
    reasons = {f.id: f.dismissed for f in standing.contract.findings}
    for id in ruling.dismissed:
        out += wrapped(f"  {'dismissed':<12}  {id}: {reasons[id]}", width, 16)
    threshold = f"fails on {_above(policy.fail_on)}" if policy.fail_on else "no threshold"
    source = f"; {held.basis.source} narrows it" if held.basis.wish != type(held.basis.wish)() else ""
    rule = f"{threshold}; an inconclusive review {'fails' if policy.on_inconclusive == 'fail' else 'passes'}{source}"
    out += wrapped(f"  {'policy':<12}  {rule}", width, 16)
    for notice in policy.notices:
        out += wrapped(f"  {'note':<12}  {notice}", width, 16)
    return out


def _heading(standing: Standing) -> str:
    ruling = standing.ruling
    count = len(ruling.failing)
    if not standing.review.outcome.complete:
        return "GATE NOT REACHED: the review is not over"
    if count:
        what = f"finding{'' if count == 1 else 's'} of {_above(ruling.policy.fail_on)} {'stand' + 's' * (count == 1)}"
        return f"GATE FAILED: {count} {what}"
    if ruling.passed:
        return "GATE PASSED" + (", THOUGH INCONCLUSIVE" if ruling.doubts else "")
    return "GATE FAILED: the review is inconclusive"


def _above(severity: str) -> str:
    return "P1" if severity == "P1" else f"{severity} or graver"
