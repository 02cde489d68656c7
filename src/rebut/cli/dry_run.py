"""What `--dry-run` shows: what each provider would get of the workspace, and what that may cost. Calls no model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rebut.api import Setup
from rebut.cli.screen.live_rows import roughly
from rebut.core.files import repository
from rebut.core.text import counted, tokens
from rebut.domain import amounts
from rebut.domain.limits import is_clamped
from rebut.engine.plan import Plan, sound

MOST_SHOWN = 20
"""Paths that are listed."""
ROUND_TOKENS = 3000
"""Tokens that a round adds to a prompt, for the estimate: a high guess."""


async def egress(setup: Setup, plan: Plan, runs: int) -> dict[str, Any]:
    """For each provider the files, bytes and removed secrets it would get, and the maximum cost of `runs` runs."""
    from rebut.core.redaction import PLACEHOLDER, Redactor
    from rebut.workspace.context import gather
    from rebut.workspace.snapshot import take
    from rebut.workspace.tree import View

    door = Redactor(b"dry run", setup.environment.known_secrets).door
    sound(plan)
    topic = door(plan.topic)
    removed, in_files = set(PLACEHOLDER.findall(topic)), set[str]()
    files, left_out, size = list[str](), list[str](), 0
    target_size = 0
    if plan.target is not None:
        texts = [plan.target.diff, plan.target.text, *(c.after or "" for c in plan.target.changes)]
        target_size = sum(len(door(text).encode()) for text in texts)
        removed |= {found for text in texts for found in PLACEHOLDER.findall(door(text))}
        files = [c.path for c in plan.target.changes]
        left_out = list(plan.target.left_out)
    if plan.context:
        import tempfile

        with tempfile.TemporaryDirectory() as keep:
            taken = await take(
                plan.workspace, Path(keep) / "s", door, include=plan.context, never=setup.environment.never
            )
            view = View(taken, Path(keep) / "s", door)
            given = await gather(view, taken.included, never=setup.environment.never)
            await view.close()
        files += [piece.path for piece in given.files if piece.path not in files]
        size = given.total
        in_files = {found for piece in given.files for found in PLACEHOLDER.findall(piece.text)}
        reasons = dict(given.left_out)
        top = repository(plan.workspace)
        left_out += [f"{path} ({reasons.get(path, why)})" for path, why in _not_sent(plan.context, top, files, setup)]
        left_out += [
            f"{path} ({why})" for path, why in given.left_out if not any(row.startswith(f"{path} ") for row in left_out)
        ]
    from rebut.record.timings import Timings

    rounds = int(getattr(plan.settings, "rounds", 1) or 1)
    planned = plan.protocol.calls(plan.settings) if plan.protocol.calls else {}
    text = len(door(plan.target.text).encode()) if plan.target else 0
    out: dict[str, Any] = {"topic_bytes": len(topic.encode()), "text_bytes": text, "files": files}
    out |= {"not_sent": left_out, "notices": [note for note in plan.notes if is_clamped(note)], "providers": {}}
    for p in plan.seats:
        if p.seat in plan.protocol.silent:
            continue
        calls = planned.get(p.seat.partition(".")[0], rounds) * runs
        sent = (
            (0 if p.seat == plan.protocol.judge else size // 3)
            + tokens(topic)
            + ROUND_TOKENS * rounds
            + target_size // 3
        )
        price = setup.connect(p.spec).price(sent, 4096)
        row = out["providers"].setdefault(
            p.spec.provider,
            {"seats": [], "files": 0, "bytes": 0, "secrets_removed": 0, "calls": 0, "usd": 0.0},
        )
        secrets = removed if p.seat == plan.protocol.judge else removed | in_files  # the judge gets no context files
        row["secrets_removed"] = max(row["secrets_removed"], len(secrets))
        row["seats"].append(p.seat)
        row["calls"] += calls
        row["usd"] = None if price is None or row["usd"] is None else row["usd"] + price * calls
        whole = target_size + (size if p.seat != plan.protocol.judge else 0)
        if p.seat != plan.protocol.judge or plan.target is not None:
            row["files"], row["bytes"] = len(files), max(row["bytes"], whole)
    speaking = {p.seat: str(p.spec) for p in plan.seats if p.seat not in plan.protocol.silent}
    found = Timings.beside(setup.environment.root).history().expected(planned, speaking, (), {})
    out["expected"] = {"seconds": round(found.seconds) * runs, "by": found.by} if found else None
    return out


def _not_sent(context: Sequence[str], top: Path, sent: Sequence[str], setup: Setup) -> list[tuple[str, str]]:
    """The files in the given folders that would not be sent, each with the reason."""
    from rebut.workspace.file_reader import FILE_CAP, HIDDEN, is_never_sent

    out: dict[str, str] = {}
    for path in context:
        for folder, inner, files in os.walk(path):
            inner[:] = sorted(name for name in inner if name != ".git")
            for file in sorted(Path(folder, name) for name in files):
                name = file.relative_to(top).as_posix()
                if name in sent:
                    continue
                if is_never_sent(name, setup.environment.never):
                    out[name] = "never read" if is_never_sent(name) else HIDDEN
                elif file.is_symlink():
                    out[name] = "a symbolic link"
                elif file.stat().st_size > FILE_CAP:
                    out[name] = "too large"
                else:
                    out[name] = "ignored, binary or unreadable"
    return list(out.items())


def egress_rows(shown: Mapping[str, Any]) -> list[str]:
    out = []
    for name, row in shown["providers"].items():
        cost = "price unknown" if row["usd"] is None else f"about ${row['usd']:.2f} at most"
        files = f"{counted(row['files'], 'file')}, {amounts.size(row['bytes'], 'B')}"
        files = f"the text under debate, {files}" if shown["text_bytes"] else files
        secrets = f"{counted(row['secrets_removed'], 'secret')} removed"
        calls = counted(row["calls"], "call")
        out.append(f"  {name:<10} ←  the topic, {files}, {secrets}; {calls}, {cost}")
    for title, paths in (("files", shown["files"]), ("not sent", shown["not_sent"])):
        out += [f"  {title if n == 0 else '':<13} {path}" for n, path in enumerate(paths[:MOST_SHOWN])]
        if len(paths) > MOST_SHOWN:
            out.append(f"  {'':<13} … {len(paths) - MOST_SHOWN} more; --json has them all")
    if expected := shown["expected"]:
        by = f"from {counted(expected['by'], 'earlier call')} on this machine"
        out.append(f"  expected      up to about {roughly(expected['seconds'])}, estimated {by}")
    out += [f"  note          {notice}" for notice in shown["notices"]]
    only = "; of those under `not sent`, only for files left out for lack of space" if shown["not_sent"] else ""
    out.append(f"  on request    a model may ask once per turn for more files of this workspace{only}")
    return [*out, "  no model was called"]
