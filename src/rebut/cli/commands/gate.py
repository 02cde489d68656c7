"""`rebut gate` judges a review on record by a policy."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.commands.show import review_folder
from rebut.cli.completion import SESSION
from rebut.cli.options import gate_options, json_flag
from rebut.core.files import repository

if TYPE_CHECKING:
    from rebut.ci.gate import GatedReview
    from rebut.domain.gate_policy import Wish
    from rebut.domain.outcome import Outcome
    from rebut.record.record import Record

DEFAULT_THRESHOLD = "P1"


@click.command("gate")
@click.argument("id", type=SESSION, default="last")
@gate_options
@json_flag
def gate_command(id: str, fail_on: str | None, on_inconclusive: str | None, as_json: bool) -> int:
    """Pass or fail the review of session ID by its findings. Calls no model. Without ID, the last review.

    The threshold is that of your flags or config, or a stricter one of the base commit; else P1. Exit code 1 if a
    finding at or above it is open, 3 if the review is inconclusive. A finding is open unless the judge rejected it or
    the critic withdrew it.
    """
    from rebut.cli.output import say, say_json, width
    from rebut.domain.gate_policy import Wish
    from rebut.record import sessions

    record = sessions.load(review_folder(id, quiet=as_json))
    standing = gated(record, Wish(fail_on, on_inconclusive))
    if as_json:
        say_json({"session": record.opened.id, "gate": standing.ruling.to_json(), "exit": standing.ruling.code})
    else:
        say("\n".join(rows(standing, width())), emphasis=True)
    return standing.ruling.code


def gated(record: Record, flags: Wish | None = None) -> GatedReview:
    """The review of a session, judged by its policy; the threshold is P1 if the policy has none."""
    from rebut.ci.gate import grounds_of, stand, with_threshold
    from rebut.ci.recorded_reviews import Review

    review = Review.of(record)
    grounds = with_threshold(asyncio.run(grounds_of(record, flags)), DEFAULT_THRESHOLD)
    return stand(review, grounds, applied=_is_final_version_there(record, review.outcome))


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
    why = "dismissals do not count here" if policy.dismissals == "none" else "its dismissal is not in the base commit"
    for f in ruling.failing:
        note = f"  (counts: {why})" if f.id in standing.pending else ""
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
