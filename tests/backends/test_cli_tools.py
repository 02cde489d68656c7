"""A command-line tool in a seat: called read-only, understood exactly, and never left running."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from rebut.backends.cli_tools import tables as tools
from rebut.backends.cli_tools.backend import Command
from rebut.backends.cli_tools.tables import Tool
from rebut.core import process
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.types import ModelSpec, Participant, Reply, Request, Usage
from tests import fake_tool

NAMES = ("claude", "codex", "gemini", "qwen", "opencode", "copilot")


@dataclass
class Bench:
    """A PATH with fakes of all the tools, a home, and a place where they note down how they were called."""

    root: Path
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    pids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        self.home.mkdir()
        self.bin = fake_tool.install(self.root / "bin", *NAMES, "mine")
        self.log = self.root / "log.json"
        self.env = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.home), "APPDATA": str(self.log)}

    def tool(self, name: str) -> Tool:
        return tools.load_tools(self.tables)[name]

    def command(
        self, name: str = "claude", *, model: str = "", effort: str = "", env: Mapping[str, str] = {}, **plan: Any
    ) -> Command:
        tool = self.tool(name)
        workdir = plan.pop("workdir", None)
        own = {**self.env, "PATHEXT": " ".join(tool.probe), "PROGRAMDATA": json.dumps(plan), **env}
        return Command(tool, model=model, effort=effort, env=own, workdir=workdir)

    def ask(self, command: Command, prompt: str = "Is the plan sound?", **more: Any) -> Reply:
        return asyncio.run(command.complete(self.request(prompt, **more)))

    def request(self, prompt: str = "Is the plan sound?", **more: Any) -> Request:
        who = Participant("proposer", ModelSpec("claude"))
        return Request("r1/opening@proposer", who, prompt, on_spawn=self.pids.append, **{"timeout": 20.0, **more})

    def failure(self, command: Command, prompt: str = "Is the plan sound?", **more: Any) -> ParticipantFailed:
        with pytest.raises(ParticipantFailed) as caught:
            self.ask(command, prompt, **more)
        return caught.value

    @property
    def call(self) -> dict[str, Any]:
        """How the tool was called last."""
        found: dict[str, Any] = json.loads(self.log.read_text())
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def gone(pid: int) -> bool:
    """Has a process ended? One that nobody has asked about yet (a zombie) has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def soon_gone(pid: int) -> bool:
    until = time.monotonic() + 5
    while time.monotonic() < until and not gone(pid):
        time.sleep(0.02)
    return gone(pid)


# Answers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_is_understood_in_its_own_shape(bench: Bench, name: str) -> None:  # C1, D8
    usage = {"modelMetrics": {"gpt-9": {"usage": {"inputTokens": 11, "outputTokens": 7, "cacheReadTokens": 5}}}}
    more: dict[str, Any] = {"usage": usage} if name == "copilot" else {}
    reply = bench.ask(bench.command(name, model="vendor/some-model", err="Warning: 256 colours\n", **more))
    assert reply.text == "I agree with the plan."
    expected = {
        "claude": ("claude-opus-9", "anthropic", Usage(19, 7, 5)),
        "codex": ("vendor/some-model", "openai", Usage(11, 7, 5)),
        "gemini": ("gemini-9", "google", Usage(11, 7, 5)),
        "qwen": ("qwen9-max", "qwen", Usage(11, 7, 5)),
        "opencode": ("vendor/some-model", "opencode", Usage(11, 7, 5)),
        "copilot": ("gpt-9", "openai", Usage(11, 7, 5)),
    }
    assert (reply.model, reply.family, reply.usage) == expected[name]
    assert reply.usd == (0.0025 if name == "claude" else None)
    assert not reply.notes and not reply.truncated


@pytest.mark.parametrize("name", NAMES)
def test_the_prompt_goes_in_by_stdin_behind_a_fixed_line_and_never_as_an_argument(bench: Bench, name: str) -> None:
    # C9: a prompt that begins with / or @ would be a command to some
    prompt = "/help @notes.md " + "é" * 100_000
    bench.ask(bench.command(name), prompt)
    first, _, rest = bench.call["prompt"].partition("\n\n")
    assert rest == prompt and first == bench.tool(name).lead
    assert not first.startswith(("/", "@", "!", "#"))
    assert not any("é" in arg or "/help" in arg for arg in bench.call["argv"])


