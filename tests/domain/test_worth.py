"""Was it worth it: what the first answers alone would have said, what the debate changed, and what that cost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions
from console import piped

import rebut
from rebut.cli.json_result import LARGEST, brief
from rebut.domain.outcome import Outcome
from rebut.domain.worth import Worth, busy
from rebut.record.events import Asked, Attempt, Fact, Line, Resumed
from rebut.record.record import Record, Spent
from rebut.reports import export, worth as report
from tests import voices


def duel(folder: Path, said: dict[str, Any] | None = None, **named: Any) -> Outcome:
    return rebut.run("duel", "Redis or Memcached?", **duels.seats(folder, said, usd=0.03), **named)


def unmoved() -> dict[str, Any]:
    """A duel in which the proposer answers everything, keeps its words, and wins."""
    defense = duels.defense(2, {"D1": "rebut", "D2": "rebut"}) | {"position": duels.opening()["position"]}
    ruled = duels.follow_up(2, {"D1": "unresolved", "D2": "unresolved"}, [duels.flaw("New.", 12)])
    verdict = duels.verdict(winner="proposer")
    return {"r2/defense@proposer": defense, "r2/follow-up@challenger": ruled, "verdict@judge": verdict}


def account_of(outcome: Outcome) -> Worth:
    assert outcome.worth is not None
    return outcome.worth


def told(outcome: Outcome) -> str:
    return " | ".join(report.sentences(account_of(outcome)))


# what each protocol says of itself


def test_a_duel_is_held_against_its_opening(tmp_path: Path, workspace: Path) -> None:
    outcome = duel(tmp_path)
    worth = account_of(outcome)
    assert worth.first == "“Use Redis for user sessions.” on 2 claims, 1 unsupported"
    assert worth.changed == ("the verdict goes against it", "position moved after D1") and worth.same is False
    assert dict(worth.points) == {"conceded": 1, "open": 2} and not worth.nothing
    assert (worth.alone.calls, worth.alone.tokens, worth.alone.usd) == (1, 150, 0.03)
    assert (worth.debate.calls, worth.debate.tokens, worth.debate.usd) == (4, 600, pytest.approx(0.12))
    assert worth.alone.seconds + worth.debate.seconds == pytest.approx(outcome.spent.seconds)


def test_a_duel_that_changed_nothing_says_so_with_its_price(tmp_path: Path, workspace: Path) -> None:
    outcome = duel(tmp_path, unmoved())
    assert account_of(outcome).nothing
    assert "changed nothing: 3 points, 3 open; 4 calls, 600 tokens, $0.12, " in told(outcome)
    assert told(outcome).endswith(" more than the first answer alone")
    won = duel(tmp_path, {"verdict@judge": duels.verdict(winner="proposer")})
    assert account_of(won).changed[0] == "the verdict stays with it", "but a concession is a change"
    other = unmoved()
    other["r2/defense@proposer"]["position"] = "Redis it is, said in other words."
    assert account_of(duel(tmp_path, other)).nothing, "other words alone are none"


@pytest.mark.parametrize("ruling", ["resolved", "unresolved", "withdrawn"])
def test_a_trade_off_is_a_change_whatever_is_made_of_it(tmp_path: Path, workspace: Path, ruling: str) -> None:  # C10
    said = unmoved() | {
        "r2/defense@proposer": duels.defense(2, {"D1": "trade-off", "D2": "rebut"}),
        "r2/follow-up@challenger": duels.follow_up(2, {"D1": ruling, "D2": "unresolved"}, [duels.flaw("New.", 12)]),
    }
    worth = account_of(duel(tmp_path, said))
    assert worth.changed == ("the verdict stays with it", "position moved after D1") and not worth.nothing


def test_a_point_on_an_absent_citation_is_struck_unless_it_was_conceded(tmp_path: Path, workspace: Path) -> None:  # C11
    absent = [duels.cite("src/session.py:2", "ttl = 60")]
    flaws = [duels.flaw("One.", evidence=absent), duels.flaw("Two.", 2, evidence=absent, category="security")]
    outcome = duel(tmp_path, {"r1/challenge@challenger": duels.challenge(flaws=flaws)})
    assert dict(account_of(outcome).points) == {"conceded": 1, "struck": 1, "open": 1}


def test_a_review_is_held_against_the_change_as_it_stood_and_the_critic_alone(tmp_path: Path) -> None:  # C11 C12
    cited = [duels.cite("api/orders.py:7", "return None")]
    second = crosses.raised("It gives nothing back.", category="reliability", evidence=cited)
    third = crosses.raised("Tokens leak.", category="security", evidence=[duels.cite("api/orders.py:5", "leak()")])
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(), second, third),
        "r1/judgement@judge": crosses.judgement("E", {"F1": "invalid P1", "F2": "valid P2", "F3": "valid P1"}),
    }
    worth = account_of(crosses.review(crosses.repository(tmp_path / "work"), said))
    assert worth.first == "the change as it was; the critic alone raised 3 findings (3 P1)"
    assert dict(worth.points) == {"valid": 1, "invalid": 1, "struck": 1} and worth.noun == "finding"
    assert worth.changed == ("no decision", "F2 P1 to P2") and worth.same is None
    assert (worth.alone.calls, worth.debate.calls) == (1, 1)


def test_a_review_that_finds_nothing_needed_no_debate(tmp_path: Path) -> None:
    shop = crosses.repository(tmp_path / "work")
    outcome = crosses.review(shop, {"r1/critique@critic": crosses.critique()})
    assert told(outcome).endswith("raised nothing | no debate was needed, so none was paid for")
    said = {"r1/critique@critic": crosses.critique(crosses.raised(severity="P3"))}
    kept = crosses.review(shop, said | {"r1/judgement@judge": crosses.judgement("A", {"F1": "valid P3"})}, rounds=1)
    assert account_of(kept).nothing and "changed nothing: 1 finding, 1 valid; 1 call, 150 tokens" in told(kept)


def test_a_panel_is_held_against_the_first_position_and_who_took_it_at_once(tmp_path: Path, workspace: Path) -> None:
    seats = panels.seats(tmp_path / "seats", panels.consensus(), ("gemini", "codex", "qwen"))
    outcome = rebut.run("panel", panels.TOPIC, **seats)
    worth = account_of(outcome)
    assert worth.first == "accepted at once by 2 of 3: “Use Redis for sessions.”"
    assert worth.changed == ("position moved to v2, by B1, B2", "1 more accepted it")
    assert worth.alone.calls == 1 and worth.alone.calls + worth.debate.calls == outcome.spent.calls
    seats = panels.seats(tmp_path / "again", panels.tradeoff(), ("gemini", "codex", "qwen"))
    contested = rebut.run("panel", panels.TOPIC, rounds=2, **seats)
    assert account_of(contested).same is None and "1 of 3 still contest it" in account_of(contested).changed


def test_a_revision_is_held_against_its_drafts(workspace: Path) -> None:
    outcome = revisions.run(workspace, rounds=1)
    worth = account_of(outcome)
    assert worth.first == "two unargued drafts, of claude and codex"
    assert worth.changed == ("2 of 8 sections of the drafts changed",)
    assert (worth.alone.calls, worth.alone.calls + worth.debate.calls) == (2, outcome.spent.calls)


def test_the_hours_between_a_crash_and_its_resume_are_nobodys_work() -> None:  # C3
    key = "r1/opening@proposer"
    events = [
        ("10:00:00", Asked(key=key, seat="proposer", fp="")),
        ("10:00:02", Fact(key="x", value=1)),
        ("18:00:00", Resumed()),  # whoever had asked died
        ("18:00:01", Asked(key=key, seat="proposer", fp="", attempt=2)),
        ("18:00:04", Attempt(key=key, attempt=2)),
        ("18:00:09", Fact(key="y", value=1)),
    ]
    record = Record(Line(n, f"2030-01-01T{at}+00:00", event) for n, (at, event) in enumerate(events, 1))
    assert busy(record, lambda name: name == key) == 2 + 3


# what is unknown


def test_where_there_is_nothing_to_compare_the_reason_is_told(tmp_path: Path, workspace: Path) -> None:  # C6
    silent = duel(tmp_path, {"r1/challenge@challenger": {"fail": "crashed"}})
    assert silent.heading == "UNCONTESTED"
    assert told(silent) == "unknown: the challenger never answered, so the first answer is all there is"
    short = duel(tmp_path, {"r2/defense@proposer": {"fail": "crashed"}})
    assert short.heading == "VERDICT AFTER 1 OF 2 ROUNDS" and "| changed (1 of 2 rounds): " in told(short)
    key = "r1/challenge@challenger"
    hung = duel(tmp_path, {key: {"hang": True}}, **voices.time_is_up("asked", key))
    assert not hung.complete and told(hung) == "unknown: the debate is not over"


def test_an_own_protocol_without_an_account_of_itself_shows_none(tmp_path: Path) -> None:
    path = voices.protocol(tmp_path, "return done()")
    outcome = rebut.run(path, "tea", workspace=tmp_path, author="fake:a", critic="fake:b", backends={"fake": None})
    assert outcome.worth is None and report.worth_rows(outcome.worth, 80) == []


# how it is shown


LONG = Worth(
    first=f"“{'A position that goes on and on. ' * 9}” on 12 claims, 4 unsupported",
    points=(("conceded", 12), ("partly accepted", 3), ("defended", 14), ("struck", 2), ("open", 11)),
    changed=("the verdict goes against it", "position moved after D1, D2, D3, D4, D5, D6, D7, D8, D9"),
    same=False,
    keys=("r1/opening@proposer",),
    alone=Spent(1, 12_345, 1.23, 61.0),
    debate=Spent(14, 1_234_567, 12.34, 1234.0),
)


@pytest.mark.parametrize("width", range(50, 101))
def test_one_to_four_lines_at_any_width_with_what_it_cost_in_the_last(width: int) -> None:  # C14
    unchanged = replace(LONG, changed=(), same=True)
    for worth in (LONG, unchanged, replace(LONG, caveat="1 of 2 rounds"), Worth(caveat="the debate is not over")):
        rows = report.worth_rows(worth, width)
        assert 1 <= len(rows) <= 4 and all(len(row) <= width for row in rows)
        assert rows[0].startswith("  worth it?")
    last = report.worth_rows(LONG, width)[-1]
    assert "cost: 14 calls, " in last and "$12.34" in last and "20 min 34 s" in last
    assert ("at first 1 call, " in last and "$1.23" in last) == (width >= 89)


def test_it_is_in_every_form_of_a_session(tmp_path: Path, workspace: Path) -> None:  # C13 C14
    outcome = duel(tmp_path)
    worth = account_of(outcome)
    assert Worth.from_json(json.loads(json.dumps(worth.to_json()))) == worth
    document = export.markdown(voices.record())
    assert "## Was it worth it\n\n- at first: “Use Redis for user sessions.” on 2 claims, 1 unsupported\n" in document
    shown: Any = export.as_json(voices.record())
    assert shown["outcome"]["worth"]["changed"] == ["the verdict goes against it", "position moved after D1"]
    short: Any = brief(outcome)["worth"]
    assert short["changed_nothing"] is False and short["debate"]["calls"] == 4 and short["alone"]["usd"] == 0.03
    for columns in (100, 80, 50):
        screen = piped("show", "last", env={"COLUMNS": str(columns)}, cwd=workspace).stdout
        assert "worth it?" in screen and max(map(len, screen.splitlines())) <= columns


def test_the_short_form_stays_short_with_an_account_of_any_length(tmp_path: Path, workspace: Path) -> None:
    worth = replace(LONG, changed=("x" * 4000,) * 9, first="y" * 9000)
    assert len(json.dumps(brief(duel(tmp_path).filled(worth=worth)), indent=2).encode()) < LARGEST
