"""The real tools, read along: what they say is heard before they have said all of it, and on the screen, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rebut.core.errors import ParticipantFailed
from tests import duels, repositories
from tests.terminals import at_a_terminal
from tests_tools import real
from tests_tools.server import INPUT, OUTPUT, SAID, THOUGHT, Server
from tests_tools.setups import SLOW, Desk, around

STREAMING = ("claude", "qwen", "copilot")
HALF = SAID[: len(SAID) // 2]


@pytest.mark.parametrize("name", STREAMING)
def test_a_piece_is_heard_before_the_provider_has_sent_the_next(name: str, tmp_path: Path, server: Server) -> None:
    # C14
    setup = Desk(name, tmp_path / "home", server)
    heard: list[str] = []

    def hear(piece: str) -> None:
        if not heard:
            server.go.release()  # what is left is sent only now
        heard.append(piece)

    server.set("pieces")
    reply = setup.ask(setup.command(), on_text=hear)
    assert heard[0] == HALF and "".join(heard) == SAID, "neither its thoughts nor what it was asked"
    assert reply.text == SAID and (reply.usage.input, reply.usage.output) == (INPUT, OUTPUT)
    assert THOUGHT not in reply.text


@pytest.mark.parametrize("name", STREAMING)
def test_half_an_answer_is_a_failure(name: str, tmp_path: Path, server: Server) -> None:  # C5, C14
    setup = Desk(name, tmp_path / "home", server)
    command, heard, timeout = setup.command(), list[str](), 6.0
    server.set("pieces")
    while not heard:  # a busy machine starts it late
        with pytest.raises(ParticipantFailed) as caught:
            setup.ask(command, timeout=timeout, on_text=heard.append)
        assert heard or timeout < SLOW, "it never said anything"
        timeout *= 2
    assert caught.value.kind == "timeout" and "".join(heard) == HALF


@pytest.mark.parametrize("name", STREAMING)
def test_what_a_provider_refuses_is_not_shown_as_an_answer(name: str, tmp_path: Path, server: Server) -> None:  # C5
    # One of them gives the words of the refusal out as if its model had said them.
    setup = Desk(name, tmp_path / "home", server)
    command, heard = setup.command(), list[str]()
    server.set("status", 401)
    with pytest.raises(ParticipantFailed) as caught:
        setup.ask(command, on_text=heard.append)
    assert caught.value.kind == "auth" and heard == []


def test_a_debates_screen_shows_a_point_before_the_turn_is_over(tmp_path: Path, server: Server) -> None:  # C14
    server.set("debate in pieces")
    rest = {"text": "Redis is always faster. " * 20, "evidence": []}
    server.answers = duels.by_form() | {"Opening": duels.opening(claims=[duels.opening()["claims"][0], rest])}
    trio = ("claude", "copilot", "qwen")  # the last holds back what begins like JSON, as every answer here does
    first, *others = [Desk(name, tmp_path / name, server) for name in trio]
    roles = zip(("proposer", "challenger", "judge"), trio, strict=True)
    seats = [f"--{role}={name}:{real.TOOLS[name].model}" for role, name in roles]
    env = around(first, others) | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    work = first.home / "work"
    (work / "src").mkdir()
    lines = ["import redis", "ttl = 3600", *(f"step_{n} = {n}" for n in range(3, 21))]  # every cited line is there
    (work / "src/session.py").write_text("\n".join(lines) + "\n")
    repositories.git(work, "init", "-q")
    repositories.commit(work)

    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        # Each turn is held back halfway, so that what comes of it before the release comes while it is written.
        expect("Sessions must survive a restart.")
        expect("src/session.py:2 found")
        server.go.release()
        expect("No replica: a failover loses every session.")
        expect("src/session.py:1 located")
        server.go.release(4)

    words = ["duel", "Where do sessions belong?", *seats, "--allow-same-model", "--timeout", f"{SLOW:g}"]
    code, screen = at_a_terminal(words, env, work, talk)
    assert code == 0 and "VERDICT" in screen, screen
    assert THOUGHT not in screen and len(server.bodies) == 5
