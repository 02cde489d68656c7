"""Effort costs room: what a model may think with is sent, reserved and paid for, and never taken from its answer."""

from __future__ import annotations

import asyncio
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback
from wires import KINDS, ask, ask_twice, request

import rebut
from rebut.backends.http.prices import worst_case
from rebut.backends.http.wire import ROOM_TO_THINK
from rebut.core.network import is_loopback
from rebut.core.text import tokens
from rebut.core.types import EFFORTS, ModelSpec
from rebut.domain.limits import MAX_OUTPUT
from rebut.engine.call import SCHEMA_TOKENS
from rebut.record import sessions
from rebut.record.events import Asked
from rebut.setup import config
from rebut.setup.connect import connector
from tests import duels

SAID = duels.by_form()
WORDS = {
    "openai": "max_tokens is too large: this model supports at most 8192 completion tokens",
    "anthropic": "max_tokens: 36864 > 8192, which is the maximum allowed number of output tokens",
    "google": "maxOutputTokens is out of the supported range from 1 (inclusive) to 8193 (exclusive)",
    "responses": "invalid 'max_output_tokens': integer above maximum value",
}


def most(kind: str, body: dict[str, Any]) -> int:
    """The output limit in a request of that wire."""
    where = {"google": ("generationConfig", "maxOutputTokens"), "responses": ("max_output_tokens",)}
    for key in where.get(kind, ("max_tokens",)):
        body = body[key]
    assert isinstance(body, int)
    return body


def duel(server: Loopback, kind: str, folder: Path, **more: Any) -> rebut.Outcome:
    mine = folder / "config.toml"
    mine.write_text(f'[providers.they]\nwire = "{kind}"\nbase_url = "{server.url}"\n')
    env = {"REBUT_HOME": str(folder / "home"), "REBUT_CONFIG": str(mine)}
    named: dict[str, Any] = {"proposer": "they:a", "challenger": "they:b", "judge": "they:c", "rounds": 2}
    return rebut.run("duel", "Redis or not?", workspace=folder, env=env, **(named | more))


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("effort", ["", *EFFORTS])
def test_a_call_reserves_the_very_output_that_it_asks_for(kind: str, effort: str, tmp_path: Path) -> None:  # C4
    with Loopback(SAID) as server:
        outcome = duel(server, kind, tmp_path, effort=effort)
    assert outcome.heading == "VERDICT"
    record = sessions.load(next((tmp_path / "home/sessions").iterdir()))
    asked = [line.event for line in record.lines if isinstance(line.event, Asked)]
    sent = [most(kind, body) for body in server.bodies]
    assert [one.tokens - tokens(one.prompt) - tokens("") - SCHEMA_TOKENS for one in asked] == sent
    assert set(sent) == {MAX_OUTPUT + ROOM_TO_THINK.get(effort, 0)}


def test_the_more_effort_the_more_room() -> None:  # C1
    assert list(ROOM_TO_THINK) == list(EFFORTS)
    assert list(ROOM_TO_THINK.values()) == sorted(ROOM_TO_THINK.values()) and ROOM_TO_THINK["max"] >= 4 * MAX_OUTPUT


def test_the_closing_calls_thinking_is_set_aside_from_the_start(tmp_path: Path) -> None:  # C4
    with Loopback(SAID) as server:
        plain = duel(server, "openai", tmp_path, limits={"tokens": 45_000}, rounds=1)
        calls = server.calls
        with pytest.raises(rebut.Aborted, match="the limit of 45,000 tokens leaves no room"):
            duel(server, "openai", tmp_path, limits={"tokens": 45_000}, rounds=1, judge="they:c@max")
    assert plain.heading == "VERDICT" and server.calls == calls, "it stops before the first call, not before the last"


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_model_that_cannot_speak_so_long_keeps_its_effort_and_gets_less_room(kind: str) -> None:  # C1, C5
    asked = request(effort="high", max_output=4096 + 16_384, thinking=16_384)
    with Loopback(mode="status", status=400, message=WORDS[kind], first=1) as server:
        first, second = ask_twice(kind, server, asked)
    assert [most(kind, body) for body in server.bodies] == [4096 + 16_384, 4096, 4096]
    assert any("extra tokens for thinking" in note for note in first.notes) and second.notes == ()
    assert "high" in str(server.bodies[-1])


def test_a_model_that_is_told_a_number_may_think_with_all_of_its_room() -> None:  # C1
    asked = request(effort="high", max_output=4096 + 16_384, thinking=16_384)
    with Loopback(refuse={"output_config.effort": "this model does not support the effort parameter"}) as server:
        ask("anthropic", server, asked)
    body = server.bodies[-1]
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 16_384}
    assert body["max_tokens"] - body["thinking"]["budget_tokens"] == 4096, "the answer's own part is untouched"


def test_who_takes_over_a_seat_thinks_as_hard_as_it_was_told_to(tmp_path: Path) -> None:  # C1
    with Loopback(SAID, mode="status", status=401, first=1) as server:
        duel(server, "openai", tmp_path, proposer="they:a@low", fallbacks={"proposer": "they:d@high"})
    first, second = server.bodies[:2]
    assert (first["model"], first["reasoning_effort"]) == ("a", "low")
    assert (second["model"], second["reasoning_effort"]) == ("d", "high")
    assert second["max_tokens"] == MAX_OUTPUT + ROOM_TO_THINK["high"]


def test_every_shipped_default_is_a_model_whose_price_is_known() -> None:  # C2, C4
    shipped = tomllib.loads(files("rebut").joinpath("providers.toml").read_text("utf-8"))
    paid = {name: table for name, table in shipped.items() if "model" in table and not table.get("free")}
    assert set(paid) == {"openai", "anthropic", "google"}
    for name, table in paid.items():
        assert worst_case(table["model"], name, 1000, 1000), f"{name}:{table['model']}"
        assert worst_case(f"no-{table['model']}-such", name, 1000, 1000) is None, "the table is asked, not guessed"
    free = [table for table in shipped.values() if table.get("free")]
    assert free and all(is_loopback(table["base_url"].split("/")[2].partition(":")[0]) for table in free)


# what a backend of one's own costs


class Mine:
    async def complete(self, request: rebut.Request) -> rebut.Reply:
        return rebut.Reply("yes")


def test_a_backend_of_ones_own_is_not_taken_to_be_free(tmp_path: Path) -> None:  # C4
    seats = {"proposer": "mine:a", "challenger": "mine:b"}
    with pytest.raises(rebut.UsageError, match=r"price of mine:a \(proposer\) is not known"):
        rebut.run("duel", "x?", workspace=tmp_path, backends={"mine": Mine()}, limits={"usd": 1}, **seats)
    connect = connector(
        config.Config(), {}, tmp_path, {"mine": Mine(), "paid": rebut.Connection(Mine(), lambda i, o: 0.5)}
    )
    assert not connect(ModelSpec("mine")).free and connect(ModelSpec("mine")).price(1, 1) is None
    assert connect(ModelSpec("paid")).price(1, 1) == 0.5
    assert asyncio.run(connect(ModelSpec("mine")).backend.complete(request())).text == "yes"
