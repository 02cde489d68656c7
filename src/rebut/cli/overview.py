"""`rebut` alone: the models that are available, what could be debated here, and the last session. Calls no model."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rebut.cli.app import TITLE
from rebut.cli.output import folded, say, width
from rebut.core import event_loop
from rebut.core.errors import RebutError
from rebut.core.files import repository
from rebut.core.text import counted, cut, wrapped
from rebut.domain import session_status
from rebut.record import sessions
from rebut.setup import config
from rebut.setup.config import Config
from rebut.setup.discover import RECOMMENDED, look, usable
from rebut.workspace.git import Git

NO_MODEL = "none found   rebut init"
LEAST = 20
"""The fewest characters of a text that are worth showing beside its command."""
PLANS = ("PLAN.md", "plan.md", "PROPOSAL.md", "DESIGN.md", "docs/PLAN.md", "docs/design.md")


def show() -> int:
    here = Path.cwd().resolve()
    settings = config.load_config(workspace=repository(here), env=os.environ)
    rows = [("models", one) for one in _models(settings)]
    if rows == [("models", NO_MODEL)]:
        rows += [("try", "a debate without a model   rebut demo")]
        rows += [("get a model", f"rebut models get {RECOMMENDED}")]
    rows += [("here", what) for what in event_loop.run(_debatable(here))]
    rows += [("last", one) for one in _last(here)]
    rows += [
        ("ask", 'rebut "Redis or Postgres?"'),
        ("check", "rebut check PLAN.md"),
        ("help", "rebut --help"),
    ]
    say(folded(TITLE, sys.stdout) + "\n")
    before = ""
    for name, text in rows:
        say("\n".join(_row(name if name != before else "", text, width())))
        before = name
    return 0


def _row(name: str, text: str, width: int) -> list[str]:
    """One line; if it is too long, the text before the command is cut, never the command.

    A command that does not fit has a line of its own, which only the terminal wraps, so that it can be copied.
    """
    head, space = f"  {name:<11} ", width - 14
    what, gap, command = text.rpartition("   ")
    if gap and len(command) + len(gap) + min(len(what), LEAST) <= space:
        return [f"{head}{cut(what, space - len(gap + command))}{gap}{command}"]
    if gap:
        return [f"{head}{cut(what, space)}", *_command(command, width)]
    if text.startswith("rebut ") and len(text) > space:
        return [head.rstrip(), *_command(text, width)]
    return wrapped(f"{head}{text}", width, hanging=" " * 14)


def _command(command: str, width: int) -> list[str]:
    """A command below the text that it belongs to."""
    return [f"{'':{14 if len(command) + 14 <= width else 2}}{command}"]


def _models(settings: Config) -> list[str]:
    found = event_loop.run(look(settings, os.environ))
    out = [f"{spec}  ({one.why})" for spec, one in usable(found)]
    barred = [f"not {one.name}: {one.problem}. {one.advice}" for one in found if one.here and one.problem]
    return [*out, *barred] or [NO_MODEL]


async def _debatable(here: Path) -> list[str]:
    out = []
    git = await Git.open(here)
    if git is not None:
        try:
            changes = await git.changes()
        finally:
            await git.close()
        count = len(changes.changed) + len(changes.untracked)
        if count:
            out.append(f"{counted(count, 'changed file')}   rebut review")
    out += [f"{name}   rebut plan {name}" for name in PLANS if (here / name).is_file()][:2]
    return out


def _last(here: Path) -> list[str]:
    newest = next(sessions.of_workspace(sessions.home(os.environ), here), None)
    if newest is None:
        return []
    try:
        record = sessions.load(newest.folder)
        with sessions.understood(newest.id):
            status = session_status.status(record, sessions.running(newest.folder))
    except RebutError as error:
        status = error.message
    topic = " ".join(newest.opened.topic.split()) or newest.opened.protocol
    return [f"{cut(topic, 60)} ({status})   rebut show {newest.id[:4]}"]
