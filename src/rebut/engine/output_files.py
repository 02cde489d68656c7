"""The files that a debate writes beside its journal: on record before they exist, never over a foreign file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from rebut.core.errors import RecordError
from rebut.engine.runtime import Runtime
from rebut.record import artifacts, folder_claims
from rebut.record.artifacts import Artifact
from rebut.record.events import Wrote


async def write_files(runtime: Runtime, files: Sequence[Artifact]) -> tuple[list[Path], list[str]]:
    """Write the files. Returns where each of them is, and what the reader must be told.

    A relative path lies in the session's folder. A file that stands there as it should is not written again, so
    that a resumed debate passes over what it left before.
    """
    folder = runtime.root / runtime.record.opened.id
    places, notes = list[Path](), list[str]()
    for one in files:
        path, told = await _one(runtime, folder / one.path, one)
        places.append(path)
        notes += told
    return places, notes


async def _one(runtime: Runtime, wanted: Path, one: Artifact) -> tuple[Path, list[str]]:
    root = runtime.root
    try:
        with folder_claims.alone(root, wanted.parent) if one.merge else nullcontext():
            kin = folder_claims.holders(root, wanted.parent) if one.merge else []
            path = artifacts.place(wanted, runtime.record, root, kin)
            there = artifacts.text_at(path)
            text = one.merge(there) if one.merge and there is not None else one.text
            if there is not None and (there == text or _superseded(runtime, path, text, there)):
                return path, _told(path, wanted)
            # On record before it is there: a process that dies in between must know the file for its own.
            runtime.write(Wrote(path=str(path), sha=artifacts.sha(text)))
            if one.merge:
                # Without an await: another debate of this process would wait for the lock on the very thread that
                # has to come back here to open it.
                done = artifacts.save(path, text, there is None)
            else:
                done = await asyncio.to_thread(artifacts.save, path, text, there is None)
            if not done:
                # Somebody was quicker to make a file of that name.
                path = artifacts.beside(wanted, runtime.record)
                runtime.write(Wrote(path=str(path), sha=artifacts.sha(text)))
                artifacts.save(path, text)
    except RecordError as error:
        return wanted, [error.message]
    except OSError as error:
        return wanted, [f"{wanted} could not be written: {error.strerror}"]
    return path, _told(path, wanted)


def _superseded(runtime: Runtime, path: Path, text: str, there: str) -> bool:
    """Whether what stands there is a later version of ours: a resumed debate comes by its earlier ones again."""
    wrote = [
        line.event for line in runtime.record.lines if isinstance(line.event, Wrote) and line.event.path == str(path)
    ]
    last = {event.sha: n for n, event in enumerate(wrote)}
    return last.get(artifacts.sha(there), -1) > last.get(artifacts.sha(text), len(wrote))


def _told(path: Path, wanted: Path) -> list[str]:
    if path == wanted:
        return []
    return [f"{wanted} is not rebut's own any more and was left alone; see {path.name} beside it"]
