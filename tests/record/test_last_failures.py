"""Which failures a debate stopped for, told by its record."""

from __future__ import annotations

from rebut.record.events import Answered, Event, Failed, Line, Resumed
from rebut.record.record import Record, seat_of


def failed(key: str, failure: str = "auth", *, reopened: bool = False, attempt: int = 0) -> Failed:
    return Failed(key=key, seat=seat_of(key), fp="", failure=failure, reopened=reopened, attempt=attempt)


def answered(key: str) -> Answered:
    return Answered(key=key, seat=seat_of(key), fp="", value="")


def last(*events: Event) -> list[tuple[str, str]]:
    lines = [Line(n, "2026-01-01T00:00:00.000+00:00", event) for n, event in enumerate(events, 1)]
    return [(one.seat, one.failure) for one in Record(lines).last_failures]


def test_a_debate_stopped_for_the_failures_since_its_last_answer() -> None:  # C5
    assert last() == []
    assert last(failed("a@x"), answered("b@y")) == []
    assert last(failed("a@x"), answered("b@y"), failed("c@z")) == [("z", "auth")]
    assert last(failed("a@x"), failed("b@y")) == [("x", "auth"), ("y", "auth")], "in the order in which they failed"


def test_a_failure_counts_once_and_also_if_resume_asks_again() -> None:  # C5
    assert last(failed("a@x", reopened=True)) == [("x", "auth")], "the only seat that was asked"
    assert last(failed("a@x"), failed("a@x", reopened=True)) == [("x", "auth")], "one of several, too few of which came"
    assert last(failed("a@x", reopened=True), Resumed(), failed("a@x", "timeout", reopened=True)) == [("x", "timeout")]


def test_a_call_that_a_deadline_cut_off_has_not_failed() -> None:  # C5
    cut = failed("a@x", "timeout", reopened=True, attempt=1)
    assert last(cut) == []
    assert last(failed("a@x"), Resumed(), cut) == []
    assert last(cut, Resumed(), failed("a@x"), failed("b@y")) == [("x", "auth"), ("y", "auth")]
