"""Forking a session into a new one: answers whose question is unchanged are copied, the others are asked again.

To count both beforehand, the protocol is run without calling a model. Where the fork would ask, the parent's answer to
that question is assumed, with other words, so that every question that depends on its words counts as new.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rebut.core.errors import Aborted, NotAvailable, NotOnRecord, ParticipantFailed, TooFewReplies, UsageError
from rebut.core.json_value import Json
from rebut.domain.checks import CHECKS
from rebut.domain.earlier_review import EARLIER
from rebut.domain.outcome import Outcome
from rebut.domain.session_status import ASKED, asked_by
from rebut.engine.parse import fits
from rebut.engine.plan import Environment, Plan, opened, sound
from rebut.engine.run import debate_of, finish, run_protocol
from rebut.engine.runtime import redactor_of, runtime_of, view_of
from rebut.engine.start import files_folder, new_session
from rebut.engine.steering import as_decided, decisions
from rebut.record import sessions
from rebut.record.events import Answered, Fact
from rebut.record.record import Record, seat_of, step_of

AGAIN = "again"
"""The key of the fact that a fork copies no answers."""


async def fork(plan: Plan, environment: Environment, parent: Path, *, again: bool = False) -> Outcome:
    """Fork a session and run the new one. Answers that still fit are copied; with `again`, none."""
    sound(plan)
    old = sessions.load(parent)
    if again:
        _can_answer(plan, environment, None)
    elif _absent(plan, environment):  # a model is not needed if all its answers are reused
        await fork_plan(plan, environment, parent)
    async with new_session(environment) as (folder, journal):
        if "snapshot" in old.facts:
            # In a thread: copying may take long, and other debates continue meanwhile.
            await asyncio.to_thread(_copy_snapshot, parent, folder)
        topic = redactor_of(old, environment.known_secrets).door(plan.topic).strip()
        files = await files_folder(plan, folder, topic)
        journal.write(opened(plan, folder, topic, old.opened.id, files.alias))
        if plan.notes:
            journal.write(Fact(key="notes", cls="input", value=list(plan.notes)))
        if files.path:
            journal.write(Fact(key="folder", cls="input", value=files.path))
        if verb := asked_by(old):  # so that it ends in that command's words; a gate and the like are not copied
            journal.write(Fact(key=ASKED, cls="input", value={"verb": verb}))
        if again:
            journal.write(Fact(key=AGAIN, cls="limit", value=True))  # resume reads it, too
        for fact in decisions(old, rounds=plan.decided):
            journal.write(fact)
        # The keys last: with them the fork can be resumed.
        for name in ("snapshot", "target", EARLIER, "unread_ok", "context", CHECKS, "keys"):
            if name in old.facts:
                journal.write(old.facts[name])
        await journal.sync()
        view = view_of(journal.record, folder, environment.known_secrets)
        reused = None if again else old
        runtime = runtime_of(journal.record, plan, environment, journal=journal, view=view, parent=reused)
        return await run_protocol(runtime, plan, environment, folder)


class ForkCount(tuple[int, int]):
    """How many answers a fork reuses, and how many questions it asks."""

    exact = True
    """False if the parent lacks an answer on which others depend: at least so many reused, at most so many asked."""

    @classmethod
    def within(cls, reused: int, asked: int) -> ForkCount:
        made = cls((reused, asked))
        made.exact = False
        return made


async def fork_plan(plan: Plan, environment: Environment, parent: Path) -> ForkCount:
    """How many answers a fork would reuse, and how many questions it would ask. Calls no model.

    New answers are assumed to have the same effect as the parent's, since their effect is not known yet. Raises
    `NotAvailable` if a model that would be asked cannot be called here.
    """
    sound(plan)
    old = sessions.load(parent)
    topic = redactor_of(old, environment.known_secrets).door(plan.topic).strip()
    record = Record()
    view = view_of(old, parent, environment.known_secrets)
    runtime = runtime_of(record, plan, environment, view=view, parent=old)
    runtime.assumed = assumed = AssumedAnswers(old)
    runtime.write(opened(plan, parent, topic, parent=old.opened.id))
    for fact in decisions(old, rounds=plan.decided):
        runtime.write(fact)
    known = True
    try:
        with suppress(ParticipantFailed, TooFewReplies, Aborted):
            await plan.protocol.run(debate_of(runtime, plan))
    except NotOnRecord:
        known = False
    await finish(runtime)
    copied = [call.answered.seat for call in record.calls.values() if call.answered and call.answered.copied_from]
    reused = len(copied)
    asked = {seat_of(key) for key in assumed.asked}
    _can_answer(plan, environment, asked if known else asked | ({p.seat for p in plan.seats} - {*copied}))
    if known:
        return ForkCount((reused, len(assumed.asked)))
    each = plan.protocol.calls(as_decided(plan.settings, record)) if plan.protocol.calls else None
    total = sum(each.get(p.seat.partition(".")[0], 0) for p in plan.seats) if each else old.answers
    return ForkCount.within(reused, max(len(assumed.asked), total - reused))


def _can_answer(plan: Plan, environment: Environment, asked: Collection[str] | None) -> None:
    """Raise before the fork exists if a seat that it would ask has no model here. `asked` None: it asks every seat."""
    for seat, error in _absent(plan, environment).items():
        if asked is None or seat in asked:
            raise error


def _absent(plan: Plan, environment: Environment) -> dict[str, NotAvailable]:
    """The seats whose model cannot be called here, and why. Not among them: seats whose fallback would take over."""
    out: dict[str, NotAvailable] = {}
    for who in plan.seats:
        if who.seat in plan.protocol.silent or plan.fallbacks.get(who.seat):
            continue
        try:
            environment.connect(who.spec)
        except NotAvailable as error:
            out[who.seat] = error
    return out


class AssumedAnswers:
    """Answers that are assumed for the questions that a fork would ask."""

    def __init__(self, parent: Record) -> None:
        self._parent = parent
        self.asked: list[str] = []
        """The keys of the questions that the fork would ask."""
        self._unchanged: set[str] = set()
        """Steps with an answer in which no words could be changed."""

    def depends(self, key: str) -> bool:
        """Whether a question comes after an answer whose words could not be changed: then it counts as new."""
        return any(step != step_of(key) for step in self._unchanged)

    def answer(self, key: str, schema: type[Any] | None) -> Answered | None:
        """The parent's answer with other words; None if the parent has none."""
        if key not in self.asked:
            self.asked.append(key)
        old = self._parent.calls.get(key)
        found = old.answered if old else None
        if found is None or (schema is not None and not fits(schema, found.value)):
            return None
        value, changed = _reworded(found.value) if schema else (f"{found.value}{MARK}", True)
        if not changed or (schema is not None and not fits(schema, value)):
            value = found.value
            self._unchanged.add(step_of(key))
        return replace(found, key=key, value=value, copied_from="")


