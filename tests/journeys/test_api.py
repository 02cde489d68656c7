"""The library door, as a program of somebody else's uses it."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest

import rebut
from rebut.core import errors
from rebut.record import sessions
from tests import duels, voices
from tests.loopback import Loopback
from tests.voices import Voice, protocol


def test_a_duel_from_plain_code(tmp_path: Path, workspace: Path) -> None:
    # C13
    outcome = rebut.run("duel", "Redis or cookies?", rounds=2, **duels.seats(tmp_path))
    assert isinstance(outcome, rebut.Outcome)
    assert outcome.verdict
    assert outcome.verdict.winner == "challenger"
    assert outcome.verdict.recommendation == outcome.decision == "Sign cookies, and drop the store."
    assert (outcome.heading, outcome.conclusive, outcome.exit_code) == ("VERDICT", True, 0)
    assert [(p.id, outcome.ledger.status(p.id)) for p in outcome.ledger.open] == [
        ("D2", "unresolved"),
        ("D3", "raised"),
    ]
    assert outcome.ledger.status("D1") == "conceded"
    assert [(s.seat, s.answered, s.failed) for s in outcome.seats] == [
        ("proposer", 2, 0),
        ("challenger", 2, 0),
        ("judge", 1, 0),
    ]
    assert (outcome.spent.calls, outcome.spent.tokens, outcome.spent.usd) == (5, 750, 0.0)


def test_start_resume_fork_and_replay_are_coroutines_and_agree(tmp_path: Path, workspace: Path) -> None:
    # C13
    async def all_four() -> None:
        seats = duels.seats(tmp_path, {"verdict@judge": [{"fail": "timeout"}, duels.verdict()]})
        with pytest.raises(rebut.Aborted) as caught:
            await rebut.start("duel", "Redis?", **seats)
        assert "judge" in caught.value.message
        id = voices.folder().name
        done = await rebut.resume(id)
        assert done.session == id and done.verdict
        again = await rebut.replay(id)
        assert (again.verdict, again.final, again.ledger) == (done.verdict, done.final, done.ledger)
        duels.seats(tmp_path)
        branch = await rebut.fork(id, rounds=1)
        assert branch.session != id and branch.spent.calls == 1
        assert await rebut.resume("last") in (done, branch)

    asyncio.run(all_four())


def test_two_debates_run_side_by_side_in_one_program(tmp_path: Path) -> None:
    # C13
    path = protocol(
        tmp_path, 'a = await debate.ask(debate.seat("author"), "x", debate.topic)\nreturn done(said=a.value)'
    )

    async def both() -> list[rebut.Outcome]:
        seats = {"author": "fake:a", "critic": "fake:b", "workspace": tmp_path}
        voice = Voice(lambda r: r.prompt.upper())
        return list(
            await asyncio.gather(*(rebut.start(path, t, backends={"fake": voice}, **seats) for t in ("tea", "rum")))
        )

    first, second = asyncio.run(both())
    assert (first.data["said"], second.data["said"]) == ("TEA", "RUM")
    assert first.session != second.session


def test_two_debates_at_one_desk_do_not_get_in_each_others_way(workspace: Path) -> None:
    # C13
    said, both = duels.answers(1), asyncio.Event()

    async def speak(request: rebut.Request) -> rebut.Reply:
        if len(voice.asked) == 2:
            both.set()
        await both.wait()  # the same key is asked in both of them at once
        return rebut.Reply(json.dumps(said[request.key]), "m", "f", rebut.Usage(1, 1), 0.0)

    voice = Voice(speak)

    async def play_both() -> list[rebut.Outcome]:
        setup = rebut.api.Desk(workspace=workspace, backends={"fake": voice})
        seats = {"proposer": "fake:a", "challenger": "fake:b", "judge": "fake:c", "rounds": 1}
        return await asyncio.gather(*(rebut.start("duel", topic, setup=setup, **seats) for topic in ("tea?", "rum?")))

    assert [outcome.heading for outcome in asyncio.run(play_both())] == ["VERDICT", "VERDICT"]
    assert len(voice.asked) == 6


def test_what_a_debate_cost_is_unknown_when_a_price_is_never_zero(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C4
    path = protocol(tmp_path, 'await debate.ask(debate.seat("author"), "x", "?")\nreturn done()')
    with Loopback(lambda body: "yes") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        outcome = rebut.run(path, "t", author="openai:nobody-knows-this-1", critic="openai:nobody-knows-this-2")
    assert outcome.spent.usd is None
    assert outcome.spent.tokens > 0 and outcome.spent.calls == 1


def test_an_unknown_keyword_is_said_with_those_that_exist(tmp_path: Path, workspace: Path) -> None:
    # C17
    with pytest.raises(rebut.UsageError, match="duel has no seat or setting 'referee'") as caught:
        rebut.run("duel", "Redis?", referee="x", **duels.seats(tmp_path))
    assert all(name in caught.value.hint for name in ("proposer", "challenger", "judge", "rounds"))
    for act in (rebut.resume, rebut.replay):
        with pytest.raises(rebut.UsageError, match="no 'rounds'"):
            asyncio.run(act("last", rounds=3))
    assert sessions.sessions(sessions.home()) == []


@pytest.mark.parametrize("rounds", [0, 6, 9, "many"])
def test_a_setting_out_of_range_is_said_before_any_call(tmp_path: Path, workspace: Path, rounds: object) -> None:
    # D1
    with pytest.raises(rebut.UsageError, match="rounds"):
        rebut.run("duel", "Redis?", rounds=rounds, **duels.seats(tmp_path))
    assert sessions.sessions(sessions.home()) == []


def test_a_seat_left_empty_is_said_before_any_call(tmp_path: Path, workspace: Path) -> None:
    # C17
    seats = duels.seats(tmp_path)
    with pytest.raises(rebut.UsageError, match="needs a challenger"):
        rebut.run("duel", "Redis?", proposer=seats["proposer"])
    with pytest.raises(rebut.UsageError, match="challenger are both"):
        rebut.run("duel", "Redis?", proposer=seats["proposer"], challenger=seats["proposer"])
    assert sessions.sessions(sessions.home()) == []


def test_a_fallback_goes_nowhere_that_a_seat_may_not_go(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C16
    (tmp_path / "config.toml").write_text("[egress]\nallow = []\n")
    monkeypatch.setenv("REBUT_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(rebut.UsageError, match=r"openai \(proposer\) is not among the providers"):
        rebut.run("duel", "Redis?", fallbacks={"proposer": "openai:m"}, **duels.seats(tmp_path))
    assert sessions.sessions(sessions.home()) == []


@pytest.mark.parametrize("name", ["", "zzzz", "abcdefgh", "../../etc", "last"])
def test_a_session_that_is_not_there_is_said(tmp_path: Path, name: str) -> None:
    # C13
    for act in (rebut.resume, rebut.fork, rebut.replay):
        with pytest.raises(errors.UnknownSession):
            asyncio.run(act(name))


def test_a_protocol_file_of_ones_own_with_seats_settings_a_form_and_points(tmp_path: Path) -> None:
    # C13: a fifth protocol is one file
    path = tmp_path / "review.py"
    path.write_text(
        '''"""Two reviewers look at a text."""

from pydantic import BaseModel, Field

from rebut import Ask, Debate, Form, Outcome, Point


class Settings(BaseModel):
    strict: bool = Field(default=False, description="count everything")


class Review(Form):
    flaw: str
    severity: str = "P2"


seats = {"reviewer": 2}
letter = "F"


async def run(debate: Debate) -> Outcome:
    """Both look, and what they find is entered in the order of their seats."""
    asks = [Ask(who, debate.quote("text", debate.topic), schema=Review) for who in debate.seats("reviewer")]
    got = await debate.ask_all("review", asks, need=2)
    await debate.note("review", [Point(a.value.flaw, a.who.seat, 1) for a in got.answered])
    return Outcome("review", f"{len(debate.ledger.points)} FLAWS", data={"strict": debate.settings.strict})
'''
    )
    voice = Voice(lambda r: json.dumps({"flaw": f"found by {r.participant.seat}"}))
    reviewers = ["fake:a", "fake:b"]
    for given in (path, str(path)):
        outcome = rebut.run(
            given, "A text.", reviewer=reviewers, strict=True, backends={"fake": voice}, workspace=tmp_path
        )
        assert (outcome.heading, outcome.data) == ("2 FLAWS", {"strict": True})
        assert [(p.id, p.text) for p in outcome.ledger.points] == [
            ("F1", "found by reviewer.1"),
            ("F2", "found by reviewer.2"),
        ]
    with pytest.raises(rebut.UsageError, match="needs 2 reviewers, got 1"):
        rebut.run(path, "A text.", reviewer="fake:a", backends={"fake": voice}, workspace=tmp_path)
    # resume, replay and fork find the file again by themselves
    assert asyncio.run(rebut.replay(outcome.session)).heading == "2 FLAWS"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("seats = {'a': 1}", "no `run`"),
        ("async def run(debate): ...", "no `seats`"),
        ("def run(:", "cannot be loaded"),
        ("import not_a_module_at_all", "cannot be loaded"),
    ],
)
def test_a_file_that_is_no_protocol_is_said_so(tmp_path: Path, source: str, said: str) -> None:
    # C17
    path = tmp_path / "bad.py"
    path.write_text(source)
    with pytest.raises(rebut.UsageError, match=said):
        rebut.run(path, "t", workspace=tmp_path)


def test_an_unknown_protocol_is_said_with_those_that_ship(tmp_path: Path) -> None:
    # C17
    with pytest.raises(rebut.UsageError, match="no protocol is called 'jury'") as caught:
        rebut.run("jury", "t")
    assert "duel" in caught.value.hint
    with pytest.raises(rebut.UsageError, match="there is no file"):
        rebut.run(tmp_path / "gone.py", "t")


def test_a_listener_hears_every_event_as_it_is_recorded_and_text_as_it_streams(tmp_path: Path, workspace: Path) -> None:
    # C14
    heard, pieces = [], []
    control = rebut.Control(on_text=lambda key, piece: pieces.append((key, piece)))
    outcome = rebut.run("duel", "Redis?", listener=heard.append, control=control, **duels.seats(tmp_path))
    assert [line.seq for line in heard] == list(range(1, len(heard) + 1))
    assert [line.event.kind for line in heard] == [e.kind for e in voices.events(outcome.session)]
    opening = "".join(piece for key, piece in pieces if key == "r1/opening@proposer")
    assert json.loads(opening) == duels.opening()


def test_the_example_protocol_in_the_docs_runs(tmp_path: Path) -> None:
    # C13
    path = Path(__file__).parents[2] / "docs/examples/steelman.py"
    from rebut.engine.protocol import load

    made = load(path)
    seats = {role: [f"fake:{role}{n}" for n in range(count)] for role, count in made.seats.items()}

    def fill(request: rebut.Request) -> str:
        fields = (request.schema or {}).get("properties", {})
        assert isinstance(fields, dict)
        kinds = {"string": "words", "array": [], "boolean": True, "integer": 1, "number": 1}
        out = {}
        for name, field in fields.items():
            assert isinstance(field, dict)
            out[name] = field["enum"][0] if "enum" in field else kinds.get(str(field.get("type")), "words")  # type: ignore[index]
        return json.dumps(out) if fields else "words"

    outcome = rebut.run(path, "Tabs or spaces?", backends={"fake": Voice(fill)}, workspace=tmp_path, **seats)
    assert outcome.complete and outcome.heading
    assert asyncio.run(rebut.replay(outcome.session)).heading == outcome.heading


def test_a_fork_with_a_long_copy_to_make_holds_up_nobody_else(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C13
    from rebut.engine import fork as forking

    copied, others_are_done = forking._copy_snapshot, threading.Event()
    in_time: list[bool] = []

    def long(kept: Path, into: Path) -> None:
        in_time.append(others_are_done.wait(20))
        copied(kept, into)

    async def both() -> None:
        first = await rebut.start("duel", "Redis?", **duels.seats(tmp_path))
        (voices.folder(first.session) / "snapshot").mkdir(exist_ok=True)
        monkeypatch.setattr(forking, "_copy_snapshot", long)
        fork = asyncio.ensure_future(rebut.fork(first.session))
        while not in_time and not fork.done() and len(sessions.sessions(sessions.home())) < 2:
            await rebut.start("duel", "Memcached?", **duels.seats(tmp_path))
        others_are_done.set()
        await fork

    asyncio.run(both())
    assert in_time == [True]


def test_run_in_a_running_loop_says_what_to_write_there(tmp_path: Path, workspace: Path) -> None:
    # C13: a notebook has a loop of its own
    async def cell() -> None:
        with pytest.raises(rebut.UsageError, match="inside a running event loop") as caught:
            rebut.run("duel", "Redis?", **duels.seats(tmp_path))
        assert "await rebut.start(" in caught.value.hint

    asyncio.run(cell())


def test_a_workspace_that_is_not_there_is_refused(tmp_path: Path, workspace: Path) -> None:
    # C11: every citation would be absent, and held against whoever made it
    with pytest.raises(rebut.UsageError, match=r"there is no folder .*/nowhere"):
        rebut.run("duel", "Redis?", workspace=tmp_path / "nowhere", **duels.seats(tmp_path))
    assert sessions.sessions(sessions.home()) == []
