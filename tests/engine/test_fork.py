"""Forks: what a branch takes over, what it asks anew, and that it stands on its own."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

import rebut
from rebut import api
from rebut.core.errors import NotAvailable
from rebut.record import sessions
from tests import crosses, duels, voices
from tests.voices import Voice, protocol

SEATS = {"author": "fake:a", "critic": "fake:b"}

CHAIN = """
from pydantic import BaseModel

class Settings(BaseModel):
    rounds: int = 1
    tone: str = "calm"

seats = {"author": 1, "critic": 1}

async def run(debate):
    said = []
    for r in debate.rounds(debate.settings.rounds):
        a = await r.ask(debate.seat("author"), "draft", f"On {debate.topic}, after {said}.")
        b = await r.ask(debate.seat("critic"), "judge", f"Judge {a.value}.")
        said += [a.value, b.value]
    c = await debate.ask(debate.seat("critic"), "close", f"Close {said}, {debate.settings.tone}.")
    return done(said=said, closed=c.value)
"""


def run(path: Path, voice: Voice, **named: object) -> rebut.Outcome:
    return rebut.run(path, "tea", backends={"fake": voice}, **{"workspace": path.parent, **SEATS, **named})


def fork(id: str, voice: Voice, **changes: object) -> rebut.Outcome:
    planned = asyncio.run(api.fork_plan(id, backends={"fake": Voice(AssertionError("a plan calls nobody"))}, **changes))
    before = set(sessions.home().iterdir())
    outcome = asyncio.run(rebut.fork(id, backends={"fake": voice}, **changes))
    assert len(set(sessions.home().iterdir()) - before) == 1
    copied = [e for e in voices.events(outcome.session, "answered") if e.copied_from]
    assert planned[0] == len(copied), "as many are reused as was said beforehand"
    return outcome


def test_a_fork_that_changes_nothing_asks_nothing_and_costs_nothing(tmp_path: Path) -> None:
    # C13
    parent = run(protocol(tmp_path, CHAIN), Voice(lambda r: f"answer to {r.key}"))
    voice = Voice()
    outcome = fork(parent.session, voice)
    assert voice.asked == []
    assert outcome.data == parent.data
    assert (outcome.spent.calls, outcome.spent.tokens, outcome.spent.usd) == (0, 0, 0.0)
    assert parent.spent.calls == 3
    assert outcome.session != parent.session
    assert {e.copied_from for e in voices.events(outcome.session, "answered")} == {parent.session}
    assert voices.record(outcome.session).opened.forked_from == parent.session


def test_another_model_in_a_seat_is_asked_anew_with_all_that_follows_from_its_answer(tmp_path: Path) -> None:
    # C13: the seat is part of the fingerprint, though not of the key
    parent = run(protocol(tmp_path, CHAIN), Voice(lambda r: f"answer to {r.key}"))
    voice = Voice("of the new critic")
    outcome = fork(parent.session, voice, critic="fake:c")
    assert voice.keys == ["r1/judge@critic", "close@critic"]
    assert [e.key for e in voices.events(outcome.session, "answered") if e.copied_from] == ["r1/draft@author"]
    assert outcome.data["said"] == ["answer to r1/draft@author", "of the new critic"]
    assert outcome.seats[1].spec == "fake:c"


def test_an_answer_that_stays_the_same_lets_later_answers_be_reused(tmp_path: Path) -> None:
    # C13: what counts is the question, not who was asked before
    parent = run(protocol(tmp_path, CHAIN), Voice("same"))
    voice = Voice("same")
    outcome = asyncio.run(rebut.fork(parent.session, author="fake:z", backends={"fake": voice}))
    assert voice.keys == ["r1/draft@author"]
    assert outcome.data == parent.data


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ({"topic": "coffee"}, ["r1/draft@author", "r1/judge@critic", "close@critic"]),
        ({"tone": "sharp"}, ["close@critic"]),
        ({"rounds": 2}, ["r2/draft@author", "r2/judge@critic", "close@critic"]),
        ({"limits": {"calls": 50}}, []),
    ],
)
def test_only_what_a_change_touches_is_asked_anew(tmp_path: Path, changes: dict[str, object], asked: list[str]) -> None:
    # C13
    parent = run(protocol(tmp_path, CHAIN), Voice(lambda r: f"answer to {r.key}"))
    voice = Voice(lambda r: f"new answer to {r.key}")
    outcome = fork(parent.session, voice, **changes)
    assert voice.keys == asked
    assert len(voices.record(outcome.session).calls) == (5 if "rounds" in changes else 3)


def test_a_fork_of_a_closed_session_goes_on_though_the_session_itself_is_closed(tmp_path: Path) -> None:
    # C13, C4
    parent = run(protocol(tmp_path, CHAIN), Voice())
    before = (voices.folder(parent.session) / "journal.jsonl").read_bytes()
    voice = Voice("more")
    assert asyncio.run(rebut.resume(parent.session, backends={"fake": voice})) == parent
    assert voice.asked == []
    outcome = fork(parent.session, voice, rounds=2)
    assert outcome.data["said"][2:] == ["more", "more"]
    assert (voices.folder(parent.session) / "journal.jsonl").read_bytes() == before


def test_a_fork_stands_on_its_own_when_its_parent_is_deleted(tmp_path: Path, workspace: Path) -> None:
    # C13
    folder = tmp_path / "scripts"
    folder.mkdir()
    parent = rebut.run("duel", "Redis?", context=["src/session.py"], **duels.seats(folder))
    said = duels.answers() | {"verdict@judge": duels.verdict(winner="proposer")}
    branch = asyncio.run(rebut.fork(parent.session, judge=duels.script(folder / "j2.json", said, model="j2")))
    assert branch.verdict and branch.verdict.winner == "proposer"
    shutil.rmtree(voices.folder(parent.session))
    again = asyncio.run(rebut.replay(branch.session))
    assert (again.heading, again.verdict, again.final) == (branch.heading, branch.verdict, branch.final)
    marks = [e.mark for c in again.ledger.claims for e in c.evidence]
    assert "found" in marks
    # and a fork of the fork, which needs the snapshot and the files that were given as context
    third = asyncio.run(rebut.fork(branch.session, judge=duels.script(folder / "j3.json", said, model="j3")))
    assert third.spent.calls == 1
    assert {e.copied_from for e in voices.events(third.session, "answered")} - {""} == {parent.session}


def test_a_fork_that_was_killed_takes_over_the_rest_on_resume(tmp_path: Path) -> None:
    # C3, C13: the result is the one that an uninterrupted fork gives
    parent = run(protocol(tmp_path, CHAIN), Voice(lambda r: f"answer to {r.key}"))
    branch = fork(parent.session, Voice("new"), tone="sharp")
    voices.crash_at(voices.is_("answered", "r1/draft@author"), branch.session)
    voice = Voice("new")
    outcome = asyncio.run(rebut.resume(branch.session, backends={"fake": voice}))
    assert outcome.data == branch.data
    assert voice.keys == ["close@critic"]


def test_a_killed_fork_without_its_parent_asks_the_rest_anew(tmp_path: Path) -> None:
    # C13
    parent = run(protocol(tmp_path, CHAIN), Voice())
    branch = fork(parent.session, Voice("new"), tone="sharp")
    voices.crash_at(voices.is_("answered", "r1/draft@author"), branch.session)
    shutil.rmtree(voices.folder(parent.session))
    voice = Voice("new")
    asyncio.run(rebut.resume(branch.session, backends={"fake": voice}))
    assert voice.keys == ["r1/judge@critic", "close@critic"]


def test_a_fork_copies_inputs_and_recomputes_what_was_derived_and_never_takes_a_clock(tmp_path: Path) -> None:
    # C13: fork with derived facts
    path = protocol(
        tmp_path,
        """
