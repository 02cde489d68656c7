"""Asking again, how many ask at once, and the client and the prices that all wires share."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback

from rebut.backends import wrappers
from rebut.backends.http.client import Address, HttpClient, HttpFailed, retry_after
from rebut.backends.http.openai import OpenAI
from rebut.backends.http.prices import price, worst_case
from rebut.backends.wrappers import Limited, Retrying, Timed
from rebut.core.errors import ParticipantFailed
from rebut.core.network import is_loopback
from rebut.core.types import Backend, ModelSpec, Participant, Reply, Request, Usage

SEAT = Participant("seat", ModelSpec("openai", "m"))


def request(**more: Any) -> Request:
    return Request(**{"key": "k", "participant": SEAT, "prompt": "Why?", "timeout": 10.0, **more})


def retrying(server: Loopback, **more: Any) -> Retrying:
    model = OpenAI(base_url=server.url, api_key="", model="m")
    return Retrying(model, **{"wait": 0.0, "jitter": 0.0, **more})


def ask(server: Loopback, asked: Request | None = None, **more: Any) -> Reply:
    return asyncio.run(retrying(server, **more).complete(asked or request()))


def failing(server: Loopback, asked: Request | None = None, **more: Any) -> HttpFailed:
    with pytest.raises(HttpFailed) as caught:
        ask(server, asked, **more)
    return caught.value


@dataclass
class Stub:
    """A model that fails as told, call by call, then answers."""

    failures: Sequence[ParticipantFailed] = ()
    seen: list[float] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    async def complete(self, request: Request) -> Reply:
        self.seen.append(request.timeout)
        self.meanwhile()
        if len(self.seen) <= len(self.failures):
            raise self.failures[len(self.seen) - 1]
        return Reply("yes", notes=("a note of its own",))


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_a_passing_error_is_asked_again_and_the_tries_are_noted(status: int) -> None:
    with Loopback(mode="status", status=status, first=2) as server:  # C5
        reply = ask(server)
    assert server.calls == 3
    assert reply.notes == ("answered on try 3, after waiting 0 s, 0 s",)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_error_whose_body_is_nested_too_deep_is_asked_again(status: int) -> None:
    with Loopback(mode="deep-status", status=status, first=2) as server:  # C5
        reply = ask(server)
        assert server.calls == 3
    assert "answered on try 3" in reply.notes[0]


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (404, "missing tool"), (400, "crashed")])
def test_an_error_whose_body_is_nested_too_deep_keeps_its_class(status: int, kind: str) -> None:
    with Loopback(mode="deep-status", status=status) as server:  # C5
        failed = failing(server)
        assert server.calls == 1
    assert failed.kind == kind and f"answered {status}" in failed.message and len(failed.message) < 400


def test_a_lost_connection_is_asked_again() -> None:
    with Loopback(mode="reset", first=1) as server:
        assert ask(server).notes == ("answered on try 2, after waiting 0 s",)  # C5


@pytest.mark.parametrize("status", [400, 401, 403, 404, 501])
def test_an_error_that_will_not_pass_is_not_asked_again(status: int) -> None:
    with Loopback(mode="status", status=status) as server:  # C5
        failed = failing(server)
    assert server.calls == 1
    assert "tries" not in failed.message


@pytest.mark.parametrize("mode", ["reset-midstream", "error-in-stream", "no-done", "filter", "empty"])
def test_a_reply_that_was_begun_is_not_asked_again_as_it_may_have_been_paid_for(mode: str) -> None:
    with Loopback(mode=mode) as server:  # C3, C4
        failing(server)
        assert server.calls == 1


def test_it_gives_up_after_the_last_try_and_keeps_the_class() -> None:
    with Loopback(mode="status", status=503) as server:  # C4, C5
        failed = failing(server, tries=3)
    assert server.calls == 3
    assert failed.kind == "crashed"
    assert failed.message.endswith("; gave up after 3 tries")


def test_one_try_means_no_second() -> None:
    with Loopback(mode="status", status=503) as server:
        failing(server, tries=1)  # C4
        assert server.calls == 1


def test_retry_after_takes_the_place_of_the_own_pause() -> None:
    with Loopback(mode="status", status=429, retry_after="0.01", first=1) as server:
        model = retrying(server, wait=3600.0, longest=3600.0)
        reply = asyncio.run(asyncio.wait_for(model.complete(request()), 5))  # C5
    assert reply.notes == ("answered on try 2, after waiting 0.01 s",)


def test_a_wait_longer_than_the_time_left_fails_at_once() -> None:
    with Loopback(mode="status", status=429, retry_after="38") as server:  # C5
        failed = failing(server, request(timeout=30.0))
    assert server.calls == 1
    assert failed.kind == "rate limit"
    assert failed.message.endswith("; 429, asked to wait 38 s, but the call has less time left")


def test_a_date_in_retry_after_counts_from_the_servers_own_clock() -> None:
    with Loopback(mode="status", status=503, retry_after="Wed, 01 Jan 2025 00:00:38 GMT") as server:
        failed = failing(server, request(timeout=30.0))  # C5
    assert "asked to wait 38 s" in failed.message


def test_a_pause_that_does_not_fit_into_the_time_left_is_not_begun() -> None:
    with Loopback(mode="status", status=503) as server:
        failed = failing(server, request(timeout=5.0), wait=4.0, jitter=2.0)  # C5
    assert server.calls == 1
    assert failed.message.endswith("; no time left for another try")


def test_each_try_is_given_only_the_time_that_is_left() -> None:
    async def three() -> Stub:
        skipped = clock_ahead()

        def a_minute_passes() -> None:
            skipped[0] += 60

        lost = [HttpFailed("crashed", "lost", retryable=True) for _ in range(2)]
        stub = Stub(lost, meanwhile=a_minute_passes)
        await Retrying(stub, wait=0.0, jitter=0.0).complete(request(timeout=240.0))
        return stub

    seen = asyncio.run(three()).seen  # C4
    assert seen[0] == 240
    assert 170 < seen[1] <= 180
    assert 110 < seen[2] <= 120


def test_failures_of_other_backends_and_their_notes_pass_through() -> None:
    stub = Stub([ParticipantFailed("rate limit", "told by a command-line tool")])
    with pytest.raises(ParticipantFailed, match="command-line tool"):
        asyncio.run(Retrying(stub).complete(request()))  # C5
    assert len(stub.seen) == 1
    assert asyncio.run(Retrying(Stub()).complete(request())).notes == ("a note of its own",)


def test_jitter_changes_nothing_that_is_recorded() -> None:
    def notes() -> tuple[str, ...]:
        lost = [HttpFailed("crashed", "lost", retryable=True) for _ in range(2)]
        return asyncio.run(Retrying(Stub(lost), wait=0.001, jitter=0.01).complete(request())).notes

    expected = ("a note of its own", "answered on try 3, after waiting 0.001 s, 0.002 s")
    assert notes() == notes() == expected  # C3


RETRY_ONCE = """
import asyncio, sys
from rebut.backends.http.openai import OpenAI
from rebut.backends.wrappers import Retrying
from rebut.core.types import ModelSpec, Participant, Request
request = Request("k", Participant("seat", ModelSpec("openai", "m")), "Why?", timeout=10)
model = Retrying(OpenAI(base_url=sys.argv[1], api_key="", model="m"), wait=0.0, jitter=0.0)
print(*asyncio.run(model.complete(request)).notes)
"""


def test_retries_write_nothing_to_the_screen() -> None:
    # In a process of its own, since pytest catches log lines that would be printed elsewhere.
    with Loopback(mode="status", status=503, first=1) as server:
        done = subprocess.run(
            [sys.executable, "-c", RETRY_ONCE, server.url],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    assert (done.stdout, done.stderr) == ("answered on try 2, after waiting 0 s\n", "")  # C14


def test_no_more_calls_run_at_once_than_the_provider_allows_and_others_are_not_held_up() -> None:
    async def run() -> dict[str, int]:
        running, most = {"a": 0, "b": 0}, {"a": 0, "b": 0}

        class Busy:
            def __init__(self, name: str) -> None:
                self.name = name

            async def complete(self, request: Request) -> Reply:
                running[self.name] += 1
                most[self.name] = max(most[self.name], running[self.name])
                for _ in range(5):
                    await asyncio.sleep(0)
                running[self.name] -= 1
                return Reply("yes")

        models = [Limited(Busy("a"), "a", 3) for _ in range(4)] + [Limited(Busy("b"), "b", 5) for _ in range(4)]
        await asyncio.gather(*(model.complete(request()) for model in models * 5))
        return most

    assert asyncio.run(run()) == {"a": 3, "b": 5}  # C4
    assert asyncio.run(run()) == {"a": 3, "b": 5}


@pytest.fixture(autouse=True)
def own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `clock_ahead` changes is restored after each test."""
    monkeypatch.setattr(wrappers, "clock", wrappers.clock)


