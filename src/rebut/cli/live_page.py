"""The page of a debate that this command runs (`--view`): opened with the debate, and served until it is closed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.options import NO_OPEN
from rebut.cli.output import say

if TYPE_CHECKING:
    from rebut.engine.live_answer import LiveAnswer
    from rebut.engine.runtime import Control
    from rebut.record.record import Record
    from rebut.setup.connect import Custom
    from rebut.web.controls import Controls
    from rebut.web.server import Viewer
    from rebut.workspace.tree import DebatedVersions

GONE = 4.0
"""Seconds after which a page without a connection counts as closed: one that is loaded again is back by then."""


class LivePage:
    """The page of one running debate."""

    def __init__(self, control: Control) -> None:
        from rebut.web.controls import Controls

        self.controls: Controls = Controls(control)
        self._viewer: Viewer | None = None
        self._root = self._workspace = Path()
        self._session = ""
        self._starting: asyncio.Task[None] | None = None
        self._opened = False

    def backends(self) -> Mapping[str, Custom]:
        """A person in a seat answers in the browser."""
        from rebut.engine.runtime import Connection
        from rebut.setup.connect import free

        return {"human": Connection(self.controls, free, patient=True, family="human")}

    def listen(self, further: Callable[[str, LiveAnswer], None] | None) -> Callable[[str, LiveAnswer], None]:
        """What is called with each answer while it is written; `further` is called, too."""

        def heard(key: str, answer: LiveAnswer) -> None:
            self.controls.heard(key, answer)
            if further:
                further(key, answer)

        return heard

    def ready(self, record: Record, folder: Path) -> None:
        """The debate is on record: open its page."""
        if self._session:
            return
        self._root, self._session = folder.parent, folder.name
        self._workspace = Path(record.opened.workspace)
        self._starting = asyncio.ensure_future(self._open())

    async def _open(self) -> None:
        from rebut.web.server import Viewer

        self._viewer = Viewer(
            self._root, self._workspace, debated_versions, session=self._session, controls=self.controls
        )
        await self._viewer.start()
        self._opened = show(self._viewer.address())

    async def stop(self) -> None:
        if self._starting:
            with suppress(asyncio.CancelledError):
                await self._starting
        if self._viewer:
            await self._viewer.stop()

    def stay(self) -> None:
        """After the debate: serve the page until it is closed or Ctrl-C, if it was opened and there is a terminal."""
        # A browser that was just started may need longer than the debate.
        if self._viewer is None or not (self._viewer.seen or self._opened) or not sys.stderr.isatty():
            return
        say("\n  the page stays until you close it, or press Ctrl-C", sys.stderr)
        with suppress(KeyboardInterrupt):
            asyncio.run(self._stay())

    async def _stay(self) -> None:
        from rebut.web.server import Viewer

        viewer = Viewer(self._root, self._workspace, debated_versions, session=self._session)
        await viewer.start()
        loop = asyncio.get_running_loop()
        last = loop.time()
        try:
            while loop.time() - last < GONE:
                await asyncio.sleep(0.2)
                last = loop.time() if viewer.pages else last
        finally:
            await viewer.stop()


def show(address: str) -> bool:
    """Open the address in the browser, or only print it; whether it was opened."""
    context = click.get_current_context(silent=True)
    only_print = bool(context and context.meta.get(NO_OPEN))
    opened = False
    if not only_print:
        import webbrowser

        try:
            webbrowser.get()
            # The browser writes to the terminal, which the debate uses.
            with Path(os.devnull).open("wb") as nothing, _redirected(nothing.fileno()):
                opened = webbrowser.open(address)
        except webbrowser.Error:
            opened = False
    say(
        f"  page        {address}"
        if not opened
        else f"  page        opened in the browser: {address.partition('?')[0]}",
        sys.stderr,
    )
    return opened


class _redirected:
    """Standard output and error of child processes go elsewhere for a moment."""

    def __init__(self, to: int) -> None:
        self._to = to

    def __enter__(self) -> None:
        self._kept = [os.dup(n) for n in (1, 2)]
        for n in (1, 2):
            os.dup2(self._to, n)

    def __exit__(self, *_: object) -> None:
        for n, kept in zip((1, 2), self._kept, strict=True):
            os.dup2(kept, n)
            os.close(kept)


def debated_versions(record: Record, folder: Path) -> DebatedVersions | None:
    """What the citations of a session were looked up in; None if it kept no workspace and has no target."""
    from typing import cast

    from rebut.core.errors import RebutError
    from rebut.core.files import repository
    from rebut.core.json_value import Json
    from rebut.engine.runtime import redactor_of
    from rebut.setup import config
    from rebut.workspace.snapshot import Snapshot
    from rebut.workspace.targets.target import target_of
    from rebut.workspace.tree import DebatedVersions, View

    workspace = Path(record.opened.workspace)
    try:
        known = config.load(workspace=repository(workspace), env=os.environ).known_secrets(os.environ)
    except RebutError:
        known = []  # a config file that is wrong now says nothing about an old session
    fact, target = record.facts.get("snapshot"), target_of(record)
    if fact is None and target is None:
        return None
    door = redactor_of(record, tuple(known)).door
    view = None
    if fact is not None:
        taken = Snapshot.from_json(cast(Mapping[str, Json], fact.value))
        view = View(taken, folder / "snapshot", door)
    return DebatedVersions.of(view, target, door, str(workspace), ())
