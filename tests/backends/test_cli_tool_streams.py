"""A tool that is read along while it writes: what is shown of it, what is kept, and that the answer is none of that."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rebut.backends.cli_tools import tables
from rebut.backends.cli_tools.backend import LONGEST_LINE, Command
from rebut.core import process
from rebut.core.errors import ParticipantFailed
from rebut.core.types import ModelSpec, Participant, Reply, Request, Usage
from tests import fake_tool

OUTPUT = {
    "form": "lines",
    "stream": {"where": {"type": "delta", "role": "assistant"}, "take": "text"},
    "text": {"where": {"type": "done"}, "take": "answer"},
    "output": {"where": {"type": "done"}, "take": "tokens"},
    "error": {"where": {"type": "failed"}, "take": "why"},
}
DONE = {"type": "done", "answer": "the answer", "tokens": 7}


def delta(text: object, role: str = "assistant") -> dict[str, object]:
    return {"type": "delta", "role": role, "text": text}


def lines(*items: object) -> str:
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)


class Talker:
    """A tool made of a few lines of Python, and whoever listens to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.heard: list[str] = []
        self.pids: list[int] = []

    def ask(
        self, program: str, on_text: Callable[[str], None] | None = None, output: dict[str, Any] = OUTPUT, **table: Any
    ) -> Reply:
        file = self.root / "talker.py"
        file.write_text("import json, os, sys, time\nsys.stdin.read()\n" + program)
        mine = {"command": sys.executable, "args": ["-IS", str(file)], "output": output, **table}
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.root), "PYTHONUTF8": "1"}
        return self.command(Command(tables.load_tools({"mine": mine})["mine"], model="", effort="", env=env), on_text)

    def says(self, text: str, **more: Any) -> Reply:
        """The tool that writes just this, and ends well."""
        file = self.root / "said.txt"
        file.write_text(text, encoding="utf-8")
        return self.ask(f"sys.stdout.buffer.write(open({str(file)!r}, 'rb').read())\n", **more)

    def command(self, command: Command, on_text: Callable[[str], None] | None = None) -> Reply:
        who = Participant("proposer", ModelSpec("mine"))
        hears = on_text or self.heard.append
        request = Request("k", who, "Where?", timeout=60.0, on_text=hears, on_spawn=self.pids.append)
        return asyncio.run(command.complete(request))

    def failure(self, program: str, **more: Any) -> ParticipantFailed:
        with pytest.raises(ParticipantFailed) as caught:
            self.ask(program, **more)
        return caught.value


@pytest.fixture
def talker(tmp_path: Path) -> Talker:
    return Talker(tmp_path)


# What is shown --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["claude", "qwen", "copilot", "codex", "gemini", "opencode"])
def test_a_shipped_tool_is_read_along_if_it_can_be_and_gives_the_same_answer(talker: Talker, name: str) -> None:
    # C14, C1
    place = fake_tool.install(talker.root / "bin", name)
    tool = tables.load_tools({})[name]
    env = {"PATH": f"{place}:/usr/bin:/bin", "HOME": str(talker.root), "PATHEXT": " ".join(tool.probe)}
    reply = talker.command(Command(tool, model="", effort="", env=env))
    assert reply.text == "I agree with the plan."
    streams = name in ("claude", "qwen", "copilot")
    assert talker.heard == (["I agree wit", "h the plan."] if streams else [])
    assert bool(tool.output.stream) is streams


def test_a_piece_is_heard_before_the_next_is_written(talker: Talker) -> None:  # C14
    flag = talker.root / "heard"

    def hear(piece: str) -> None:
        talker.heard.append(piece)
        flag.touch()

    said, rest = lines(delta("first")), lines(delta(" second"), DONE)
    waits = f"while not os.path.exists({str(flag)!r}): time.sleep(0.01)\n"  # for the event itself, however late
    program = f"print({said!r}, end='', flush=True)\n{waits}print({rest!r}, end='')\n"
    assert talker.ask(program, hear).text == "the answer"
    assert talker.heard == ["first", " second"]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_line_may_be_cut_anywhere_between_reads(talker: Talker, size: int) -> None:  # C14
    # It writes on when the pipe is empty, so that each read gets so much: cut within names, escapes and characters.
    items = (delta("caf"), delta("é 漢字 😀 \n"), delta('"{}"'), DONE | {"answer": "é 😀"})
    program = f"""
import fcntl, termios
said = {lines(*items).encode()!r}
for at in range(0, len(said), {size}):
    os.write(1, said[at : at + {size}])
    while fcntl.ioctl(1, termios.FIONREAD, b"1234") != bytes(4):
        pass
"""
    assert talker.ask(program).text == "é 😀"
    assert talker.heard == ["caf", "é 漢字 😀 \n", '"{}"']


@pytest.mark.parametrize(
    "line",
    [
        lines(delta("the prompt", role="user")),
        lines({"type": "thinking", "role": "assistant", "text": "a thought"}),
        lines(delta(["no", "text"]), delta(7), delta(None), delta({"text": "x"}), delta("")),
        lines([delta("in an array")]),
        '{"type": "delta", "role": "assistant", "text": "broken\n',
        'delta: {"type": "delta", "role": "assistant", "text": "in words"}\n',
        "[" * 10_000 + "\n",
        "\n\r\n \n",
        lines(delta("x" * LONGEST_LINE)),
        lines(delta("in one line ")).replace("\n", "\r") + lines(delta("with another")),
    ],
)
def test_what_is_no_piece_of_the_answer_is_not_shown_as_one(talker: Talker, line: str) -> None:  # C14, C5
    reply = talker.says(lines(delta("before")) + line + lines(delta("after"), DONE))
    assert talker.heard == ["before", "after"] and reply.text == "the answer"


