"""Starts a debate for a command: once, with --repeat several times, or with --dry-run not at all."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rebut.api import Setup
from rebut.cli.output import folded, say, say_json
from rebut.cli.runner import Act, Judged, perform
from rebut.core.errors import NothingRead, RebutError, RecordError, UsageError
from rebut.core.lazy_pattern import LazyPattern
from rebut.core.text import counted
from rebut.domain.outcome import Outcome
from rebut.engine.plan import Plan
from rebut.engine.start import start
from rebut.setup.verbs import planned

if TYPE_CHECKING:
    from rebut.cli.gate_flags import Gating
    from rebut.cli.repeated_runs import Repeat
    from rebut.workspace.targets.target import Wanted

NOT_WRITTEN = LazyPattern(r".* (?:could not be|was not) written: (.*)")
"""A note on a file that was not written. If it was written beside another file, its note has no such colon."""


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
    save: str | None = None,
) -> int:
    """Start it. `save` is the folder that --save names: files missing there are an error, reported with the result."""
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

    def judge(outcome: Outcome) -> Judged:
        judged = gating.judge(outcome) if gating else Judged(outcome, outcome.exit_code)
        return replace(judged, failed=judged.failed or _not_saved(outcome, save)) if save else judged

    code = perform(act_of(), as_json=as_json, quiet=quiet, deadline=deadline, everything=everything, judge=judge)
    return code or (3 if gating and gating.refused else 0)


def _not_saved(outcome: Outcome, folder: str) -> RebutError | None:
    """Which files could not be written to the folder that the user named, and why; None if all of them were."""
    notes = [note.removeprefix(f"{folder}/") for note in outcome.notes if note.startswith(f"{folder}/")]
    reasons = [found[1] for note in notes if (found := NOT_WRITTEN.fullmatch(note))]
    if not reasons:
        return None
    return RecordError(
        f"{counted(len(reasons), 'file')} could not be saved to {folder}: {reasons[0]}",
        f"The debate itself is on record: rebut show {outcome.session}",
    )


def repeated(named: dict[str, Any]) -> Repeat | None:
    """Take `--repeat` and `--out` out of a command's values, if they were given."""
    count, out = named.pop("repeat", None), named.pop("out", None)
    if count is None:
        if out:
            raise UsageError("--out needs --repeat N", "`rebut export` writes one debate to a file.")
        return None
    from rebut.cli.repeated_runs import Repeat

    return Repeat(count, out or "", named.get("seed"), named.get("temperature"))
