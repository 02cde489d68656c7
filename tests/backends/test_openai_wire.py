"""The chat-completions wire against a scripted server on the loopback address."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from loopback import Loopback

from rebut.backends.http.client import HttpClient, HttpFailed
from rebut.backends.http.openai import OpenAI
from rebut.backends.http.schemas import closed
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.types import ModelSpec, Participant, Reply, Request, Usage

KEY = "sk-very-secret-key"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"claim": {"type": "string"}}}
ANSWERS = {"opening": {"claim": "ship it"}, "": "plain words"}


def backend(server: Loopback, **more: Any) -> OpenAI:
    return OpenAI(**{"base_url": server.url, "api_key": KEY, "model": "m-1", "key_env": "SOME_KEY", **more})


def request(**more: Any) -> Request:
    spec = ModelSpec("openai", "m-1", more.pop("effort", ""))
    return Request(**{"key": "k", "participant": Participant("seat", spec), "prompt": "Why?", "timeout": 10.0, **more})


def with_schema(**more: Any) -> Request:
    return request(schema=SCHEMA, schema_name="opening", **more)


def ask(server: Loopback, asked: Request | None = None, **more: Any) -> Reply:
    return asyncio.run(backend(server, **more).complete(asked or request()))


def failing(server: Loopback, asked: Request | None = None, **more: Any) -> HttpFailed:
    with pytest.raises(HttpFailed) as caught:
        ask(server, asked, **more)
    assert KEY not in str(caught.value) + caught.value.detail
    return caught.value


def test_a_streamed_reply_comes_back_whole_with_the_model_that_spoke_and_its_usage() -> None:
    pieces: list[str] = []
    with Loopback(ANSWERS, model="m-1-2026", cost=0.125) as server:  # C1, C14
        reply = ask(server, with_schema(on_text=pieces.append, max_output=99))
    assert json.loads(reply.text) == ANSWERS["opening"]
    assert "".join(pieces) == reply.text
    assert len(pieces) > 1
    assert (reply.model, reply.family, reply.truncated, reply.notes) == ("m-1-2026", "openai", False, ())
    assert reply.usage == Usage(input=2, output=42, cached=1)
    assert reply.usd == 0.125
    body = server.bodies[0]
    assert body["max_tokens"] == 99
    assert body["stream_options"] == {"include_usage": True}
    assert body["response_format"]["json_schema"] == {"name": "opening", "schema": closed(SCHEMA), "strict": True}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("mode", ["ok", "plain", "plain-bom", "thinking", "parts", "crlf", "linger", "late-end"])
def test_every_way_to_send_the_same_text_gives_the_same_reply(mode: str) -> None:
    with Loopback(ANSWERS, mode=mode) as server:  # C1
        reply = ask(server)
    assert reply == Reply("plain words", "loopback-1", "openai", Usage(2, 42, 1))


def test_a_price_is_unknown_on_this_machine_unless_the_server_tells_it() -> None:
    with Loopback(ANSWERS, model="gpt-4o") as server:  # C4
        assert ask(server, model="gpt-4o").usd is None
        server.control(cost=0)
        assert ask(server, model="gpt-4o").usd == 0.0


def test_the_prompt_stays_the_same_prefix_when_something_follows_it() -> None:
    with Loopback(ANSWERS) as server:  # C1
        ask(server, request(prompt="the long prompt"))
        ask(server, request(prompt="the long prompt", followup="and now mend it"))
    first, second = (body["messages"] for body in server.bodies)
    assert [message["role"] for message in second] == ["user"]
    assert second[0]["content"].startswith(first[0]["content"])
    assert second[0]["content"].endswith("and now mend it")


def test_lone_surrogates_in_a_prompt_do_not_stop_the_call() -> None:
    with Loopback(ANSWERS) as server:
        ask(server, request(prompt="bad \ud800 é"))  # C5
    assert server.bodies[0]["messages"][0]["content"] == "bad ? é"


@pytest.mark.parametrize(
    ("part", "then"),
    [
        ("max_tokens", lambda body: body["max_completion_tokens"] == 4096 and "max_tokens" not in body),
        ("stream_options", lambda body: "stream_options" not in body),
        ("reasoning_effort", lambda body: "reasoning_effort" not in body),
        ("response_format", lambda body: json.dumps(SCHEMA) in body["messages"][0]["content"]),
    ],
)
def test_what_a_server_refuses_is_left_out_from_then_on_and_said_once(
    part: str, then: Callable[[dict[str, Any]], bool]
) -> None:
    with Loopback(lambda body: "{}", refuse=[part]) as server:  # C1

        async def twice() -> list[Reply]:
            model = backend(server)
            return [await model.complete(with_schema(effort="high")) for _ in range(2)]

        first, second = asyncio.run(twice())
    assert len(first.notes) == 1
    assert "openai:m-1" in first.notes[0]
    assert second.notes == ()
    assert [part in body for body in server.bodies] == [True, False, False]
    assert then(server.bodies[1])
    assert then(server.bodies[2])


def test_calls_that_are_refused_side_by_side_say_it_once() -> None:
    with Loopback(lambda body: "{}", refuse=["max_tokens"], latency=0.05) as server:  # C1

        async def three() -> list[Reply]:
            model = backend(server)
            return await asyncio.gather(*(model.complete(request()) for _ in range(3)))

        replies = asyncio.run(three())
    assert sum(len(reply.notes) for reply in replies) == 1
    assert server.calls == 6


def test_a_refusal_that_comes_after_text_is_a_failure_and_is_not_asked_again() -> None:
    message = "response_format is not supported"
    with Loopback(ANSWERS, mode="error-in-stream", status=400, message=message) as server:  # C3, C4
        assert message in failing(server, with_schema()).message
        assert server.calls == 1


def test_a_page_that_repeats_the_key_is_quoted_without_it() -> None:
    with Loopback(mode="html", message=f"you sent {KEY}") as server:
        assert "you sent [key]" in failing(server).message  # C5


def test_a_server_that_refuses_everything_is_still_asked_a_bounded_number_of_times() -> None:
    parts = ["max_tokens", "stream_options", "reasoning_effort", "response_format"]
    with Loopback(lambda body: "{}", refuse=parts) as server:  # C4
        assert len(ask(server, with_schema(effort="low")).notes) == 4
        assert server.calls == 5
        server.control(refuse=[*parts, "max_completion_tokens"])
        assert failing(server, with_schema(effort="low")).kind == "crashed"
        assert server.calls == 10


def test_a_limit_that_is_too_large_is_an_error_and_no_unknown_parameter() -> None:
    with Loopback(mode="status", status=400, message="max_tokens is too large: 4096") as server:  # C5
        failed = failing(server)
    assert server.calls == 1
    assert "max_tokens is too large" in failed.message


@pytest.mark.parametrize(("effort", "sent"), [("low", "low"), ("medium", "medium"), ("high", "high"), ("max", "high")])
def test_effort_is_told_in_the_wires_own_words(effort: str, sent: str) -> None:
    with Loopback(ANSWERS) as server:  # C1
        ask(server, request(effort=effort))
        ask(server)
    assert server.bodies[0]["reasoning_effort"] == sent
    assert "reasoning_effort" not in server.bodies[1]


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "crashed", False),
        (401, "auth", False),
        (402, "rate limit", False),
        (403, "auth", False),
        (404, "missing tool", False),
        (422, "crashed", False),
        (429, "rate limit", True),
        (500, "crashed", True),
        (501, "crashed", False),
        (502, "crashed", True),
        (503, "crashed", True),
        (504, "crashed", True),
        (529, "crashed", True),
    ],
)
def test_each_error_status_has_its_class_and_says_who_where_and_what(status: int, kind: str, retryable: bool) -> None:
    message = f"no use with {KEY}\x1b[31m " + "long " * 200
    with Loopback(mode="status", status=status, message=message) as server:  # C5
        failed = failing(server)
    assert (failed.kind, failed.retryable) == (kind, retryable)
    place = f"127.0.0.1:{server.port}" + (", with the key in SOME_KEY," if kind == "auth" else "")
    assert f"openai:m-1: {place} answered {status}: no use with [key]" in failed.message
    assert failed.message.isprintable()
    assert len(failed.message) < 300
    assert failed.hint


@pytest.mark.parametrize(("path", "told"), [("", True), ("/v1", False), ("/api/v2", False)])
def test_an_address_without_its_version_is_told_what_most_want(path: str, told: bool) -> None:
    with Loopback(mode="status", status=404) as server:  # C5
        hint = failing(server, base_url=server.url.removesuffix("/v1") + path).hint
    assert ("Most servers need /v1" in hint) is told and "base_url" in hint


def test_a_request_that_is_too_large_is_told_as_that() -> None:
    with Loopback(mode="status", status=413) as server:  # C5
        assert "give less context" in failing(server).hint


def test_a_refused_key_names_the_variable_that_holds_it() -> None:
    with Loopback(mode="status", status=401) as server:
        assert "SOME_KEY" in failing(server).hint  # C5


def test_an_account_without_credit_is_not_asked_again() -> None:
    with Loopback(mode="status", status=429, message="You have hit insufficient_quota") as server:
        failed = failing(server)  # C5
    assert (failed.kind, failed.retryable) == ("rate limit", False)


@pytest.mark.parametrize(
    ("mode", "kind", "says"),
    [
        ("empty", "bad reply", "empty reply"),
        ("filter", "bad reply", "content filter"),
        ("refusal", "bad reply", "I will not argue about this."),
        ("huge", "bad reply", "reply larger than 4 MB"),
        ("garbage", "bad reply", "not JSON"),
        ("html", "bad reply", "text/html"),
        ("plain-error", "crashed", "scripted failure"),
        ("error-in-stream", "crashed", "scripted failure"),
        ("no-done", "crashed", "the stream broke off"),
        ("half", "crashed", "the stream broke off"),
        ("reset-midstream", "crashed", "the stream broke off: the connection was closed in the middle"),
        ("reset", "crashed", "closed the connection"),
        ("redirect", "crashed", "redirect (307)"),
    ],
)
def test_a_reply_that_is_none_is_a_failure_with_a_class_and_never_text(mode: str, kind: str, says: str) -> None:
    with Loopback(ANSWERS, mode=mode) as server:  # C5
        failed = failing(server)
        assert server.calls == 1
    assert failed.kind == kind
    assert says in failed.message


@pytest.mark.parametrize(
    "frame", ["[]", "3", '{"choices": {}, "usage": 7}', '{"choices": [7]}', '{"choices": {"a": 1}}']
)
def test_json_that_is_no_completion_is_a_bad_reply(frame: str) -> None:
    async def serve() -> HttpFailed:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            writer.write(f"data: {frame}\n\n".encode())
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            model = OpenAI(base_url=f"http://127.0.0.1:{port}", api_key="", model="m")
            with pytest.raises(HttpFailed) as caught:
                await model.complete(request())
            return caught.value

    failed = asyncio.run(serve())  # C5
    assert failed.kind == "bad reply"
    assert "not a completion" in failed.message


def test_what_was_paid_for_is_told_even_when_it_is_of_no_use() -> None:
    with Loopback(ANSWERS, mode="filter", cost=0.5) as server:  # C3, C4
        failed = failing(server)
    assert (failed.usage, failed.usd) == (Usage(2, 42, 1), 0.5)


def test_a_reply_cut_at_the_output_limit_is_handed_on_as_cut() -> None:
    with Loopback(ANSWERS, mode="cut") as server:  # C5
        reply = ask(server)
    assert reply.truncated
    assert reply.text == "plain w"


@pytest.mark.parametrize("mode", ["prose", "fenced"])
def test_text_of_another_form_is_for_the_engine_to_judge(mode: str) -> None:
    with Loopback(ANSWERS, mode=mode) as server:  # C5
        assert ask(server, with_schema()).text.startswith({"prose": "I would rather", "fenced": "```json"}[mode])


@pytest.mark.parametrize("mode", ["hang", "stall"])
def test_silence_ends_with_the_requests_time(mode: str) -> None:
    with Loopback(ANSWERS, mode=mode) as server:  # C5
        failed = failing(server, request(timeout=0.2))
    assert failed.kind == "timeout"
    assert ("characters were received" in failed.message) == (mode == "stall")


def test_nobody_listening_is_told_with_the_place_and_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        model = OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="", model="m", provider="ollama")
        with pytest.raises(HttpFailed) as caught:
            asyncio.run(model.complete(request()))
    failed = caught.value  # C5
    assert (failed.kind, failed.retryable) == ("crashed", True)
    assert f"ollama:m: cannot reach 127.0.0.1:{port}: " in failed.message
    assert "Start the server" in failed.hint


def test_no_key_means_no_header_and_a_broken_key_is_never_sent() -> None:
    with Loopback(ANSWERS) as server:  # C5
        ask(server, api_key="")
        assert "authorization" not in server.headers[0]
        ask(server, api_key=" padded\n")
        assert server.headers[1]["authorization"] == "Bearer padded"
        assert failing(server, api_key="two\nlines").kind == "auth"
        assert server.calls == 2


@pytest.mark.parametrize("url", ["127.0.0.1:80", "ftp://host/", "http://", "http://[::1", "http://u:p@127.0.0.1/v1"])
def test_an_address_that_cannot_be_used_is_refused_before_any_call(url: str) -> None:
    with pytest.raises(UsageError) as caught:  # C17
        OpenAI(base_url=url, api_key="", model="m")
    assert "u:p" not in caught.value.message


def test_a_cancelled_call_closes_its_connection_and_leaves_no_task() -> None:
    with Loopback(ANSWERS, mode="stall") as server:  # C14

        async def cancel() -> None:
            first, before = asyncio.Event(), asyncio.all_tasks()
            call = asyncio.create_task(backend(server).complete(request(on_text=lambda text: first.set())))
            await first.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            while server.open_connections:  # noqa: ASYNC110 - the server is in another thread, with no event of ours
                await asyncio.sleep(0.001)
            assert asyncio.all_tasks() == before

        asyncio.run(asyncio.wait_for(cancel(), 10))


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(sys.path)
    return subprocess.run(
        [sys.executable, "-X", "dev", "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


ONE_CALL = """
import asyncio
from rebut.backends.http.openai import OpenAI
from rebut.core.types import ModelSpec, Participant, Request
request = Request("k", Participant("seat", ModelSpec("openai", "m")), "Why?", timeout=10)
print(asyncio.run(OpenAI(base_url={url!r}, api_key="", model="m").complete(request)).text)
"""


def test_leaving_without_closing_prints_no_warning_and_proxies_are_not_asked_about_this_machine() -> None:
    with Loopback(ANSWERS) as server:  # C14
        dead = "http://127.0.0.1:9"
        done = run_python(
            ONE_CALL.format(url=server.url), HTTP_PROXY=dead, http_proxy=dead, ALL_PROXY=dead, NO_PROXY=""
        )
    assert done.stdout == "plain words\n"
    assert "nclosed" not in done.stderr
    assert "ResourceWarning" not in done.stderr


def test_importing_the_wire_loads_neither_the_client_nor_the_prices() -> None:
    code = "import sys, rebut.backends.http.openai, rebut.backends.wrappers; print(*sys.modules)"
    loaded = set(run_python(code).stdout.split())  # C14
    assert "rebut.backends.http.openai" in loaded
    assert not loaded & {"aiohttp", "genai_prices", "pydantic"}


def test_a_proxy_is_used_for_other_hosts_and_one_that_cannot_be_used_is_not_passed_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_PROXY", "no_proxy", "http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Loopback() as proxy:  # C16
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        model = OpenAI(base_url="http://models.invalid/v1", api_key="", model="m", client=HttpClient())
        with pytest.raises(ParticipantFailed, match=r"no such path: http://models\.invalid/v1/chat/completions"):
            asyncio.run(model.complete(request()))
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    model = OpenAI(base_url="http://models.invalid/v1", api_key="", model="m", client=HttpClient())
    with pytest.raises(ParticipantFailed, match="of the kind 'socks5'"):
        asyncio.run(model.complete(request()))


@pytest.mark.parametrize("counted", [10**16, 10**400, -1, 1e400])
def test_a_number_of_tokens_that_no_model_counts_is_no_number(counted: float) -> None:
    usage = {"prompt_tokens": counted, "completion_tokens": 3}
    frame = {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}], "usage": usage}
    with Loopback(mode="frames", frames=[frame]) as server:  # C3, C5
        assert ask(server).usage == Usage(None, 3, None)


@pytest.mark.parametrize("cost", [10**400, -1, 1e400, True])
def test_a_cost_that_is_no_amount_of_money_is_unknown(cost: float) -> None:
    frame = {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}], "usage": {"cost": cost}}
    with Loopback(mode="frames", frames=[frame]) as server:  # C3, C5
        assert ask(server).usd is None


@pytest.mark.parametrize("code", [1302, 302, 200, -1, 10**400])
def test_a_number_of_an_error_in_a_stream_that_is_no_status_is_a_problem_of_the_server(code: int) -> None:
    with Loopback(mode="frames", frames=[{"error": {"code": code, "message": "busy"}}]) as server:  # C4, C5
        failed = failing(server)
        assert "answered 500" in failed.message and failed.retryable and len(failed.message) < 1000
