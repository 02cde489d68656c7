"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rebut.cli.installed_files import install
from rebut.core import files
from rebut.core.errors import UsageError


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_the_new_text_takes_the_place_of_the_old_and_nothing_is_left_beside_it(tmp_path: Path) -> None:  # C13
    file = tmp_path / "list"
    for text in (b"old and longer", b"new"):
        files.write(file, text)
    assert file.read_bytes() == b"new" and names(tmp_path) == ["list"]


def test_what_is_private_is_so_whoever_else_may_read_the_folder(tmp_path: Path) -> None:  # C16
    (tmp_path / "list").write_bytes(b"open to all")
    files.write(tmp_path / "list", b"mine", 0o600)
    assert (tmp_path / "list").stat().st_mode & 0o777 == 0o600


def test_where_it_cannot_be_put_that_is_told_and_no_draft_is_left(tmp_path: Path) -> None:  # C13
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="directory"):
        files.write(tmp_path / "taken", b"text")
    assert names(tmp_path) == ["taken"]


def test_laying_leaves_no_draft_where_its_list_cannot_be_written(tmp_path: Path) -> None:  # C13
    (tmp_path / ".rebut-laid.json").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        install({"one.md": "text"}, tmp_path)
    assert names(tmp_path) == [".rebut-laid.json", "one.md"]


def test_a_file_that_is_there_already_stays_unless_it_may_be_replaced(tmp_path: Path) -> None:  # C13
    file = tmp_path / "plan.md"
    assert files.write(file, b"first", replace=False)
    assert not files.write(file, b"second", replace=False)
    assert file.read_bytes() == b"first" and names(tmp_path) == ["plan.md"]


def test_what_is_refused_keeps_no_descriptor_open(tmp_path: Path) -> None:  # C17
    os.mkfifo(tmp_path / "pipe")
    next_one = os.dup(0)
    os.close(next_one)
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match=r"directory$|file$"):
            files.read(path)
    assert os.dup(0) == next_one
    os.close(next_one)


def test_a_private_folder_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    for _ in range(2):
        files.private_folder(tmp_path / "a/b")
        assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700
        (tmp_path / "a/b").rmdir()


def test_a_table_of_the_package_is_read_once_in_a_process() -> None:
    assert files.shipped("runners.toml") is files.shipped("runners.toml")