def test_a_notice_in_the_place_of_an_answer_is_not_shown(talker: Talker) -> None:  # C5
    markers = [{"kind": "auth", "match": "please sign in", "notice": True}]
    said = lines(delta("Please sign in"), delta(" to go on."), DONE | {"answer": "Please sign in to go on."})
    with pytest.raises(ParticipantFailed) as caught:
        talker.says(said, markers=markers)
    assert caught.value.kind == "auth" and talker.heard == []


def test_an_answer_that_begins_like_a_notice_is_shown_once_it_is_too_long_for_one(talker: Talker) -> None:  # C5, C14
    markers = [{"kind": "auth", "match": "please sign in", "notice": True}]
    pieces = ["Please sign in, it says; ", "that is wrong. " * 40, "So it is."]
    talker.says(lines(*map(delta, pieces), DONE), markers=markers)
    assert talker.heard == ["".join(pieces[:2]), pieces[2]]


# What is kept ---------------------------------------------------------------------------------------------------------


def test_a_long_answer_in_thousands_of_little_lines_is_not_too_much(talker: Talker) -> None:  # C5
    # More than twice what is kept, half of it thoughts, in lines as the tools wrap them.
    program = f"""
wrap = {{"session": "s" * 200}}
for n in range(16_000):
    print(json.dumps({{"type": "thinking", "text": "hm", **wrap}}))
    print(json.dumps({{"type": "delta", "role": "assistant", "text": f"{{n}} ", **wrap}}))
print(json.dumps({DONE!r}))
"""
    written = 2 * 16_000 * 250
    assert written > 1.9 * process.LARGEST_OUTPUT
    reply = talker.ask(program)
    assert reply.text == "the answer" and reply.usage == Usage(None, 7)
    assert "".join(talker.heard) == "".join(f"{n} " for n in range(16_000))
    no_stream = {key: value for key, value in OUTPUT.items() if key != "stream"}
    assert talker.failure(program, output=no_stream).kind == "bad reply"


def test_an_answer_without_end_is_cut_off_all_the_same(talker: Talker, monkeypatch: pytest.MonkeyPatch) -> None:  # C5
    monkeypatch.setattr(process, "LARGEST_STREAM", 100_000)
    error = talker.failure(f"while True: print({lines(delta('and so on'))!r}, end='')\n")
    assert error.kind == "bad reply" and "wrote more than" in error.message and talker.heard


def test_a_line_without_end_is_cut_off(talker: Talker) -> None:  # C5
    error = talker.failure("print('{', end='')\nwhile True: print('x' * 1000, end='')\n")
    assert error.kind == "bad reply" and "wrote more than" in error.message


def test_a_last_line_without_its_end_is_understood(talker: Talker) -> None:
    assert talker.says((lines(delta("a"), DONE)).rstrip()).text == "the answer"
    assert talker.heard == ["a"]


def test_pieces_alone_are_no_answer(talker: Talker) -> None:  # C5
    with pytest.raises(ParticipantFailed) as caught:
        talker.says(lines(delta("all"), delta(" of it")))
    assert caught.value.kind == "bad reply" and talker.heard == ["all", " of it"]


def test_a_tool_that_has_nothing_but_pieces_can_be_told_to_join_them(talker: Talker) -> None:
    joined = {**OUTPUT, "text": {**OUTPUT["stream"], "how": "join"}}  # type: ignore[dict-item]
    assert talker.says(lines(delta("all"), {"type": "x"}, delta(" of it")), output=joined).text == "all of it"
    assert talker.heard == ["all", " of it"]


# Failures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        lines(delta("Half an answer about the quota, ")),
        lines(delta("Half "), {"type": "whole", "text": "it speaks of a 401 and of logins: please sign in"}),
        lines(delta("Half ")) + lines(delta("of it speaks of rate limits"))[:-8],
    ],
)
def test_a_failure_after_half_an_answer_is_one_like_any_and_the_models_words_do_not_class_it(
    talker: Talker, said: str
) -> None:
    # C5
    error = talker.failure(f"print({said!r}, end='', flush=True)\nos._exit(3)\n")
    assert error.kind == "crashed" and error.message == "mine: exit 3" and talker.heard


def test_an_error_that_the_tool_tells_after_half_an_answer_is_still_read(talker: Talker) -> None:  # C5
    with pytest.raises(ParticipantFailed) as caught:
        talker.says(lines(delta("Half"), DONE, {"type": "failed", "why": "429 too many requests"}))
    assert caught.value.kind == "rate limit" and "too many requests" in caught.value.message
    assert getattr(caught.value, "usage", None) == Usage(None, 7)


def test_words_that_are_no_json_are_still_read_for_what_went_wrong(talker: Talker) -> None:  # C5
    assert talker.failure("print('You are not logged in. Please log in first.')\n").kind == "auth"


def test_an_error_of_the_listener_is_the_callers_and_leaves_no_process(talker: Talker) -> None:  # C9
    def hear(piece: str) -> None:
        raise LookupError(piece)

    with pytest.raises(LookupError, match="x"):
        talker.ask(f"print({lines(delta('x'))!r}, end='', flush=True)\ntime.sleep(60)\n", hear)
    (pid,) = talker.pids
    with pytest.raises(ProcessLookupError):
        os.killpg(pid, 0)
