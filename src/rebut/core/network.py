"""Network addresses: which of them are on this machine."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

THIS_MACHINE = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::")


def is_loopback(host: str) -> bool:
    """Whether a host name or IP address means this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    if not host[-1:].isdigit() and ":" not in host:
        return False  # a name, not an address
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=256)
def same_place(url: str) -> str:
    """A URL in one form, to compare two: names of this machine, default ports, final slashes and capitals are equal."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".").casefold()
    if host in THIS_MACHINE or host.endswith(".localhost"):
        host = "localhost"
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{host}:{port}{parts.path.rstrip('/').casefold()}"


@lru_cache(maxsize=256)
def is_local(url: str) -> bool:
    """Whether a URL leads to this machine."""
    return is_loopback(urlsplit(url).hostname or "")


def user_behind(client: tuple[str, int], port: int) -> int | None:
    """The id of the user whose process connected to a port of 127.0.0.1; -1 if that process has closed the connection.

    It is read from Linux's table of connections; None on other systems, or if the connection is not in the table.
    """
    import socket
    import sys
    from pathlib import Path

    def place(host: str, number: int) -> str:
        return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{number:04X}"

    ends = place(*client), place("127.0.0.1", port)
    for name in ("tcp", "tcp6"):  # a program may reach an IPv4 address through an IPv6 socket
        try:
            rows = Path(f"/proc/net/{name}").read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            local, remote, uid, inode = (row.split()[n] for n in (1, 2, 7, 9))
            if local.endswith(ends[0]) and remote.endswith(ends[1]):
                return int(uid) if inode != "0" else -1
    return None
