"""Network addresses: which of them are on this machine."""

from __future__ import annotations

from urllib.parse import urlsplit


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


def is_local(url: str) -> bool:
    """Whether a URL leads to this machine."""
    return is_loopback(urlsplit(url).hostname or "")
