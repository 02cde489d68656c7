"""The doctor: what works here, what does not, and what to do about it."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_discover import NOWHERE

from rebut.backends.http.openai import OpenAI
from rebut.cli.app import enter
from rebut.core.errors import ParticipantFailed
from rebut.core.types import ModelSpec, Reply, Request
from rebut.engine.runtime import Connection
from rebut.setup import doctor
from rebut.setup.config import Config
from rebut.setup.discover import FoundModel
from rebut.setup.doctor import Health
from tests import fake_tool
from tests.loopback import Loopback


class Model:
    """Answers the doctor's questions by a function of the prompt."""

    def __init__(self, says: Callable[[Request], str], family: str = "f") -> None:
        self.says, self.family = says, family
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        return Reply(self.says(request), family=self.family)


def good(request: Request) -> str:
    """Does as it is told: the word at the end, the text as given, the form filled in."""
    if request.schema:
        return json.dumps({"word": re.findall(r'"(\w+)"', request.prompt)[0], "count": 3})
    if far := re.search(r"The word is (\w+)\.", request.prompt):
        return far[1]
    return request.prompt.partition(": ")[2]


def refuses(kind: str, message: str, hint: str) -> Callable[[Request], str]:
    def fail(request: Request) -> str:
        raise ParticipantFailed(kind, message, hint)

    return fail


def seen(says: Callable[[Request], str], kind: Any = "tool", config: Config | None = None, **more: Any) -> Health:
    one = FoundModel("claude", kind, True, "2.1", (ModelSpec("claude"),), only_named=more.pop("only_named", False))
    model = Model(says, "anthropic")
    whole = config or Config()
    got = asyncio.run(doctor.examine([one], whole, lambda spec: Connection(model, family="anthropic"), **more))
    assert not (more.get("offline") and model.asked), "offline asks nobody"
    return got[0]


def test_a_round_trip_shows_login_time_and_family() -> None:  # H13
    health = seen(good)
    assert (health.login, health.can_debate, health.family, health.problem) == ("yes", True, "anthropic", "")
    assert health.seconds is not None


def test_words_that_are_not_the_ones_asked_for_are_no_round_trip() -> None:  # C5 H13: a notice, a cached text
    health = seen(lambda request: "Welcome! How can I help?")
    assert not health.can_debate and "Welcome! How can I help?" in health.problem and health.advice


def test_a_refused_login_is_told_with_what_to_do() -> None:  # H13
    health = seen(refuses("auth", "exit 41: no auth method", "Run it once and log in."))
    assert (health.login, health.can_debate, health.seconds) == ("no", False, None)
    assert "exit 41" in health.problem and health.advice == "Run it once and log in."
    broken = seen(refuses("crashed", "exit 1", "Resume to ask again."))
    assert "by hand" in broken.advice, "there is no debate to resume"
    moved = "Redirects are not followed: set base_url to the final address."
    assert seen(refuses("crashed", "a redirect", moved)).advice == moved, "but there is an address to mend"
    assert seen(refuses("timeout", "no answer", "")).login == "?", "a timeout tells nothing of the login"


def test_offline_asks_nobody_and_says_no_login() -> None:  # H13
    health = seen(good, offline=True)
    assert health.can_debate and health.login == "?" and health.seconds is None


def test_deep_tries_a_form_all_of_unicode_and_a_long_prompt() -> None:  # H13
    assert [c.passed for c in seen(good, deep=True).checks] == [True, True, True]
    sizes: list[int] = []

    def ascii_only(request: Request) -> str:
        sizes.append(len(request.prompt.encode()))
        return good(request).encode("ascii", "replace").decode()

    poor = seen(ascii_only, deep=True)
    assert [c.name for c in poor.checks if not c.passed] == ["non-ASCII"]
    assert poor.can_debate and "non-ASCII" in poor.problem
    assert max(sizes) >= 199_000


def levels(says: Callable[[Request], Any], kind: Any = "key") -> tuple[str, ...]:
    def reply(request: Request) -> Any:
        found = says(request)
        return found if isinstance(found, Reply) else Reply(good(request))

    class Noting(Model):
        async def complete(self, request: Request) -> Reply:
            got: Reply = reply(request)
            return got

    one = FoundModel("they", kind, True, "KEY", (ModelSpec("they", "m"),))
    return asyncio.run(doctor.examine([one], Config(), lambda spec: Connection(Noting(good)), deep=True))[0].efforts