def test_a_leading_slash_does_not_swallow_the_prompt(bench: Bench) -> None:  # C5, C9
    assert bench.ask(bench.command("qwen", slash=True), "/clear everything").text


def test_the_schema_comes_after_the_stable_prompt_and_before_what_changes(bench: Bench) -> None:  # C1
    bench.ask(bench.command(), "PROMPT", schema={"title": "Opening"}, followup="FOLLOW-UP")
    said = bench.call["prompt"]
    assert said.index("PROMPT") < said.index('{"title": "Opening"}') < said.index("FOLLOW-UP")
    bench.ask(bench.command(), "PROMPT")
    assert "schema" not in bench.call["prompt"]


def test_a_reply_that_was_cut_at_the_output_limit_says_so(bench: Bench) -> None:
    out = json.dumps({"type": "result", "result": "half", "stop_reason": "max_tokens"})
    assert bench.ask(bench.command(out=out)).truncated


def test_an_array_where_an_object_was_expected_is_understood(bench: Bench) -> None:  # C5
    out = json.dumps([{"session_id": "x"}, {"response": "from an array"}])
    assert bench.ask(bench.command("gemini", out=out)).text == "from an array"


def test_words_before_the_json_do_not_hide_it(bench: Bench) -> None:
    for name in ("claude", "gemini"):
        out = "{not json}\nWarning\n" + fake_tool.says(name, "here")
        assert bench.ask(bench.command(name, out=out)).text == "here"


def test_bytes_that_are_no_text_are_replaced_and_the_answer_stands(bench: Bench) -> None:
    raw = b'{"type": "result", "result": "caf\xff \xc3\xa9"}'
    assert bench.ask(bench.command(raw=raw.hex())).text == "caf\ufffd é"


def test_several_models_that_answered_are_all_named(bench: Bench) -> None:  # C6
    out = json.dumps({"response": "x", "stats": {"models": {"gemini-9-lite": {}, "gemini-9-pro": {}}}})
    assert bench.ask(bench.command("gemini", out=out)).model == "gemini-9-lite + gemini-9-pro"


# Failures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "invalid x-api-key", "auth"),
        (429, "slow down, too many requests", "rate limit"),
        (500, "it broke", "crashed"),
    ],
)
def test_a_providers_refusal_is_a_failure_of_its_class(
    bench: Bench, name: str, status: int, message: str, kind: str
) -> None:  # C5
    out, err, code = fake_tool.fails(name, status, message)
    error = bench.failure(bench.command(name, out=out, err=err, exit=code))
    assert error.kind == kind and error.hint
    assert error.message.startswith(f"{name}: exit {code}: ") and message in error.message
    if kind == "auth":
        assert error.hint == bench.tool(name).login


@pytest.mark.parametrize("name", ["claude", "opencode", "copilot"])
def test_a_status_tells_the_class_where_the_words_do_not(bench: Bench, name: str) -> None:  # C5
    for status, kind in ((403, "auth"), (402, "rate limit"), (404, "missing tool"), (504, "timeout"), (418, "crashed")):
        out, err, code = fake_tool.fails(name, status, "no")
        assert bench.failure(bench.command(name, out=out, err=err, exit=code)).kind == kind


@pytest.mark.parametrize("name", NAMES)
def test_an_error_that_the_tool_tells_is_a_failure_even_with_exit_0_and_some_text(bench: Bench, name: str) -> None:
    # C5
    out, err, _ = fake_tool.fails(name, 401, "invalid x-api-key")
    if bench.tool(name).output.form == "lines":
        out = fake_tool.says(name, "half an answer") + out
    error = bench.failure(bench.command(name, out=out, err=err))
    assert error.kind == "auth" and "invalid x-api-key" in error.message


