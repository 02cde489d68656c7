"""The functions that do from Python what `rebut check` and the short commands do."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import aclosing
from dataclasses import FrozenInstanceError
from functools import partial
from pathlib import Path
from typing import Any

import crosses
import duels
import forkserver
import pytest
import voices
from test_ask import chosen, said
from test_verbs import DIFF, REVIEW, company

import rebut
from rebut.record import sessions
from rebut.record.record import Record
from tests.console import REBUT
from tests.loopback import Loopback

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "check"


def test_check_gives_what_the_command_gives() -> None:
    # C13
    plan = EXAMPLE / "PLAN.md"
    words = [str(REBUT), "check", str(plan), "--root", str(EXAMPLE), "--json"]
    told = json.loads(forkserver.run(words, capture_output=True, text=True).stdout)
    checked = rebut.check(plan.read_text(), root=EXAMPLE, folder=plan.parent)
    assert checked.counts == told["counts"] == {"found": 3, "moved": 1, "absent": 4}
    rows = [(c.line, c.place, c.quote, c.mark, c.note, c.moved_to) for c in checked.citations]
    assert rows == [
        tuple(row[n] for n in ("line", "place", "quote", "mark", "note", "moved_to")) for row in told["citations"]
    ]
    assert not checked.ok and told["exit"] == 1


def test_check_is_ok_unless_a_citation_is_absent_and_its_result_does_not_change(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\ny = 2\n")
    checked = rebut.check('See app.py:1 "y = 2", and https://example.invalid/a.', root=str(tmp_path))
    assert checked.ok and set(checked.counts) == {"moved", "uncheckable"}
    assert checked.citations[0].moved_to == "app.py:2"
    assert rebut.check("Nothing is cited.", root=tmp_path) == rebut.CheckedText(())
    with pytest.raises(FrozenInstanceError):
        checked.citations[0].line = 7  # type: ignore[misc]
    with pytest.raises(rebut.UsageError, match="there is no folder"):
        rebut.check("app.py:1", root=tmp_path / "nowhere")


def test_check_reads_a_path_as_the_command_does_and_takes_a_str_for_the_text_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLE.parent)
    for file, root in ((Path("check/PLAN.md"), None), (EXAMPLE / "PLAN.md", EXAMPLE), (Path("check/PLAN.md"), "check")):
        words = [str(REBUT), "check", str(file), "--json", *(["--root", str(root)] if root else [])]
        told = json.loads(forkserver.run(words, capture_output=True, text=True).stdout)
        checked = rebut.check(file, root=root)
        assert checked.counts == told["counts"] and [c.place for c in checked.citations] == [
            row["place"] for row in told["citations"]
        ]
        assert checked == asyncio.run(rebut.check_async(file, root=root))
    text = rebut.check("check/PLAN.md")
    assert [one.place for one in text.citations] == ["check/PLAN.md"], "a text of one citation"
    (tmp_path / "bin.md").write_bytes(b"\0\1")
    for path, why in ((tmp_path / "none.md", "none.md cannot be read"), (tmp_path, "is a folder"),
                      (tmp_path / "bin.md", "bin.md is binary"), (Path("a" * 300), "cannot be read: File name"),
                      (Path("a\0b"), "cannot be the name of a file")):  # fmt: skip
        with pytest.raises(rebut.UsageError, match=why):
            rebut.check(path)
    with pytest.raises(rebut.UsageError, match="there is no folder a"):
        rebut.check("app.py:1", root="a" * 300)


@pytest.mark.parametrize("given", [None, b"app.py:1", 7, ["app.py:1"]], ids=repr)
def test_what_is_neither_a_text_nor_a_path_is_refused_with_what_to_give(shop: Path, given: Any) -> None:
    for act, takes, give in (
        (rebut.check, "check takes a text or the path of a file", "Give the text as str, or a file as pathlib.Path."),
        (rebut.ask, "ask takes a question", "Give it as str."),
        (rebut.review, "review takes a change", "Give it as str or pathlib.Path."),
        (rebut.plan, "plan takes the path of a file", "Give it as str or pathlib.Path."),
        (partial(rebut.run, "duel"), "a debate takes its topic", "Give it as str."),
    ):
        with pytest.raises(rebut.UsageError) as refused:
            act(given)
        assert refused.value.message == f"{takes}, got {type(given).__name__}" and refused.value.hint == give
    with pytest.raises(rebut.UsageError, match="ask takes a question, got PosixPath"):
        rebut.ask(Path("question.md"))  # type: ignore[arg-type]
    assert not sessions.sessions(sessions.home())


def test_a_path_to_review_is_a_file_and_never_a_commit_and_a_plan_is_no_text(tmp_path: Path, shop: Path) -> None:
    sat = company(tmp_path / "s", REVIEW, 2).split(",")
    assert rebut.review(Path("api/orders.py"), models=sat, workspace=shop).review
    for refused, why in (
        (lambda: rebut.review(Path("HEAD"), models=sat, workspace=shop), "there is no file HEAD"),
        (lambda: rebut.review(Path("A..B"), models=sat, workspace=shop), "there is no file A..B"),
        (lambda: rebut.plan("# Plan\n\nUse Redis.\n", models=sat, workspace=shop), "got a text of several lines"),
    ):
        with pytest.raises(rebut.UsageError, match=why):
            refused()


def test_check_in_a_running_loop_says_what_to_write_there(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n")

    async def in_a_loop() -> rebut.CheckedText:
        with pytest.raises(rebut.UsageError, match=r"await rebut\.check_async"):
            rebut.check("app.py:1", root=tmp_path)
        return await rebut.check_async("app.py:1", root=tmp_path)

    assert asyncio.run(in_a_loop()) == rebut.check("app.py:1", root=tmp_path)


def test_importing_rebut_loads_nothing_and_check_needs_no_loop(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n")
    code = """
