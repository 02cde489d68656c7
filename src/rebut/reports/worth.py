"""Whether a debate was worth it: the first answers, what the debate changed, and what both cost."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.markdown import inline
from rebut.core.text import NARROW, counted, cut, wrapped
from rebut.domain.amounts import duration, money, size
from rebut.domain.worth import Worth
from rebut.record.record import Spent

LABEL = "worth it?"
MOST_LINES = 4
INDENT = 16
WIDE = 60
"""Columns that are enough for the cost with its tokens."""
ENDLESS = 1_000_000


def worth_rows(worth: Worth | None, width: int) -> list[str]:
    """One to four rows: the first answers, what the debate changed, and what it cost."""
    if worth is None:
        return []
    indent = INDENT if width >= NARROW else 4
    space = max(20, width - 2 - indent)
    parts, said, left = _parts(worth, space), list[str](), MOST_LINES
    if width < NARROW:
        parts[0] = f"{LABEL} {parts[0]}"
    for n, text in reversed(list(enumerate(parts))):  # the last parts matter most: the cost, then the change
        most = left if n == 0 else min(2, left - n)
        lines = _within(text, space, most)
        left -= len(lines)
        said = [*lines, *said]
    if width < NARROW:
        return [f"{'    ' if n else '  '}{line}" for n, line in enumerate(said)]
    head = f"  {LABEL:<{indent - 2}}"
    return [f"{head if n == 0 else ' ' * indent}{line}" for n, line in enumerate(said)]


def markdown(worth: Worth) -> list[str]:
    """All parts in full, as a section of Markdown."""
    return ["## Was it worth it", "", *(f"- {inline(text)}" for text in sentences(worth)), ""]


def sentences(worth: Worth) -> list[str]:
    """All parts in full, as plain text."""
    return _parts(worth, ENDLESS)


def _parts(worth: Worth, space: int) -> list[str]:
    if not worth.first:
        return [f"unknown: {worth.caveat}"]
    first = f"at first: {worth.first}"
    if not worth.debate.calls and not worth.raised and not worth.changed:
        return [first, "no debate was needed, so none was paid for"]
    raised = _raised(worth)
    if worth.nothing:
        more = f"{_cost(worth.debate, space)} more than {_first_answers(worth)} alone"
        return [first, f"changed nothing{_caveat(worth)}: {f'{raised}; ' if worth.raised else ''}{more}"]
    return [first, f"changed{_caveat(worth)}: {'; '.join([*worth.changed, raised])}", _both_costs(worth, space)]


def _caveat(worth: Worth) -> str:
    return f" ({worth.caveat})" if worth.caveat else ""


def _raised(worth: Worth) -> str:
    fates = ", ".join(f"{count} {name}" for name, count in worth.points)
    return counted(worth.raised, worth.noun) + (f", {fates}" if fates else "")


def _both_costs(worth: Worth, space: int) -> str:
    """The cost of the debate and of the first answers, in the longest form that fits on a line."""
    reused = bool(worth.reused and not worth.alone.calls)
    for part in (_full_cost, _short_cost):
        said = f"cost: {part(worth.debate)}; at first {'nothing: reused' if reused else part(worth.alone)}"
        if len(said) <= space:
            return said
    return f"cost: {_short_cost(worth.debate)} more"


def _cost(part: Spent, space: int) -> str:
    return _full_cost(part) if space >= WIDE else _short_cost(part)


def _full_cost(part: Spent) -> str:
    return f"{counted(part.calls, 'call')}, {size(part.tokens)} tokens, {money(part.usd)}, {duration(part.seconds)}"


def _short_cost(part: Spent) -> str:
    return f"{counted(part.calls, 'call')}, {money(part.usd)}, {duration(part.seconds)}"


def _first_answers(worth: Worth) -> str:
    return "the first answer" if len(worth.keys) == 1 and not worth.keys[0].endswith("*") else "the first answers"


def _within(text: str, space: int, most: int) -> Sequence[str]:
    """A text in at most `most` lines; an ellipsis shows that it is cut."""
    lines = wrapped(text, space, break_words=True)
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], cut(" ".join(lines[most - 1 :]), space)]
