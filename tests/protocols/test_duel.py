"""The duel from outside: arguments, synthesis, state file, endings, redaction. Checks: test_duel_reply_checks.py."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import stat
import time
from pathlib import Path
from typing import Any

import duels
import pytest
import voices
from console import piped
from duels import TOPIC, duel, record_of
from pydantic import ValidationError
from repositories import git
from voices import Voice

import rebut
from rebut.api import Setup, state_dir
from rebut.cli.app import enter
from rebut.protocols.duel.forms import Decision
from rebut.record import sessions
from rebut.reports import terminal


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Away from any repository, unless a test asks for `workspace`."""
    monkeypatch.chdir(tmp_path)


def prompt_of(outcome: rebut.Outcome, key: str) -> str:
    return record_of(outcome).calls[key].asked[1].prompt


def state_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "debate/last-debate.json").read_text())
    return found


def voice(rounds: int = 2, **said: Any) -> Voice:
    return Voice({key: json.dumps(value) for key, value in (duels.answers(rounds) | said).items()})


def only_session() -> Path:
    [one] = sessions.sessions(sessions.home())
    return one.folder


# D1: arguments


@pytest.mark.parametrize("rounds", [0, 6, -1, 9])
def test_rounds_out_of_range_are_refused_before_any_call(rounds: int) -> None:
    model = voice()
    with pytest.raises(rebut.UsageError, match=f"rounds must be 1 to 5, got {rounds}"):  # D1
        rebut.run("duel", TOPIC, rounds=rounds, proposer="v:a", challenger="v:b", backends={"v": model})
    assert model.asked == []
    assert sessions.sessions(sessions.home()) == []


@pytest.mark.parametrize("rounds", [1, 5])
def test_rounds_within_the_range_are_played_and_two_is_the_default(tmp_path: Path, rounds: int) -> None:
    assert duel(tmp_path, rounds=rounds).data["rounds_completed"] == rounds  # D1
    assert rebut.run("duel", TOPIC, **duels.seats(tmp_path)).data["rounds_completed"] == 2


@pytest.mark.parametrize(
    ("proposer", "challenger"),
    [("v:a", "v:a"), ("v:a@low", "v:a@high"), ("ann=v:a", "bob=v:a"), ("v:a", "bob=v:a@max"), ("v", "v")],
)
def test_one_model_in_both_seats_is_refused_whatever_its_effort_or_name(proposer: str, challenger: str) -> None:
    model = voice()
    with pytest.raises(rebut.UsageError, match="proposer and challenger are both v"):  # D1
        rebut.run("duel", TOPIC, proposer=proposer, challenger=challenger, backends={"v": model})
    assert model.asked == [] and sessions.sessions(sessions.home()) == []


def test_a_model_flag_can_make_two_seats_differ_or_the_same(tmp_path: Path) -> None:
    models = {"proposer": "a", "challenger": "b"}
    both = {"proposer": "v:x", "challenger": "v:x"}
    outcome = rebut.run("duel", TOPIC, **both, models=models, backends={"v": voice()})
    assert [s.spec for s in outcome.seats] == ["v:a", "v:b", "v:a"]  # D1
    with pytest.raises(rebut.UsageError, match="are both v:a"):
        rebut.run(
            "duel", TOPIC, proposer="v:x", challenger="v:y", models=dict.fromkeys(models, "a"), backends={"v": voice()}
        )


def test_a_self_debate_needs_leave_and_is_labelled_as_one() -> None:
    both = {"proposer": "v:a", "challenger": "v:a", "judge": "v:c"}
    outcome = rebut.run("duel", TOPIC, **both, allow_same_model=True, backends={"v": voice()})
    assert any("not two independent opinions" in note for note in outcome.notes)  # D1 C2


@pytest.mark.parametrize(
    ("seats", "says"),
    [
        ({"proposer": "nosuch:x", "challenger": "v:b"}, "unknown provider 'nosuch'"),
        ({"proposer": "v:a", "challenger": "nosuch"}, "unknown provider 'nosuch'"),
        ({"proposer": "v:a", "challenger": "v:b", "judge": "nosuch"}, "unknown provider 'nosuch'"),
        ({"proposer": "v:a"}, "needs a challenger"),
        ({"challenger": "v:a"}, "needs a proposer"),
        ({"proposer": "v:a", "challenger": "v:b", "effort": "extreme"}, "effort must be low, medium, high, max"),
        ({"proposer": "v@extreme", "challenger": "v:b"}, "unknown effort 'extreme'"),
        ({"proposer": "v:a", "challenger": "v:b", "umpire": "v:c"}, "no seat or setting 'umpire'"),
    ],
)
def test_what_is_wrong_with_a_seat_is_said_before_any_call(seats: dict[str, str], says: str) -> None:
    model = voice()
    with pytest.raises(rebut.UsageError, match=says):  # D1
        rebut.run("duel", TOPIC, **seats, backends={"v": model})
    assert model.asked == [] and sessions.sessions(sessions.home()) == []


def test_effort_reaches_every_call_of_every_seat_and_a_seats_own_wins() -> None:
    model = voice(3)
    named = {"proposer": "v:a", "challenger": "v:b@low", "judge": "v:c"}
    rebut.run("duel", TOPIC, rounds=3, effort="max", **named, backends={"v": model})
    got = {(r.participant.seat, r.participant.spec.model, r.participant.spec.effort) for r in model.asked}
    assert got == {("proposer", "a", "max"), ("challenger", "b", "low"), ("judge", "c", "max")}  # D1


