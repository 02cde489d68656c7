"""A request that was lost on its way, and what may come before it goes out once more: a limit, a stop, a deadline."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duels
import pytest
import test_ask
from loopback import Loopback
from test_duel_over_http import FORMS, duel, record

import rebut
from rebut.cli.screen.screen import Screen
from rebut.core.errors import Aborted, Interrupted, RecordError
from rebut.engine.live_answer import LiveAnswer
from rebut.record import journal
from rebut.record.events import Asked, Attempt, Line, Opened
from rebut.record.record import Call, Record

OPENING, CHALLENGE = "r1/opening@proposer", "r1/challenge@challenger"


@pytest.fixture
def server() -> Iterator[Loopback]:
    said = duels.answers(2)
    with Loopback(answers={form: said[key] for form, key in FORMS.items()}) as running:
        yield running


def resume(server: Loopback, folder: Path, **named: Any) -> rebut.Outcome:
    env = {"REBUT_HOME": str(folder / "home"), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test-0123456789"}
    return asyncio.run(rebut.resume("last", workspace=folder, env=env, **named))


def when(holds: Callable[[Any], bool], act: Callable[[], object]) -> Callable[[Line], None]:
    """A listener that does something at the first event for which `holds`."""
    done: list[bool] = []

    def listen(line: Line) -> None:
        if not done and holds(line.event):
            done.append(True)
            act()

    return listen


def sendings(call: Call) -> list[tuple[int, str, str, bool]]:
    """Each request that went out: its number, why, what came of it, and whether that is a failure."""
    return [
        (n, asked.why, call.attempts[n].outcome if n in call.attempts else "", not call.attempts[n].again)
        for n, asked in sorted(call.asked.items())
    ]


def test_a_limit_that_forbids_another_sending_is_told_as_one_and_can_be_raised(
    server: Loopback, tmp_path: Path
) -> None:  # C4 C5
    server.control(mode="reset", first=1)
    with pytest.raises(Aborted, match=r"budget, the limit of 2 calls leaves no room") as caught:
        duel(server, tmp_path, limits={"calls": 2})  # one of them is set aside for the judge
    assert server.calls == 1 and "--max-calls" in caught.value.hint
    [attempt] = record(tmp_path).calls[OPENING].attempts.values()
    assert "not sent again" in attempt.message and "2 tries" not in attempt.message
    outcome = resume(server, tmp_path, limits={"calls": 9})
    assert outcome.heading == "VERDICT" and server.calls == outcome.spent.calls == 6


def test_a_stop_before_another_sending_is_no_failure_of_the_seat(server: Loopback, tmp_path: Path) -> None:  # C3 C14
    control = rebut.Control()

    def asked(event: Any) -> bool:
        return isinstance(event, Asked) and event.key == CHALLENGE

    def lose() -> None:
        server.control(mode="reset", first=1)
        control.drain()

    with pytest.raises(Interrupted):
        duel(server, tmp_path, control=control, listener=when(asked, lose))
    call = record(tmp_path).calls[CHALLENGE]
    assert call.failed is None and call.in_doubt == [] and server.calls == 2
    outcome = resume(server, tmp_path)
    assert (outcome.heading, outcome.conclusive) == ("VERDICT", True) and server.calls == outcome.spent.calls == 6
    assert sendings(record(tmp_path).calls[CHALLENGE]) == [(1, "ask", "crashed", False), (2, "ask", "ok", True)]


def test_a_deadline_cuts_off_the_sending_that_is_out_and_no_other(server: Loopback, tmp_path: Path) -> None:  # C3 C17
    control = rebut.Control()
    server.control(mode="reset", first=1)

    def out_again(event: Any) -> bool:
        return isinstance(event, Asked) and event.why == "again"

    def too_late() -> None:
        server.control(mode="hang", first=None)
        asyncio.get_running_loop().call_later(0.05, control.expire)

    outcome = duel(server, tmp_path, control=control, listener=when(out_again, too_late))
    assert not outcome.complete and outcome.spent.in_doubt == 0
    call = record(tmp_path).calls[OPENING]
    assert sendings(call) == [(1, "ask", "crashed", False), (2, "again", "timeout", True)]
    assert call.void == {2}
    server.control(mode="ok")
    assert resume(server, tmp_path).heading == "VERDICT"
    assert sendings(record(tmp_path).calls[OPENING])[2:] == [(3, "ask", "ok", True)]


def test_who_is_left_behind_in_the_middle_of_another_sending_is_on_record_once(tmp_path: Path) -> None:  # C14
    said, control = test_ask.said(same=False), rebut.Control()
    lost = asyncio.Event()

    class Lost:
        async def complete(self, request: rebut.Request) -> rebut.Reply:
            if request.key == "answer@challenger":
                assert await request.on_again(rebut.ParticipantFailed("crashed", "lost"))
                while control.skip(request.key):  # noqa: ASYNC110  refused until its sibling has answered
                    await asyncio.sleep(0)
                await lost.wait()
            return rebut.Reply(json.dumps(said[request.key]), "m", "f", rebut.Usage(1, 1), 0.0)

    env = {"HOME": str(tmp_path), "REBUT_HOME": str(tmp_path / "home")}
    seats = {"proposer": "fake:a", "challenger": "fake:b", "judge": "fake:c"}
    outside: dict[str, Any] = {"workspace": tmp_path, "env": env, "backends": {"fake": Lost()}}
    outcome = rebut.run("ask", "Redis?", control=control, **outside, **seats)
    assert outcome.heading == "ONE ANSWER"
    found = record(tmp_path).calls["answer@challenger"]
    assert sendings(found) == [(1, "ask", "crashed", False), (2, "again", "left behind", True)]
    assert asyncio.run(rebut.replay("last", workspace=tmp_path, env=env)).heading == "ONE ANSWER"
    reused, anew = asyncio.run(rebut.api.fork_plan("last", **outside))
    assert (reused, anew) == (1, 0), "who was left behind is not asked by a fork either"


def test_a_backend_that_works_on_after_it_was_cut_off_sends_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C4 C17
    monkeypatch.setattr(journal, "QUICK", 0.0)  # every sync leaves the loop to others, as on a slow disk
    control, said = rebut.Control(), duels.answers(1)
    cut_off, allowed = asyncio.Event(), list[bool]()

    async def stubborn(request: rebut.Request) -> None:
        await cut_off.wait()
        allowed.append(await request.on_again(rebut.ParticipantFailed("crashed", "lost")))

    class Stubborn:
        async def complete(self, request: rebut.Request) -> rebut.Reply:
            if request.key == CHALLENGE:
                self.works_on = asyncio.ensure_future(stubborn(request))
                control.expire()
                await asyncio.Event().wait()
            return rebut.Reply(json.dumps(said[request.key]), "m", "f", rebut.Usage(1, 1), 0.0)

    async def play() -> None:
        model = Stubborn()
        seats = {"proposer": "fake:a", "challenger": "fake:b", "judge": "fake:c", "rounds": 1}
        env = {"HOME": str(tmp_path), "REBUT_HOME": str(tmp_path / "home")}

        def listen(line: Line) -> None:
            if isinstance(line.event, Attempt) and line.event.key == CHALLENGE:
                asyncio.get_running_loop().call_soon(cut_off.set)

        outside: dict[str, Any] = {"backends": {"fake": model}, "workspace": tmp_path, "env": env}
        await rebut.start("duel", "Redis?", control=control, listener=listen, **outside, **seats)
        await model.works_on

    asyncio.run(play())
    assert allowed == [False]
    assert sendings(record(tmp_path).calls[CHALLENGE]) == [(1, "ask", "timeout", True)]


def test_a_disk_that_is_full_between_two_sendings_is_told_as_that(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C3 C5
    server.control(mode="reset", first=1)
    good, put = os.write, journal.Journal._put

    def full(self: journal.Journal, data: bytes) -> None:
        def refuse(fd: int, piece: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "write", refuse if b'"why":"again"' in data else good)
        try:
            put(self, data)
        finally:
            monkeypatch.setattr(os, "write", good)

    with monkeypatch.context() as broken:
        broken.setattr(journal.Journal, "_put", full)
        with pytest.raises(RecordError, match="No space"):
            duel(server, tmp_path)
    call = record(tmp_path).calls[OPENING]
    assert call.failed is None and sorted(call.attempts) == [1], "nothing stands there that was never asked"
    assert resume(server, tmp_path).heading == "VERDICT" and server.calls == 6


def test_points_are_seen_as_they_come_of_the_second_sending_too() -> None:  # D1
    at = "2026-01-01T00:00:00.000+00:00"
    opened = Opened(id="abcdefgh", protocol="duel", topic="Redis?", seats=[{"seat": "proposer", "spec": "fake"}])
    screen, found = Screen(), Record([Line(1, at, opened)])
    screen.record = found
    hearing = LiveAnswer.__new__(LiveAnswer)
    hearing.points, hearing.size, hearing._lists = [], 0, {}
    screen.event(Line(2, at, Asked(key=OPENING, seat="proposer", fp="")))
    screen.streamed(OPENING, hearing)
    screen.event(Line(3, at, Attempt(key=OPENING, outcome="crashed", again=True)))
    screen.event(Line(4, at, Asked(key=OPENING, seat="proposer", fp="", attempt=2, why="again")))
    assert screen.moving.answers.get(OPENING) is hearing
    screen.event(Line(5, at, Asked(key=OPENING, seat="proposer", fp="", attempt=3, why="send-back")))
    assert OPENING not in screen.moving.answers


def test_a_disk_that_filled_up_meanwhile_forbids_another_sending(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C3 C4: what cannot be kept would be paid for in vain
    free, real = [2 * journal.ROOM], os.fstatvfs

    def told(fd: int) -> os.statvfs_result:
        kept = list(real(fd))
        kept[3] = kept[4] = free[0] // kept[1]  # f_bfree, f_bavail, in blocks of f_frsize
        return os.statvfs_result(kept)

    monkeypatch.setattr(os, "fstatvfs", told)
    server.control(mode="reset", first=1)

    def asked(event: Any) -> bool:
        return isinstance(event, Asked)

    with pytest.raises(RecordError, match="the disk has"):
        duel(server, tmp_path, listener=when(asked, lambda: free.__setitem__(0, 0)))
    assert server.calls == 1 and record(tmp_path).calls[OPENING].in_doubt == []
    free[0] = 2 * journal.ROOM
    assert resume(server, tmp_path).heading == "VERDICT" and server.calls == 6