def clock_ahead() -> list[float]:
    """By how many seconds the clocks of the running loop and of the wrappers are ahead; a test changes it."""
    loop = asyncio.get_running_loop()
    real, clock, ahead = loop.time, wrappers.clock, [0.0]
    loop.time = lambda: real() + ahead[0]  # type: ignore[method-assign]
    wrappers.clock = lambda: clock() + ahead[0]
    return ahead


class Holder:
    """Has a place until it may go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def complete(self, request: Request) -> Reply:
        await self.go.wait()
        return Reply("yes")


async def wait_for_place(backend: Backend, asked: Request) -> None:
    """A call that gets its place after 200 seconds."""
    ahead, holder = clock_ahead(), Holder()
    holding = asyncio.create_task(Limited(holder, "p", 1).complete(request()))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(Limited(backend, "p", 1).complete(asked))
    await asyncio.sleep(0)
    ahead[0] = 200.0
    holder.go.set()
    await asyncio.gather(holding, waiting)


def test_waiting_for_a_place_takes_nothing_from_the_requests_time() -> None:
    stub = Stub([HttpFailed("crashed", "lost", retryable=True)])
    asyncio.run(wait_for_place(Retrying(stub, wait=0.0, jitter=0.0), request(timeout=240.0)))
    first, second = stub.seen  # C5
    assert first == 240
    assert 200 < second <= 240


def test_the_wait_for_a_place_ends_with_what_the_minutes_leave_and_is_told() -> None:
    # C4: the limits hold also for those who stand in line
    async def run() -> tuple[str, list[str]]:
        skipped, told = clock_ahead(), list[str]()
        holding = asyncio.create_task(Limited(Holder(), "p", 1).complete(request()))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(
            Limited(Stub([]), "p", 1, called="q").complete(request(timeout=240.0, patience=100.0, on_wait=told.append))
        )
        await asyncio.sleep(0)
        skipped[0] = 101.0
        with pytest.raises(ParticipantFailed) as caught:
            await waiting
        holding.cancel()
        await asyncio.gather(holding, return_exceptions=True)
        return f"{caught.value.kind}: {caught.value.message}", told

    failed, told = asyncio.run(run())
    assert failed == "timeout: q: no free slot within 100 s (limit: 1 at once)"
    assert told == ["q: waiting for a free slot (limit: 1 at once)"], "slots are shared by one name and told by another"


def test_no_one_waits_longer_for_a_place_than_those_before_it_may_take() -> None:  # C4
    async def run(ahead: int, seconds: float) -> bool:
        skipped, line = clock_ahead(), []
        for _ in range(1 + ahead):  # one has the place, the others stand in line
            line.append(asyncio.create_task(Limited(Holder(), "p", 1).complete(request(timeout=9999.0))))
            await asyncio.sleep(0)
        last = asyncio.create_task(Limited(Holder(), "p", 1).complete(request(timeout=60.0)))
        await asyncio.sleep(0)
        skipped[0] = seconds
        await asyncio.sleep(0.01)
        gave_up = last.done() and isinstance(last.exception(), ParticipantFailed)
        for task in (*line, last):
            task.cancel()
        await asyncio.gather(*line, last, return_exceptions=True)
        return gave_up

    assert not asyncio.run(run(1, 119)), "two calls of 60 s may come before it"
    assert asyncio.run(run(1, 121))
    assert asyncio.run(run(0, 61))


def test_what_the_wait_took_of_the_minutes_is_gone_for_the_call_too() -> None:  # C4
    stub = Stub([])
    asyncio.run(wait_for_place(stub, request(timeout=240.0, patience=300.0)))
    (left,) = stub.seen
    assert 90 < left <= 100


def test_a_wait_for_another_try_is_told_while_it_lasts() -> None:  # C14
    told: list[str] = []
    with Loopback(mode="status", status=429, retry_after="1", first=1) as server:

        async def ask_it() -> Reply:
            model = Retrying(OpenAI(base_url=server.url, api_key="", model="m"), name="openai")
            return await model.complete(request(on_wait=told.append))

        assert asyncio.run(ask_it()).text
    assert told == ["openai: 429, again in 1 s", ""]


def test_a_place_is_given_back_after_a_failure_and_after_a_cancellation() -> None:
    async def run() -> Reply:
        failing = Limited(Stub([ParticipantFailed("crashed", "gone")]), "p", 1)
        with pytest.raises(ParticipantFailed):
            await failing.complete(request())

        class Stuck:
            async def complete(self, request: Request) -> Reply:
                await asyncio.Event().wait()
                raise AssertionError("never")

        stuck = asyncio.create_task(Limited(Stuck(), "p", 1).complete(request()))
        await asyncio.sleep(0)
        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)
        return await failing.complete(request())

    assert asyncio.run(asyncio.wait_for(run(), 10)).text == "yes"  # C14


def test_the_servers_own_answers_follow_the_schema_that_was_asked_for() -> None:
    schema: dict[str, Any] = {"type": "object"}
    with Loopback({"verdict": {"winner": "b"}, "opening": "{}"}, refuse=["response_format"]) as server:
        asked = request(schema=schema, schema_name="verdict", prompt="Give your verdict.")
        assert json.loads(ask(server, asked).text) == {"winner": "b"}  # C1


@pytest.mark.parametrize("mode", ["ok", "plain", "late-end"])
def test_connections_are_kept_and_reused(mode: str) -> None:
    with Loopback(mode=mode) as server:  # C14

        async def five() -> None:
            model = OpenAI(base_url=server.url, api_key="", model="m")
            for _ in range(5):
                await model.complete(request())

        asyncio.run(five())
        assert (server.calls, server.connections) == (5, 1)


def test_a_client_serves_one_loop_after_the_other_and_closes_early_when_told() -> None:
    client = HttpClient()
    with Loopback() as server:  # C14

        async def use() -> None:
            await OpenAI(base_url=server.url, api_key="", model="m", client=client).complete(request())
            await client.close()
            await client.close()
            await OpenAI(base_url=server.url, api_key="", model="m", client=client).complete(request())

        asyncio.run(use())
        asyncio.run(use())
        assert (server.calls, server.connections) == (4, 4)
    assert not client._open
    assert not client._keepers


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("38", 38.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Wed, 01 Jan 2025 00:00:40 GMT", 40.0),
        ("Tue, 31 Dec 2024 23:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date_on_the_servers_clock(value: str, seconds: float | None) -> None:
    assert retry_after({"Retry-After": value, "Date": "Wed, 01 Jan 2025 00:00:00 GMT"}) == seconds  # C5


def test_prices_are_known_or_none_and_never_zero_for_unknown() -> None:
    used = Usage(1_000_000, 1_000_000)  # C4
    assert price("gpt-4o", used, "openai") == worst_case("gpt-4o", "openai", 1_000_000, 1_000_000) == 12.5
    assert price("gpt-4o", Usage(1_000_000, 1_000_000, cached=1_000_000), "openai") == 11.25
    assert price("gpt-4o", used) == 12.5
    assert price("no-such-model", used, "openai") is None
    assert price("gpt-4o", used, "my-own-server") is None
    assert price("gpt-4o", Usage(1_000_000, None), "openai") is None
    assert worst_case("no-such-model", "openai", 1, 1) is None


def test_only_addresses_of_this_machine_count_as_local() -> None:
    here = ["localhost", "x.localhost", "127.0.0.1", "127.9.9.9", "::1"]  # C16
    assert all(is_loopback(host) for host in here)
    assert not any(is_loopback(host) for host in ["10.0.0.1", "example.com", "localhost.example.com", "0.0.0.0"])
    assert Address.of("a", "https://[::1]/v1").place == "[::1]:443"


def test_a_server_in_its_own_process_counts_obeys_and_leaves_a_log(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    with Loopback(process=True, log=log) as server:  # C3
        ask(server, request(schema={"type": "object"}, schema_name="opening"))
        server.control(mode="status", status=503, first=1)
        assert failing(server, tries=1).status == 503
        assert ask(server).text.startswith("All is well")
        assert server.calls == 3
    assert [json.loads(line)["schema"] for line in log.read_text().splitlines()] == ["opening", "", ""]


@pytest.mark.parametrize("own_time", [True, False])
def test_a_backend_that_keeps_its_own_time_may_make_something_of_what_it_heard(own_time: bool) -> None:  # C5
    class Slow:
        async def complete(self, request: Request) -> Reply:
            try:
                async with asyncio.timeout(request.timeout):
                    await asyncio.Event().wait()
            except TimeoutError:
                pass
            return Reply("all but the end of the stream")

    asked = Timed(Slow(), own_time=own_time).complete(request(timeout=0.01))
    if own_time:
        assert asyncio.run(asked).text == "all but the end of the stream"
    else:
        with pytest.raises(ParticipantFailed, match="no answer within"):
            asyncio.run(asked)