@pytest.mark.parametrize("name", NAMES)
def test_a_login_notice_with_exit_0_is_no_answer(bench: Bench, name: str) -> None:  # C5
    error = bench.failure(bench.command(name, login=True))
    assert error.kind == "auth" and "sign in" in error.message and error.hint == bench.tool(name).login


@pytest.mark.parametrize("name", NAMES)
def test_a_notice_that_is_not_even_in_the_tools_shape_is_no_answer(bench: Bench, name: str) -> None:  # C5
    error = bench.failure(bench.command(name, out="You are not logged in. Please log in first.\n"))
    assert error.kind == "auth"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("claude", "Invalid API key · Please run /login", "auth"),
        ("claude", "Credit balance is too low", "rate limit"),
        ("claude", "API Error: 529 overloaded", "crashed"),
        ("qwen", "[API Error: 401 wrong key]", "auth"),
        ("qwen", "[API Error: 429 slow down]", "rate limit"),
        ("gemini", "[API Error: something odd]", "crashed"),
    ],
)
def test_an_error_text_in_the_place_of_an_answer_never_speaks(bench: Bench, name: str, text: str, kind: str) -> None:
    # C5
    error = bench.failure(bench.command(name, text=text))
    assert error.kind == kind and text in error.message


def test_an_answer_that_speaks_of_logins_and_errors_is_an_answer(bench: Bench) -> None:  # C5
    for text in (
        "The plan says: please run /login. That is wrong, since a 401 would follow.",
        "Invalid API key handling is the weak point. " + "It goes on to argue at length. " * 20,
    ):
        assert bench.ask(bench.command(text=text)).text == text.strip()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["", " \n "])
def test_an_empty_answer_with_exit_0_is_a_bad_reply_and_its_cost_is_kept(bench: Bench, name: str, text: str) -> None:
    # C5, C4
    error = bench.failure(bench.command(name, text=text))
    assert error.kind == "bad reply" and "empty" in error.message
    if name != "copilot":
        assert getattr(error, "usage", None) is not None and error.usage.output == 7  # type: ignore[attr-defined]


def test_an_answer_with_a_bad_exit_code_is_none(bench: Bench) -> None:  # C5
    error = bench.failure(bench.command(text="I agree", exit=3))
    assert error.kind == "crashed" and "exit 3" in error.message


def test_a_tool_killed_by_a_signal_has_crashed(bench: Bench) -> None:  # C5
    bench.tables["mine"] = {"command": "sh", "args": ["-c", "kill -9 $$"], "output": {"text": {"take": "a"}}}
    error = bench.failure(bench.command("mine"))
    assert error.kind == "crashed" and "signal 9" in error.message


def test_output_that_is_nested_too_deep_is_a_bad_reply(bench: Bench) -> None:  # C5
    deep = 'print(\'{"a": \' + "[" * 100_000 + "]" * 100_000 + "}")'
    bench.tables["mine"] = {"command": sys.executable, "args": ["-c", deep], "output": {"text": {"take": "a"}}}
    assert bench.failure(bench.command("mine")).kind == "bad reply"


def test_output_without_end_is_cut_off_and_refused(bench: Bench) -> None:  # C5
    error = bench.failure(bench.command(flood=8))
    assert error.kind == "bad reply" and "4,000,000 bytes" in error.message


def test_a_flood_on_stderr_neither_blocks_nor_counts(bench: Bench) -> None:  # C5
    assert bench.ask(bench.command(err="warning ", err_times=200_000)).text == "I agree with the plan."
    argv = ["/bin/sh", "-c", "yes warning | head -c 1000000 >&2; echo the reason >&2"]
    ended = asyncio.run(process.run_program(argv, cwd=bench.root, env=bench.env, seconds=20))
    assert len(ended.err) <= process.KEPT_OF_STDERR and ended.err.endswith("the reason\n")


def test_a_tool_that_never_reads_or_closes_its_stdin_is_heard(bench: Bench) -> None:  # C9
    for way in ("unread", "closed"):
        assert bench.ask(bench.command(stdin=way), "x" * 3_000_000).text == "I agree with the plan."


