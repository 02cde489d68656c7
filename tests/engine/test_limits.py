"""Limits are hard: reserved before, settled after, never exceeded, raised on record, named when they end a debate."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import rebut
from rebut.api import Setup
from rebut.backends.wrappers import Timed
from rebut.core.text import tokens
from rebut.core.types import ModelSpec, Reply, Request, Usage
from rebut.engine.runtime import Connection
from rebut.record import sessions
from rebut.record.events import Asked
from rebut.record.record import Amount, Record
from tests import duels, voices
from tests.voices import Voice, protocol

SEATS = {"author": "fake:a", "critic": "fake:b"}


def run(path: Path, voice: Voice, **named: object) -> rebut.Outcome:
    return rebut.run(path, "t", backends={"fake": voice}, **{"workspace": path.parent, **SEATS, **named})


def resume(voice: Voice, id: str = "", **named: object) -> rebut.Outcome:
    return asyncio.run(rebut.resume(voices.folder(id).name, backends={"fake": voice}, **named))


# the sum that never exceeds the cap

CLOSING = 6000
ROUNDS = f"""
closing_tokens = {CLOSING}
judge = "judge"
seats = {{"author": 2, "judge": 1}}

async def run(debate):
    failed = 0
    for r in debate.rounds(3):
        asks = [Ask(who, "word " * 50 * r.n) for who in debate.seats("author")]
        failed += len((await r.ask_all("say", asks, need=0)).failed)
    end = await debate.try_ask(debate.seat("judge"), "close", "Close.", closing=True)
    return done(failed=failed, closed=isinstance(end, Answer))
