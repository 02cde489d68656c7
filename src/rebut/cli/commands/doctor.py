"""`rebut doctor`: tests the available providers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rebut.cli.completion import SPEC
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rebut.setup.discover import FoundModel
    from rebut.setup.doctor import Health


@click.command("doctor")
@click.argument("specs", type=SPEC, nargs=-1, metavar="[SPEC]…")
@click.option("--offline", is_flag=True, help="Call no model: only check what is installed and configured.")
@click.option("--deep", is_flag=True, help="More calls: a form, non-ASCII text, 200 kB of text, each level of effort.")
@click.option("--timeout", type=float, default=60.0, metavar="S", help="Seconds per call. [60]")
@json_flag
def doctor_command(specs: tuple[str, ...], offline: bool, deep: bool, timeout: float, as_json: bool) -> int:
    """Test every provider that is found here, or each SPEC given: installed, logged in, and how fast it answers.

    Without a SPEC, the providers that are not found are listed, too.

    Each model is asked to repeat a word, and each command-line tool for a word in its context file, which costs a
    fraction of a cent; the maximum is shown first. The exit code is 0 if at least two model families can debate, else
    3.
    """
    import asyncio
    from functools import partial

    from rebut.api import Setup
    from rebut.cli.output import folded, is_plain, say, say_json, width
    from rebut.core.text import counted
    from rebut.core.types import ModelSpec
    from rebut.setup import doctor
    from rebut.setup.connect import in_folder
    from rebut.setup.discover import look, look_at_analysers
    from rebut.setup.model_names import resolved

    if not 1 <= timeout <= 3600:
        raise click.UsageError(f"--timeout must be 1 to 3,600, got {timeout:g}")
    if offline and deep:
        raise click.UsageError("give --deep or --offline, not both")
    setup = Setup()
    wanted = [resolved(ModelSpec.parse(text), setup.config, (), setup.env) for text in specs]
    # lint and rules are programs: they have no login and answer no prompt.
    named = [spec for spec in wanted if spec.provider not in ("lint", "rules")]

    missing: list[FoundModel] = []

    async def see() -> list[Health]:
        if wanted and not named:
            return []
        if sys.stderr.isatty() and not as_json:  # some tools need ten seconds to print their version
            say("  looking for models (no call is made) …", sys.stderr)
        names = {spec.provider for spec in named}
        every = await look(setup.config, setup.env, lambda n: not names or n in names)
        missing.extend(one for one in every if not one.here and not named)
        found = doctor.patients(every, named)
        if not offline and not as_json:
            calls, usd, unknown = doctor.cost(found, setup.connect, deep=deep)
            rest = f" plus the unknown price of {', '.join(unknown)}" if unknown else ""
            if calls:
                said = f"  making {counted(calls, 'small call')}, at most ${usd:.2f}{rest}; --offline makes none"
                say(folded(said, sys.stderr, 4), sys.stderr)
        return await doctor.examine(
            found,
            setup.config,
            setup.connect,
            offline=offline,
            deep=deep,
            seconds=timeout,
            in_folder=partial(in_folder, setup.config, setup.env),
            env=setup.env,
        )

    healths = asyncio.run(see())
    tools = asyncio.run(look_at_analysers(setup.config, setup.env)) if not wanted or named != wanted else []
    for h in healths:
        if h.spec and h.seconds is not None and h.can_debate:  # a debate that starts soon need not repeat the test
            setup.environment.reachability.keep(
                h.spec, next((c.passed for c in h.checks if c.name == "context file"), None)
            )
    families = doctor.families(healths)
    only_tools = bool(wanted) and not named
    code = 0 if len(families) >= 2 or (only_tools and any(one.here for one in tools)) else 3
    if as_json:
        analysers = [{"analyser": t.name, "version": t.about or None, "advice": t.advice or None} for t in tools]
        gone = [{"provider": m.name, "problem": m.problem or None, "advice": m.advice or None} for m in missing]
        made = {"providers": [_json(h) for h in healths], "missing": gone, "families": families}
        say_json({**made, "analysers": analysers, "exit": code})
    else:
        narrow = sys.stdout.isatty() and len(_table(healths)[0]) > width()
        table = [] if only_tools else rows(healths, families, offline=offline, plain=is_plain() or narrow)
        say(folded("\n".join([*table, *missing_rows(missing), *analyser_rows(tools)]).rstrip("\n"), sys.stdout, 4))
    return code


def missing_rows(missing: Sequence[FoundModel]) -> list[str]:
    """Providers that cannot be used: first those with a tool or key that fails, then, in one line, those not found."""
    out = list[str]()
    for one in missing:
        if one.fails:
            out += [f"  {one.name}: {one.problem}", f"  → {one.advice}"]
    if names := ", ".join(one.name for one in missing if not one.fails):
        out += [f"  not found here: {names}", "  → `rebut models` says how to get each of them."]
    return out


def analyser_rows(found: Sequence[FoundModel]) -> list[str]:
    """The analysers that `lint` can run, and those that are not installed."""
    here = ", ".join(f"{one.name} {one.about}" for one in found if one.here)
    gone = [one for one in found if not one.here]
    out = [f"  lint: {here or 'no analyser is installed'}"] if found else []
    return out + [f"  → {one.name} is not installed: {one.advice}" for one in gone]


HEAD = ("provider", "found", "login", "round trip", "effort", "context file")


def rows(healths: Sequence[Health], families: Sequence[str], *, offline: bool, plain: bool = False) -> list[str]:
    """The table, with advice below each problem; or, for `plain`, one line for each provider."""
    from rebut.setup.discover import GET_ONE

    out = _listed(healths) if plain else _table(healths)
    if not healths:
        out = ["  no model is available: no tool, key, local server or embedded model that works was found"]
        out.append(f"  → {GET_ONE}")
    out += _withheld(healths)
    could = "could debate, as far as is known without a call" if offline else "can debate"
    if len(families) >= 2:
        out.append(f"  {len(families)} families {could}: {', '.join(families)}.")
    elif families:
        out.append(f"  only one family {could}: {families[0]}. A debate within one family is a self-debate.")
    elif any(h.only_shows and h.can_debate for h in healths):
        out.append(f"  only SmolLM2 135M {could}, and only if named: enough to try rebut, not to decide anything.")
        out.append(f"  → {GET_ONE}")
    elif healths:
        out.append("  no family can debate: `rebut models` lists the providers and how to get them.")
    return out


def _withheld(healths: Sequence[Health]) -> list[str]:
    """The keys that are not passed to tools: one row for all tools with the same ones."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for h in healths:
        if h.withheld:
            groups.setdefault(h.withheld, []).append(h.name)
    return [f"  not passed to {', '.join(names)}: {', '.join(keys)}" for keys, names in groups.items()]


