"""Every wire, every way to answer and to fail: one table for all four, since a seat must not care which it is."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import duels
import pytest
from dialects import question, schema_name
from loopback import Loopback
from wires import ANSWERS, KEY, KINDS, SCHEMA, Elsewhere, ask, ask_twice, failing, request, wire, with_schema

import rebut
from rebut.backends.families import family_of
from rebut.backends.wrappers import Retrying
from rebut.core.errors import NotAvailable, UsageError
from rebut.core.types import ModelSpec, Reply, Usage
from rebut.setup import config
from rebut.setup.connect import connector

HEADERS = {
    "openai": ("authorization", f"Bearer {KEY}"),
    "anthropic": ("x-api-key", KEY),
    "google": ("x-goog-api-key", KEY),
    "responses": ("authorization", f"Bearer {KEY}"),
}
SCHEMA_PART = {
    "openai": "response_format",
    "anthropic": "output_config.format",
    "google": "generationConfig.responseJsonSchema",
    "responses": "text",
}
EFFORT_PARTS = {
    "openai": ["reasoning_effort"],
    "anthropic": ["output_config.effort", "thinking"],
    "google": ["generationConfig.thinkingConfig"],
    "responses": ["reasoning"],
}


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# Answers --------------------------------------------------------------------------------------------------------------


def test_a_streamed_reply_comes_back_whole_with_the_model_that_spoke_and_its_usage(kind: str) -> None:
    pieces: list[str] = []
    with Loopback(ANSWERS, model="m-1-2026") as server:  # C1, C14
        reply = ask(kind, server, with_schema(on_text=pieces.append))
    assert json.loads(reply.text) == ANSWERS["opening"]
    assert "".join(pieces) == reply.text and len(pieces) > 1
    assert (reply.model, reply.truncated, reply.notes) == ("m-1-2026", False, ())
    assert reply.usage == Usage(input=2, output=42, cached=1)
    assert schema_name(server.bodies[0]) == "opening" and question(server.bodies[0]) == "Why?"


@pytest.mark.parametrize("mode", ["ok", "plain", "thinking", "parts", "crlf", "late-end"])
def test_every_way_to_send_the_same_text_gives_the_same_reply(kind: str, mode: str) -> None:
    with Loopback(ANSWERS, mode=mode) as server:  # C1
        reply = ask(kind, server)
    assert reply == Reply("plain words", "loopback-1", KINDS[kind].vendor, Usage(2, 42, 1))


def test_an_answer_that_is_whole_counts_though_the_stream_never_ends(kind: str) -> None:
    with Loopback(ANSWERS, mode="linger") as server:  # C5
        assert ask(kind, server, request(timeout=2)).text == "plain words"


def test_a_reply_without_counts_is_of_unknown_size_and_not_of_none(kind: str) -> None:
    with Loopback(ANSWERS, usage=False) as server:  # C4
        reply = ask(kind, server)
    assert (reply.text, reply.usage, reply.usd) == ("plain words", Usage(), None)


def test_a_reply_cut_at_the_output_limit_is_handed_on_as_cut(kind: str) -> None:
    with Loopback(ANSWERS, mode="cut") as server:  # C5
        reply = ask(kind, server, request(max_output=77))
    assert (reply.truncated, reply.text) == (True, "plain w")
    assert "77" in json.dumps(server.bodies[0])


def test_a_limit_used_up_before_the_answer_is_told_as_the_reason(kind: str) -> None:
    with Loopback({"": " "}, mode="cut") as server:  # C5
        assert "the output limit was reached" in failing(kind, server).message


def test_lone_surrogates_and_every_script_pass(kind: str) -> None:
    said = "Ünïcode, 日本語, \U0001f600"
    with Loopback({"": said}) as server:  # C5
        assert ask(kind, server, request(prompt="bad \ud800 é 日本")).text == said
    assert question(server.bodies[0]) == "bad ? é 日本"


def test_the_prompt_stays_the_same_beginning_when_something_follows_it(kind: str) -> None:
    with Loopback(ANSWERS) as server:  # C1
        ask(kind, server, with_schema(prompt="the long prompt"))
        ask(kind, server, with_schema(prompt="the long prompt", followup="and now mend it"))
    first, second = map(question, server.bodies)
    assert second.startswith(first) and second.endswith("and now mend it")


def test_the_price_is_of_the_model_that_spoke_at_the_providers_own_address(kind: str) -> None:
    model, usd = {
        "openai": ("gpt-4o", 0.0004225),
        "responses": ("gpt-4o", 0.0004225),
        "anthropic": ("claude-sonnet-4-5", 0.0006333),
        "google": ("gemini-2.5-flash", 0.00010533),
    }[kind]
    home = {"anthropic": "https://api.anthropic.com", "google": "https://generativelanguage.googleapis.com"}
    with Loopback(ANSWERS, model=model) as server:  # C4
        there = {"base_url": home.get(kind, "https://api.openai.com/v1"), "provider": "", "model": "alias"}
        reply = ask(kind, server, client=Elsewhere(server), **there)
    assert reply.usage == Usage(2, 42, 1)
    assert reply.usd == pytest.approx(usd, rel=0.01)


def test_a_price_on_this_machine_is_unknown(kind: str) -> None:
    with Loopback(ANSWERS, model="gpt-4o") as server:  # C4
        assert ask(kind, server, model="gpt-4o", provider="openai").usd is None
        assert wire(kind, server, model="gpt-4o", provider="openai").worst_case(1000, 1000) is None, (
            "before the call, too"
        )


# Schema and effort ----------------------------------------------------------------------------------------------------


def test_a_schema_that_is_refused_goes_into_the_prompt_from_then_on_and_that_is_said_once(kind: str) -> None:
    with Loopback(lambda body: "{}", refuse=[SCHEMA_PART[kind]]) as server:  # C1
        first, second = ask_twice(kind, server, with_schema())
    assert len(first.notes) == 1 and "they:m-1" in first.notes[0] and "the schema is in the prompt" in first.notes[0]
    assert second.notes == ()
    assert [json.dumps(SCHEMA) in question(body) for body in server.bodies] == [False, True, True]
    assert [schema_name(body) for body in server.bodies] == ["opening", "", ""]


def test_a_schema_stands_before_what_follows_so_that_the_beginning_stays(kind: str) -> None:
    with Loopback(lambda body: "{}", refuse=[SCHEMA_PART[kind]]) as server:  # C1
        ask(kind, server, with_schema())
        ask(kind, server, with_schema(followup="mend it"))
    assert question(server.bodies[3]).startswith(question(server.bodies[1]))
    assert question(server.bodies[3]).endswith("mend it")


@pytest.mark.parametrize("effort", ["low", "medium", "high", "max"])
def test_a_provider_without_an_effort_says_so_and_goes_on(kind: str, effort: str) -> None:
    with Loopback(ANSWERS, refuse=EFFORT_PARTS[kind]) as server:  # C1
        first, second = ask_twice(kind, server, request(effort=effort, max_output=16_000))
    assert first.notes and all(note.startswith("they:m-1 ") for note in first.notes)
    assert (first.text, second.text, second.notes) == ("plain words", "plain words", ())
    last = json.dumps(server.bodies[-1])
    assert "effort" not in last and "thinking" not in last and "reasoning" not in last


def test_no_effort_means_that_none_is_sent(kind: str) -> None:
    with Loopback(ANSWERS, refuse=EFFORT_PARTS[kind]) as server:  # C1
        assert ask(kind, server).notes == ()
        assert server.calls == 1


def test_a_server_that_refuses_everything_is_asked_a_bounded_number_of_times(kind: str) -> None:
    parts = [SCHEMA_PART[kind], *EFFORT_PARTS[kind]]
    always = {"openai": "messages", "anthropic": "messages", "google": "contents", "responses": "input"}[kind]
    with Loopback(lambda body: "{}", refuse=[*parts, always]) as server:  # C4
        assert failing(kind, server, with_schema(effort="max", max_output=16_000)).kind == "crashed"
        assert server.calls <= len(KINDS[kind].notes) + 1


def test_calls_that_are_refused_side_by_side_say_it_once(kind: str) -> None:
    with Loopback(lambda body: "{}", refuse=[SCHEMA_PART[kind]], latency=0.05) as server:  # C1

        async def three() -> list[Reply]:
            model = wire(kind, server)
            return await asyncio.gather(*(model.complete(with_schema()) for _ in range(3)))

        replies = asyncio.run(three())
    assert sum(len(reply.notes) for reply in replies) == 1
    assert server.calls == 6


# Failures -------------------------------------------------------------------------------------------------------------

STATUSES = [
    (400, "crashed", False),
    (401, "auth", False),
    (402, "rate limit", False),
    (403, "auth", False),
    (404, "missing tool", False),
    (413, "crashed", False),
    (429, "rate limit", True),
    (500, "crashed", True),
    (501, "crashed", False),
    (503, "crashed", True),
    (529, "crashed", True),
]


@pytest.mark.parametrize(("status", "failure", "retryable"), STATUSES)
def test_each_error_status_has_its_class_and_says_who_where_and_what(
    kind: str, status: int, failure: str, retryable: bool
) -> None:
    message = f"no use with {KEY}\x1b[31m " + "long " * 200
    with Loopback(mode="status", status=status, message=message, retry_after="7") as server:  # C5
        failed = failing(kind, server, with_schema(effort="high"))
        assert server.calls == (2 if status == 501 else 1), "what is not implemented may be the schema"
    assert (failed.kind, failed.retryable) == (failure, retryable)
    assert failed.retry_after == (7.0 if retryable else None)
    place = f"127.0.0.1:{server.port}" + (", with the key in SOME_KEY," if failure == "auth" else "")
    assert f"they:m-1: {place} answered {status}: no use with [key]" in failed.message
    assert failed.message.isprintable() and len(failed.message) < 300 and failed.hint


@pytest.mark.parametrize(
    ("mode", "failure", "retryable"),
    [
        ("empty", "bad reply", False),
        ("filter", "bad reply", False),
        ("refusal", "bad reply", False),
        ("tool-call", "bad reply", False),
        ("huge", "bad reply", False),
        ("garbage", "bad reply", False),
        ("deep-plain", "bad reply", False),
        ("deep-frame", "bad reply", False),
        ("html", "bad reply", False),
        ("plain-error", "crashed", True),
        ("error-in-stream", "crashed", False),
        ("no-done", "crashed", False),
        ("half", "crashed", False),
        ("reset-midstream", "crashed", False),
        ("reset", "crashed", True),
        ("redirect", "crashed", False),
    ],
)
def test_a_reply_that_is_none_is_a_failure_with_a_class_and_never_text(
    kind: str, mode: str, failure: str, retryable: bool
) -> None:
    with Loopback(ANSWERS, mode=mode) as server:  # C5
        failed = failing(kind, server)
        assert server.calls == 1, "nothing is asked again here, and no redirect is followed"
    assert (failed.kind, failed.retryable) == (failure, retryable)
    assert "they:m-1" in failed.message and failed.hint and "plain words" not in str(failed)


@pytest.mark.parametrize("mode", ["hang", "stall"])
def test_silence_ends_with_the_requests_time(kind: str, mode: str) -> None:
    with Loopback(ANSWERS, mode=mode) as server:  # C5
        failed = failing(kind, server, request(timeout=0.3))
    assert failed.kind == "timeout"
    assert ("characters were received" in failed.message) == (mode == "stall")
    assert failed.usage is None, "a count from the middle of a stream would be too low"


def test_what_was_paid_for_is_told_even_when_it_is_of_no_use(kind: str) -> None:
    for mode in ("filter", "refusal", "empty"):
        with Loopback(ANSWERS, mode=mode) as server:  # C3, C4
            assert failing(kind, server).usage == Usage(2, 42, 1), mode


@pytest.mark.parametrize(("status", "failure"), [(429, "rate limit"), (500, "crashed"), (529, "crashed")])
def test_an_error_inside_a_stream_is_asked_again_only_while_nothing_was_said(
    kind: str, status: int, failure: str
) -> None:
    with Loopback(ANSWERS, mode="error-in-stream", status=status, chunks=1, first=1) as server:  # C4, C5
        failed = failing(kind, server)
        assert (failed.kind, failed.retryable) == (failure, True)
        server.control(first=1)
        again = Retrying(wire(kind, server), wait=0.0, jitter=0.0)
        reply = asyncio.run(again.complete(request()))
        assert (reply.text, reply.notes) == ("plain words", ("answered on try 2, after waiting 0 s",))
        server.control(first=1, chunks=4)
        assert not failing(kind, server).retryable and server.calls == 4


def test_a_refusal_that_comes_after_text_is_a_failure_and_is_not_asked_again(kind: str) -> None:
    message = "json_schema is not supported"
    with Loopback(ANSWERS, mode="error-in-stream", status=400, message=message) as server:  # C3, C4
        assert message in failing(kind, server, with_schema()).message
        assert server.calls == 1


@pytest.mark.parametrize("frame", [[], 3, "text", {"choices": 7, "candidates": 7, "type": "message_start"}])
def test_json_that_is_no_completion_is_a_bad_reply(kind: str, frame: Any) -> None:
    if isinstance(frame, dict) and kind == "responses":
        frame = {"type": "response.completed", "response": 7}
    with Loopback(mode="frames", frames=[frame]) as server:  # C5
        failed = failing(kind, server)
    assert failed.kind == "bad reply" and "not a completion" in failed.message


# Keys and addresses ---------------------------------------------------------------------------------------------------


def test_the_key_goes_into_the_providers_own_header_and_nowhere_else(kind: str) -> None:
    name, value = HEADERS[kind]
    with Loopback(ANSWERS) as server:  # C8, C16
        ask(kind, server)
        assert [header for header, sent in server.headers[0].items() if KEY in sent] == [name]
        assert server.headers[0][name] == value
        assert KEY not in server.paths[0] + json.dumps(server.bodies[0])
        ask(kind, server, api_key="")
        assert name not in server.headers[1]
        ask(kind, server, api_key=" padded\n")
        assert server.headers[2][name].endswith("padded")
        assert failing(kind, server, api_key="two\nlines").kind == "auth"
        assert server.calls == 3


def test_a_refused_key_names_the_variable_that_holds_it(kind: str) -> None:
    with Loopback(mode="status", status=401) as server:
        assert "SOME_KEY" in failing(kind, server).hint  # C5


def test_a_model_that_a_router_does_not_know_is_a_missing_tool(kind: str) -> None:
    for words in ("m-1 is not a valid model ID", "model_not_found", "The model `m-1` does not exist"):
        with Loopback(mode="status", status=400, message=words) as server:  # C5
            failed = failing(kind, server, with_schema())
            assert (failed.kind, server.calls) == ("missing tool", 1), words


@pytest.mark.parametrize("url", ["127.0.0.1:80", "ftp://host/", "http://u:p@127.0.0.1/v1"])
def test_an_address_that_cannot_be_used_is_refused_before_any_call(kind: str, url: str) -> None:
    with pytest.raises(UsageError) as caught:  # C17
        KINDS[kind](base_url=url, api_key="", model="m")
    assert "u:p" not in caught.value.message


def test_importing_the_wires_loads_neither_the_client_nor_the_prices() -> None:
    modules = ", ".join(f"rebut.backends.http.{name}" for name in KINDS)
    code = f"import sys; sys.path[:0] = {sys.path!r}\nimport {modules}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # C14
    loaded = set(done.stdout.split())
    assert {f"rebut.backends.http.{name}" for name in KINDS} <= loaded
    assert not loaded & {"aiohttp", "genai_prices", "pydantic"}


# The providers that rebut knows ---------------------------------------------------------------------------------------

SHIPPED = {
    "openai": ("gpt-5", "openai", "https://api.openai.com/v1/chat/completions"),
    "anthropic": ("claude-x", "anthropic", "https://api.anthropic.com/v1/messages"),
    "google": (
        "gemini-x",
        "google",
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
    ),
    "openrouter": ("anthropic/claude-x", "anthropic", "https://openrouter.ai/api/v1/chat/completions"),
    "ollama": ("qwen3:8b", "qwen", "http://127.0.0.1:11434/v1/chat/completions"),
    "lmstudio": ("openai/gpt-oss-20b", "openai", "http://127.0.0.1:1234/v1/chat/completions"),
    "vllm": ("meta-llama/Llama-3.3", "meta-llama", "http://127.0.0.1:8000/v1/chat/completions"),
    "llama-server": ("", "", "http://127.0.0.1:8080/v1/chat/completions"),
}
LOCAL = ("ollama", "lmstudio", "vllm", "llama-server")
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")


def shipped(tmp_path: Path, env: dict[str, str]) -> config.Config:
    return config.load_config(workspace=tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path), **env})


def test_every_shipped_provider_has_a_row_here(tmp_path: Path) -> None:
    assert {provider.name for provider in shipped(tmp_path, {}).providers} == set(SHIPPED)  # C1


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_provider_is_reached_with_nothing_but_its_key(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, family, address = SHIPPED[name]
    env = dict.fromkeys(KEYS, "dummy")
    connect = connector(shipped(tmp_path, env), env, tmp_path)
    spec = ModelSpec(name, model)
    assert connect(spec).family == family  # C1
    assert connect(spec).free is (name in LOCAL)
    with Loopback(ANSWERS, model="") as server:
        client = Elsewhere(server)
        monkeypatch.setattr("rebut.backends.http.wire.shared", lambda: client)
        reply = asyncio.run(connect(spec).backend.complete(request()))
    assert client.meant == [address]
    assert (reply.text, reply.family) == ("plain words", family)
    sent = server.headers[0]
    assert any("dummy" in value for value in sent.values()) is (name not in LOCAL)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_key_is_needed_away_from_this_machine_and_only_there(tmp_path: Path, name: str) -> None:
    connect = connector(shipped(tmp_path, {}), {}, tmp_path)
    spec = ModelSpec(name, SHIPPED[name][0])
    if name in LOCAL:
        assert connect(spec).backend  # C1
        return
    with pytest.raises(UsageError, match="_API_KEY is not set"):
        connect(spec)


@pytest.mark.parametrize("host", ["127.0.0.2:8080", "a.localhost", "[::1]", "localhost"])
def test_only_a_shipped_server_on_this_machine_may_do_without_its_key(tmp_path: Path, host: str) -> None:  # C1
    # by the same rule that finds servers here: what is found able to sit must not be refused for its key then
    shipped_server = config.Provider("mine", "openai", f"http://{host}/v1", "MINE_API_KEY", key_optional=True)
    assert connector(config.Config(providers=(shipped_server,)), {}, tmp_path)(ModelSpec("mine", "m")).backend
    own = replace(shipped_server, key_optional=False)
    with pytest.raises(NotAvailable, match="mine needs a key: MINE_API_KEY is not set"):
        connector(config.Config(providers=(own,)), {}, tmp_path)(ModelSpec("mine", "m"))


def test_a_dearer_input_is_reserved_where_the_prompt_is_put_into_a_cache(tmp_path: Path) -> None:
    env = dict.fromkeys(KEYS, "dummy")
    connect = connector(shipped(tmp_path, env), env, tmp_path)
    claude = connect(ModelSpec("anthropic", "claude-sonnet-4-5"))
    assert claude.price(100_000, 0) == pytest.approx(0.375)  # C4
    assert connect(ModelSpec("openai", "gpt-4o")).price(1_000_000, 0) == pytest.approx(2.5)
    assert connect(ModelSpec("openrouter", "nobody/knows")).price(1000, 1000) is None


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("anthropic/claude-sonnet-5", "anthropic"),
        ("Qwen/Qwen3-8B", "qwen"),
        ("hf.co/unsloth/Qwen3-GGUF:Q4", "unsloth"),
        ("/models/llama-3.gguf", "meta-llama"),
        ("./weights/mine.gguf", ""),
        ("llama3.2:3b", "meta-llama"),
        ("gpt-oss:20b", "openai"),
        ("gemma3", "google"),
        ("3-of-a-kind", ""),
        ("my-own", ""),
        ("", ""),
    ],
)
def test_a_family_is_read_from_the_name_or_left_open(model: str, family: str) -> None:
    assert family_of(model) == family  # C2


def test_the_family_is_of_the_model_that_spoke_when_a_router_chose_it() -> None:
    with Loopback(ANSWERS, model="mistralai/mistral-large") as server:  # C2
        assert ask("openai", server, model="openrouter/auto", family="").family == "mistralai"


def test_a_whole_duel_of_three_vendors_each_on_its_own_wire(tmp_path: Path) -> None:
    said = duels.answers(2)
    forms = {
        "Opening": "r1/opening@proposer",
        "Challenge": "r1/challenge@challenger",
        "Defense": "r2/defense@proposer",
        "FollowUp": "r2/follow-up@challenger",
        "Decision": "verdict@judge",
    }
    mine = tmp_path / "config.toml"
    mine.write_text('[providers.openai]\nwire = "responses"\n')
    with Loopback({form: said[key] for form, key in forms.items()}) as server:  # C1, D8
        env = {"REBUT_HOME": str(tmp_path / "home"), "REBUT_CONFIG": str(mine), **dict.fromkeys(KEYS, "dummy")}
        env |= {"OPENAI_BASE_URL": server.url, "ANTHROPIC_BASE_URL": server.url, "GOOGLE_GEMINI_BASE_URL": server.url}
        seats: dict[str, Any] = {"proposer": "anthropic:a", "challenger": "google:b", "judge": "openai:c", "rounds": 2}
        outcome = rebut.run("duel", "Redis or not?", workspace=tmp_path, env=env, **seats)
    assert outcome.heading == "VERDICT"
    assert [path.split("?")[0] for path in server.paths] == [
        "/v1/messages",
        "/v1/models/b:streamGenerateContent",
        "/v1/messages",
        "/v1/models/b:streamGenerateContent",
        "/v1/responses",
    ]
    assert [seat.family for seat in outcome.seats] == ["anthropic", "google", "openai"]
    assert not [note for note in outcome.notes if "family" in note or "schema" in note]
