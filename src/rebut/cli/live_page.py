"""The page of a debate that this command runs (`--view`): opened with the debate, and served until it is closed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebut.cli.options import NO_OPEN
from rebut.cli.output import say

if TYPE_CHECKING:
    from rebut.engine.runtime import Control
    from rebut.record.record import Record
    from rebut.setup.connect import Custom
    from rebut.web.controls import Controls
    from rebut.web.server import Viewer

GONE = 4.0
"""Seconds after which a page without a connection counts as closed: a page that is reloaded is back by then."""
OPEN = """
import os, webbrowser
address = os.environ.pop("REBUT_PAGE")
if os.fork():
    os._exit(0)
os.setsid()
nothing = os.open(os.devnull, os.O_RDWR)
for n in (0, 1, 2):
    os.dup2(nothing, n)
webbrowser.open(address)
"""
"""Opens the page from a process that no other one waits for. Some browsers return only when they are closed, most
write to the terminal, and all must outlive the debate, which ends the processes that it started."""


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
        """The backend of a person in a seat, who answers in the browser."""
        from rebut.engine.runtime import Connection
        from rebut.setup.connect import free

        return {"human": Connection(self.controls, free, patient=True, family="human")}

    def ready(self, record: Record, folder: Path) -> None:
        """Open the page. Called once the debate is on record."""
        if self._session:
            return
        self._root, self._session = folder.parent, folder.name
        self._workspace = Path(record.opened.workspace)
        self._starting = asyncio.ensure_future(self._open())

    async def _open(self) -> None:
        from rebut.cli.debated_versions import debated_versions
        from rebut.core.errors import RebutError
        from rebut.web.server import Viewer

        self._viewer = Viewer(
            self._root, self._workspace, debated_versions, session=self._session, controls=self.controls
        )
        try:
            await self._viewer.start()
            self._opened = await show(self._viewer)
        except (RebutError, OSError) as error:
            # The debate continues without its page. A person cannot be asked without one.
            say(f"rebut: the page cannot be shown: {error}", sys.stderr)
            self.controls.close(str(error))

    async def stop(self) -> None:
        if self._starting:
            with suppress(asyncio.CancelledError):
                await self._starting
        if self._viewer:
            await self._viewer.stop()

    def stay(self) -> None:
        """After the debate: serve the page until it is closed or Ctrl-C, if it was opened and there is a terminal."""
        from rebut.core.errors import RebutError

        # A browser that was just started may need longer than the debate.
        if self._viewer is None or not (self._viewer.seen or self._opened) or not sys.stderr.isatty():
            return
        say("\n  the page stays until you close it, or press Ctrl-C", sys.stderr)
        with suppress(KeyboardInterrupt, RebutError):
            asyncio.run(self._stay())

    async def _stay(self) -> None:
        from rebut.cli.debated_versions import debated_versions
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


async def show(viewer: Viewer) -> bool:
    """Print the address of the page, and open it in the browser if wanted; returns whether a browser was started."""
    say(f"  page        {viewer.address()}", sys.stderr)
    context = click.get_current_context(silent=True)
    if context and context.meta.get(NO_OPEN):
        return False
    import webbrowser

    from rebut.core.process import run_for_user

    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    env = {**os.environ, "REBUT_PAGE": viewer.address()}
    return await run_for_user([sys.executable, "-I", "-c", OPEN], stdout=asyncio.subprocess.DEVNULL, env=env) == 0
