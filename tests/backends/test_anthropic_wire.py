"""The Messages wire: what it sends, how it is talked out of what a model does not know, and how it counts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopback import Loopback
from wires import ANSWERS, Elsewhere, ask, ask_twice, failing, request, with_schema

from rebut.backends.http.anthropic import Anthropic
from rebut.core.types import Usage

NO_EFFORT = "This model does not support the effort parameter."
NO_ADAPTIVE = "adaptive thinking is not supported on this model"


def start(**usage: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"type": "message", "model": "m", "content": [], "usage": usage}}


def delta(text: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def end(reason: str, **usage: Any) -> list[dict[str, Any]]:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, {"type": "message_stop"}]


def test_a_question_in_the_providers_own_words() -> None:
    with Loopback(ANSWERS) as server:  # C1
        ask("anthropic", server, request(max_output=99))
    assert server.bodies[0] == {
        "model": "m-1",
        "max_tokens": 99,
        "stream": True,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Why?", "cache_control": {"type": "ephemeral"}}]}
        ],
    }
    assert server.headers[0]["anthropic-version"] == "2023-06-01"
    assert "authorization" not in server.headers[0]


def test_the_cache_marker_stands_after_the_part_that_stays_and_before_what_follows() -> None:
    with Loopback(ANSWERS) as server:  # C1
        ask("anthropic", server, request())
        ask("anthropic", server, request(followup="mend it"))
    first, second = (body["messages"][0]["content"] for body in server.bodies)
    assert second == [*first, {"type": "text", "text": "mend it"}]


def test_a_schema_is_sent_closed_and_without_bounds_that_the_provider_refuses() -> None:
    schema = {
        "type": "object",
        "properties": {
            "minimum": {"type": "integer", "minimum": 1, "description": "a field of that name"},
            "points": {"type": "array", "minItems": 2, "maxItems": 3, "items": {"$ref": "#/$defs/Point"}},
            "some": {"type": "array", "minItems": 1, "items": {"type": "string", "maxLength": 9}},
            "kind": {"enum": ["maxLength", {"minimum": 1}], "default": {"maximum": 2}},
            "either": {"anyOf": [{"type": "null"}, {"type": "number", "multipleOf": 2}]},
            "free": {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
        },
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": True}},
    }
    before = json.dumps(schema)
    with Loopback(lambda body: "{}") as server:  # C1
        ask("anthropic", server, with_schema(schema=schema))
    assert server.bodies[0]["output_config"]["format"] == {
        "type": "json_schema",
        "schema": {
            "type": "object",
            "properties": {
                "minimum": {"type": "integer", "description": "a field of that name"},
                "points": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
                "some": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                "kind": {"enum": ["maxLength", {"minimum": 1}], "default": {"maximum": 2}},
                "either": {"anyOf": [{"type": "null"}, {"type": "number"}]},
                "free": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "$defs": {
                "Point": {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": False}
            },
            "additionalProperties": False,
        },
    }
    assert json.dumps(schema) == before, "the engine's own schema is not touched"


@pytest.mark.parametrize(
    ("effort", "thinking"),
    [("low", None), ("medium", None), ("high", {"type": "adaptive"}), ("max", {"type": "adaptive"})],
)
def test_an_effort_is_told_and_the_higher_ones_think(effort: str, thinking: dict[str, str] | None) -> None:
    with Loopback(ANSWERS) as server:  # C1
        assert ask("anthropic", server, request(effort=effort)).notes == ()
    assert server.bodies[0]["output_config"] == {"effort": effort}
    assert server.bodies[0].get("thinking") == thinking


@pytest.mark.parametrize(
    ("effort", "refuse", "last", "notes"),
    [
        # One that knows the effort but no adaptive thinking.
        ("high", {"thinking.type": NO_ADAPTIVE}, {"output_config": {"effort": "high"}}, ["adaptively"]),
        # One that knows neither is given a budget; a low effort means not to think.
        ("high", {"output_config.effort": NO_EFFORT}, {"budget": 2048}, ["thinking budget instead"]),
        ("medium", {"output_config.effort": NO_EFFORT}, {"budget": 1024}, ["thinking budget instead"]),
        ("low", {"output_config.effort": NO_EFFORT}, {}, ["thinking budget instead"]),
        # A gateway that knows nothing of it.
        ("low", {"output_config": "output_config: Extra inputs are not permitted"}, {}, ["thinking budget instead"]),
    ],
)
def test_what_a_model_does_not_know_of_effort_is_replaced(
    effort: str, refuse: dict[str, str], last: dict[str, Any], notes: list[str]
) -> None:
    with Loopback(ANSWERS, refuse=refuse) as server:  # C1
        first, second = ask_twice("anthropic", server, request(effort=effort))
    assert [word for word in notes if any(word in note for note in first.notes)] == notes
    assert len(first.notes) == len(notes) and second.notes == ()
    body = server.bodies[-1]
    assert body.get("output_config") == last.get("output_config")
    budget = {"type": "enabled", "budget_tokens": last["budget"]} if "budget" in last else None
    assert body.get("thinking") == budget
    assert body == server.bodies[-2], "what was learnt holds for the next call"


def test_an_effort_of_max_steps_down_to_high_where_only_that_is_known() -> None:
    words = "output_config.effort: 'max' is not supported by this model"
    with Loopback(ANSWERS, mode="status", status=400, message=words, first=1) as server:  # C1
        first, second = ask_twice("anthropic", server, request(effort="max"))
    assert [body["output_config"]["effort"] for body in server.bodies] == ["max", "high", "high"]
    assert first.notes == ("they:m-1 has no effort above high; continued with that",)
    assert second.notes == ()


def test_a_model_that_refuses_effort_and_schema_keeps_neither() -> None:
    refuse = {"output_config": "output_config: Extra inputs are not permitted", "thinking": "thinking: no"}
    with Loopback(lambda body: "{}", refuse=refuse) as server:  # C1
        reply = ask("anthropic", server, with_schema(effort="high"))
    assert "output_config" not in server.bodies[-1] and "thinking" not in server.bodies[-1]
    assert any("the schema is in the prompt" in note for note in reply.notes)


def test_a_server_that_knows_no_cache_marker_gets_none() -> None:
    with Loopback(ANSWERS, mode="status", status=400, message="cache_control: Extra inputs", first=1) as server:  # C1
        reply = ask("anthropic", server)
    assert reply.notes == ("they:m-1 does not accept a cache marker; continued without it",)
    assert server.bodies[1]["messages"][0]["content"] == [{"type": "text", "text": "Why?"}]


def test_what_the_cache_took_and_gave_counts_as_input() -> None:
    with Loopback(ANSWERS, written=100) as server:  # C4
        reply = ask("anthropic", server, request(prompt="x" * 796))
    assert reply.usage == Usage(input=200, output=42, cached=1)


def test_writing_to_the_cache_costs_more_than_reading_and_both_are_priced() -> None:
    usd = []
    for written in (0, 199):
        with Loopback(ANSWERS, written=written, model="claude-sonnet-4-5") as server:  # C4
            there = {"base_url": "https://api.anthropic.com", "provider": "", "client": Elsewhere(server)}
            usd.append(ask("anthropic", server, request(prompt="x" * 796), **there).usd)
    assert usd[0] == pytest.approx((199 * 3 + 1 * 0.3 + 42 * 15) / 1e6)
    assert usd[1] == pytest.approx((199 * 3.75 + 1 * 0.3 + 42 * 15) / 1e6)


def test_a_gateway_that_counts_only_at_the_end_is_believed_at_the_end() -> None:
    frames = [start(input_tokens=0, output_tokens=0), delta("yes"), *end("end_turn", input_tokens=9, output_tokens=3)]
    with Loopback(mode="frames", frames=frames) as server:  # C4
        assert ask("anthropic", server).usage == Usage(9, 3, 0)


@pytest.mark.parametrize(
    ("frames", "failure"),
    [
        ([start(input_tokens=5, output_tokens=1), delta("so fa")], "crashed"),
        ([start(input_tokens=5), delta("a"), {"type": "error", "error": {"type": "api_error"}}], "crashed"),
        ([start(input_tokens=5), delta("a"), {"type": "message_delta", "delta": {}, "usage": {}}], "crashed"),
        ([start(input_tokens=5), delta(7)], "bad reply"),
        ([start(input_tokens=5), {"type": "content_block_delta"}], "bad reply"),
    ],
)
def test_a_reply_that_broke_off_has_no_count_rather_than_a_wrong_one(frames: list[Any], failure: str) -> None:
    with Loopback(mode="frames", frames=frames) as server:  # C4, C5
        failed = failing("anthropic", server)
    assert (failed.kind, failed.usage) == (failure, None)


def test_a_refusal_after_some_text_is_no_answer_but_was_paid_for() -> None:
    frames = [start(input_tokens=5), delta("Well, "), *end("refusal", output_tokens=2)]
    with Loopback(mode="frames", frames=frames) as server:  # C5
        failed = failing("anthropic", server)
    assert (failed.kind, failed.usage) == ("bad reply", Usage(5, 2, 0))
    assert "refused to answer" in failed.message and "Well" not in failed.message


def test_a_full_context_window_cuts_a_reply_too() -> None:
    frames = [start(input_tokens=5), delta("so far"), *end("model_context_window_exceeded", output_tokens=2)]
    with Loopback(mode="frames", frames=frames) as server:  # C5
        assert ask("anthropic", server).truncated


@pytest.mark.parametrize(
    ("error", "failure", "retryable"),
    [
        ("overloaded_error", "crashed", True),
        ("api_error", "crashed", True),
        ("rate_limit_error", "rate limit", True),
        ("authentication_error", "auth", False),
        ("permission_error", "auth", False),
        ("not_found_error", "missing tool", False),
        ("billing_error", "rate limit", False),
        ("invalid_request_error", "crashed", False),
    ],
)
def test_an_error_event_has_the_class_of_its_type(error: str, failure: str, retryable: bool) -> None:
    frames = [start(input_tokens=5), {"type": "error", "error": {"type": error, "message": "no"}}]
    with Loopback(mode="frames", frames=frames) as server:  # C5
        failed = failing("anthropic", server)
    assert (failed.kind, failed.retryable) == (failure, retryable)


def test_an_account_without_credit_is_a_matter_of_money_and_not_asked_again() -> None:
    message = "Your credit balance is too low to access the API."
    with Loopback(mode="status", status=400, message=message) as server:  # C5
        failed = failing("anthropic", server, with_schema(effort="high"))
        assert server.calls == 1
    assert (failed.kind, failed.retryable) == ("rate limit", False)
    assert "credit" in failed.hint


@pytest.mark.parametrize("base", ["http://h", "http://h/", "http://h/v1", "http://h/v1/", "http://h/v1/messages"])
def test_an_address_is_taken_with_and_without_its_version(base: str) -> None:
    made = Anthropic(base_url=base, api_key="", model="m")
    assert made._address.url == "http://h/v1/messages"  # C1
