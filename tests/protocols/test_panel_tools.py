"""Command-line tools on a panel: each gets its own persona and no other, and is tried before it is counted on."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import panel_tool
import panels
import pytest
from voices import Voice, cli, record

import rebut as door
from rebut import Aborted, Outcome, Reply
from rebut.backends.cli_tools.tables import load_tools
from rebut.core.errors import ParticipantFailed
from rebut.engine.runtime import Connection
from rebut.record.reachability import FRESH, Reachability

TOOLS = ("claude", "codex", "gemini", "qwen", "opencode", "copilot")


@dataclass
class Shop:
    """A PATH with fakes of the tools, scripted seats for lead and judge, and a log of every call."""

    root: Path
    workspace: Path

    def __post_init__(self) -> None:
        self.log = self.root / "log"
        self.log.mkdir()
        self.bin = panel_tool.install(self.root / "bin", *TOOLS)
        probes = " ".join(flag for tool in load_tools({}).values() for flag in tool.probe)
        self.env = {
            **os.environ,
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "APPDATA": str(self.log),
            "PATHEXT": probes,
        }
        self.env["XDG_CACHE_HOME"] = str(self.root / "cache")

    def hold(self, *tools: str, **more: Any) -> Outcome:
        said = {"opening/personas@judge": panels.personas(len(tools)), "opening/position@lead": panels.opening()}
        seats = panels.seats(self.root / "seats", said)
        env = {**self.env, **more.pop("env", {})}
        return door.run(
            "panel", panels.TOPIC, lead=seats["lead"], judge=seats["judge"], challenger=list(tools), env=env, **more
        )

    def calls(self, name: str = "") -> list[dict[str, Any]]:
        files = sorted(self.log.glob(f"{name}*.json"), key=lambda p: p.stat().st_mtime_ns)
        return [json.loads(p.read_text()) for p in files]

    def challenges(self, name: str) -> list[dict[str, Any]]:
        return [call for call in self.calls(name) if "Which code word" not in call["prompt"]]


@pytest.fixture
def shop(tmp_path: Path, workspace: Path) -> Shop:
    return Shop(tmp_path, workspace)


LENS = {"gemini": "Architect", "codex": "Operator", "qwen": "Adversary"}


def test_each_tool_finds_its_own_persona_and_no_other(shop: Shop) -> None:  # H1 H2 H5
    outcome = shop.hold("gemini", "codex", "qwen")
    assert outcome.heading == "CONSENSUS"
    place = panels.files(shop.workspace)
    for name, file in (("gemini", "GEMINI.md"), ("codex", "AGENTS.md"), ("qwen", "QWEN.md")):
        [call] = shop.challenges(name)
        laid = file if name == "codex" else "rebut-persona.md"  # a name of which no folder above has a file
        assert call["found"][laid] == (place / file).read_text()
        assert f"# The {LENS[name]}" in call["found"][laid]
        everything = "\n".join([*call["found"].values(), call["prompt"], *call["argv"]])
        for other in set(LENS.values()) - {LENS[name]}:
            assert f"The {other}" not in everything and f"{other.lower()} matter" not in everything
        assert f"{LENS[name].lower()} matter" not in call["prompt"], "the file alone tells it"
        assert not call["cwd"].startswith(str(shop.workspace)) and not Path(call["cwd"]).exists()
    assert "✅ Architect (Gemini)" in outcome.final


def test_tools_that_read_the_same_name_each_find_their_own(shop: Shop) -> None:  # H1
    outcome = shop.hold("codex", "opencode", "copilot")
    assert outcome.heading == "CONSENSUS"
    place = panels.files(shop.workspace)
    assert {p.name for p in place.glob("*.md")} == {
        "AGENTS.md",
        "PERSONA_opencode.md",
        "PERSONA_copilot.md",
        "context.md",
        "transcript.md",
    }
    for name, file in (("codex", "AGENTS.md"), ("opencode", "PERSONA_opencode.md"), ("copilot", "PERSONA_copilot.md")):
        [call] = shop.challenges(name)
        assert call["found"]["AGENTS.md"] == (place / file).read_text()


def test_a_tool_whose_lockdown_turns_the_file_off_is_given_it_another_way(shop: Shop) -> None:  # H1
    assert shop.hold("claude").heading == "CONSENSUS"
    [call] = shop.challenges("claude")
    at = call["argv"].index("--append-system-prompt-file")
    assert call["argv"][at + 1].endswith("/CLAUDE.md") and "# The Architect" in call["found"]["CLAUDE.md"]


def test_a_tool_that_does_not_read_its_file_is_told_in_the_prompt(shop: Shop) -> None:  # H1 H3
    outcome = shop.hold("gemini", "codex", env={"LOCALAPPDATA": "gemini"})
    assert outcome.heading == "CONSENSUS"
    [deaf], [other] = shop.challenges("gemini"), shop.challenges("codex")
    assert "# The Architect" in deaf["prompt"] and "# The Operator" not in other["prompt"]
    assert any("does not read GEMINI.md; its persona goes into each prompt" in note for note in outcome.notes)
    state = panels.state(shop.workspace)
    assert [c["persona_in"] for c in state["challengers"]] == ["prompt", "file"]


# preflight


def test_every_tool_is_tried_before_it_is_counted_on(shop: Shop) -> None:  # H3
    outcome = shop.hold("gemini", "codex", "qwen", env={"USERPROFILE": "codex"})
    assert outcome.heading == "PARTIAL CONSENSUS (2 of 3)" and shop.challenges("codex") == []
    assert any(re.search(r"Operator \(Codex\) cannot be reached: auth", note) for note in outcome.notes)
    assert "❌ Operator (Codex): did not answer (auth" in outcome.final


def test_when_nobody_can_be_reached_nothing_is_asked_and_the_doctor_is_named(shop: Shop) -> None:  # H3
    with pytest.raises(Aborted, match="too few challengers can be reached") as caught:
        shop.hold("gemini", "codex", env={"USERPROFILE": "gemini codex"})
    assert "rebut doctor" in caught.value.hint
    assert not any("lead" in key or "judge" in key for key in record().calls)
    outcome = asyncio.run(door.resume("last", env=shop.env))  # they logged in
    assert outcome.heading == "CONSENSUS"


def test_the_screen_names_the_doctor_when_no_tool_can_be_reached(shop: Shop) -> None:  # H3
    said = panels.consensus()
    seats = panels.seats(shop.root / "seats", said, ())
    named = ("--lead", seats["lead"], "--judge", seats["judge"], "--challenger", "gemini", "--challenger", "codex")
    done = cli("panel", panels.TOPIC, *named, env={**shop.env, "USERPROFILE": "gemini codex"})
    assert done.returncode == 3 and "`rebut doctor` tests each of them." in " ".join(done.stderr.split())


def test_a_round_trip_is_not_made_again_within_minutes(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:  # H3
    shop.hold("gemini", "codex")
    assert len(shop.calls("gemini")) == 2
    shop.hold("gemini", "codex")
    assert len(shop.calls("gemini")) == 3, "the second panel asked at once"
    kept = Path(os.environ["REBUT_HOME"]) / "trips.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    later = time.time() + FRESH + 1
    monkeypatch.setattr("rebut.record.reachability.time.time", lambda: later)
    shop.hold("gemini", "codex")
    assert len(shop.calls("gemini")) == 5


def test_what_the_doctor_found_counts(shop: Shop) -> None:  # H3 H13
    trips = Reachability(Path(os.environ["REBUT_HOME"]) / "trips.json")
    cli("doctor", "gemini", "--offline", env=shop.env)
    assert trips.known("gemini") is None, "nothing was tried"
    cli("doctor", "gemini", env=shop.env)
    kept = trips.known("gemini")
    assert kept and kept.reads
    shop.hold("gemini")
    assert not tried(shop), "that it answers and reads its file is known"


def tried(shop: Shop) -> list[dict[str, Any]]:
    return [call for call in shop.calls("gemini") if "Which code word" in call["prompt"]]


def far(voice: Voice) -> Connection:
    return Connection(voice, lambda i, o: 0.0, family="far", far=True)


def test_a_later_trip_that_tried_less_does_not_undo_what_is_known(tmp_path: Path) -> None:  # H3
    trips = Reachability(tmp_path / "trips.json")
    assert trips.known("gemini") is None
    trips.keep("gemini", False)
    trips.keep("gemini")
    kept = trips.known("gemini")
    assert kept and kept.reads is False and trips.known("gemini:other") is None


def test_a_broken_or_foreign_cache_costs_a_trip_and_nothing_else(tmp_path: Path) -> None:  # H3
    for text in ("", "[]", '{"a": 3}', '{"a": {"at": "x"}}', "\x00"):
        (tmp_path / "trips.json").write_text(text)
        assert Reachability(tmp_path / "trips.json").known("a") is None
    Reachability(tmp_path / "trips.json").keep("a")
    assert Reachability(tmp_path / "trips.json").known("a")
    Reachability(tmp_path / "trips.json" / "no" / "folder").keep("a")


def test_trips_are_calls_like_any_other_on_record_and_within_the_limits(workspace: Path) -> None:  # H3 C3 C4
    voice = Voice(answer)
    outcome = door.run(
        "panel",
        panels.TOPIC,
        lead="one",
        judge="two",
        challenger=["three", "four"],
        backends={"one": Voice(answer), "two": Voice(answer), "three": far(voice), "four": far(voice)},
    )
    assert outcome.heading == "CONSENSUS"
    assert [k for k in record().calls if k.startswith("preflight/")] == [
        "preflight/reach@challenger.1",
        "preflight/reach@challenger.2",
    ]
    assert outcome.spent.calls == 6
    again = asyncio.run(door.replay(outcome.session))
    assert again.final == outcome.final


def test_one_who_is_always_there_is_not_tried(workspace: Path) -> None:  # H3
    voice = panel_of_one()
    assert not any("reach" in key for key in voice.keys)


def panel_of_one() -> Voice:
    """A panel in which one voice has every seat."""
    voice = Voice(answer)
    names = {"lead": "one", "judge": "two", "challenger": "three"}
    door.run("panel", panels.TOPIC, **names, backends=dict.fromkeys(names.values(), voice))
    return voice


def answer(request: Any) -> str | Reply | ParticipantFailed:
    step = request.key.rpartition("/")[2].partition("@")[0]
    if step == "reach":
        found = re.search(r"code word of this room is (\w+)", request.whole)
        return found[1] if found else "none"
    lens = re.search(r"You are the (\w+) on a panel", request.whole)
    forms: Mapping[str, Any] = {
        "personas": panels.personas(request.prompt.count("\n- ")),
        "position": panels.opening(),
        "challenge": panels.agree(lens[1] if lens else "Architect"),
    }
    return json.dumps(forms[step])


def test_a_persona_leads_the_prompt_where_there_is_no_file(workspace: Path) -> None:  # H1
    voice = panel_of_one()
    [asked] = [r for r in voice.asked if r.key == "r1/challenge@challenger.1"]
    assert asked.prompt.startswith("# The Architect\n") and asked.participant.persona == ""
    assert not record().calls[asked.key].asked[1].prompt.startswith("# The"), "the question itself is kept apart"
    [lead] = [r for r in voice.asked if r.key == "opening/position@lead"]
    assert "The Architect" not in lead.prompt


def test_found_models_fill_the_panel_by_family(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:  # C2
    from rebut.api import Setup

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    signs = dict.fromkeys(("GEMINI_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"), "none")  # of a login; nothing is called
    setup = Setup(env={**shop.env, **signs}, rehearsal=True)
    plan = setup.plan("panel", panels.TOPIC)
    seats = [(p.seat, p.spec.provider) for p in plan.seats]
    assert [s for s, _ in seats] == ["lead", "challenger.1", "challenger.2", "challenger.3", "judge"]
    assert len({p.family for p in plan.seats[:4]}) == 4
