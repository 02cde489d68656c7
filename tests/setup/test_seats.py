"""Nobody names a seat: what is found sits down, debates to the verdict, and everybody can see who it is beforehand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_discover import Here

import rebut
from rebut.engine.protocol import load
from rebut.record.record import Record
from rebut.setup.connect import connector
from rebut.setup.discover import FoundModel
from rebut.setup.seats import SeatAssignment
from tests import duels
from tests.console import piped
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
    made.env |= {"PROGRAMDATA": json.dumps({"answers": SAID}), "APPDATA": str(tmp_path / "called")}
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
            assert not Path(here.env["APPDATA"]).exists() and server.calls == 0
            seen.append({str(s["seat"]): str(s["spec"]) for s in record.opened.seats})

    outcome = rebut.run("duel", "Redis or not?", workspace=here.root, env=here.env, on_ready=ready)
    assert outcome.heading == "VERDICT"
    assert [s["proposer"] for s in seen] == ["claude"]


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"COMSPEC": "1"}, "no login was found"),
        ({"PATHEXT": "--tools --effort"}, "--restricted"),
        ({"SYSTEMROOT": "0.0.1"}, "older than"),
    ],
)
def test_a_tool_that_could_not_speak_safely_is_not_seated_and_the_reason_is_shown(
    here: Here, env: dict[str, str], why: str
) -> None:  # C2, C9
    code, screen = at_a_terminal(DUEL, here.env | env, here.root)
    assert code == 0, screen
    told = " ".join(screen.partition("round 1")[0].split())
    assert "not used: claude (" in told and why in told
    assert not Path(here.env["APPDATA"]).exists(), "no prompt went to it"
    assert "self-debate" in told, "the key alone is left"


def test_without_a_terminal_only_what_is_listed_debates(here: Here, server: Loopback) -> None:  # C16
    def run() -> rebut.Outcome:
        return rebut.run("duel", "Redis or not?", workspace=here.root, env=here.env)

    with pytest.raises(rebut.UsageError, match="needs a proposer"):
        run()
    assert server.calls == 0 and not Path(here.env["APPDATA"]).exists()
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


# two names for one model, and a judge of a third family


def two_names(here: Here, server: Loopback) -> list[str]:
    port = server.url.rpartition(":")[2].partition("/")[0]
    here.write(
        f'[providers.here]\nwire = "openai"\nbase_url = "http://LOCALHOST:{port}/v1"\nmodel = "Qwen3"\n'
        f'[providers.there]\nwire = "openai"\nbase_url = "http://127.0.0.1:{port}/v1/"\n'
    )
    return [*DUEL, "--proposer", "here", "--challenger", "there:qwen3"]


def test_two_names_for_one_address_and_model_are_one_model(here: Here, server: Loopback) -> None:  # C2
    words = two_names(here, server)
    code, screen = at_a_terminal(words, here.env, here.root)
    told = " ".join(screen.split())
    assert code == 2 and server.calls == 0, screen
    assert "proposer (here) and challenger (there:qwen3) are one model: two names for the same address" in told
    assert "--allow-same-model" in told


def test_a_self_debate_under_two_names_is_labelled_as_one(here: Here, server: Loopback) -> None:  # C2, C6
    words = [*two_names(here, server), "--allow-same-model", "--judge", "there:qwen3"]
    code, screen = at_a_terminal(words, here.env, here.root)
    head, _, rest = screen.partition("round 1")
    assert code == 0 and "self-debate: proposer (here)" in " ".join(head.split()), screen
    assert "VERDICT, ONE MODEL ALONE" in rest
    assert "judge there:qwen3 the proposer's model too (here)" in " ".join(head.split())
    code, screen = at_a_terminal(["show", "last"], here.env, here.root)
    assert "ONE MODEL ALONE" in screen, "and from the record"
    code, screen = at_a_terminal(["fork", "last", "--rounds", "1"], here.env, here.root)
    assert code == 0 and "ONE MODEL ALONE" in screen, "a fork of it needs no leave again"


def test_another_model_at_the_same_address_is_another_model(here: Here, server: Loopback) -> None:  # C2
    words = [*two_names(here, server)[:-1], "there:llama4", "--judge", "here"]
    code, screen = at_a_terminal(words, here.env, here.root)
    assert code == 0 and "ONE MODEL ALONE" not in screen and "self-debate" not in screen, screen


NAMED = [*DUEL, "--proposer", "claude", "--challenger", "codex"]


def test_a_third_family_judges_where_both_parties_are_named(here: Here, server: Loopback) -> None:  # C2
    code, screen = at_a_terminal(NAMED, here.env, here.root)
    head = " ".join(screen.partition("round 1")[0].split())
    assert code == 0 and "judge google:gemini-3.8-flash google, a family of its own" in head, screen
    assert server.calls == 1, "the judge"


@pytest.mark.parametrize(
    ("allow", "judge"), [(None, "claude"), (["claude", "codex"], "claude"), (["google"], "google:gemini-3.8-flash")]
)
def test_without_a_terminal_a_third_family_judges_only_if_it_is_listed(
    here: Here, allow: list[str] | None, judge: str
) -> None:  # C2, C16
    if allow is not None:
        here.write(f"[egress]\nallow = {json.dumps([*allow, 'claude', 'codex'])}\n")
    done = piped(*NAMED, "--json", env=here.env, cwd=here.root)
    assert done.returncode == 0, done.stderr
    assert {s["seat"]: s["spec"] for s in json.loads(done.stdout)["seats"]}["judge"] == judge


def test_no_third_family_judges_scripted_parties_or_a_cross_review(here: Here) -> None:  # C2, J9
    sat = duels.seats(here.root)
    words = [*DUEL, "--proposer", sat["proposer"], "--challenger", sat["challenger"], "--dry-run"]
    code, screen = at_a_terminal(words, here.env, here.root)
    assert code == 0 and "google" not in screen and "scripted" in screen
    words = ["cross", "# Design", "--author", "claude", "--critic", "codex", "--dry-run"]
    code, screen = at_a_terminal(words, here.env, here.root)
    assert code == 0 and "google" not in screen and "claude" in screen, screen


def test_only_tools_that_could_be_of_another_family_are_looked_at(here: Here) -> None:  # C2
    looked: list[str] = []
    config = here.config
    names = ["claude", "codex", "gemini", "qwen", "local", "human", "google"]

    def find(wanted: Callable[[str], bool]) -> list[FoundModel]:
        looked.extend(name for name in names if wanted(name))
        return []

    assignment = SeatAssignment(load("duel"), config, connector(config, here.env, here.root), find=find)
    assignment.assign({"proposer": "claude", "challenger": "codex"})
    assert looked == ["gemini", "qwen", "google"]
    looked.clear()
    assignment.assign({"proposer": "claude", "challenger": "codex", "judge": "claude"})
    assert looked == []
