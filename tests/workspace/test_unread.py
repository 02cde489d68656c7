"""Files of a target that were not read: how a message names them, and how a review counts them."""

from __future__ import annotations

import pytest

from rebut.core.types import Changed
from rebut.domain.outcome import Outcome
from rebut.reports.review import files_read
from rebut.workspace.targets.target import Target
from rebut.workspace.targets.unread import MOST_NAMED, UnreadFiles, unread_files


@pytest.mark.parametrize("count", [1, MOST_NAMED + 1])
def test_a_message_names_every_file_while_they_are_few(count: int) -> None:
    notes = unread_files([f"f{n}.py: binary" for n in range(count)]).notes
    assert notes == [f"not read: f{n}.py: binary" for n in range(count)]


def test_a_message_about_very_many_files_names_the_first_and_counts_the_others() -> None:  # C17
    files = unread_files([f"f{n}.py: too large" for n in range(195_000)])
    assert len(files.doubtful) == 195_000
    assert files.notes[0] == "not read: f0.py: too large"
    assert files.notes[-1] == f"not read: {195_000 - MOST_NAMED:,} more files" and len(files.notes) == MOST_NAMED + 1
    assert files.sentence.endswith(f"; not read: {195_000 - MOST_NAMED:,} more files")
    assert files.caveat == "195000 FILES NOT READ"


def test_accepted_files_are_few_in_a_message_too() -> None:
    notes = UnreadFiles(accepted=tuple(f"gen/{n}.py: too large" for n in range(1_000))).notes
    assert len(notes) == MOST_NAMED + 1 and notes[-1].endswith(f": {1_000 - MOST_NAMED} more files")


def test_a_file_with_a_colon_in_its_name_or_its_reason_is_counted_once() -> None:
    changes = tuple(Changed(path, None, "x\n") for path in ("a: b.py", "c.py", "a", "d"))
    unread = ("a: b.py: no analyser is for such a file", "c.py: a link: outside", "e.bin: binary", "dd: binary")
    outcome = Outcome(kind="review", heading="", unread=unread)
    read, every = files_read(outcome, Target("code", "high", "", changes=changes))
    assert (read, every) == (1, 5)  # also "a", which may be what the first line means: to count too little is safe
