"""`rebut mcp`: the MCP server for agent hosts."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from rebut.core.errors import UsageError


@click.command("mcp")
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The workspace. [the current folder]",
)
def mcp_command(root: Path | None) -> int:
    """Serve rebut's tools to an agent host, over standard input and output (MCP).

    The host starts this command; there is nothing to type. Tools: check, debate, review, plan, result, answer, stop.
    """
    need_sdk()
    import asyncio

    from rebut.mcp.server import serve

    asyncio.run(serve(root))
    return 0


def need_sdk() -> None:
    """Refuse to continue without the SDK, and say how to get it."""
    if find_spec("mcp") is None:
        raise UsageError("`rebut mcp` needs the MCP SDK, which is not installed", "Run `pip install 'rebut[mcp]'`.")