def test_the_command_lines_flags_reach_seats_and_settings(workspace: Path, tmp_path: Path) -> None:
    seats = duels.seats(tmp_path, rounds=1)
    files = {role: spec.removeprefix("scripted:") for role, spec in seats.items()}
    words = ["--proposer", "ann=scripted:x", "--challenger", "scripted:y", "--judge", seats["judge"], "--rounds", "1"]
    words += ["--model-proposer", files["proposer"], "--model-challenger", files["challenger"], "--effort", "high"]
    assert enter(["duel", TOPIC, *words, "--state-dir", "out", "--json"]) == 0  # D1
    opened = sessions.load(only_session()).opened
    assert [row["spec"] for row in opened.seats] == [
        f"ann=scripted:{files['proposer']}@high",
        f"scripted:{files['challenger']}@high",
        f"scripted:{files['judge']}@high",
    ]
    assert opened.settings["rounds"] == 1 and opened.settings["effort"] == "high"
    assert state_of(workspace / "out")["effort"] == "high"


def test_a_judge_that_nobody_named_is_a_fresh_call_of_a_party_and_labelled() -> None:
    model = voice()
    outcome = rebut.run("duel", TOPIC, proposer="ann=v:a@low", challenger="v:b", backends={"v": model})
    judge = next(r.participant for r in model.asked if r.key == "verdict@judge")
    assert (judge.spec.identity, judge.spec.name) == ("v:a", "")  # D1
    assert any("judge" in note and "not independent" in note for note in outcome.notes)


def test_a_call_has_240_seconds_unless_told_otherwise() -> None:
    for limits, seconds in (({}, 240.0), ({"timeout": 7}, 7.0)):
        model = voice()
        rebut.run("duel", TOPIC, proposer="v:a", challenger="v:b", limits=limits, backends={"v": model})
        assert {r.timeout for r in model.asked} == {seconds}  # D7


# D5: the synthesis

SECTIONS = [
    "## Debate Summary",
    "**Topic**",
    "**Proposer**",
    "**Challenger**",
    "**Rounds**",
    "**Rigor**",
    "### Verdict",
    "### Debate Quality",
    "- **Genuine disagreement**",
    "- **Evidence quality**",
    "- **Challenge depth**",
    "### Key Agreements",
    "### Key Disagreements",
    "### Unresolved Questions",
    "### Recommendation",
]


def test_the_synthesis_has_every_section_once_and_in_order(workspace: Path, tmp_path: Path) -> None:
    final = duel(tmp_path).final
    at = [final.index(section) for section in SECTIONS]
    assert at == sorted(at)  # D5
    assert all(final.count(section) == 1 for section in SECTIONS)


def test_the_synthesis_says_who_won_why_how_good_it_was_and_what_to_do(workspace: Path, tmp_path: Path) -> None:
    specs = duels.seats(tmp_path)
    named = {role: f"{role[:3]}={spec}" for role, spec in specs.items()}
    final = rebut.run("duel", TOPIC, **named).final
    assert f"**Topic**: {TOPIC}" in final  # D5
    assert f"**Proposer**: pro ({specs['proposer'].removeprefix('scripted:')})" in final
    assert "**Rounds**: 2  \n" in final
    assert "cha (challenger) had the stronger argument because: D1 weighs most and C2 cites nothing." in final
    assert "**Genuine disagreement**: high" in final and "**Evidence quality**: medium" in final
    assert "- a replica is needed (evidence: src/session.py:1; risk that remains: cost)" in final
    assert "- the port: pro argues it is closed, cha argues it is open" in final
    assert "- What does a replica cost?" in final
    assert final.rstrip().endswith("### Recommendation\n\nSign cookies, and drop the store.")


def test_the_rigor_line_counts_what_was_really_looked_up(workspace: Path, tmp_path: Path) -> None:
    claims = [
        {"text": "It is there.", "evidence": [duels.cite("src/session.py:2", "ttl = 3600")]},
        {"text": "It is elsewhere.", "evidence": [duels.cite("src/session.py:30", "ttl = 3600")]},
        {"text": "It is made up.", "evidence": [duels.cite("src/nowhere.py:1", "x")]},
        {"text": "It is on the web.", "evidence": [duels.cite("https://example.invalid/doc")]},
        {"text": "It is so.", "evidence": []},
    ]
    said = {"r1/opening@proposer": duels.opening(claims=claims)}
    said["r1/challenge@challenger"] = duels.challenge(
        flaws=[duels.flaw("No replica."), duels.flaw("Trust me.", evidence=[])], unsupported=["C5"]
    )
    final = duel(tmp_path, said, rounds=1).final
    for page in (piped("export", "last").stdout, piped("show", "last", "--no-pager").stdout):
        words = " ".join(page.split())
        assert "[unchecked]" not in words, "a quote that was moved was looked up, too"  # C11
        assert 'C2: It is elsewhere. — src/session.py:2 "ttl = 3600" [moved, is at line 2]' in words
    [rigor] = [line for line in final.splitlines() if line.startswith("**Rigor**")]
    assert "4 of 5 citations checked (1 absent, 1 found, 1 located, 1 moved, 1 uncheckable)" in rigor  # D5
    assert "1 of 5 claims and 1 of 2 points cite nothing" in rigor
    assert "none was walked back, and no point was dropped" in rigor
    assert not re.search(r"\b(true|proven|verified|correct)\b", rigor)


