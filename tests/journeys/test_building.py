"""For whoever builds on rebut: a protocol to begin from, `rebut.testing`, installed protocols, tables checked."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duels
import pytest
from console import at_a_terminal, piped

from rebut import ParticipantFailed, testing
from rebut.core.errors import Aborted
from rebut.record.events import Asked, Attempt, Line
from rebut.record.record import Record
from rebut.testing import crash_at_every_call, fails, play

PROTOCOL = '''"""Two questions to one seat."""
from rebut import Form, Outcome

seats = {"speaker": 1}
WORDS = {"zeal", "doubt", "proof", "habit", "faith", "taste", "sense", "pride", "haste", "craft", "greed", "poise"}


class Said(Form):
    text: str


async def run(debate):
    who = debate.seat("speaker")
    first = await debate.ask(who, "first", f"Speak of {MADE}.", schema=Said)
    second = await debate.ask(who, "second", f"Now of {first.value.text}.", schema=Said)
    return Outcome("done", "DONE", RESULT)
'''
SCRIPT = {"first@speaker": {"text": "one thing"}, "second@speaker": {"text": "another"}}


def protocol(folder: Path, made: str = "'proof'", result: str = "second.value.text") -> Path:
    path = folder / "talk.py"
    path.write_text(PROTOCOL.replace("{MADE}", "{" + made + "}").replace("RESULT", result))
    return path


# rebut new


def test_a_new_protocol_and_its_test_work_as_they_are_written(tmp_path: Path) -> None:
    done = piped("new", "protocol", "hearing", cwd=tmp_path)
    assert done.returncode == 0 and "hearing.py" in done.stdout
    tried = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_hearing.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert tried.returncode == 0 and "3 passed" in tried.stdout, tried.stdout
    checked = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--line-length", "120", str(tmp_path)], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout


def test_its_own_test_catches_a_protocol_that_is_not_deterministic(tmp_path: Path) -> None:  # C3
    # a generated test that cannot fail would be worth nothing
    piped("new", "protocol", "hearing", cwd=tmp_path)
    file = tmp_path / "hearing.py"
    text = file.read_text().replace("fill(PROPOSE, topic=topic", "fill(PROPOSE, topic=topic + str(hash(topic))")
    assert text != file.read_text()
    file.write_text(text)
    test = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "crash", "test_hearing.py"]
    tried = subprocess.run([sys.executable, *test], cwd=tmp_path, capture_output=True, text=True)
    assert tried.returncode == 1 and "ReplayMismatch" in tried.stdout


def test_a_new_protocol_writes_over_nothing_and_wants_a_plain_name(tmp_path: Path) -> None:
    (tmp_path / "test_taken.py").write_text("mine")
    done = piped("new", "protocol", "taken", cwd=tmp_path)
    assert done.returncode == 2 and "already exists" in done.stderr and not (tmp_path / "taken.py").exists()
    for odd in ("../up", "Two Words", "class", "9lives"):
        assert "cannot be the name of a protocol" in piped("new", "protocol", odd, cwd=tmp_path).stderr
    seen = at_a_terminal("new", "protocol", "fine", "--folder", "deep/er", cwd=tmp_path)
    assert seen.code == 0 and (tmp_path / "deep/er/fine.py").exists()


# rebut.testing


def test_play_gives_the_outcome_and_what_was_asked(tmp_path: Path) -> None:
    played = play(protocol(tmp_path), SCRIPT, topic="Why?")
    assert played.outcome.decision == "another" and played.keys == list(SCRIPT)
    assert played.asked[1].prompt == "Now of one thing."
    assert played.record.opened.topic == "Why?"


def test_a_script_has_failures_retries_and_patterns(tmp_path: Path) -> None:  # C5
    path = protocol(tmp_path)
    with pytest.raises(ParticipantFailed, match="scripted timeout"):
        play(path, {**SCRIPT, "second@speaker": fails("timeout")})
    played = play(path, {"first@*": ["no JSON", {"text": "at last"}], "*": {"text": "end"}})
    assert [asked.why for asked in played.asked] == ["ask", "repair", "ask"]
    assert "Now of at last." in played.asked[2].prompt
    with pytest.raises(AssertionError, match="is not a kind of failure"):
        fails("boredom")  # type: ignore[arg-type]


def test_a_shipped_protocol_is_played_by_its_name_with_settings_and_a_workspace(workspace: Path) -> None:
    played = play("duel", duels.answers(1), workspace=workspace, context=["src"], rounds=1)
    assert played.outcome.heading == "VERDICT" and played.outcome.ledger.marks()["found"] >= 1
    with pytest.raises(Aborted):
        play("duel", {**duels.answers(1), "r1/opening@proposer": fails("auth")}, rounds=1)


def test_nothing_of_the_users_own_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text("[limits]\ncalls = 1\n")
    monkeypatch.setenv("REBUT_CONFIG", str(tmp_path / "config.toml"))
    assert play(protocol(tmp_path), SCRIPT).outcome.heading == "DONE"


def test_a_sound_protocol_survives_a_crash_at_every_call(tmp_path: Path) -> None:  # C3
    whole = crash_at_every_call(protocol(tmp_path, "' '.join(sorted(WORDS))"), SCRIPT)
    assert len(whole.asked) == 2


@pytest.mark.parametrize(
    ("made", "result", "complaint"),
    [
        ("' '.join(WORDS)", "second.value.text", "ReplayMismatch"),
        ("'proof'", "__import__('time').strftime('%Y')", "decision differs"),
        ("'proof'", "str(__import__('datetime').datetime.now().year)", "decision differs"),
        ("'proof'", "__import__('os').getcwd()", "decision differs"),
    ],
    ids=["the order of a set", "the date", "the year", "the folder"],
)
def test_a_protocol_that_looks_at_the_world_is_caught(tmp_path: Path, made: str, result: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint) as caught:  # C3
        crash_at_every_call(protocol(tmp_path, made, result), SCRIPT)
    assert "killed in the middle of call" in str(caught.value)


def test_the_other_process_moves_the_clock_of_rebut_itself(tmp_path: Path) -> None:  # C3
    job = testing._job(protocol(tmp_path), SCRIPT, tmp_path, "x", None, (), None, {})
    [ending] = testing._elsewhere([job], 400, testing.SECOND)
    assert ending.outcome, ending.error
    began = datetime.fromisoformat(testing._record(job).lines[0].at)
    assert began - datetime.now(UTC) > timedelta(days=399), "not even its record has today's date"


def test_a_call_that_is_made_again_though_its_answer_is_there_is_caught() -> None:  # C3
    def record(outcome: str) -> Record:
        asked = Asked(key="first@speaker", seat="speaker", fp="f", attempt=1, why="ask")
        events = [asked, Attempt(key=asked.key, attempt=1, outcome=outcome), replace(asked, attempt=2)]
        made = Record()
        for n, event in enumerate(events, 1):
            made.add(Line(n, "2030-01-01T00:00:00+00:00", event))
        return made

    with pytest.raises(AssertionError, match="first@speaker was asked again, though its answer was on record"):
        testing._asks_nothing_twice("killed", record("ok"))
    testing._asks_nothing_twice("killed", record("timeout"))  # what failed may be tried again


# installed protocols


def install(site: Path, source: Path, name: str = "talk", value: str = "talk_module") -> dict[str, str]:
    """Lay a package as an installer does."""
    info = site / "rebut_talk-2.5.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rebut-talk\nVersion: 2.5\n")
    (info / "entry_points.txt").write_text(f"[rebut.protocols]\n{name} = {value}\n")
    (site / "talk_module.py").write_text(source.read_text())
    return {"PYTHONPATH": str(site)}


def test_an_installed_protocol_is_run_shown_resumed_and_replayed_by_its_name(tmp_path: Path) -> None:  # C13
    env = install(tmp_path / "site", protocol(tmp_path))
    spec = duels.script(tmp_path / "s.json", {"first@*": {"json": SCRIPT["first@speaker"]}})
    done = piped("run", "talk", "x", "--seat", f"speaker={spec}", "--json", env=env, cwd=tmp_path)
    assert done.returncode == 3 and "has no answer for second@speaker" in done.stdout
    duels.script(tmp_path / "s.json", {key: {"json": value} for key, value in SCRIPT.items()})
    done = piped("resume", "last", "--json", env=env, cwd=tmp_path)
    assert json.loads(done.stdout)["decision"] == "another", done.stdout
    assert piped("replay", "last", env=env, cwd=tmp_path).returncode == 0
    record = json.loads(piped("show", "last", "--json", cwd=tmp_path).stdout)
    opened = next(e for e in record["events"] if e["kind"] == "opened")
    assert opened["protocol"] == "talk" and opened["protocol_version"] == "1+2.5"


def test_an_unknown_or_broken_protocol_is_named_with_those_that_are_there(tmp_path: Path) -> None:  # C17
    env = install(tmp_path / "site", protocol(tmp_path))
    error = piped("run", "tolk", "x", env=env).stderr
    assert "no protocol is called 'tolk'" in error and "Installed: talk." in error and "duel" in error
    (tmp_path / "site/talk_module.py").write_text("1 / 0")
    error = piped("run", "talk", "x", env=env).stderr
    assert "talk (talk_module) cannot be loaded: ZeroDivisionError" in error and "Traceback" not in error
    env = install(tmp_path / "other", protocol(tmp_path), value="talk_module:run")
    assert "is no module" in piped("run", "talk", "x", env=env).stderr


# tables


def test_a_right_table_is_told_with_what_it_does_and_lacks(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(
        '[tools.mine]\nargs = ["ask"]\noutput = { text = { take = "answer" } }\n'
        '[providers.there]\nwire = "openai"\nbase_url = "https://models.example.org/v1"\napi_key_env = "THERE_KEY"\n'
    )
    done = piped("models", "check", str(tmp_path / "t.toml"))
    assert done.returncode == 0
    for said in ("tools.mine   ok", "runs: mine ask", "there is no mine on PATH", "no with_model", "no probe"):
        assert said in done.stdout
    assert "uses the openai wire at https://models.example.org/v1 with the key from THERE_KEY" in done.stdout
    assert "THERE_KEY is not set here" in done.stdout
    shown = json.loads(piped("models", "check", str(tmp_path / "t.toml"), "--json").stdout)
    assert [row["table"] for row in shown["tables"]] == ["tools.mine", "providers.there"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tools.mine]\nagrs = []\noutput = { text = { take = 'a' } }\n", "unknown key tools.mine.agrs"),
        ("[tools.mine]\nargs = []\n", "tools.mine.output is missing"),
        ("[tools.mine\n", "line 1"),
        ("[providers.there]\nwire = 'telegraph'\n", "providers.there.wire"),
        ("[providers.there]\nwire = 'openai'\nbase_url = 'http://example.org'\n", "plain http"),
    ],
)
def test_a_wrong_table_is_an_error_that_names_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:  # C17
    (tmp_path / "t.toml").write_text(text)
    done = piped("models", "check", str(tmp_path / "t.toml"))
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_without_a_file_the_users_own_config_is_checked(tmp_path: Path) -> None:
    assert piped("models", "list", "t.toml").returncode == 2
    (tmp_path / "config.toml").write_text("[limits]\nrounds = 2\n")
    done = piped("models", "check", env={"REBUT_CONFIG": str(tmp_path / "config.toml")})
    assert done.returncode == 0 and "has no tool or provider table" in done.stdout
