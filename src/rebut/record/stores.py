"""Where the sessions of a root are: in folders below it, or in a database.

A session has a folder in both cases. With a database the folder is on this machine only and holds copies of files; the
session's journal, lock, snapshot and notes are in the database.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.core.errors import UsageError

if TYPE_CHECKING:
    from rebut.record.postgres.store import DatabaseStore

SCHEMES = ("postgresql://", "postgres://")


_databases: dict[Path, DatabaseStore] = {}


def of(root: Path) -> DatabaseStore | None:
    """The database that has the sessions of this root; None if they are in folders."""
    return _databases.get(root) if _databases else None


def is_database(place: str) -> bool:
    return place.startswith(SCHEMES)


def database_root(url: str, state: Path) -> Path:
    """The root of the sessions in a database: a folder for their copies of files, on this machine."""
    check_address(url)
    root = state / "databases" / hashlib.sha256(_without_password(url).encode()).hexdigest()[:12] / "sessions"
    if root not in _databases:
        need_psycopg()
        from rebut.record.postgres.store import DatabaseStore

        _databases[root] = DatabaseStore(url)
    return root


def need_psycopg() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise UsageError("PostgreSQL needs psycopg, which is not installed", install()) from None


def install() -> str:
    """How to install what PostgreSQL needs."""
    from rebut.core.installation import with_extra

    return f"Run `{with_extra('postgres')}`."


def _parts(url: str) -> tuple[str, str, str]:
    """Scheme, user with password, and the rest of an address.

    libpq misreads a password with `@` or `/` in it. Here even such a password belongs to the user, not to the rest, so
    that no message shows it.
    """
    scheme, _, rest = url.partition("://")
    before, slash, after = rest.partition("/")
    if "@" in before:
        user, _, host = before.rpartition("@")
        return scheme, user, host + slash + after
    path, mark, parameters = after.partition("?")
    if "@" in path:
        user, _, host = path.rpartition("@")
        return scheme, before + slash + user, host + mark + parameters
    return scheme, "", rest


def _without_password(url: str) -> str:
    scheme, user, rest = _parts(url)
    return f"{scheme}://{user.partition(':')[0]}@{rest}" if user else url


def shown_address(url: str) -> str:
    """An address without its password and its parameters, for messages."""
    return _without_password(url).partition("?")[0]


def check_address(url: str) -> None:
    """Refuse a password that libpq would take for a host or a port, which its messages show."""
    if odd := sorted({"@", "/"}.intersection(_parts(url)[1])):
        code = {"@": "%40", "/": "%2F"}[odd[0]]
        raise UsageError(
            f"the user or password in the address {shown_address(url)} has the character {odd[0]}",
            f"Write {code} instead, or leave the password out and set PGPASSWORD.",
        )
