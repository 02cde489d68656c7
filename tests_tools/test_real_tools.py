"""What the shipped tables promise holds for the real tools: answers, failures, lockdown, logins."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from rebut.backends.cli_tools import tables
from rebut.core.errors import ParticipantFailed
from rebut.core.types import ModelSpec, Participant, Request
from tests import duels
from tests_tools import real
from tests_tools.server import INPUT, OUTPUT, SAID, Server
from tests_tools.setups import SLOW, Desk, around


@pytest.fixture(params=list(real.TOOLS))
def setup(request: pytest.FixtureRequest, tmp_path: Path, server: Server) -> Desk:
    server.set("ok")
    return Desk(request.param, tmp_path / "home", server)


def running(group: int) -> list[str]:
    """The processes of a group that are still alive."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[2] == str(group) and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


def test_it_is_the_version_that_its_table_is_written_for(setup: Desk) -> None:  # H13
    pinned = setup.real.package.rpartition("@")[2]
    env = {"PATH": real.path(), "HOME": str(setup.home)}
    said = asyncio.run(tables.ask(setup.tool, env, setup.tool.version_args))
    assert tables.version_in(said) == pinned == setup.tool.minimum
    assert asyncio.run(tables.missing_flags(setup.tool, env)) == ()


def test_it_is_seated_by_itself_only_where_it_shows_a_login(setup: Desk) -> None:  # C2, C16
    bare = setup.home.parent / "bare"
    bare.mkdir()
    env = {"PATH": real.path(), "HOME": str(bare), "LANG": "C.UTF-8"}
    assert not asyncio.run(tables.login(setup.tool, env)).shown
    for name, value in setup.real.login.items():
        if "/" in name:
            (bare / name).parent.mkdir(parents=True, exist_ok=True)
            (bare / name).write_text(json.dumps(value))
        else:
            env[name] = value
    assert asyncio.run(tables.login(setup.tool, env)).shown
    assert setup.server.bodies == [], "nobody was asked anything"


def test_a_question_is_answered_with_effort_usage_and_no_tools(setup: Desk) -> None:  # C1, C9
    prompt = "/help me: " + "sessions é " * 18_000
    reply = setup.ask(setup.command("low"), prompt, schema={"title": "Opening"}, followup="LAST WORDS")
    assert reply.text == SAID and (reply.usage.input, reply.usage.output) == (INPUT, OUTPUT)
    (body,) = setup.server.bodies
    whole = json.dumps(body, ensure_ascii=False)
    assert "sessions é " * 18_000 in whole.replace("\\n", "\n")
    assert whole.index("sessions") < whole.index("Opening") < whole.index("LAST WORDS")
    sent = [
        body.get("output_config"),
        body.get("reasoning"),
        body.get("reasoning_effort"),
        body.get("generationConfig"),
    ]
    assert '"low"' in json.dumps(sent).lower()
    names = [tool.get("name") for tool in body.get("tools") or () if "functionDeclarations" not in tool]
    assert set(names) <= {"request_user_input", "apply_patch"}, "the sandbox of the one that has these refuses to write"
    assert not [declared for tool in body.get("tools") or () for declared in tool.get("functionDeclarations", ())]


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (429, "rate limit"), (500, "crashed")])
def test_a_refusal_is_a_failure_of_its_class(setup: Desk, status: int, kind: str) -> None:  # C5
    # Some go on trying for longer than anybody wants to wait; our own clock ends that.
    endless = status != 401 and not setup.real.gives_up
    command = setup.command()
    setup.server.set("status", status)
    error = setup.cut_off(command) if endless else setup.failure(command)
    assert error.kind in ((kind, "timeout") if endless else (kind,)), error
    assert error.hint and setup.server.bodies