@pytest.mark.parametrize(
    ("name", "prompt", "says"),
    [
        ("codex", "x" * 1_048_576, "at most 1,048,576 characters"),
        ("claude", "é" * 5_000_000, "at most 10,000,000 bytes"),
        ("gemini", "x" * 8_388_608, "at most 8,388,608 bytes"),
        ("qwen", "x" * 8_388_608, "at most 8,388,608 bytes"),
    ],
)
def test_a_prompt_above_the_tools_own_limit_is_refused_before_it_starts(
    bench: Bench, name: str, prompt: str, says: str
) -> None:  # C5
    error = bench.failure(bench.command(name), prompt)
    assert says in error.message and error.hint
    assert not bench.pids and not bench.log.exists()


def test_a_codex_prompt_is_counted_in_characters_not_bytes(bench: Bench) -> None:
    assert bench.ask(bench.command("codex"), "é" * 1_000_000).text


# Missing, old, broken -------------------------------------------------------------------------------------------------


def test_a_tool_that_is_not_there_is_missing_with_the_way_to_get_it(bench: Bench) -> None:  # C5
    (bench.bin / "claude").unlink()
    error = bench.failure(bench.command())
    assert error.kind == "missing tool" and error.message.startswith("claude is not installed")
    assert "npm install -g @anthropic-ai/claude-code" in error.hint


def test_a_launcher_without_node_is_missing_with_that_reason(bench: Bench) -> None:  # C5
    (bench.bin / "gemini").write_text("#!/usr/bin/env node-that-is-not-there\n")
    error = bench.failure(bench.command("gemini"))
    assert error.kind == "missing tool" and "node" in error.message and "Node.js" in error.hint


def test_a_file_that_is_no_program_is_missing(bench: Bench) -> None:  # C5
    (bench.bin / "claude").write_bytes(b"\x7fNOTELF" + b"\0" * 64)
    bench.tables["claude"] = {"minimum": "", "probe": []}
    assert bench.failure(bench.command()).kind == "missing tool"


@pytest.mark.parametrize("found", ["2.1.197", "1.999", "0"])
def test_a_version_on_which_the_lockdown_is_not_known_to_hold_is_never_given_a_prompt(bench: Bench, found: str) -> None:
    # C9
    error = bench.failure(bench.command(env={"SYSTEMROOT": found}))
    assert error.kind == "missing tool" and "too old" in error.message and "2.1.325" in error.message
    assert "Install or update it" in error.hint and not bench.log.exists()


def test_a_tool_whose_help_lacks_a_flag_of_the_lockdown_is_never_given_a_prompt(bench: Bench) -> None:  # C9
    flags = [flag for flag in bench.tool("claude").probe if flag != "--restricted"]
    error = bench.failure(bench.command(env={"PATHEXT": " ".join([*flags, "--restricted-mode"])}))
    assert error.kind == "missing tool" and "does not have --restricted," in error.message
    assert not bench.log.exists()


def test_a_tool_that_takes_a_flag_for_a_mistake_needs_an_update(bench: Bench) -> None:  # C5
    assert bench.failure(bench.command(out="", err="error: unknown option '--tools'\n", exit=1)).kind == "missing tool"


# Lockdown -------------------------------------------------------------------------------------------------------------

LOCKS = {
    "claude": ["--restricted", "--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence"],
    "codex": ["read-only", "--ignore-user-config", "--ephemeral", "shell_tool", "unified_exec"],
    "gemini": ["--policy", "--skip-trust"],
    "qwen": ["--core-tools", "--max-tool-calls", "run_shell_command", "write_file", "edit", "read_file"],
    "opencode": ["--pure", "--agent"],
    "copilot": ["--available-tools=none", "--deny-tool=shell", "--deny-tool=write", "--no-custom-instructions"],
}


@pytest.mark.parametrize("name", NAMES)
def test_every_call_carries_the_lockdown(bench: Bench, name: str) -> None:  # C9
    bench.ask(bench.command(name))
    call = bench.call
    assert set(LOCKS[name]) <= set(call["argv"])
    assert not [a for a in call["argv"] if "dangerous" in a or "yolo" in a or "allow-all" in a or "bypass" in a]
    if name == "opencode":
        config = json.loads(call["env"]["OPENCODE_CONFIG_CONTENT"])
        assert config["permission"] == config["agent"]["rebut"]["permission"] == {"*": "deny"}
    if name in ("gemini", "qwen"):  # no file of a usual name, of which folders above may hold one, is looked for
        settings = {**call["files"], **{Path(p).name: text for p, text in call["work"].items()}}["settings.json"]
        assert json.loads(settings)["context"] == {"fileName": bench.tool(name).laid_as}
    if name == "opencode":
        assert call["env"]["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"
        assert (
            Path(call["env"]["OPENCODE_CONFIG_DIR"]).parent.name == "files" and not call["files"]["AGENTS.md"].strip()
        )
    if name == "gemini":
        assert 'decision = "deny"' in call["files"]["deny-all.toml"]
        assert call["argv"][call["argv"].index("--policy") + 1].endswith("/deny-all.toml")
    if name == "claude":
        assert call["argv"][call["argv"].index("--tools") + 1] == ""


@pytest.mark.parametrize("name", NAMES)
def test_settings_that_are_laid_are_valid_and_hold_nothing_unfilled(bench: Bench, name: str) -> None:  # C9
    for effort in ("", "low", "max"):
        bench.ask(bench.command(name, effort=effort, model="some-model"))
        call = bench.call
        for text in [*call["files"].values(), *call["work"].values(), *call["argv"], *call["env"].values()]:
            assert "${" not in text
        for path, text in {**call["files"], **call["work"]}.items():
            assert not path.endswith(".json") or json.loads(text)


@pytest.mark.parametrize("name", NAMES)
def test_the_working_folder_is_private_holds_nothing_of_the_user_and_is_gone_afterwards(
    bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # C9
    monkeypatch.chdir(bench.root)
    bench.ask(bench.command(name, env={"PWD": str(bench.root), "OLDPWD": "/", "GIT_DIR": "/x", "TMPDIR": "/y"}))
    call = bench.call
    cwd = Path(call["cwd"])
    assert set(call["work"]) <= {".gemini/settings.json"}
    assert call["env"]["PWD"] == str(cwd) and not {"OLDPWD", "GIT_DIR"} & set(call["env"])
    assert cwd.is_relative_to(bench.home / ".cache")  # not below /tmp, where anybody can put a file above it
    assert Path(call["env"]["TMPDIR"]).is_relative_to(cwd.parent)
    assert list((bench.home / ".cache/rebut").iterdir()) == []


def test_a_tool_is_told_where_it_stands_even_if_it_trusts_only_its_environment(bench: Bench) -> None:  # C9
    bench.tables["mine"] = {"command": "/usr/bin/env", "output": {"form": "text", "text": {"take": ""}}}
    seen = dict(line.split("=", 1) for line in bench.ask(bench.command("mine", env={"PWD": "/etc"})).text.splitlines())
    assert Path(seen["PWD"]).is_relative_to(bench.home / ".cache/rebut")


@pytest.mark.parametrize("name", ["claude", "gemini", "qwen"])
def test_a_path_in_somebodys_text_reads_no_file(bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # C9: these tools put the file in the place of @path, even with all their tools off
    (bench.root / "secret.txt").write_text("THE-SECRET")
    (bench.home / "secret.txt").write_text("THE-SECRET")
    monkeypatch.chdir(bench.root)
    quoted = "see @secret.txt and @./secret.txt and @../secret.txt"
    quoted += f" and @{bench.root}/secret.txt and @~/secret.txt"
    reply = bench.ask(bench.command(name, expand=True), quoted)
    assert "@secret.txt" in reply.text and "THE-SECRET" not in reply.text


def test_marks_of_an_outer_session_are_stripped_and_logins_kept(bench: Bench) -> None:  # C9
    outer = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SSE_PORT": "1", "CLAUDE_EFFORT": "max"}
    kept = {
        "CLAUDE_CODE_OAUTH_TOKEN": "t",
        "ANTHROPIC_API_KEY": "k",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "HTTPS_PROXY": "p",
    }
    bench.ask(bench.command(env={**outer, **kept}))
    seen = bench.call["env"]
    assert not set(outer) & set(seen)
    assert kept.items() <= seen.items() and seen["CLAUDE_CODE_MAX_RETRIES"] == "1"


@pytest.mark.parametrize("name", NAMES)
def test_a_key_for_another_program_never_reaches_a_tool(bench: Bench, name: str) -> None:  # C9 C16
    others = {"AWS_SECRET_ACCESS_KEY": "a", "NPM_TOKEN": "b", "DATABASE_URL": "c", "MISTRAL_API_KEY": "d"}
    others |= {"GIT_DIR": "/etc", "REBUT_HOME": "/etc", "OLDPWD": "/etc", "EDITOR": "vi"}
    usual = {"LC_ALL": "C.UTF-8", "https_proxy": "p", "SSL_CERT_FILE": "f", "XDG_CONFIG_HOME": "/x", "NVM_DIR": "/n"}
    bench.ask(bench.command(name, env={**others, **usual}))
    seen = bench.call["env"]
    assert not set(others) & set(seen)
    assert usual.items() <= seen.items()


def test_keys_of_a_cloud_are_passed_only_to_a_tool_that_is_set_to_use_it(bench: Bench) -> None:  # C9
    cloud = {"AWS_SECRET_ACCESS_KEY": "a", "AWS_REGION": "eu"}
    bench.ask(bench.command("claude", env=cloud))
    assert not set(cloud) & set(bench.call["env"])
    bench.ask(bench.command("claude", env={**cloud, "CLAUDE_CODE_USE_BEDROCK": "1"}))
    assert cloud.items() <= bench.call["env"].items()


def test_the_user_can_pass_one_more_variable_and_withhold_a_usual_one(bench: Bench) -> None:  # C9
    bench.tables["claude"] = {"extra_env": ["WORK_*"], "strip": ["LANG"]}
    bench.ask(bench.command("claude", env={"WORK_KEY": "w", "LANG": "C", "ANTHROPIC_API_KEY": "k"}))
    seen = bench.call["env"]
    assert seen["WORK_KEY"] == "w" and seen["ANTHROPIC_API_KEY"] == "k" and "LANG" not in seen


@pytest.mark.parametrize("name", NAMES)
def test_the_users_own_login_is_still_found(bench: Bench, name: str) -> None:  # C9
    (bench.home / ".fake").mkdir()
    (bench.home / ".fake/login.json").write_text("logged in from the user's own home")
    assert bench.ask(bench.command(name, login=True)).text == "logged in from the user's own home"
    assert bench.call["env"]["HOME"] == str(bench.home)


@pytest.mark.parametrize("name", NAMES)
def test_a_context_folder_gives_the_tool_its_own_file_and_nothing_else(bench: Bench, name: str) -> None:  # C9
    persona = bench.root / "persona"
    persona.mkdir()
    tool = bench.tool(name)
    (persona / tool.context_file).write_text("You are the Operator.")
    (persona / "OTHER.md").write_text("Somebody else's.")
    bench.ask(bench.command(name, workdir=persona))
    call = bench.call
    assert call["work"].pop(tool.laid_as or tool.context_file) == "You are the Operator."
    assert "OTHER.md" not in call["work"] and call["cwd"] != str(persona)
    shut = {"codex": "project_doc_max_bytes=0", "copilot": "--no-custom-instructions"}.get(name)
    assert shut not in call["argv"]
    (persona / tool.context_file).unlink()
    assert bench.failure(bench.command(name, workdir=persona)).kind == "missing tool"


# Models and effort ----------------------------------------------------------------------------------------------------


def test_model_and_effort_go_where_the_table_says(bench: Bench) -> None:  # C1
    def after(flag: str) -> str:
        argv: list[str] = bench.call["argv"]
        return argv[argv.index(flag) + 1]

    bench.ask(bench.command("claude", model="opus", effort="max"))
    assert (after("--model"), after("--effort")) == ("opus", "max")
    bench.ask(bench.command("codex", model="gpt-9", effort="max"))
    assert after("-m") == "gpt-9" and 'model_reasoning_effort="xhigh"' in bench.call["argv"]
    bench.ask(bench.command("gemini", effort="low"))
    assert "-m" not in bench.call["argv"]
    (override,) = json.loads(bench.call["work"][".gemini/settings.json"])["modelConfigs"]["customOverrides"]
    assert override["modelConfig"]["generateContentConfig"]["thinkingConfig"] == {"thinkingLevel": "LOW"}
    bench.ask(bench.command("qwen", effort="high"))
    settings = json.loads(bench.call["files"]["settings.json"])
    assert settings["model"]["generationConfig"] == {"reasoning": {"effort": "high"}}
    bench.ask(bench.command("opencode", effort="low"))
    assert after("--variant") == "low"
    bench.ask(bench.command("copilot", effort="medium"))
    assert after("--reasoning-effort") == "medium"


def test_without_model_and_effort_no_flag_is_given(bench: Bench) -> None:  # C1
    bench.ask(bench.command("claude"))
    assert not {"--model", "--effort"} & set(bench.call["argv"])


def test_an_effort_that_a_tool_does_not_have_is_told_once(bench: Bench) -> None:  # C1
    command = bench.command("gemini", effort="medium")
    assert bench.ask(command).notes == ("gemini has only low, high, max; continued without medium",)
    assert bench.ask(command).notes == ()
    bench.tables["mine"] = {"output": {"text": {"take": "response"}}}
    silent = bench.command("mine", effort="low", out='{"response": "x"}')
    assert bench.ask(silent).notes == ("mine has no effort setting; continued without low",)


@pytest.mark.parametrize("model", ["--dangerously-skip-permissions", "-m", 'x"', "a b", "x\ny", "${folder}", "x\\"])
def test_a_model_name_that_could_be_a_flag_or_break_out_of_a_string_is_refused(bench: Bench, model: str) -> None:  # C9
    with pytest.raises(UsageError, match="not the name of a model"):
        bench.command(model=model)


@pytest.mark.parametrize(
    ("name", "model", "family"),
    [
        ("claude", "", "anthropic"),
        ("claude", "opus", "anthropic"),
        ("opencode", "openrouter/anthropic/claude-opus-9", "anthropic"),
        ("opencode", "zen/gpt-9", "openai"),
        ("opencode", "loop/test-model", "opencode"),
        ("copilot", "gemini-9-pro", "google"),
        ("copilot", "", "copilot"),
        ("qwen", "", "qwen"),
    ],
)
def test_the_family_is_the_models_where_its_name_tells(bench: Bench, name: str, model: str, family: str) -> None:  # C2
    assert bench.command(name, model=model).family == family


# Processes ------------------------------------------------------------------------------------------------------------


def test_the_process_group_is_told_at_once(bench: Bench) -> None:  # C3
    seen: list[bool] = []
    request = replace(bench.request(), on_spawn=lambda pid: seen.append(os.getpgid(pid) == pid != os.getpgid(0)))
    asyncio.run(bench.command().complete(request))
    assert seen == [True]


def test_a_tool_that_retries_without_end_is_ended_at_the_timeout(bench: Bench) -> None:  # C5, C9
    for seconds in (0.6, 2.4, 9.6):  # a busy machine takes its time until the tool says something
        error = bench.failure(bench.command(hang=True), timeout=seconds)
        assert error.kind == "timeout" and f"{seconds} s" in error.message and "--timeout" in error.hint
        assert soon_gone(bench.pids[-1])
        if "its last output" in error.message:
            break
    assert "Attempt 1 failed with status 429" in error.message


def test_a_tools_own_timeout_holds_when_it_is_shorter(bench: Bench) -> None:
    bench.tables["claude"] = {"timeout": 0.5}
    assert "0.5 s" in bench.failure(bench.command(hang=True), timeout=20).message


def test_a_tool_that_ignores_sigterm_is_killed_with_its_children(bench: Bench) -> None:  # C9
    orphan = bench.root / "orphan"
    for seconds in (0.6, 2.4, 9.6):  # a busy machine takes its time until the child is there
        error = bench.failure(bench.command(hang=True, deaf=True, orphan=str(orphan)), timeout=seconds)
        assert error.kind == "timeout" and soon_gone(bench.pids[-1])
        if orphan.exists() and orphan.read_text():
            break
    assert soon_gone(int(orphan.read_text()))


def test_a_child_that_outlives_the_answer_is_ended_and_does_not_hold_it_back(bench: Bench) -> None:  # C9
    orphan = bench.root / "orphan"
    assert bench.ask(bench.command(orphan=str(orphan))).text == "I agree with the plan."
    assert soon_gone(int(orphan.read_text())) and not orphan.with_name("orphan.ended").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process that leaves its group cannot be found")
def test_a_child_that_starts_a_session_of_its_own_is_ended_too(bench: Bench) -> None:  # C9
    orphan = bench.root / "orphan"
    assert bench.ask(bench.command(orphan=str(orphan), alone=True)).text == "I agree with the plan."
    assert soon_gone(int(orphan.read_text())) and not orphan.with_name("orphan.ended").exists()


def test_a_cancelled_call_leaves_no_process_and_no_folder(bench: Bench) -> None:  # C9, C14
    orphan = bench.root / "orphan"

    async def cancelled() -> None:
        task = asyncio.ensure_future(bench.command(hang=True, orphan=str(orphan)).complete(bench.request()))
        while not bench.log.exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert soon_gone(bench.pids[0]) and soon_gone(int(orphan.read_text()))
    assert list((bench.home / ".cache/rebut").iterdir()) == []


def test_a_start_that_is_cancelled_halfway_is_seen_through_and_ended(bench: Bench, tmp_path: Path) -> None:  # C9
    async def cancelled_after(steps: int) -> None:
        argv = ["/bin/sh", "-c", f"echo $$ > {tmp_path}/{steps}; exec sleep 60"]
        task = asyncio.ensure_future(process.run_program(argv, cwd=tmp_path, env={}, seconds=30))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for steps in range(1, 6):
        asyncio.run(cancelled_after(steps))
    for noted in tmp_path.glob("[1-5]"):
        if noted.read_text().strip():
            assert soon_gone(int(noted.read_text()))


def test_two_calls_at_once_do_not_meet_and_the_tool_is_looked_at_once(bench: Bench) -> None:  # D8
    async def both() -> list[Reply]:
        command = bench.command(expand=True)
        return list(await asyncio.gather(*(command.complete(bench.request(f"number {n}")) for n in range(3))))

    replies = asyncio.run(both())
    assert [n for n, reply in enumerate(replies) if f"number {n}" in reply.text] == [0, 1, 2]
    assert len(set(bench.pids)) == 3


# A tool of one's own --------------------------------------------------------------------------------------------------


def test_a_tool_of_ones_own_is_one_table(bench: Bench) -> None:  # C1
    bench.tables["mine"] = {
        "args": ["--answer", "${folder}/note.txt"],
        "files": {"note.txt": "for ${model}"},
        "with_model": {"args": ["--llm", "${model}"], "env": {"MY_MODEL": "${model}"}},
        "efforts": {"low": "1", "high": "9"},
        "with_effort": {"args": ["--think=${effort}"]},
        "extra_args": ["--last"],
        "output": {"form": "text", "text": {"take": ""}},
        "markers": [{"kind": "rate limit", "match": "come back later", "notice": True, "hint": "Sleep."}],
    }
    reply = bench.ask(bench.command("mine", model="m1", effort="high", out="plain words\n"))
    call = bench.call
    assert reply.text == "plain words" and (reply.model, reply.family) == ("m1", "mine")
    assert call["argv"][0] == "--answer" and call["argv"][2:] == ["--llm", "m1", "--think=9", "--last"]
    assert call["files"] == {"note.txt": "for m1"} and call["env"]["MY_MODEL"] == "m1"
    error = bench.failure(bench.command("mine", out="Come back later, please."))
    assert (error.kind, error.hint) == ("rate limit", "Sleep.")
