"""A whole duel over the wire, against a server that behaves as badly as servers do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duels
import pytest
from loopback import Loopback

import rebut
from rebut.core.errors import Aborted
from rebut.record import sessions
from rebut.record.record import Record

FORMS = {
    "Opening": "r1/opening@proposer",
    "Challenge": "r1/challenge@challenger",
    "Defense": "r2/defense@proposer",
    "FollowUp": "r2/follow-up@challenger",
    "Decision": "verdict@judge",
}


@pytest.fixture
def server() -> Any:
    said = duels.answers(2)
    with Loopback(answers={form: said[key] for form, key in FORMS.items()}) as running:
        yield running


def duel(server: Loopback, folder: Path, **more: Any) -> rebut.Outcome:
    env = {"REBUT_HOME": str(folder / "home"), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test-0123456789"}
    named: dict[str, Any] = {"proposer": "openai:a", "challenger": "openai:b", "judge": "openai:c", "rounds": 2}
    return rebut.run("duel", "Redis or not?", workspace=folder, env=env, **(named | more))


def record(folder: Path) -> Record:
    [one] = sessions.sessions(folder / "home/sessions")
    return sessions.load(one.folder)


def test_a_duel_runs_over_the_wire(server: Loopback, tmp_path: Path) -> None:  # D1 D8
    outcome = duel(server, tmp_path)
    assert outcome.heading == "VERDICT" and server.calls == 5
    assert outcome.spent.tokens > 0 and outcome.spent.usd is None, "the price of an unknown model is unknown, not 0"
    assert [body["response_format"]["json_schema"]["name"] for body in server.bodies] == list(FORMS)
    assert {s.spoke for s in outcome.seats} == {("loopback-1",)}
    assert server.connections == 1, "one shared client keeps its connection"


def test_a_server_that_refuses_schemas_gets_them_in_the_prompt(server: Loopback, tmp_path: Path) -> None:
    server.control(refuse=["response_format"])
    said = duels.answers(2)
    server.script.answers = {}  # without a schema in the request, the server must be told apart by the prompt
    order = iter(FORMS.values())
    server._answer = lambda body: __import__("json").dumps(said[next(order)])
    outcome = duel(server, tmp_path)
    assert outcome.heading == "VERDICT"
    assert any("schema" in note for note in outcome.notes)


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ({"mode": "status", "status": 401}, "auth"),
        ({"mode": "status", "status": 403}, "auth"),
        ({"mode": "status", "status": 429, "retry_after": "900"}, "rate limit"),
        ({"mode": "empty"}, "bad reply"),
        ({"mode": "deep-plain"}, "bad reply"),
        ({"mode": "deep-frame"}, "bad reply"),
        ({"mode": "prose"}, "bad reply"),
        ({"mode": "cut"}, "bad reply"),
        ({"mode": "huge"}, "bad reply"),
        ({"mode": "error-in-stream"}, "crashed"),
        ({"mode": "no-done"}, "crashed"),
        ({"mode": "stall"}, "timeout"),
        ({"mode": "hang"}, "timeout"),
        ({"mode": "refusal"}, "bad reply"),
    ],
)
def test_what_is_no_answer_is_a_failure_with_a_class_and_never_an_argument(
    server: Loopback, tmp_path: Path, script: dict[str, Any], kind: str
) -> None:  # C5 D7
    server.control(**script)
    with pytest.raises(Aborted) as caught:
        duel(server, tmp_path, limits={"timeout": 1.5 if kind == "timeout" else 20})
    call = record(tmp_path).calls["r1/opening@proposer"]
    assert call.answered is None and call.failed is not None
    assert call.failed.failure == kind
    assert kind in caught.value.message or "timed out" in caught.value.message
    assert "sk-test-0123456789" not in (tmp_path / "home").rglob("journal.jsonl").__next__().read_text()


@pytest.mark.parametrize("script", [{"mode": "fenced"}, {"mode": "plain"}, {"mode": "crlf"}, {"mode": "thinking"}])
def test_an_answer_in_another_dress_is_still_an_answer(
    server: Loopback, tmp_path: Path, script: dict[str, Any]
) -> None:
    server.control(**script)
    assert duel(server, tmp_path).heading == "VERDICT"


def test_a_short_rate_limit_is_waited_for_and_noted(server: Loopback, tmp_path: Path) -> None:  # C5
    server.control(mode="status", status=429, retry_after="0", first=1)
    outcome = duel(server, tmp_path)
    assert outcome.heading == "VERDICT" and server.calls == 6
    assert any("try 2" in note for note in outcome.notes)


LOST: dict[str, dict[str, Any]] = {
    "reset": {"mode": "reset"},
    "empty stream": {"mode": "frames", "frames": []},
    "a gateway that waited in vain": {"mode": "status", "status": 504},
    "a gateway that could not read the answer": {"mode": "status", "status": 502},
}


@pytest.mark.parametrize("how", LOST)
def test_a_request_that_was_lost_on_its_way_is_an_attempt_of_its_own(
    server: Loopback, tmp_path: Path, how: str
) -> None:  # C3 C4
    server.control(**LOST[how], first=1)
    outcome = duel(server, tmp_path)
    assert outcome.heading == "VERDICT" and server.calls == outcome.spent.calls == 6
    call = record(tmp_path).calls["r1/opening@proposer"]
    assert [(asked.why, bool(asked.prompt)) for asked in call.asked.values()] == [("ask", True), ("again", False)]
    assert [(a.outcome, a.again) for a in call.attempts.values()] == [("crashed", True), ("ok", False)]
    assert call.in_doubt == []
    assert outcome.spent.usd is None, "what the lost one cost is unknown"


def test_a_process_that_dies_between_two_sendings_goes_on_with_the_next(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C3
    import asyncio

    from rebut.record import journal

    class Died(BaseException):
        pass

    good = journal.Journal.write

    def dies(self: journal.Journal, event: object) -> None:
        good(self, event)  # type: ignore[arg-type]
        if getattr(event, "why", "") == "again":
            raise Died

    server.control(mode="reset", first=1)
    with monkeypatch.context() as broken:
        broken.setattr(journal.Journal, "write", dies)
        with pytest.raises(Died):
            duel(server, tmp_path)
    env = {"REBUT_HOME": str(tmp_path / "home"), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test-0123456789"}
    outcome = asyncio.run(rebut.resume("last", workspace=tmp_path, env=env))
    call = record(tmp_path).calls["r1/opening@proposer"]
    assert outcome.heading == "VERDICT" and server.calls == 6
    assert sorted(call.asked) == [1, 2, 3] and sorted(call.attempts) == [1, 3], "the second one is in doubt"
    assert outcome.spent.in_doubt == 1


def test_a_failed_debate_goes_on_when_the_server_is_well_again(server: Loopback, tmp_path: Path) -> None:  # C3 D7
    server.control(mode="status", status=401)
    with pytest.raises(Aborted):
        duel(server, tmp_path)
    server.control(mode="ok")
    import asyncio

    env = {"REBUT_HOME": str(tmp_path / "home"), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test-0123456789"}
    outcome = asyncio.run(rebut.resume("last", workspace=tmp_path, env=env))
    assert outcome.heading == "VERDICT"
    assert server.calls == 6


def test_an_unreachable_host_says_where_and_what_to_do(tmp_path: Path) -> None:  # C5
    env = {
        "REBUT_HOME": str(tmp_path / "home"),
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        "OPENAI_API_KEY": "sk-test",
    }
    with pytest.raises(Aborted) as caught:
        rebut.run(
            "duel", "x?", workspace=tmp_path, env=env, proposer="openai:a", challenger="openai:b", limits={"timeout": 1}
        )
    assert "127.0.0.1:1" in caught.value.message
    assert caught.value.hint


def test_a_provider_of_the_users_config_wins_over_a_shipped_one(server: Loopback, tmp_path: Path) -> None:  # C1
    mine = tmp_path / "config.toml"
    mine.write_text(
        f'[providers.openai]\nwire = "openai"\nbase_url = "{server.url}"\nmodel = "mine"\nfamily = "home"\n'
    )
    env = {"REBUT_HOME": str(tmp_path / "home"), "REBUT_CONFIG": str(mine), "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    outcome = rebut.run("duel", "x?", workspace=tmp_path, env=env, proposer="openai", challenger="openai:b", rounds=2)
    assert outcome.heading == "VERDICT"
    assert server.bodies[0]["model"] == "mine" and outcome.seats[0].family == "home"
    assert "authorization" not in {name.lower() for name in server.headers[0]}


def test_a_seat_that_nobody_named_needs_a_terminal_or_a_listing(server: Loopback, tmp_path: Path) -> None:  # C16
    mine = tmp_path / "config.toml"
    seats = '[seats]\nproposer = "openai:a"\nchallenger = "openai:b"\n'
    env = {"REBUT_HOME": str(tmp_path / "home"), "REBUT_CONFIG": str(mine), "OPENAI_BASE_URL": server.url}
    mine.write_text(seats)
    with pytest.raises(rebut.UsageError, match="no terminal"):
        rebut.run("duel", "x?", workspace=tmp_path, env=env)
    assert server.calls == 0
    mine.write_text(seats + '[egress]\nallow = ["openai"]\n')
    assert rebut.run("duel", "x?", workspace=tmp_path, env=env).heading == "VERDICT"


def test_a_repository_may_narrow_but_not_widen(server: Loopback, tmp_path: Path) -> None:  # C16
    (tmp_path / "rebut.toml").write_text('[egress]\nallow = ["scripted"]\n')
    with pytest.raises(rebut.UsageError, match="not among the providers"):
        duel(server, tmp_path)
    (tmp_path / "rebut.toml").write_text("[limits]\ncalls = 3\n")
    outcome = duel(server, tmp_path)
    assert outcome.heading == "VERDICT AFTER 1 OF 2 ROUNDS" and "3 calls" in outcome.stopped
    (tmp_path / "rebut.toml").write_text('[providers.openai]\nbase_url = "http://elsewhere.invalid/v1"\n')
    with pytest.raises(rebut.UsageError, match="a repository may not"):
        duel(server, tmp_path)
    assert server.calls == 3
