"""False hits on text that nobody invented for the purpose: the running interpreter's own prose and source."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from rebut.core.redaction import PLACEHOLDER, Redactor

STANDARD = Path(sysconfig.get_path("stdlib"))
MEGABYTE = 1_000_000
# Literal passwords in examples are hits too, and right ones; so the bound for source is on all hits, true or false.


def sources() -> Iterator[str]:
    """The standard library without its tests, and without what else is installed beside it."""
    for path in sorted(STANDARD.rglob("*.py")):
        inside = path.relative_to(STANDARD).parts
        if not {"site-packages", "dist-packages", "test", "tests", "idle_test"} & set(inside):
            yield path.read_text(encoding="utf-8", errors="replace")


def docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def upto(size: int, texts: Iterator[str]) -> list[str]:
    taken: list[str] = []
    while size > 0 and (text := next(texts, None)) is not None:
        taken.append(text)
        size -= len(text)
    return taken


def hits(texts: list[str]) -> list[str]:
    """What was removed, each with the text before it."""
    found = []
    for text in texts:
        done = Redactor(b"a session key of thirty-two byte").redact(text)
        found += [done[max(0, m.start() - 60) : m.end()] for m in PLACEHOLDER.finditer(done) if done != text]
    return found


def test_prose_is_left_alone() -> None:  # C8
    from pydoc_data.topics import topics

    texts = upto(MEGABYTE * 2 // 3, (d for source in sources() if '"""' in source for d in docstrings(source)))
    prose = [*topics.values(), *texts]
    assert sum(map(len, prose)) > MEGABYTE  # or the bound below would say little
    found = hits(["\n".join(prose)])
    assert len(found) <= sum(map(len, prose)) / MEGABYTE, found


def test_source_is_left_alone() -> None:  # C8
    texts = upto(4 * MEGABYTE, sources())
    found = hits(texts)
    assert len(found) <= sum(map(len, texts)) / MEGABYTE, found
