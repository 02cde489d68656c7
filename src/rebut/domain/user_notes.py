"""Notes that the user adds to a running debate, and which questions include them, from the record alone.

A note is a fact that names the stages of the debate that had begun when it came. A stage is a round, another scope, or
a step outside of any scope. A note is part of the questions of later stages and never of earlier ones, so a resumed or
replayed debate asks the same questions again.
"""

from __future__ import annotations

from collections.abc import Iterable

from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.domain.prompts import USER_NOTE, quote
from rebut.record.record import Record

FACT = "say."
"""The beginning of the keys of these facts: `say.1`, `say.2` …"""
LONGEST = 4000
MOST = 20


@frozen
class UserNote:
    """A note of the user."""

    number: int
    text: str
    begun: tuple[str, ...] = ()
    """The stages that had begun: their questions do not include the note."""

    def to_json(self) -> Json:
        return {"text": self.text, "begun": list(self.begun)}

    def is_for(self, key: str) -> bool:
        return stage(key) not in self.begun


def refused(text: str, known: int) -> str:
    """Why a note cannot be added to a debate that has `known` notes; empty if it can."""
    if not text.strip():
        return "the note is empty"
    if len(text) > LONGEST:
        return f"the note has {len(text):,} characters; at most {LONGEST:,} are taken"
    return f"the debate has {MOST} notes already" if known >= MOST else ""


def stage(key: str) -> str:
    """The round or other scope that a question belongs to; outside of any scope, its step."""
    scope, slash, _ = key.partition("/")
    return scope if slash else key.rpartition("@")[0]


def stages(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({stage(key) for key in keys}))


def notes_of(record: Record) -> list[UserNote]:
    """All notes, in the order in which they came."""
    out = list[UserNote]()
    while fact := record.facts.get(f"{FACT}{len(out) + 1}"):
        value = fact.value if isinstance(fact.value, dict) else {}
        begun = value.get("begun")
        named = tuple(map(str, begun)) if isinstance(begun, list) else ()
        out.append(UserNote(len(out) + 1, str(value.get("text", "")), named))
    return out


def heard(record: Record, key: str) -> list[UserNote]:
    """The notes that a question includes."""
    return [note for note in notes_of(record) if note.is_for(key)]


def unheard(record: Record) -> list[UserNote]:
    """The notes that came too late: no question includes them."""
    return [note for note in notes_of(record) if not any(map(note.is_for, record.calls))]


def with_notes(prompt: str, notes: Iterable[UserNote], fence_key: bytes) -> str:
    """A prompt with notes of the user added, each quoted."""
    quoted = [quote(fence_key, f"note {note.number} of the user", note.text) for note in notes]
    return "\n\n".join([prompt, USER_NOTE, *quoted]) if quoted else prompt