def test_the_rigor_line_claims_no_lookup_where_there_was_nothing_to_look_into(tmp_path: Path) -> None:
    [rigor] = [line for line in duel(tmp_path, rounds=1).final.splitlines() if line.startswith("**Rigor**")]
    assert re.search(r"\b0 of (\d+) citations checked \(\1 uncheckable\)", rigor)  # D5


@pytest.mark.parametrize("winner", ["both", "tie", "draw", "neither", "", None, "judge", ["proposer", "challenger"]])
def test_a_draw_cannot_be_expressed(winner: Any) -> None:
    with pytest.raises(ValidationError):  # D5
        Decision.model_validate(duels.verdict(winner=winner))


def test_the_schema_that_judges_get_knows_two_winners_and_needs_one() -> None:
    schema = Decision.model_json_schema()
    assert schema["properties"]["winner"]["enum"] == ["proposer", "challenger"]  # D5
    assert {"winner", "reasoning", "recommendation"} <= set(schema["required"])


def test_a_judge_that_insists_on_a_draw_gives_no_verdict(tmp_path: Path) -> None:
    with pytest.raises(rebut.Aborted, match="gave no verdict: bad reply"):  # D5
        duel(tmp_path, {"verdict@judge": duels.verdict(winner="both")})
    call = sessions.load(only_session()).calls["verdict@judge"]
    assert "winner" in call.asked[2].followup, "it was told once what is wrong"
    assert len(call.asked) == 2


@pytest.mark.parametrize(
    ("reasoning", "complaint"),
    [
        ("The challenger was simply better.", "names no claim or point by its id"),
        ("D1 and D77 decided it.", "names D77, which does not exist"),
    ],
)
def test_a_verdict_must_name_ids_that_exist(tmp_path: Path, reasoning: str, complaint: str) -> None:
    outcome = duel(tmp_path, {"verdict@judge": [duels.verdict(reasoning=reasoning), duels.verdict()]})
    assert complaint in record_of(outcome).calls["verdict@judge"].asked[2].followup  # D5
    assert outcome.verdict and outcome.verdict.reasoning.startswith("D1 weighs most")
    stubborn = duel(tmp_path, {"verdict@judge": duels.verdict(reasoning=reasoning)})
    assert any(complaint in note for note in stubborn.notes)


def test_a_verdict_without_a_recommendation_is_sent_back(tmp_path: Path) -> None:
    outcome = duel(tmp_path, {"verdict@judge": [duels.verdict(recommendation=" "), duels.verdict()]})
    assert "no recommendation" in record_of(outcome).calls["verdict@judge"].asked[2].followup  # D5
    assert outcome.decision == "Sign cookies, and drop the store."


# D6: the state file

SCHEMA = {
    "id": str,
    "topic": str,
    "proposer": dict,
    "challenger": dict,
    "effort": (str, type(None)),
    "rounds_completed": int,
    "max_rounds": int,
    "status": str,
    "exchanges": list,
    "verdict": (dict, type(None)),
    "timestamp": str,
}
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"


def test_the_state_file_has_the_seeds_keys_types_and_values(tmp_path: Path) -> None:
    outcome = duel(tmp_path, effort="high", state_dir=str(tmp_path / "s"))
    state = state_of(tmp_path / "s")
    assert list(state) == [*SCHEMA, "session"]  # D6: ours is one more key, by which a later debate knows its own file
    assert all(isinstance(state[key], kind) for key, kind in SCHEMA.items())
    assert re.fullmatch(rf"debate-{STAMP}-[0-9a-f]{{4}}", state["id"])
    assert re.fullmatch(STAMP, state["timestamp"])
    assert (state["topic"], state["effort"], state["status"]) == (TOPIC, "high", "completed")
    assert (state["rounds_completed"], state["max_rounds"]) == (2, 2)
    assert state["proposer"] == {"tool": "scripted", "model": str(tmp_path / "proposer.json")}
    assert state["session"] == outcome.session
    turns = [(e["round"], e["role"], e["tool"]) for e in state["exchanges"]]
    assert turns == [(n, role, "scripted") for n in (1, 2) for role in ("proposer", "challenger")]
    for exchange in state["exchanges"]:
        assert list(exchange) == ["round", "role", "tool", "response", "duration_ms"]
        assert isinstance(exchange["duration_ms"], int) and exchange["response"]
    assert "Use Redis for user sessions." in state["exchanges"][0]["response"]
    assert state["verdict"] == {
        "winner": "scripted",
        "winner_role": "challenger",
        "reasoning": "D1 weighs most and C2 cites nothing.",
        "agreements": ["a replica is needed"],
        "disagreements": ["the port"],
        "recommendation": "Sign cookies, and drop the store.",
    }


def test_the_winner_is_named_by_its_tool(tmp_path: Path) -> None:
    seats = {"proposer": "pro:a", "challenger": "con", "judge": "pro:c"}
    model = voice()
    rebut.run("duel", TOPIC, **seats, state_dir=str(tmp_path), backends={"pro": model, "con": model})
    state = state_of(tmp_path)
    assert state["verdict"]["winner"] == "con"  # D6
    assert state["challenger"] == {"tool": "con", "model": None}
    assert [e["tool"] for e in state["exchanges"]] == ["pro", "con", "pro", "con"]


