"""The same debate several times, for whoever compares: one line of JSON for each run."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rebut.cli import deadline as clock
from rebut.cli.output import as_json, say, say_json
from rebut.cli.runner import Act, Stage
from rebut.core.errors import Interrupted, Paused, RebutError, UsageError
from rebut.domain.outcome import Outcome

MOST = 1000


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often, and where the lines go: a file that is not there yet, or standard output."""

    count: int
    out: str = ""
    seed: int | None = None
    temperature: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise UsageError(f"--repeat must be 1 to {MOST}, got {self.count}")

    def seed_of(self, run: int) -> int | None:
        """The first run has the seed as given, each later one the next: they differ, and each can be had again."""
        return None if self.seed is None else self.seed + run - 1


def repeat(act_of: Callable[[int], Act], plan: Repeat, *, as_json: bool, quiet: bool, deadline: float | None) -> int:
    """Run it so often. A run that fails is a line too; what the user stops, or nobody can answer, ends it all."""
    clock.hush()  # the deadline is each run's, not that of them all
    file = _claimed(Path(plan.out)) if plan.out else None
    counts, worst, done, usd = Counter[str](), 0, 0, list[float | None]()
    try:
        for run in range(1, plan.count + 1):
            if not (quiet or as_json):
                say(f"\n  run {run} of {plan.count}", sys.stderr)
            stage = Stage(False, quiet or as_json, deadline)
            came = stage.play(act_of(run))
            if isinstance(came, UsageError):
                if not done and file is not None:
                    Path(plan.out).unlink()  # nothing was called, so there is nothing to compare
                raise came
            row: dict[str, object] = {"run": run, "of": plan.count}
            row |= {"temperature": plan.temperature} if plan.temperature is not None else {}
            row |= {"seed": plan.seed_of(run)} if plan.seed is not None else {}
            _write(file, row | stage.told(came))
            done, worst = run, max(worst, came.exit_code)
            counts[_name(came)] += 1
            usd.append(stage.record.spent().usd if stage.record else 0.0)
            if isinstance(came, Interrupted) or (isinstance(came, Paused) and came.exit_code == 4):
                break
    finally:
        if file is not None:
            os.close(file)
    known = [u for u in usd if u is not None]
    total = None if len(known) < len(usd) else sum(known)
    _summed(plan, done, counts, total, worst, as_json)
    return worst


def _summed(plan: Repeat, done: int, counts: Counter[str], usd: float | None, worst: int, as_json: bool) -> None:
    if as_json and plan.out:
        shown = {"runs": done, "of": plan.count, "ended": dict(counts), "usd": usd, "out": plan.out, "exit": worst}
        say_json(shown)
        return
    from rebut.reports.terminal import money

    where = sys.stdout if plan.out else sys.stderr
    said = f"{done} run{'' if done == 1 else 's'}" + (f" of {plan.count}" if done < plan.count else "")
    say(f"\n  {said}, {money(usd)}" + (f"; one line each in {plan.out}" if plan.out else ""), where)
    for name, count in counts.most_common():
        say(f"    {count:>4}   {name}", where)


def _name(came: Outcome | RebutError) -> str:
    if isinstance(came, RebutError):
        return f"no outcome: {type(came).__name__}"
    return came.heading + (f": {came.verdict.winner}" if came.verdict else "")


def _claimed(path: Path) -> int:
    """A file of our own: what somebody has measured before is not written over."""
    try:
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        raise UsageError(f"{path} is there already", "Give another name with --out.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "Give another name with --out.") from error


def _write(file: int | None, row: dict[str, object]) -> None:
    line = as_json(row, indent=None) + "\n"
    if file is None:
        sys.stdout.write(line)
        sys.stdout.flush()
    else:
        os.write(file, line.encode("utf-8", "replace"))