"""


def price(sent: int, back: int) -> float:
    return (sent * 3 + back * 15) / 1e6


def priced(voice: Voice, folder: Path) -> Setup:
    """A setup at which the voice has a price, as a provider with a price table has."""
    setup = Setup(workspace=folder, backends={"fake": voice})

    def connect(spec: ModelSpec) -> Connection:
        return Connection(Timed(voice), price)

    setup.connect = connect
    setup.environment = replace(setup.environment, connect=connect)
    return setup


shares = st.floats(0, 1)
turns = st.lists(st.one_of(st.none(), st.just("timeout"), st.tuples(shares, shares)), min_size=1, max_size=12)


@given(
    turns=turns,
    caps=st.fixed_dictionaries(
        {},
        optional={
            "calls": st.integers(1, 9),
            "tokens": st.integers(3000, 40_000),
            "usd": st.floats(0.02, 0.6),
        },
    ),
    cut=st.floats(0.2, 1),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_settled_reserved_in_doubt_and_set_aside_never_exceed_a_cap(
    turns: list[str | tuple[float, float] | None], caps: dict[str, float], cut: float
) -> None:
    # C4: whatever models use of what was reserved for them, and wherever the process dies
    said = 0

    def say(request: rebut.Request) -> Reply | rebut.ParticipantFailed:
        nonlocal said
        turn = turns[said % len(turns)]
        said += 1
        if turn == "timeout":
            return rebut.ParticipantFailed("timeout", "too slow")
        if turn is None:
            return Reply("yes")  # a provider that tells no usage
        used = Usage(int(tokens(request.whole) * turn[0]), int(request.max_output * turn[1]))
        return Reply("yes", usage=used, usd=price(used.input or 0, used.output or 0))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = protocol(folder, ROUNDS)
        seats = {"author": ["fake:a", "fake:b"], "judge": "fake:c"}
        outcome = asyncio.run(rebut.start(path, "t", setup=priced(Voice(say), folder), limits=caps, **seats))
        held(outcome.session, caps)
        opening = next(n for n, e in enumerate(voices.events(outcome.session)) if getattr(e, "key", "") == "keys") + 1
        lines = len(voices.events(outcome.session))
        keep = min(lines - 1, opening + int((lines - opening) * cut))
        at = iter(range(lines))
        voices.crash_at(lambda _: next(at) == keep - 1, outcome.session)
        asyncio.run(rebut.resume(outcome.session, setup=priced(Voice(say), folder)))
        held(outcome.session, caps)


def held(id: str, caps: dict[str, float]) -> None:
    fold = Record()
    closing_made = False
    kept = Amount(1, CLOSING, price(CLOSING, CLOSING // 4))
    for line in voices.record(id).lines:
        fold.add(line)
        closing_made |= isinstance(line.event, Asked) and line.event.key == "close@judge"
        total = fold.committed if closing_made or fold.committed == Amount() else fold.committed + kept
        for name, cap in caps.items():
            assert getattr(total, name) <= cap + 1e-9, (line.seq, line.event.kind, name, total, cap)


def test_a_call_reserves_its_worst_case_and_settles_for_what_it_took(tmp_path: Path) -> None:
    # C4
    seen: list[Amount] = []

    def look(request: rebut.Request) -> Reply:
        seen.append(voices.record().committed)
        return Reply("yes", usage=Usage(100, 20), usd=0.001)

    path = protocol(tmp_path, 'await debate.ask(debate.seat("author"), "draft", "Write.")\nreturn done()')
    asyncio.run(rebut.start(path, "t", setup=priced(Voice(look), tmp_path), **SEATS))
    [asked] = voices.events("", "asked")
    assert asked.tokens >= tokens("Write.") + 4096 and asked.usd >= price(tokens("Write."), 4096)
    assert seen == [Amount(1, asked.tokens, asked.usd)], "while the call is in flight"
    settled = voices.record().committed
    assert (settled.calls, settled.tokens, round(settled.usd, 9)) == (1, 120, 0.001)


def test_a_provider_that_tells_no_usage_is_charged_what_was_reserved(tmp_path: Path) -> None:
    # C4: never less than the truth
    path = protocol(tmp_path, 'await debate.ask(debate.seat("author"), "draft", "Write.")\nreturn done()')
    run(path, Voice(Reply("yes")))
    [asked] = voices.events("", "asked")
    assert voices.record().committed.tokens == asked.tokens > 4096


@pytest.mark.parametrize(
    ("kind", "charged"), [("timeout", True), ("crashed", True), ("auth", False), ("rate limit", False)]
)
def test_a_call_that_broke_off_is_charged_what_was_reserved_and_one_turned_away_nothing(
    tmp_path: Path, kind: rebut.FailureKind, charged: bool
) -> None:
    # C4: the model may well have worked, and be billed, before the connection was lost
    path = protocol(tmp_path, 'await debate.try_ask(debate.seat("author"), "draft", "Write.")\nreturn done()')
    outcome = run(path, Voice(rebut.ParticipantFailed(kind, "gone")))
    [asked] = voices.events("", "asked")
    assert voices.record().committed == Amount(1, asked.tokens if charged else 0, asked.usd if charged else 0.0)
    assert outcome.spent.usd == (None if charged else 0.0), "unknown, never 0 for that"


def test_two_calls_at_once_cannot_both_take_the_last_of_a_limit(tmp_path: Path) -> None:
    # C4
    body = 'got = await debate.ask_all("x", [Ask(debate.seat(s), "?") for s in ("author", "critic")], need=0)\n'
    path = protocol(tmp_path, f"{body}return done(kinds=[f.kind for f in got.failed])")
    voice = Voice()
    assert run(path, voice, limits={"calls": 1}).data == {"kinds": ["budget"]}
    assert len(voice.asked) == 1


# the closing call

ENDING = """
closing_tokens = 6000
judge = "critic"
seats = {"author": 1, "critic": 1}

async def run(debate):
    n, stopped = 0, ""
    for r in debate.rounds(9):
        a = await r.try_ask(debate.seat("author"), "say", "Say.")
        if isinstance(a, Failure):
            stopped = a.message
            break
        n += 1
    end = await debate.ask(debate.seat("critic"), "close", "Close.", closing=True)
    return Outcome("done", "DONE", stopped=stopped, data={"rounds": n, "end": end.value})
"""


@pytest.mark.parametrize(
    ("limits", "rounds", "named"),
    [
        ({"calls": 4}, 3, "4 calls"),
        ({"tokens": 6000 + 2 * 4200}, 2, "14,400 tokens"),
        ({"usd": 0.24}, 2, "$0.24"),
    ],
)
def test_the_closing_call_is_set_aside_at_the_start_and_made_at_the_end(
    tmp_path: Path, limits: dict[str, float], rounds: int, named: str
) -> None:
    # C4: the limit that ended the debate is named
    def dear(request: rebut.Request) -> Reply:
        return Reply("yes", usage=Usage(10, 4090), usd=price(10, 4090))

    setup = priced(Voice(dear), tmp_path)
    outcome = asyncio.run(rebut.start(protocol(tmp_path, ENDING), "t", setup=setup, limits=limits, **SEATS))
    assert outcome.data == {"rounds": rounds, "end": "yes"}
    assert outcome.stopped == f"the limit of {named} leaves no room for this call"


def test_a_duel_without_money_for_its_judge_ends_without_a_winner_and_names_the_limit(
    tmp_path: Path, workspace: Path
) -> None:
    # C4, C6
    outcome = rebut.run("duel", "Redis?", limits={"tokens": 16_000 + 2 * 15_000}, rounds=1, **duels.seats(tmp_path))
    assert outcome.verdict, "what was set aside for the judge is enough for it"
    poor = rebut.run("duel", "Redis?", limits={"calls": 2}, rounds=2, **duels.seats(tmp_path))
    assert poor.heading == "UNCONTESTED" and not poor.verdict and poor.exit_code == 3
    assert "limit of 2 calls" in poor.stopped


# raising


def test_a_limit_is_raised_on_resume_on_record_and_what_it_ended_is_asked_again(tmp_path: Path) -> None:
    # C4: limits raised on resume
    path = protocol(
        tmp_path,
        """