def test_deep_finds_out_which_levels_of_effort_this_model_takes() -> None:  # H13
    def none_above_high(request: Request) -> Any:
        lowered = request.participant.spec.effort == "max"
        return Reply("yes", notes=("they has no effort above high; continued with that",)) if lowered else None

    def broken_at_low(request: Request) -> Any:
        if request.participant.spec.effort == "low":
            raise ParticipantFailed("crashed", "500")

    def about_something_else(request: Request) -> Any:
        return Reply("yes", notes=("answered on try 2",)) if request.participant.spec.effort else None

    assert levels(lambda request: None) == ("low", "medium", "high", "max")
    assert levels(none_above_high) == ("low", "medium", "high")
    assert levels(broken_at_low) == ("medium", "high", "max")
    assert levels(about_something_else) == ("low", "medium", "high", "max")


def test_deep_asks_a_real_wire_for_its_levels() -> None:  # H13
    def said(body: dict[str, Any]) -> str:
        return fake_tool.obeyed(body["messages"][0]["content"], "")

    one = FoundModel("they", "server", True, "here", (ModelSpec("they", "m"),))
    seen = []
    for refuse in ([], ["reasoning_effort"]):
        with Loopback(said, refuse=refuse) as server:
            url = server.url
            healths = asyncio.run(
                doctor.examine(
                    [one],
                    Config(),
                    lambda spec, url=url: Connection(OpenAI(base_url=url, api_key="", model="m")),  # type: ignore[misc]
                    deep=True,
                )
            )
        assert healths[0].problem == "" and server.calls == (8 if not refuse else 12)
        seen.append(healths[0].efforts)
    assert seen == [("low", "medium", "high", "max"), ()]


def test_a_provider_that_egress_does_not_list_is_not_called() -> None:  # C16
    model = Model(good)
    one = FoundModel("claude", "tool", True, "2.1", (ModelSpec("claude"),))
    config = Config(user_allow=("codex",))
    health = asyncio.run(doctor.examine([one], config, lambda spec: Connection(model)))[0]
    assert not model.asked and not health.can_debate and "[egress] allow" in health.problem


def test_the_embedded_model_is_tried_and_not_counted_as_a_family() -> None:  # H13
    health = seen(lambda request: "hello there", kind="embedded", only_named=True)
    assert health.can_debate and health.seconds is not None
    assert doctor.families([replace(health, family="tiny"), seen(good)]) == ["anthropic"]


def test_all_are_examined_at_once() -> None:  # H13: each waits until the other has been asked
    async def both() -> list[Health]:
        inside = asyncio.Barrier(2)

        class Meeting(Model):
            async def complete(self, request: Request) -> Reply:
                async with asyncio.timeout(5):
                    await inside.wait()
                return await super().complete(request)

        found = [FoundModel(name, "tool", True, "1", (ModelSpec(name),)) for name in ("claude", "codex")]
        return await doctor.examine(found, Config(), lambda spec: Connection(Meeting(good, spec.provider)))

    assert doctor.families(asyncio.run(both())) == ["claude", "codex"]


