"""`rebut view`: a session, or the sessions of this folder, in the browser."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rebut.cli.completion import SESSION
from rebut.cli.options import NO_OPEN


@click.command("view")
@click.argument("id", type=SESSION, required=False, default="")
@click.option("--no-open", is_flag=True, help="Print the address only.")
@click.pass_context
def view_command(context: click.Context, id: str, no_open: bool) -> int:
    """Show a session in the browser: live while it runs, step by step when it is over.

    Without ID: the sessions of this folder, with a search. The page is served on this computer only, until Ctrl-C.
    """
    import asyncio
    from contextlib import suppress

    from rebut.cli.commands.show import folder_of
    from rebut.cli.debated_versions import debated_versions
    from rebut.cli.live_page import show
    from rebut.cli.output import say
    from rebut.record import sessions
    from rebut.web.server import Viewer

    folder = folder_of(id) if id else None
    if folder is not None:
        sessions.load(folder)  # a session that cannot be read is refused here, not in the browser
    context.meta[NO_OPEN] = no_open

    async def serve() -> None:
        viewer = Viewer(sessions.home(), Path.cwd().resolve(), debated_versions, session=folder.name if folder else "")
        await viewer.start()
        await show(viewer)
        say("  Ctrl-C ends it", sys.stderr)
        try:
            await asyncio.Event().wait()
        finally:
            await viewer.stop()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())
    return 0
