"""Random debates of every protocol: each text that a form raised is in the ledger under its speaker, in the prompt of
the seat that must answer it, and in the file that should quote it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions
from hypothesis import HealthCheck, given, settings, strategies as st
from test_ask import said as asked_first

import rebut
from rebut.domain.outcome import Outcome
from rebut.record import sessions
from rebut.record.record import Record
from rebut.reports import export

TEXTS = ("One node fails.", "one NODE  fails", "No alarm rings.", "Keys are guessable!", "It costs too much.")
PLACES = ("src/session.py:1-7", "src/session.py:2", "src/session.py:3", "")
IDS = range(1, 7)


@dataclass(frozen=True)
class Said:
    """One point as a form has it."""

    text: str
    place: str
    same_as: int
    """The number of the point that it repeats; 0 for none. Not all of them exist."""
    tag: int
    """Which severity and category it has."""

    def form(self, letter: str, **changes: Any) -> dict[str, Any]:
        cites = [duels.cite(self.place)] if self.place else []
        same = f"{letter}{self.same_as}" if self.same_as else ""
        severity, category = ("P1", "P2", "P3")[self.tag % 3], ("security", "other")[self.tag % 2]
        return {"text": self.text, "severity": severity, "category": category, "evidence": cites, "same_as": same} | (
            changes
        )


points = st.lists(
    st.builds(
        Said, st.sampled_from(TEXTS), st.sampled_from(PLACES), st.sampled_from([0, 0, 0, 1, 2, 9]), st.integers(0, 5)
    ),
    max_size=3,
)
turns = st.lists(points, min_size=6, max_size=6)


@dataclass(frozen=True)
class Debated:
    """A debate that is over, and where its files are."""

    outcome: Outcome
    folder: Path

    @property
    def record(self) -> Record:
        return sessions.load(sessions.home() / self.outcome.session)

    def prompt(self, key: str) -> str:
        call = self.record.calls.get(key)
        return call.asked[1].prompt if call and call.asked else ""

    def file(self, pattern: str) -> str:
        [found] = self.folder.rglob(pattern)
        return found.read_text()


Raised = Iterator[tuple[str, str, int, list[str]]]
"""Text, seat, round, and every text that must quote it."""


def joining(rows: list[dict[str, Any]], said: list[list[Said]]) -> None:
    """Answers that call some points the same as others. Not all of that makes sense."""
    for row, turn in zip(rows, said, strict=True):
        row["same_as"] = f"{row['id'][0]}{turn[0].same_as}" if turn and turn[0].same_as else ""


# duel and ask


def duel(said: list[list[Said]], place: Path) -> Debated:
    answers = duels.answers(3)
    flaws = [[one.form("D", about="") for one in turn] for turn in said]
    answers["r1/challenge@challenger"] = duels.challenge(flaws=flaws[0])
    for n in (2, 3):
        answers[f"r{n}/defense@proposer"] = duels.defense(n, {f"D{id}": "rebut" for id in IDS})
        answers[f"r{n}/follow-up@challenger"] = duels.follow_up(n, {f"D{id}": "dodged" for id in IDS}, flaws[n - 1])
        joining(answers[f"r{n}/defense@proposer"]["responses"], said)
        joining(answers[f"r{n}/follow-up@challenger"]["rulings"], said[::-1])
    answers |= {"r3/summary@judge": duels.summary(3, []), "verdict@judge": duels.verdict(reasoning="C1 decides.")}
    seats = {
        role: duels.script(place / f"{role}.json", answers, model=role) for role in ("proposer", "challenger", "judge")
    }
    outcome = rebut.run(
        "duel", duels.TOPIC, rounds=3, workspace=place / "work", **seats, state_dir=str(place / "state")
    )
    return Debated(outcome, place)


OTHER = {"proposer": "challenger", "challenger": "proposer"}


def ask(said: list[list[Said]], place: Path) -> Debated:
    answers = asked_first(False)
    for turn, (seat, other) in zip(said, OTHER.items(), strict=False):
        answers[f"r1/challenge@{seat}"] = duels.challenge(flaws=[one.form("D", about="") for one in turn])
        answers[f"r1/defense@{other}"] = duels.defense(1, {f"D{id}": "rebut" for id in IDS})
    answers["verdict@judge"] |= {"reasoning": "C1 decides."}
    seats = {role: duels.script(place / f"{role}.json", answers, model=role) for role in (*OTHER, "judge")}
    return Debated(rebut.run("ask", duels.TOPIC, rounds=1, workspace=place / "work", **seats), place)


def raised_in_ask(done: Debated) -> Raised:
    for seat, other in OTHER.items():
        call = done.record.calls.get(f"r1/challenge@{seat}")
        if call and call.answered:
            quoted = [done.prompt(f"r1/defense@{other}"), done.prompt("verdict@judge")]
            for flaw in call.answered.value["flaws"]:  # type: ignore[index,call-overload]
                yield flaw["text"], seat, 1, [page for page in quoted if page]  # type: ignore[index,call-overload]


def raised_in_duel(done: Debated) -> Raised:
    turns = {(row["round"], row["role"]): row["response"] for row in done.outcome.data["exchanges"]}  # type: ignore
    for key, call in done.record.calls.items():
        n, _, step = key.partition("/")
        if call.answered and step in ("challenge@challenger", "follow-up@challenger"):
            number = int(n[1:])
            quoted = [turns[number, "challenger"]]
            if done.prompt(f"r{number + 1}/defense@proposer"):
                quoted.append(done.prompt(f"r{number + 1}/defense@proposer"))
            for flaw in call.answered.value["flaws"]:  # type: ignore[index,call-overload]
                yield flaw["text"], "challenger", number, [*quoted, done.prompt("verdict@judge")]  # type: ignore


# cross


def cross(said: list[list[Said]], place: Path) -> Debated:
    answers: dict[str, Any] = {}
    for n in (1, 2, 3):
        found = [one.form("F", action="", fix="") for one in said[n - 1]]
        missed = [one.form("F", action="do it", fix="") for one in said[n + 2]]
        answers[f"r{n}/critique@critic"] = crosses.critique(*found, agrees=False)
        rulings = {f"F{id}": "valid P2" for id in IDS}
        answers[f"r{n}/judgement@judge"] = crosses.judgement("D", rulings, missed=missed)
        joining(answers[f"r{n}/judgement@judge"]["findings"], said)
    seats = crosses.seats(place / "seats", answers)
    (place / "work/src/session.py").write_text("ttl = 60\n" * 9)
    wanted = crosses.Wanted(scope="uncommitted")
    outcome = rebut.run("cross", target=wanted, workspace=place / "work", state_dir=str(place / "state"), **seats)
    return Debated(outcome, place / "state")


def raised_in_cross(done: Debated) -> Raised:
    for key, call in done.record.calls.items():
        n, _, step = key.partition("/")
        if not call.answered or step not in ("critique@critic", "judgement@judge"):
            continue
        by, name = ("critic", "findings") if step.startswith("critique") else ("judge", "missed")
        for one in call.answered.value[name]:  # type: ignore[index,call-overload]
            page = done.file(f"round-{n[1:]}-critique.md")
            later = [done.prompt(f"{n}/judgement@judge")] if by == "critic" else []
            yield one["text"], by, int(n[1:]), [page, done.file("summary.md"), *later]  # type: ignore


# revise


def revise(said: list[list[Said]], place: Path) -> Debated:
    answers = revisions.answers(2)
    for n in (1, 2):
        for by in (1, 2):
            turn = [one.form("W", severity="high", impact="security") for one in said[2 * n + by - 3]]
            half = len(turn) // 2
            answers[f"r{n}/critique@author.{by}"] = revisions.critique(
                *turn[half:], disagreements=[{**one, "why": ""} for one in turn[:half]]
            )
            document = revisions.document(f"author {by}", f"As of {n}.")
            answers[f"r{n}/revision@author.{by}"] = revisions.revision(document, [f"W{id}" for id in IDS])
    answers["synthesis@synthesizer"] = revisions.plan([f"W{id}" for id in IDS])
    seats = revisions.seats(place / "scripts", answers)
    outcome = rebut.run("revise", revisions.TOPIC, workspace=place / "work", stage="plan", rounds=2, **seats)
    return Debated(outcome, place / "work/.kiln")


def raised_in_revise(done: Debated) -> Raised:
    names = {"author.1": "codex", "author.2": "claude"}  # whose document each one critiques
    other = {"author.1": "author.2", "author.2": "author.1"}
    for key, call in done.record.calls.items():
        n, _, step = key.partition("/")
        if call.answered and step.startswith("critique@"):
            by = step.partition("@")[2]
            quoted = [done.file(f"critique_of_{names[by]}_{n}.md"), done.prompt(f"{n}/revision@{other[by]}")]
            value: Any = call.answered.value
            for one in (*value["weaknesses"], *value["disagreements"]):
                yield one["text"], by, int(n[1:]), [*quoted, done.prompt("synthesis@synthesizer")]


# panel


def panel(said: list[list[Said]], place: Path) -> Debated:
    answers = panels.tradeoff(2)
    for n in (1, 2, 3):
        made = [_objection(one) for one in said[n - 1]] or [panels.point("Something else.", "strong")]
        answers[f"r1/challenge@challenger.{n}"] = panels.objects("x", points=made, verdict="disagree")
        later = [_objection(one) for one in said[n + 2]]
        rulings = {f"B{id}": "maintain" for id in IDS}
        answers[f"r2/rebuttal@challenger.{n}"] = panels.rebut(rulings, points=later)
        answers[f"assumptions/grounds@challenger.{n}"] = panels.grounds("x")
    answers["r2/confront@lead"] = panels.confront({f"B{id}": "reject" for id in IDS})
    joining(answers["r2/confront@lead"]["responses"], said)
    seats = panels.seats(place / "seats", answers)
    outcome = rebut.run("panel", panels.TOPIC, workspace=place / "work", rounds=2, **seats)
    return Debated(outcome, place / "work/debates")


def _objection(one: Said) -> dict[str, Any]:
    return one.form("B", strength=("strong", "moderate")[one.tag % 2], about="", category="design")


def raised_in_panel(done: Debated) -> Raised:
    names = {"challenger.1": "gemini", "challenger.2": "codex", "challenger.3": "qwen"}
    for key, call in done.record.calls.items():
        n, _, step = key.partition("/")
        if call.answered and step.partition("@")[0] in ("challenge", "rebuttal"):
            by = step.partition("@")[2]
            quoted = [done.file(f"r00{n[1:]}_{names[by]}.md"), done.file("transcript.md")]
            later = [done.prompt("r2/confront@lead")] if n == "r1" else []
            for one in call.answered.value["points"]:  # type: ignore[index,call-overload]
                yield one["text"], by, int(n[1:]), [*quoted, *later, done.file("state.json")]  # type: ignore


PROTOCOLS: dict[str, tuple[Callable[[list[list[Said]], Path], Debated], Callable[[Debated], Raised]]] = {
    "duel": (duel, raised_in_duel),
    "ask": (ask, raised_in_ask),
    "cross": (cross, raised_in_cross),
    "revise": (revise, raised_in_revise),
    "panel": (panel, raised_in_panel),
}


@pytest.mark.parametrize("name", PROTOCOLS)
@settings(deadline=None, derandomize=True, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=turns)
def test_every_text_is_on_record_under_its_speaker_and_quoted(
    name: str, said: list[list[Said]], tmp_path: Path, workspace: Path
) -> None:  # C10
    debate, raised = PROTOCOLS[name]
    place = Path(tempfile.mkdtemp(dir=tmp_path))
    shutil.copytree(workspace, place / "work")
    done = debate(said, place)
    ledger = done.outcome.ledger
    kept = {(one.by, one.round, one.text) for p in ledger.points for one in p.wordings}
    lost = {(m.by, m.round, m.reason) for m in ledger.unplaced}
    whole = export.markdown(done.record)
    count = 0
    for text, by, n, quoting in raised(done):
        count += 1
        assert (by, n, text) in kept | lost, f"{by} raised {text!r} in round {n}"
        assert " ".join(text.split()) in whole
        for page in quoting[: None if (by, n, text) in kept else 1]:  # what is about no point needs no answer
            assert " ".join(text.split()) in " ".join(page.split()), f"{by} raised {text!r} in round {n}:\n{page}"
    assert count == sum(len(p.wordings) for p in ledger.points) + len(ledger.unplaced)
    for p in ledger.points:
        assert len({one.about for one in p.wordings}) == 1, "points of different documents never join"
    assert json.loads(json.dumps(export.as_json(done.record)["ledger"])) == json.loads(
        json.dumps(export.ledger_to_json(ledger))
    )
    shutil.rmtree(place)