def world():
    return (Path(__file__).parent / "world.txt").read_text()

a = await debate.ask(debate.seat("author"), "draft", "Write.")
seen = await debate.once("seen", world, cls="input")
fixed = await debate.once("fixed", world, of="the same")
length = await debate.once("length", lambda: f"{len(a.value)} in {world()}", of=a.value)
clock = await debate.once("clock", world, cls="limit")
b = await debate.ask(debate.seat("critic"), "judge", f"{a.value}, {length}, {seen}")
return done(seen=seen, fixed=fixed, length=length, clock=clock)
""",
    )
    world = tmp_path / "world.txt"
    world.write_text("spring")
    parent = run(path, Voice("one"))
    assert parent.data == {"seen": "spring", "fixed": "spring", "length": "3 in spring", "clock": "spring"}
    world.write_text("autumn")
    other = asyncio.run(rebut.fork(parent.session, author="fake:c", backends={"fake": Voice("three")}))
    assert other.data == {"seen": "spring", "fixed": "spring", "length": "5 in autumn", "clock": "autumn"}
    same = asyncio.run(rebut.fork(parent.session, critic="fake:c", backends={"fake": Voice("one")}))
    assert same.data == {"seen": "spring", "fixed": "spring", "length": "3 in spring", "clock": "autumn"}
    # each fork holds its facts itself
    shutil.rmtree(voices.folder(parent.session))
    assert asyncio.run(rebut.replay(other.session)).data == other.data


def test_marks_of_evidence_are_checked_anew_for_new_claims_against_the_old_snapshot(
    tmp_path: Path, workspace: Path
) -> None:
    # C13, C11
    path = protocol(
        tmp_path,
        """