def state_after_a_fallback(folder: Path, spare: Voice) -> Any:
    """The state file of a duel whose challenger fails in round 2, when `spare` is asked in its place."""
    failed = rebut.ParticipantFailed("auth", "no login")
    gone = Voice({"r1/challenge@challenger": json.dumps(duels.challenge()), "r2/follow-up@challenger": failed})
    rebut.run(
        "duel",
        TOPIC,
        **{"proposer": "pro:a", "challenger": "con:b", "judge": "pro:c"},
        fallbacks={"challenger": "spare:s"},
        state_dir=str(folder),
        backends={"pro": voice(), "con": gone, "spare": spare},
    )
    return state_of(folder)


def test_the_state_file_names_the_fallback_that_spoke_and_not_the_tool_that_failed(tmp_path: Path) -> None:
    state = state_after_a_fallback(tmp_path, voice())
    assert [e["tool"] for e in state["exchanges"]] == ["pro", "con", "pro", "spare"]  # D6
    assert (state["verdict"]["winner"], state["verdict"]["winner_role"]) == ("spare", "challenger")


def test_the_state_file_names_no_fallback_that_never_spoke(tmp_path: Path) -> None:  # D6
    silent = Voice({"r2/follow-up@challenger": rebut.ParticipantFailed("auth", "no login")})
    verdict = state_after_a_fallback(tmp_path, silent)["verdict"]
    assert (verdict["winner"], verdict["winner_role"]) == ("con", "challenger")


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, ""),
        ({"CLAUDECODE": "1"}, ".claude"),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, ".claude"),
        ({"OPENCODE": "1"}, ".opencode"),
        ({"CODEX_SANDBOX": "seatbelt"}, ".codex"),
        ({"CODEX_THREAD_ID": "t"}, ".codex"),
        ({"CLAUDECODE": ""}, ""),
        ({"AI_STATE_DIR": "mine", "CLAUDECODE": "1"}, "mine"),
    ],
)
def test_the_state_dir_is_the_named_one_else_the_hosts(
    env: dict[str, str], folder: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    outcome = duel(tmp_path, rounds=1)
    expected = workspace / folder if folder else sessions.home() / outcome.session
    assert state_of(expected)["session"] == outcome.session  # D6
    assert len([*workspace.rglob("last-debate*.json")]) == (1 if folder else 0)


def test_a_state_dir_that_is_given_wins_and_a_relative_one_is_meant_from_here(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AI_STATE_DIR", str(tmp_path / "env"))
    monkeypatch.setenv("CLAUDECODE", "1")
    outcome = duel(tmp_path, rounds=1, state_dir="given/here")
    assert state_of(workspace / "given/here")["session"] == outcome.session  # D6
    assert not (tmp_path / "env").exists() and not (workspace / ".claude").exists()


def test_the_state_file_is_not_in_the_status_of_the_repository(shop: Path) -> None:  # D6
    (shop / "mine/debate").mkdir(parents=True)
    (shop / "mine/debate/notes.md").write_text("the user's own\n")
    before = git(shop, "status", "--porcelain", "--untracked-files=all")
    seats = [word for role, spec in duels.seats(shop.parent, rounds=1).items() for word in (f"--{role}", spec)]
    done = piped("duel", duels.TOPIC, *seats, "--rounds", "1", env={"CLAUDECODE": "1"}, cwd=shop)
    assert state_of(shop / ".claude")["verdict"], done.stderr
    assert git(shop, "status", "--porcelain", "--untracked-files=all") == before
    done = piped("duel", duels.TOPIC, *seats, "--rounds", "1", "--state-dir", "mine", cwd=shop)
    assert state_of(shop / "mine")["verdict"], done.stderr
    assert not (shop / "mine/debate/.gitignore").exists(), "a folder that the user made stays as it is"


def test_an_absolute_state_dir_of_the_environment_is_taken_as_it_is(tmp_path: Path) -> None:
    assert state_dir({"AI_STATE_DIR": str(tmp_path / "x")}, Path("/elsewhere")) == str(tmp_path / "x")  # D6


def test_the_four_statuses_and_which_have_a_verdict(tmp_path: Path) -> None:
    def status(said: dict[str, Any]) -> tuple[str, bool, int, int]:
        folder = tmp_path / f"s{len(list(tmp_path.iterdir()))}"
        try:
            duel(tmp_path, said, state_dir=str(folder))
        except rebut.Aborted:
            pass
        state = state_of(folder)
        return state["status"], state["verdict"] is not None, state["rounds_completed"], len(state["exchanges"])

    down = {"fail": "crashed"}
    assert status({}) == ("completed", True, 2, 4)  # D6
    assert status({"r2/defense@proposer": down}) == ("incomplete", True, 1, 2)
    assert status({"r2/follow-up@challenger": down}) == ("incomplete", True, 1, 3)
    assert status({"r1/challenge@challenger": down}) == ("uncontested", False, 0, 1)
    assert status({"r1/opening@proposer": down}) == ("aborted", False, 0, 0)
    assert status({"verdict@judge": down}) == ("aborted", False, 2, 4)


def test_a_file_of_somebody_else_is_left_alone_and_ours_is_written_beside_with_a_notice(tmp_path: Path) -> None:
    theirs = tmp_path / "s/debate/last-debate.json"
    theirs.parent.mkdir(parents=True)
    for foreign in (
        '{"id": "debate-of-another-tool"}',
        "no json",
        '{"session": "../../etc"}',
        '{"session": ["x"]}',
        "[]",
    ):
        theirs.write_text(foreign)
        outcome = duel(tmp_path, rounds=1, state_dir=str(tmp_path / "s"))
        assert theirs.read_text() == foreign  # D6
        beside = theirs.with_name(f"last-debate.{outcome.session}.json")
        assert json.loads(beside.read_text())["session"] == outcome.session
        assert any(str(theirs) in note and beside.name in note for note in outcome.notes)


def test_our_own_file_that_somebody_edited_is_left_alone(tmp_path: Path) -> None:
    first = duel(tmp_path, rounds=1, state_dir=str(tmp_path / "s"))
    path = tmp_path / "s/debate/last-debate.json"
    edited = path.read_text().replace("Redis", "Memcached")
    path.write_text(edited)
    second = duel(tmp_path, rounds=1, state_dir=str(tmp_path / "s"))
    assert path.read_text() == edited  # D6
    assert path.with_name(f"last-debate.{second.session}.json").exists()
    assert first.session != second.session


def test_a_link_to_elsewhere_is_not_written_through(tmp_path: Path) -> None:
    duel(tmp_path, rounds=1, state_dir=str(tmp_path / "s"))
    path = tmp_path / "s/debate/last-debate.json"
    elsewhere = tmp_path / "precious.json"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    before = elsewhere.read_text()
    duel(tmp_path, rounds=1, state_dir=str(tmp_path / "s"))
    assert path.is_symlink() and elsewhere.read_text() == before  # D6


def test_the_next_debate_replaces_the_last_ones_file(tmp_path: Path) -> None:
    first = duel(tmp_path, rounds=1, state_dir=str(tmp_path / "s"))
    second = duel(tmp_path, rounds=1, state_dir=str(tmp_path / "s"))
    assert first.session != state_of(tmp_path / "s")["session"] == second.session  # D6
    assert [p.name for p in (tmp_path / "s/debate").iterdir()] == ["last-debate.json"]
    assert second.notes == first.notes


def test_the_state_file_is_put_in_place_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duel(tmp_path, rounds=1, state_dir=str(tmp_path / "s"))
    path = tmp_path / "s/debate/last-debate.json"
    before = path.read_text()
    synced: list[int] = []
    real = os.fsync

    def full(fd: int) -> None:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return real(fd)
        synced.append(fd)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rebut.core.files.os.fsync", full)
    second = duel(tmp_path, rounds=1, state_dir=str(tmp_path / "s"))
    monkeypatch.setattr("rebut.core.files.os.fsync", real)
    assert synced, "it is synced before it takes the old one's place"
    assert path.read_text() == before  # D6
    assert [p.name for p in path.parent.iterdir()] == ["last-debate.json"], "no half file is left"
    assert second.kind == "verdict"
    assert any("could not be written" in note for note in second.notes)


def test_a_resumed_debate_replaces_the_file_of_its_own_failure(tmp_path: Path) -> None:
    said = {"verdict@judge": [{"fail": "auth"}, duels.verdict()]}
    with pytest.raises(rebut.Aborted):
        duel(tmp_path, said, state_dir=str(tmp_path / "s"))
    assert state_of(tmp_path / "s")["status"] == "aborted"  # D6
    asyncio.run(rebut.resume(only_session().name))
    assert state_of(tmp_path / "s")["status"] == "completed"
    assert [p.name for p in (tmp_path / "s/debate").iterdir()] == ["last-debate.json"]


# D7 and C6: what fails, and what it is called


@pytest.mark.parametrize("kind", ["timeout", "auth", "crashed", "bad reply", "rate limit", "missing tool"])
def test_without_an_opening_the_debate_is_aborted(tmp_path: Path, kind: str) -> None:
    with pytest.raises(rebut.Aborted) as caught:  # D7
        duel(tmp_path, {"r1/opening@proposer": {"fail": kind, "message": "no luck"}})
    assert kind in caught.value.message or kind == "timeout"
    assert list(sessions.load(only_session()).calls) == ["r1/opening@proposer"], "nobody else was asked"


def test_when_nothing_but_timeouts_came_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(rebut.Aborted, match="debate failed: all tool invocations timed out"):  # D7
        duel(tmp_path, {"*": {"hang": True}, "r1/opening@proposer": {"hang": True}}, limits={"timeout": 0.05})


def test_an_aborted_debate_goes_on_when_the_proposer_can_answer(tmp_path: Path) -> None:
    with pytest.raises(rebut.Aborted):
        duel(tmp_path, {"r1/opening@proposer": [{"fail": "timeout"}, duels.opening()]})
    outcome = asyncio.run(rebut.resume(only_session().name))
    assert (outcome.heading, outcome.conclusive) == ("VERDICT", True)  # D7


@pytest.mark.parametrize("kind", ["timeout", "auth"])
def test_an_unchallenged_position_is_shown_with_a_warning_and_no_verdict(tmp_path: Path, kind: str) -> None:
    outcome = duel(tmp_path, {"r1/challenge@challenger": {"fail": kind}})
    assert (outcome.kind, outcome.heading) == ("uncontested", "UNCONTESTED")  # D7 C6
    assert outcome.final.startswith("[WARN] ") and "challenger never answered" in outcome.final
    assert "Use Redis for user sessions." in outcome.final
    assert not outcome.verdict and not outcome.conclusive and outcome.exit_code == 3
    assert kind in outcome.stopped
    assert "verdict@judge" not in record_of(outcome).calls
    assert outcome.spent.usd == 0.0, "what costs nothing costs nothing when it fails, either"


@pytest.mark.parametrize("kind", ["timeout", "crashed"])
@pytest.mark.parametrize(
    ("key", "whole", "seat"),
    [
        ("r2/defense@proposer", 1, "proposer"),
        ("r2/follow-up@challenger", 1, "challenger"),
        ("r3/defense@proposer", 2, "proposer"),
        ("r3/follow-up@challenger", 2, "challenger"),
    ],
)
def test_a_failure_later_on_is_judged_from_whole_rounds_and_noted(
    tmp_path: Path, key: str, whole: int, seat: str, kind: str
) -> None:
    outcome = duel(tmp_path, {key: {"fail": kind, "message": "it went away"}}, rounds=3)
    assert outcome.heading == f"VERDICT AFTER {whole} OF 3 ROUNDS"  # D7 C6
    assert not outcome.conclusive and outcome.exit_code == 3 and outcome.verdict
    note = f"the {seat} failed in round {whole + 1} ({kind}: it went away)"
    assert outcome.stopped == note and note in outcome.final
    assert f"**Rounds**: {whole} of 3" in outcome.final
    prompt = prompt_of(outcome, "verdict@judge")
    assert f"{whole} of 3 rounds were completed" in prompt
    assert f"«begin round {whole}, challenger" in prompt
    assert f"«begin round {whole + 1}, " not in prompt, "half a round is not judged"
    conceded = "D1 (P1, about C1; conceded)"
    assert (conceded in prompt) is (whole > 1), "nor what was conceded in it"
    failed = next(s for s in outcome.seats if s.seat == seat)
    assert failed.failed == 1 and kind in failed.why, "the failed seat stays in the denominator"


@pytest.mark.parametrize("kind", ["timeout", "auth", "bad reply"])
def test_a_judge_that_fails_gives_no_verdict_and_can_be_asked_again(tmp_path: Path, kind: str) -> None:
    with pytest.raises(rebut.Aborted, match=f"gave no verdict: {kind}"):  # D7
        duel(tmp_path, {"verdict@judge": [{"fail": kind}, duels.verdict()]})
    before = sessions.load(only_session())
    assert before.closed is None
    outcome = asyncio.run(rebut.resume(before.opened.id))
    assert outcome.heading == "VERDICT" and outcome.verdict and outcome.verdict.winner == "challenger"
    asked = {key: len(call.asked) for key, call in record_of(outcome).calls.items()}
    assert asked.pop("verdict@judge") == 2
    assert set(asked.values()) == {1}, "nothing else was asked again"


def test_when_the_verdict_cannot_be_afforded_the_outcome_has_no_winner(tmp_path: Path) -> None:
    long = "Redis it is. " * 5000
    # Nobody could foresee that the challenger would say so much more than it may.
    said = {"r1/challenge@challenger": duels.challenge(alternatives=[long])}
    outcome = duel(tmp_path, said, rounds=1, limits={"tokens": 27_000}, state_dir=str(tmp_path / "s"))
    assert (outcome.kind, outcome.heading, bool(outcome.verdict)) == ("no verdict", "NO VERDICT", False)  # D7 C4
    assert "27,000 tokens" in outcome.stopped and outcome.exit_code == 3
    assert "### Verdict\n\nNone: the limit of 27,000 tokens" in outcome.final
    assert "D1 (challenger, round 1; P1" in outcome.final
    assert state_of(tmp_path / "s")["verdict"] is None
    assert not record_of(outcome).calls["verdict@judge"].asked, "and the judge was not called"


def test_a_limit_that_ends_the_rounds_early_leaves_enough_for_the_verdict(tmp_path: Path) -> None:
    outcome = duel(tmp_path, rounds=3, limits={"calls": 4})
    assert outcome.heading == "VERDICT AFTER 1 OF 3 ROUNDS" and outcome.verdict  # C4 C6
    assert "limit of 4 calls" in outcome.stopped


def test_what_is_set_aside_for_the_verdict_grows_with_what_its_judge_must_read(tmp_path: Path) -> None:
    said = duels.answers(5)
    for key in ("r1/opening@proposer", *(f"r{n}/defense@proposer" for n in range(2, 6))):
        said[key]["position"] = "Redis it is. " * 1500
    outcome = duel(tmp_path, said, rounds=5, limits={"tokens": 38_000})
    assert outcome.verdict and outcome.heading.startswith("VERDICT AFTER "), (
        "rounds are given up, not the verdict"
    )  # C4
    assert "38,000 tokens" in outcome.stopped


def test_only_a_whole_debate_is_headed_verdict(tmp_path: Path) -> None:
    outcome = duel(tmp_path)
    assert (outcome.heading, outcome.conclusive, outcome.exit_code, outcome.stopped) == ("VERDICT", True, 0, "")  # C6


@pytest.mark.parametrize(
    "reply",
    [
        "Error: 529 overloaded_error QXZ",
        '{"error": {"message": "QXZ invalid api key"}}',
        "Please run /login first. QXZ",
        '{"flaws": [{"text": "QXZ"',
        '{"flaws": "QXZ"}',
    ],
)
def test_an_error_text_or_a_broken_reply_never_speaks(tmp_path: Path, reply: str) -> None:
    outcome = duel(tmp_path, {"r1/challenge@challenger": {"text": reply}})
    assert outcome.heading == "UNCONTESTED"  # C5
    assert "bad reply" in outcome.stopped
    assert "QXZ" not in outcome.final and not outcome.ledger.points
    late = duel(tmp_path, {"r2/defense@proposer": {"text": reply}})
    assert late.heading == "VERDICT AFTER 1 OF 2 ROUNDS"
    assert "QXZ" not in late.final and "QXZ" not in prompt_of(late, "verdict@judge")


@pytest.mark.parametrize("reply", [{"text": " \n "}, {"text": json.dumps(duels.challenge()), "truncated": True}])
def test_an_empty_or_cut_reply_is_a_failure(tmp_path: Path, reply: dict[str, Any]) -> None:
    outcome = duel(tmp_path, {"r1/challenge@challenger": reply})
    assert outcome.heading == "UNCONTESTED" and "bad reply" in outcome.stopped  # C5


# D8 and C8: one door for every call

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
KEY = "correct-horse-battery-staple-7731"


def test_no_secret_of_topic_context_or_reply_is_sent_or_written(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (workspace / "conf.py").write_text(f'TOKEN = "{SECRET}"\nother = "{KEY}"\n')
    said = duels.answers(3)
    for value in said.values():
        for field in ("position", "reasoning", "recommendation", "proposer"):
            if field in value:
                value[field] += f" D1 {SECRET} {KEY}"
    said["r1/challenge@challenger"]["flaws"][0]["text"] += f" {SECRET}"
    said["r2/defense@proposer"]["responses"][0]["evidence"] = [duels.cite("conf.py:1", f'TOKEN = "{SECRET}"')]
    tries: dict[str, Any] = {key: json.dumps(value) for key, value in said.items()}
    tries["r3/follow-up@challenger"] = [f"not json {SECRET}", tries["r3/follow-up@challenger"]]
    tries["r3/summary@judge"] = rebut.ParticipantFailed("auth", f"401 for {KEY}")
    model = Voice(tries)
    outcome = rebut.run(
        "duel",
        f"Is {SECRET} fine, and {KEY}?",
        rounds=3,
        proposer="v:a",
        challenger="v:b",
        context=["conf.py"],
        state_dir=str(tmp_path / "s"),
        backends={"v": model},
    )
    assert outcome.heading == "VERDICT WITHOUT A SUMMARY" and len(model.asked) == 9  # D8
    for request in model.asked:
        assert SECRET not in request.whole and KEY not in request.whole, request.key
    written = [p for root in (sessions.home(), tmp_path / "s") for p in root.rglob("*") if p.is_file()]
    assert any(p.name == "last-debate.json" for p in written) and any(p.name == "journal.jsonl" for p in written)
    for path in written:
        assert SECRET.encode() not in path.read_bytes() and KEY.encode() not in path.read_bytes(), path
    assert SECRET not in json.dumps(outcome.to_json())
    [cited] = [e for m in outcome.ledger.moves if m.point == "D1" for e in m.evidence if e.place == "conf.py:1"]
    assert cited.mark == "found", "evidence is compared as it was shown: without its secrets"


def test_a_point_shows_how_all_of_its_citations_fared(tmp_path: Path, workspace: Path) -> None:  # C11, C14
    cited = [duels.cite("src/session.py:2", "ttl = 3600"), duels.cite("src/session.py:9"), duels.cite("gone.py:1")]
    flaws = [duels.flaw("It is lost.", evidence=cited), duels.flaw("It is gone.", evidence=cited[2:])]
    outcome = duel(tmp_path, {"r1/challenge@challenger": duels.challenge(flaws=flaws)}, rounds=1)
    text = " ".join(terminal.ending(outcome, width=200).split())
    assert "open 1 D1" in text and "struck 1 D2 It is gone. (gone.py:1 absent)" in text and "1 struck, 1 open" in text
    assert "D1 It is lost. (src/session.py:2 found; also 1 located, 1 absent)" in text


@pytest.mark.parametrize(
    ("winner", "places", "heading"),
    [
        ("challenger", ("gone.py:1", "lost.py:2"), "VERDICT ON STRUCK POINTS ALONE"),
        ("challenger", ("gone.py:1", "src/session.py:2"), "VERDICT"),
        ("proposer", ("gone.py:1", "lost.py:2"), "VERDICT"),
    ],
)
def test_a_side_that_wins_by_what_is_not_there_wins_nothing_for_certain(
    tmp_path: Path, workspace: Path, winner: str, places: tuple[str, ...], heading: str
) -> None:  # C6, C11, D5
    flaws = [duels.flaw(f"Flaw {place}.", evidence=[duels.cite(place)]) for place in places]
    said = {
        "r1/challenge@challenger": duels.challenge(flaws=flaws),
        "verdict@judge": duels.verdict(winner=winner),
    }
    outcome = duel(tmp_path, said, rounds=1)
    assert (outcome.heading, outcome.conclusive) == (heading, heading == "VERDICT")


@pytest.mark.parametrize(("proposer", "judge"), [("human", "other"), ("caller", "other"), ("first", "first")])
def test_nobody_judges_a_case_that_they_argue_themselves_while_a_model_could(proposer: str, judge: str) -> None:  # C2
    plan = Setup(backends={"first": Voice(), "other": Voice()}).plan(
        "duel", TOPIC, proposer=proposer, challenger="other"
    )
    assert {p.seat: p.spec.provider for p in plan.seats}["judge"] == judge


# through the command line: all rounds, what the screen shows, the state file after an interruption


def words(folder: Path, said: dict[str, Any] | None = None, rounds: int = 2) -> list[str]:
    return [f"--{role}={spec}" for role, spec in duels.seats(folder, said, rounds).items()]


def nothing_open_after_two(rounds: int) -> dict[str, Any]:
    said = duels.answers(rounds)
    said["r2/defense@proposer"] = duels.defense(2, {"D1": "concede", "D2": "concede"})
    said["r2/follow-up@challenger"] = duels.follow_up(2, {"D1": "resolved", "D2": "resolved"})
    for n in range(3, rounds + 1):
        said[f"r{n}/defense@proposer"] = duels.defense(n, {})
        said[f"r{n}/follow-up@challenger"] = duels.follow_up(n, {"D1": "resolved"})
    return said


@pytest.mark.parametrize("rounds", [3, 5])
def test_all_rounds_are_held_on_request_and_an_early_end_is_said(tmp_path: Path, rounds: int) -> None:  # D9
    sat = [*words(tmp_path, nothing_open_after_two(rounds), rounds), "--rounds", str(rounds), "--plain"]
    early = voices.cli("duel", "Redis?", *sat, cwd=tmp_path)
    assert early.returncode == 0, early.stderr
    assert f"VERDICT, NOTHING LEFT OPEN AFTER 2 OF {rounds} ROUNDS" in early.stdout
    assert "--all-rounds holds every round" in early.stdout
    whole = voices.cli("duel", "Redis?", *sat, "--all-rounds", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    assert whole.stdout.startswith("VERDICT: challenger"), whole.stdout
    keys = sessions.load(sessions.sessions(sessions.home())[0].folder).calls
    assert {f"r{n}/follow-up@challenger" for n in range(2, rounds + 1)} <= set(keys)
    assert "--all-rounds" in voices.cli("duel", "--help-all").stdout


def test_ratings_open_questions_and_rigor_are_on_the_screen_and_in_json(tmp_path: Path) -> None:  # D5
    said = {"verdict@judge": duels.verdict(unresolved=["What does a replica cost?", "Who pays?", "When?", "Why?"])}
    done = voices.cli("duel", "Redis?", *words(tmp_path, said), "--plain", cwd=tmp_path)
    assert "genuine disagreement high, evidence quality medium, challenge depth high" in done.stdout
    assert "What does a replica cost?; Who pays?; When?; 1 more in the report" in done.stdout
    assert "citations checked" in done.stdout and "none was walked back" in done.stdout
    rows = dict(json.loads(voices.cli("duel", "Redis?", *words(tmp_path, said), "--json", cwd=tmp_path).stdout)["rows"])
    assert set(rows) == {"quality", "unresolved", "rigor"} and "Who pays?" in rows["unresolved"]


@pytest.mark.parametrize(("times", "chosen"), [(1, True), (2, True), (1, False), (2, False)])
def test_the_state_file_after_ctrl_c_is_aborted_and_completed_after_resume(
    tmp_path: Path, times: int, chosen: bool
) -> None:  # D6
    seconds = 2 if times == 1 else 60
    waits = {"r2/defense@proposer": [{"json": duels.defense(2), "delay": seconds}, duels.defense(2)]}
    sat = words(tmp_path, waits)
    process = voices.begin("duel", "Redis?", *sat, *(("--state-dir", str(tmp_path / "s")) if chosen else ()))
    voices.wait_for(voices.on_record("asked", "r2/defense@proposer"), process)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    assert process.wait(30) == 130
    process.communicate()
    place = tmp_path / "s" if chosen else only_session()
    state = state_of(place)
    assert (state["status"], state["verdict"]) == ("aborted", None)
    assert [e["role"] for e in state["exchanges"]][:2] == ["proposer", "challenger"]
    words(tmp_path)
    done = voices.cli("resume", "last")
    assert done.returncode == 0, done.stderr
    assert state_of(place)["status"] == "completed"


@pytest.mark.parametrize("chosen", [True, False])
def test_the_state_file_of_a_duel_without_a_verdict_is_aborted(tmp_path: Path, chosen: bool) -> None:  # D6, C4
    long = {"r1/challenge@challenger": duels.challenge(alternatives=["Redis it is. " * 5000])}
    sat = [*words(tmp_path, long, 1), "--rounds", "1", "--max-tokens", "27000"]
    done = voices.cli("duel", "Redis?", *sat, *(("--state-dir", str(tmp_path / "s")) if chosen else ()))
    assert done.returncode == 3 and "NO VERDICT" in done.stdout, done.stdout + done.stderr
    state = state_of(tmp_path / "s" if chosen else only_session())
    assert (state["status"], state["verdict"]) == ("aborted", None)
