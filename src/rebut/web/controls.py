"""What the page of a running debate can do: see answers while they are written, steer, and answer for a person.

The debate's process has one `Controls`; every open page watches it. Nothing is recorded here: the engine records a
decision before it takes effect, and an answer like that of any participant.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

from rebut.core.ballot import Ballot, Unfilled, answered
from rebut.core.errors import WaitingForPerson
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row
from rebut.core.types import Reply, Request

MOST_WAITING = 2_000
"""The most messages that wait for a page that does not read them; the oldest are dropped first."""
LONGEST = 400
"""How many of the last characters of a text being written the page gets."""


class DebateControl(Protocol):
    """The caller's control of the debate. Each method returns why it refuses; empty if it did it."""

    def settle(self) -> str: ...
    def more(self) -> str: ...
    def skip(self, key: str) -> str: ...
    def say(self, text: str) -> str: ...


class WrittenPoint(Protocol):
    """One point of an answer that is still being written."""

    @property
    def text(self) -> str: ...
    @property
    def tag(self) -> str: ...
    @property
    def about(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def mark(self) -> str: ...


class WrittenAnswer(Protocol):
    """An answer that is still being written."""

    @property
    def points(self) -> Sequence[WrittenPoint]: ...
    def words(self) -> str: ...


class Watch:
    """The messages that one open page has not got yet."""

    def __init__(self, answers: Mapping[str, WrittenAnswer], close: Callable[[Watch], None]) -> None:
        self._answers, self._close = answers, close
        self._waiting: list[tuple[str, Json]] = []
        self._sent: dict[str, Json] = {}

    def put(self, name: str, value: Json) -> None:
        self._waiting.append((name, value))
        del self._waiting[:-MOST_WAITING]

    def taken(self) -> list[tuple[str, Json]]:
        """The messages since the last call, and the answers being written that have changed since then."""
        out, self._waiting = self._waiting, []
        for key in [key for key in self._sent if key not in self._answers]:
            del self._sent[key]
            out.append(("live", {"key": key, "ended": True}))
        for key, answer in self._answers.items():
            points: list[Json] = [
                {"text": p.text, "tag": p.tag, "about": p.about, "place": p.place, "mark": p.mark}
                for p in answer.points
            ]
            row: dict[str, Json] = {"key": key, "points": points, "words": answer.words()[-LONGEST:]}
            if self._sent.get(key) != row:
                self._sent[key] = row
                out.append(("live", row))
        return out

    def close(self) -> None:
        self._close(self)


@frozen
class OpenQuestion:
    """A question that waits for a person."""

    request: Request
    form: dict[str, Json]
    reply: asyncio.Future[str]


class Controls:
    """The controls of one running debate."""

    def __init__(self, steering: DebateControl) -> None:
        self._steering = steering
        self._watches: list[Watch] = []
        self._answers: dict[str, WrittenAnswer] = {}
        self._turns: dict[str, OpenQuestion] = {}
        self._closed = ""

    def close(self, why: str) -> None:
        """Refuse all questions to persons, since there is no page; `why` says why not."""
        self._closed = why
        for turn in self._turns.values():
            if not turn.reply.done():
                turn.reply.set_exception(_no_page(why))

    def watch(self) -> Watch:
        """A watch for a page that was just opened; it begins with the questions that are open."""
        made = Watch(self._answers, self._watches.remove)
        for turn in self._turns.values():
            made.put("turn", turn.form)
        self._watches.append(made)
        return made

    @property
    def asked(self) -> list[Json]:
        """The keys of the questions that are open."""
        return [*self._turns]

    def _tell(self, name: str, value: Json) -> None:
        for one in self._watches:
            one.put(name, value)

    # answers while they are written

    def heard(self, key: str, answer: WrittenAnswer) -> None:
        """A call began, or more of its answer came."""
        self._answers[key] = answer

    def ended(self, key: str) -> None:
        """A call ended, and its result is on record."""
        self._answers.pop(key, None)

    def waits(self, key: str, reason: str) -> None:
        self._tell("waits", {"key": key, "reason": reason})

    # steering

    def steer(self, asked: Mapping[str, Json]) -> str:
        """Do what the page asks for; returns why it is refused, or ""."""
        what, key, text = (str(asked.get(name) or "") for name in ("do", "key", "text"))
        if what == "settle":
            return self._steering.settle()
        if what == "more":
            return self._steering.more()
        if what == "skip":
            return self._steering.skip(key)
        if what == "say":
            return self._steering.say(text)
        return f"there is no control called {what[:40]!r}"

    # a person in the browser

    async def complete(self, request: Request) -> Reply:
        """Ask a person: the page shows the question as a form, and the debate waits for what is sent."""
        if self._closed:
            raise _no_page(self._closed)
        turn = OpenQuestion(request, _form(request), asyncio.get_running_loop().create_future())
        self._turns[request.key] = turn
        self._tell("turn", turn.form)
        try:
            text = await turn.reply
        finally:
            del self._turns[request.key]
            self._tell("turn", {"key": request.key, "over": True})
        return Reply(text, model="human", family="human")

    def answer(self, sent: Mapping[str, Json]) -> str:
        """Pass on what a person filled in; returns what is wrong with it, or ""."""
        turn = self._turns.get(str(sent.get("key")))
        if turn is None or turn.reply.done():
            return "this question is not open any more"
        ballot = turn.request.material.for_person()
        if "text" in sent and not (ballot and turn.request.schema):
            text = str(sent["text"])
        elif ballot and turn.request.schema:
            try:
                text = json.dumps(answered(ballot, cast(Mapping[str, Any], sent)), ensure_ascii=False)
            except Unfilled as missing:
                return str(missing)
        else:
            text = json.dumps(sent.get("value"), ensure_ascii=False)
        turn.reply.set_result(text)
        return ""


def _no_page(why: str) -> WaitingForPerson:
    return WaitingForPerson(f"a person cannot be asked in the browser: {why}", "Resume without --view, in a terminal.")


def _form(request: Request) -> dict[str, Json]:
    """A question as the page shows it: a ballot if the protocol gives one, else its schema."""
    ballot: Ballot | None = request.material.for_person()
    row: dict[str, Json] = {"key": request.key, "seat": request.participant.seat, "again": bool(request.followup)}
    if ballot and request.schema is not None:
        return row | {"ballot": as_row(ballot), "question": request.followup}
    row["question"] = request.followup or request.prompt
    return row | ({"schema": cast(Json, dict(request.schema))} if request.schema is not None else {})