@pytest.mark.parametrize("mode", ["hang", "stall"])
def test_a_provider_that_says_nothing_more_costs_a_timeout_and_leaves_nobody_behind(setup: Desk, mode: str) -> None:
    # C5, C9
    command = setup.command()
    setup.server.set(mode)
    assert setup.cut_off(command).kind == "timeout"
    until = time.monotonic() + 5
    while running(setup.pids[-1]) and time.monotonic() < until:
        time.sleep(0.05)
    assert running(setup.pids[-1]) == []
    assert list((setup.home / ".cache/rebut").iterdir()) == []


def test_an_empty_reply_is_no_answer(setup: Desk) -> None:  # C5
    command = setup.command()
    setup.server.set("empty")
    # Some ask again, and again, when they hear nothing.
    assert setup.cut_off(command).kind in ("bad reply", "crashed", "timeout")


def test_a_command_that_the_model_asks_for_is_not_run(setup: Desk, tmp_path: Path) -> None:  # C9
    proof = tmp_path / "it-ran"
    words = f"touch {proof}"
    setup.server.set("tool")
    setup.server.tool = (setup.real.shell, {"command": words, "cmd": words, "description": "a test"})
    try:
        setup.ask(setup.command())
    except ParticipantFailed as error:
        assert error.kind in ("crashed", "bad reply"), error
    assert setup.server.bodies and not proof.exists()


def test_a_path_in_the_prompt_reads_no_file(setup: Desk, tmp_path: Path) -> None:  # C9
    for place in (tmp_path, setup.home):
        (place / "secret.txt").write_text("THE-SECRET")
    paths = (f"{tmp_path}/secret.txt", "~/secret.txt", "secret.txt", "../secret.txt", "../../../../secret.txt")
    setup.ask(setup.command(), "Look: " + " ".join(f"@{path}" for path in paths) + f"\n@{tmp_path}/secret.txt\n")
    assert "@secret.txt" in setup.server.heard and "THE-SECRET" not in setup.server.heard


def test_its_persona_and_no_other_reaches_its_provider(setup: Desk, tmp_path: Path) -> None:  # H1, H2
    own, prompt = f"You are the Operator that sits for {setup.name}.", "Where do sessions belong?"
    panel = tmp_path / "work/debates/001-sessions"  # where all personas lie, and no tool is run
    panel.mkdir(parents=True)
    for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md"):
        (panel / name).write_text("You are somebody else entirely.")
    who = Participant("challenger.1", ModelSpec(setup.name), persona=own)
    request = Request("r1/challenge@challenger.1", who, prompt, timeout=SLOW, on_spawn=setup.pids.append)
    asyncio.run(setup.command().complete(request))
    assert own in setup.server.heard and "somebody else entirely" not in setup.server.heard


def test_its_context_file_is_read(setup: Desk, tmp_path: Path) -> None:  # C9, H13
    persona = tmp_path / "persona"
    persona.mkdir()
    (persona / setup.tool.context_file).write_text("You are the Operator of the night shift.")
    setup.ask(setup.command(workdir=persona))
    assert "Operator of the night shift" in setup.server.heard
    assert [p.name for p in persona.iterdir()] == [setup.tool.context_file]
    setup.server.set("ok")
    setup.ask(setup.command())
    assert "Operator of the night shift" not in setup.server.heard


def rebut(setup: Desk, others: Sequence[Desk], *words: str) -> subprocess.CompletedProcess[str]:
    """The command itself, with these tools on PATH and homes in one."""
    command, env = [sys.executable, "-m", "rebut", *words], around(setup, others)
    return subprocess.run(command, cwd=setup.home / "work", env=env, text=True, capture_output=True, timeout=300)


