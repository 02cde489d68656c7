"""What has to be on disk before something else happens: a power cut at any moment may forget nothing that was paid."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

import rebut
from rebut.core.types import Reply, Request
from rebut.engine.ask import settle
from rebut.engine.call import Question
from rebut.engine.runtime import Runtime
from rebut.record import journal, sessions
from tests import voices
from tests.voices import Voice, protocol

ASKS = """
a = await debate.ask(debate.seat("author"), "draft", "Write.")
b = await debate.ask(debate.seat("critic"), "judge", f"Judge {a.value}")
return done(said=[a.value, b.value])
"""


def test_a_question_is_on_disk_before_its_call_and_an_answer_before_the_next(  # C3
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, durable = journal._sync, [b""]

    def sync(fd: int) -> None:
        good(fd)
        durable[0] = Path(f"/dev/fd/{fd}").read_bytes()

    monkeypatch.setattr(journal, "_sync", sync)
    seen: list[tuple[str, list[str]]] = []

    class Watching:
        async def complete(self, request: Request) -> Reply:
            lines = durable[0].decode().splitlines()
            known = [kind for kind in ("asked", "attempt", "answered") for line in lines if f'"kind":"{kind}"' in line]
            seen.append((request.key, known))
            return Reply(f"said by {request.participant.seat}")

    path = protocol(tmp_path, ASKS)
    rebut.run(path, "t", author="fake:a", critic="fake:b", backends={"fake": Watching()})
    assert seen == [
        ("draft@author", ["asked"]),
        ("judge@critic", ["asked", "asked", "attempt", "answered"]),
    ]


def test_an_answer_is_on_disk_before_the_protocol_sees_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C3: what a protocol does with an answer may take long, and the call is paid
    good, durable, seen = journal._sync, [b""], []

    def sync(fd: int) -> None:
        good(fd)
        durable[0] = Path(f"/dev/fd/{fd}").read_bytes()

    async def watched(room: Runtime, question: Question) -> object:
        got = await settle(room, question)
        seen.append([question.key, *re.findall(r'"kind":"(attempt|answered)"', durable[0].decode())])
        return got

    monkeypatch.setattr(journal, "_sync", sync)
    monkeypatch.setattr("rebut.engine.debate.settle", watched)
    rebut.run(protocol(tmp_path, ASKS), "t", author="fake:a", critic="fake:b", backends={"fake": Voice()})
    pair = ["attempt", "answered"]
    assert seen == [["draft@author", *pair], ["judge@critic", *pair, *pair]]


def test_a_new_session_and_its_journal_have_durable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C3
    synced: list[tuple[str, list[str]]] = []
    fsync = os.fsync

    def watching(fd: int) -> None:
        fsync(fd)
        folder = Path(f"/dev/fd/{fd}").resolve()
        synced.append((folder.name, sorted(p.name for p in folder.iterdir())))

    monkeypatch.setattr(os, "fsync", watching)
    folder = sessions.create(tmp_path / "sessions")
    assert synced == [(folder.name, [journal.NAME]), ("sessions", [folder.name])]


def test_nobody_is_asked_whose_answer_would_find_no_room_on_the_disk(  # C3
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, real = [1], os.fstatvfs

    def told(fd: int) -> os.statvfs_result:
        kept = list(real(fd))
        kept[3] = kept[4] = free[0] // kept[1]  # f_bfree, f_bavail, in blocks of f_frsize
        return os.statvfs_result(kept)

    monkeypatch.setattr(os, "fstatvfs", told)
    voice = Voice()
    path = protocol(tmp_path, ASKS)
    with pytest.raises(rebut.RecordError, match=r"the disk has 0 kB left") as caught:
        rebut.run(path, "t", author="fake:a", critic="fake:b", backends={"fake": voice})
    assert "was not asked" in caught.value.hint and "Free some disk space" in caught.value.hint
    assert voice.asked == [] and voices.events("", "asked") == [], "nothing is in doubt either"
    free[0] = 2 * journal.ROOM
    asyncio.run(rebut.resume(voices.folder().name, backends={"fake": voice}))
    assert voice.keys == ["draft@author", "judge@critic"]
