"""One call to a backend: its worst case is reserved and recorded before it starts, its result when it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from rebut.core.errors import ParticipantFailed
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import fingerprint, tokens, unescaped
from rebut.core.types import LEFT, NO_MATERIAL, Material, ModelSpec, Participant, Request, SentBack, ignore
from rebut.core.working_time import clock
from rebut.domain.answers import Check
from rebut.domain.limits import MAX_OUTPUT, flag
from rebut.engine.live_answer import listen
from rebut.engine.runtime import Connection, Runtime
from rebut.engine.steering import Cut, why_skipped
from rebut.record.events import Asked, Attempt, Fact, Failed
from rebut.record.record import Amount, Call

if TYPE_CHECKING:
    from rebut.domain.forms import Form

SCHEMA_TOKENS = 1500
"""Tokens that a form's JSON schema takes at most."""


@frozen(slots=False)
class Question:
    """One question to one seat."""

    key: str
    who: Participant
    prompt: str
    schema: type[Form] | None = None
    check: Check | None = None
    closing: bool = False
    max_output: int = MAX_OUTPUT
    material: Material = NO_MATERIAL
    refused: str = ""
    """Why the question must not be asked; empty if it may. If so, it fails at once, and the failure is recorded."""

    @property
    def schema_name(self) -> str:
        return f"{self.schema.__name__}/{self.schema.version}" if self.schema else ""

    @cached_property
    def fp(self) -> str:
        return fingerprint([self.who.fingerprint, self.prompt, self.schema_name])


@frozen
class Next:
    """A call to make."""

    why: str
    followup: str
    spec: ModelSpec
    sent_back: SentBack | None = None


def worst_case(q: Question, step: Next, connection: Connection) -> Amount:
    """The most that a call can take."""
    persona = tokens(q.who.persona) if q.who.persona else 0
    sent = persona + tokens(q.prompt) + tokens(step.followup) + (SCHEMA_TOKENS if q.schema else 0)
    back = q.max_output + connection.thinking
    return Amount(1, sent + back, connection.worst(sent, back))


async def call_once(
    runtime: Runtime, q: Question, call: Call, step: Next, connection: Connection, worst: Amount
) -> None:
    """Make one call. It is reserved and recorded before it starts, and its result is recorded, whatever it is."""
    if full := runtime.no_room():
        raise full
    number = call.next_attempt
    asked = Asked(
        key=q.key,
        seat=q.who.seat,
        fp=q.fp,
        attempt=number,
        why=step.why,
        spec=str(step.spec),
        prompt=q.prompt if number == 1 else "",
        followup=step.followup,
        schema=q.schema_name,
        tokens=0 if connection.patient else worst.tokens,
        usd=worst.usd,
        patient=connection.patient,
    )
    if not connection.patient:  # a question to a person is recorded with its answer: it is never in doubt
        await runtime.append(asked)
    on_wait, left = runtime.control.on_wait, runtime.seconds_left(closing=q.closing)
    who, prompt = connection.handed(q.who, q.prompt)
    sending = _Sending(runtime, asked, connection, worst, Amount() if q.closing else runtime.closing)
    request = Request(
        key=q.key,
        # The effort is a part of the spec, so a fallback has its own.
        participant=who if who.spec == step.spec else replace(who, spec=step.spec),
        prompt=prompt,
        followup=step.followup,
        attempt=number,
        schema=_json_schema(q.schema, not runtime.ledger.points) if q.schema else None,
        schema_name=q.schema.__name__ if q.schema else "",
        loose_schema=_loose_schema(q.schema) if q.schema else None,
        timeout=min(runtime.limits.timeout, max(1.0, left)),
        patience=max(1.0, left),
        max_output=q.max_output + connection.thinking,
        thinking=connection.thinking,
        material=q.material,
        sent_back=step.sent_back,
        on_text=listen(runtime, q.key, q.schema) or ignore,
        on_wait=(lambda words: on_wait(q.key, words)) if on_wait else ignore,
        on_spawn=lambda pid: _spawned(runtime, q.key, number, pid),
        on_again=sending.again,
    )
    worked = runtime.working_time.seconds()
    try:
        attempt = await _attempt(runtime, request, sending)
    finally:
        sending.over = True
    took = runtime.working_time.seconds() - worked
    # Only a call that used up its shortened time was ended by the limit: models and tools also time out by themselves.
    shortened = request.timeout < runtime.limits.timeout and took >= 0.9 * request.timeout
    if attempt.outcome == "timeout" and (shortened or took >= request.patience):
        hint = f"Raise it with {flag('minutes')}."
        why = f"{runtime.limit('minutes')} cut this call off after {took:.0f} s"
        attempt = replace(attempt, outcome="budget", message=why, hint=hint)  # the limit ended it, not the model
    if connection.patient:
        runtime.working_time.leave_out(runtime.working_time.seconds() - worked)
        runtime.write(asked)
    runtime.write(attempt)


