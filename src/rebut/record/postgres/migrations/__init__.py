"""The tables and their versions. A migration is a file of SQL beside this one; only `rebut batch upgrade` runs it."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import sql

from rebut import __version__
from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.record.stores import shown_address

LOCK = 0x7265627574
"""The number of the advisory lock under which tables are changed."""
OURS = "rebut"
WHOLE = "schema"
"""The name of the migration that makes all tables of the queue at once, in a new database."""
TABLE = """
create table if not exists rebut_migration (
  part text not null, name text not null, at timestamptz not null default now(), by text not null,
  primary key (part, name)
)"""


@frozen
class Migration:
    """One change of the tables."""

    part: str
    """Whose tables it changes: those of rebut, or those of the queue."""
    name: str
    statements: str


def known() -> list[Migration]:
    """The migrations of this version, the first one first."""
    found = [one for one in files(__name__).iterdir() if one.name.endswith(".sql")]
    return [
        Migration(OURS, one.name.removesuffix(".sql"), one.read_text(encoding="utf-8"))
        for one in sorted(found, key=lambda one: one.name)
    ]


def done(connection: psycopg.Connection[tuple[Any, ...]]) -> set[tuple[str, str]]:
    """The migrations that were run in a database, as part and name."""
    there = connection.execute("select to_regclass('rebut_migration') is not null").fetchone()
    if not there or not there[0]:
        return set()
    return {(part, name) for part, name in connection.execute("select part, name from rebut_migration").fetchall()}


def check_tables(connection: psycopg.Connection[tuple[Any, ...]], url: str, wanted: list[Migration]) -> None:
    """Refuse a database whose tables are not those that `wanted` makes."""
    there, needed = done(connection), {(one.part, one.name) for one in wanted}
    upgrade = f"rebut batch upgrade --on {shown_address(url)}"
    if not any(part == OURS for part, _ in there):
        raise UsageError(f"the database {shown_address(url)} has no tables of rebut yet", f"Run `{upgrade}` once.")
    for part in sorted({part for part, _ in needed}, reverse=True):
        mine = f"this rebut ({__version__})" if part == OURS else f"the {part} of this machine ({version(part)})"
        this = f"this one ({__version__})" if part == OURS else f"the one on this machine ({version(part)})"
        if any(one for one in needed - there if one[0] == part):
            raise UsageError(f"the tables in {shown_address(url)} are older than {mine} needs", f"Run `{upgrade}`.")
        if any(one for one in there - needed if one[0] == part and one[1] != WHOLE):
            raise UsageError(
                f"the tables in {shown_address(url)} were made by a later version of {part} than {this}",
                f"Update {part} here.",
            )


def upgrade(connection: psycopg.Connection[tuple[Any, ...]], wanted: list[Migration]) -> list[Migration]:
    """Run the migrations that were not run yet, all of them or none, and return them."""
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        connection.execute(TABLE)
        there = done(connection)
        new = [one for one in wanted if (one.part, one.name) not in there]
        for one in new:
            if one.statements:
                connection.execute(sql.SQL(one.statements))
            connection.execute(
                "insert into rebut_migration (part, name, by) values (%s, %s, %s)", (one.part, one.name, __version__)
            )
    return new