import sys
before = set(sys.modules)
import rebut
new = {name.partition(".")[0] for name in set(sys.modules) - before}
assert not [n for n in sys.modules if n.startswith("rebut.")], sys.modules
assert "asyncio" not in new, new
assert rebut.check("app.py:1").ok
assert "asyncio" not in sys.modules and "pydantic" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ask, review, plan


def newest() -> Record:
    return sessions.load(next(iter(sessions.sessions(sessions.home()))).folder)


def setting(record: Record) -> list[Any]:
    """What a debate was set up with."""
    target = record.facts["target"].value if "target" in record.facts else {}
    assert isinstance(target, dict)
    was = record.opened
    about = [target.get(name) for name in ("kind", "scope", "diff", "text", "cites")]
    return [was.protocol, was.topic, was.settings, was.seats, was.limits, *about]


PLAN = {"r1/critique@critic": crosses.proposal(), "r1/judgement@judge": crosses.judgement()}


FOLLOW_UPS = {"proposer": "D1", "challenger": "D3"}


@pytest.mark.parametrize("pace", ["", "quick", "deep"])
def test_a_question_has_the_models_limits_and_rounds_of_the_command(tmp_path: Path, workspace: Path, pace: str) -> None:
    # C13
    later = {f"r2/follow-up@{seat}": duels.follow_up(2, {id: "resolved"}) for seat, id in FOLLOW_UPS.items()}
    answers = said(same=False) | later | {"verdict.other-order@judge": chosen(1)}
    who = company(tmp_path / "s", answers, 3)
    done = voices.cli("ask", "Redis?", "--with", who, "--json", *([f"--{pace}"] if pace else []), cwd=workspace)
    of_command, told = setting(newest()), json.loads(done.stdout)
    outcome = rebut.ask("Redis?", models=who.split(","), quick=pace == "quick", deep=pace == "deep")
    assert setting(newest()) == of_command and newest().opened.id == outcome.session != told["session"]
    assert (outcome.heading, outcome.decision) == (told["heading"], told["decision"])
    assert outcome.answers is not None and outcome.verdict.winner == "answer 2"


def test_a_change_and_a_plan_are_reviewed_as_by_the_command(tmp_path: Path, shop: Path) -> None:
    # C13
    (shop / "PLAN.md").write_text("# Proposal\n\nWe drop the queue, as in api/none.py:3.\n")
    critics, readers = company(tmp_path / "s", REVIEW, 2), company(tmp_path / "t", PLAN, 2)
    voices.cli("review", "--with", critics, "--json", cwd=shop)
    of_command = setting(newest())
    outcome = rebut.review(models=critics.split(","), workspace=shop)
    assert setting(newest()) == of_command and outcome.review is not None
    assert [(f.id, f.place, f.severity) for f in outcome.review.findings] == [("F1", "api/orders.py:5", "P1")]
    assert rebut.review("api/orders.py", models=critics.split(","), workspace=shop).review is not None
    assert setting(newest())[6] == "file:api/orders.py", "a file is looked for in the workspace"
    voices.cli("plan", "PLAN.md", "--with", readers, "--json", cwd=shop)
    of_command = setting(newest())
    assert rebut.plan("PLAN.md", models=readers.split(","), workspace=shop).review is not None
    assert setting(newest()) == of_command
    listed = json.loads(voices.cli("list", "--json", "--all", cwd=shop).stdout)
    assert {row["verb"] for row in listed} == {"review", "plan"}


