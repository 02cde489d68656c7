"""How long a debate may yet take, told by the calls of earlier sessions: what is usual, and never a promise."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_screen import command, enough, unfinished

import rebut
from rebut.cli.screen.live_rows import LiveRows, expected as told, roughly
from rebut.core.types import Request
from rebut.record import sessions, timings
from rebut.record.events import Answered, Asked, Event, Line
from rebut.record.record import Record, seat_of
from rebut.record.timings import Expected, History, Timings, Took
from tests import console, duels, voices

SEATS = {"proposer": "a", "challenger": "b", "judge": "c"}
PLANNED = {"proposer": 2, "challenger": 2, "judge": 1}


def took(*calls: tuple[str, str, float]) -> Record:
    """The record of a session whose calls took so long: spec, key and seconds."""
    record = Record()
    for spec, key, seconds in calls:
        add(record, Asked(key=key, seat=seat_of(key), fp="", spec=spec), answer(key, seconds))
    return record


def answer(key: str, seconds: float, copied_from: str = "") -> Answered:
    return Answered(key=key, seat=seat_of(key), fp="", value="", ms=int(seconds * 1000), copied_from=copied_from)


def add(record: Record, *events: Event) -> None:
    for event in events:
        record.add(Line(len(record.lines) + 1, "2026-01-01T00:00:00.000+00:00", event))


def known() -> Timings:
    return Timings.beside(sessions.home())


def test_the_nearest_kind_of_call_tells_what_is_usual() -> None:
    # C14
    history = History(
        (
            *(Took("a", "opening", "proposer", s) for s in (10, 20, 90)),
            Took("a", "defense", "proposer", 40),
            *(Took("b", "challenge", "challenger", s) for s in (5, 0.01, 7)),
        )
    )
    usual = history.usual("a", step="opening")
    assert usual and (usual.seconds, len(usual.by)) == (20, 3), "this model in this step"
    usual = history.usual("a", step="verdict")
    assert usual and (usual.seconds, len(usual.by)) == (30, 4), "else this model"
    usual = history.usual("new", step="challenge")
    assert usual and (usual.seconds, len(usual.by)) == (6, 2), "else this step, of those that took a model's time"
    assert history.usual("new", step="verdict") is None


def test_the_rest_is_what_runs_and_what_may_yet_be_asked() -> None:
    # C14
    history = History(
        (
            Took("a", "opening", "proposer", 30),
            Took("b", "challenge", "challenger", 40),
            Took("c", "verdict", "judge", 20),
        )
    )
    assert history.expected(PLANNED, SEATS, [], {}) == Expected(30 * 2 + 40 * 2 + 20, by=3)
    running = {"r1/challenge@challenger": 25.0}
    assert history.expected(PLANNED, SEATS, ["r1/opening@proposer"], running) == Expected(15 + 30 + 40 + 20, by=3)
    running = {"r1/challenge@challenger": 41.0}
    late = history.expected(PLANNED, SEATS, ["r1/opening@proposer"], running)
    assert late == Expected(30 + 40 + 20, by=3, late=40)
    assert history.expected({}, SEATS, [], running) is None, "a protocol that does not say what it asks"
    assert history.expected(PLANNED, SEATS | {"judge": "new"}, [], {}) is not None, "another judge took its time"
    assert history.expected({"lead": 1}, {"lead": "new"}, [], {}) is None, "nobody knows how long it takes"
    assert History().expected(PLANNED, SEATS, [], {}) is None


def test_seats_of_one_role_speak_together_and_the_slowest_counts() -> None:
    history = History((Took("a", "challenge", "challenger", 10), Took("b", "challenge", "challenger", 50)))
    seats = {"challenger.1": "a", "challenger.2": "b"}
    assert history.expected({"challenger": 2}, seats, [], {}) == Expected(100, by=2)
    running = {"r1/challenge.one@challenger.1": 4.0, "r1/challenge@challenger.2": 20.0}
    assert history.expected({"challenger": 1}, seats, [], running) == Expected(30, by=2)


def test_what_is_expected_is_said_as_what_is_usual_and_overrun_it_says_so() -> None:
    assert told(Expected(130, 14)) == "up to 2 min left (from 14 earlier calls)"
    assert told(Expected(44, 1)) == "up to 40 s left (from 1 earlier call)"
    assert told(Expected(44, 3, late=12)) == "longer than the usual 12 s; then about 40 s (from 3 earlier calls)"
    assert told(Expected(0, 3, late=12)) == "longer than the usual 12 s"
    assert [roughly(s) for s in (0.2, 9.4, 14, 94, 100, 3600)] == ["1 s", "9 s", "10 s", "90 s", "2 min", "60 min"]


def test_a_session_adds_its_calls_when_it_closes_and_once_only(workspace: Path, tmp_path: Path) -> None:
    # C14
    assert known().history() == History(), "no session was held here yet"

    def slowly(request: Request) -> str:
        time.sleep(0.002)  # an answer within the same millisecond says nothing
        return json.dumps(duels.answers()[request.key])

    seats = {role: f"fake:{role}" for role in ("proposer", "challenger", "judge")}
    outside = {"backends": {"fake": voices.Voice(slowly)}}
    outcome = rebut.run("duel", "Redis?", **outside, **seats)
    calls = {(c.spec, c.step, c.role) for c in known().history().took}
    assert ("fake:judge", "verdict", "judge") in calls and ("fake:proposer", "opening", "proposer") in calls
    assert len(known().history().took) == len(voices.record().calls)
    before = known().path.read_bytes()
    asyncio.run(rebut.resume(outcome.session, **outside))
    asyncio.run(rebut.replay(outcome.session, **outside))
    assert known().path.read_bytes() == before


def test_what_no_model_took_is_not_added() -> None:
    record = took(("m", "r2/b.part@judge.2", 3), ("instant", "r1/a@judge", 0))
    add(record, Asked(key="k@decider", seat="decider", fp="", spec="human", patient=True), answer("k@decider", 99))
    add(record, Asked(key="r1/b@judge", seat="judge", fp="", spec="m"), answer("r1/b@judge", 5, copied_from="another"))
    add(record, Asked(key="r3/b@judge", seat="judge", fp="", spec="m"), answer("never asked@x", 5))
    known().add(record)
    assert known().history().took == (Took("m", "b", "judge", 3.0),)


def test_the_model_that_answered_is_the_one_that_is_timed() -> None:
    record = Record()
    key = "r1/a@judge"
    add(record, *(Asked(key=key, seat="judge", fp="", spec=s, attempt=n) for n, s in ((1, "dead"), (2, "fallback"))))
    add(record, answer(key, 4))
    known().add(record)
    assert [call.spec for call in known().history().took] == ["fallback"]


def test_the_file_stays_small_and_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timings, "MOST_BYTES", 1000)
    for n in range(200):
        known().add(took((f"model {n}", "r1/opening@proposer", 5)))
        assert known().path.stat().st_size <= 1000
    specs = [call.spec for call in known().history().took]
    assert specs == [f"model {n}" for n in range(200 - len(specs), 200)] and len(specs) >= 10
    assert known().path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in known().path.parent.iterdir()] == [timings.NAME]


def test_garbage_in_the_file_is_ignored_and_the_rest_still_counts() -> None:
    known().add(took(("first", "r1/a@judge", 3)))
    with known().path.open("ab") as file:
        file.write(
            b'\xff\xfe\n{"spec": 1}\n[1, 2]\n["m", "s", "r", NaN]\n["m", "s", "r", -1]\n["m", "s", "r", 1e999]\n'
        )
        file.write(b'["m", "s", "r", "x"]\n' + b"[" * 20_000 + b'\n["cut", "s", "r", 1')
    known().add(took(("last", "r1/a@judge", 4)))
    assert [call.spec for call in known().history().took] == ["first", "last"]
    known().path.unlink()
    known().path.mkdir()
    known().add(took(("m", "r1/a@judge", 3)))
    assert known().history() == History(), "a place that cannot be written or read costs the estimate alone"


def test_processes_add_at_once_and_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[2:]\n"
        "from tests.record.test_timings import known, took\n"
        "for n in range(50): known().add(took((f'{sys.argv[1]}.{n}', 'r1/a@judge', 2), ('x', 'r1/b@judge', 2)))"
    )
    root = Path(__file__).parents[2]
    paths = [str(root), str(root / "tests"), *sys.path]
    at_once = [subprocess.Popen([sys.executable, "-c", code, str(n), *paths]) for n in range(4)]
    assert [one.wait(60) for one in at_once] == [0] * 4
    specs = [call.spec for call in known().history().took]
    assert sorted(set(specs) - {"x"}) == sorted(f"{n}.{m}" for n in range(4) for m in range(50))
    assert len(specs) == 400


def test_a_rehearsal_says_what_to_expect_once_something_is_known(workspace: Path, tmp_path: Path) -> None:
    # C16
    words = [*command(tmp_path), "--dry-run"]
    shown = console.piped(*words, cwd=workspace)
    assert shown.returncode == 0 and "expected" not in shown.stdout
    spec = {role: words[words.index(f"--{role}") + 1] for role in duels.seats(tmp_path)}
    known().add(
        took((spec["proposer"], "r1/opening@proposer", 50), (spec["challenger"], "r1/challenge@challenger", 60))
    )
    known().add(took((spec["judge"], "verdict@judge", 20)))
    line = "  expected      up to about 4 min, estimated from 3 earlier calls on this machine"
    assert line in console.piped(*words, cwd=workspace).stdout.splitlines()
    told_to_machines = json.loads(console.piped(*words, "--json", cwd=workspace).stdout)
    assert told_to_machines["expected"] == {"seconds": 2 * 50 + 2 * 60 + 20, "by": 3}


def test_whoever_has_said_nothing_yet_is_shown_with_what_is_usual() -> None:
    # C14
    asked = Asked(key="r1/opening@proposer", seat="proposer", fp="", spec="a")
    moving = LiveRows(history=History((Took("a", "opening", "proposer", 41),)), seats=SEATS)
    moving.asked[asked.key] = (asked, time.monotonic())
    assert moving.rows(80)[0].endswith(" s, usually 41 s")
    moving.asked[asked.key] = (asked, time.monotonic() - 42)
    assert "usually" not in moving.rows(80)[0], "what is overrun is no longer said"


@pytest.mark.parametrize("columns", [50, 80])
def test_the_moving_part_says_how_long_it_may_yet_take(workspace: Path, tmp_path: Path, columns: int) -> None:
    # C14
    words = unfinished(tmp_path)
    for role, seat_spec in zip(("proposer", "challenger", "judge"), words[3::2], strict=True):
        known().add(took((seat_spec, f"r1/x@{role}", 3000)))
    line = r"up to \d+ min left \(from 3 earlier calls\)"
    seen = console.at_a_terminal(*words, columns=columns, keys=enough(f"challenge .*{line}"))
    assert seen.code == 130, seen.text
    assert re.search(line, seen.text)


def test_what_takes_longer_than_usual_is_no_longer_counted_down(workspace: Path, tmp_path: Path) -> None:
    words = unfinished(tmp_path)
    for role, seat_spec in zip(("proposer", "challenger", "judge"), words[3::2], strict=True):
        known().add(took((seat_spec, f"r1/x@{role}", 0.001)))
    seen = console.at_a_terminal(*words, keys=enough(r"challenge .*longer than the usual 0\.0 s"))
    assert seen.code == 130, seen.text


def test_scripted_answers_say_nothing_about_how_long_a_model_takes() -> None:
    demo = [Took(spec, "opening", "proposer", 3.3) for spec in ("scripted:a.json", "redis=scripted:b.json")]
    history = History(tuple(demo))
    assert history.usual("openai:gpt-5", step="opening") is None
    assert history.usual("openai:gpt-5", role="proposer") is None
    usual = history.usual("scripted:a.json", step="opening")
    assert usual and usual.seconds == 3.3, "the same file again takes as long as before"
