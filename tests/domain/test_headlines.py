"""Headlines: what an ending is called, and what must not be read without its caveat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crosses
import duels
import pytest
from console import piped

import rebut
from rebut.core.types import Reply, Request
from rebut.reports import adr, terminal
from tests import voices


def test_a_review_says_what_stands_and_who_stopped_it(shop: Path) -> None:  # J12
    there = [duels.cite("api/orders.py:6", "charge(order)")]
    second = crosses.raised("No note.", severity="P2", category="other", evidence=there)
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised(), second),
        "r1/judgement@judge": crosses.judgement("E", {"F1": "valid P1", "F2": "valid P2"}),
    }
    seats = crosses.seats(shop.parent / "seats", said)
    flags = [f"--{role}={spec}" for role, spec in seats.items()]
    screen = piped("cross", "--scope", "uncommitted", *flags, cwd=shop).stdout
    assert screen.startswith("  STOPPED  2 findings stand, 1 P1; the judge chose E\n")
    assert screen.count("It commits before it charges.") == 1, "a finding is told once"
    assert "### Unresolved\n- F1, F2, as above\n" in screen
    listed = piped("list", cwd=shop).stdout
    assert "(stopped: 2 findings stand, 1 P1; the judge chose E)" in listed


@pytest.mark.parametrize(
    ("said", "headline"),
    [
        ({"r1/critique@critic": crosses.critique()}, "KEEP ORIGINAL  no finding stands; the critic agrees"),
        (
            {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/judgement@judge": crosses.judgement()},
            "STOPPED  1 finding stands, 1 P1; the judge chose E",
        ),
    ],
)
def test_every_ending_of_a_review_has_a_headline(shop: Path, said: dict[str, Any], headline: str) -> None:
    outcome = crosses.review(shop, said)
    assert terminal.ending(outcome).startswith(f"  {headline}\n")


def test_seats_of_a_review_are_named_once(shop: Path) -> None:
    crosses.review(shop, {"r1/critique@critic": crosses.critique()}, author="human")
    rows = terminal.header(voices.record())
    assert "  author       human" in rows
    programs = ["  critic       lint                 a program, not a model"]
    piped("review", "--with", "lint,rules", cwd=shop)
    assert [row for row in terminal.header(voices.record()) if "critic" in row] == programs


def test_one_model_on_both_sides_is_called_that(tmp_path: Path, workspace: Path) -> None:  # C2
    spec = duels.script(tmp_path / "one.json", duels.answers())
    seats = {"proposer": spec, "challenger": spec}
    alone = rebut.run("duel", "Redis?", **seats, judge=duels.seats(tmp_path)["judge"], allow_same_model=True)
    assert alone.heading == "VERDICT, ONE MODEL ALONE" and alone.caveats == ("ONE MODEL ALONE",)
    assert terminal.ending(alone).startswith("  VERDICT, ONE MODEL ALONE  challenger\n")
    assert "Status: proposed: one model had every seat (VERDICT, ONE MODEL ALONE)" in adr.adr(voices.record())
    assert rebut.run("duel", "Redis?", **duels.seats(tmp_path)).heading == "VERDICT"


def test_a_critic_that_judges_itself_is_one_model_whoever_wrote_the_change(shop: Path) -> None:  # C2
    said = {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/judgement@judge": crosses.judgement()}
    spec = duels.script(shop.parent / "one.json", said)
    outcome = crosses.review(shop, said, critic=spec, judge=spec, author="human")
    assert outcome.heading == "STOPPED, ONE MODEL ALONE"


def test_whoever_saw_only_a_part_is_named_in_the_headline(tmp_path: Path) -> None:  # C6
    class Small:
        async def complete(self, request: Request) -> Reply:
            return Reply("yes", "small", "s", unread="900 of 1,000 characters were left out")

    path = voices.protocol(tmp_path, 'await debate.ask(debate.seat("critic"), "say", "Say it.")\nreturn done()')
    named: dict[str, Any] = {"workspace": tmp_path, "author": "fake:a", "critic": "small:b"}
    outcome = rebut.run(path, "tea", backends={"fake": voices.Voice(), "small": Small()}, **named)
    assert outcome.heading == "DONE, THE CRITIC SAW ONLY PART OF THE QUESTION" and not outcome.conclusive


def test_what_nobody_contested_is_proposed_and_not_accepted(tmp_path: Path, workspace: Path) -> None:  # C6
    same = {"same": True, "first": "Keep Redis.", "second": "Keep Redis.", "recommendation": "Keep Redis."}
    said = {f"answer@{role}": duels.opening() for role in ("proposer", "challenger")}
    said["comparison@judge"] = same | {"reason": "Both keep it."}
    seats = {r: duels.script(tmp_path / f"{r}.json", said, model=r) for r in ("proposer", "challenger", "judge")}
    assert rebut.run("ask", "Redis?", **seats).heading == "BOTH AGREE: Keep Redis"
    text = adr.adr(voices.record())
    assert (
        "- Status: proposed, uncontested: the models that answered chose the same, and none argued against it\n" in text
    )
    assert "accepted" not in text