said = []
for r in debate.rounds(3):
    a = await r.ask(debate.seat("author"), "say", f"{r.n}")
    said.append(a.value)
return done(said=said)
""",
    )
    with pytest.raises(rebut.ParticipantFailed, match="limit of 2 calls"):
        run(path, Voice("first"), limits={"calls": 2})
    with pytest.raises(rebut.ParticipantFailed, match="limit of 2 calls"):
        resume(Voice("second"))
    outcome = resume(Voice("third"), limits={"calls": 5})
    assert outcome.data == {"said": ["first", "first", "third"]}
    assert [dict(e.limits) for e in voices.events("", "amended")] == [{"calls": 5}]
    assert voices.record().limits["calls"] == 5 and voices.record().opened.limits["calls"] == 2


FRONTIER = """
a = await debate.try_ask(debate.seat("author"), "draft", "Write.")
b = await debate.try_ask(debate.seat("critic"), "judge", "Judge.")
c = await debate.ask(debate.seat("critic"), "close", "Close.")
return done(kinds=[getattr(x, "kind", "answered") for x in (a, b)])
"""


def test_failures_by_budget_at_the_frontier_are_open_again_when_the_limit_is_raised(tmp_path: Path) -> None:
    # C4
    with pytest.raises(rebut.ParticipantFailed):
        run(protocol(tmp_path, FRONTIER), Voice(), limits={"calls": 1})
    voice = Voice()
    assert resume(voice, limits={"calls": 9}).data == {"kinds": ["answered", "answered"]}
    assert voice.keys == ["judge@critic", "close@critic"]


def test_a_failure_by_budget_that_the_debate_has_gone_on_from_stays_one(tmp_path: Path) -> None:
    # C4, C3: the questions after it were asked knowing of it
    path = protocol(
        tmp_path,
        """
