"""What is found here, and who of it takes which seat. The environment is the test's own, down to PATH and ports."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from console import at_a_terminal

from rebut.api import Setup
from rebut.backends.cli_tools import tables
from rebut.backends.embedded import weights
from rebut.cli.app import enter
from rebut.core.errors import NotSeated, UsageError
from rebut.core.types import ModelSpec
from rebut.engine.protocol import load
from rebut.engine.runtime import Connection
from rebut.setup import config as configs, discover
from rebut.setup.config import Config
from rebut.setup.connect import connector
from rebut.setup.discover import FoundModel
from rebut.setup.seats import SeatAssignment, Seats
from tests import fake_tool

NOWHERE = "".join(
    f'[providers.{name}]\nbase_url = "http://127.0.0.1:9/v1"\n'
    for name in ("ollama", "lmstudio", "vllm", "llama-server")
)
"""Port 9 has no server: what runs on this machine's usual ports is none of a test's business."""


class Here:
    """A machine of our own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "home").mkdir()
        (root / "bin").mkdir()
        fake_tool.log_in(root / "home")
        self.env = {
            "PATH": f"{root / 'bin'}:{os.environ['PATH']}",
            "HOME": str(root / "home"),
            "REBUT_HOME": str(root / "r"),
        }
        self.file = root / "config.toml"
        self.write("")

    def write(self, more: str) -> None:
        self.file.write_text(NOWHERE + more)
        self.env["REBUT_CONFIG"] = str(self.file)

    def install(self, *names: str) -> None:
        fake_tool.install(self.root / "bin", *names)

    @property
    def config(self) -> Config:
        return configs.load_config(workspace=self.root, env=self.env)

    def look(self) -> dict[str, FoundModel]:
        return {one.name: one for one in asyncio.run(discover.look(self.config, self.env))}

    def seat(self, given: Mapping[str, str] | None = None, *, attended: bool = True) -> Seats:
        config = self.config

        def find(wanted: Callable[[str], bool]) -> Sequence[FoundModel]:
            return discover.look_now(config, self.env, wanted)

        connect = connector(config, self.env, self.root)
        return SeatAssignment(load("duel"), config, connect, attended=attended, find=find).assign(given or {})

    def sits(self, given: Mapping[str, str] | None = None, **more: Any) -> dict[str, str]:
        return {p.seat: str(p.spec) for p in self.seat(given, **more).participants}


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path)


