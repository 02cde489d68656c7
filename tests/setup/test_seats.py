"""Nobody names a seat: what is found sits down, debates to the verdict, and everybody can see who it is beforehand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_discover import Here

import rebut
from rebut.record.record import Record
from tests import duels
from tests.loopback import Loopback
from tests.terminals import at_a_terminal

SAID = duels.by_form()
DUEL = ["duel", "Redis or not?"]


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(answers=SAID) as running:
        yield running


@pytest.fixture
def here(tmp_path: Path, server: Loopback) -> Here:
    """A machine with two tools that can debate, and a key whose provider is our own server."""
    made = Here(tmp_path)
    made.install("claude", "codex")
    made.env |= {"GEMINI_API_KEY": "sk-test", "GOOGLE_GEMINI_BASE_URL": server.url, "TERM": "dumb", "LANG": "C.UTF-8"}
    made.env |= {"LC_FAKE_TOOL": json.dumps({"answers": SAID}), "LC_FAKE_LOG": str(tmp_path / "called")}
    return made


def test_a_debate_that_names_nobody_runs_to_its_verdict(here: Here, server: Loopback) -> None:  # C2
    code, screen = at_a_terminal(DUEL, here.env, here.root)
    assert code == 0, screen
    head, _, rest = screen.partition("round 1")
    for seat, who, why in (
        ("proposer", "claude", "anthropic: claude 999.0.0 is installed"),
        ("challenger", "codex", "openai: codex 999.0.0 is installed"),
        ("judge", "google:gemini-3.8-flash", "a family of its own"),
    ):
        assert any(line.split()[:2] == [seat, who] for line in head.splitlines()), head
        assert why in " ".join(head.split()), "said before the first call"
    assert head.index("looking for models") < head.index("proposer")
    assert "VERDICT  challenger" in rest and server.calls == 1, "the judge alone was asked over the wire"


def test_nothing_is_called_before_it_can_be_seen_who_sits_where(here: Here, server: Loopback) -> None:  # C2, C16
    here.write('[egress]\nallow = ["claude", "codex", "google"]\n')
    seen: list[dict[str, str]] = []

    def ready(record: Record, folder: Path) -> None:
        if not record.answers:
            assert not Path(here.env["LC_FAKE_LOG"]).exists() and server.calls == 0
            seen.append({str(s["seat"]): str(s["spec"]) for s in record.opened.seats})

    outcome = rebut.run("duel", "Redis or not?", workspace=here.root, env=here.env, on_ready=ready)
    assert outcome.heading == "VERDICT"
    assert [s["proposer"] for s in seen] == ["claude"]


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"LC_FAKE_LOGGED_OUT": "1"}, "not logged in"),
        ({"LC_FAKE_HELP": "--tools --effort"}, "--restricted"),
        ({"LC_FAKE_VERSION": "0.0.1"}, "older than"),
    ],
)
def test_a_tool_that_could_not_speak_safely_is_not_seated_and_the_reason_is_shown(
    here: Here, env: dict[str, str], why: str
) -> None:  # C2, C9
    code, screen = at_a_terminal(DUEL, here.env | env, here.root)
    assert code == 0, screen
    told = " ".join(screen.partition("round 1")[0].split())
    assert "not used: claude (" in told and why in told
    assert not Path(here.env["LC_FAKE_LOG"]).exists(), "no prompt went to it"
    assert "self-debate" in told, "the key alone is left"


def test_without_a_terminal_only_what_is_listed_debates(here: Here, server: Loopback) -> None:  # C16
    def run() -> rebut.Outcome:
        return rebut.run("duel", "Redis or not?", workspace=here.root, env=here.env)

    with pytest.raises(rebut.UsageError, match="needs a proposer"):
        run()
    assert server.calls == 0 and not Path(here.env["LC_FAKE_LOG"]).exists()
    here.write('[egress]\nallow = ["codex", "google"]\n')
    outcome = run()
    assert {str(s.spec) for s in outcome.seats} == {"codex", "google:gemini-3.8-flash"}
    assert outcome.heading == "VERDICT"


def test_one_model_alone_is_labelled_a_self_debate_to_the_end(here: Here) -> None:  # C2
    del here.env["GEMINI_API_KEY"], here.env["GOOGLE_GEMINI_BASE_URL"]
    (here.root / "bin/codex").unlink()
    code, screen = at_a_terminal(DUEL, here.env, here.root)
    assert code == 0, screen
    head, _, rest = screen.partition("round 1")
    assert "self-debate: proposer and challenger are both claude" in " ".join(head.split())
    assert "VERDICT, ONE MODEL ALONE  challenger" in rest
    out = at_a_terminal(["show", "last"], here.env, here.root)[1]
    assert "self-debate" in out, "whoever reads it later sees it too"
