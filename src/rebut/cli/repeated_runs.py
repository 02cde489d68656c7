"""The runs of `--repeat`: the same debate several times, one line of JSON each."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from rebut.batch.results import total_usd
from rebut.cli.deadline import switch_off
from rebut.cli.options import wants_page
from rebut.cli.output import as_json as json_text, say, say_json
from rebut.cli.runner import Act, CommandRun
from rebut.core.errors import Interrupted, Paused, RebutError, UsageError
from rebut.core.files import refuse_link
from rebut.core.frozen import frozen
from rebut.core.text import counted
from rebut.domain.amounts import money
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import headline_of

MOST_RUNS = 1000


@frozen
class Repeat:
    """The number of runs, and where their lines go: a new file, or standard output."""

    count: int
    out: str = ""
    seed: int | None = None
    temperature: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_RUNS:
            raise UsageError(f"--repeat must be 1 to {MOST_RUNS}, got {self.count}")

    def seed_of(self, run: int) -> int | None:
        """The first run has the given seed, each later run the next: they differ, and each can be repeated."""
        return None if self.seed is None else self.seed + run - 1


def repeat(act_of: Callable[[int], Act], plan: Repeat, *, as_json: bool, quiet: bool, deadline: float | None) -> int:
    """Run the debate several times. A failed run is a line, too; an interrupted or waiting one ends the series."""
    if wants_page():
        raise UsageError("--view shows one debate, and --repeat runs several", "Look at each with `rebut view`.")
    switch_off()  # the deadline counts for each run, not for all of them
    file = _claimed(Path(plan.out)) if plan.out else None
    counts, worst, done, usd = Counter[str](), 0, 0, list[float | None]()
    try:
        for run in range(1, plan.count + 1):
            if not (quiet or as_json):
                say(f"\n  run {run} of {plan.count}", sys.stderr)
            one = CommandRun(False, quiet or as_json, deadline)
            came = one.play(act_of(run))
            if isinstance(came, UsageError):
                if not done and file is not None:
                    Path(plan.out).unlink()  # no model was called, so the file is empty
                raise came
            row: dict[str, object] = {"run": run, "of": plan.count}
            row |= {"temperature": plan.temperature} if plan.temperature is not None else {}
            row |= {"seed": plan.seed_of(run)} if plan.seed is not None else {}
            _write(file, row | one.as_dict(came))
            done, worst = run, max(worst, came.exit_code)
            counts[_name(came)] += 1
            usd.append(one.record.spent().usd if one.record else 0.0)
            if isinstance(came, Interrupted) or (isinstance(came, Paused) and came.exit_code == 4):
                break
    finally:
        if file is not None:
            os.close(file)
    _summed(plan, done, counts, total_usd(usd), worst, as_json)
    return worst


def _summed(plan: Repeat, done: int, counts: Counter[str], usd: float | None, worst: int, as_json: bool) -> None:
    if as_json and plan.out:
        shown = {"runs": done, "of": plan.count, "ended": dict(counts), "usd": usd, "out": plan.out, "exit": worst}
        say_json(shown)
        return
    where = sys.stdout if plan.out else sys.stderr
    said = counted(done, "run") + (f" of {plan.count}" if done < plan.count else "")
    say(f"\n  {said}, {money(usd)}" + (f"; one line each in {plan.out}" if plan.out else ""), where)
    for name, count in counts.most_common():
        say(f"    {count:>4}   {name}", where)


def _name(came: Outcome | RebutError) -> str:
    if isinstance(came, RebutError):
        return f"no outcome: {type(came).__name__}"
    side = headline_of(came) if came.verdict else ""
    return came.heading + (f": {side}" if side else "")


def _claimed(path: Path) -> int:
    """Create the file; an existing one is never replaced."""
    refuse_link(path)
    try:
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        raise UsageError(f"{path} already exists", "Choose another name with --out.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "Choose another name with --out.") from error


def _write(file: int | None, row: dict[str, object]) -> None:
    line = json_text(row, indent=None) + "\n"
    if file is None:
        sys.stdout.write(line)
        sys.stdout.flush()
    else:
        os.write(file, line.encode("utf-8", "replace"))
