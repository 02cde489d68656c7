"""The files that a debate writes beside its journal: recorded before they exist, and never written over other files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from rebut.core.errors import RecordError
from rebut.core.files import link_below, repository
from rebut.engine.runtime import Runtime
from rebut.record import artifacts, folder_claims
from rebut.record.artifacts import Artifact
from rebut.record.events import Wrote


async def write_files(runtime: Runtime, files: Sequence[Artifact]) -> tuple[list[Path], list[str]]:
    """Write the files. Returns where each one is, and notes for the user.

    A relative path is in the session's folder. A file that already has its text is not written again, so a resumed
    debate does not repeat what it wrote before.
    """
    folder = runtime.root / runtime.record.opened.id
    places, notes = list[Path](), list[str]()
    for one in files:
        path, more = await _write(runtime, folder / one.path, one)
        places.append(path)
        notes += more
    return places, notes


async def _write(runtime: Runtime, wanted: Path, one: Artifact) -> tuple[Path, list[str]]:
    root = runtime.root
    try:
        # A link above the sessions is the user's choice: a home that is a repository may have a linked `.local`.
        if not wanted.is_relative_to(root):
            top = repository(Path(runtime.record.opened.workspace))
            if link := link_below(top, wanted.parent):
                return wanted, [f"{wanted} was not written: {link} is a link, which may lead anywhere"]
        with folder_claims.alone(root, wanted.parent) if one.merge else nullcontext():
            related = folder_claims.holders(root, wanted.parent) if one.merge else []
            path = artifacts.place(wanted, runtime.record, root, related)
            there = artifacts.text_at(path)
            text = one.merge(there) if one.merge and there is not None else one.text
            if there is not None and (there == text or _superseded(runtime, path, text, there)):
                return path, _note(path, wanted)
            # Recorded before it exists: if the process dies in between, resume knows that the file is its own.
            runtime.write(Wrote(path=str(path), sha=artifacts.sha(text)))
            if not one.merge and runtime.journal is not None and not runtime.journal.at_once:
                await runtime.sync()
            if one.merge:
                # Without an await while the folder is locked: another debate of this process would then block the only
                # thread that can release the lock.
                done = artifacts.save(path, text, there is None)
            else:
                done = await asyncio.to_thread(artifacts.save, path, text, there is None)
            if not done:
                # Another process created a file of that name first.
                path = artifacts.beside(wanted, runtime.record)
                runtime.write(Wrote(path=str(path), sha=artifacts.sha(text)))
                artifacts.save(path, text)
    except RecordError as error:
        return wanted, [error.message]
    except OSError as error:
        return wanted, [f"{wanted} could not be written: {error.strerror}"]
    return path, _note(path, wanted)


def _superseded(runtime: Runtime, path: Path, text: str, there: str) -> bool:
    """Whether the file has a later version by this session: a resumed debate writes its earlier versions again."""
    wrote = [
        line.event for line in runtime.record.lines if isinstance(line.event, Wrote) and line.event.path == str(path)
    ]
    last = {event.sha: n for n, event in enumerate(wrote)}
    return last.get(artifacts.sha(there), -1) > last.get(artifacts.sha(text), len(wrote))


def _note(path: Path, wanted: Path) -> list[str]:
    if path == wanted:
        return []
    return [f"{wanted} was not written by this session, or was edited, and was left alone; see {path.name} beside it"]
