"""Whose turn it is in a debate that waits for a person or its caller: a file beside the journal, for the next process.

The question itself is in no journal, since it is recorded with its answer. The file counts only while the journal is as
long as it was when the debate began to wait.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rebut.core import files
from rebut.core.errors import WaitingForCaller, WaitingForPerson
from rebut.core.frozen import frozen
from rebut.core.json_value import as_row
from rebut.record.record import Record

NAME = "turn.json"


@frozen
class WaitingTurn:
    """A question that waits for an answer from outside."""

    who: Literal["caller", "person"]
    message: str
    lines: int
    """Lines of the journal when the debate began to wait."""
    key: str = ""
    question: str = ""
    schema: Mapping[str, Any] | None = None


def keep(folder: Path, waits: WaitingForCaller | WaitingForPerson, record: Record) -> None:
    """Store what the debate waits for."""
    turn = WaitingTurn("person", waits.message, len(record.lines))
    if isinstance(waits, WaitingForCaller):
        turn = WaitingTurn("caller", waits.message, len(record.lines), waits.key, waits.question, waits.schema)
    files.write(folder / NAME, json.dumps(as_row(turn)).encode(errors="replace"), 0o600)


def whose_turn(folder: Path, record: Record) -> WaitingTurn | None:
    """What the debate waits for; None if it does not wait, or has continued since."""
    try:
        turn = WaitingTurn(**json.loads(files.read(folder / NAME)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return turn if turn.lines == len(record.lines) and not record.closed else None