from rebut.domain.ledger import Evidence

seats = {"author": 1, "critic": 1}

async def run(debate):
    a = await debate.ask(debate.seat("author"), "cite", "Cite.")
    await debate.note("cite", [Claim("so it is", "author", 1, (Evidence("src/session.py:2", a.value),))])
    return done(mark=debate.ledger.claims[0].evidence[0].mark)
""",
    )
    (workspace / "src/session.py").write_text("import redis\nttl = 7200\n")  # not committed: only the snapshot has it
    parent = run(path, Voice("ttl = 7200"), workspace=workspace)
    (workspace / "src/session.py").write_text("everything is new\n")
    invented = asyncio.run(rebut.fork(parent.session, author="fake:c", backends={"fake": Voice("never said")}))
    reworded = asyncio.run(rebut.fork(parent.session, author="fake:d", backends={"fake": Voice("ttl  =  7200")}))
    assert [o.data["mark"] for o in (parent, invented, reworded)] == ["found", "absent", "found"]


def test_limits_on_record_are_taken_over_and_can_be_changed(tmp_path: Path) -> None:
    # C4, C13
    parent = run(protocol(tmp_path, CHAIN), Voice(), limits={"calls": 3})
    same = fork(parent.session, Voice())
    assert voices.record(same.session).limits["calls"] == 3
    with pytest.raises(rebut.ParticipantFailed, match="limit of 1 call "):
        asyncio.run(rebut.fork(parent.session, topic="x", limits={"calls": 1}, backends={"fake": Voice("new")}))


def test_spending_of_the_parent_does_not_count_against_the_fork(tmp_path: Path) -> None:
    # C4
    parent = run(protocol(tmp_path, CHAIN), Voice(), limits={"calls": 3})
    voice = Voice("new")
    fork(parent.session, voice, topic="coffee")
    assert len(voice.asked) == 3


def test_an_unknown_change_is_an_error_before_anything_is_opened(tmp_path: Path) -> None:
    # C17
    parent = run(protocol(tmp_path, CHAIN), Voice())
    before = set(sessions.home().iterdir())
    with pytest.raises(rebut.UsageError, match="no seat or setting 'jury'"):
        asyncio.run(rebut.fork(parent.session, jury="fake:x", backends={"fake": Voice()}))
    assert set(sessions.home().iterdir()) == before


@pytest.mark.parametrize("topic", [" \n", "\x00", "x" * 200_000])
def test_a_fork_takes_no_topic_that_a_start_would_refuse(tmp_path: Path, topic: str) -> None:
    # C17
    parent = run(protocol(tmp_path, CHAIN), Voice())
    before = set(sessions.home().iterdir())
    voice = Voice()
    with pytest.raises(rebut.UsageError, match="topic"):
        asyncio.run(rebut.fork(parent.session, topic=topic, backends={"fake": voice}))
    assert voice.asked == [] and set(sessions.home().iterdir()) == before


def test_a_fork_may_not_seat_one_model_twice_nor_one_that_is_not_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C2, C16: the same rules as at the start
    parent = run(protocol(tmp_path, CHAIN), Voice())
    with pytest.raises(rebut.UsageError, match="are both fake:b"):
        asyncio.run(rebut.fork(parent.session, author="fake:b", backends={"fake": Voice()}))
    config = tmp_path / "config.toml"
    config.write_text('[egress]\nallow = ["fake"]\n')
    monkeypatch.setenv("REBUT_CONFIG", str(config))
    with pytest.raises(rebut.UsageError, match="not among the providers"):
        asyncio.run(rebut.fork(parent.session, author="other:x", backends={"fake": Voice(), "other": Voice()}))


def test_a_changed_form_after_an_upgrade_is_answered_with_the_advice_to_fork_and_the_fork_works(
    tmp_path: Path,
) -> None:
    # C3, C13
    body = """
