"""Many texts without their secrets, at the price of few calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rebut.workspace.snapshot import Redact

TOGETHER = 300_000
MARK = "\ue0f7\ue0f8"
BETWEEN = f"\n{MARK}\n"


def redact_all(texts: Iterable[str], redact: Redact) -> dict[str, str]:
    """Each text → what may be shown of it.

    Looking for secrets has a price per call, so texts go in together, a line between them that no rule takes for
    anything. Where that line does not come back as it went in, and where a text may hold a key that takes many lines,
    each is looked at alone: what one file says must not decide about another.
    """
    done: dict[str, str] = {}
    for group in _groups(dict.fromkeys(texts)):
        parts = redact(BETWEEN.join(group)).split(BETWEEN) if len(group) > 1 else []
        if len(parts) != len(group):
            parts = [redact(text) for text in group]
        done.update(zip(group, parts, strict=True))
    return done


def _groups(texts: Iterable[str]) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for text in texts:
        if "----" in text or MARK in text or len(text) > TOGETHER:
            yield [text]
            continue
        if group and size + len(text) > TOGETHER:
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text)
    if group:
        yield group