MARK = " …"
EXACT = ("quote", "place", "id", "same_as")
"""Fields whose words have a meaning for the program."""


def _reworded(value: Json, name: str = "") -> tuple[Json, bool]:
    """A value with other words in all its sentences, and whether everything that a prompt may show was changed."""
    match value:
        case str() if value.startswith(("--- ", "diff ")) or "\n@@ " in value:
            return value, False  # a changed patch would no longer apply
        case str():
            return (value, True) if name in EXACT or " " not in value else (value + MARK, True)
        case list():
            rows = [_reworded(row, name) for row in value]
            return [row for row, _ in rows], all(ok for _, ok in rows)
        case dict():
            fields = {key: _reworded(row, key) for key, row in value.items()}
            changed: Json = {key: row for key, (row, _) in fields.items()}
            return changed, all(ok for _, ok in fields.values()) and (bool(name) or changed != value)
        case _:
            return value, True


def parent_of(record: Record, environment: Environment) -> Record | None:
    """The session that this one was forked from: a resumed fork still copies from it."""
    if not record.opened.forked_from or AGAIN in record.facts:
        return None
    return sessions.loader(environment.root)(record.opened.forked_from)  # None if the parent is gone: the rest is asked


def _copy_snapshot(parent: Path, folder: Path) -> None:
    source = sessions.snapshot(parent)
    if not source.is_dir():  # nothing had to be copied
        return
    try:
        shutil.copytree(source, folder / sessions.SNAPSHOT)
    except (shutil.Error, OSError) as error:
        raise UsageError(
            f"the snapshot of session {parent.name} could not be copied: {error}", "No model was called."
        ) from error
    sessions.keep_files(folder, snapshot=True)
