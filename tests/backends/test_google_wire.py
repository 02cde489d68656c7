"""The generateContent wire: what it sends, how it steps down from what a model does not know, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import Loopback
from wires import ANSWERS, SCHEMA, ask, ask_twice, failing, request, with_schema

from rebut.backends.http.google import Google
from rebut.core.types import Usage

NO_LEVEL = "Thinking level is not supported for this model."


def part(text: Any, **more: Any) -> dict[str, Any]:
    """One event: some text, and what else belongs to the candidate."""
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, **more}]}


def test_a_question_in_the_providers_own_words() -> None:
    with Loopback(ANSWERS) as server:  # C1
        ask("google", server, with_schema(max_output=99, followup="mend it"))
    assert server.bodies[0] == {
        "contents": [{"role": "user", "parts": [{"text": "Why?"}, {"text": "\n\nmend it"}]}],
        "generationConfig": {
            "maxOutputTokens": 99,
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
    }
    assert server.paths == ["/v1/models/m-1:streamGenerateContent?alt=sse"]


def test_a_reference_in_a_schema_stands_alone() -> None:
    schema = {
        "type": "object",
        "properties": {"$ref": {"type": "string"}, "a": {"$ref": "#/$defs/A", "description": "x", "default": {}}},
        "$defs": {"A": {"type": "object", "properties": {}}},
    }
    with Loopback(lambda body: "{}") as server:  # C1
        ask("google", server, with_schema(schema=schema))
    sent = server.bodies[0]["generationConfig"]["responseJsonSchema"]
    assert sent["properties"] == {"$ref": {"type": "string"}, "a": {"$ref": "#/$defs/A"}}
    assert sent["$defs"] == schema["$defs"]


@pytest.mark.parametrize(("effort", "level"), [("low", "low"), ("medium", "medium"), ("high", "high"), ("max", "high")])
def test_an_effort_is_a_thinking_level(effort: str, level: str) -> None:
    with Loopback(ANSWERS) as server:  # C1
        assert ask("google", server, request(effort=effort)).notes == ()
    assert server.bodies[0]["generationConfig"]["thinkingConfig"] == {"thinkingLevel": level}


@pytest.mark.parametrize(("effort", "budget"), [("low", 512), ("medium", 1024), ("high", 2048), ("max", 3072)])
def test_a_model_without_levels_gets_a_budget_below_its_output_limit(effort: str, budget: int) -> None:
    refuse = {"generationConfig.thinkingConfig.thinkingLevel": NO_LEVEL}
    with Loopback(ANSWERS, refuse=refuse) as server:  # C1
        first, second = ask_twice("google", server, request(effort=effort))
    assert (len(first.notes), second.notes) == (1, ())
    assert server.bodies[-1]["generationConfig"]["thinkingConfig"] == {"thinkingBudget": budget}
    assert server.calls == 3


def test_a_schema_that_is_too_complex_is_refused_without_a_reason_and_goes_into_the_prompt() -> None:
    refuse = {"generationConfig.responseJsonSchema": "Request contains an invalid argument."}
    with Loopback(lambda body: "{}", refuse=refuse) as server:  # C1
        reply = ask("google", server, with_schema())
    assert ["the schema is in the prompt" in note for note in reply.notes] == [True]
    assert "responseMimeType" not in server.bodies[1]["generationConfig"]


@pytest.mark.parametrize(
    ("base", "model", "url"),
    [
        ("http://h", "m", "http://h/v1beta/models/m"),
        ("http://h/v1beta/", "models/m", "http://h/v1beta/models/m"),
        ("http://h/v1", "m", "http://h/v1/models/m"),
        ("http://h/proxy", "m", "http://h/proxy/v1beta/models/m"),
        ("http://h", "../x?key=1#", "http://h/v1beta/models/..%2Fx%3Fkey%3D1%23"),
    ],
)
def test_an_address_holds_version_and_model_and_a_model_cannot_leave_its_place(base: str, model: str, url: str) -> None:
    made = Google(base_url=base, api_key="k", model=model)
    assert made._address.url == f"{url}:streamGenerateContent?alt=sse"  # C1, C16


def test_a_key_that_is_wrong_is_a_matter_of_the_key_whatever_the_status() -> None:
    message = "API key not valid. Please pass a valid API key."
    with Loopback(mode="status", status=400, message=message) as server:  # C5
        failed = failing("google", server, with_schema(effort="high"))
        assert server.calls == 1
    assert (failed.kind, failed.retryable) == ("auth", False)
    assert "SOME_KEY" in failed.hint


def test_the_time_to_wait_is_read_from_the_words_when_no_header_tells_it() -> None:
    message = "You exceeded your current quota. Please retry in 34.07s."
    with Loopback(mode="status", status=429, message=message) as server:  # C5
        assert failing("google", server).retry_after == 34.07
        server.control(retry_after="5")
        assert failing("google", server).retry_after == 5.0
        server.control(retry_after="", status=400)
        assert failing("google", server).retry_after is None


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "SPII", "OTHER", "BLOCKLIST"])
def test_a_reply_that_the_provider_stopped_is_no_answer(reason: str) -> None:
    frames = [part("Well, "), part("", finishReason=reason, finishMessage="flagged")]
    with Loopback(mode="frames", frames=frames) as server:  # C5
        failed = failing("google", server)
    assert failed.kind == "bad reply"
    assert f"({reason}): flagged" in failed.message and "Well" not in failed.message


def test_a_question_that_the_provider_blocked_is_no_answer_and_what_it_cost_is_told() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 7}}
    with Loopback(mode="frames", frames=[blocked]) as server:  # C5
        failed = failing("google", server)
    assert (failed.kind, failed.usage) == ("bad reply", Usage(7, 0, 0))
    assert "blocked the question (SAFETY)" in failed.message


def test_an_ending_told_with_every_piece_cuts_nothing_off() -> None:
    frames = [part("one ", finishReason="STOP"), part("two", finishReason="STOP")]
    with Loopback(mode="frames", frames=frames) as server:  # C1
        assert ask("google", server).text == "one two"


def test_thinking_is_counted_as_output_and_never_shown() -> None:
    counts = {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 20}
    thought = {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}]}}]}
    seen: list[str] = []
    with Loopback(mode="frames", frames=[thought, {**part("yes", finishReason="STOP"), "usageMetadata": counts}]) as s:
        reply = ask("google", s, request(on_text=seen.append))  # C4
    assert (reply.text, seen, reply.usage) == ("yes", ["yes"], Usage(10, 25, 0))


def test_counts_that_come_after_the_ending_still_count() -> None:
    late = {"usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2}}
    with Loopback(mode="frames", frames=[part("yes", finishReason="STOP"), late]) as server:  # C4
        assert ask("google", server).usage == Usage(4, 2, 0)


@pytest.mark.parametrize(
    "frame", [part(7), {"candidates": [7]}, {"candidates": {"a": 1}}, {"promptFeedback": 7}, part("x", content=7)]
)
def test_a_frame_of_another_shape_is_a_bad_reply(frame: Any) -> None:
    with Loopback(mode="frames", frames=[frame]) as server:  # C5
        assert failing("google", server).kind == "bad reply"