class Listing(BaseHTTPRequestHandler):
    models: tuple[str, ...] = ()

    def do_GET(self) -> None:
        if self.models[:1] == ("refused",):
            return self.send_error(int(self.models[1]))
        body = json.dumps({"data": [{"id": m} for m in self.models]}).encode() if self.path == "/v1/models" else b"{}"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Callable[..., str]]:
    running: list[HTTPServer] = []

    def serve(*models: str) -> str:
        made = HTTPServer(("127.0.0.1", 0), type("Its", (Listing,), {"models": models}))
        running.append(made)
        threading.Thread(target=made.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{made.server_port}/v1"

    yield serve
    for one in running:
        one.shutdown()
        one.server_close()


def test_tools_are_found_with_their_version_and_an_old_one_is_not_usable(here: Here) -> None:  # C2 H13
    here.install("claude", "codex")
    here.env["SYSTEMROOT"] = "999.1.2"
    found = here.look()
    assert (found["claude"].about, found["claude"].specs) == ("999.1.2", (ModelSpec("claude"),))
    assert not found["gemini"].here and "npm install" in found["gemini"].advice
    here.env["SYSTEMROOT"] = "0.0.1"
    old = here.look()["codex"]
    assert old.here and not old.usable and "older than" in old.problem and "Update" in old.advice


def test_a_key_needs_a_model_and_the_shipped_ones_have_a_known_price(here: Here) -> None:  # C2 C4
    here.env |= {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-test", "GEMINI_API_KEY": "sk-test"}
    here.env["OPENROUTER_API_KEY"] = "sk-test"
    found = here.look()
    connect = connector(here.config, here.env, here.root)
    for name in ("openai", "anthropic", "google"):
        assert found[name].usable and connect(found[name].specs[0]).price(1000, 1000), name
    assert not found["openrouter"].usable and "providers.openrouter" in found["openrouter"].advice


def test_a_server_here_is_asked_for_its_models_and_one_of_each_family_may_sit(
    here: Here, server: Callable[..., str]
) -> None:  # C2
    here.write("")
    text = here.file.read_text().replace("http://127.0.0.1:9/v1", server("nomic-embed", "qwen3:8b", "llama3.2"), 1)
    here.file.write_text(text)
    assert [str(s) for s in here.look()["ollama"].specs] == ["ollama:qwen3:8b", "ollama:llama3.2"]
    assert "nothing answers" in here.look()["lmstudio"].problem
    assert here.sits() == {"proposer": "ollama:qwen3:8b", "challenger": "ollama:llama3.2", "judge": "ollama:qwen3:8b"}


def test_the_embedded_model_is_there_with_its_runner_and_its_weights(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:  # C2
    monkeypatch.setattr(weights, "has_runner", lambda: False)
    assert "pip install" in here.look()["local"].advice
    monkeypatch.setattr(weights, "has_runner", lambda: True)
    assert "rebut models get" in here.look()["local"].advice
    monkeypatch.setattr(weights, "is_here", lambda larger=None, env=None: larger is None)
    assert here.look()["local"].usable


def test_the_smallest_embedded_model_takes_no_seat_that_nobody_gave_it(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "has_runner", lambda: True)
    monkeypatch.setattr(weights, "is_here", lambda larger=None, env=None: larger is None)
    found = [here.look()["local"]]
    assert found[0].usable and found[0].only_named

    def connect(spec: ModelSpec) -> Connection:
        raise AssertionError(f"{spec} was chosen")

    with pytest.raises(NotSeated) as failed:
        SeatAssignment(load("duel"), here.config, connect, find=lambda wanted: found).assign({})
    for way in ("OPENAI_API_KEY", "claude", "Ollama", "`rebut models get qwen2.5-coder-1.5b`"):
        assert way in failed.value.hint


def test_tools_sit_before_keys_and_families_differ_down_to_the_judge(here: Here) -> None:  # C2
    here.install("codex", "claude")
    here.env |= {"ANTHROPIC_API_KEY": "sk-test", "GEMINI_API_KEY": "sk-test"}
    seats = here.seat()
    by_seat = {p.seat: p for p in seats.participants}
    assert {s: p.spec.provider for s, p in by_seat.items()} == {
        "proposer": "claude",
        "challenger": "codex",
        "judge": "google",
    }
    assert not by_seat["judge"].default, "a resumed debate must keep the judge that it found"
    assert "the proposer is anthropic: claude 999.0.0 is installed" in seats.notes
    assert any(n.startswith("the judge is google, a family of its own: GEMINI_API_KEY") for n in seats.notes)


def test_a_tool_that_may_speak_with_anybodys_model_comes_after_those_whose_family_is_known(here: Here) -> None:  # C2
    here.install("claude", "opencode", "codex")
    assert here.sits() == {"proposer": "claude", "challenger": "codex", "judge": "opencode"}
    assert any("the judge is opencode, with whatever model it is set to" in note for note in here.seat().notes)
    here.env["GEMINI_API_KEY"] = "sk-test"
    assert here.sits()["judge"].startswith("google:"), "of another family for certain"


@pytest.mark.parametrize(
    ("script", "says", "advice"),
    [
        ("#!/bin/sh\nexec /nowhere/node\n", "ends with code 127", "needs Node.js 22"),
        ("#!/nowhere/sh\n", "cannot be started: No such file", "Update it"),
        ("no program\0", "cannot be started: Exec format error", "Update it"),
        ("#!/bin/sh\necho hello\n", "reports no version", "Update it"),
    ],
)
def test_a_tool_that_does_not_start_is_told_with_its_reason(here: Here, script: str, says: str, advice: str) -> None:
    # H13
    (here.root / "bin/claude").write_text(script)
    (here.root / "bin/claude").chmod(0o755)
    found = here.look()["claude"]
    assert found.here and not found.usable and says in found.problem and advice in found.advice, found


def test_another_family_goes_before_another_model_of_the_same(here: Here) -> None:  # C2
    here.install("claude")
    here.env |= {"ANTHROPIC_API_KEY": "sk-test", "GEMINI_API_KEY": "sk-test"}  # anthropic comes first in the list
    assert here.sits()["challenger"].startswith("google:")
    del here.env["GEMINI_API_KEY"]
    assert here.sits()["challenger"].startswith("anthropic:")


def test_one_model_alone_debates_itself_and_says_so(here: Here) -> None:  # C2
    here.install("claude")
    seats = here.seat()
    assert [p.spec.provider for p in seats.participants] == ["claude"] * 3
    assert any(n.startswith("self-debate:") for n in seats.notes)
    with pytest.raises(UsageError, match="both claude"):
        here.seat({"proposer": "claude", "challenger": "claude"})


def test_a_seat_that_was_named_stays_and_the_other_gets_another_family(here: Here) -> None:  # C2
    here.install("claude", "codex", "gemini")
    assert here.sits({"challenger": "claude"}) == {"challenger": "claude", "proposer": "codex", "judge": "gemini"}


def test_without_a_terminal_only_listed_providers_are_looked_at_and_seated(here: Here) -> None:  # C16
    here.install("claude", "codex", "gemini")
    with pytest.raises(UsageError, match="needs a proposer") as caught:
        here.seat(attended=False)
    assert "[egress] allow" in caught.value.hint
    here.write('[egress]\nallow = ["codex", "gemini"]\n')
    assert here.sits(attended=False) == {"proposer": "codex", "challenger": "gemini", "judge": "codex"}


def test_a_list_also_binds_what_is_seated_at_a_terminal(here: Here) -> None:  # C16
    here.install("claude", "codex", "gemini")
    here.write('[egress]\nallow = ["codex", "gemini"]\n')
    assert set(here.sits().values()) == {"codex", "gemini"}


def test_with_nothing_here_it_says_where_to_look(here: Here) -> None:
    with pytest.raises(UsageError, match="needs a proposer") as caught:
        here.seat()
    assert "rebut models" in caught.value.hint


def test_an_old_tool_is_told_of_and_not_seated(here: Here) -> None:  # C2
    here.install("claude")
    here.env |= {"SYSTEMROOT": "0.0.1", "OPENAI_API_KEY": "sk-test"}
    assert any(n.startswith("not used: claude (older") for n in here.seat().notes)


def test_the_door_finds_seats_also_where_a_loop_is_running(here: Here) -> None:  # C2: `start` plans inside of a loop
    here.install("claude", "codex")

    async def plan() -> list[str]:
        setup = Setup(env=here.env, workspace=here.root, rehearsal=True)
        return [str(p.spec) for p in setup.plan("duel", "Redis or not?").seats]

    assert asyncio.run(plan())[:2] == ["claude", "codex"]


def test_providers_lists_all_of_them_and_what_is_here(
    here: Here, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # C1
    here.install("claude")
    here.write('[tools.mine]\noutput = { form = "text", text = { take = "" } }\n')
    for name, value in here.env.items():
        monkeypatch.setenv(name, value)
    assert enter(["models", "--json"]) == 0
    shown = {row["provider"]: row for row in json.loads(capsys.readouterr().out)["providers"]}
    assert shown["claude"]["usable"] and not shown["mine"]["here"] and "openai" in shown
    assert enter(["models"]) == 0
    out = capsys.readouterr().out
    assert "claude        999.0.0" in out and "OPENAI_API_KEY is not set" in out


@pytest.mark.parametrize(
    ("status", "key", "problem", "advice"),
    [
        ("401", "sk-test", "answered 401 when asked for its models", "Check the key in VLLM_API_KEY"),
        ("404", "sk-test", "answered 404 when asked for its models", "most need /v1 at its end"),
        ("", "", "VLLM_API_KEY is not set", "export VLLM_API_KEY=KEY"),
        ("", "sk-te\nst", "the key contains characters that no key has", "Check VLLM_API_KEY"),
        ("", "sk-test\n", "", ""),
    ],
)
def test_a_server_that_will_not_list_its_models_is_told_from_none(
    here: Here, server: Callable[..., str], status: str, key: str, problem: str, advice: str
) -> None:  # C2, H13
    url = server("refused", status) if status else server("qwen3:8b")
    here.write("")
    here.file.write_text(
        here.file.read_text() + f'[providers.own]\nwire = "openai"\nbase_url = "{url}"\napi_key_env = "VLLM_API_KEY"\n'
    )
    here.env["VLLM_API_KEY"] = key
    found = here.look()["own"]
    assert problem in found.problem and advice in found.advice and found.usable is not bool(problem)


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_login_that_is_read_by_a_guess_is_told_as_probable(
    tmp_path: Path, system: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # C2, H13
    here = Here(tmp_path)
    here.install("copilot", "gemini")
    monkeypatch.setattr(tables, "sys", SimpleNamespace(platform=system))
    sure = system == "linux"
    for name, home in (("copilot", ".copilot/config.json"), ("gemini", ".gemini/oauth_creds.json")):
        (here.root / "home" / home).unlink(missing_ok=True)
        out = here.look()[name]
        assert out.out and ("probably not" in out.problem) is (name == "copilot" or not sure), out
        (here.root / "home" / home).parent.mkdir(exist_ok=True)
        (here.root / "home" / home).write_text('{"logged_in_users": ["me"]}')
        found = here.look()[name]
        assert found.usable and ("probably logged in" in found.why) is (name == "copilot" or not sure)
    # What its own variable says is no guess; one that other programs use is.
    (here.root / "home/.copilot/config.json").unlink()
    here.env["GH_TOKEN"] = "gho-test"
    assert here.look()["copilot"].usable and here.look()["copilot"].unsure
    here.env["COPILOT_GITHUB_TOKEN"] = "gho-test"
    assert not here.look()["copilot"].unsure
    del here.env["COPILOT_GITHUB_TOKEN"]
    for name, value in here.env.items():
        monkeypatch.setenv(name, value)
    enter(["models"])
    assert "probably logged in" in capsys.readouterr().out
    enter(["doctor", "--offline", "--json", "copilot"])
    assert json.loads(capsys.readouterr().out)["providers"][0]["login"] is None
    enter(["doctor", "--offline", "copilot"])
    assert " probably " in capsys.readouterr().out


def test_who_was_passed_over_for_want_of_a_terminal_is_told(
    here: Here, server: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:  # C2, C16
    monkeypatch.setattr(weights, "has_runner", lambda: True)
    monkeypatch.setattr(weights, "larger_here", lambda env: list(weights.LARGER))
    here.file.write_text(here.file.read_text().replace("http://127.0.0.1:9/v1", server("qwen3:8b", "llama3.2"), 1))
    found = discover.look_now(here.config, here.env, here.config.listed)
    assert found is not None and [one.name for one in found if one.usable] == ["local"]
    protocol, known = load("duel"), connector(here.config, here.env, here.root)

    def connect(spec: ModelSpec) -> Connection:
        return replace(known(ModelSpec("human")), family=spec.provider)  # nobody is asked anything here

    alone = SeatAssignment(protocol, here.config, connect, attended=False, find=lambda wanted: found).assign({})
    assert {p.spec.provider for p in alone.participants} == {"local"}
    assert any("[egress] allow in your config" in note for note in alone.notes), alone.notes
    watched = SeatAssignment(protocol, here.config, connect, attended=True, find=lambda wanted: found).assign({})
    assert not any("[egress]" in note for note in watched.notes)


def test_nobody_is_looked_for_where_every_seat_is_named(here: Here) -> None:  # C2
    def find(wanted: Callable[[str], bool]) -> Sequence[FoundModel]:
        raise AssertionError("to ask six tools for their version takes its time")

    here.env |= {"ANTHROPIC_API_KEY": "sk-test", "GEMINI_API_KEY": "sk-test"}
    given = {"author": "human", "critic": "anthropic:a", "judge": "google:b"}
    connect = connector(here.config, here.env, here.root)
    seats = SeatAssignment(load("cross"), here.config, connect, find=find).assign(given)
    assert [p.seat for p in seats.participants] == ["author", "critic", "judge"]


@pytest.mark.parametrize(("wrote", "critic"), [("openai", "anthropic"), ("anthropic", "openai"), ("", "openai")])
@pytest.mark.parametrize("judge", [{}, {"judge": "human"}], ids=["", "judge"])
def test_a_transcript_is_reviewed_by_another_family_than_its_own(
    here: Here, wrote: str, critic: str, judge: dict[str, str]
) -> None:  # J8
    here.env |= {"ANTHROPIC_API_KEY": "sk-test", "OPENAI_API_KEY": "sk-test"}
    found = discover.look_now(here.config, here.env)
    assert found is not None
    able = sorted((one for one in found if one.name in ("anthropic", "openai")), key=lambda one: one.name)
    connect = connector(here.config, here.env, here.root)
    seats = SeatAssignment(load("cross"), here.config, connect, find=lambda wanted: able).assign(judge, wrote=wrote)
    family = {p.seat: p.family for p in seats.participants}
    if wrote or not judge:
        assert family["critic"] == critic
    if wrote and not judge:
        assert family["author"] == wrote


def test_two_of_one_model_in_one_role_have_names_of_their_own(here: Here) -> None:  # C2, K3
    here.env |= {"ANTHROPIC_API_KEY": "sk-test"}
    found = discover.look_now(here.config, here.env)
    assert found is not None
    able = [one for one in found if one.name == "anthropic"]
    connect = connector(here.config, here.env, here.root)
    seats = SeatAssignment(load("revise"), here.config, connect, find=lambda wanted: able).assign({})
    assert [p.spec.name for p in seats.participants if p.seat.startswith("author")] == ["", "anthropic-2"]


def test_the_list_of_providers_fits_50_columns_and_tears_no_command(here: Here, server: Callable[..., str]) -> None:
    here.file.write_text(here.file.read_text().replace("http://127.0.0.1:9/v1", server("qwen3:8b", "llama3.2"), 1))
    seen = at_a_terminal("models", columns=50, env=here.env)
    lines = seen.text.splitlines()
    assert max(map(len, lines)) <= 50 and seen.code == 0
    assert "      → npm install -g @anthropic-ai/claude-code" in lines
    assert "      → export OPENAI_API_KEY=KEY" in lines
    assert "qwen3:8b, llama3.2" in " ".join(seen.text.split()), "the models of a server are named"
