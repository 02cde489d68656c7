"""Starts a debate for a command: once, with --repeat several times, or with --dry-run not at all."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebut.api import Setup
from rebut.cli.deadline import switch_off
from rebut.cli.options import wants_page
from rebut.cli.output import as_json, can_ask, folded, say, say_json
from rebut.cli.runner import Act, CommandRun, perform
from rebut.cli.screen.live_rows import roughly
from rebut.core.errors import Interrupted, NothingRead, Paused, RebutError, UsageError
from rebut.core.files import refuse_link, repository
from rebut.core.frozen import frozen
from rebut.core.text import counted, tokens
from rebut.domain import amounts
from rebut.domain.limits import is_clamped
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import headline_of
from rebut.engine.plan import Plan, sound
from rebut.engine.start import start
from rebut.record import sessions
from rebut.setup.verbs import planned

if TYPE_CHECKING:
    from rebut.cli.gate_flags import Gating
    from rebut.workspace.targets.resolve import TargetQuestion
    from rebut.workspace.targets.target import Wanted

MOST_SHOWN = 20
"""Paths that --dry-run lists."""
MOST_RUNS = 1000
APPLIED = "applied to the working tree"
ROUND_TOKENS = 3000
"""Tokens that a round adds to a prompt, for the estimate of --dry-run: a high guess."""


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
    wanted = with_kind(wanted) if wanted is not None else None

    async def plan(setup: Setup, **changes: Any) -> Plan:
        if wanted is None:
            return planned(setup, protocol, topic, **{**named, **changes})
        target, key = await setup.resolve(wanted)
        return planned(setup, protocol, topic, target=target, redaction=key, **{**named, **changes})

    if dry_run:
        setup = Setup(rehearsal=True)

        async def rehearse() -> dict[str, Any]:
            return await egress(setup, await plan(setup))

        shown = asyncio.run(rehearse())
        if again and shown["expected"]:
            shown["expected"] = {**shown["expected"], "seconds": shown["expected"]["seconds"] * again.count}
        for row in shown["providers"].values():
            row["calls"] *= again.count if again else 1
            row["usd"] = None if row["usd"] is None else row["usd"] * (again.count if again else 1)
        if as_json:
            say_json(shown)
        else:
            say(folded("\n".join(egress_rows(shown)), sys.stdout, 16))
        return 0

    refused: list[str] = []

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
            if not (gating and gating.apply):
                return outcome
            done = await applied(setup, outcome, refused, gating)
            gating.applied = done.notes[-1].startswith(APPLIED)
            return done

        return act

    if again:
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
    return code or (3 if refused else 0)


def repeated(named: dict[str, Any]) -> Repeat | None:
    """Take `--repeat` and `--out` out of a command's values, if they were given."""
    count, out = named.pop("repeat", None), named.pop("out", None)
    if count is None:
        if out:
            raise UsageError("--out needs --repeat N", "`rebut export` writes one debate to a file.")
        return None

    return Repeat(count, out or "", named.get("seed"), named.get("temperature"))


async def applied(setup: Setup, outcome: Outcome, refused: list[str], gating: Gating) -> Outcome:
    """Apply the final patch; the outcome has a note on the result, and a refusal is also in `refused`."""
    from rebut.ci.apply import NotApplied, apply, final_patch

    patch = final_patch(outcome)
    if not patch:
        return outcome.filled(notes=(*outcome.notes, "there is no final patch, so nothing was applied"))
    if not (outcome.conclusive or gating.force):
        refused.append("inconclusive")
        why = "not applied: the review is inconclusive. --force applies its patch nevertheless"
        return outcome.filled(notes=(*outcome.notes, why))
    folder = setup.find(outcome.session)
    try:
        files = await apply(patch, sessions.load(folder), folder, setup.environment, gating.also)
    except NotApplied as error:
        refused.append(error.message)
        return outcome.filled(notes=(*outcome.notes, f"not applied: {error.message}. {error.hint}".strip()))
    return outcome.filled(notes=(*outcome.notes, f"{APPLIED}: {', '.join(files)}"))


# --dry-run


