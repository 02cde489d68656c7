"""The account of a debate, whether it was worth it, as text: a few lines for a terminal, a section of Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rebut.core.text import cut, squeeze
from rebut.domain.amounts import counted, duration, money, size
from rebut.domain.worth import Worth
from rebut.record.record import Spent

LABEL = "worth it?"
MOST_LINES = 4
INDENT, NARROW = 16, 70
WIDE = 60
ENDLESS = 1_000_000


def rows(worth: Worth | None, width: int) -> list[str]:
    """One to four lines: what the first answers said, what changed, and what that cost."""
    if worth is None:
        return []
    indent = INDENT if width >= NARROW else 4
    room = max(20, width - 2 - indent)
    parts, said, left = _parts(worth, room), list[str](), MOST_LINES
    if width < NARROW:
        parts[0] = f"{LABEL} {parts[0]}"
    for n, text in reversed(list(enumerate(parts))):  # the last matters most: what it cost, then what it changed
        most = left if n == 0 else min(2, left - n)
        lines = _within(text, room, most)
        left -= len(lines)
        said = [*lines, *said]
    if width < NARROW:
        return [f"{'    ' if n else '  '}{line}" for n, line in enumerate(said)]
    head = f"  {LABEL:<{indent - 2}}"
    return [f"{head if n == 0 else ' ' * indent}{line}" for n, line in enumerate(said)]


def markdown(worth: Worth) -> list[str]:
    """The same in full."""
    return ["## Was it worth it", "", *(f"- {squeeze(text)}" for text in sentences(worth)), ""]


def sentences(worth: Worth) -> list[str]:
    """The three parts, whole."""
    return _parts(worth, ENDLESS)


def _parts(worth: Worth, room: int) -> list[str]:
    if not worth.first:
        return [f"cannot be told: {worth.caveat}"]
    first = f"at first: {worth.first}"
    if not worth.debate.calls and not worth.raised and not worth.changed:
        return [first, "no debate was needed, and none was paid for"]
    raised = _raised(worth)
    if worth.nothing:
        more = f"{_cost(worth.debate, room)} more than {_the_first(worth)} alone"
        return [first, f"changed nothing{_caveat(worth)}: {f'{raised}; ' if worth.raised else ''}{more}"]
    return [first, f"changed{_caveat(worth)}: {'; '.join([*worth.changed, raised])}", _beside(worth, room)]


def _caveat(worth: Worth) -> str:
    return f" ({worth.caveat})" if worth.caveat else ""


def _raised(worth: Worth) -> str:
    fates = ", ".join(f"{count} {name}" for name, count in worth.points)
    return f"{counted(worth.raised, worth.noun)}" + (f", {fates}" if fates else "")


def _beside(worth: Worth, room: int) -> str:
    """What the debate took beside the first answers, in as many words as a line has room for."""
    reused = bool(worth.reused and not worth.alone.calls)
    for part in (_whole, _short):
        said = f"cost: {part(worth.debate)}; at first {'nothing: reused' if reused else part(worth.alone)}"
        if len(said) <= room:
            return said
    return f"cost: {_short(worth.debate)} more"


def _cost(part: Spent, room: int) -> str:
    return _whole(part) if room >= WIDE else _short(part)


def _whole(part: Spent) -> str:
    return f"{counted(part.calls, 'call')}, {size(part.tokens)} tokens, {money(part.usd)}, {duration(part.seconds)}"


def _short(part: Spent) -> str:
    return f"{counted(part.calls, 'call')}, {money(part.usd)}, {duration(part.seconds)}"


def _the_first(worth: Worth) -> str:
    return "the first answer" if len(worth.keys) == 1 and not worth.keys[0].endswith("*") else "the first answers"


def _within(text: str, room: int, most: int) -> Sequence[str]:
    """A text in at most so many lines; what is cut off is told by its last sign."""
    lines = textwrap.wrap(text, room, break_long_words=True) or [""]
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], cut(" ".join(lines[most - 1 :]), room)]