def _cells(h: Health) -> tuple[str, ...]:
    took = "–" if h.seconds is None else f"{h.seconds:.1f} s"
    return (h.name, h.found or "–", h.login, took, _efforts(h.efforts), _context_file(h))


def _listed(healths: Sequence[Health]) -> list[str]:
    out = []
    for h in healths:
        cells = zip(HEAD, _cells(h), strict=True)
        out.append("  " + ", ".join(f"{name} {cell}" for name, cell in cells if cell != "–"))
        if h.problem:
            out.append(f"  {h.name}: {h.problem}. {h.advice}".rstrip())
        elif h.checks:
            out.append(f"  {h.name} passed: {', '.join(check.name for check in h.checks)}")
    return out


def _table(healths: Sequence[Health]) -> list[str]:
    table = [HEAD, *map(_cells, healths)]
    wide = [max(len(row[n]) for row in table) for n in range(len(HEAD))]
    out = []
    for row, health in zip(table, (None, *healths), strict=True):
        out.append("  " + "   ".join(f"{cell:<{wide[i]}}" for i, cell in enumerate(row)).rstrip())
        if health and health.problem:
            out.append(f"  {'':<{wide[0]}}   → {health.problem}. {health.advice}".rstrip())
        elif health and len(health.checks) > 1:  # a single check is that of the context file, which the column shows
            out.append(f"  {'':<{wide[0]}}   passed: {', '.join(check.name for check in health.checks)}")
    return out


def _context_file(h: Health) -> str:
    """The name of the context file, and whether the tool reads it, if that was tested."""
    tried = next((check for check in h.checks if check.name == "context file"), None)
    read = "" if tried is None else ", read" if tried.passed else ", not read"
    return f"{h.context_file}{read}" if h.context_file else "–"


def _efforts(levels: Sequence[str]) -> str:
    from rebut.core.types import EFFORTS

    return "low…max" if tuple(levels) == EFFORTS else ", ".join(levels) or "–"


def _json(h: Health) -> dict[str, object]:
    return {
        "provider": h.name,
        "spec": h.spec or None,
        "found": h.found or None,
        "family": h.family or None,
        "login": {"yes": True, "no": False}.get(h.login),
        "seconds": None if h.seconds is None else round(h.seconds, 3),
        "usd": h.usd,
        "efforts": list(h.efforts),
        "context_file": h.context_file or None,
        "can_debate": h.can_debate,
        "problem": h.problem or None,
        "advice": h.advice or None,
        "withheld": list(h.withheld),
        "checks": [{"name": c.name, "passed": c.passed, "said": c.said or None} for c in h.checks],
    }
