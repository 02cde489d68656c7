"""`rebut trial`: measures whether a debate finds more planted defects than one model; and the scorecard of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rebut.cli.brief_help import BriefGroup
from rebut.cli.completion import PATH, SPEC
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from pathlib import Path

    from rebut.api import Setup
    from rebut.trial.repository_pairs import OwnPairs
    from rebut.trial.trial import TrialReport, TrialRun

AT_ONCE = 8


@click.group("trial", cls=BriefGroup, invoke_without_command=True)
@click.option("--with", "company", type=SPEC, metavar="A,B", help="A reviews; the others judge and challenge.")
@click.option("--pairs", "count", type=click.IntRange(1, 1000), default=60, metavar="N", help="Pairs to review. [60]")
@click.option(
    "--arms", default="", metavar="LIST", help="Some of one, vote, cross, checks, panel, lint. [all that may run]"
)
@click.option("--run-checks", is_flag=True, help="Allow code to run, in a sandbox: for the arm checks, and --repo.")
@click.option("--repo", type=PATH, metavar="DIR", help="Take the pairs from this repository; its tests are run.")
@click.option("--seed", type=int, default=1, metavar="N", help="Which pairs are taken. [1]")
@click.option("--out", type=PATH, metavar="DIR", help="Where its results go. [a folder beside your sessions]")
@click.option("--at-once", type=click.IntRange(1, 1000), default=AT_ONCE, metavar="N", help="Reviews at once. [8]")
@click.option("--max-usd", "usd", type=float, metavar="USD", help="Dollars for the whole trial.")
@click.option("--max-tokens", "tokens", type=int, metavar="N", help="Tokens for the whole trial.")
@click.option("--max-calls", "calls", type=int, metavar="N", help="Calls for the whole trial.")
@click.option("--dry-run", is_flag=True, help="Show what it would do. No model is called.")
@click.option("--quiet", "-q", is_flag=True, help="Print only the result, no progress.")
@json_flag
@click.pass_context
def trial_command(ctx: click.Context, /, **named: Any) -> int:
    """Measure whether a debate helps: review small changes with one planted defect each, and their twins without.

    Every arm reviews every pair: one model alone, a vote of that model with as many tokens as the debate, a cross
    review, a panel, and static analysers alone. A hit names the right place and the right kind of defect; what
    chance would hit is shown beside it. First, one model alone must be better than chance on six pairs. The same
    command again continues.
    """
    if ctx.invoked_subcommand:
        return 0
    return _trial(**named)


@trial_command.command("scorecard")
@json_flag
def scorecard_command(as_json: bool) -> int:
    """What the sessions on record say about each model in each role.

    Points raised, citations found and absent, checks shown and refuted, points ruled valid or dismissed, cited lines
    that changed later, concessions, walk-backs, and the cost of a valid point; each with the number of its cases.
    """
    import os
    import sys

    from rebut.cli.output import folded, say, say_json
    from rebut.record import sessions
    from rebut.trial.scorecard import blocks, heading, scorecard, to_json

    card = scorecard(sessions.home(os.environ))
    if as_json:
        say_json(to_json(card))
        return 0
    say(folded(f"  {heading(card)}", sys.stdout, 2))
    for line in blocks(card):
        say(folded(f"  {line}" if line.startswith(" ") else f"\n  {line}", sys.stdout, 20))
    return 0


def _trial(
    *,
    company: str | None,
    count: int,
    arms: str,
    seed: int,
    run_checks: bool,
    repo: str | None,
    out: str | None,
    at_once: int,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    import asyncio
    from pathlib import Path

    from rebut.api import Setup
    from rebut.batch.results import Results
    from rebut.cli.options import within
    from rebut.core.files import refuse_link
    from rebut.core.scratch import temporary_folder
    from rebut.trial.arms import Models, chosen, needs_model
    from rebut.trial.pairs import bundled, ordered
    from rebut.trial.trial import TrialRun, found_models

    given = {name: value for name, value in limits.items() if value is not None}
    for name, value in given.items():
        within(name, value, whole_batch=True)
    wanted = chosen(arms, run_checks=run_checks)
    if repo and not run_checks:
        raise click.UsageError("--repo needs --run-checks: the tests of the repository show which defects are real")
    setup = Setup()
    every = ordered(bundled(), seed)
    models = None
    if needs_model(wanted):
        named = [one.strip() for one in (company or "").split(",") if one.strip()]
        if not named:
            with temporary_folder() as made:
                named = asyncio.run(found_models(setup, made, every[0]))
        models = Models(tuple(named))
    place = Path(repo).resolve() if repo else None
    if out:
        refuse_link(Path(out))
    folder = Path(out) if out else _folder(setup, place, models, seed)
    pairs, notes = every[:count], list[str]()
    source = f"the {len(every)} that come with rebut"
    if place and dry_run:
        return _dry_run([], wanted, models, folder, count, f"the repository {place}", as_json)
    if not dry_run:
        made_folder(folder)
    if place:
        own = asyncio.run(_own_pairs(setup, place, folder, count, seed, quiet or as_json))
        pairs, source, notes = list(own.pairs), own.source, list(own.notes)
    if len(pairs) < count:
        notes.append(f"{count} pairs were asked for, and there are {len(pairs)}")
    if dry_run:
        return _dry_run(pairs, wanted, models, folder, count, source, as_json)
    results = Results(folder / REVIEWS)
    try:
        trial = TrialRun(
            setup, pairs, wanted, models, folder.resolve(), seed=seed, source=source, results=results, at_once=at_once
        )
        trial.notes = tuple(notes)
        report, interrupted = asyncio.run(_run(trial, given, quiet or as_json))
    finally:
        results.close()
    code = 130 if interrupted else 0 if report.is_complete else 3
    _write(folder, report)
    _show(report, folder, code, as_json)
    return code


async def _own_pairs(setup: Setup, repo: Path, folder: Path, count: int, seed: int, quiet: bool) -> OwnPairs:
    """Find pairs in a repository. What was tried is saved, also after Ctrl-C."""
    import secrets
    import sys

    from rebut.cli.output import say
    from rebut.core.redaction import Redactor
    from rebut.trial.repository_pairs import RepositoryPairs

    there = setup.at(repo)
    key = folder / "redaction.key"  # saved, so that the next run has the same placeholders and finds the same pairs
    if not key.exists():
        key.write_bytes(secrets.token_bytes(32))
        key.chmod(0o600)
    redactor = Redactor(key.read_bytes(), there.environment.known_secrets)

    def progress(text: str) -> None:
        if not quiet:
            say(f"  {text}", sys.stderr)

    never = tuple(there.environment.never)
    return await RepositoryPairs(
        repo, setup.env, redactor.door, never, folder / "defects.json", seed, progress=progress
    ).find(count)


REVIEWS, PAIRS, SUMMARY, PAGE = "reviews.jsonl", "pairs.jsonl", "trial.json", "trial.html"


def _folder(setup: Setup, repo: Path | None, models: Any, seed: int) -> Path:
    """The folder of a trial, beside the sessions; the same command gets the same folder."""
    import hashlib

    said = "\0".join((str(repo or ""), str(seed), *(models.specs if models else ())))
    return setup.environment.root.parent / "trials" / hashlib.sha256(said.encode()).hexdigest()[:8]


def made_folder(folder: Path) -> None:
    from rebut.core.errors import UsageError

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}", "Choose another folder with --out.") from None


async def _run(trial: TrialRun, limits: dict[str, Any], quiet: bool) -> tuple[TrialReport, bool]:
    """Run a trial with limits for all of it; returns the report, and whether a signal interrupted it."""
    import sys

    from rebut.batch.batch import Batch, ThisProcess
    from rebut.batch.budget import BatchBudget
    from rebut.cli.commands.batch import run_batch
    from rebut.cli.output import say
    from rebut.core.text import counted
    from rebut.domain.limits import Limits, flag

    budget = BatchBudget(Limits(**limits)) if limits else None
    signals = list[int]()
    await trial.check(limits)

    async def run(what: str, batch: Batch) -> str:
        if budget:
            batch.count_earlier(budget, trial.setup)
        if not batch.left:
            return "it was interrupted" if signals else ""
        if not quiet:
            say(f"  {what}: {counted(len(batch.left), 'review')}", sys.stderr)
        worker = ThisProcess(trial.setup, trial.results, budget)
        if await run_batch(batch, worker, budget, quiet, signals):
            return "it was interrupted"
        return f"the next call could exceed {flag(budget.reached)}" if budget and budget.reached else ""

    return await trial.run(run), bool(signals)


def _write(folder: Path, report: TrialReport) -> None:
    import json

    from rebut.core import files
    from rebut.trial.page import trial_page
    from rebut.trial.report import pair_rows, to_json

    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in pair_rows(report))
    files.write(folder / PAIRS, lines.encode("utf-8", "replace"), 0o600)
    whole = json.dumps(to_json(report), ensure_ascii=False, indent=1)
    files.write(folder / SUMMARY, whole.encode("utf-8", "replace"), 0o600)
    files.write(folder / PAGE, trial_page(report).encode("utf-8", "replace"), 0o600)


def _show(report: TrialReport, folder: Path, code: int, as_json: bool) -> None:
    import sys

    from rebut.cli.output import folded, say, say_json, width
    from rebut.trial.report import columns, notes, score_table, sentence, to_json

    if as_json:
        say_json({**to_json(report), "folder": str(folder), "exit": code})
        return
    say(folded(f"  {sentence(report)}", sys.stdout, 2))
    if report.arms:
        say("")
        for row in columns(score_table(report), width() - 2):
            say(f"  {row}".rstrip())
    if more := notes(report):
        say("")
        for note in more:
            say(folded(f"  {note}", sys.stdout))
    say("")
    if report.stopped:
        say(folded(f"  stopped: {report.stopped}. The same command again continues.", sys.stdout))
    elif report.missing and not report.floor:
        say("  The same command again continues: reviews that ended are not run again.")
    say(f"  page      {folder / PAGE}")
    say(f"  results   {folder / PAIRS}")


def _dry_run(
    pairs: list[Any], arms: tuple[str, ...], models: Any, folder: Path, count: int, source: str, as_json: bool
) -> int:
    from rebut.cli.output import say, say_json
    from rebut.core.text import counted
    from rebut.trial.pairs import areas
    from rebut.trial.trial import FLOOR

    wanted = len(pairs) or count
    kinds = len({pair.defect.kind for pair in pairs})
    files = len({pair.path for pair in pairs})
    row = {
        "pairs": wanted,
        "files": files,
        "areas": areas(pairs),
        "kinds": kinds,
        "source": source,
        "arms": list(arms),
        "models": list(models.specs) if models else [],
        "reviews_without_vote": 2 * wanted * len([arm for arm in arms if arm != "vote"]),
        "folder": str(folder),
    }
    if as_json:
        say_json(row)
        return 0
    about = f": {counted(files, 'file')}, {counted(kinds, 'kind')} of defect" if pairs else ", as its tests show them"
    say(f"  {counted(wanted, 'pair')} of {source}{about}")
    say(f"  arms      {', '.join(arms)}")
    if models:
        say(f"  reviewer  {models.reviewer}")
        say(f"  others    {', '.join(models.others)}")
        say(f"  floor     {FLOOR} pairs, {models.reviewer} alone")
    say(f"  reviews   {row['reviews_without_vote']}" + (" and those of the vote" if "vote" in arms else ""))
    say(f"  results   {folder}")
    say("  No model was called.")
    return 0
