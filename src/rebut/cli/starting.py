"""Starting a debate from the command line, or only showing what it would send."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rebut import report, session
from rebut.api import Desk
from rebut.cli.screen import say
from rebut.cli.stage import perform
from rebut.engine import Plan, start
from rebut.outcome import Outcome
from rebut.text import clean, tokens

ROUND_TOKENS = 3000
"""What a round adds to a prompt, for the estimate of --dry-run: a guess, on the high side."""


def launch(
    protocol: str,
    topic: str,
    named: Mapping[str, Any],
    *,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
    deadline: float | None,
) -> int:
    if dry_run:
        desk = Desk()
        shown = asyncio.run(egress(desk, desk.plan(protocol, topic, **named)))
        say(report.dumps(shown) if as_json else "\n".join(rows(shown)))
        return 0

    async def act(desk: Desk) -> Outcome:
        return await start(desk.plan(protocol, topic, **named), desk.table)

    return perform(act, as_json=as_json, quiet=quiet, deadline=deadline)


async def egress(desk: Desk, plan: Plan) -> dict[str, Any]:
    """Per provider: how many files, bytes and redactions would leave, and the cost at most. Calls nothing."""
    from rebut.context import gather
    from rebut.redaction import PLACEHOLDER, Redactor
    from rebut.snapshot import take
    from rebut.view import View

    redactor = Redactor(b"dry run", desk.table.known_secrets)

    def door(text: str) -> str:
        return redactor.redact(clean(text))

    topic = door(plan.topic)
    removed = set(PLACEHOLDER.findall(topic))
    files, left_out, size = 0, list[str](), 0
    if plan.context:
        with tempfile.TemporaryDirectory() as keep:
            taken = await take(plan.workspace, Path(keep) / "s", door, include=plan.context, never=desk.table.never)
            view = View(taken, Path(keep) / "s", door)
            given = await gather(view, taken.included, never=desk.table.never)
            await view.close()
        files, size = len(given.files), given.total
        removed |= {found for piece in given.files for found in PLACEHOLDER.findall(piece.text)}
        kept_back = never_sent(plan.context, session.repository(plan.workspace), desk.table.never)
        left_out = [*kept_back, *(f"{path} ({why})" for path, why in given.left_out if path not in kept_back)]
    rounds = int(getattr(plan.settings, "rounds", 1))
    out: dict[str, Any] = {"topic_bytes": len(topic.encode()), "never_sent": left_out, "providers": {}}
    for p in plan.seats:
        calls = rounds if p.seat != plan.protocol.judge else 1 + max(0, rounds - 2)
        sent = (0 if p.seat == plan.protocol.judge else size // 3) + tokens(topic) + ROUND_TOKENS * rounds
        price = desk.connect(p.spec).price(sent, 4096)
        row = out["providers"].setdefault(
            p.spec.provider,
            {"seats": [], "files": 0, "bytes": 0, "secrets_removed": len(removed), "calls": 0, "usd": 0.0},
        )
        row["seats"].append(p.seat)
        row["calls"] += calls
        row["usd"] = None if price is None or row["usd"] is None else row["usd"] + price * calls
        if p.seat != plan.protocol.judge:
            row["files"], row["bytes"] = files, size
    return out


def never_sent(context: Sequence[str], root: Path, globs: Sequence[str]) -> list[str]:
    """The files in the given folders that stay here by their name; listed so that nobody has to take it on trust."""
    from rebut.snapshot import is_never_sent

    found: list[str] = []
    for path in context:
        for folder, inner, files in os.walk(path):
            inner[:] = sorted(name for name in inner if name != ".git")
            names = [Path(folder, name).relative_to(root).as_posix() for name in sorted(files)]
            found += [name for name in names if is_never_sent(name, globs)]
    return list(dict.fromkeys(found))[:200]


def rows(shown: Mapping[str, Any]) -> list[str]:
    out = []
    for name, row in shown["providers"].items():
        cost = "price unknown" if row["usd"] is None else f"about ${row['usd']:.2f} at most"
        files = f"{row['files']} file{'' if row['files'] == 1 else 's'}, {report.size(row['bytes'], 'B')}"
        secrets = f"{row['secrets_removed']} secret{'' if row['secrets_removed'] == 1 else 's'} removed"
        out.append(f"  {name:<10} ←  the topic, {files}, {secrets}; {row['calls']} calls, {cost}")
    for n, path in enumerate(shown["never_sent"]):
        out.append(f"  {'never sent' if n == 0 else '':<13} {path}")
    return [*out, "  nothing was called"]
