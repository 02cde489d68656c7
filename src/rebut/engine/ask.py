"""Asking one question until it has an answer or a failure, with every step on record.

What to do next is a pure function of the recorded attempts. A process that died in the middle therefore continues where
it was: a reply that was recorded but not yet read is read, not paid for again.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rebut.core.errors import NotOnRecord, ReplayMismatch
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import cut, fingerprint
from rebut.core.types import LEFT, ModelSpec, SentBack
from rebut.domain import prompts
from rebut.domain.limits import flag
from rebut.engine.call import Next, Question, call_once, worst_case
from rebut.engine.parse import UnreadableReply, after_thinking, fits, parse
from rebut.engine.runtime import Connection, Runtime
from rebut.engine.steering import why_skipped
from rebut.record.events import Answered, Attempt, Fact
from rebut.record.record import Amount, Call

FIRST_WORDS = 60
"""Characters of each part of an answer that is sent back …"""
MOST_PARTS = 8
"""… and the most parts that are shown."""
REPAIRS = 1
"""How many replies that cannot be read are sent back."""
RESUME_OR_FORK = "Continue with `rebut resume`, or fork."
ASK_LEFT = "`rebut resume ID --ask-left` asks it again, unless the debate has continued without it."
PERSON = "human"
"""The family of people."""
FALLBACK_FOR = ("auth", "missing tool", "crashed", "rate limit", "timeout", "bad reply")
"""The failures after which a seat's next model is asked."""


@frozen
class Settled:
    """A reply that was read, to be recorded as the answer."""

    value: Any
    complaints: tuple[str, ...]
    attempt: Attempt


@frozen
class GivenUp:
    """The question has no answer, and why."""

    kind: str
    message: str
    hint: str = ""
    recorded: bool = False


async def settle(runtime: Runtime, q: Question) -> Answered | GivenUp:
    """Ask a question until it has an answer or a failure. A question with a result on record is not asked."""
    call = runtime.record.call(q.key)
    if done := _on_record(runtime, q, call):
        return done
    if runtime.offline:
        if runtime.parent and (skipped := why_skipped(runtime, q.key, q.fp)):  # the calls of a fork are only counted
            return GivenUp(LEFT, skipped, ASK_LEFT)
        if runtime.assumed and (assumed := runtime.assumed.answer(q.key, q.schema)):
            runtime.write(replace(assumed, seat=q.who.seat, fp=q.fp))
            return assumed
        raise NotOnRecord(f"{q.key} has no answer on this record", RESUME_OR_FORK)
    if q.refused:
        return GivenUp("missing tool", q.refused)
    while True:
        skipped = why_skipped(runtime, q.key, q.fp)  # a reply that arrived before the user skipped it still counts
        step = (await _best(q, call) or GivenUp(LEFT, skipped, ASK_LEFT)) if skipped else await _next(runtime, q, call)
        if isinstance(step, Next):
            connection = runtime.connection(step.spec, q.who.seat)
            worst = worst_case(q, step, connection)
            async with runtime.control.room(Amount() if connection.patient else worst):
                refusal = _refused(runtime, q, worst, connection)
                if not refusal:
                    await call_once(runtime, q, call, step, connection, worst)
                    continue
            step = await _best(q, call) or refusal
        if isinstance(step, GivenUp):
            return step
        answered = Answered(
            key=q.key,
            seat=q.who.seat,
            fp=q.fp,
            value=step.value.model_dump(mode="json") if q.schema else step.value,
            schema=q.schema_name,
            complaints=step.complaints,
            model=step.attempt.model,
            family=step.attempt.family,
            unread=step.attempt.unread,
            ms=sum(a.ms for _, a in call.returned),
        )
        await runtime.append(answered)
        return answered


def _on_record(runtime: Runtime, q: Question, call: Call) -> Answered | GivenUp | None:
    """The answer or failure that this record, or the parent of this fork, already has."""
    if call.answered:
        _same_question(runtime, q, call.answered.fp, call.answered)
        return call.answered
    if call.failed and (not call.failed.reopened or runtime.offline):
        return GivenUp(call.failed.failure, call.failed.message, call.failed.hint, recorded=True)
    if call.asked and not runtime.offline:
        _same_question(runtime, q, next(iter(call.asked.values())).fp, None)
    changed = runtime.assumed is not None and runtime.assumed.depends(q.key)
    old = runtime.parent.calls.get(q.key) if runtime.parent and not changed else None
    if runtime.parent and old and old.answered and old.answered.fp == q.fp:
        found = old.answered
        if q.schema is None or fits(q.schema, found.value):
            came_from = found.copied_from or runtime.parent.opened.id
            copied = replace(found, copied_from=came_from)
            runtime.write(copied)
            return copied
    return None