@pytest.mark.parametrize("name", ["claude", "codex", "copilot"])
def test_the_doctor_finds_it_sound_down_to_its_context_file(name: str, tmp_path: Path, server: Server) -> None:  # H13
    # The quick ones: five calls each. That the others read their file stands in the test above.
    setup = Desk(name, tmp_path / "home", server)
    server.set("obey")
    ended = rebut(setup, (), "doctor", "--deep", "--json", "--timeout", f"{SLOW:g}", f"{setup.name}:{setup.real.model}")
    (row,) = json.loads(ended.stdout)["providers"]
    assert row["login"] is True and row["can_debate"] and row["problem"] is None, row
    checks = ["schema reply", "non-ASCII", "200 kB prompt", "context file"]
    assert [c["name"] for c in row["checks"] if c["passed"]] == checks
    asked = [json.dumps(body) for body in setup.server.bodies if "What is the code word" in json.dumps(body)]
    assert asked and all("code word of this project is" in body for body in asked), "the file went along"


@pytest.mark.parametrize("trio", [("claude", "codex", "gemini"), ("qwen", "opencode", "copilot")])
def test_three_of_them_hold_a_debate_to_its_verdict(trio: tuple[str, ...], tmp_path: Path, server: Server) -> None:
    # C1, D1
    server.set("debate")
    server.answers = duels.by_form()
    first, *others = [Desk(name, tmp_path / name, server) for name in trio]
    roles = zip(("proposer", "challenger", "judge"), trio, strict=True)
    seats = [f"--{role}={name}:{real.TOOLS[name].model}" for role, name in roles]
    ended = rebut(first, others, "duel", "Where do sessions belong?", *seats, "--json", "--allow-same-model")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    outcome = json.loads(ended.stdout)
    assert outcome["heading"] == "VERDICT" and len(server.bodies) == 5
    assert outcome["spent"]["tokens"] == 5 * (INPUT + OUTPUT)


def test_a_login_file_in_the_users_home_is_used_under_the_lockdown(tmp_path: Path, server: Server) -> None:  # C9
    server.set("ok")
    setup = Desk("claude", tmp_path / "home", server)
    login = {"accessToken": "sk-test-from-file", "refreshToken": "none", "expiresAt": 4102444800000}
    (setup.home / ".claude").mkdir()
    file = setup.home / ".claude/.credentials.json"
    file.write_text(json.dumps({"claudeAiOauth": {**login, "scopes": ["user:inference"]}}))
    assert setup.ask(setup.command(ANTHROPIC_API_KEY=True)).text == SAID
    assert server.headers[-1]["authorization"] == "Bearer sk-test-from-file"
    file.unlink()
    assert setup.failure(setup.command(ANTHROPIC_API_KEY=True)).kind == "auth"


GLOBAL = {
    "claude": (".claude/CLAUDE.md",),
    "codex": (),  # ~/.codex/AGENTS.md it reads whatever it is told
    "gemini": (),  # so it does with ~/.gemini/GEMINI.md
    "qwen": (".qwen/QWEN.md", ".qwen/AGENTS.md"),
    "opencode": (".config/opencode/AGENTS.md", ".claude/CLAUDE.md"),
    "copilot": (),  # and so does this one when it has a persona
}
"""Where a person writes what a tool should know in all their projects, for those tools that can be kept from it."""


@pytest.mark.parametrize("persona", ["", "You are the Operator of the night shift."])
def test_nothing_that_a_person_keeps_for_their_own_work_reaches_a_provider(
    setup: Desk, persona: str
) -> None:  # C9, C16
    cache = setup.home / ".cache/rebut"
    cache.mkdir(parents=True, exist_ok=True)
    names = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", ".github/copilot-instructions.md")
    above = [cache, *(place for place in cache.parents if place.is_relative_to(setup.home.parent))]
    files = [place / name for place in above for name in names] + [setup.home / name for name in GLOBAL[setup.name]]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"MY-OWN-NOTES of {file}")
    who = Participant("challenger.1", ModelSpec(setup.name), persona=persona)
    request = Request("r1/x@challenger.1", who, "Where do sessions belong?", timeout=SLOW, on_spawn=setup.pids.append)
    asyncio.run(setup.command().complete(request))
    assert persona in setup.server.heard
    assert sorted(set(re.findall(r"MY-OWN-NOTES of [^\s\"\\<]+", setup.server.heard))) == []
