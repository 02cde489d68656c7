"""A model provider on the loopback address that writes down each call: when it came, when it was answered, what it was.

    python -m tests_postgres.provider LOG SECONDS [--busy FROM TO]

Prints its port. Answers a duel by the name of the form, after SECONDS. Between the calls FROM and TO it answers 429
with `Retry-After: 3`. Ends when its standard input closes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duels
from aiohttp import web

HERE = Path(__file__).parent.parent
MINE = """[providers.mine]
wire = "openai"
base_url = "http://127.0.0.1:{port}/v1"
free = true
{caps}
"""


@dataclass(frozen=True)
class Call:
    """One call, as the provider saw it."""

    debate: str
    """The user's id, which the topic begins with."""
    form: str
    came: float
    left: float
    status: int


@dataclass(frozen=True)
class Provider:
    port: int
    log: Path

    def calls(self) -> list[Call]:
        return [Call(**json.loads(line)) for line in self.log.read_text().splitlines()]

    def configure(self, home: Path, caps: str = "") -> None:
        """Make it the provider `mine` of a user."""
        folder = home / ".config/rebut"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(MINE.format(port=self.port, caps=caps))


def most_in(calls: Sequence[Call], seconds: float) -> int:
    """The most calls that came within any such span."""
    came, most, first = sorted(call.came for call in calls), 0, 0
    for last, at in enumerate(came):
        while came[first] <= at - seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


def most_at_once(calls: Sequence[Call]) -> int:
    steps = sorted([(call.came, 1) for call in calls] + [(call.left, -1) for call in calls])
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


@contextmanager
def serving(log: Path, seconds: float, *more: str) -> Iterator[Provider]:
    command = [sys.executable, "-m", "tests_postgres.provider", str(log), str(seconds), *more]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    log.touch()
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd=HERE)
    try:
        assert child.stdout
        yield Provider(int(child.stdout.readline()), log)
    finally:
        child.kill()
        child.communicate()


async def _serve(log: Path, seconds: float, busy: range) -> None:
    said, count = duels.by_form(), 0

    async def answer(request: web.Request) -> web.Response:
        nonlocal count
        came, count = time.monotonic(), count + 1
        body = await request.text()
        form = json.loads(body)["response_format"]["json_schema"]["name"]
        found = re.search(r"(q\d+): ", body)
        status = 429 if count in busy else 200
        try:
            if status == 200:
                await asyncio.sleep(seconds)
        finally:
            row = {"debate": found[1] if found else "", "form": form, "came": came, "left": time.monotonic()}
            with log.open("a") as file:
                file.write(json.dumps({**row, "status": status}) + "\n")
        if status == 429:
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "3"})
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": json.dumps(said[form])},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 900, "completion_tokens": 500}
        return web.json_response(
            {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
        )

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    with suppress(PermissionError):
        os.nice(-15)  # what is measured here is when requests arrive, not when a busy machine lets this process look
    PLACE, TOOK, *REST = sys.argv[1:]
    asyncio.run(_serve(Path(PLACE), float(TOOK), range(int(REST[1]), int(REST[2])) if REST else range(0)))