a = await debate.try_ask(debate.seat("author"), "draft", "long " * 5000)
b = await debate.ask(debate.seat("critic"), "judge", f"It was {getattr(a, 'kind', 'answered')}.")
c = await debate.ask(debate.seat("critic"), "close", "long " * 5000)
return done(first=getattr(a, "kind", "answered"))
""",
    )
    with pytest.raises(rebut.ParticipantFailed):
        run(path, Voice(), limits={"tokens": 6000})
    voice = Voice()
    assert resume(voice, limits={"tokens": 90_000}).data == {"first": "budget"}
    assert voice.keys == ["close@critic"]


def test_a_closed_session_stays_closed_whatever_the_limits(tmp_path: Path) -> None:
    # C4
    path = protocol(tmp_path, ENDING)
    closed = run(path, Voice(), limits={"calls": 3})
    before = (voices.folder() / "journal.jsonl").read_bytes()
    voice = Voice()
    assert resume(voice) == closed
    with pytest.raises(rebut.UsageError, match="is closed") as caught:
        resume(voice, limits={"calls": 99})
    assert "rebut fork" in caught.value.hint
    assert voice.asked == [] and (voices.folder() / "journal.jsonl").read_bytes() == before


def test_limits_never_enter_a_prompt(tmp_path: Path, workspace: Path) -> None:
    # C4: with other limits every question of a duel is still the same, so that a fork asks none of them anew
    outcome = rebut.run("duel", "Redis?", limits={"tokens": 987_654}, **duels.seats(tmp_path))
    limits = {"tokens": 765_432, "minutes": 87.5, "calls": 4321, "usd": 12.5, "timeout": 77}
    assert asyncio.run(rebut.fork(outcome.session, limits=limits)).spent.calls == 0


@pytest.mark.parametrize(
    "limits", [{"calls": 0}, {"minutes": -1}, {"tokens": float("nan")}, {"usd": float("inf")}, {"usd": 10_001}]
)
def test_a_limit_that_is_none_is_refused_before_any_call(tmp_path: Path, limits: dict[str, float]) -> None:
    # C4, C17
    voice = Voice()
    with pytest.raises(rebut.UsageError, match="limit must be"):
        run(protocol(tmp_path, ENDING), voice, limits=limits)
    assert voice.asked == [] and sessions.sessions(sessions.home()) == []


def test_an_unknown_limit_is_refused(tmp_path: Path) -> None:
    # C4: a misspelt limit must not mean none
    for act in (
        lambda: run(protocol(tmp_path, ENDING), Voice(), limits={"dollars": 1}),
        lambda: resume(Voice(), limits={"dollars": 1}),
    ):
        with pytest.raises(rebut.UsageError, match="dollars"):
            act()
        if not sessions.sessions(sessions.home()):
            run(protocol(tmp_path, ENDING), Voice())


def test_a_repositorys_ceiling_holds_on_resume_and_fork_too(tmp_path: Path) -> None:
    # C16: a repository's file narrows, and what it narrows stays narrow
    run(protocol(tmp_path, ENDING), Voice(), limits={"calls": 3})
    voices.crash_at(voices.is_("answered"))
    id = voices.folder().name
    (tmp_path / "rebut.toml").write_text("[limits]\ncalls = 5\n")
    resume(Voice(), limits={"calls": 99})
    assert voices.record(id).limits["calls"] == 5
    branch = asyncio.run(rebut.fork(id, limits={"calls": 99}, backends={"fake": Voice()}))
    assert voices.record(branch.session).limits["calls"] == 5


def test_a_ceiling_set_since_holds_for_a_resume_and_a_fork_that_name_no_limit(tmp_path: Path) -> None:
    # C16: else whoever goes on from an old session would go past it
    run(protocol(tmp_path, ENDING), Voice(), limits={"calls": 30})
    voices.crash_at(voices.is_("answered"))
    id = voices.folder().name
    (tmp_path / "rebut.toml").write_text("[limits]\ncalls = 5\ntokens = 90000\n")
    branch = asyncio.run(rebut.fork(id, topic="another", backends={"fake": Voice()}))
    assert {"calls": 5, "tokens": 90000}.items() <= voices.record(branch.session).limits.items()
    resume(Voice(), id)
    assert {"calls": 5, "tokens": 90000}.items() <= voices.record(id).limits.items()
    assert resume(Voice(), id).session == id  # closed by now: there is nothing left to narrow


def test_a_flag_that_the_repository_lowers_is_told(tmp_path: Path, workspace: Path) -> None:
    # C16: else a flag would seem to do nothing
    (workspace / "rebut.toml").write_text("[limits]\nrounds = 1\ncalls = 9\n")
    done = rebut.run("duel", "t", rounds=2, limits={"calls": 50, "timeout": 60}, **duels.seats(tmp_path))
    notes = voices.record(done.session).facts["notes"].value
    assert [note for note in notes if "rebut.toml" in note] == [
        "limits.calls: 50 was asked for, rebut.toml permits 9, so 9",
        "limits.rounds: 2 was asked for, rebut.toml permits 1, so 1",
    ]


def test_dollars_for_a_model_of_unknown_price_are_refused_unless_tokens_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C4
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    path = protocol(tmp_path, ENDING)
    seats = {"author": "openai:nobody-knows-this-1", "critic": "openai:nobody-knows-this-2"}
    with pytest.raises(
        rebut.UsageError, match=r"price of openai:nobody-knows-this-1 \(author\) is not known"
    ) as caught:
        rebut.run(path, "t", limits={"usd": 5}, workspace=tmp_path, **seats)
    assert "so --max-usd of $5.00 cannot be kept" in caught.value.message
    assert "--max-tokens" in caught.value.hint
    assert sessions.sessions(sessions.home()) == []
    (tmp_path / "rebut.toml").write_text("[limits]\nusd = 2\n")
    with pytest.raises(rebut.UsageError, match=r"so the config's limit of \$2\.00 cannot be kept"):
        rebut.run(path, "t", workspace=tmp_path, **seats)
    (tmp_path / "rebut.toml").unlink()
    setup = Setup(workspace=tmp_path)
    assert setup.plan(path, "t", limits={"usd": 5, "tokens": 1000}, **seats).limits.usd == 5


# minutes


def aged(seconds: float, *, worked: bool = True, earlier: bool = False) -> None:
    """Make the session older: as if its last event had come that much later than its first.

    Without `worked`, only the clock on the wall moved meanwhile. An `earlier` version recorded that clock alone.
    """
    place = voices.folder() / "journal.jsonl"
    from datetime import datetime, timedelta

    from rebut.record.journal import digest

    out, prev = [], ""
    rows = [json.loads(line) for line in place.read_bytes().splitlines()]
    for n, row in enumerate(rows):
        late = seconds if n == len(rows) - 1 else 0
        row["at"] = (datetime.fromisoformat(row["at"]) + timedelta(seconds=late)).isoformat(timespec="milliseconds")
        row["ran"] += round(1000 * late) if worked else 0
        if earlier:
            del row["ran"]
        row["prev"] = prev
        raw = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
        prev = digest(raw)
        out.append(raw + b"\n")
    place.write_bytes(b"".join(out))


MINUTES = """
closing_tokens = 6000
judge = "critic"
seats = {"author": 1, "critic": 1}

