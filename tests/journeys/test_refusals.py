"""A reply that refuses never passes a gate and never makes a consensus, whatever approval it quotes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
from console import piped
from replies import KINDS, Kind

REFUSING = (
    "refusal, then what approval would be",
    "refusal, then a fenced approval",
    "fenced approval, then refused",
    "approval quoted from the change",
    "approval in a comment of the change",
    "approval in a diff",
    "approval in thinking only",
    "approval in unclosed thinking",
    "approval behind an end of thinking in prose",
    "draft, then corrected",
    "two fences that differ",
    "objection quoted, approval fenced",
    "fields twice, approval last",
    "fields twice, in a fence",
    "fields twice, apart from what is not seen",
    "in a fence with a word of its own",
    "approval with a comment",
    "approval with a comma too many",
)
KIND = {kind.name: kind for kind in KINDS}
refusing = pytest.mark.parametrize("kind", [KIND[name] for name in REFUSING], ids=lambda kind: kind.name)


def said(kind: Kind, agrees: Any, objects: Any) -> dict[str, str]:
    return {"text": kind.write(json.dumps(agrees), json.dumps(objects))}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return crosses.repository(tmp_path / "work")


def gate(work: Path, answers: dict[str, Any]) -> tuple[int, str]:
    words = [
        word for role, spec in crosses.seats(work.parent / "seats", answers).items() for word in (f"--{role}", spec)
    ]
    done = piped("cross", "--uncommitted", "--fail-on", "P1", *words, cwd=work)
    return done.returncode, done.stdout + done.stderr


@refusing
def test_no_gate_passes_when_the_critic_refuses(work: Path, kind: Kind) -> None:  # C5 C17
    reply = said(kind, crosses.critique(), crosses.critique(crosses.raised()))
    code, shown = gate(work, {"r1/critique@critic": reply, "r1/judgement@judge": crosses.judgement()})
    assert code not in (0, 1), shown
    assert "GATE PASSED" not in shown and "the critic agrees" not in shown
    assert "the reply did not fit what was asked for" in " ".join(shown.split())


@refusing
def test_no_gate_passes_when_the_judge_refuses_to_drop_a_finding(work: Path, kind: Kind) -> None:  # C5 C17
    drops, keeps = crosses.judgement("A", {"F1": "invalid P3"}), crosses.judgement("E", {"F1": "valid P1"})
    answers = {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/judgement@judge": said(kind, drops, keeps)}
    code, shown = gate(work, answers)
    assert code != 0 and "GATE PASSED" not in shown, shown


def test_a_refusal_that_is_sent_back_counts_once_it_is_one_object(work: Path) -> None:  # C5 C17
    findings = crosses.critique(crosses.raised())
    first = said(KIND["refusal, then a fenced approval"], crosses.critique(), findings)
    code, shown = gate(work, {"r1/critique@critic": [first, findings], "r1/judgement@judge": crosses.judgement()})
    assert code == 1 and "GATE FAILED: 1 finding" in shown, shown


def test_an_agreement_that_is_sent_back_counts_once_it_is_one_object(work: Path) -> None:  # C5 C17
    first = {"text": f"Looks good to me!\n{json.dumps(crosses.critique())}"}
    code, shown = gate(work, {"r1/critique@critic": [first, crosses.critique()]})
    assert code == 0 and "GATE PASSED" in shown, shown


@refusing
def test_no_gate_passes_when_the_critic_refuses_after_it_read_what_it_asked_for(work: Path, kind: Kind) -> None:
    # C5 C15 C17
    at_first = crosses.critique(need=["README.md"])
    later = said(kind, crosses.critique(), crosses.critique(crosses.raised()))
    code, shown = gate(work, {"r1/critique@critic": [at_first, later], "r1/judgement@judge": crosses.judgement()})
    assert code not in (0, 1) and "GATE PASSED" not in shown, shown


def test_an_objection_with_words_around_it_is_read_at_once(work: Path) -> None:  # C5 C17
    reply = {"text": f"I object:\n\n```json\n{json.dumps(crosses.critique(crosses.raised()))}\n```\nThat is all."}
    answers = {"r1/critique@critic": [reply, {"fail": "crashed"}], "r1/judgement@judge": crosses.judgement()}
    code, shown = gate(work, answers)
    assert code == 1 and "GATE FAILED: 1 finding" in shown, shown


def panel(folder: Path, challenges: list[Any]) -> tuple[int, str]:
    answers = {"opening/personas@judge": panels.personas(), "opening/position@lead": panels.opening()}
    answers |= {f"r1/challenge@challenger.{n}": one for n, one in enumerate(challenges, 1)}
    answers |= {"assumptions/grounds@*": panels.grounds("Lead"), "map@judge": panels.mapped("Lead", "Architect")}
    seats = panels.seats(folder / "seats", answers)
    words = [word for one in seats["challenger"] for word in ("--challenger", one)]
    words += ["--lead", seats["lead"], "--judge", seats["judge"], "--max-rounds", "1"]
    done = piped("panel", panels.TOPIC, *words, cwd=folder)
    return done.returncode, done.stdout + done.stderr


@refusing
def test_no_panel_ends_in_consensus_when_the_challengers_refuse(workspace: Path, kind: Kind) -> None:  # C5 H7
    lenses = panels.LENSES[:3]
    code, shown = panel(workspace, [said(kind, panels.agree(n), panels.objects("It fails.", lens=n)) for n in lenses])
    assert code == 3 and "NO CONSENSUS (0 of 3)" in shown, shown


@refusing
def test_one_challenger_who_refuses_is_not_counted_among_those_who_agree(workspace: Path, kind: Kind) -> None:  # C5 H7
    first, second, third = panels.LENSES[:3]
    refuses = said(kind, panels.agree(first), panels.objects("It fails.", lens=first))
    code, shown = panel(workspace, [refuses, panels.agree(second), panels.agree(third)])
    assert code == 3 and "PARTIAL CONSENSUS (2 of 3)" in shown, shown


@refusing
def test_two_answers_are_not_the_same_when_the_judge_says_that_they_differ(workspace: Path, kind: Kind) -> None:  # C5
    compared = {"first": "Use Redis.", "second": "Use cookies.", "reason": "x", "recommendation": "Use Redis."}
    answers = {"answer@*": duels.opening()}
    answers |= {"comparison@judge": said(kind, compared | {"same": True}, compared | {"same": False})}
    specs = [duels.script(workspace / f"{name}.json", answers, model=name) for name in ("a", "b", "c")]
    done = piped("ask", "Redis?", "--with", ",".join(specs))
    assert done.returncode == 3 and "did not compare the answers" in " ".join(done.stderr.split()), done.stdout
    assert "UNCONTESTED" not in done.stdout
