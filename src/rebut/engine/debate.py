"""`Debate`: all that a protocol sees. Ask participants, derive facts, hold rounds, enter points, write files."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, cast, overload

from rebut.core.errors import DuplicateKey, NotOnRecord, ParticipantFailed, ProtocolError, TooFewReplies
from rebut.core.files import repository
from rebut.core.json_value import Json
from rebut.core.text import as_recorded, at_the_door, fingerprint
from rebut.core.types import LEFT, NO_MATERIAL, Material, Participant
from rebut.domain import ledger as ledgers, prompts, user_notes
from rebut.domain.answers import Answer as Answer, Answers as Answers, Ask as Ask, Check, Failure as Failure
from rebut.domain.checks import CodeCheck
from rebut.domain.ledger import Claim, Entry, Ledger, Point, Rerun, Unspoken
from rebut.domain.limits import MAX_OUTPUT
from rebut.domain.session_status import fallbacks, stood_in
from rebut.engine.ask import RESUME_OR_FORK, GivenUp, settle
from rebut.engine.call import Question
from rebut.engine.output_files import write_files
from rebut.engine.runtime import NEVER_HERE, Rounds, Runtime
from rebut.engine.steering import added, settled
from rebut.record import folder_claims
from rebut.record.artifacts import Artifact
from rebut.record.events import Answered, Fact, FactClass, Failed
from rebut.record.record import Amount

if TYPE_CHECKING:
    from rebut.domain.earlier_review import EarlierReview
    from rebut.domain.forms import Form
    from rebut.proof.checks import CheckedSides
    from rebut.workspace.patch import Patched
    from rebut.workspace.targets.target import Target
    from rebut.workspace.targets.unread import UnreadFiles

CLOSING_TOKENS = 3000
"""Tokens that the prompt of a closing call needs besides the debate itself."""
WRITE_NO_CHECKS = ("lint", "rules", "human")
V = TypeVar("V")
F = TypeVar("F", bound="Form")


class AskOptions(TypedDict, total=False):
    """What `ask` and `try_ask` take besides a form."""

    check: Check | None
    closing: bool
    material: Material
    max_output: int


@dataclass
class _Shared:
    """What a debate shares with its rounds and scopes."""

    stopped: str = ""
    state: object = None


@dataclass
class Debate:
    """One debate, or one scope of it. Between asks, a protocol uses only topic, settings, seats and earlier answers."""

    topic: str
    settings: Any
    """The protocol's `Settings`, validated."""
    _runtime: Runtime
    context: str = ""
    """The context files that the user gave, as text with line numbers; empty if there are none."""
    _prefix: str = ""
    _shared: _Shared = field(default_factory=_Shared)

    # seats

    def seat(self, role: str) -> Participant:
        """The one participant in this role."""
        found = self.seats(role)
        if len(found) != 1:
            seats = ", ".join(p.seat for p in self._runtime.seats)
            raise ProtocolError(
                f"{len(found)} seats are called {role!r}; the seats are {seats}",
                "Use `debate.seats(role)` for a role with several seats." if found else "Name one of these roles.",
            )
        return found[0]

    def seats(self, role: str) -> list[Participant]:
        """All participants in this role: `author` finds `author.1` and `author.2`."""
        return [p for p in self._runtime.seats if p.seat == role or p.seat.startswith(f"{role}.")]

    # asking

    @overload
    async def ask(
        self, who: Participant, step: str, prompt: str, *, schema: type[F], **options: Unpack[AskOptions]
    ) -> Answer[F]: ...
    @overload
    async def ask(
        self, who: Participant, step: str, prompt: str, *, schema: None = None, **options: Unpack[AskOptions]
    ) -> Answer[str]: ...
    async def ask(
        self, who: Participant, step: str, prompt: str, *, schema: Any = None, **options: Unpack[AskOptions]
    ) -> Answer[Any]:
        """Ask one participant. A failure raises `ParticipantFailed`; resume then asks the question again."""
        got = await self._ask(who, step, prompt, schema, reopen=True, **options)
        if isinstance(got, Failure):
            raise ParticipantFailed(got.kind, got.message, got.hint)
        return got

    @overload
    async def try_ask(
        self, who: Participant, step: str, prompt: str, *, schema: type[F], **options: Unpack[AskOptions]
    ) -> Answer[F] | Failure: ...
    @overload
    async def try_ask(
        self, who: Participant, step: str, prompt: str, *, schema: None = None, **options: Unpack[AskOptions]
    ) -> Answer[str] | Failure: ...
    async def try_ask(
        self, who: Participant, step: str, prompt: str, *, schema: Any = None, **options: Unpack[AskOptions]
    ) -> Answer[Any] | Failure:
        """Ask one participant. A failure is returned as a value and recorded; resume does not ask again."""
        return await self._ask(who, step, prompt, schema, reopen=False, **options)

    async def _ask(
        self,
        who: Participant,
        step: str,
        prompt: str,
        schema: Any,
        *,
        reopen: bool,
        check: Check | None = None,
        closing: bool = False,
        material: Material = NO_MATERIAL,
        max_output: int = MAX_OUTPUT,
    ) -> Answer[Any] | Failure:
        ask = Ask(who, prompt, schema, check, material=material, max_output=max_output)
        return await self._one(self._question(ask, step, closing), reopen=reopen)

    async def ask_all(
        self, step: str, asks: Sequence[Ask[V]], *, need: int = 1, unreadable: bool = False, closing: bool = False
    ) -> Answers[V]:
        """Ask several at once. Fewer than `need` answers raise `TooFewReplies`; resume then asks the failed ones again.

        All calls finish and are recorded before an error is raised. With `unreadable`, a reply that could not be read
        counts towards `need`, too.
        """

        def count() -> int:
            return sum(1 for g in got if isinstance(g, Answer) or (unreadable and g.raw))

        questions = [self._question(ask, step, closing) for ask in asks]
        got = await self._gather(questions)
        if count() < need and not self._runtime.offline:
            # Failures that an earlier run recorded and that would end this one, too: ask again now.
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
            said = f"{step}: {len(answers.answered)} of {len(asks)} answered, {need} needed. {who}"
            raise TooFewReplies(said, limit_hint(answers.failed), kinds=tuple(f.kind for f in answers.failed))
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
        schema = cast(Any, ask.schema)
        if schema is not None and self.runners_for(ask.who):
            from rebut.domain.forms import with_checks

            schema = with_checks(schema)
        said = user_notes.heard(self._runtime.record, key)
        prompt = user_notes.with_notes(ask.prompt, said, self._runtime.fence_key)
        return Question(key, ask.who, prompt, schema, *more)

    async def _one(self, q: Question, *, reopen: bool) -> Answer[Any] | Failure:
        got = await settle(self._runtime, q)
        if isinstance(got, GivenUp):
            raw = self._runtime.record.call(q.key).last_reply if got.kind == "bad reply" else ""
            failure = Failure(q.who, q.key, got.kind, got.message, got.hint, raw)
            if not got.recorded:
                self._fail(q, failure, reopened=reopen)
                await self._runtime.sync()
            return failure
        return _answer(q, got)

    def _fail(self, q: Question, f: Failure, *, reopened: bool) -> None:
        if self._runtime.offline:
            return
        seat, fp = q.who.seat, q.fp
        failed = Failed(key=q.key, seat=seat, fp=fp, failure=f.kind, message=f.message, hint=f.hint, reopened=reopened)
        self._runtime.write(failed)

    @property
    def answers(self) -> Mapping[str, Json]:
        """Every answer on record so far by its key, for the partial outcome at a deadline."""
        return {key: c.answered.value for key, c in self._runtime.record.calls.items() if c.answered}

    def same_model(self, one: Participant, other: Participant) -> bool:
        """Whether two seats were given the same model, even under different names."""
        return self._runtime.record.model(str(one.spec)) == self._runtime.record.model(str(other.spec))

    def stand_in(self, who: Participant) -> str:
        """The fallback that answers for a seat; empty while its own model does."""
        return self._runtime.record.stand_in(who.seat)

    def spoke_for(self, who: Participant) -> str:
        """The fallback that has answered for a seat; empty if none has."""
        return self._runtime.record.spoke_for(who.seat)

    def stood_in(self, key: str) -> str:
        """A sentence on the fallback that gave the answer under a key; empty if the seat's own model did."""
        return stood_in(self._runtime.record, key)

    @property
    def fallbacks(self) -> list[str]:
        """Which model has replaced which so far, and why. For files, not for prompts."""
        return fallbacks(self._runtime.record)

    @property
    def notices(self) -> list[str]:
        """What the user was told before the first call. Not for prompts."""
        return self._runtime.record.notes

    def independent(self, spec: str, *others: Participant) -> bool:
        """Whether a model that has answered is of another family than these participants, as far as is known."""
        record = self._runtime.record
        family = next((one.family for one in record.answered_by(spec) if one.family), "")
        same = any(record.model(spec) == record.model(str(p.spec)) for p in others)
        return bool(family) and not same and all(p.family and p.family != family for p in others)

    def speaker(self, who: Participant) -> str:
        """Which model answers for a seat now, for messages: its own, or the fallback that replaced it."""
        other = self.stand_in(who)
        return f"{other}, in place of {who.label}" if other else who.label

    # facts

    async def once(
        self, key: str, fn: Callable[[], Json | Awaitable[Json]], *, of: Json = None, cls: FactClass = "derived"
    ) -> Json:
        """Compute a fact once and read it from the record afterwards: the only way to use anything besides answers.

        `of` names the inputs: when they differ, a derived fact is computed again.
        """
        runtime, full, print_of = self._runtime, self._prefix + key, fingerprint(of)
        if f"#{full}" in runtime.keys:
            raise DuplicateKey(f"the fact {full} is computed twice in one run", "Give the second one another key.")
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
            if was and was.cls == cls == "derived" and runtime.upgraded:
                # This version would derive it from other inputs; the recorded value counts.
                runtime.carried[full] = runtime.upgraded
                return was.value
            why = f" ({runtime.upgraded})" if runtime.upgraded else ""
            raise NotOnRecord(f"the fact {full} is not on this record{why}", RESUME_OR_FORK)
        value = fn()
        if inspect.isawaitable(value):
            value = await value
        if cls == "input":
            value = at_the_door(value, runtime.door)
        value = as_recorded(value)  # or the first run would see a tuple where a resumed one sees a list
        runtime.write(Fact(key=full, cls=cls, of=print_of, value=value))
        return value

    # rounds

    def rounds(self, limit: int, *, least: int = 1) -> Iterator[Round]:
        """Rounds 1 to `limit`, until one stops, a limit leaves no room for another, or the user ends them.

        At least `least` rounds take place before the user's decision ends them. Rounds that the user adds come on top.
        """
        runtime, n = self._runtime, 0
        runtime.rounds = Rounds()
        try:
            while (n := n + 1) <= self.planned(limit):
                ended = settled(runtime.record)
                if ended and n > max(ended.round, least):
                    self.settle(f"after round {n - 1}" if n > 1 else "before round 1")
                    return
                if reason := self._limit_reached(n):
                    self.stop(reason)
                    return
                runtime.rounds.now = n
                own = f"{self._prefix}r{n}/"
                yield Round(self.topic, self.settings, runtime, self.context, own, self._shared, n=n)
                if self._shared.stopped:
                    return
        finally:
            runtime.rounds.over = True

    def _limit_reached(self, n: int) -> str:
        runtime, key = self._runtime, f"{self._prefix}r{n}/limits"
        fact = runtime.record.facts.get(key)
        if fact is None:
            if runtime.offline and runtime.parent is None:
                raise NotOnRecord(f"the fact {key} is not on this record", RESUME_OR_FORK)
            reason = f"{runtime.limit('minutes')} was reached" if runtime.seconds_left() <= 0 else ""
            fact = Fact(key=key, cls="limit", value=reason)
            runtime.write(fact)
        return str(fact.value or "")

    def planned(self, limit: int) -> int:
        """How many rounds are planned: `limit`, and those that the user added."""
        return limit + added(self._runtime.record)

    def stop(self, reason: str) -> None:
        """End the rounds after this one."""
        self._shared.stopped = self._shared.stopped or reason

    @property
    def stopped(self) -> str:
        """Why the rounds ended early; empty if they did not."""
        return self._shared.stopped

    def settle(self, when: str) -> None:
        """End the rounds because the user decided so."""
        self._runtime.rounds.cut = f"settled by hand {when}"
        self.stop(self._runtime.rounds.cut)

    @property
    def settled(self) -> bool:
        """Whether the user ended the rounds and something was skipped because of it."""
        return bool(self._runtime.rounds.cut)

    async def skip(self, step: str, why: str) -> None:
        """Skip a call that cannot change the outcome; recorded and reported."""
        await self.once(f"{step}#spared", lambda: why, of=why)
        self._runtime.notes.append(f"skipped a call that could not change the outcome: {why}")

    spare = skip  # its name in 0.1, kept for one release

    def scope(self, name: str) -> Debate:
        """A part of the debate with keys of its own, so that parallel parts cannot mix them up."""
        return Debate(self.topic, self.settings, self._runtime, self.context, f"{self._prefix}{name}/", self._shared)

    def keep_for_closing(self, tokens: int) -> None:
        """Reserve enough for each closing call, which must read this many tokens and what one more turn may add."""
        runtime = self._runtime
        wanted = runtime.closing.calls * (tokens + CLOSING_TOKENS + 2 * MAX_OUTPUT + runtime.closing_thinking)
        if runtime.closing.tokens and wanted > runtime.closing.tokens:
            usd = runtime.closing.usd * wanted / runtime.closing.tokens
            runtime.closing = Amount(runtime.closing.calls, wanted, usd)

    @property
    def state(self) -> object:
        """What the protocol knows so far. Its `partial` reads it when a deadline ends the debate."""
        return self._shared.state

    @state.setter
    def state(self, state: object) -> None:
        self._shared.state = state

    minutes = state  # its name in 0.1, kept for one release

    # the ledger

    @property
    def ledger(self) -> Ledger:
        return self._runtime.ledger

    async def note(self, step: str, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Enter claims, points and moves. Their citations are checked, they get ids, and all of it is recorded.

        Returns the new claims and points. Call it after all parallel asks of a step, in the order of the seats: that
        order gives the ids.
        """
        before = self.ledger
        await self.enter(step, entries)
        return [*self.ledger.claims[len(before.claims) :], *self.ledger.points[len(before.points) :]]

    async def enter(self, step: str, entries: Sequence[Entry]) -> Sequence[tuple[str, Entry]]:
        """Like `note`, but return each entry as it was checked, with its id; an empty id if it matches no point."""
        runtime = self._runtime
        entries = [ledgers.with_evidence(e) for e in entries]
        of = cast(Json, [ledgers.to_json(e) for e in entries])
        runtime.ledger, out = runtime.ledger.enter(await self._entries(step, lambda: _checked(runtime, entries), of))
        return out

    async def _entries(self, step: str, compute: Callable[[], Awaitable[Sequence[Entry]]], of: Json) -> list[Entry]:
        """The checked entries that `compute` returns, computed once and recorded."""

        async def rows() -> Json:
            entries: list[Json] = [ledgers.to_json(one) for one in await compute()]
            return {"letter": self.ledger.letter, "noun": self.ledger.noun, "entries": entries}

        value = await self.once(f"{step}#ledger", rows, of=self._runtime.sides.of_version(of))
        assert isinstance(value, dict)
        return [ledgers.from_json(row) for row in cast(list[Mapping[str, Any]], value["entries"])]

    @property
    def runners(self) -> Mapping[str, str]:
        """The runners of checks that participants may use, with what each runs; empty where checks are off."""
        return self._runtime.runners

    def runners_for(self, who: Participant) -> Mapping[str, str]:
        """The runners that a participant may use: analysers, rules and people write no checks."""
        return {} if who.spec.provider in WRITE_NO_CHECKS else self.runners

    @property
    def has_old_side(self) -> bool:
        """Whether a version before the change is known, which checks can run on."""
        return self._runtime.sides.old is not None

    async def run_again(self, step: str, version: int, round: int) -> None:
        """Run every check that showed a problem again, on the version under discussion, and enter the results.

        Only checks that showed a problem by failing are run: one that passes or prints something cannot show a fix.
        """
        runtime = self._runtime
        points = {p.id: check for p in self.ledger.points if (check := p.check) and check.shows_by_failing}
        if not points:
            return

        async def again(id: str, check: CodeCheck) -> Entry:
            if runtime.check_runner is None:
                return Rerun(id, version, "", round, NEVER_HERE)
            side, note = await runtime.check_runner.side(check, _sides(runtime))
            return Rerun(id, version, side, round, note)

        async def run() -> Sequence[Entry]:
            return await asyncio.gather(*(again(id, check) for id, check in points.items()))

        of = cast(Json, [[id, check.code] for id, check in points.items()])
        runtime.ledger = runtime.ledger.add(await self._entries(step, run, of))

    def cited(self, by: str, round: int, text: str) -> list[Claim]:
        """A claim of `by` for each statement of a document that cites something.

        A claim that is on the ledger already comes with its id and marks, so that a statement which a later version
        repeats counts once. The protocol must `enter` the other claims.
        """
        from rebut.evidence.marks import citing

        known = {c.text: c for c in self.ledger.claims if c.by == by}
        return [known.get(one) or Claim(one, by, round) for one in citing(text)]

    # the target

    @property
    def target(self) -> Target:
        """What is debated, as it was read when the debate opened."""
        if self._runtime.target is None:
            raise ProtocolError("this debate has no target", "Give one to `rebut.start(…, target=…)`.")
        return self._runtime.target

    @property
    def unread(self) -> UnreadFiles:
        """The files of the target that were not read."""
        from rebut.workspace.targets.unread import unread_in

        return unread_in(self._runtime.record)

    @property
    def earlier_review(self) -> EarlierReview | None:
        """The earlier review of the same branch that this one continues; None if there is none."""
        from rebut.domain.earlier_review import EARLIER, EarlierReview

        runtime = self._runtime
        fact = (runtime.parent or runtime.record).facts.get(EARLIER)
        return EarlierReview.from_json(cast(Mapping[str, Any], fact.value)) if fact else None

    def take_up(self, files: Mapping[str, str | None], text: str = "", modes: Mapping[str, str] | None = None) -> None:
        """Discuss a later version from here on: citations are checked against it, and `need` is served from it."""
        self._runtime.sides.take_up(dict(files), text, modes)

    async def try_patch(self, patch: str) -> Patched:
        """Apply a patch to the version under discussion, without changing it. Call it in `once` or a check."""
        from rebut.workspace.patch import try_patch

        return await try_patch(self._runtime.view, patch)

    async def difference(self, files: Mapping[str, str | None], modes: Mapping[str, str] | None = None) -> str:
        """The diff from the version that the debate opened with to the given files. Call it in `once`."""
        from rebut.workspace.patch import difference

        return await difference(self._runtime.sides.opened, files, modes)

    async def as_it_stands(self, patch: str, files: Mapping[str, str | None]) -> tuple[bytes, str]:
        """A patch as git can apply it to the bytes on disk, and why git cannot apply it, if so. Call it in `once`."""
        from rebut.workspace.exact_patch import as_it_stands

        runtime = self._runtime
        top = repository(Path(runtime.record.opened.workspace))
        return await as_it_stands(patch, files, runtime.sides.opened, top, runtime.redact)

    # files

    async def write_files(self, *files: Artifact) -> Sequence[str]:
        """Write files now. Returns where each one is: at its path, or beside it if another program's file is there."""
        if self._runtime.offline:
            return [one.path for one in files]
        places, notes = await write_files(self._runtime, files)
        self._runtime.notes += notes
        return [str(place) for place in places]

    leave = write_files  # its name in 0.1, kept for one release

    async def publish(self) -> Sequence[str]:
        """Write the protocol's artifacts as they are now. Returns what could not be written. A replay writes none."""
        return await self._runtime.publish() if self._runtime.publish else ()

    def claim(self, folder: str, purpose: str, *, new: bool = False, shared: Collection[str] = ()) -> str:
        """Claim a folder for this session, and create it. Returns which session holds it; empty if this one does.

        A `new` folder must be created by this session: if it exists, another process holds it. A session that has
        ended holds its folder as long as a file that it wrote is there, except `shared` ones. Call this in `once`.
        """
        runtime, place = self._runtime, Path(folder)
        if runtime.offline:
            return ""
        place.parent.mkdir(parents=True, exist_ok=True)
        with folder_claims.alone(runtime.root, place):
            try:
                place.mkdir()
                folder_claims.forget(runtime.root, place)  # claims on a folder of that name that was deleted
            except FileExistsError:
                if new or not place.is_dir():
                    return "another process"
            holder = folder_claims.claim(runtime.root, place, purpose, runtime.record.opened.id, shared)
        return "" if holder == runtime.record.opened.id else holder

    def claimed(self, folder: str, purpose: str, *, shared: Collection[str] = (), unfinished: bool = False) -> str:
        """Which other session holds a folder for a purpose; empty if none does. Call this in `once`.

        With `unfinished`, no session that has ended counts.
        """
        found = folder_claims.holder(self._runtime.root, Path(folder), purpose, shared, unfinished=unfinished)
        return "" if found == self._runtime.record.opened.id else found

    @property
    def folder(self) -> str:
        """The folder for the protocol's files, if it claimed one. Not for prompts."""
        return self._runtime.folder

    @property
    def session(self) -> str:
        """The session's name for people: its alias if it has one. Not for prompts."""
        opened = self._runtime.record.opened
        return opened.aliases[0] if opened.aliases else opened.id

    @property
    def versions(self) -> tuple[str, ...]:
        """The version of the protocol that opened this session, then that of the session it is forked from, if any.

        For a protocol that must continue a session of an earlier version by the earlier rules.
        """
        records = [self._runtime.record, *([self._runtime.parent] if self._runtime.parent else [])]
        return tuple(record.opened.protocol_version for record in records)

    @property
    def is_fork(self) -> bool:
        return bool(self._runtime.record.opened.forked_from)

    def draw(self, name: str, count: int) -> int:
        """A number below `count`, drawn for this session: the same when it is resumed, replayed or forked."""
        return prompts.drawn(self._runtime.fence_key, name, count)

    # prompts

    def quote(self, label: str, text: str) -> str:
        """Text from outside as data in a prompt, in a fence that it cannot close (C7)."""
        return prompts.quote(self._runtime.fence_key, label, text)


@dataclass
class Round(Debate):
    """Round `n` of a debate: used like the debate, with keys that begin `rN/`."""

    n: int = 0

    def settled_before(self, step: str) -> bool:
        """Whether the user ended the rounds during this round, before this step of it began."""
        ended = settled(self._runtime.record)
        return ended is not None and ended.round == self.n and step not in ended.steps


def limit_hint(failed: Sequence[Failure]) -> str:
    """How to raise the limit that made all of them fail; empty if one failed for another reason."""
    return failed[0].hint if failed and all(one.kind == "budget" for one in failed) else ""


def _answer(q: Question, got: Answered) -> Answer[Any]:
    value = q.schema.model_validate(got.value) if q.schema else got.value
    return Answer(q.who, q.key, value, tuple(got.complaints), got.model, got.family, got.ms)


async def _checked(runtime: Runtime, entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries with every citation checked and marked, and every check run."""
    from rebut.evidence.marks import marked

    checked: list[Entry] = []
    known = runtime.ledger
    for entry in entries:
        # Only points that were there when the question was asked can be repeated, not those of the same step.
        if known.version > 1 and isinstance(entry, Point) and entry.same_as and known.point(entry.same_as) is None:
            entry = ledgers.unplaced(entry)
        if not isinstance(entry, Unspoken):
            evidence = await marked(entry.evidence, ledgers.said(entry), runtime.sides)
            entry = replace(entry, evidence=evidence) if evidence else entry
        checked.append(entry)
    if any(not isinstance(entry, Unspoken) and entry.check for entry in checked):
        return await asyncio.gather(*(_run_check(runtime, entry) for entry in checked))
    return checked


async def _run_check(runtime: Runtime, entry: Entry) -> Entry:
    """The entry with its check run and marked. Where checks are off, what a participant writes into one is dropped."""
    if isinstance(entry, Unspoken) or entry.check is None or entry.check.mark:  # with a mark of an earlier review
        return entry
    if not runtime.runners:
        return replace(entry, check=None)
    if runtime.check_runner is None:
        return replace(entry, check=replace(entry.check, mark="not run", note=NEVER_HERE))
    return replace(entry, check=await runtime.check_runner.run(entry.check, _sides(runtime)))


def _sides(runtime: Runtime) -> CheckedSides:
    from rebut.proof.checks import CheckedSides

    sides = runtime.sides
    about_code = runtime.target is not None and runtime.target.kind != "proposal"
    return CheckedSides(sides.new, sides.old, sides.files_version[:16], sides.changed, about_code)