async def run(debate):
    n = 0
    for r in debate.rounds(5):
        await r.ask(debate.seat("author"), "say", "Say.")
        n += 1
    end = await debate.ask(debate.seat("critic"), "close", "Close.", closing=True)
    return Outcome("done", "DONE", stopped=debate.stopped, data={"rounds": n, "end": end.value})
"""


def test_minutes_end_the_rounds_with_time_kept_for_the_closing_call_and_are_named(tmp_path: Path) -> None:
    # C4
    path = protocol(tmp_path, MINUTES)
    run(path, Voice(), limits={"minutes": 10})
    voices.crash_at(voices.is_("answered", "r1/say@author"))
    aged(8 * 60)
    outcome = resume(Voice())
    assert outcome.data == {"rounds": 1, "end": "yes"}
    assert outcome.stopped == "the limit of 10 min was reached"
    again = asyncio.run(rebut.replay(outcome.session))
    assert (again.data, again.stopped) == (outcome.data, outcome.stopped)


def test_raising_the_minutes_lets_the_rounds_go_on(tmp_path: Path) -> None:
    # C4
    path = protocol(tmp_path, MINUTES)
    run(path, Voice(), limits={"minutes": 10})
    voices.crash_at(voices.is_("answered", "r1/say@author"))
    aged(8 * 60)
    resume(Voice())
    voices.crash_at(voices.is_("fact", "r2/limits"))
    assert voices.record().facts["r2/limits"].value
    assert resume(Voice(), limits={"minutes": 60}).data["rounds"] == 5


def test_time_between_two_runs_does_not_count(tmp_path: Path) -> None:
    # C4: active minutes
    path = protocol(tmp_path, MINUTES)
    run(path, Voice(), limits={"minutes": 10})
    voices.crash_at(voices.is_("answered", "r1/say@author"))
    rows = voices.record().lines
    from datetime import datetime, timedelta

    from rebut.record.events import Line, Resumed

    later = (datetime.fromisoformat(rows[-1].at) + timedelta(days=3)).isoformat(timespec="milliseconds")
    assert Record([*rows, Line(len(rows) + 1, later, Resumed())]).active_seconds() < 60


@pytest.mark.parametrize("jump", [8 * 60, 3 * 86_400, -8 * 60, -3 * 86_400])
def test_a_clock_that_jumps_or_a_machine_that_sleeps_does_not_use_up_the_minutes(tmp_path: Path, jump: int) -> None:
    # C4
    path = protocol(tmp_path, MINUTES)
    run(path, Voice(), limits={"minutes": 10})
    voices.crash_at(voices.is_("answered", "r1/say@author"))
    aged(jump, worked=False)
    outcome = resume(Voice())
    assert outcome.data["rounds"] == 5 and outcome.stopped == ""
    assert outcome.spent.seconds < 60 and outcome.rounds.seconds < 60


def test_in_a_journal_of_an_earlier_version_the_time_of_day_counts(tmp_path: Path) -> None:
    # C4
    path = protocol(tmp_path, MINUTES)
    run(path, Voice(), limits={"minutes": 10})
    voices.crash_at(voices.is_("answered", "r1/say@author"))
    aged(8 * 60, earlier=True)
    assert 8 * 60 <= voices.record().active_seconds() < 9 * 60
    assert resume(Voice()).stopped == "the limit of 10 min was reached"
    assert 8 * 60 <= voices.record().active_seconds() < 9 * 60


def test_a_process_that_is_stopped_does_not_use_up_the_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C4: the clock of the process runs on after Ctrl-Z, and on some systems while the machine sleeps
    monkeypatch.setattr("rebut.core.working_time.BEAT", 0.01)
    monkeypatch.setattr("rebut.core.working_time.STOPPED", 0.2)

    def stopped(request: Request) -> str:
        if request.key == "r2/say@author":
            time.sleep(3.5)  # nothing of this process runs meanwhile
        return "yes"

    outcome = run(protocol(tmp_path, MINUTES), Voice(stopped), limits={"minutes": 0.05})
    assert outcome.data["rounds"] == 5 and outcome.stopped == ""
    assert outcome.spent.seconds < 3


def test_a_persons_time_is_not_the_debates(tmp_path: Path) -> None:
    # C4
    def connect(spec: ModelSpec) -> Connection:
        return Connection(Voice("of a person"), lambda i, o: 0.0, patient=True)

    setup = Setup(workspace=tmp_path)
    setup.connect, setup.environment = connect, replace(setup.environment, connect=connect)
    path = protocol(tmp_path, MINUTES)
    asyncio.run(rebut.start(path, "t", setup=setup, limits={"minutes": 10}, author="human", critic="human"))
    voices.crash_at(voices.is_("attempt", "r1/say@author"))
    place = voices.folder() / "journal.jsonl"
    text = place.read_text()
    import re

    assert re.search(r'"kind":"attempt".*"patient":true', text)
    place.write_text(re.sub(r'"patient":true', '"ms":540000,"patient":true', re.sub(r'"ms":\d+,', "", text)))
    aged(9 * 60, earlier=True)
    assert voices.record().active_seconds() < 60
    assert asyncio.run(rebut.resume(voices.folder().name, setup=setup)).data["rounds"] == 5


def test_a_persons_time_is_not_in_what_a_run_records_as_worked(tmp_path: Path) -> None:
    # C4
    async def thinks(request: Request) -> str:
        await asyncio.sleep(0.2)
        return "of a person"

    def connect(spec: ModelSpec) -> Connection:
        return Connection(Voice(thinks), lambda i, o: 0.0, patient=True)

    setup = Setup(workspace=tmp_path)
    setup.connect, setup.environment = connect, replace(setup.environment, connect=connect)
    path = protocol(tmp_path, MINUTES)
    outcome = asyncio.run(rebut.start(path, "t", setup=setup, limits={"minutes": 10}, author="human", critic="human"))
    assert outcome.data["rounds"] == 5 and outcome.spent.seconds < 0.8, "six answers took 1.2 s"


def test_a_persons_time_is_taken_off_once_while_a_model_answers_next_to_them(tmp_path: Path) -> None:
    # C4
    async def thinks(request: Request) -> str:
        await asyncio.sleep(0.5 if "first" in request.key else 0.2 if request.participant.seat == "author" else 0.3)
        return "yes"

    def connect(spec: ModelSpec) -> Connection:
        return Connection(Voice(thinks), lambda i, o: 0.0, patient=spec.provider == "human")

    setup = Setup(workspace=tmp_path, backends={"fake": Voice()})
    setup.connect, setup.environment = connect, replace(setup.environment, connect=connect)
    body = """
