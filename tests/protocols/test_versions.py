"""A session that an earlier version of a protocol recorded, with other prompts, is resumed, replayed and forked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions
from test_ask import TOPIC, said

import rebut
from rebut.core.errors import Aborted
from rebut.domain.outcome import Outcome
from rebut.record import sessions

FAILED = {"fail": "auth"}


@dataclass(frozen=True)
class Case:
    """A protocol, a template of its earlier version, its answers, and the seat whose failure keeps a session open."""

    template: str
    answers: Callable[[], dict[str, Any]]
    seats: Callable[[Path, dict[str, Any]], dict[str, Any]]
    missing: tuple[str, ...]
    asked_before: str
    topic: str = duels.TOPIC
    repository: bool = False


def two_rounds() -> dict[str, Any]:
    found = {"F1": "valid P1"}
    return {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("D", found),
        "r2/critique@critic": crosses.critique(crosses.raised(same_as="F1")),
        "r2/judgement@judge": crosses.judgement("A", found),
    }


def three(folder: Path, answers: dict[str, Any]) -> dict[str, Any]:
    roles = ("proposer", "challenger", "judge")
    return {role: duels.script(folder / f"{role}.json", answers, model=role) for role in roles}


CASES = {
    "ask": Case("ask.prompts.ANSWER", lambda: said(False), three, ("verdict@judge",), "answer@proposer", TOPIC),
    "duel": Case("duel.prompts.OPENING", duels.answers, three, ("verdict@judge",), "r1/opening@proposer"),
    "cross": Case(
        "cross.prompts.CODE", two_rounds, crosses.seats, ("r2/judgement@judge",), "r1/critique@critic", "", True
    ),
    "panel": Case(
        "panel.prompts.PERSONA",
        panels.consensus,
        panels.seats,
        ("r2/confront@lead",),
        "r1/challenge@challenger.1",
        panels.TOPIC,
    ),
    "revise": Case(
        "revise.prompts.DRAFT_PLAN",
        lambda: (found := revisions.answers()) | {"synthesis.again@synthesizer": found["synthesis@synthesizer"]},
        revisions.seats,
        ("synthesis@synthesizer", "synthesis.again@synthesizer"),
        "r0/draft@author.1",
        revisions.TOPIC,
    ),
}


@pytest.fixture
def before(
    request: pytest.FixtureRequest, tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Start a debate as an earlier version of the protocol did."""
    name = request.node.callspec.params["name"]
    case = CASES[name]
    place = crosses.repository(tmp_path / "shop") if case.repository else workspace
    monkeypatch.chdir(place)
    module, _, constant = f"rebut.protocols.{case.template}".rpartition(".")

    def start(answers: dict[str, Any]) -> Outcome:
        with pytest.MonkeyPatch.context() as patch:
            holder = __import__(module, fromlist=[constant])
            patch.setattr(holder, constant, getattr(holder, constant) + "\n\nThese words are gone since.")
            patch.setattr(f"rebut.protocols.{name}.version", "1")
            seats = case.seats(tmp_path / "seats", answers)
            more = {"target": crosses.Wanted(scope="uncommitted")} if case.repository else {}
            return rebut.run(name, case.topic, workspace=place, **seats, **more)

    (tmp_path / "seats").mkdir()
    return start


@pytest.mark.parametrize("name", CASES)
def test_a_session_of_an_earlier_version_is_resumed(
    name: str, before: Callable[..., Outcome], tmp_path: Path
) -> None:  # C3
    case = CASES[name]
    with pytest.raises(Aborted):
        before(case.answers() | dict.fromkeys(case.missing, FAILED))
    case.seats(tmp_path / "seats", {key: case.answers()[key] for key in case.answers() if key != case.asked_before})
    outcome = asyncio.run(rebut.resume("last"))
    assert outcome.complete and outcome.conclusive, outcome
    changed = f"{case.asked_before}: the question changed (the protocol was 1, is "
    assert any(note.startswith(changed) for note in outcome.notes), outcome.notes
    record = sessions.load(sessions.home() / outcome.session)
    assert len(record.calls[case.asked_before].asked) == 1, "it is not asked again"


@pytest.mark.parametrize("name", CASES)
def test_a_session_of_an_earlier_version_is_replayed_and_forked(
    name: str, before: Callable[..., Outcome]
) -> None:  # C3 C13
    case = CASES[name]
    outcome = before(case.answers())
    again = asyncio.run(rebut.replay(outcome.session))
    assert (again.kind, again.heading, again.decision) == (outcome.kind, outcome.heading, outcome.decision)
    forked = asyncio.run(rebut.fork(outcome.session))
    assert (forked.kind, forked.heading, forked.decision) == (outcome.kind, outcome.heading, outcome.decision)
    record = sessions.load(sessions.home() / forked.session)
    assert "These words are gone" not in record.calls[case.asked_before].asked[1].prompt, "it is asked again"
