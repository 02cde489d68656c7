"""Completion in a shell: the script that `rebut config completion` prints, and what Tab then offers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from rebut.cli import COMPLETE


def script(shell: str) -> str:
    """The completion script for a shell; pressing Tab then calls `complete`."""
    made = get_completion_class(shell)
    assert made is not None
    return made(click.Command("rebut"), {}, "rebut", COMPLETE).source()


def complete(instruction: str) -> int:
    """Print what may follow the words that a completion script passes in environment variables."""
    from rebut.cli.app import app

    return shell_complete(app, {}, "rebut", COMPLETE, instruction)


class Completed(click.ParamType):  # type: ignore[type-arg]
    """A text that the shell completes: `offers` gives values, each with its description or an empty one.

    A press of Tab starts Python, so what is offered is found without loading the configuration or a record.
    """

    def __init__(self, name: str, offers: Callable[[], Iterable[tuple[str, str]]], *, files: bool = False) -> None:
        self.name, self._offers, self._files = name, offers, files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        found = [CompletionItem(value, help=about) for value, about in self._offers() if value.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")] if self._files else found


BUILT_IN = ("caller", "gguf", "human", "lint", "local", "rules", "scripted")
"""The providers without a table, as in `rebut.setup.config`, which takes long to load."""


def _specs() -> Iterable[tuple[str, str]]:
    from rebut.core.files import shipped

    return ((name, "") for name in sorted({*BUILT_IN, *shipped("tools.toml")["tools"], *shipped("providers.toml")}))


def _levels() -> Iterable[tuple[str, str]]:
    from rebut.core.types import EFFORTS

    return ((level, "") for level in EFFORTS)


def _sessions() -> Iterable[tuple[str, str]]:
    """All sessions, the last changed first, each with its topic."""
    import json

    from rebut.core import files
    from rebut.core.text import cut
    from rebut.record.sessions import home

    yield "last", "the newest session of this folder"
    root = home()
    folders = [one for one in root.iterdir() if not one.name.startswith(".")] if root.is_dir() else []
    for folder in sorted(folders, key=lambda one: one.stat().st_mtime, reverse=True):
        try:
            opened = files.read(folder / "journal.jsonl", 1_000_000).partition(b"\n")[0]
            yield folder.name, cut(str(json.loads(opened)["topic"]), 60)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            yield folder.name, ""


def _protocols() -> Iterable[tuple[str, str]]:
    from importlib.metadata import entry_points

    return ((one.name, "") for one in entry_points(group="rebut.protocols"))


SPEC = Completed("spec", _specs)
LEVEL = Completed("level", _levels)
SESSION = Completed("id", _sessions)
PROTOCOL = Completed("protocol", _protocols, files=True)
PATH = Completed("path", tuple, files=True)
