"""Where it runs: folders that are gone, full disks, closed streams, narrow terminals; through the console script."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from console import REBUT, at_a_terminal, piped

from tests import duels, voices


@pytest.fixture
def setup(tmp_path: Path) -> Path:
    (tmp_path / "p.md").write_text("# P\n\nDo it.\n")
    return tmp_path


@pytest.mark.parametrize("line", ["", "list", "ask x? --with human,human"])
def test_a_folder_that_is_gone_is_said_to_be_gone(tmp_path: Path, line: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f'cd "$1" && rmdir "$1" && exec "$0" {line}'
    done = subprocess.run(
        ["sh", "-c", command, REBUT, str(gone)], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.startswith("rebut: the current folder no longer exists")


@pytest.mark.parametrize("line", ["list", "--version", "completion zsh", "show --help"])
def test_a_full_disk_is_told_in_a_line(setup: Path, line: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [REBUT, *line.split()], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True, cwd=setup
        )
    assert done.returncode == 2
    assert done.stderr == "rebut: the output could not be written: No space left on device\n"


@pytest.mark.parametrize("flag", ["--quiet", "--json"])
def test_a_debate_whose_ending_cannot_be_written_does_not_say_that_nothing_was_called(
    setup: Path, workspace: Path, tmp_path: Path, flag: str
) -> None:
    # C17: 2 would
    seats = [word for role, spec in duels.seats(tmp_path).items() for word in (f"--{role}", spec)]
    with Path("/dev/full").open("w") as full:
        command = [REBUT, "duel", "Redis?", *seats, flag]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True)
    id = voices.folder().name
    assert done.returncode == 3 and voices.record(id).closed
    assert "rebut: the output could not be written: No space left on device" in done.stderr
    assert f"rebut show {id}" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("line", ["list", "--help", "check p.md"])
@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_breaks_nothing(setup: Path, line: str, stream: str) -> None:
    done = subprocess.run(["sh", "-c", f'exec "$0" {line} {stream}', REBUT], capture_output=True, text=True, cwd=setup)
    assert done.returncode == 0 and "Traceback" not in done.stderr


@pytest.mark.parametrize("line", ["--help", "models", "ask --help", "config completion bash"])
def test_a_reader_that_leaves_early_is_no_error(setup: Path, line: str) -> None:
    shell = f'"$0" {line} | head -1; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", shell, REBUT], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=setup
    )
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("line", ["", "--help", "doctor --offline", "dule"])
def test_a_terminal_without_unicode_gets_what_it_can_show(setup: Path, line: str) -> None:
    done = piped(*line.split(), env={"PYTHONIOENCODING": "ascii"}, cwd=setup)
    assert "Traceback" not in done.stderr and done.stdout.isascii() and (done.stdout or done.stderr)


# on a narrow terminal


@pytest.mark.parametrize("line", ["", "--help", "config", "models", "doctor --offline", "check notes.md", "list"])
def test_words_are_not_torn_at_the_edge(setup: Path, line: str) -> None:
    (setup / "notes.md").write_text('As `src/session.py:2` says "the time to live is an hour", it ends.\n')
    if line == "list":
        piped("duel", "Which of the two is it to be, after all?", "--proposer=human", "--challenger=caller", cwd=setup)
    seen = at_a_terminal(*line.split(), columns=50, cwd=setup)
    for row in seen.text.splitlines():
        assert len(row) <= 50 or " " not in row.strip(), row


def test_a_size_has_a_space_before_its_unit(setup: Path) -> None:
    (setup / "c.md").write_text("x" * 1400)
    done = piped("duel", "x", "--proposer=human", "--challenger=caller", "--context", "c.md", "--dry-run", cwd=setup)
    assert "1 file, 1.4 kB" in done.stdout
