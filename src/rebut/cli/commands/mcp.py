"""`rebut mcp`: the MCP server for agent hosts, and its entry in their config."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

import click

from rebut.core.errors import UsageError

if TYPE_CHECKING:
    from rebut.mcp.hosts import HostEntry, McpHost

HOST_NAMES = ("claude", "codex", "gemini", "qwen", "opencode", "copilot", "cursor", "vscode")


@click.command("mcp")
@click.argument("what", type=click.Choice(["serve", "install", "uninstall"]), default="serve")
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="With serve: the workspace. [the current folder]",
)
@click.option(
    "--host", "hosts", multiple=True, type=click.Choice(HOST_NAMES), help="The agent host. [those found here]"
)
@click.option("--print", "only_print", is_flag=True, help="Show the entry of each host, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Change config files without asking.")
def mcp_command(what: str, root: Path | None, hosts: tuple[str, ...], only_print: bool, yes: bool) -> int:
    """Serve rebut's tools to an agent host, over standard input and output (MCP).

    A host starts `rebut mcp` itself. `install` adds it to your hosts, by their own `mcp add`; where there is none, it
    shows the change of the config file, asks, and keeps a copy. No key is written. `uninstall` removes it.
    """
    if what == "serve":
        if hosts or only_print or yes:
            raise click.UsageError("--host, --print and --yes are only for `rebut mcp install` and `uninstall`")
        return _serve(root)
    if root is not None:
        raise click.UsageError("--root is only for the server: a host starts it in its own folder")
    from rebut.cli.output import say
    from rebut.mcp.hosts import HOSTS

    found = [host for host in HOSTS if (host.name in hosts if hosts else host.is_here(os.environ))]
    if only_print:
        for host in found or HOSTS:
            say(f"{host.name}\n{indent(host.printed(_entry(), os.environ).rstrip(), '  ')}\n", verbatim=True)
        return 0
    if not found:
        raise UsageError("no agent host was found", f"Name one with --host: {', '.join(HOST_NAMES)}.")
    if what == "install":
        _need_sdk()
    return max(_changed(host, what, yes) for host in found)


def _serve(root: Path | None) -> int:
    _need_sdk()
    if sys.stdin.isatty():
        click.echo("rebut mcp: waiting for an agent host on standard input; Ctrl-C ends it", err=True)
    import asyncio
    import signal

    from rebut.mcp.server import serve

    # Ctrl-C ends it at once: a thread waits for standard input, and there is nothing to lose.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve(root))
    return 0


def _need_sdk() -> None:
    if find_spec("mcp") is None:
        from rebut.core.installation import with_extra

        raise UsageError("`rebut mcp` needs the MCP SDK, which is not installed", f"Run `{with_extra('mcp')}`.")


def _entry() -> HostEntry:
    """The entry, with the names of the variables that are set and that hold a key or a path of rebut."""
    from rebut.mcp.hosts import HostEntry, server_command
    from rebut.setup import config

    known = config.load_config(workspace=Path.home(), env=os.environ)
    names = [p.api_key_env for p in known.providers if p.api_key_env and os.environ.get(p.api_key_env)]
    places = [name for name in ("REBUT_HOME", "REBUT_CONFIG") if os.environ.get(name)]
    return HostEntry(server_command(), tuple(dict.fromkeys([*names, *places])))


def _changed(host: McpHost, what: str, yes: bool) -> int:
    """Add or remove the entry of one host; returns the exit code."""
    from rebut.cli.output import say

    try:
        done = _install(host, yes) if what == "install" else _uninstall(host, yes)
    except UsageError as error:
        say(f"  {host.name:<9} {error}".replace("\n", f"\n{'':<12}"))
        return 3
    say(f"  {host.name:<9} {done or 'not changed'}")
    return 0 if done else 3


def _install(host: McpHost, yes: bool) -> str:
    from rebut.mcp.hosts import ALREADY_THERE

    if host.add:
        said = host.run(host.add(_entry()), os.environ, ALREADY_THERE)
        if ALREADY_THERE.search(said):
            return f"already there; to renew it, run `rebut mcp uninstall --host {host.name}` first"
        return f"added, by `{host.program} mcp add`"
    return _edited(host, _entry(), yes, "added")


def _uninstall(host: McpHost, yes: bool) -> str:
    from rebut.mcp.hosts import NOT_THERE

    if host.remove:
        said = host.run(host.remove, os.environ, NOT_THERE)
        return "not there" if NOT_THERE.search(said) else f"removed, by `{host.program} mcp remove`"
    return _edited(host, None, yes, "removed")


def _edited(host: McpHost, entry: HostEntry | None, yes: bool, done: str) -> str:
    """Show the change of the host's file, ask, and make it; returns what was done, empty if the user says no."""
    from rebut.cli.output import say

    change = host.change(entry, os.environ)
    if change.after == change.before:
        return f"{'already there' if entry else 'not there'}, in {change.path}"
    say(change.diff, verbatim=True)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("this change needs your consent, and there is no terminal to ask at", "Use --yes.")
        if not click.confirm(f"Change {change.path}?", err=True):
            return ""
    copy = change.write()
    return f"{done}, in {change.path}{f'; the file as it was: {copy.name}' if copy else ''}"