class Opinion(Form):
    text: str

seats = {"author": 1, "critic": 1}

async def run(debate):
    a = await debate.ask(debate.seat("author"), "draft", "Write.", schema=Opinion)
    b = await debate.ask(debate.seat("critic"), "judge", "Judge.")
    return done(first=a.value.model_dump(), second=b.value)
"""
    path = protocol(tmp_path, body)
    run(path, Voice({"draft@author": '{"text": "old"}'}))
    id = voices.folder().name
    voices.crash_at(voices.is_("asked", "judge@critic"))
    protocol(tmp_path, body.replace("text: str", "text: str\n    version = 2\n    score: int"))
    with pytest.raises(rebut.ReplayMismatch, match="no longer fits") as caught:
        asyncio.run(rebut.resume(id, backends={"fake": Voice()}))
    assert f"rebut fork {id}" in caught.value.hint
    voice = Voice({"draft@author": '{"text": "new", "score": 3}'})
    outcome = asyncio.run(rebut.fork(id, backends={"fake": voice}))
    assert outcome.data == {"first": {"text": "new", "score": 3}, "second": "yes"}


def test_the_program_says_beforehand_how_much_a_fork_reuses(tmp_path: Path, workspace: Path) -> None:
    # C13
    folder = tmp_path / "scripts"
    folder.mkdir()
    parent = rebut.run("duel", "Redis?", **duels.seats(folder))
    other = duels.script(folder / "j2.json", duels.answers(), model="j2")
    only = voices.cli("fork", parent.session, "--judge", other, "--dry-run", "--json")
    assert only.returncode == 0 and '"reused": 4' in only.stdout and '"anew": 1' in only.stdout
    assert len(sessions.sessions(sessions.home())) == 1, "a dry run opens nothing"
    real = voices.cli("fork", parent.session, "--judge", other)
    assert real.returncode == 0, real.stderr
    said = real.stderr.index("reuses 4 answers and asks for about 1 new")
    assert said < real.stderr.index("verdict"), "it is said before the first call"


REFUSES = """
from rebut.core.errors import UsageError

seats = {"author": 1}

async def run(debate):
    a = await debate.ask(debate.seat("author"), "draft", "Say it.")
    if debate.is_fork:
        raise UsageError("there is no room for a fork")
    return done(said=a.value)