def _same_question(runtime: Runtime, q: Question, fp: str, answered: Answered | None) -> None:
    """Raise if the protocol asks another question than before. After an upgrade, keep an answer that still fits."""
    still = answered is None or q.schema is None or fits(q.schema, answered.value)
    if fp == q.fp and still:
        return
    session = runtime.record.opened.id
    if not runtime.upgraded:
        raise ReplayMismatch(
            f"{q.key}: the question differs from the one on record, though nothing was upgraded",
            "The protocol uses something besides its topic, settings, seats and earlier answers (a clock, the order of "
            f"a set, a file), or its file was edited. Fix the protocol and resume, or use `rebut fork {session}`.",
        )
    if not still:
        raise ReplayMismatch(
            f"{q.key}: the recorded answer no longer fits its form ({runtime.upgraded})",
            f"`rebut fork {session}` asks again what no longer fits and reuses the rest.",
        )
    runtime.notes.append(f"{q.key}: the question changed ({runtime.upgraded}); the recorded answer is used")


async def _next(runtime: Runtime, q: Question, call: Call) -> Settled | GivenUp | Next:
    """Read the attempts so far and decide what follows."""
    # Each model once: a fallback that is named twice would be asked forever.
    specs = list({str(s): s for s in (q.who.spec, *runtime.fallbacks.get(q.who.seat, ()))}.values())
    at, why, followup = _current_model(runtime, q.who.seat, len(specs)), "ask", ""
    best: Settled | None = None
    repairs, sent, served = 0, False, ""
    for asked, attempt in call.returned:
        if attempt.again:
            continue
        tried = next((n for n, s in enumerate(specs) if asked and str(s) == asked.spec), at)
        if attempt.outcome != "ok":
            if best and why == "context" and _agrees(best.value):
                best = None
            if attempt.outcome in FALLBACK_FOR and best is None and tried + 1 < len(specs):
                # The next model gets no follow-up: that would be about a reply of another model.
                at, repairs, why, followup = max(at, tried + 1), 0, "ask", ""
                _fall_back(runtime, q, at, specs[at], f"{attempt.outcome}: {attempt.message}")
                continue
            return best or GivenUp(attempt.outcome, attempt.message, attempt.hint)
        try:
            value = _read(q, attempt)
        except UnreadableReply as error:
            # People and callers may try until their reply fits: they decide to try again, and it costs nothing.
            patient = asked is not None and asked.patient
            repairs += not patient
            if best and _agrees(best.value):
                best = None
            if repairs > REPAIRS or (best and not patient):
                message = f"the reply did not fit what was asked for: {error}"
                if best is None and tried + 1 < len(specs):
                    at, repairs, why, followup = max(at, tried + 1), 0, "ask", ""
                    _fall_back(runtime, q, at, specs[at], f"bad reply: {message}")
                    continue
                return best or GivenUp("bad reply", message)
            why = "repair"
            problem = prompts.quote(runtime.fence_key, "what is wrong with it", str(error))
            followup = served + prompts.fill(prompts.REPAIR, problem=problem)
            continue
        complaints = await _complaints(q, value, attempt)
        settled = Settled(value, complaints, attempt)
        needs = [str(n) for n in getattr(value, "need", ())]
        if needs and not served and runtime.view is not None:
            best, why = settled, "context"
            text = await _serve(runtime, q.key, needs)
            followup = prompts.fill(prompts.SERVED, served=prompts.quote(runtime.fence_key, "served context", text))
            served = f"{followup}\n\n"
            continue
        if best is not None and sent and len(complaints) > len(best.complaints):
            return best
        if not complaints or sent:
            return settled
        sent, best, why = True, settled, "send-back"
        wrong = prompts.quote(runtime.fence_key, "what is wrong with it", "\n".join(f"- {c}" for c in complaints))
        said = prompts.quote(
            runtime.fence_key, "what you said", _in_short(value.model_dump(mode="json") if q.schema else value)
        )
        followup = served + prompts.fill(prompts.SEND_BACK, complaints=wrong, said=said)
    sent_back = SentBack(best.attempt.text, best.complaints) if best and why == "send-back" else None
    return Next(why, followup, specs[at], sent_back)