def test_a_diff_is_reviewed_as_given(tmp_path: Path, shop: Path) -> None:
    outcome = rebut.review(DIFF, models=company(tmp_path / "s", REVIEW, 2).split(","), workspace=shop)
    assert outcome.review is not None and "api/new.py" in setting(newest())[7]


def test_the_twins_of_the_short_functions_are_coroutines_with_the_same_result(tmp_path: Path, shop: Path) -> None:
    (shop / "PLAN.md").write_text("# Proposal\n\nWe drop the queue.\n")
    asked, read = company(tmp_path / "s", said(same=True), 3).split(","), company(tmp_path / "t", PLAN, 2).split(",")

    async def all_three() -> list[rebut.Outcome]:
        for name in ("ask", "review", "plan"):
            with pytest.raises(rebut.UsageError, match=rf"await rebut\.{name}_async"):
                getattr(rebut, name)("PLAN.md", models=asked)
        return await asyncio.gather(
            rebut.ask_async("Redis?", models=asked, workspace=shop),
            rebut.review_async("api/orders.py", models=company(tmp_path / "u", REVIEW, 2).split(","), workspace=shop),
            rebut.plan_async(Path("PLAN.md"), models=read, workspace=shop),
        )

    answer, review, plan = asyncio.run(all_three())
    assert answer.heading == "BOTH AGREE: Keep Redis" and review.review and plan.review


def test_what_a_short_function_refuses(tmp_path: Path, shop: Path) -> None:
    with pytest.raises(rebut.UsageError, match="models must be a list") as caught:
        rebut.ask("Redis?", models="claude,codex")
    assert "['claude', 'codex']" in caught.value.hint
    for refused, why in (
        (lambda: rebut.ask(" "), "the question is empty"),
        (lambda: rebut.ask("Redis?", quick=True, deep=True), "quick or deep"),
        (lambda: rebut.plan("none.md", workspace=shop), "there is no file none.md"),
        (lambda: rebut.review("api", workspace=shop), "api is a folder"),
        (lambda: rebut.ask("Redis?", models=["scripted:a", "scripted:b"], colour="red"), "colour"),
    ):
        with pytest.raises(rebut.UsageError, match=why):
            refused()
    missing = voices.cli("plan", "none.md", cwd=shop)
    assert missing.returncode == 2 and "there is no file none.md" in missing.stderr
    assert "or - for standard input" in missing.stderr, "only a command reads it"
    with pytest.raises(rebut.RebutError, match="needs two models") as few:
        rebut.ask("Redis?", env={"HOME": str(tmp_path), "PATH": ""}, workspace=shop)
    said = f"{few.value} {few.value.hint}"
    assert "--with" not in said.replace("`rebut review --with lint,rules`", ""), "options are named with their command"
    assert not sessions.sessions(sessions.home())


# stream


def told(*given: Any, **named: Any) -> list[rebut.DebateEvent]:
    async def read() -> list[rebut.DebateEvent]:
        return [event async for event in rebut.stream(*given, **named)]

    return asyncio.run(read())


def test_a_debate_is_told_event_by_event_from_its_session_to_its_outcome(tmp_path: Path, workspace: Path) -> None:
    # C13
    seats = duels.seats(tmp_path)
    events = told("duel", "Redis or cookies?", rounds=2, **seats)
    first, last = events[0], events[-1]
    assert isinstance(first, rebut.DebateStarted) and isinstance(last, rebut.DebateEnded)
    assert first.session == last.outcome.session and first.seats == seats
    assert last.outcome.verdict.winner == "challenger"
    asked = [e.key for e in events if isinstance(e, rebut.SeatAsked)]
    answered = [e.key for e in events if isinstance(e, rebut.SeatAnswered)]
    assert asked == answered and len(asked) == last.outcome.spent.calls == 5
    changed = [(e.point.id, e.was, e.status) for e in events if isinstance(e, rebut.PointChanged)]
    assert changed[:2] == [("D1", "", "raised"), ("D2", "", "raised")]
    assert {id: status for id, _, status in changed} == {
        point.id: last.outcome.ledger.status(point.id) for point in last.outcome.ledger.points
    }


def test_points_are_told_while_a_model_writes_them(tmp_path: Path, workspace: Path) -> None:
    with Loopback(answers=duels.by_form()) as server:
        env = {"OPENAI_API_KEY": "sk-test-0123456789", "OPENAI_BASE_URL": server.url, "HOME": str(tmp_path)}
        events = told("duel", "Redis?", proposer="openai:a", challenger="openai:b", rounds=1, env={**os.environ, **env})
    key = "r1/challenge@challenger"
    order = [type(e) for e in events if getattr(e, "key", "") == key]
    assert order[0] is rebut.SeatAsked and order[-1] is rebut.SeatAnswered and rebut.PointWritten in order
    written = [e for e in events if isinstance(e, rebut.PointWritten) and e.key == key]
    assert (written[0].number, written[0].place, written[0].checked) == (1, "src/session.py:1", False)
    assert written[0].text == "No replica: a failover loses every session."


