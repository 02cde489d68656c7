"""The last message of an assistant, from the transcripts that coding tools keep."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import crosses
import pytest
from console import piped
from repositories import small
from targeting import refused, target

from rebut.workspace.targets.transcripts import BLOCK, last_said


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return small(tmp_path).resolve()


def claude_line(text: str, cwd: Path, id: str = "m1", **more: object) -> dict[str, object]:
    message = {"id": id, "role": "assistant", "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "cwd": str(cwd), "message": message, **more}


def user_line(cwd: Path) -> dict[str, object]:
    return {"type": "user", "cwd": str(cwd), "message": {"role": "user", "content": "do it, assistant"}}


def claude(home: Path, cwd: Path, *lines: object, name: str = "s1.jsonl", tail: str = "", age: int = 0) -> Path:
    """Write a transcript of Claude Code; the higher `age`, the older it is."""
    folder = home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))
    folder.mkdir(parents=True, exist_ok=True)
    return written(folder / name, lines, tail, age)


def codex(home: Path, cwd: Path, *texts: str, name: str = "rollout-1.jsonl", tail: str = "", age: int = 0) -> Path:
    folder = home / ".codex/sessions/2026/01/02"
    folder.mkdir(parents=True, exist_ok=True)
    meta = {"type": "session_meta", "payload": {"id": "x", "cwd": str(cwd)}}
    said = [
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
        }
        for text in texts
    ]
    asked = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}}
    return written(folder / name, (meta, *said, asked), tail, age)


def written(place: Path, lines: tuple[object, ...], tail: str, age: int) -> Path:
    place.write_text("".join(json.dumps(line) + "\n" for line in lines) + tail)
    os.utime(place, (1_000_000 - age, 1_000_000 - age))
    return place


def test_the_newest_transcript_of_this_workspace_counts(repo: Path, own_home: Path, tmp_path: Path) -> None:
    # J1
    claude(own_home, repo, claude_line("old claude", repo), age=9)
    codex(own_home, repo, "first codex", "## Design\n\nlast codex", age=5)
    codex(own_home, tmp_path, "another workspace", name="rollout-2.jsonl", age=1)
    assert last_said(repo).text == "## Design\n\nlast codex"
    assert target(repo, from_transcript=True).wrote == "openai"
    claude(own_home, repo, claude_line("## Design\n\nnew claude", repo), name="s2.jsonl", age=2)
    found = target(repo / "src", from_transcript=True)
    assert found.text == "## Design\n\nnew claude" and found.wrote == "anthropic"
    assert found.why.startswith("the last message in s2.jsonl, a transcript of Claude Code: it has the heading")


def test_a_message_in_several_lines_is_put_together(repo: Path, own_home: Path) -> None:
    # J1
    call = {"type": "assistant", "cwd": str(repo), "message": {"id": "m2", "content": [{"type": "tool_use"}]}}
    claude(
        own_home,
        repo,
        claude_line("earlier", repo, "m1"),
        user_line(repo),
        claude_line("part one", repo, "m2"),
        claude_line("part two", repo, "m2"),
        call,
        user_line(repo),
        claude_line("a side chain", repo, "m3", isSidechain=True),
        claude_line("API Error: 529", repo, "m4", isApiErrorMessage=True),
        {"type": "summary", "summary": "assistant"},
    )
    assert last_said(repo).text == "part one\n\npart two"


@pytest.mark.parametrize(
    "tail", ['{"type":"assistant","message":{"content":[{"type":"te', "[]\n", "\n\n", "\0\0\0", "[" * 9]
)
def test_a_torn_last_line_is_passed_over(repo: Path, own_home: Path, tail: str) -> None:
    # J1
    file = claude(own_home, repo, claude_line("whole", repo), tail=tail)
    assert last_said(repo).text == "whole"
    file.unlink()
    codex(own_home, repo, "whole too", tail=tail)
    assert last_said(repo).text == "whole too"


def test_a_huge_transcript_is_read_from_its_end(repo: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # J1
    size = 4 * BLOCK
    long = "x" * (BLOCK + 17) + "\nend"
    file = claude(
        own_home, repo, claude_line("first", repo), claude_line("y" * size, repo, "m2"), claude_line(long, repo)
    )
    assert last_said(repo).text == long
    file.write_bytes(file.read_bytes() + b"z" * size)  # torn, and longer than several blocks
    assert last_said(repo).text == long
    monkeypatch.setattr("rebut.workspace.targets.transcripts.LOOK_BACK", size)
    assert "there is no transcript of" in refused(repo, from_transcript=True)


def test_a_folder_whose_name_only_looks_the_same_is_not_this_workspace(repo: Path, own_home: Path) -> None:
    # J1
    other = repo.parent / "work-src"
    claude(own_home, repo, claude_line("of another", Path(str(repo).replace("/work", "-work"))))
    claude(own_home, other, claude_line("of a neighbour", other))
    assert "there is no transcript of" in refused(repo, from_transcript=True)
    claude(own_home, repo / "src", claude_line("from below", repo / "src"), age=3)
    assert last_said(repo).text == "from below"


def test_a_transcript_in_which_nobody_answered_is_told_so(repo: Path, own_home: Path) -> None:
    # J1
    claude(own_home, repo, user_line(repo))
    assert "no assistant has said anything yet in the 1 transcripts" in refused(repo, from_transcript=True)
    claude(own_home, repo, claude_line("older", repo), name="s0.jsonl", age=50)
    assert last_said(repo).text == "older"


def test_tools_that_keep_their_files_elsewhere_are_found(repo: Path, own_home: Path, tmp_path: Path) -> None:
    # J1
    claude(own_home, repo, claude_line("claude", repo), age=2)
    codex(own_home, repo, "codex", age=3)
    moved = tmp_path / "moved"
    (own_home / ".codex").rename(moved)
    env = {"HOME": str(own_home), "CODEX_HOME": str(moved), "CLAUDE_CONFIG_DIR": str(tmp_path / "none")}
    assert last_said(repo, env).text == "codex"
    assert last_said(repo, {"HOME": str(own_home)}).text == "claude"


def test_secrets_leave_a_message_as_they_leave_everything(repo: Path, own_home: Path) -> None:
    # C8
    claude(own_home, repo, claude_line("## Design\n\nthe password is hunter2", repo))
    assert "[secret:x:00000000]" in target(repo, from_transcript=True).text


@pytest.mark.parametrize("words", [("--context-file", "m.md"), ("--from-transcript",)], ids=" ".join)
def test_standard_input_comes_before_a_context_file_and_a_transcript(
    repo: Path, own_home: Path, words: tuple[str, ...]
) -> None:  # J1
    (repo / "m.md").write_text("# Design\n\nof the file\n")
    claude(own_home, repo, claude_line("# Design\n\nof the transcript", repo))
    seats = crosses.seats(repo.parent / "seats", {"r1/critique@critic": crosses.proposal()})
    named = ("--critic", seats["critic"], "--judge", seats["judge"], "--state-dir", str(repo.parent / "state"))
    done = piped("cross", *words, *named, cwd=repo, feed="# Design\n\nof the pipe\n")
    assert done.returncode == 0, done.stdout + done.stderr
    [folder] = (repo.parent / "state").iterdir()
    assert "of the pipe" in (folder / "artifact.md").read_text()
    told = " ".join((done.stdout + done.stderr).split())
    assert f"{' '.join(words)} is not used, since standard input comes first" in told
    empty = piped("cross", *words, *named, "--again", cwd=repo)
    assert empty.returncode == 0, empty.stdout + empty.stderr
    [second] = {*(repo.parent / "state").iterdir()} - {folder}
    assert "of the pipe" not in (second / "artifact.md").read_text()