def _in_short(value: Json) -> str:
    """An answer that is sent back, each part by its first words: a reminder of what was right, and nothing to copy."""
    from rebut.domain import render
    from rebut.domain.ledger import Ledger

    rows = render.answer(value, render.Known(Ledger("")))
    lines = [f"- {cut(' '.join(filter(None, (row.label, row.text))), FIRST_WORDS)}" for row in rows if row.text]
    more = [f"- … {len(lines) - MOST_PARTS} more"] if len(lines) > MOST_PARTS else []
    return "\n".join([*lines[:MOST_PARTS], *more])


def _read(q: Question, attempt: Attempt) -> Any:
    if q.schema:
        return parse(attempt.text, q.schema, truncated=attempt.truncated)
    if attempt.truncated:
        raise UnreadableReply("the reply was cut off at the output limit; answer again, shorter")
    text = after_thinking(attempt.text)
    if not text.strip():
        raise UnreadableReply("the reply is thinking that never ends; answer again")
    return text


async def _complaints(q: Question, value: Any, attempt: Attempt) -> tuple[str, ...]:
    if attempt.family == PERSON and q.material.ballot:  # a ballot asks a person for all that is needed
        return ()
    found = q.check(value) if q.check else ()
    return tuple(await found if inspect.isawaitable(found) else found)


def _agrees(value: Any) -> bool:
    """Whether an answer agrees, keeps, concedes or resolves anything.

    An answer that agrees does not replace a later reply that cannot be read, because that one may refuse. Nor does it
    replace the answer that was to follow the files it asked for.
    """
    from rebut.domain.forms import Form

    return isinstance(value, Form) and type(value).is_agreement(value)


async def _best(q: Question, call: Call) -> Settled | None:
    """The last reply that can be read, if a limit permits no better one; None if there is none."""
    unread = False
    for _, attempt in reversed(call.returned):
        if attempt.outcome != "ok":
            continue
        try:
            value = _read(q, attempt)
        except UnreadableReply:
            unread = True
            continue
        if _agrees(value) and (unread or bool(getattr(value, "need", ()))):
            return None
        return Settled(value, await _complaints(q, value, attempt), attempt)
    return None


def _current_model(runtime: Runtime, seat: str, count: int) -> int:
    """Which of a seat's models answers for it now. A fallback lasts for the rest of the debate."""
    fact = runtime.record.facts.get(f"fallback@{seat}")
    position = fact.value.get("position", 0) if fact and isinstance(fact.value, dict) else 0
    return position if isinstance(position, int) and position < count else 0


def _fall_back(runtime: Runtime, q: Question, at: int, spec: ModelSpec, why: str) -> None:
    if _current_model(runtime, q.who.seat, at + 1) >= at:
        return
    value: dict[str, Json] = {"position": at, "spec": str(spec), "why": why}
    runtime.write(Fact(key=f"fallback@{q.who.seat}", cls="limit", value=value))


async def _serve(runtime: Runtime, key: str, needs: Sequence[str]) -> str:
    """The context that a reply's `need` asks for, from the snapshot; served once and recorded."""
    from rebut.workspace.context import serve

    fact_key, of = f"{key}#served", fingerprint(list(needs))
    fact = runtime.record.facts.get(fact_key)
    if fact and fact.of == of and isinstance(fact.value, str):
        return fact.value
    assert runtime.view is not None
    text = await serve(runtime.view, needs, never=runtime.never)
    runtime.write(Fact(key=fact_key, of=of, value=text))
    return text


def _refused(runtime: Runtime, q: Question, worst: Amount, connection: Connection) -> GivenUp | None:
    """The failure if a limit forbids the call; None if none does. Limits never forbid asking a person."""
    runtime.control.check()
    name = "" if connection.patient else runtime.refusing_limit(worst, closing=q.closing)
    if not name:
        return None
    return GivenUp("budget", f"{runtime.limit(name)} leaves no room for this call", f"Raise it with {flag(name)}.")