"""


@pytest.mark.parametrize("place", ["the protocol", "the snapshot"])
def test_a_fork_that_is_refused_before_any_call_leaves_no_session(  # C13
    tmp_path: Path, workspace: Path, place: str
) -> None:
    path = protocol(tmp_path, REFUSES if place == "the protocol" else CHAIN)
    seats = {"author": "fake:a"} | ({} if place == "the protocol" else {"critic": "fake:b"})
    voice = Voice(lambda r: "yes")
    parent = rebut.run(path, "tea", workspace=workspace, backends={"fake": voice}, **seats)
    kept = sessions.home() / parent.session / "snapshot"
    if place == "the snapshot":
        (workspace / "src/session.py").write_text("another\n")
        parent = rebut.run(path, "tea", workspace=workspace, backends={"fake": voice}, **seats)
        kept = sessions.home() / parent.session / "snapshot"
        (kept / "broken").symlink_to("nowhere")
    before, asked = set(sessions.home().iterdir()), len(voice.asked)
    with pytest.raises(rebut.UsageError, match=r"no room for a fork|could not be copied"):
        asyncio.run(rebut.fork(parent.session, backends={"fake": voice}))
    assert set(sessions.home().iterdir()) == before and len(voice.asked) == asked


def test_a_fork_that_is_refused_after_a_call_of_its_own_is_kept(tmp_path: Path) -> None:  # C3 C13
    path = protocol(tmp_path, REFUSES)
    parent = rebut.run(path, "tea", author="fake:a", workspace=tmp_path, backends={"fake": Voice("one")})
    before = set(sessions.home().iterdir())
    with pytest.raises(rebut.UsageError):
        asyncio.run(rebut.fork(parent.session, author="fake:b", backends={"fake": Voice("two")}))
    assert len(set(sessions.home().iterdir()) - before) == 1


@pytest.mark.parametrize("again", [(), ("--again",)])
def test_a_fork_to_a_model_that_cannot_be_called_is_refused_before_it_exists(  # C13
    tmp_path: Path, shop: Path, again: tuple[str, ...]
) -> None:
    said = {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/judgement@judge": crosses.judgement()}
    parent = crosses.review(shop, said)
    words = ("fork", parent.session, "--judge", "openai:gpt-5-mini")
    done = voices.cli(*words, *again, cwd=shop)
    assert done.returncode == 2 and "openai needs a key: OPENAI_API_KEY is not set" in done.stderr, done.stderr
    assert "reuses" not in done.stderr and "judge  " not in done.stderr, "nothing is announced first"
    with pytest.raises(rebut.UsageError, match="openai needs a key") as refused:
        asyncio.run(rebut.fork(parent.session, judge="openai:gpt-5-mini", again=bool(again)))
    assert not getattr(refused.value, "__notes__", ())
    assert [one.id for one in sessions.sessions(sessions.home())] == [parent.session]
    if not again:  # a rehearsal calls nobody, and needs no key
        assert '"reused": 1' in voices.cli(*words, "--dry-run", "--json", cwd=shop).stdout


def test_a_fork_does_not_need_the_models_whose_answers_it_reuses(tmp_path: Path) -> None:  # C13
    parent = run(protocol(tmp_path, CHAIN), Voice(lambda r: f"answer to {r.key}"))

    def reached(spec: rebut.ModelSpec) -> rebut.Connection:
        if spec.model == "a":
            raise NotAvailable("a is gone")
        return rebut.Connection(Voice("other"), lambda *_: 0.0)

    outcome = asyncio.run(rebut.fork(parent.session, tone="harsh", backends={"fake": reached}))
    assert outcome.data == {**parent.data, "closed": "other"}
    before = set(sessions.home().iterdir())
    with pytest.raises(NotAvailable, match="a is gone"):
        asyncio.run(rebut.fork(parent.session, topic="coffee", backends={"fake": reached}))
    assert set(sessions.home().iterdir()) == before
