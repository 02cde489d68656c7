"""A session that is followed while it runs: whole lines only, each once."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded import DATA, FOLDERS, NAMES, taken

from rebut.core.errors import RecordError
from rebut.web.live_session import LiveSession

LONG = next(folder for folder in FOLDERS if "duel-finished" in str(folder))


def followed(folder: Path) -> LiveSession:
    return LiveSession(folder, lambda record, there: None)


@pytest.mark.parametrize("step", [1, 7, 1000, 100_000])
def test_a_journal_that_grows_gives_each_frame_once(tmp_path: Path, step: int) -> None:
    whole = (LONG / "journal.jsonl").read_bytes()
    whole = whole[: 40 * step] if step < 10 else whole
    path = tmp_path / "journal.jsonl"
    path.touch()
    session = followed(tmp_path)
    for at in range(0, len(whole), step):
        with path.open("ab") as file:
            file.write(whole[at : at + step])
        session.update()
        assert len(session.frames) == whole[: at + step].count(b"\n")
    session.update()
    assert session.frames == taken(LONG)[1][: whole.count(b"\n")]


def test_a_line_that_is_torn_is_told_when_it_was_mended(tmp_path: Path) -> None:
    # After a crash, resuming cuts the torn tail off and goes on from the last whole line.
    lines = (LONG / "journal.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(lines[:5]) + lines[5][:30])
    session = followed(tmp_path)
    session.update()
    assert len(session.frames) == 5
    path.write_bytes(b"".join(lines[:5]))
    session.update()
    path.write_bytes(b"".join(lines[:8]))
    session.update()
    assert [f["seq"] for f in session.frames] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_line_that_is_no_event_is_an_error_that_names_it(tmp_path: Path) -> None:
    lines = (LONG / "journal.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(lines[:2]) + b"nonsense\n")
    session = followed(tmp_path)
    session.update()  # the last line may be torn, as after a crash: then it is not there
    assert len(session.frames) == 2
    path.write_bytes(b"".join(lines[:2]) + b"nonsense\n" + lines[2])
    with pytest.raises(RecordError, match="line 3"):
        session.update()


def test_a_journal_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        followed(tmp_path).update()


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_prompt_and_reply_of_every_call_are_there_on_request(folder: Path) -> None:
    session = followed(folder)
    session.update()
    for key, call in session.record.calls.items():
        rows = session.raw(key)
        assert [row["attempt"] for row in rows] == sorted({*call.asked, *call.attempts})  # type: ignore[call-overload,index]
        asked = [one.prompt or one.followup for _, one in sorted(call.asked.items())]
        assert [row["prompt"] for row in rows if "prompt" in row] == asked  # type: ignore[operator,call-overload,index]
        assert not any("prompt" in row for row in session.raw(key, prompts=False))  # type: ignore[operator]
    assert session.raw("no/such@key") == []


def test_the_samples_are_there() -> None:
    assert len(FOLDERS) >= 35 and DATA.is_dir()
