"""The tools of `rebut mcp` by the SDK's client: what they return, wait for, refuse and leave on record."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import crosses
import duels
import hosts
import pytest
from hosts import LEGACY, MODERN, asked, beside, call, inside, record, refusal, refused, talk, until
from mcp.client import Client

from rebut.mcp import server as served, tools
from rebut.record import sessions

NAMES = ["check", "debate", "review", "plan", "result", "answer", "stop"]


@pytest.mark.parametrize("era", [MODERN, LEGACY])
def test_both_eras_over_the_streams_of_a_process(shop: Path, own_home: Path, era: str) -> None:  # C1 C17
    hosts.reviewers(own_home)

    async def use(client: Client) -> None:
        assert (client.protocol_version >= MODERN) == (era == MODERN)
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == NAMES
        assert [tool.name for tool in tools if tool.annotations.read_only_hint] == ["check", "result"]
        text = 'It is in `api/orders.py:5 "commit(order)"`, not in `api/pay.py:1`.'
        found = await asked(client, "check", text=text)
        assert found["heading"] == "2 CITATIONS: 1 absent, 1 found" and found["findings"][0]["place"] == "api/pay.py:1"
        found = await asked(client, "review")
        assert (found["status"], found["heading"]) == ("done", "1 PROBLEM TO FIX (1 P1)"), found
        (one,) = found["findings"]
        assert (one["id"], one["severity"], one["place"]) == ("F1", "P1", "api/orders.py:5")
        assert (one["mark"], one["fate"]) == ("found", "valid")
        assert found["cost"]["calls"] == 2
        listed = (await client.list_resources()).resources
        assert [str(one.uri) for one in listed] == [f"rebut://session/{found['session']}"]
        (page,) = (await client.read_resource(f"rebut://session/{found['session']}")).contents
        assert page.text.startswith("# review: ") and "It commits before it charges." in page.text

    talk(beside(shop, era), use)


def test_a_debate_outlives_the_server_and_another_one_has_its_result(shop: Path, own_home: Path) -> None:  # C3 K6
    hosts.reviewers(own_home, slow_critic(6))
    before = children()

    async def begin(client: Client) -> str:
        found = await asked(client, "review", wait_seconds=0)
        assert found["status"] == "running" and found["heading"].startswith("RUNNING: 0 answers"), found
        assert found["session"] in found["next"]
        (host,) = children() - before
        os.kill(int(host), signal.SIGKILL)
        return str(found["session"])

    try:
        session = talk(beside(shop), begin)
    except BaseExceptionGroup:  # the client of a server that was killed may say so
        session = next(iter(sessions.sessions(sessions.home()))).id
    pid = sessions.running(sessions.home() / session)
    assert pid, "the debate has a process of its own"
    parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    assert os.getsid(int(pid)) != os.getsid(0) and parent not in (str(os.getpid()), "0"), (
        "nor does it belong to another"
    )

    async def fetch(client: Client) -> dict[str, Any]:
        return await asked(client, "result", session=session)

    found = talk(beside(shop, LEGACY), fetch)
    assert (found["status"], found["findings"][0]["id"]) == ("done", "F1")
    assert "resumed" not in hosts.kinds(session), "nothing interrupted it"


def slow_critic(seconds: float) -> dict[str, Any]:
    return {"r1/critique@critic": {"json": crosses.critique(crosses.raised()), "delay": seconds}}


def children() -> set[str]:
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def test_a_cancelled_call_does_not_end_its_debate(shop: Path, own_home: Path) -> None:
    hosts.reviewers(own_home, delay=1)

    async def cancel(client: Client) -> None:
        asking = asyncio.ensure_future(client.call_tool("review", {}))
        while not (found := sessions.sessions(sessions.home())) or not record(found[0].id).in_doubt:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        asking.cancel()
        found = await asked(client, "result", session="last")
        assert found["status"] == "done"

    talk(inside(shop), cancel)


def test_a_debate_whose_process_died_is_continued_and_nothing_is_asked_twice(shop: Path, own_home: Path) -> None:  # C3
    hosts.reviewers(own_home, {"r1/judgement@judge": {"hang": True}})
    id = call(shop, "review", wait_seconds=0)["session"]
    until(lambda: record(id).answers == 1)
    os.kill(int(sessions.running(sessions.home() / id)), signal.SIGKILL)
    until(lambda: not sessions.running(sessions.home() / id))
    found = call(shop, "result", session=id)
    assert found["status"] == "stopped" and found["heading"].startswith("STOPPED BEFORE ITS END: 1 answer is recorded")
    assert f'resume "{id}"' in found["next"] and found["findings"][0]["id"] == "F1"
    hosts.reviewers(own_home)
    found = call(shop, "debate", resume=id)
    assert (found["status"], found["session"]) == ("done", id)
    assert len(record(id).calls["r1/critique@critic"].asked) == 1


def test_progress_is_reported_while_a_call_waits(shop: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "PROGRESS", 0.2)
    hosts.reviewers(own_home, delay=1)
    lines: list[str] = []

    async def watch(client: Client) -> None:
        async def told(done: float, total: float | None, message: str | None) -> None:
            lines.append(message or "")

        await client.call_tool("review", {}, progress_callback=told)

    talk(inside(shop), watch)
    assert any("r1/critique@critic asked" in line for line in lines), lines
    assert any(line.startswith("1 answer, r1/judgement@judge") for line in lines), lines


def test_the_same_debate_is_not_started_twice(shop: Path, own_home: Path) -> None:
    hosts.reviewers(own_home, delay=1)
    first = call(shop, "review", wait_seconds=0)
    again = call(shop, "review", wait_seconds=0)
    assert first["session"] == again["session"]
    call(shop, "result", session=first["session"])
    assert call(shop, "review")["session"] == first["session"], "nor is it repeated once it has ended"
    (shop / "README.md").write_text("# Another change\n")
    assert call(shop, "review")["session"] != first["session"]


# the caller's seat


def test_the_host_itself_has_a_seat(workspace: Path, own_home: Path) -> None:  # C1
    hosts.duellists(own_home, seats={"judge": "caller"})
    found = call(workspace, "debate", topic=duels.TOPIC, protocol="duel")
    id, question = found["session"], found["question"]
    assert found["status"] == "waiting" and question["key"] == "verdict@judge"
    text = "".join(call(workspace, "result", session=id, part=n)["question"]["text"] for n in _parts(question))
    assert duels.TOPIC in text
    schema = question["answer_schema"]
    if schema.startswith("at the end"):
        schema = text.partition("The JSON schema of the answer:\n\n")[2]
    assert json.loads(schema)["properties"]["winner"], "nothing of it is cut"
    assert "not r1/opening" in refusal(workspace, "answer", session=id, key="r1/opening@proposer", answer="x")
    assert call(workspace, "debate", topic=duels.TOPIC, protocol="duel")["session"] == id, "it waits for its caller"
    again = call(workspace, "answer", session=id, key="verdict@judge", answer="not JSON")
    assert again["status"] == "waiting" and "JSON" in again["question"]["text"]
    done = call(workspace, "answer", session=id, answer=json.dumps(duels.verdict()))
    assert (done["status"], done["session"]) == ("done", id) and "challenger" in done["heading"]
    assert call(workspace, "answer", session=id, answer="late")["status"] == "done"


def _parts(question: dict[str, Any]) -> range:
    return range(1, question.get("parts", 1) + 1)


def test_a_question_to_a_person_is_never_answered_by_the_host(workspace: Path, own_home: Path) -> None:  # C16
    hosts.duellists(own_home, seats={"judge": "human"})
    found = call(workspace, "debate", topic=duels.TOPIC, protocol="duel")
    assert found["status"] == "waiting" and found["heading"].startswith("WAITING FOR A PERSON")
    assert f"rebut resume {found['session']}" in found["next"] and "question" not in found
    why = refusal(workspace, "answer", session=found["session"], answer=json.dumps(duels.verdict()))
    assert "a person's turn" in why
    assert record(found["session"]).closed is None


def test_an_answer_through_the_host_applies_nothing(shop: Path, own_home: Path) -> None:  # C16
    from console import piped

    said = {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/rewrite@critic": crosses.patch()}
    critic = crosses.seats(own_home / "seats", said)["critic"]
    words = ("review", "--critic", critic, "--judge", "caller", "--fix", "--apply", "--json")
    begun = json.loads(piped(*words, cwd=shop).stdout)
    assert begun["exit"] == 4, begun
    found = call(shop, "answer", session=begun["session"], answer=json.dumps(crosses.judgement("B")))
    assert found["status"] in ("done", "inconclusive", "failed"), found
    assert (shop / "api/orders.py").read_text() == crosses.AFTER, "the working tree is as it was"


def test_no_check_is_run_for_a_host(shop: Path, own_home: Path) -> None:  # C16
    from console import piped

    hosts.reviewers(own_home, more="[checks]\nrun = true\n")
    found = call(shop, "review")
    assert found["status"] == "done" and "checks" not in record(found["session"]).facts
    critic = crosses.seats(own_home / "seats", {"r1/critique@critic": crosses.critique(crosses.raised())})["critic"]
    words = ("review", "--critic", critic, "--judge", "caller", "--run-checks", "--json")
    begun = json.loads(piped(*words, cwd=shop).stdout)
    assert begun["exit"] == 4 and "checks" in record(begun["session"]).facts, begun
    why = refusal(shop, "answer", session=begun["session"], answer=json.dumps(crosses.judgement()))
    assert "runs checks" in why and f"rebut resume {begun['session']}" in why
    assert "runs checks" in refusal(shop, "debate", resume=begun["session"])


# stopping


def test_a_debate_is_drained(shop: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # C21
    monkeypatch.setattr(tools, "SETTLED", 40.0)
    hosts.reviewers(own_home, slow_critic(5))
    id = call(shop, "review", wait_seconds=0)["session"]
    until(lambda: record(id).in_doubt)
    found = call(shop, "stop", session=id)
    assert found["status"] == "stopped" and record(id).answers == 1, "the call in flight was paid for, and kept"
    assert call(shop, "debate", resume=id)["status"] == "done"
    assert call(shop, "stop", session=id)["status"] == "done"


def test_a_debate_is_settled(workspace: Path, own_home: Path) -> None:  # C21
    slow = {key: {"json": said, "delay": 4} for key, said in duels.answers(2).items() if key.startswith("r1/")}
    hosts.duellists(own_home, slow)
    id = call(workspace, "debate", topic=duels.TOPIC, protocol="duel", wait_seconds=0)["session"]
    until(lambda: record(id).in_doubt)
    call(workspace, "stop", session=id, how="settle")
    found = call(workspace, "result", session=id)
    assert found["status"] in ("done", "inconclusive")
    assert not any(key.startswith("r2/") for key in record(id).calls)


def test_a_debate_that_is_closing_is_not_settled_but_can_be_dropped(workspace: Path, own_home: Path) -> None:  # C21
    hosts.duellists(own_home, {"verdict@judge": {"hang": True}})
    id = call(workspace, "debate", topic="Redis?", protocol="duel", wait_seconds=0)["session"]
    until(lambda: "verdict@judge" in record(id).calls)
    assert "closing" in refusal(workspace, "stop", session=id, how="settle")
    assert call(workspace, "stop", session=id)["status"] == "running", "the call in flight may finish"
    assert call(workspace, "stop", session=id)["status"] == "stopped"


# failures, in words


def test_a_seat_that_fails_is_no_result(shop: Path, own_home: Path) -> None:  # C5
    hosts.reviewers(own_home, {"r1/critique@critic": {"fail": "auth", "message": "answered 401"}})
    found = call(shop, "review")
    assert found["status"] == "failed" and found["heading"].startswith("NO RESULT: the critic gave no answer (auth)")
    assert "answered 401" in found["heading"]


def test_a_debate_that_cannot_continue_is_no_result(workspace: Path, own_home: Path) -> None:  # C5
    hosts.duellists(own_home, {"r1/opening@proposer": {"fail": "auth", "message": "answered 401"}})
    found = call(workspace, "debate", topic=duels.TOPIC, protocol="duel")
    assert found["status"] == "failed" and found["heading"].startswith("NO RESULT: the proposer gave no answer (auth)")
    assert "answered 401" in found["heading"]


def test_every_refusal_reaches_the_model_in_words(shop: Path, own_home: Path, tmp_path: Path) -> None:  # C5
    (tmp_path / "secret.md").write_text("See `a.py:1`.\n")
    (shop / "link.md").symlink_to(tmp_path / "secret.md")
    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("either text or path", "check", {}),
        ("either text or path", "check", {"text": "x", "path": "README.md"}),
        ("outside of the workspace", "check", {"path": "../secret.md"}),
        ("outside of the workspace", "check", {"path": "link.md"}),
        ("is not a path", "check", {"path": "a\0b"}),
        ("is not a path", "debate", {"topic": "x", "context": ["a\0b"]}),
        ("outside of the workspace", "check", {"path": "/etc/passwd"}),
        ("No such file", "check", {"path": "nope.md"}),
        ("outside of the workspace", "plan", {"path": str(tmp_path / "secret.md")}),
        ("outside of the workspace", "review", {"change": "../secret.md"}),
        ("outside of the workspace", "debate", {"topic": "x", "context": [".."]}),
        ("there is no file, commit, branch or tag", "review", {"change": "nope"}),
        ("either path or text", "plan", {}),
        ("there is no file nope.md", "plan", {"path": "nope.md"}),
        ("needs a topic", "debate", {"topic": "  "}),
        ("protocol: Input should be", "debate", {"topic": "x", "protocol": "cross"}),
        ("wait_seconds: Input should be less", "debate", {"topic": "x", "wait_seconds": 3600}),
        ("Extra inputs", "review", {"apply": True}),
        ("Extra inputs", "review", {"run_checks": True}),
        ("Give resume alone", "debate", {"resume": "abcd", "topic": "x"}),
        ("no session is called 'zzzz'", "result", {"session": "zzzz"}),
        ("no session", "result", {"session": "last"}),
        ("no session", "result", {"session": "../../etc"}),
        ("session: Field required", "answer", {"answer": "x"}),
        ("there is no tool apply", "apply", {}),
        ("a call cannot name human", "debate", {"topic": "x", "models": ["human"]}),
        ("a call cannot name scripted", "review", {"models": ["scripted:a.json"]}),
        ("a call cannot name gguf", "review", {"models": ["gguf:/tmp/a.gguf"]}),
        ("does not allow openai ([egress] allow)", "review", {"models": ["openai:gpt-5"]}),
        ("needs two models", "debate", {"topic": "Redis?"}),
    ]

    async def all_of_them(client: Client) -> None:
        for words, tool, arguments in cases:
            said = await refused(client, tool, **arguments)
            assert words in said, f"{tool} {arguments}: {said}"

    talk(inside(shop), all_of_them)
    assert sessions.sessions(sessions.home()) == []


def test_a_config_with_a_mistake_is_told_not_crashed_on(shop: Path, own_home: Path) -> None:
    hosts.configure(own_home, {}, "[limits\n")
    assert "line 3" in refusal(shop, "review")


def test_the_home_folder_is_no_workspace(own_home: Path) -> None:  # C16
    assert "your home folder, which is no workspace" in refusal(own_home, "check", text="x")
    assert "--root" in refusal(own_home, "debate", topic="x")
    gone = own_home / "${workspaceFolder}"
    assert "there is no folder" in refusal(gone, "check", text="x")


def test_a_session_of_another_folder_is_out_of_reach(shop: Path, own_home: Path) -> None:  # C16
    workspace = crosses.repository(own_home / "elsewhere")
    hosts.reviewers(own_home)
    id = call(shop, "review")["session"]
    assert "another folder" in refusal(workspace, "result", session=id)

    async def read(client: Client) -> str:
        with pytest.raises(Exception, match="another folder"):
            await client.read_resource(f"rebut://session/{id}")
        with pytest.raises(Exception, match="there is no resource"):
            await client.read_resource("rebut://session/../x")
        return str((await client.list_resources()).resources)

    assert talk(inside(workspace), read) == "[]"


# who may be asked, and for how much


def test_only_the_users_own_list_permits_a_provider(shop: Path, own_home: Path) -> None:  # C16
    listed = '[egress]\nallow = ["here"]\n[providers.here]\nwire = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
    hosts.configure(own_home, {}, listed)
    (shop / "rebut.toml").write_text('[egress]\nallow = ["openai", "here"]\n')
    assert "the user's config does not allow openai ([egress] allow)" in refusal(
        shop, "review", models=["openai:gpt-5"]
    )
    (shop / "rebut.toml").write_text('[egress]\nallow = ["openai"]\n')
    assert "rebut.toml of this workspace does not allow here ([egress] allow)" in refusal(
        shop, "review", models=["here:m"]
    )
    (shop / "rebut.toml").unlink()
    found = call(shop, "review", models=["here:m", "rules"])
    assert found["status"] == "failed" and "here" in found["heading"], "it was asked, and is not there"


def test_a_debate_of_the_terminal_with_another_model_is_not_continued(shop: Path, own_home: Path) -> None:  # C16
    from console import piped

    server = '[providers.here]\nwire = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
    hosts.configure(own_home, {}, server)
    words = ("review", "--critic", "here:m", "--judge", "rules", "--json", "--max-tokens", "9000")
    begun = json.loads(piped(*words, cwd=shop).stdout)
    why = refusal(shop, "debate", resume=begun["session"])
    assert "uses here, which is not in [egress] allow" in why and f"rebut resume {begun['session']}" in why


@pytest.mark.parametrize(
    ("config", "repository", "given", "limit"),
    [("", "", 100, 1), ("", "", 0.25, 0.25), ("3", "", 2, 2), ("3", "", 9, 3), ("", "50", 0, 1), ("3", "2", 0, 2)],
)
def test_a_call_only_lowers_the_users_limits(
    shop: Path, own_home: Path, config: str, repository: str, given: float, limit: float
) -> None:  # C4
    hosts.reviewers(own_home, more=f"[limits]\nusd = {config}\n" if config else "")
    if repository:
        (shop / "rebut.toml").write_text(f"[limits]\nusd = {repository}\n")
    found = call(shop, "review", max_usd=given)
    assert record(found["session"]).limits["usd"] == limit


# size


def test_a_result_is_never_larger_than_8_kb(shop: Path, own_home: Path) -> None:  # C17
    many = [crosses.raised(f"{n}: " + "問題" * 400, evidence=[]) for n in range(40)]
    rulings = {f"F{n}": "valid P1" for n in range(1, 41)}
    hosts.reviewers(
        own_home,
        {"r1/critique@critic": crosses.critique(*many), "r1/judgement@judge": crosses.judgement("E", rulings)},
    )
    found = call(shop, "review")
    assert len(found["findings"]) >= 3 and "more, not shown; all of them: resource" in found["more"]


@pytest.mark.parametrize("word", ["plain words ", '"\\\n', "問題"])
def test_a_long_question_comes_in_parts_and_nothing_is_lost(workspace: Path, own_home: Path, word: str) -> None:
    hosts.duellists(own_home, seats={"proposer": "caller"})
    topic = f"Is this a good text? {word * (9000 // len(word))} END"
    found = call(workspace, "debate", topic=topic, protocol="duel", max_usd=None)
    id, parts = found["session"], found["question"]["parts"]
    assert parts > 1 and "part 2" in found["next"]
    text = "".join(call(workspace, "result", session=id, part=n)["question"]["text"] for n in range(1, parts + 1))
    assert text.count(word.strip()) >= 9000 // len(word) and " END" in text