await debate.ask(debate.seat("author"), "first", "Say.")
for r in debate.rounds(4):
    await r.ask_all("say", [Ask(debate.seat("author"), "Say."), Ask(debate.seat("critic"), "Say.")])
return done()
"""
    path = protocol(tmp_path, body)
    outcome = asyncio.run(rebut.start(path, "t", setup=setup, limits={"minutes": 10}, author="fake:a", critic="human"))
    assert 0.5 <= outcome.spent.seconds < 1.2, "the time before the rounds counts once, not once for each answer"
    assert voices.record().active_seconds() < 1.2, "a resumed debate begins with this"


def test_the_hint_for_a_limit_names_the_flag_that_raises_it(tmp_path: Path) -> None:
    # C4
    path = protocol(tmp_path, 'await debate.ask(debate.seat("author"), "draft", "Write.")\nreturn done()')
    run(path, Voice(), limits={"minutes": 10})
    voices.crash_at(voices.is_("asked"))
    aged(11 * 60)
    with pytest.raises(rebut.ParticipantFailed, match="limit of 10 min") as caught:
        resume(Voice())
    assert "--budget-minutes" in caught.value.hint
    with pytest.raises(rebut.ParticipantFailed) as caught:
        run(path, Voice(), limits={"tokens": 1})
    assert "--max-tokens" in caught.value.hint