async def egress(setup: Setup, plan: Plan) -> dict[str, Any]:
    """For each provider the files, bytes and removed secrets it would get, and the maximum cost. Calls no model."""
    from rebut.core.redaction import PLACEHOLDER, Redactor
    from rebut.workspace.context import gather
    from rebut.workspace.snapshot import take
    from rebut.workspace.tree import View

    door = Redactor(b"dry run", setup.environment.known_secrets).door
    sound(plan)
    topic = door(plan.topic)
    removed, in_files = set(PLACEHOLDER.findall(topic)), set[str]()
    files, left_out, size = list[str](), list[str](), 0
    matter = 0
    if plan.target is not None:
        texts = [plan.target.diff, plan.target.text, *(c.after or "" for c in plan.target.changes)]
        matter = sum(len(door(text).encode()) for text in texts)
        removed |= {found for text in texts for found in PLACEHOLDER.findall(door(text))}
        files = [c.path for c in plan.target.changes]
        left_out = list(plan.target.left_out)
    if plan.context:
        import tempfile

        with tempfile.TemporaryDirectory() as keep:
            taken = await take(
                plan.workspace, Path(keep) / "s", door, include=plan.context, never=setup.environment.never
            )
            view = View(taken, Path(keep) / "s", door)
            given = await gather(view, taken.included, never=setup.environment.never)
            await view.close()
        files += [piece.path for piece in given.files if piece.path not in files]
        size = given.total
        in_files = {found for piece in given.files for found in PLACEHOLDER.findall(piece.text)}
        reasons = dict(given.left_out)
        top = repository(plan.workspace)
        left_out += [f"{path} ({reasons.get(path, why)})" for path, why in not_sent(plan.context, top, files, setup)]
        left_out += [
            f"{path} ({why})" for path, why in given.left_out if not any(row.startswith(f"{path} ") for row in left_out)
        ]
    from rebut.record.timings import Timings

    rounds = int(getattr(plan.settings, "rounds", 1) or 1)
    planned = plan.protocol.calls(plan.settings) if plan.protocol.calls else {}
    text = len(door(plan.target.text).encode()) if plan.target else 0
    out: dict[str, Any] = {"topic_bytes": len(topic.encode()), "text_bytes": text, "files": files}
    out |= {"not_sent": left_out, "notices": [note for note in plan.notes if is_clamped(note)], "providers": {}}
    for p in plan.seats:
        if p.seat in plan.protocol.silent:
            continue
        calls = planned.get(p.seat.partition(".")[0], rounds)
        sent = (0 if p.seat == plan.protocol.judge else size // 3) + tokens(topic) + ROUND_TOKENS * rounds + matter // 3
        price = setup.connect(p.spec).price(sent, 4096)
        row = out["providers"].setdefault(
            p.spec.provider,
            {"seats": [], "files": 0, "bytes": 0, "secrets_removed": 0, "calls": 0, "usd": 0.0},
        )
        mine = removed if p.seat == plan.protocol.judge else removed | in_files  # the judge gets no context files
        row["secrets_removed"] = max(row["secrets_removed"], len(mine))
        row["seats"].append(p.seat)
        row["calls"] += calls
        row["usd"] = None if price is None or row["usd"] is None else row["usd"] + price * calls
        whole = matter + (size if p.seat != plan.protocol.judge else 0)
        if p.seat != plan.protocol.judge or plan.target is not None:
            row["files"], row["bytes"] = len(files), max(row["bytes"], whole)
    speaking = {p.seat: str(p.spec) for p in plan.seats if p.seat not in plan.protocol.silent}
    found = Timings.beside(setup.environment.root).history().expected(planned, speaking, (), {})
    out["expected"] = {"seconds": round(found.seconds), "by": found.by} if found else None
    return out


def not_sent(context: Sequence[str], top: Path, sent: Sequence[str], setup: Setup) -> list[tuple[str, str]]:
    """The files in the given folders that would not be sent, each with the reason."""
    from rebut.workspace.file_reader import FILE_CAP, HIDDEN, is_never_sent

    out: dict[str, str] = {}
    for path in context:
        for folder, inner, files in os.walk(path):
            inner[:] = sorted(name for name in inner if name != ".git")
            for file in sorted(Path(folder, name) for name in files):
                name = file.relative_to(top).as_posix()
                if name in sent:
                    continue
                if is_never_sent(name, setup.environment.never):
                    out[name] = "never read" if is_never_sent(name) else HIDDEN
                elif file.is_symlink():
                    out[name] = "a symbolic link"
                elif file.stat().st_size > FILE_CAP:
                    out[name] = "too large"
                else:
                    out[name] = "ignored, binary or unreadable"
    return list(out.items())


def egress_rows(shown: Mapping[str, Any]) -> list[str]:
    out = []
    for name, row in shown["providers"].items():
        cost = "price unknown" if row["usd"] is None else f"about ${row['usd']:.2f} at most"
        files = f"{counted(row['files'], 'file')}, {amounts.size(row['bytes'], 'B')}"
        files = f"the text under debate, {files}" if shown["text_bytes"] else files
        secrets = f"{counted(row['secrets_removed'], 'secret')} removed"
        calls = counted(row["calls"], "call")
        out.append(f"  {name:<10} ←  the topic, {files}, {secrets}; {calls}, {cost}")
    for title, paths in (("files", shown["files"]), ("not sent", shown["not_sent"])):
        out += [f"  {title if n == 0 else '':<13} {path}" for n, path in enumerate(paths[:MOST_SHOWN])]
        if len(paths) > MOST_SHOWN:
            out.append(f"  {'':<13} … {len(paths) - MOST_SHOWN} more; --json has them all")
    if expected := shown["expected"]:
        by = f"from {counted(expected['by'], 'earlier call')} on this machine"
        out.append(f"  expected      up to about {roughly(expected['seconds'])}, estimated {by}")
    out += [f"  note          {notice}" for notice in shown["notices"]]
    out.append("  on request    more files of this workspace, once per turn, if a model asks; never those not sent")
    return [*out, "  no model was called"]


# --repeat


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
    from rebut.batch.results import total_usd

    if wants_page():
        raise UsageError("--view shows one debate, and --repeat runs several", "Look at each with `rebut view`.")
    switch_off()  # the deadline is for each run
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
    say(f"\n  {said}, {amounts.money(usd)}" + (f"; one line each in {plan.out}" if plan.out else ""), where)
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
    line = as_json(row, indent=None) + "\n"
    if file is None:
        sys.stdout.write(line)
        sys.stdout.flush()
    else:
        os.write(file, line.encode("utf-8", "replace"))


# The kind of target, where the user has to say it


def with_kind(wanted: Wanted) -> Wanted:
    """What is wanted, with its kind decided. Only the kind of a text can be unclear."""
    given = (wanted.content, wanted.artifact_file, wanted.stdin, wanted.context_file, wanted.from_transcript)
    if wanted.target == "auto" and not wanted.scope and not any(given):
        wanted = offered(wanted)
    if wanted.target != "auto" or not any((*given, wanted.from_transcript)):
        return wanted
    target, _ = asyncio.run(Setup(rehearsal=True).resolve(wanted))
    from rebut.workspace.targets.resolve import question, unanswerable

    asked = question(target)
    if asked is None:
        return wanted
    if not can_ask():
        raise unanswerable(target)
    return replace(wanted, target=_ask(asked))


def offered(wanted: Wanted) -> Wanted:
    """Where nothing was given and nothing has changed: the last message of an assistant, if the user wants it (J14)."""
    if not can_ask():
        return wanted
    from rebut.workspace.targets.transcripts import last_said

    setup = Setup(rehearsal=True)
    try:
        message = last_said(setup.workspace, setup.env)
    except UsageError:
        return wanted
    try:
        asyncio.run(setup.resolve(wanted))
        return wanted  # there is a change to review
    except UsageError as nothing:
        from rebut.cli.screen.hotkeys import one_key
        from rebut.core.text import clean, cut, squeeze

        first = cut(squeeze(clean(message.text)), 100)
        say(f"\n  {nothing.message}", sys.stderr)
        said = f"The last message of {message.tool} in this folder: “{first}”"
        say(folded(f"  {said}", sys.stderr, 2), sys.stderr)
        say("  Enter or y reviews it; any other key stops.", sys.stderr)
        if one_key() not in ("\r", "\n", "y", "Y"):
            raise
        return replace(wanted, from_transcript=True)


def _ask(asked: TargetQuestion) -> str:
    say(f"\n  {asked.text}", sys.stderr)
    for n, (kind, meaning) in enumerate(asked.choices, 1):
        say(f"  {n} {kind:<9} {meaning}{'  (Enter)' if kind == asked.default else ''}", sys.stderr)
    answers = {str(n): kind for n, (kind, _) in enumerate(asked.choices, 1)}
    answers |= {kind: kind for kind in answers.values()} | {"": asked.default}
    while True:
        sys.stderr.write("  > ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise KeyboardInterrupt
        if (said := line.strip().lower()) in answers:
            return answers[said]
        say(f"  Please answer one of: {', '.join(kind for kind, _ in asked.choices)}.", sys.stderr)