@dataclass(slots=True)
class _Sending:
    """One call in flight. Each time its request is sent is an attempt of its own on record."""

    runtime: Runtime
    asked: Asked
    connection: Connection
    worst: Amount
    reserve: Amount
    """Reserved for the closing call, and not available to this one."""
    began: float = field(default_factory=clock)
    over: bool = False
    """Whether the call has ended. A backend that was cut off and still works must not send the request again."""
    blocked: bool = False
    """Whether the request was lost and must not be sent again now, because of a limit, a full disk or a stop. `settle`
    finds out which when it goes to make the next call."""

    @property
    def ms(self) -> int:
        return round((clock() - self.began) * 1000)

    def failed(self, error: ParticipantFailed, *, again: bool = False) -> Attempt:
        return Attempt(
            key=self.asked.key,
            attempt=self.asked.attempt,
            outcome=error.kind,
            message=self.runtime.door(error.message),
            hint=error.hint,
            input=error.usage.input if error.usage else None,
            output=error.usage.output if error.usage else None,
            usd=0.0 if self.connection.free else error.usd,
            ms=self.ms,
            patient=self.connection.patient,
            again=again,
        )

    async def again(self, error: ParticipantFailed) -> bool:
        """Record that a request was lost and is sent again. Returns False if it must not be."""
        runtime = self.runtime
        if self.over:
            return False
        # The lost request counts as if it had cost what was reserved for it, so the limits must permit another.
        full = runtime.limits.refuses(runtime.record.committed, self.worst, self.reserve) or runtime.no_room()
        self.blocked = runtime.control.draining or bool(full)
        if not self.blocked and runtime.control.shared:
            self.blocked = not await runtime.control.shared.again(self.worst)
        if self.blocked or self.over:  # the call may have ended while this waited
            return False
        runtime.write(self.failed(error, again=True))
        sent = replace(self.asked, attempt=self.asked.attempt + 1, why="again", prompt="")
        runtime.write(sent)
        self.asked, self.began = sent, clock()
        await runtime.sync()
        return True


@lru_cache(maxsize=256)
def _loose_schema(form: type[Form]) -> dict[str, Json]:
    """The form's JSON schema. Cached: pydantic takes longer to generate it than the rest of a call takes."""
    return form.model_json_schema()


@lru_cache(maxsize=256)
def _json_schema(form: type[Form], first: bool) -> Mapping[str, Json]:
    from rebut.domain.forms import sent_schema

    return sent_schema(_loose_schema(form), first=first)


async def _attempt(runtime: Runtime, request: Request, sending: _Sending) -> Attempt:
    key, connection, control = request.key, sending.connection, runtime.control
    work = connection.backend.complete(request)
    try:
        reply = await (control.person(key, work) if connection.patient else control.call(key, work))
    except TimeoutError as error:
        return sending.failed(ParticipantFailed("timeout", f"timed out ({error})"))
    except Cut as cut:
        sending.over = True  # first: nothing may be sent again while the record waits for the disk
        number, usd = sending.asked.attempt, 0.0 if connection.free else None
        if cut.why == "left":
            why = why_skipped(runtime, key, "")
            return Attempt(key=key, attempt=number, outcome=LEFT, message=why, usd=usd, ms=sending.ms)
        if connection.patient:  # a person who has not answered yet has not failed
            raise control.late() from None
        seat, why = request.participant.seat, "cut off by the deadline"
        late = Attempt(key=key, attempt=number, outcome="timeout", message=why, usd=usd, ms=sending.ms)
        failed = Failed(key=key, seat=seat, fp="", failure="timeout", message=why, reopened=True, attempt=number)
        await runtime.append(late, failed)
        raise control.late() from None
    except ParticipantFailed as error:
        return sending.failed(error, again=sending.blocked)
    text = runtime.door(unescaped(reply.text) if request.schema else reply.text)
    return Attempt(
        key=key,
        attempt=sending.asked.attempt,
        text=text,
        outcome="ok" if text.strip() else "bad reply",
        message="" if text.strip() else "the reply is empty",
        model=runtime.door(reply.model)[:200],
        family=reply.family,
        input=reply.usage.input,
        output=reply.usage.output,
        cached=reply.usage.cached,
        usd=0.0 if reply.usd is None and connection.free else reply.usd,
        ms=sending.ms,
        truncated=reply.truncated,
        patient=connection.patient,
        notes=reply.notes,
        unread=runtime.door(reply.unread),
        skipped=tuple(map(runtime.door, reply.skipped)),
    )


def _spawned(runtime: Runtime, key: str, attempt: int, pid: int) -> None:
    from rebut.core.process_identity import started

    value: dict[str, Json] = {"pid": pid, "started": started(pid), "attempt": attempt}
    runtime.write(Fact(key=f"{key}#process.{attempt}.{pid}", cls="limit", value=value))
