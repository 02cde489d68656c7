"""How long a debate may yet take, told by the calls of earlier sessions: what is usual, and never a promise."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from test_screen import command, enough, unfinished

from rebut.cli.screen.live_rows import LiveRows, expected as told, roughly
from rebut.record import sessions, timings
from rebut.record.events import Asked
from rebut.record.timings import Expected, History, Took, look_back
from tests import console, duels

SEATS = {"proposer": "a", "challenger": "b", "judge": "c"}
PLANNED = {"proposer": 2, "challenger": 2, "judge": 1}


def kept(*calls: tuple[str, str, float], name: str = "aaaaaaaa", more: Sequence[dict[str, Any]] = ()) -> Path:
    """A session on this machine, as far as it tells how long calls took: spec, key and seconds."""
    folder = sessions.home() / name
    folder.mkdir(parents=True)
    events: list[dict[str, Any]] = []
    for spec, key, seconds in calls:
        events += [
            {"kind": "asked", "key": key, "spec": spec},
            {"kind": "answered", "key": key, "ms": int(seconds * 1000)},
        ]
    lines = [json.dumps({"seq": n, "prev": "x", "at": "y", **e}, separators=(",", ":")) for n, e in enumerate(events)]
    lines += [json.dumps(e, separators=(",", ":")) for e in more]
    (folder / "journal.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_the_nearest_kind_of_call_tells_what_is_usual() -> None:
    # C14
    known = History(
        (
            *(Took("a", "opening", "proposer", s) for s in (10, 20, 90)),
            Took("a", "defense", "proposer", 40),
            *(Took("b", "challenge", "challenger", s) for s in (5, 0.01, 7)),
        )
    )
    usual = known.usual("a", step="opening")
    assert usual and (usual.seconds, len(usual.by)) == (20, 3), "this model in this step"
    usual = known.usual("a", step="verdict")
    assert usual and (usual.seconds, len(usual.by)) == (30, 4), "else this model"
    usual = known.usual("new", step="challenge")
    assert usual and (usual.seconds, len(usual.by)) == (6, 2), "else this step, of those that took a model's time"
    assert known.usual("new", step="verdict") is None


def test_the_rest_is_what_runs_and_what_may_yet_be_asked() -> None:
    # C14
    known = History(
        (
            Took("a", "opening", "proposer", 30),
            Took("b", "challenge", "challenger", 40),
            Took("c", "verdict", "judge", 20),
        )
    )
    assert known.expected(PLANNED, SEATS, [], {}) == Expected(30 * 2 + 40 * 2 + 20, by=3)
    running = {"r1/challenge@challenger": 25.0}
    assert known.expected(PLANNED, SEATS, ["r1/opening@proposer"], running) == Expected(15 + 30 + 40 + 20, by=3)
    running = {"r1/challenge@challenger": 41.0}
    late = known.expected(PLANNED, SEATS, ["r1/opening@proposer"], running)
    assert late == Expected(30 + 40 + 20, by=3, late=40)
    assert known.expected({}, SEATS, [], running) is None, "a protocol that does not say what it asks"
    assert known.expected(PLANNED, SEATS | {"judge": "new"}, [], {}) is not None, "another judge took its time"
    assert known.expected({"lead": 1}, {"lead": "new"}, [], {}) is None, "nobody knows how long it takes"
    assert History().expected(PLANNED, SEATS, [], {}) is None


def test_seats_of_one_role_speak_together_and_the_slowest_counts() -> None:
    known = History((Took("a", "challenge", "challenger", 10), Took("b", "challenge", "challenger", 50)))
    seats = {"challenger.1": "a", "challenger.2": "b"}
    assert known.expected({"challenger": 2}, seats, [], {}) == Expected(100, by=2)
    running = {"r1/challenge.one@challenger.1": 4.0, "r1/challenge@challenger.2": 20.0}
    assert known.expected({"challenger": 1}, seats, [], running) == Expected(30, by=2)


def test_what_is_expected_is_said_as_what_is_usual_and_overrun_it_says_so() -> None:
    assert told(Expected(130, 14)) == "about 2 min left at most, by 14 earlier calls"
    assert told(Expected(44, 1)) == "about 40 s left at most, by 1 earlier call"
    assert told(Expected(44, 3, late=12)) == "past the usual 12 s; then about 40 s, by 3 earlier calls"
    assert told(Expected(0, 3, late=12)) == "past the usual 12 s"
    assert [roughly(s) for s in (0.2, 9.4, 14, 94, 100, 3600)] == ["1 s", "9 s", "10 s", "90 s", "2 min", "60 min"]


def test_sessions_are_looked_at_newest_first_and_no_more_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timings, "MOST_SESSIONS", 2)
    for n, name in enumerate(("oldest", "middle", "newest")):
        folder = kept((name, "r1/opening@proposer", 5), name=name)
        os.utime(folder / "journal.jsonl", (n, n))
    assert [t.spec for t in look_back(sessions.home()).took] == ["newest", "middle"]
    assert [t.spec for t in look_back(sessions.home(), without="newest").took] == ["middle", "oldest"]
    monkeypatch.setattr(timings, "ALL_BYTES", 10)
    assert look_back(sessions.home()).took == (), "half a line tells nothing"


def test_what_is_no_time_of_a_model_and_what_cannot_be_read_is_passed_over() -> None:
    assert look_back(sessions.home()) == History(), "no session was ever held here"
    more = [
        {"kind": "asked", "key": "k@decider", "spec": "human", "patient": True},
        {"kind": "answered", "key": "k@decider", "ms": 99_000},
        {"kind": "asked", "key": "r1/b@judge", "spec": "m"},
        {"kind": "answered", "key": "r1/b@judge", "ms": 5000, "copied_from": "another"},
        {"kind": "answered", "key": "never asked@x", "ms": 5000},
        {"kind": "asked", "key": ["odd"]},
        {"kind": "answered"},
    ]
    folder = kept(("m", "r2/b.part@judge.2", 3), more=more)
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(b'\xff{"kind":"answered" no json\n[1, "kind":"asked"]\n{"kind":"answered","key":"r2/b.p')
    (sessions.home() / "empty").mkdir()
    (sessions.home() / "a file").write_text("x")
    assert look_back(sessions.home()).took == (Took("m", "b", "judge", 3.0),)


def test_a_rehearsal_says_what_to_expect_once_something_is_known(workspace: Path, tmp_path: Path) -> None:
    # C16
    words = [*command(tmp_path), "--dry-run"]
    shown = console.piped(*words, cwd=workspace)
    assert shown.returncode == 0 and "expected" not in shown.stdout
    spec = {role: words[words.index(f"--{role}") + 1] for role in duels.seats(tmp_path)}
    kept((spec["proposer"], "r1/opening@proposer", 50), (spec["challenger"], "r1/challenge@challenger", 60))
    kept((spec["judge"], "verdict@judge", 20), name="bbbbbbbb")
    line = "  expected      about 4 min at most, by 3 earlier calls on this machine; no promise"
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
        kept((seat_spec, f"r1/x@{role}", 3000), name=role)
    line = r"about \d+ min left at most, by 3 earlier calls"
    seen = console.at_a_terminal(*words, columns=columns, keys=enough(f"challenge .*{line}"))
    assert seen.code == 130, seen.text
    assert re.search(line, seen.text)


def test_what_takes_longer_than_usual_is_no_longer_counted_down(workspace: Path, tmp_path: Path) -> None:
    words = unfinished(tmp_path)
    for role, seat_spec in zip(("proposer", "challenger", "judge"), words[3::2], strict=True):
        kept((seat_spec, f"r1/x@{role}", 0.001), name=role)
    seen = console.at_a_terminal(*words, keys=enough(r"challenge .*past the usual 0\.0 s"))
    assert seen.code == 130, seen.text
