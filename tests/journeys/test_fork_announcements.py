"""What a fork announces is what it does: for every protocol, the announcement is compared with the fork's journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions
import voices

from rebut.record import sessions

Start = Callable[[Path, dict[str, Any]], list[str]]


def reworded(value: Any, name: str = "") -> Any:
    """The same answer in other words, as another model would give it."""
    if isinstance(value, str) and " " in value and name not in ("quote", "place", "patch", "id"):
        return f"{value} Or so."
    if isinstance(value, list):
        return [reworded(row, name) for row in value]
    return {key: reworded(row, key) for key, row in value.items()} if isinstance(value, dict) else value


def duel(folder: Path, said: dict[str, Any]) -> list[str]:
    return ["duel", "Redis?", *flags(duels.seats(folder, said, rounds=3)), "--rounds", "3"]


def cross(folder: Path, said: dict[str, Any]) -> list[str]:
    return ["cross", "--uncommitted", *flags(crosses.seats(folder, said))]


def revise(folder: Path, said: dict[str, Any]) -> list[str]:
    sat = revisions.seats(folder, said)
    authors = [f"--author={spec}" for spec in sat["author"]]
    return ["revise", "plan", "Sessions?", *authors, f"--synthesizer={sat['synthesizer']}"]


def panel(folder: Path, said: dict[str, Any]) -> list[str]:
    sat = panels.seats(folder, said)
    others = [f"--challenger={spec}" for spec in sat.pop("challenger")]
    return ["panel", "Redis?", *flags(sat), *others, "--max-rounds", "5" if "r5/confront@lead" in said else "3"]


def ask(folder: Path, said: dict[str, Any]) -> list[str]:
    (folder / "ask").mkdir(exist_ok=True)
    names = {n: duels.script(folder / f"ask/{n}.json", said, model=n) for n in ("proposer", "challenger", "judge")}
    return ["ask", "Redis?", "--with", ",".join(names.values())]


def flags(seats: dict[str, Any]) -> list[str]:
    return [f"--{role}={spec}" for role, spec in seats.items()]


REVIEW = {
    "r1/critique@critic": crosses.critique(crosses.raised()),
    "r1/judgement@judge": crosses.judgement("D"),
    "r2/critique@critic": crosses.critique(crosses.raised(same_as="F1")),
    "r2/judgement@judge": crosses.judgement(),
}
COMPROMISE = {
    "r1/critique@critic": crosses.critique(crosses.raised()),
    "r1/judgement@judge": crosses.judgement("C"),
    "r1/version.code@judge": crosses.patch(),
    "r2/critique@critic": crosses.critique(),
}
FAILED = {"fail": "auth", "message": "401"}


@pytest.mark.parametrize(
    ("start", "said", "seat"),
    [
        *((duel, duels.answers(3), seat) for seat in ("proposer", "challenger", "judge")),
        *((cross, REVIEW, seat) for seat in ("critic", "judge", "author")),
        *((cross, COMPROMISE, seat) for seat in ("critic", "judge")),
        *((revise, revisions.answers(2), seat) for seat in ("author.1", "author.2", "synthesizer")),
        *((panel, panels.consensus(), seat) for seat in ("lead", "challenger.1", "challenger.2", "judge")),
        *((panel, panels.tradeoff(3), seat) for seat in ("lead", "challenger.3", "judge")),
    ],
    ids=lambda value: value.__name__ if callable(value) else value if isinstance(value, str) else "",
)
def test_another_model(tmp_path: Path, start: Start, said: dict[str, Any], seat: str) -> None:  # C13
    folder = crosses.repository(tmp_path / "work")
    (folder / "src").mkdir()
    (folder / "src/session.py").write_text("import redis\nttl = 3600\n" + "x = 1\n" * 30)
    begun = voices.cli(*start(tmp_path, said), "--json", cwd=folder)
    assert begun.returncode in (0, 3), begun.stderr + begun.stdout
    anew = {key: reworded(value) for key, value in said.items()}
    start(tmp_path, anew)  # a model that is asked again uses other words
    other = duels.script(tmp_path / "other.json", anew, model="other")
    announced(folder, "--seat", f"{seat}={'z=' if seat.startswith('author.') else ''}{other}")


@pytest.mark.parametrize(
    ("start", "said", "lost", "changes"),
    [
        (duel, duels.answers(3), "r2/follow-up@challenger", ()),
        (duel, duels.answers(3), "r1/challenge@challenger", ()),
        (revise, revisions.answers(2), "r1/critique@author.2", ()),
        (panel, panels.consensus(), "r1/challenge@challenger.2", ()),
        (panel, panels.tradeoff(3), "r2/rebuttal@challenger.1", ()),
        (duel, duels.answers(3), "", ("--rounds", "2")),
        (revise, revisions.answers(3), "", ("--set", "rounds=1")),
        (panel, panels.tradeoff(5), "", ("--set", "rounds=3")),
        (duel, duels.answers(3), "", ("--topic", "Memcached?")),
    ],
    ids=lambda value: value.__name__ if callable(value) else value if isinstance(value, str) else "",
)
def test_a_seat_that_had_failed_and_other_settings(
    tmp_path: Path, start: Start, said: dict[str, Any], lost: str, changes: tuple[str, ...]
) -> None:  # C13
    folder = crosses.repository(tmp_path / "work")
    begun = voices.cli(*start(tmp_path, {**said, lost: FAILED} if lost else said), "--json", cwd=folder)
    assert begun.returncode in (0, 3), begun.stderr + begun.stdout
    start(tmp_path, {key: reworded(value) for key, value in said.items()})  # it can answer now
    announced(folder, *changes, exact=not lost)  # what follows from an answer that is missing cannot be known


def test_an_automatic_fork_of_a_manual_review_has_no_person_in_it(tmp_path: Path) -> None:  # C13, J4
    folder = crosses.repository(tmp_path / "work")
    words = [*cross(tmp_path, REVIEW), "--mode", "manual"]
    begun = voices.cli(*words, cwd=folder)
    assert begun.returncode == 4, begun.stdout + begun.stderr
    said = announced(folder, "--set", "mode=auto", exact=False)  # no person had chosen yet
    assert [s["seat"] for s in said["seats"]] == ["author", "critic", "judge"], "no decider"
    assert said["kind"] == "stopped"


def announced(folder: Path, *changes: str, exact: bool = True) -> dict[str, Any]:
    """Fork the last session, by the command; the announcement must be what the fork's journal says."""
    parent = sessions.sessions(sessions.home())[0].opened.id
    dry = voices.cli("fork", parent, *changes, "--dry-run", "--json", cwd=folder)
    assert dry.returncode == 0, dry.stderr
    plan = json.loads(dry.stdout)
    done = voices.cli("fork", parent, *changes, cwd=folder)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    [record] = [
        sessions.load(found.folder)
        for found in sessions.sessions(sessions.home())
        if found.opened.forked_from == parent
    ]
    answered = [call.answered for call in record.calls.values() if call.answered]
    copied = [a.key for a in answered if a.copied_from]
    asked = [key for key in record.calls if key not in copied]
    reused, anew = plan["reused"], plan["anew"]
    if plan.get("exact", True):
        assert (reused, anew) == (len(copied), len(asked)), (plan, copied, asked)
    assert reused <= len(copied) and anew >= len(asked), (plan, copied, asked)
    assert plan.get("exact", True) is exact
    least, most = ("", "about") if exact else ("at least ", "at most")
    count = f"{most} {anew}" if anew else "none"
    assert f"reuses {least}{reused} answer{'' if reused == 1 else 's'} and asks for {count} new" in done.stderr
    assert record.closed is not None
    return dict(record.closed.outcome)
