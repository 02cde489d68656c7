"""The Responses wire: what it sends, how it steps down from what a model does not know, and how a response ends."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Loopback
from wires import ANSWERS, SCHEMA, ask, ask_twice, failing, request, with_schema

from rebut.backends.http.schemas import closed
from rebut.core.types import Usage

USAGE = {"input_tokens": 5, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}


def delta(text: Any) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": text}


def end(kind: str = "completed", **more: Any) -> dict[str, Any]:
    response = {"object": "response", "status": kind, "model": "m-2", "output": [], "usage": USAGE, **more}
    return {"type": f"response.{kind}", "response": response}


def message(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "reasoning", "summary": []}, {"type": "message", "content": list(parts)}]


def test_a_question_in_the_providers_own_words() -> None:
    with Loopback(ANSWERS) as server:  # C1, C16
        ask("responses", server, with_schema(max_output=99, schema_name="an opening/1", followup="mend it"))
    words = [{"type": "input_text", "text": "Why?"}, {"type": "input_text", "text": "mend it"}]
    assert server.bodies[0] == {
        "model": "m-1",
        "stream": True,
        "max_output_tokens": 99,
        "store": False,
        "text": {"format": {"type": "json_schema", "name": "an_opening_1", "schema": closed(SCHEMA), "strict": True}},
        "input": [{"role": "user", "content": words}],
    }


@pytest.mark.parametrize(("effort", "sent"), [("low", "low"), ("medium", "medium"), ("high", "high"), ("max", "xhigh")])
def test_an_effort_is_told_in_the_wires_own_words(effort: str, sent: str) -> None:
    with Loopback(ANSWERS) as server:  # C1
        assert ask("responses", server, request(effort=effort)).notes == ()
    assert server.bodies[0]["reasoning"] == {"effort": sent}


def test_the_highest_effort_steps_down_where_it_is_not_known() -> None:
    words = "Unsupported value: 'xhigh' is not supported with the 'm-1' model."
    with Loopback(ANSWERS, mode="status", status=400, message=words, first=1) as server:  # C1
        first, second = ask_twice("responses", server, request(effort="max"))
    assert [body["reasoning"]["effort"] for body in server.bodies] == ["xhigh", "high", "high"]
    assert first.notes == ("they:m-1 has no effort above high; continued with that",)
    assert second.notes == ()


def test_a_server_that_cannot_be_told_to_forget_is_named() -> None:
    with Loopback(ANSWERS, refuse=["store"]) as server:  # C16
        first, second = ask_twice("responses", server, request())
    assert first.notes == ("they:m-1 does not accept store=false; it may keep what was sent",)
    assert second.notes == () and "store" not in server.bodies[-1]


def test_the_last_event_alone_is_an_answer_too() -> None:
    output = message({"type": "output_text", "text": "all "}, {"type": "output_text", "text": "of it"})
    seen: list[str] = []
    with Loopback(mode="frames", frames=[end(output=output)]) as server:  # C1
        reply = ask("responses", server, request(on_text=seen.append))
    assert (reply.text, reply.model, reply.usage) == ("all of it", "m-2", Usage(5, 2, 4))
    assert "".join(seen) == reply.text


def test_the_text_is_not_doubled_by_the_last_event() -> None:
    output = message({"type": "output_text", "text": "yes"})
    with Loopback(mode="frames", frames=[delta("yes"), end(output=output)]) as server:  # C1
        assert ask("responses", server).text == "yes"


@pytest.mark.parametrize(
    ("code", "failure", "retryable"),
    [
        ("server_error", "crashed", True),
        ("rate_limit_exceeded", "rate limit", True),
        ("insufficient_quota", "rate limit", False),
        ("invalid_api_key", "auth", False),
        ("invalid_request_error", "crashed", False),
    ],
)
def test_a_response_that_failed_has_the_class_of_its_code(code: str, failure: str, retryable: bool) -> None:
    error = {"code": code, "message": "no"}
    for frame in (end("failed", error=error), {"type": "error", **error}, {"type": "error", "error": error}):
        with Loopback(mode="frames", frames=[frame]) as server:  # C5
            failed = failing("responses", server)
        assert (failed.kind, failed.retryable) == (failure, retryable), frame


@pytest.mark.parametrize("kind", ["failed", "cancelled"])
def test_a_response_that_came_to_nothing_without_a_reason_is_a_failure(kind: str) -> None:
    frame = end(kind) if kind == "failed" else {**end(kind), "type": "response.completed"}
    with Loopback(mode="frames", frames=[delta("some"), frame]) as server:  # C5
        failed = failing("responses", server)
    assert (failed.kind, failed.usage) == ("crashed", Usage(5, 2, 4))


@pytest.mark.parametrize(
    ("frames", "says"),
    [
        ([delta("Well, "), end("incomplete", incomplete_details={"reason": "content_filter"})], "(content_filter)"),
        ([end(output=message({"type": "refusal", "refusal": "I would rather not."}))], "I would rather not."),
        ([{"type": "response.refusal.delta", "delta": "No, "}, {"type": "response.refusal.delta", "delta": "no."}], ""),
        ([end(output=[{"type": "function_call", "name": "shell", "arguments": "{}"}])], "empty reply"),
    ],
)
def test_a_response_that_is_no_answer_is_a_bad_reply(frames: list[Any], says: str) -> None:
    with Loopback(mode="frames", frames=[*frames, end()] if not says else frames) as server:  # C5
        failed = failing("responses", server)
    assert failed.kind == "bad reply"
    assert (says or "refused to answer: No, no.") in failed.message and "Well" not in failed.message


def test_events_that_nobody_knows_are_passed_over() -> None:
    odd = [{"type": "response.reasoning_text.delta", "delta": "hm"}, {"type": "response.new_thing", "delta": "??"}, {}]
    with Loopback(mode="frames", frames=[*odd, delta("yes"), *odd, end()]) as server:  # C1
        assert ask("responses", server).text == "yes"


@pytest.mark.parametrize("frame", [delta(7), {"type": "response.output_text.delta"}, end(usage=7), end(output=[7])])
def test_a_frame_of_another_shape_is_a_bad_reply(frame: Any) -> None:
    with Loopback(mode="frames", frames=[frame]) as server:  # C5
        assert failing("responses", server).kind == "bad reply"