def test_the_short_functions_and_a_listener_of_the_user_take_part(tmp_path: Path, shop: Path) -> None:
    kinds: list[str] = []
    who = company(tmp_path / "s", REVIEW, 2).split(",")
    listener = lambda line: kinds.append(line.event.kind)  # noqa: E731
    events = told(rebut.review, models=who, workspace=shop, listener=listener)
    assert isinstance(events[-1], rebut.DebateEnded) and events[-1].outcome.review is not None
    assert kinds[0] == "opened" and kinds[-1] == "closed"
    with pytest.raises(rebut.UsageError, match="there are no events of check"):
        told(rebut.check, "app.py:1")
    with pytest.raises(rebut.UsageError, match="there is no file none"):
        told(rebut.plan, "none.md", models=who, workspace=shop)


@pytest.mark.parametrize("how", ["break", "cancel"])
def test_who_stops_reading_stops_the_debate_which_can_be_resumed(tmp_path: Path, how: str) -> None:
    # C14
    path = voices.protocol(
        tmp_path,
        """
seats = {"author": 1, "critic": 1}

async def run(debate):
    a = await debate.ask(debate.seat("author"), "one", "First?")
    b = await debate.ask(debate.seat("critic"), "two", "Second?")
    return done(said=[a.value, b.value])
""",
    )
    stopped: list[str] = []
    called = asyncio.Event()

    async def hangs(request: rebut.Request) -> str:
        if request.key == "one@author":
            return "first"
        called.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append(request.key)
            raise
        return ""

    sat = {"author": "fake:a", "critic": "fake:b", "workspace": tmp_path}

    async def reads() -> None:
        async with aclosing(rebut.stream(path, "t", backends={"fake": voices.Voice(hangs)}, **sat)) as events:
            async for event in events:
                if isinstance(event, rebut.SeatAsked) and event.key == "two@critic":
                    await called.wait()
                    if how == "break":
                        break
                    asyncio.current_task().cancel()  # type: ignore[union-attr]

    async def stops() -> None:
        try:
            await asyncio.create_task(reads())
        except asyncio.CancelledError:
            assert how == "cancel"
        assert len(asyncio.all_tasks()) == 1, "nothing of the debate runs on"

    asyncio.run(stops())
    assert stopped == ["two@critic"]
    again = voices.Voice("second")
    events = told(rebut.resume, voices.folder().name, backends={"fake": again})
    assert isinstance(events[0], rebut.DebateStarted) and isinstance(events[-1], rebut.DebateEnded)
    assert events[-1].outcome.data == {"said": ["first", "second"]} and again.keys == ["two@critic"]


def test_an_error_of_the_debate_is_raised_after_its_events(tmp_path: Path, workspace: Path) -> None:
    seats = duels.seats(tmp_path, {"verdict@judge": [{"fail": "timeout"}]})
    seen: list[rebut.DebateEvent] = []

    async def read() -> None:
        async for event in rebut.stream("duel", "Redis?", **seats):
            seen.append(event)

    with pytest.raises(rebut.Aborted):
        asyncio.run(read())
    assert any(isinstance(e, rebut.SeatFailed) and e.seat == "judge" and e.reopened for e in seen)
    assert not any(isinstance(e, rebut.DebateEnded) for e in seen)


def test_a_verdict_needs_no_guard_and_is_false_where_there_is_none(tmp_path: Path) -> None:
    """`outcome.verdict.winner` is a text in any case, for type checkers and at run time."""
    from rebut.domain.outcome import Outcome, Verdict

    none = Outcome("uncontested", "UNCONTESTED")
    assert none.verdict.winner == "" and not none.verdict
    assert none.to_json()["verdict"] is None and Outcome.from_json(none.to_json()) == none
    some = Outcome("verdict", "VERDICT", verdict=Verdict("proposer", "It cites.", "Use it."))
    assert some.verdict and Outcome.from_json(some.to_json()).verdict == some.verdict
    code = tmp_path / "user.py"
    code.write_text(
        "import rebut\n\n\n"
        "def winner(question: str) -> str:\n"
        '    outcome = rebut.run("duel", question, proposer="openai:a", challenger="openai:b")\n'
        "    return outcome.verdict.winner\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(code)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
