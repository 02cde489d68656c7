"""Tools as data: the shipped tables, what a user may change in them, and what is said about a table that is wrong."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from rebut.backends.cli_tools import tables as tools
from rebut.backends.cli_tools.backend import Command
from rebut.backends.cli_tools.tables import Pick
from rebut.backends.json_path import Extract
from rebut.core.errors import ConfigError, ParticipantFailed, UsageError
from rebut.core.process import MARK
from rebut.core.process_identity import started
from rebut.core.scratch import processes_of, scratch_folder
from rebut.core.types import EFFORTS, ModelSpec, Participant, Request
from rebut.setup import config
from rebut.setup.config import Config
from rebut.setup.connect import connector
from tests import fake_tool

NAMES = ("claude", "codex", "gemini", "qwen", "opencode", "copilot")


# The shipped tables ---------------------------------------------------------------------------------------------------


def test_the_six_tools_are_shipped(tmp_path: Path) -> None:  # C1
    assert tuple(tools.load_tools({})) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_table_is_whole(name: str) -> None:  # C1, C9, H13
    tool = tools.load_tools({})[name]
    assert tool.minimum and tool.probe and tool.install and tool.login and tool.context_file and tool.output.text
    assert tool.with_model.args and "${model}" in "".join(tool.with_model.args)
    assert set(tool.efforts) <= set(EFFORTS) and "low" in tool.efforts and "max" in tool.efforts
    assert "${effort}" in json.dumps([*tool.with_effort.args, *tool.with_effort.fill.values()])
    assert not [a for a in tool.args if a.startswith("--") and "=" not in a and a in ("--yolo", "--allow-all-tools")]


def test_every_flag_that_a_tool_is_probed_for_is_one_that_it_is_given(tmp_path: Path) -> None:  # C9
    short = {"--sandbox": "-s", "--output-format": "-o", "--extensions": "-e", "--model": "-m"}
    for tool in tools.load_tools({}).values():
        parts = (tool.args, tool.alone.args, tool.with_model.args, tool.with_effort.args)
        used = {arg.partition("=")[0] for part in parts for arg in part}
        for flag in tool.probe:
            assert {flag, short.get(flag)} & used, f"{tool.name} {flag}"


def test_no_tool_is_named_in_the_code() -> None:  # C1: no `if tool ==`
    backends = Path(tools.__file__).parents[1]
    shared = (backends / "json_path.py", backends.parent / "core/process.py")
    for path in (*(backends / "cli_tools").glob("*.py"), *shared):
        source = path.read_text()
        for name in NAMES:
            assert name not in source, f"{path.name} speaks of {name}"


# A user's tables ------------------------------------------------------------------------------------------------------


def test_a_users_table_changes_a_tool_key_by_key() -> None:  # C1
    found = tools.load_tools({"claude": {"timeout": 60, "env": {"A": "b"}, "with_model": {"args": ["-m"]}}})["claude"]
    shipped = tools.load_tools({})["claude"]
    assert found.timeout == 60 and found.with_model.args == ("-m",)
    assert found.env == {**shipped.env, "A": "b"}
    assert (found.args, found.output, found.markers) == (shipped.args, shipped.output, shipped.markers)


def test_a_users_own_markers_come_before_those_of_all_tools() -> None:  # C5
    mine = {"output": {"text": {"take": "a"}}, "markers": [{"kind": "auth", "match": "hello"}]}
    markers = tools.load_tools({"mine": mine})["mine"].markers
    assert markers[0].match == "hello" and len(markers) > 3
    assert markers[1:] == tools.load_tools({"other": {"output": mine["output"]}})["other"].markers


def test_the_command_of_a_new_tool_is_its_name_unless_said() -> None:  # C1
    output = {"text": {"take": "a"}}
    found = tools.load_tools({"mine": {"output": output}, "other": {"command": "else", "output": output}})
    assert (found["mine"].command, found["other"].command) == ("mine", "else")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"mine": {}}, "tools.mine.output is missing"),
        ({"mine": {"output": {}}}, "tools.mine.output.text is missing"),
        ({"claude": {"agrs": ["x"]}}, "unknown key tools.claude.agrs"),
        ({"claude": {"output": {"txt": 1}}}, "unknown key tools.claude.output.txt"),
        ({"claude": {"args": "one two"}}, "tools.claude.args"),
        ({"claude": {"env": {"A": 1}}}, "tools.claude.env.A"),
        ({"claude": {"files": {"../x": ""}}}, "'../x' is not a plain relative path"),
        ({"claude": {"work_files": {"/etc/x": ""}}}, "'/etc/x' is not a plain relative path"),
        ({"claude": {"work_files": {"a/../../x": ""}}}, "is not a plain relative path"),
        ({"claude": {"markers": [{"kind": "odd"}]}}, "tools.claude.markers.0.kind"),
        ({"claude": {"markers": [{"kind": "auth", "match": "("}]}}, "not a regular expression"),
        ({"claude": {"efforts": {"huge": "x"}}}, "'huge' is not an effort"),
        ({"claude": {"output": {"text": {"take": "a", "how": "max"}}}}, "tools.claude.output.text.0.how"),
        ({"claude": {"output": {"form": "json"}}}, 'tools.claude.output: stream needs form = "lines"'),
        ({"claude": {"output": {"usd": {"take": "", "form": "text"}}}}, 'stream needs form = "lines"'),
        ({"claude": {"output": {"stream": {"take": "a", "at": "stderr"}}}}, "stream is read from stdout only"),
        ({"claude": {"timeout": 0}}, "tools.claude.timeout"),
        ({"claude": {"at_once": 0}}, "tools.claude.at_once"),
        ({"claude": 3}, "tools.claude must be a table"),
    ],
)
def test_a_wrong_table_is_named_by_file_and_key(table: Mapping[str, Any], says: str) -> None:  # C17
    with pytest.raises(ConfigError) as caught:
        tools.load_tools(table, "config.toml")
    assert caught.value.message.startswith("config.toml: ") and says in caught.value.message and caught.value.hint


def test_a_misspelt_key_gets_a_guess_and_a_value_is_not_repeated() -> None:  # C8, C17
    with pytest.raises(ConfigError) as caught:
        tools.load_tools({"claude": {"extra_arg": []}})
    assert "extra_args" in caught.value.hint
    with pytest.raises(ConfigError) as caught:
        tools.load_tools({"claude": {"env": {"KEY": ["hunter2"]}}})
    assert "hunter2" not in str(caught.value)


def test_the_tables_of_the_docs_are_valid() -> None:  # house rule 10
    page = (Path(__file__).parents[2] / "docs/adding-a-tool.md").read_text()
    for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL):
        table = tomllib.loads(block)["tools"]
        if "mytool" in table:
            table["mytool"].setdefault("output", {"text": {"take": "answer"}})
        if "output" in table.get("mytool", {}):
            table["mytool"]["output"].setdefault("text", {"take": "answer"})
        tools.load_tools(table)


def test_every_key_of_a_tool_is_in_the_docs() -> None:  # house rule 10
    page = (Path(__file__).parents[2] / "docs/adding-a-tool.md").read_text()
    for kind in (tools.Tool, tools.Output, tools.Pick, tools.Marker):
        for key in kind.__dataclass_fields__:
            assert key in ("name", "__pydantic_config__") or re.search(rf"\b{key}\b", page), f"{kind.__name__}.{key}"


# Config and seating ---------------------------------------------------------------------------------------------------


def loaded(root: Path, user: str = "", repo: str = "") -> Config:
    (root / "repo").mkdir(exist_ok=True)
    (root / "config.toml").write_text(user)
    (root / "repo/rebut.toml").write_text(repo)
    return config.load_config(workspace=root / "repo", env={}, user_file=root / "config.toml")


MINE = """
[tools.mine]
command = "claude"
args = ["--go"]
output = { form = "text", text = { take = "" } }
"""


def test_the_users_file_adds_a_tool(tmp_path: Path) -> None:  # C1
    assert loaded(tmp_path, MINE).tools["mine"].args == ("--go",)
    assert set(loaded(tmp_path).tools) == set(NAMES)


@pytest.mark.parametrize("repo", ['[tools.claude]\nextra_args = ["--yolo"]', MINE, "[tools]", "tools = 1"])
def test_a_repository_may_not_touch_tools(tmp_path: Path, repo: str) -> None:  # C16
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, repo=repo)
    assert caught.value.message == "rebut.toml sets tools; a repository may not choose commands"
    assert "your own config" in caught.value.hint


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ('[tools.human]\ncommand = "x"', "built in"),
        ('[tools."a b"]\ncommand = "x"', "is not a valid name for a tool"),
        (MINE + '[providers.mine]\nwire = "openai"\nbase_url = "https://h/v1"', "both in tools and in providers"),
        ("tools = 1", "tools"),
    ],
)
def test_a_tool_needs_a_name_of_its_own(tmp_path: Path, user: str, says: str) -> None:  # C17
    with pytest.raises(ConfigError, match=says):
        loaded(tmp_path, user)


def test_a_provider_that_the_user_named_like_a_shipped_tool_wins(tmp_path: Path) -> None:  # C1
    found = loaded(tmp_path, '[providers.qwen]\nwire = "openai"\nbase_url = "https://h/v1"')
    assert "qwen" not in found.tools and found.need_provider("qwen").base_url == "https://h/v1"


def test_a_tool_takes_a_seat_and_answers(tmp_path: Path) -> None:  # C1, C2
    env = {"PATH": f"{fake_tool.install(tmp_path / 'bin', 'claude')}:/usr/bin:/bin", "HOME": str(tmp_path)}
    env["PATHEXT"] = " ".join(tools.load_tools({})["claude"].probe)
    spec = ModelSpec.parse("claude:opus@high")
    connection = connector(loaded(tmp_path), env, tmp_path)(spec)
    assert connection.family == "anthropic" and connection.price(1000, 1000) is None and not connection.patient
    reply = asyncio.run(connection.backend.complete(Request("k", Participant("proposer", spec), "Well?")))
    assert reply.text == "I agree with the plan." and reply.usd == 0.0025


def test_a_seat_that_runs_out_of_time_hears_what_the_tool_said_last(tmp_path: Path) -> None:  # C5
    # It does not end when it is asked to, so that its end takes longer than what is left of the time.
    env = {"PATH": f"{fake_tool.install(tmp_path / 'bin', 'claude')}:/usr/bin:/bin", "HOME": str(tmp_path)}
    plan = '{"hang_on": "Hm?", "deaf": true}'
    env |= {"PATHEXT": " ".join(tools.load_tools({})["claude"].probe), "PROGRAMDATA": plan}
    spec = ModelSpec.parse("claude")
    connection = connector(loaded(tmp_path), env, tmp_path)(spec)

    async def asked() -> tuple[float, ParticipantFailed]:
        # The first call also asks for version and help.
        await connection.backend.complete(Request("k", Participant("proposer", spec), "Well?"))
        for seconds in (2.0, 8.0, 32.0):  # a busy machine takes its time until the tool says something
            with pytest.raises(ParticipantFailed, match=f"no answer within {seconds:.0f} s") as caught:
                await connection.backend.complete(Request("k", Participant("proposer", spec), "Hm?", timeout=seconds))
            if "its last output" in str(caught.value):
                break
        return seconds, caught.value

    seconds, failed = asyncio.run(asked())
    assert f"within {seconds:.0f} s; its last output: Attempt 1 failed with status 429" in str(failed)
    assert failed.kind == "timeout"


def test_a_tool_that_never_tells_its_version_ends_with_the_time_of_the_call(tmp_path: Path) -> None:  # C5
    tool = tmp_path / "bin" / "claude"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexec sleep 60\n")
    tool.chmod(0o755)
    env = {"PATH": f"{tool.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    spec = ModelSpec.parse("claude")
    connection = connector(loaded(tmp_path), env, tmp_path)(spec)
    with pytest.raises(ParticipantFailed, match=r"claude: no answer within 0\.5 s") as caught:
        asyncio.run(connection.backend.complete(Request("k", Participant("proposer", spec), "Hm?", timeout=0.5)))
    assert caught.value.kind == "timeout" and "--timeout" in caught.value.hint


def test_a_tool_that_is_not_installed_is_a_usage_error_before_anything_is_called(tmp_path: Path) -> None:  # C2, C17
    with pytest.raises(UsageError) as caught:
        connector(loaded(tmp_path), {"PATH": str(tmp_path)}, tmp_path)(ModelSpec.parse("codex"))
    assert caught.value.message.startswith("codex is not installed") and caught.value.exit_code == 2
    assert "npm install -g @openai/codex" in caught.value.hint
    rehearsed = connector(loaded(tmp_path), {"PATH": ""}, tmp_path, rehearsal=True)(ModelSpec.parse("codex"))
    assert rehearsed.family == "openai"


# Finding and asking ---------------------------------------------------------------------------------------------------


def test_a_tool_is_found_on_the_path_given_and_never_in_a_relative_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C9
    fake_tool.install(tmp_path / "here", "claude")
    monkeypatch.chdir(tmp_path / "here")
    tool = tools.load_tools({})["claude"]
    for path in (".", "", ":", "./", "../here", f"{tmp_path}/nowhere:."):
        assert tools.find_executable(tool, {"PATH": path}) is None
    assert tools.find_executable(tool, {}) is None
    assert tools.find_executable(tool, {"PATH": f".:{tmp_path}/here"}) == tmp_path / "here/claude"


def test_a_command_given_as_a_path_must_be_an_absolute_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C9
    fake_tool.install(tmp_path, "claude")
    monkeypatch.chdir(tmp_path)
    tables = {
        name: {"command": name, "output": {"text": {"take": ""}}} for name in ("./claude", str(tmp_path / "claude"))
    }
    relative, absolute = tools.load_tools(tables)["./claude"], tools.load_tools(tables)[str(tmp_path / "claude")]
    assert tools.find_executable(relative, {"PATH": str(tmp_path)}) is None
    assert tools.find_executable(absolute, {}) == tmp_path / "claude"


def test_version_and_flags_are_asked_of_the_tool_itself(tmp_path: Path) -> None:  # H13
    env = {"PATH": f"{fake_tool.install(tmp_path / 'bin', 'claude')}:/bin", "HOME": str(tmp_path)}
    tool = tools.load_tools({})["claude"]
    asked = {**env, "SYSTEMROOT": "2.1.400", "PATHEXT": " ".join(tool.probe[1:])}
    assert tools.version_in(asyncio.run(tools.ask(tool, asked, tool.version_args))) == "2.1.400"
    assert asyncio.run(tools.missing_flags(tool, asked)) == tool.probe[:1]
    assert tools.version_in(asyncio.run(tools.ask(tool, {"PATH": "/nowhere"}, tool.version_args))) == ""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux shows whose process it is")
def test_a_tool_that_is_asked_for_its_version_leaves_no_process_in_a_session_of_its_own(tmp_path: Path) -> None:  # H13
    left = tmp_path / "left"
    command = tmp_path / "claude"
    command.write_text(
        f"#!/bin/sh\nsetsid sh -c 'echo $$ > {left}; exec sleep 600' > {os.devnull} 2>&1 &\n"
        f"while [ ! -s {left} ]; do sleep 0.01; done\necho 2.1.400\n"
    )
    command.chmod(0o755)
    tool = tools.load_tools({})["claude"]
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    assert tools.version_in(asyncio.run(tools.ask(tool, env, tool.version_args))) == "2.1.400"
    state = Path(f"/proc/{int(left.read_text())}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(
    ("found", "least", "old"),
    [
        ("2.1.325", "2.1.325", False),
        ("2.1.1000", "2.1.325", False),
        ("2.2", "2.1.325", False),
        ("2.1.99", "2.1.325", True),
        ("1.999.999", "2.1.325", True),
        ("", "2.1.325", True),
        ("", "", False),
    ],
)
def test_versions_are_compared_as_numbers(found: str, least: str, old: bool) -> None:
    assert tools.too_old(found, least) is old


def test_private_folders_are_the_users_own(tmp_path: Path) -> None:  # C9
    folder = scratch_folder({"HOME": str(tmp_path)})
    assert folder.is_relative_to(tmp_path / ".cache/rebut") and folder.stat().st_mode & 0o777 == 0o700
    other = scratch_folder({"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "c")})
    assert other.is_relative_to(tmp_path / "c")


def test_folders_of_runs_that_were_killed_are_removed_and_those_of_living_ones_kept(tmp_path: Path) -> None:  # C9
    place = tmp_path / ".cache/rebut"
    here, there = f"run-{processes_of()}", "run-00000000"
    mine = f"{here}-{os.getpid()}-{started(os.getpid())}-abc"
    reused = f"{here}-{os.getpid()}-1-abc"  # another process had this number before
    # A container or another machine may share the home; its processes cannot be seen here.
    elsewhere, long_ago = f"{there}-{os.getpid()}-1-abc", f"{there}-7-1-abc"
    for name in (mine, reused, f"{here}-4000000-5-abc", "run-oldform", elsewhere, long_ago, "other"):
        (place / name).mkdir(parents=True)
        (place / name / "file").write_text("x")
    for name in ("run-oldform", long_ago):
        os.utime(place / name, (0, 0))
    link = f"{here}-4000001-5-link"
    (place / link).symlink_to(tmp_path)
    made = scratch_folder({"HOME": str(tmp_path)})
    assert {one.name for one in place.iterdir()} == {mine, elsewhere, "other", link, made.name}
    assert made.name.startswith(f"{here}-{os.getpid()}-{started(os.getpid())}-")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux shows whose process it is")
def test_what_the_tools_of_a_killed_run_left_in_sessions_of_their_own_is_ended(tmp_path: Path) -> None:  # C9
    dead = f"{tmp_path}/.cache/rebut/run-{processes_of()}-4000000-5-abc"
    later = f"{tmp_path}/.cache/rebut/run-{processes_of()}-4000001-{int(started(os.getpid())) * 1000}-abc"
    living = f"{tmp_path}/.cache/rebut/run-{processes_of()}-{os.getpid()}-{started(os.getpid())}-abc"
    for folder in (dead, later, living):
        Path(folder).mkdir(parents=True)
    named = {
        "left": {MARK: f"{dead}/tmp"},
        "left by a probe": {MARK: dead},
        "without the mark": {"TMPDIR": f"{dead}/tmp"},
        "of a running debate": {MARK: f"{living}/tmp"},
        "older than the run": {MARK: f"{later}/tmp"},
        "of a user who looks at the folder": {"PWD": dead},
        "a name that begins alike": {MARK: f"{dead}d/tmp"},
        "the words in another place": {"NOTE": f"X{MARK}={dead}"},
    }
    sleep = shutil.which("sleep") or ""
    running = {name: subprocess.Popen([sleep, "60"], env=env, start_new_session=True) for name, env in named.items()}
    try:
        scratch_folder({"HOME": str(tmp_path)})
        ended = {name for name, one in running.items() if name.startswith(("left", "without")) and one.wait(20)}
        assert ended == {name for name, one in running.items() if one.poll() is not None}
        assert ended == {"left", "left by a probe", "without the mark"}
        assert not Path(dead).exists() and Path(living).exists()
    finally:
        for one in running.values():
            one.kill()
            one.wait()


def test_without_proc_a_process_is_the_same_in_every_language_and_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    # C9: as on macOS, where `ps` tells when a process started
    class Nothing:
        def __init__(self, path: str) -> None:
            self.exists = lambda: False

        def read_text(self, errors: str) -> str:
            raise FileNotFoundError

    monkeypatch.setattr("rebut.core.process_identity.Path", Nothing)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    first = started(os.getpid())
    monkeypatch.setenv("TZ", "America/Lima")
    assert first and started(os.getpid()) == first


# Extraction -----------------------------------------------------------------------------------------------------------


def extract(text: str, form: str = "json") -> Extract:
    return Extract(lambda at: text if at == "stdout" else "", form)


@pytest.mark.parametrize(
    ("pick", "found"),
    [
        (Pick(("a",)), "2"),
        (Pick(("a",), how="first"), "1"),
        (Pick(("a",), how="join"), "12"),
        (Pick(("a",), how="each"), "1 + 2"),
        (Pick(("a",), where={"k": "x"}), "1"),
        (Pick(("a",), where={"k": "z"}), ""),
        (Pick(("in.*.n",), how="join"), "56"),
        (Pick(("in.@key",), how="join"), "pq"),
        (Pick(("a",), where={"in.p.n": 5}), "1"),
        (Pick(("a",), at="stderr"), ""),
    ],
)
def test_a_pick_takes_what_it_says(pick: Pick, found: str) -> None:  # D8
    items = [{"k": "x", "a": "1", "in": {"p": {"n": 5}, "q": {"n": 6}}}, {"k": "y", "a": "2"}]
    assert extract(json.dumps(items)).text([pick]) == found
    assert extract("\n".join(map(json.dumps, items)), "lines").text([pick]) == found


def test_numbers_are_summed_and_nonsense_is_none() -> None:  # C4
    text = '[{"n": 1, "b": true, "s": "7", "neg": -1, "nan": NaN}, {"n": 2, "inf": Infinity, "huge": 1%s}]' % (
        "0" * 400
    )
    assert extract(text).count([Pick(("n",), how="sum")]) == 3
    for name in ("b", "s", "neg", "nan", "inf", "huge", "absent"):
        assert extract(text).number([Pick((name,))]) is None, name
        assert extract(text).count([Pick((name,))]) is None, name
    assert extract(text).number([Pick(("n", "huge"), how="sum")]) is None, "no part of a sum is left out"


@given(st.text(max_size=200), st.sampled_from(["json", "lines", "text"]))
def test_no_output_breaks_the_extractor(text: str, form: str) -> None:  # C5
    picks = [Pick(("a.b", "*.c", "@key", ""))]
    found = extract(text, form)
    assert isinstance(found.text(picks), str)
    found.number(picks)


def test_json_without_end_is_no_answer() -> None:  # C5
    assert extract("[" * 100_000).text([Pick(("a",))]) == ""


def test_a_command_does_nothing_when_it_is_made(tmp_path: Path) -> None:
    Command(tools.load_tools({})["claude"], model="", effort="", env={"HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []
