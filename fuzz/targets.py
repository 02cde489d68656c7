"""What is fuzzed: one function for each parser, the errors that it may raise, and texts to begin with."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rebut.backends.http.sse import Decoder
from rebut.core import citation_syntax
from rebut.core.errors import ConfigError, RecordError
from rebut.core.redaction import Redactor
from rebut.engine.parse import UnreadableReply, parse
from rebut.protocols.cross.forms import CodeCritique, Judgement
from rebut.protocols.duel.forms import Challenge
from rebut.record import journal, sessions
from rebut.setup import config_files
from rebut.workspace import diff

CORPUS = Path(__file__).parent / "corpus"
"""Inputs that once broke a parser, one folder for each target."""


@dataclass(frozen=True)
class Target:
    """A parser. `run` raises one of `allowed`, or nothing."""

    name: str
    run: Callable[[bytes], object]
    allowed: tuple[type[Exception], ...]
    seeds: tuple[bytes, ...]
    inputs: int
    """As many as all targets together try in about a minute: so many, always the same ones, are tried in CI."""

    @property
    def corpus(self) -> list[bytes]:
        kept = sorted((CORPUS / self.name).glob("*")) if (CORPUS / self.name).is_dir() else []
        return [*self.seeds, *(path.read_bytes() for path in kept)]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _replies(data: bytes) -> None:
    for form in (Challenge, CodeCritique, Judgement):
        try:
            parse(_text(data), form)
        except UnreadableReply:
            continue


def _sse(data: bytes) -> None:
    """The same frames must come out, however the bytes are cut."""
    whole, pieces = Decoder(), Decoder()
    expected = whole.feed(data)
    found = [frame for n in range(0, len(data), 7) for frame in pieces.feed(data[n : n + 7])]
    assert found == expected, "frames depend on how the bytes arrive"


def _toml(data: bytes) -> None:
    config_files.repository_file(config_files.parse(data, "rebut.toml"))


def _diffs(data: bytes) -> None:
    text = _text(data)
    if diff.is_diff(text):
        list(diff.find_sections(text))
    diff.touched(text)
    diff.created(text)
    diff.both_sides(text)
    diff.line_counts(text)
    for section in diff.sections(text):
        diff.head_and_hunks(section)
        diff.names(section)


def _citations(data: bytes) -> None:
    for found in citation_syntax.find_citations(_text(data)):
        citation_syntax.understand(found.citation.place)


def _journals(data: bytes) -> None:
    folder = Path(tempfile.mkdtemp(prefix="rebut-fuzz-"))
    try:
        (folder / journal.NAME).write_bytes(data)
        sessions.first_event(folder)
        sessions.load(folder)
    finally:
        shutil.rmtree(folder)


def _secrets(data: bytes) -> None:
    redactor = Redactor(b"key")
    once = redactor.redact(_text(data))
    assert redactor.redact(once) == once, "a text without secrets is changed"


CRITIQUE = {"findings": [{"text": "x", "severity": "P1", "category": "other", "evidence": []}], "agrees": False}
DIFF = b"diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 2\n b = 1\n"
OPENED = {"seq": 1, "prev": "", "at": "2026-01-01T00:00:00.000+00:00", "event": "opened"}
TARGETS = (
    Target(
        "replies",
        _replies,
        (),
        (
            json.dumps(CRITIQUE).encode(),
            b"Sure:\n```json\n" + json.dumps(CRITIQUE, indent=1).encode() + b"\n```\nDone.",
            b"<think>{} no</think>" + json.dumps(CRITIQUE).encode(),
            b'{"agrees": true, "agrees": false} // {"a": [[[[',
        ),
        8_000,
    ),
    Target(
        "sse",
        _sse,
        (ValueError,),
        (b'data: {"a": 1}\n\ndata: [DONE]\n\n', b"event: x\r\ndata: 1\r\ndata: 2\r\n\r\n:c\n"),
        2_000,
    ),
    Target(
        "toml",
        _toml,
        (ConfigError,),
        (
            b'[limits]\nusd = 1.0\n[egress]\nnever = ["*.x"]\n',
            b'[gate]\nfail_on = "P1"\n[providers.x]\nbase_url = "y"\n',
        ),
        12_000,
    ),
    Target(
        "diffs", _diffs, (), (DIFF, b"text\n```diff\n" + DIFF + b"```\n", b"--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n"), 2_000
    ),
    Target(
        "citations",
        _citations,
        (),
        (b'See `src/app.py:10-12` "x = 1", commit abcdef1 and section 3.\n', b"[a](b/c.py#L1-L9) docs/x.md line 4\n"),
        800,
    ),
    Target("journals", _journals, (RecordError,), (json.dumps(OPENED).encode() + b"\n", b"\n", b"{}\n{}\n"), 6_000),
    Target(
        "secrets",
        _secrets,
        (),
        (
            b'token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"\n',
            b"curl -u a:b https://x:y@host/ -H 'Authorization: z'",
        ),
        1_000,
    ),
)
