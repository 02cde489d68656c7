"""Taking up: a session goes on, and ends as the command that began it would have, with its gate and what it applies."""

from __future__ import annotations

from collections.abc import Mapping

from rebut import api
from rebut.api import Desk
from rebut.ci.apply import final_patch, is_applied
from rebut.cli.gate_flags import Gating
from rebut.cli.launch import applied
from rebut.cli.runner import perform
from rebut.core.errors import RebutError
from rebut.domain.gate_policy import Wish
from rebut.domain.outcome import Outcome
from rebut.setup.connect import Custom


def take_up(
    id: str,
    *,
    as_json: bool,
    quiet: bool,
    deadline: float | None,
    limits: Mapping[str, float] | None = None,
    ask_left: bool = False,
    backends: Mapping[str, Custom] | None = None,
    fail_on: str | None = None,
    on_inconclusive: str | None = None,
) -> int:
    """Go on with a session. What was asked of a review besides its ending is on record; a gate given here is newer."""
    gating, refused = Gating(Wish(fail_on, on_inconclusive)), list[str]()

    async def act(desk: Desk) -> Outcome:
        there, _, record = desk.taken_up(id)
        await gating.take_up(there, record, quiet=as_json)
        try:
            outcome = await api.resume(id, desk=desk, limits=limits, ask_left=ask_left)
        except RebutError as error:
            gating.excuse(error)
            raise
        if gating.target is None:
            return outcome
        if gating.apply and outcome.complete and not record.closed:  # what had ended was applied then, or refused
            outcome = await applied(there, outcome, refused)
        gating.applied = await is_applied(final_patch(outcome), record, there.table.known_secrets)
        return outcome

    code = perform(act, as_json=as_json, quiet=quiet, deadline=deadline, backends=backends, judge=gating.judge)
    return code or (3 if refused else 0)
