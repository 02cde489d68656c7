"""`rebut doctor`: every provider that is here, tried."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rebut.cli.options import SPEC, json_flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rebut.setup.discover import FoundModel
    from rebut.setup.doctor import Health


@click.command("doctor")
@click.argument("specs", type=SPEC, nargs=-1, metavar="[SPEC]…")
@click.option("--offline", is_flag=True, help="Call no model: only what is installed and set.")
@click.option("--deep", is_flag=True, help="More calls: a form, non-ASCII, 200 kB, context file, each level of effort.")
@click.option("--timeout", type=float, default=60.0, metavar="S", help="Seconds a call. [60]")
@json_flag
def doctor_command(specs: tuple[str, ...], offline: bool, deep: bool, timeout: float, as_json: bool) -> int:
    """Try each provider that is found here, or each SPEC named: installed, logged in, a real round trip with its time.

    Each is asked to repeat a word, which costs a fraction of a cent; what at most is said before. The code is 0 when at
    least two families can debate, else 3.
    """
    import asyncio
    from functools import partial

    from rebut.api import Setup
    from rebut.cli.output import folded, plain, say, say_json, width
    from rebut.core.text import counted
    from rebut.core.types import ModelSpec
    from rebut.setup import doctor
    from rebut.setup.connect import in_folder
    from rebut.setup.discover import look, look_at_analysers

    if not 1 <= timeout <= 3600:
        raise click.UsageError(f"--timeout must be 1 to 3,600, got {timeout:g}")
    if offline and deep:
        raise click.UsageError("--deep makes calls, and --offline forbids them")
    wanted = [ModelSpec.parse(text) for text in specs]
    # No models: there is nothing to log in to and nobody to talk to.
    named = [spec for spec in wanted if spec.provider not in ("lint", "rules")]
    setup = Setup()

    async def see() -> list[Health]:
        if wanted and not named:
            return []
        if sys.stderr.isatty() and not as_json:  # some tools take ten seconds to tell their version
            say("  looking what is here; nobody is called yet …", sys.stderr)
        names = {spec.provider for spec in named}
        found = doctor.patients(await look(setup.config, setup.env, lambda n: not names or n in names), named)
        if not offline and not as_json:
            calls, usd, unknown = doctor.cost(found, setup.connect, deep=deep)
            rest = f", not counting {', '.join(unknown)}, whose price is not known" if unknown else ""
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
        )

    healths = asyncio.run(see())
    tools = asyncio.run(look_at_analysers(setup.config, setup.env)) if not wanted or named != wanted else []
    for h in healths:
        if h.spec and h.seconds is not None and h.can_debate:  # a debate that starts now need not try it again
            setup.environment.reachability.keep(
                h.spec, next((c.passed for c in h.checks if c.name == "context file"), None)
            )
    families = doctor.families(healths)
    only_tools = bool(wanted) and not named
    code = 0 if len(families) >= 2 or (only_tools and any(one.here for one in tools)) else 3
    if as_json:
        told = [{"analyser": t.name, "version": t.about or None, "advice": t.advice or None} for t in tools]
        say_json({"providers": [_json(h) for h in healths], "families": families, "analysers": told, "exit": code})
    else:
        narrow = sys.stdout.isatty() and len(_table(healths)[0]) > width()
        table = [] if only_tools else rows(healths, families, offline=offline, plain=plain() or narrow)
        say(folded("\n".join([*table, *analyser_rows(tools)]).rstrip("\n"), sys.stdout, 4))
    return code


def analyser_rows(found: Sequence[FoundModel]) -> list[str]:
    """What `lint` can run, and what it could."""
    here = ", ".join(f"{one.name} {one.about}" for one in found if one.here)
    gone = [one for one in found if not one.here]
    out = [f"  lint: {here or 'no analyser is installed'}"] if found else []
    return out + [f"  → {one.name} is not installed: {one.advice}" for one in gone]


HEAD = ("provider", "found", "login", "round trip", "effort", "context file")


def rows(healths: Sequence[Health], families: Sequence[str], *, offline: bool, plain: bool = False) -> list[str]:
    """The table, with a line of advice below what fails; or, plainly, a line for each."""
    out = _listed(healths) if plain else _table(healths)
    if not healths:
        out = ["  nothing is here: no tool on PATH, no key in the environment, no server, no embedded model"]
        out.append("  → `rebut providers` lists what could be; `rebut models get` brings a small model, with no key.")
    could = "could debate, as far as can be told without a call" if offline else "can debate"
    if len(families) >= 2:
        out.append(f"  {len(families)} families {could}: {', '.join(families)}.")
    elif families:
        out.append(f"  only one family {could}: {families[0]}. With it alone it is a self-debate.")
    elif any(h.embedded and h.can_debate for h in healths):
        out.append(f"  only the embedded model {could}, with itself: enough to see how it goes, not to decide by.")
    elif healths:
        out.append("  no family can debate: `rebut providers` lists what could, and how to get it.")
    return out


def _cells(h: Health) -> tuple[str, ...]:
    took = "–" if h.seconds is None else f"{h.seconds:.1f} s"
    return (h.name, h.found or "–", h.login, took, _efforts(h.efforts), _read(h))


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
    for row, told in zip(table, (None, *healths), strict=True):
        out.append("  " + "   ".join(f"{cell:<{wide[i]}}" for i, cell in enumerate(row)).rstrip())
        if told and told.problem:
            out.append(f"  {'':<{wide[0]}}   → {told.problem}. {told.advice}".rstrip())
        elif told and told.checks:
            out.append(f"  {'':<{wide[0]}}   passed: {', '.join(check.name for check in told.checks)}")
    return out


def _read(h: Health) -> str:
    """The context file's name, and what was found out of whether it is read."""
    tried = next((check for check in h.checks if check.name == "context file"), None)
    told = "" if tried is None else ", read" if tried.passed else ", not read"
    return f"{h.context_file}{told}" if h.context_file else "–"


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
        "checks": [{"name": c.name, "passed": c.passed, "said": c.said or None} for c in h.checks],
    }
