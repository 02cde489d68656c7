"""A debate that stopped because models did not answer: the cause once, and what the user can do about it."""

from __future__ import annotations

from rebut.core.frozen import frozen
from rebut.core.lazy_pattern import LazyPattern
from rebut.record.events import Failed
from rebut.record.record import Record

FIXABLE = ("auth", "missing tool", "rate limit")
"""Failures that asking again does not fix, but the user can."""
PASSING = ("crashed", "timeout")
"""Failures that may be over when the debate is resumed."""
LATER = "Try again later, or name another model: `rebut models` lists what is here."
CODES = LazyPattern(r"(?: · [\w.-]+)+(?=;|$)")
"""What a provider adds to its message for programs."""


DOCTOR = "`rebut doctor` tests each of them."


@frozen
class Unanswered:
    """Why models did not answer, and what helps."""

    why: str
    helps: str
    then: str
    """The command that continues; {} stands for the session."""


def unanswered(record: Record) -> Unanswered | None:
    """What stopped the debate and what helps; None if some of the last failures have another cause."""
    failed = record.last_failures
    if not failed or not all(one.failure in PASSING or (one.failure in FIXABLE and one.hint) for one in failed):
        return None
    whys: dict[str, list[str]] = {}
    for one in failed:
        spec = _spec(record, one)
        names = whys.setdefault(CODES.sub("", one.message.removeprefix(f"{spec}: ")), [])
        if (name := f"{spec} ({one.seat})") not in names:
            names.append(name)
    (why, who), *others = whys.items()
    more = f"; {sum(len(names) for _, names in others)} more did not answer either" if others else ""
    gone = {one.seat: _spec(record, one) for one in failed if one.failure == "missing tool"}
    same = [str(seat["seat"]) for seat in record.opened.seats if seat["spec"] in gone.values()]
    other = " ".join(f"--seat {seat}=SPEC" for seat in dict.fromkeys([*gone, *same]))
    return Unanswered(
        f"{' and '.join(who)} did not answer: {why}{more}",
        " ".join(dict.fromkeys([*(one.hint or LATER for one in failed), *([DOCTOR] if others else [])])),
        f"rebut fork {{}} {other}" if other else "rebut resume {}",
    )


def _spec(record: Record, failed: Failed) -> str:
    asked = record.calls[failed.key].asked if failed.key in record.calls else {}
    return asked[max(asked)].spec if asked else failed.seat
