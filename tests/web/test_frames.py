"""Frames: one for each event, nothing in them that may not leave, and together the same ledger as the record's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crosses
import duels
import pytest
from recorded import FOLDERS, NAMES, folded, prompts_of, secrets_of, taken, written

from rebut.domain.session_status import ledger_of, outcome_of
from rebut.record import sessions
from rebut.record.events import Fact, Line
from rebut.record.journal import Tail
from rebut.record.record import Record
from rebut.web.frames import Frames, file_diff, files_of

every_session = pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)


def frames_of(outcome: Any) -> tuple[Frames, list[dict[str, Any]]]:
    return taken(sessions.home() / outcome.session)


# every recorded session


@every_session
def test_each_event_makes_a_frame_with_its_number_time_and_kind(folder: Path) -> None:
    _, frames = taken(folder)
    lines = Tail(folder).take()
    assert [(f["seq"], f["at"], f["kind"]) for f in frames] == [(n.seq, n.at, n.event.kind) for n in lines]
    assert [f["seq"] for f in frames] == list(range(1, len(frames) + 1))  # what the server counts on


@every_session
def test_no_frame_has_a_key_or_a_prompt(folder: Path) -> None:
    made, frames = taken(folder)
    text = written(frames)
    assert secrets_of(made.record) and prompts_of(made.record)
    for secret in secrets_of(made.record):
        assert secret not in text
    for prompt in prompts_of(made.record):
        assert written(prompt)[1:-1] not in text


@every_session
def test_the_frames_add_up_to_the_ledger_of_the_record(folder: Path) -> None:
    made, frames = taken(folder)
    ledger = ledger_of(sessions.load(folder))
    points, claims = folded(frames)
    assert list(claims) == [c.id for c in ledger.claims]
    assert [claims[c.id]["text"] for c in ledger.claims] == [c.text for c in ledger.claims]
    assert set(points) == {p.id for p in ledger.points}
    for p in ledger.points:
        row = points[p.id]
        assert (row["text"], row["by"], row["round"], row["voices"]) == (p.text, p.by, p.round, [*p.voices])
        assert (row["status"], row["severity"]) == (ledger.status(p.id), ledger.severity(p.id))
        assert bool(row["contested"]) == ledger.contested(p)
        moves = [m for m in ledger.answers if m.point == p.id]
        assert [(m["kind"], m["by"], m["round"]) for m in row["moves"]] == [(m.kind, m.by, m.round) for m in moves]
        marks = [e.mark for one in p.wordings for e in one.evidence]
        shown = [c.get("mark", "") for one in row["said"] for c in one.get("cites", ())]
        assert set(shown) == set(marks)
    assert made.ledger == ledger


@every_session
def test_every_citation_of_a_frame_can_be_asked_for(folder: Path) -> None:
    made, frames = taken(folder)

    def ids(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["id"]} if "place" in value and "id" in value else set()
            return own.union(*map(ids, value.values()))
        return set().union(*map(ids, value)) if isinstance(value, list) else set()

    assert ids(frames) == set(made.cited)


@every_session
def test_money_and_tokens_add_up_to_those_of_the_record(folder: Path) -> None:
    made, frames = taken(folder)
    tries = [f for f in frames if f["kind"] == "attempt"]
    spent = made.record.spent()
    assert sum(f.get("input", 0) + f.get("output", 0) for f in tries) == (tries[-1].get("tokens", 0) if tries else 0)
    assert (tries[-1].get("total", 0.0) if tries else 0.0) == ("unknown" if spent.usd is None else spent.usd)


@every_session
def test_the_last_frame_of_a_debate_that_ended_has_its_outcome(folder: Path) -> None:
    made, frames = taken(folder)
    outcome = outcome_of(made.record)
    if outcome is None:
        assert all(f["kind"] != "closed" for f in frames)
        return
    last = frames[-1]
    assert (last["kind"], last["heading"]) == ("closed", outcome.heading)
    assert last.get("decision", "") == outcome.decision and bool(last.get("conclusive")) == outcome.conclusive
    if outcome.review:
        assert set(last["review"].get("findings", {})) == {f.id for f in outcome.review.findings}


# single cases


def line(seq: int, key: str, value: Any) -> Line:
    return Line(seq, "2026-11-16T11:38:56.229+00:00", Fact(key=key, value=value))


def test_a_fact_that_no_frame_knows_does_not_leave(workspace: Path) -> None:
    made, frames = frames_of(duels.duel(workspace))
    unknown = made.take(line(len(frames) + 1, "private-note", {"secret": "of a protocol"}))
    assert set(unknown) == {"seq", "at", "kind"}


def test_entries_that_were_recorded_again_count_once(workspace: Path) -> None:
    # An upgrade may compute the entries of a turn again: the last ones stand, as in the record.
    outcome = duels.duel(workspace)
    lines = Tail(sessions.home() / outcome.session).take()
    again = next(n for n in lines if isinstance(n.event, Fact) and n.event.key == "r1/challenge#ledger")
    value = again.event.value
    changed = {**value, "entries": [{**row, "text": f"{row['text']} Again."} for row in value["entries"]]}  # type: ignore[dict-item]
    at = lines.index(again)
    both = [*lines[: at + 1], line(0, again.event.key, changed), *lines[at + 1 :]]
    both = [Line(n, one.at, one.event) for n, one in enumerate(both, 1)]
    made, record = Frames(), Record()
    frames = [made.take(one) for one in both]
    for one in both:
        record.add(one)
    points, claims = folded(frames)
    assert made.ledger == ledger_of(record)
    assert [row["text"] for row in points.values()] == [p.text for p in ledger_of(record).points]
    assert list(claims) == [c.id for c in ledger_of(record).claims]


def test_points_that_become_one_leave_the_page(workspace: Path) -> None:
    same = {"D1": "concede", "D2": "rebut"}
    said = {"r1/challenge@challenger": duels.challenge(flaws=[duels.flaw("The port is open."), duels.flaw("Slow.", 2)])}
    said["r2/defense@proposer"] = duels.defense(2, same)
    _, frames = frames_of(duels.duel(workspace, said))
    points, _ = folded(frames)
    assert list(points)[:2] == ["D1", "D2"]
    repeated = [f for f in frames if f.get("gone")]
    assert all(id not in points for f in repeated for id in f["gone"])


def test_a_later_version_of_the_change_is_a_frame_with_its_diff(shop: Path) -> None:
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(earlier=[crosses.looked()]),
    }
    made, frames = frames_of(crosses.review(shop, said, rounds=2))
    versions = [f for f in frames if "version" in f]
    assert [f["version"] for f in versions] == [2]
    assert versions[0]["files"][0]["path"] == "api/orders.py"
    assert [dict(files) for _, files in made.versions] == [{"api/orders.py": crosses.MENDED}]


def test_a_second_draft_has_its_difference_from_the_first() -> None:
    first, second = "# Plan\n\nOne.\n\nTwo.\n", "# Plan\n\nOne.\n\nThree.\n"
    [file] = file_diff("author.1", first, second)
    assert isinstance(file, dict) and file["path"] == "author.1"
    [hunk] = file["hunks"]  # type: ignore[misc]
    assert "-Two." in str(hunk) and "+Three." in str(hunk)
    assert file_diff("author.1", first, first) == []


def test_a_diff_is_numbered_from_both_sides() -> None:
    diff = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -3,2 +4,3 @@ def f():\n a\n-b\n+c\n+d\n"
    assert files_of(diff) == [{"path": "x.py", "old": "x.py", "hunks": [[3, 4, " a\n-b\n+c\n+d"]], "note": ""}]


def test_a_file_without_hunks_says_what_happened_to_it() -> None:
    diff = "diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n"
    [file] = files_of(diff)
    assert isinstance(file, dict) and file["hunks"] == [] and "Binary files" in str(file["note"])