# the command, with fakes on a PATH of its own


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config.toml").write_text(NOWHERE)
    monkeypatch.setenv("REBUT_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PROGRAMDATA", json.dumps({"expand": True}))  # gives its prompt back, with the word in it
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_families_that_answer_give_a_table_and_code_0(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # H13 C17
    fake_tool.install(machine / "bin", "claude", "codex")
    assert enter(["doctor"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"claude +999\.0\.0 +yes +\d+\.\d s +low…max +CLAUDE\.md", out)
    assert "2 families can debate: anthropic, openai." in out
    [missing] = [line for line in out.splitlines() if "not found here: " in line]
    names = missing.partition(": ")[2].split(", ")
    assert {"gemini", "qwen"} <= set(names) and not {"claude", "codex"} & set(names)
    assert "→ `rebut models` says how to get each of them." in out
    assert "making 4 small calls, at most $0.00 plus the unknown price of claude, codex;" in err, "said before"


def test_the_keys_that_a_tool_does_not_get_are_listed(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # C9 C16
    fake_tool.install(machine / "bin", "claude", "codex")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-2")
    enter(["doctor", "--offline", "claude", "codex"])
    out = capsys.readouterr().out
    rows = {line.partition(": ")[0].strip(): line for line in out.splitlines() if "not passed to" in line}
    assert "AWS_SECRET_ACCESS_KEY" in rows["not passed to claude"]
    assert "ANTHROPIC_API_KEY" not in rows["not passed to claude"]
    assert "ANTHROPIC_API_KEY" in rows["not passed to codex"]
    assert "secret-1" not in out and "secret-2" not in out
    enter(["doctor", "--offline", "--json", "claude"])
    assert "AWS_SECRET_ACCESS_KEY" in json.loads(capsys.readouterr().out)["providers"][0]["withheld"]


def test_one_that_is_not_logged_in_leaves_one_family_and_code_3(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # H13 C17
    fake_tool.install(machine / "bin", "claude")
    monkeypatch.setenv("PROGRAMDATA", json.dumps({"out": "", "err": "Not logged in\n", "exit": 1}))
    assert enter(["doctor", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    row, gone = told["providers"][0], {one["provider"]: one for one in told["missing"]}
    assert "claude" not in gone and gone["gemini"]["advice"].startswith("Install it")
    assert row["login"] is False and "log in" in row["advice"]
    assert enter(["doctor"]) == 3
    out, err = capsys.readouterr()
    assert "no family can debate: `rebut models` lists the providers" in out and "making 2 small calls," in err


def test_one_that_was_named_is_shown_though_it_is_not_here(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert enter(["doctor", "gemini"]) == 3  # H13
    assert "→ not installed. Install it: npm install" in capsys.readouterr().out
    assert enter(["doctor"]) == 3
    assert "no model is available" in capsys.readouterr().out


def test_an_unknown_name_is_said_to_be_unknown(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert enter(["doctor", "gmini"]) == 3
    assert "unknown provider 'gmini'" in capsys.readouterr().out


def test_whether_each_tool_reads_its_context_file_is_shown(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # H13
    fake_tool.install(machine / "bin", "claude", "codex")
    monkeypatch.setenv("PROGRAMDATA", json.dumps({"obeys": True}))
    assert enter(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "CLAUDE.md, read" in out and "AGENTS.md, read" in out and "passed:" not in out
    monkeypatch.setenv("PROGRAMDATA", json.dumps({"obeys": True, "blind": True}))
    assert enter(["doctor"]) == 0, "it can debate all the same"
    out = capsys.readouterr().out
    assert "CLAUDE.md, not read" in out and "a panel writes this tool's persona into the prompt instead" in out


def test_deep_shows_whether_each_tool_reads_its_context_file(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # H13, H3
    fake_tool.install(machine / "bin", "claude", "codex")
    monkeypatch.setenv("PROGRAMDATA", json.dumps({"obeys": True}))
    assert enter(["doctor", "--deep"]) == 0
    out, err = capsys.readouterr()
    assert "CLAUDE.md, read" in out and "AGENTS.md, read" in out
    assert "passed: schema reply, non-ASCII, 200 kB prompt, context file" in out
    assert "making 10 small calls" in err
    monkeypatch.setenv("PROGRAMDATA", json.dumps({"obeys": True, "blind": True}))
    assert enter(["doctor", "--deep", "--json"]) == 0, "it can debate; its persona must go into the prompt"
    for row in json.loads(capsys.readouterr().out)["providers"]:
        assert [c["name"] for c in row["checks"] if not c["passed"]] == ["context file"]
        assert "given no such file" in row["advice"]
    assert enter(["doctor", "--deep"]) == 0
    assert "CLAUDE.md, not read" in capsys.readouterr().out


def test_a_tool_that_shows_no_login_is_tried_all_the_same(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # H13
    fake_tool.install(machine / "bin", "claude")
    monkeypatch.setenv("COMSPEC", "1")
    assert enter(["doctor", "--json"]) == 3
    row = json.loads(capsys.readouterr().out)["providers"][0]
    assert row["can_debate"] and row["login"] is True and "rebut does not choose it itself" in row["problem"]
    assert enter(["doctor", "--offline", "--json"]) == 3
    row = json.loads(capsys.readouterr().out)["providers"][0]
    assert not row["can_debate"] and row["login"] is False and "log in" in row["advice"]


def test_an_embedded_model_alone_can_debate_with_itself_and_is_not_called_nobody() -> None:  # H13
    from rebut.cli.commands.doctor import rows

    alone = [Health("local", "0.1", can_debate=True, only_shows=True)]
    said = rows(alone, doctor.families(alone), offline=False)
    assert "only SmolLM2 135M can debate, and only if named" in said[-2] and "rebut models get" in said[-1]
