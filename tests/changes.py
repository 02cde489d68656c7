"""Changes for tests of the analysers: both sides of a file, and what `lint` makes of them."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from rebut.core.types import Changed, Finding, Material, ModelSpec, Participant, Reply, Request, ignore
from rebut.protocols.cross.forms import CodeCritique, Raised
from rebut.setup import config as configs
from rebut.setup.connect import connector


def changed(path: str, before: str | None, after: str | None, old_path: str = "") -> Changed:
    """A change with the lines that it wrote, told apart as a diff does."""
    added = []
    if after is not None:
        old, new = (before or "").split("\n"), after.split("\n")
        for what, _, _, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if what in ("replace", "insert"):
                added.append((first + 1, last))
    return Changed(path, before, after, tuple(added), old_path)


def asked(
    *change: Changed,
    spec: str = "lint",
    config: str = "",
    env: Mapping[str, str] | None = None,
    seconds: float = 60.0,
    on_spawn: Callable[[int], None] = ignore,
    earlier: tuple[Finding, ...] = (),
) -> Reply:
    """What `lint` replies, reached as a seat reaches it. `config` is the user's own file."""
    mine = {**os.environ, **(env or {})}
    home = Path(mine["HOME"])
    if config:
        (home / "config.toml").write_text(config)
        mine["REBUT_CONFIG"] = str(home / "config.toml")
    connect = connector(configs.load_config(workspace=home, env=mine), mine, home)
    who = Participant("critic", ModelSpec.parse(spec))
    request = Request(
        "r1/critique@critic",
        who,
        "",
        schema={},
        schema_name="CodeCritique",
        timeout=seconds,
        material=Material(change, earlier),
        on_spawn=on_spawn,
    )
    return asyncio.run(connect(who.spec).backend.complete(request))


def critique(*change: Changed, **named: object) -> CodeCritique:
    return CodeCritique.model_validate_json(asked(*change, **named).text)  # type: ignore[arg-type]


def rules_of(found: CodeCritique) -> list[str]:
    """The rule behind each finding, in order."""
    return [one.text.rpartition("(")[2].partition(")")[0].split()[-1] for one in found.findings]


def with_rule(found: CodeCritique, rule: str) -> Raised:
    return found.findings[rules_of(found).index(rule)]


def lines_of(one: Raised) -> tuple[int, int]:
    """What a finding cites, as first and last line."""
    first, _, last = one.evidence[0].place.rpartition(":")[2].partition("-")
    return int(first), int(last or first)


def mended(text: str, one: Raised) -> str:
    """The text with a finding's fix in place of the lines that it cites."""
    first, last = lines_of(one)
    lines = text.split("\n")
    assert [line.removesuffix("\r").strip() for line in lines[first - 1 : last]] == [
        line.strip() for line in _as_quoted(one, last - first + 1)
    ], "the quote is what stands there"
    return "\n".join([*lines[: first - 1], *one.fix.split("\n"), *lines[last:]])


def _as_quoted(one: Raised, count: int) -> list[str]:
    """The form takes blank lines off a quote's ends; here they are back."""
    lines = one.evidence[0].quote.split("\n")
    return [*lines, *[""] * (count - len(lines))]
