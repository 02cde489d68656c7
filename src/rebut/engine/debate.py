"""The debate: all that a protocol sees. Ask, note what was said, look at the ledger, go round, stop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from rebut.core.errors import DuplicateKey, NotOnRecord, ParticipantFailed, ProtocolError, TooFewReplies
from rebut.core.text import as_recorded, at_the_door, fingerprint
from rebut.core.types import LEFT, NO_MATERIAL, Json, Material, Participant
from rebut.domain import ledger as ledgers, prompts
from rebut.domain.answers import Answer as Answer, Answers as Answers, Ask as Ask, Failure as Failure
from rebut.domain.ledger import Claim, Entry, Ledger, Point, Slip
from rebut.domain.limits import MAX_OUTPUT, shown
from rebut.engine.ask import Check, GivenUp, Question, settle
from rebut.engine.output_files import write_files
from rebut.engine.runtime import Rounds, Runtime
from rebut.engine.steering import added, settled
from rebut.record import folder_claims, sessions
from rebut.record.artifacts import Artifact
from rebut.record.events import Answered, Fact, FactClass, Failed
from rebut.record.record import Amount

if TYPE_CHECKING:
    from rebut.domain.forms import Form
    from rebut.workspace.patch import Patched
    from rebut.workspace.targets.target import Target

CLOSING_WORDS = 3000
V = TypeVar("V")
F = TypeVar("F", bound="Form")


@dataclass
class _Course:
    """Where a debate and its scopes stand; shared by them all."""

    stopped: str = ""
    minutes: object = None


@dataclass
class Debate:
    """One debate, or one scope of it. Between asks, look only at topic, settings, seats and earlier answers."""

    topic: str
    settings: Any
    """The protocol's `Settings`, validated."""
    _runtime: Runtime
    context: str = ""
    """The files that the user gave, as text with line numbers; empty for none."""
    _prefix: str = ""
    _course: _Course = field(default_factory=_Course)

    # seats

    def seat(self, role: str) -> Participant:
        """The one participant in this role."""
        found = self.seats(role)
        if len(found) != 1:
            seats = ", ".join(p.seat for p in self._runtime.seats)
            raise ProtocolError(f"{len(found)} seats are called {role!r}; there are {seats}")
        return found[0]

    def seats(self, role: str) -> list[Participant]:
        """All participants in this role: `author` finds `author.1` and `author.2`."""
        return [p for p in self._runtime.seats if p.seat == role or p.seat.startswith(f"{role}.")]

    # asking

    @overload
    async def ask(
        self,
        who: Participant,
        step: str,
        prompt: str,
        *,
        schema: type[F],
        check: Check | None = ...,
        closing: bool = ...,
        material: Material = ...,
        max_output: int = ...,
    ) -> Answer[F]: ...
    @overload
    async def ask(
        self,
        who: Participant,
        step: str,
        prompt: str,
        *,
        schema: None = ...,
        check: Check | None = ...,
        closing: bool = ...,
        material: Material = ...,
        max_output: int = ...,
    ) -> Answer[str]: ...
    async def ask(
        self,
        who: Participant,
        step: str,
        prompt: str,
        *,
        schema: type[Any] | None = None,
        check: Check | None = None,
        closing: bool = False,
        material: Material = NO_MATERIAL,
        max_output: int = MAX_OUTPUT,
    ) -> Answer[Any]:
        """Ask one participant. Raises `ParticipantFailed`; then the question is open again for resume."""
        ask = Ask(who, prompt, schema, check, "", material, max_output)
        got = await self._one(self._question(ask, step, closing), reopen=True)
        if isinstance(got, Failure):
            raise ParticipantFailed(got.kind, got.message, got.hint)
        return got

    @overload
    async def try_ask(
        self,
        who: Participant,
        step: str,
        prompt: str,
        *,
        schema: type[F],
        check: Check | None = ...,
        closing: bool = ...,
        material: Material = ...,
        max_output: int = ...,
    ) -> Answer[F] | Failure: ...
    @overload
    async def try_ask(
        self,
        who: Participant,
        step: str,
        prompt: str,
        *,
        schema: None = ...,
        check: Check | None = ...,
        closing: bool = ...,
        material: Material = ...,
        max_output: int = ...,
    ) -> Answer[str] | Failure: ...
    async def try_ask(
        self,
        who: Participant,
        step: str,
        prompt: str,
        *,
        schema: type[Any] | None = None,
        check: Check | None = None,
        closing: bool = False,
        material: Material = NO_MATERIAL,
        max_output: int = MAX_OUTPUT,
    ) -> Answer[Any] | Failure:
        """Ask one participant; a failure comes back as a value, is on record, and stays one on resume."""
        ask = Ask(who, prompt, schema, check, "", material, max_output)
        return await self._one(self._question(ask, step, closing), reopen=False)

    async def ask_all(
        self, step: str, asks: Sequence[Ask[V]], *, need: int = 1, unreadable: bool = False
    ) -> Answers[V]:
        """Ask several at once. With fewer than `need` answers: `TooFewReplies`, and the failed are open for resume.

        Siblings finish and are kept before a fatal error leaves. With `unreadable`, a reply that could not be read
        counts towards `need` too.
        """

        def count() -> int:
            return sum(1 for g in got if isinstance(g, Answer) or (unreadable and g.raw))

        questions = [self._question(ask, step) for ask in asks]
        got = await self._gather(questions)
        if count() < need and not self._runtime.offline:
            # Failures that an earlier run left on record, and that would end this one: ask again at once.
            old = self._runtime.failed_before
            again = [n for n, g in enumerate(got) if isinstance(g, Failure) and g.key in old and g.kind != LEFT]
            if again:
                for n in again:
                    self._fail(questions[n], cast(Failure, got[n]), reopened=True)
                for n, g in zip(again, await self._gather([questions[n] for n in again]), strict=True):
                    got[n] = g
        answers: Answers[V] = Answers(tuple(got))
        if count() < need:
            for question, g in zip(questions, got, strict=True):
                if isinstance(g, Failure):
                    self._fail(question, g, reopened=True)
            await self._runtime.sync()
            who = "; ".join(f"{f.who.seat} ({self.speaker(f.who)}): {f.kind}, {f.message}" for f in answers.failed)
            raise TooFewReplies(f"{step}: {len(answers.answered)} of {len(asks)} answered, {need} needed. {who}")
        return answers

    async def _gather(self, questions: Sequence[Question]) -> list[Answer[Any] | Failure]:
        done = await asyncio.gather(*(self._one(q, reopen=False) for q in questions), return_exceptions=True)
        for result in done:
            if isinstance(result, BaseException):
                raise result
        return cast(list[Answer[Any] | Failure], done)

    def _question(self, ask: Ask[Any], step: str, closing: bool = False) -> Question:
        part = f".{ask.part}" if ask.part else ""
        key = f"{self._prefix}{step}{part}@{ask.who.seat}"
        if key in self._runtime.keys:
            raise DuplicateKey(f"{key} is asked twice in one run", "Give the step another name, or a `part`.")
        self._runtime.keys.add(key)
        more = (ask.check, closing, ask.max_output, ask.material, ask.refused)
        return Question(key, ask.who, ask.prompt, cast(Any, ask.schema), *more)

    async def _one(self, q: Question, *, reopen: bool) -> Answer[Any] | Failure:
        got = await settle(self._runtime, q)
        if isinstance(got, GivenUp):
            raw = self._runtime.record.call(q.key).unread if got.kind == "bad reply" else ""
            failure = Failure(q.who, q.key, got.kind, got.message, got.hint, raw)
            if not got.recorded:
                self._fail(q, failure, reopened=reopen)
                await self._runtime.sync()
            return failure
        return _answer(q, got)

    def _fail(self, q: Question, f: Failure, *, reopened: bool) -> None:
        if not self._runtime.offline:
            self._runtime.write(
                Failed(
                    key=q.key,
                    seat=q.who.seat,
                    fp=q.fp,
                    failure=f.kind,
                    message=f.message,
                    hint=f.hint,
                    reopened=reopened,
                )
            )

    @property
    def answers(self) -> Mapping[str, Json]:
        """Every answer on record so far by its key; for the result at a deadline, when the protocol was cut short."""
        return {key: c.answered.value for key, c in self._runtime.record.calls.items() if c.answered}

    def stand_in(self, who: Participant) -> str:
        """The fallback that spoke for a seat; empty while its own model did."""
        return self._runtime.record.stand_in(who.seat)

    def speaker(self, who: Participant) -> str:
        """Who speaks for a seat now, for messages: its own model, or the fallback that took its place."""
        other = self.stand_in(who)
        return f"{other}, in place of {who.label}" if other else who.label

    # facts

    async def once(
        self, key: str, fn: Callable[[], Json | Awaitable[Json]], *, of: Json = None, cls: FactClass = "derived"
    ) -> Json:
        """The one way to look at anything besides answers: computed once, then read from the record.

        `of` names the inputs: when they differ, a derived fact is computed anew.
        """
        runtime, full, print_of = self._runtime, self._prefix + key, fingerprint(of)
        if f"#{full}" in runtime.keys:
            raise DuplicateKey(f"{full} is settled twice in one run", "Give the second one another key.")
        runtime.keys.add(f"#{full}")
        for record, copied in ((runtime.record, False), (runtime.parent, True)):
            fact = record.facts.get(full) if record else None
            if fact is None or fact.of != print_of or (copied and cls == "limit"):
                continue
            if copied:
                runtime.write(fact)
            if (why := runtime.parent_upgraded if copied else runtime.upgraded) and fact.cls == "derived":
                runtime.carried[full] = why
            return fact.value
        if runtime.offline and runtime.parent is None:
            was = runtime.record.facts.get(full)
            if (
                was and was.cls == cls == "derived" and runtime.upgraded
            ):  # of what this version would not have made of it
                runtime.carried[full] = runtime.upgraded
                return was.value
            why = f" ({runtime.upgraded})" if runtime.upgraded else ""
            raise NotOnRecord(f"{full} was never settled on this record{why}")
        value = fn()
        if inspect.isawaitable(value):
            value = await value
        if cls == "input":
            value = at_the_door(value, runtime.door)
        value = as_recorded(value)  # else the first run would see a tuple where a resumed one sees a list
        runtime.write(Fact(key=full, cls=cls, of=print_of, value=value))
        return value

    # rounds

    def rounds(self, limit: int, *, least: int = 1) -> Iterator[Round]:
        """Rounds 1 to `limit`, until one stops, a limit leaves no room for another, or they are settled by hand.

        At least `least` are held before that. Rounds that are added by hand come on top: `planned` counts them in.
        """
        runtime, n = self._runtime, 0
        runtime.rounds = Rounds()
        try:
            while (n := n + 1) <= self.planned(limit):
                by_hand = settled(runtime.record)
                if by_hand and n > max(by_hand.round, least):
                    self.settle(f"after round {n - 1}" if n > 1 else "before round 1")
                    return
                if reason := self._limit_reached(n):
                    self.stop(reason)
                    return
                runtime.rounds.now = n
                own = f"{self._prefix}r{n}/"
                yield Round(self.topic, self.settings, runtime, self.context, own, self._course, n=n)
                if self._course.stopped:
                    return
        finally:
            runtime.rounds.over = True

    async def skip(self, step: str, why: str) -> None:
        """Skip a call that cannot change the outcome; recorded and reported."""
        await self.once(f"{step}#spared", lambda: why, of=why)
        self._runtime.notes.append(f"not asked, since it could change nothing: {why}")

    spare = skip  # its name in 0.1, kept for one release

    def _limit_reached(self, n: int) -> str:
        runtime, key = self._runtime, f"{self._prefix}r{n}/limits"
        fact = runtime.record.facts.get(key)
        if fact is None:
            if runtime.offline and runtime.parent is None:
                raise NotOnRecord(f"{key} was never settled on this record")
            name = "minutes" if runtime.seconds_left() <= 0 else ""
            reason = f"the limit of {shown(name, getattr(runtime.limits, name))} was reached" if name else ""
            fact = Fact(key=key, cls="limit", value=reason)
            runtime.write(fact)
        return str(fact.value or "")

    def keep_for_closing(self, tokens: int) -> None:
        """Set aside enough for a closing call that must read this many tokens and what one more turn may add."""
        runtime = self._runtime
        wanted = tokens + CLOSING_WORDS + 2 * MAX_OUTPUT + runtime.closing_thinking
        if runtime.closing.tokens and wanted > runtime.closing.tokens:
            usd = runtime.closing.usd * wanted / runtime.closing.tokens
            runtime.closing = Amount(runtime.closing.calls, wanted, usd)

    def scope(self, name: str) -> Debate:
        """A part of the debate with keys of its own, so that parallel parts cannot mix them up."""
        return Debate(self.topic, self.settings, self._runtime, self.context, f"{self._prefix}{name}/", self._course)

    def stop(self, reason: str) -> None:
        """End the rounds after this one."""
        self._course.stopped = self._course.stopped or reason

    @property
    def stopped(self) -> str:
        """Why the rounds ended early; empty if they did not."""
        return self._course.stopped

    @property
    def minutes(self) -> object:
        """What the protocol has noted so far, for its `partial` to find when a deadline cuts it short."""
        return self._course.minutes

    @minutes.setter
    def minutes(self, noted: object) -> None:
        self._course.minutes = noted

    # rounds that the user added or ended

    def planned(self, limit: int) -> int:
        """So many rounds, and those that were added by hand."""
        return limit + added(self._runtime.record)

    def settle(self, when: str) -> None:
        """End the rounds because somebody decided so."""
        self._runtime.rounds.cut = f"settled by hand {when}"
        self.stop(self._runtime.rounds.cut)

    @property
    def settled(self) -> bool:
        """Whether the rounds were ended by hand, with something left out."""
        return bool(self._runtime.rounds.cut)

    # the ledger

    @property
    def ledger(self) -> Ledger:
        return self._runtime.ledger

    async def note(self, step: str, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Enter claims, points and moves. Their citations are checked, ids are given, and all of it is on record.

        Call it after the barrier of a parallel step, in seat order: that order gives the ids.
        """
        before = self.ledger
        await self.enter(step, entries)
        return [*self.ledger.claims[len(before.claims) :], *self.ledger.points[len(before.points) :]]

    async def enter(self, step: str, entries: Sequence[Entry]) -> Sequence[tuple[str, Entry]]:
        """`note`, telling of each entry, as it was checked, its id; none if it matched nothing."""

        runtime = self._runtime
        entries = [ledgers.with_evidence(e) for e in entries]
        of = cast(Json, [ledgers.to_json(e) for e in entries])
        value = await self.once(f"{step}#ledger", lambda: checked(runtime, entries), of=runtime.sides.of_version(of))
        assert isinstance(value, dict)
        rows = cast(list[Mapping[str, Any]], value["entries"])
        runtime.ledger, out = placed(runtime.ledger, [ledgers.from_json(row) for row in rows])
        return out

    def cited(self, by: str, round: int, text: str) -> list[Claim]:
        """A claim of `by` for each statement of a document that cites anything in its prose.

        Those on the ledger come with their id and marks, so that what a later version says again counts once; the
        others are yours to `enter`.
        """
        from rebut.evidence.marks import citing

        known = {c.text: c for c in self.ledger.claims if c.by == by}
        return [known.get(one) or Claim(one, by, round) for one in citing(text)]

    # the target, and files

    async def write_files(self, *files: Artifact) -> Sequence[str]:
        """Write files now. Returns where each is: at its path, or beside it where somebody else's stands."""

        if self._runtime.offline:
            return [one.path for one in files]
        places, notes = await write_files(self._runtime, files)
        self._runtime.notes += notes
        return [str(place) for place in places]

    leave = write_files  # its name in 0.1, kept for one release

    def claim(self, folder: str, purpose: str, *, new: bool = False, shared: Collection[str] = ()) -> str:
        """Take a folder for this session, and make it. Returns who holds it for this purpose: empty if we do.

        A `new` one is made by us or not at all: whoever was quicker to make it has it. Whoever has ended holds it as
        long as a file is there that it wrote, `shared` ones aside. Call this in `once`.
        """

        runtime, place = self._runtime, Path(folder)
        if runtime.offline:
            return ""
        place.parent.mkdir(parents=True, exist_ok=True)
        with folder_claims.alone(runtime.root, place):
            try:
                place.mkdir()
                folder_claims.forget(runtime.root, place)  # whoever held a folder of that name holds nothing any more
            except FileExistsError:
                if new or not place.is_dir():
                    return "another process"
            holder = folder_claims.claim(runtime.root, place, purpose, runtime.record.opened.id, shared)
        return "" if holder == runtime.record.opened.id else holder

    def claimed(self, folder: str, purpose: str, *, shared: Collection[str] = ()) -> str:
        """Which other session holds a folder for a purpose; empty for none. Call this in `once`."""
        from rebut.record.folder_claims import holder

        found = holder(self._runtime.root, Path(folder), purpose, shared)
        return "" if found == self._runtime.record.opened.id else found

    @property
    def folder(self) -> str:
        """Where the protocol's files go, if it claimed a place for them. It has no business in a prompt."""
        return self._runtime.folder

    async def publish(self) -> Sequence[str]:
        """Write the protocol's artifacts as they are by now; what could not be written is said. Nothing in a replay."""
        return await self._runtime.publish() if self._runtime.publish else ()

    @property
    def is_fork(self) -> bool:
        return bool(self._runtime.record.opened.forked_from)

    @property
    def target(self) -> Target:
        """What is debated, as it was read when the debate opened."""
        if self._runtime.target is None:
            raise ProtocolError("this debate has no target", "Give one to `rebut.start(…, target=…)`.")
        return self._runtime.target

    @property
    def session(self) -> str:
        """The session's name for people: its alias if it has one. It has no business in a prompt."""
        opened = self._runtime.record.opened
        return opened.aliases[0] if opened.aliases else opened.id

    def take_up(self, files: Mapping[str, str | None], text: str = "", modes: Mapping[str, str] | None = None) -> None:
        """Discuss a later version from here on: citations are checked against it, and `need` is served from it."""
        self._runtime.sides.take_up(dict(files), text, modes)

    async def try_patch(self, patch: str) -> Patched:
        """What a patch would make of the version under discussion; nothing is changed. Call it in `once` or a check."""
        from rebut.workspace.patch import try_patch

        return await try_patch(self._runtime.view, patch)

    async def difference(self, files: Mapping[str, str | None], modes: Mapping[str, str] | None = None) -> str:
        """The diff from the version that the debate opened with to the given files. Call it in `once`."""
        from rebut.workspace.patch import difference

        return await difference(self._runtime.sides.opened, files, modes)

    async def as_it_stands(self, patch: str, files: Mapping[str, str | None]) -> tuple[bytes, str]:
        """Such a diff in terms of the bytes that are really there, and what keeps it from that. Call it in `once`."""
        from rebut.workspace.exact_patch import as_it_stands

        runtime = self._runtime
        top = sessions.repository(Path(runtime.record.opened.workspace))
        return await as_it_stands(patch, files, runtime.sides.opened, top, runtime.redact)

    # prompts

    def quote(self, label: str, text: str) -> str:
        """Put text of others into a prompt as data that it cannot break out of (C7)."""
        return prompts.quote(self._runtime.fence_key, label, text)


@dataclass
class Round(Debate):
    """A debate's nth round: the same object, with keys that begin `rN/`."""

    n: int = 0

    def settled_before(self, step: str) -> bool:
        """Whether somebody ended the rounds in this one, before this step of it was begun."""
        by_hand = settled(self._runtime.record)
        return by_hand is not None and by_hand.round == self.n and step not in by_hand.steps


def _answer(q: Question, got: Answered) -> Answer[Any]:
    value = q.schema.model_validate(got.value) if q.schema else got.value
    return Answer(q.who, q.key, value, tuple(got.complaints), got.model, got.family, got.ms)


# Noting: entries of the ledger on their way in. Their citations are checked, and each learns its id.


async def checked(runtime: Runtime, entries: Sequence[Entry]) -> Json:
    """The entries for the record, each citation looked up and marked."""
    from rebut.evidence.marks import marked

    rows: list[Json] = []
    for entry in entries:
        if not isinstance(entry, Slip):
            entry = replace(entry, evidence=await marked(entry.evidence, ledgers.said(entry), runtime.sides))
        rows.append(ledgers.to_json(entry))
    return {"letter": runtime.ledger.letter, "noun": runtime.ledger.noun, "entries": rows}


def placed(ledger: Ledger, entries: Sequence[Entry]) -> tuple[Ledger, list[tuple[str, Entry]]]:
    """The next ledger, and the id under which each entry stands in it; empty for one that matched nothing."""
    out: list[tuple[str, Entry]] = []
    for entry in entries:
        before, ledger = ledger, ledger.add([entry])
        out.append((_id(entry, before, ledger), entry))
    return ledger, out


def _id(entry: Entry, before: Ledger, after: Ledger) -> str:
    match entry:
        case Claim():
            return after.claims[-1].id
        case Point() if len(after.unmatched) > len(before.unmatched):
            return ""
        case Point() if len(after.points) > len(before.points):
            return after.points[-1].id
        case Point():  # joined to one that was there: either its voices grew, or it was pressed again
            if len(after.moves) > len(before.moves):
                return after.moves[-1].point
            return next(new.id for old, new in zip(before.points, after.points, strict=True) if old != new)
        case _:
            return entry.point if after.point(entry.point) else ""
