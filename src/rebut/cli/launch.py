"""Starts a debate for a command: once, with --repeat several times, or with --dry-run not at all."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rebut.api import Setup
from rebut.cli.output import folded, say, say_json
from rebut.cli.runner import Act, perform
from rebut.core.errors import NothingRead, RebutError, UsageError
from rebut.domain.outcome import Outcome
from rebut.engine.plan import Plan
from rebut.engine.start import start
from rebut.setup.verbs import planned

if TYPE_CHECKING:
    from rebut.cli.gate_flags import Gating
    from rebut.cli.repeated_runs import Repeat
    from rebut.workspace.targets.target import Wanted


def launch(
    protocol: str,
    topic: str,
    named: Mapping[str, Any],
    *,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
    deadline: float | None,
    wanted: Wanted | None = None,
    everything: bool = False,
    gating: Gating | None = None,
) -> int:
    named = dict(named)
    again = repeated(named)
    if gating:
        gating.quiet = quiet or as_json
    if wanted is not None:
        from rebut.cli.target_kind import with_kind

        wanted = with_kind(wanted)

    async def plan(setup: Setup, **changes: Any) -> Plan:
        if wanted is None:
            return planned(setup, protocol, topic, **{**named, **changes})
        target, key = await setup.resolve(wanted)
        return planned(setup, protocol, topic, target=target, redaction=key, **{**named, **changes})

    if dry_run:
        from rebut.cli.dry_run import egress, egress_rows

        setup = Setup(rehearsal=True)

        async def rehearse() -> dict[str, Any]:
            return await egress(setup, await plan(setup), again.count if again else 1)

        shown = asyncio.run(rehearse())
        if as_json:
            say_json(shown)
        else:
            say(folded("\n".join(egress_rows(shown)), sys.stdout, 16))
        return 0

    def act_of(**changes: Any) -> Act:
        async def act(setup: Setup) -> Outcome:
            try:
                made = await plan(setup, **changes)
                made, outcome = await gating.prepare(setup, made) if gating else (made, None)
                outcome = outcome or await start(made, setup.environment)
            except NothingRead as error:
                if gating:
                    raise await gating.nothing_read(setup, error) from error
                raise
            except RebutError as error:
                if gating:
                    gating.excuse(error)
                raise
            return await gating.patched(setup, outcome) if gating and gating.apply else outcome

        return act

    if again:
        from rebut.cli.repeated_runs import repeat
        from rebut.domain.gate_policy import Wish

        if gating and gating.apply:
            raise UsageError(
                "--apply and --repeat cannot be combined", "Repeat it first, then run it once with --apply."
            )
        if gating and (flag := gating.judging):
            raise UsageError(
                f"{flag} and --repeat cannot be combined: each run is a separate review",
                "No model was called. Run it once, or judge each run with `rebut gate ID`.",
            )
        runs = again  # each run is a separate review: not reused, and not judged by a gate
        gating = replace(gating, flags=Wish(), sarif=None, github=False, again=True, quiet=True) if gating else None
        return repeat(lambda run: act_of(seed=runs.seed_of(run)), runs, as_json=as_json, quiet=quiet, deadline=deadline)
    judge = gating.judge if gating else None
    code = perform(act_of(), as_json=as_json, quiet=quiet, deadline=deadline, everything=everything, judge=judge)
    return code or (3 if gating and gating.refused else 0)


def repeated(named: dict[str, Any]) -> Repeat | None:
    """Take `--repeat` and `--out` out of a command's values, if they were given."""
    count, out = named.pop("repeat", None), named.pop("out", None)
    if count is None:
        if out:
            raise UsageError("--out needs --repeat N", "`rebut export` writes one debate to a file.")
        return None
    from rebut.cli.repeated_runs import Repeat

    return Repeat(count, out or "", named.get("seed"), named.get("temperature"))
