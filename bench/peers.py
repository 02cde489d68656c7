"""rebut beside the strongest peer, llm-council-core, in one run: wall beside the ideal, CPU, prompt bytes and memory.

    make bench-peers

The peer is installed from the package registry into an environment of its own, below ~/.cache/rebut-bench-peers
(`REBUT_PEERS_CACHE` moves it). Both talk to a model server on this machine that gives every reply whole after 0.2 s.
The work is not the same: a council is seven calls in three steps, with plain text in and out; a duel of two rounds is
five calls one after the other, checked, recorded and synced. So each is shown beside its own ideal.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import said
from bench.calls import duel
from bench.places import own_home

PEER = "llm-council-core==0.53.0"
LATENCY = 0.2
COUNTS = (1, 20)
STEPS = {"llm-council-core": 3, "rebut duel": 5}
"""Calls that must follow each other in one debate."""
CALLS = {"llm-council-core": 7, "rebut duel": 5}
HERE = Path(__file__).parent
RANKED = "Each is sound.\n\nFINAL RANKING:\n1. Response A\n2. Response B\n3. Response C\n"


def main() -> int:
    try:
        python = _installed()
    except subprocess.CalledProcessError as error:
        print(f"{PEER} cannot be installed, so nothing is compared: {error.stderr.strip()[-300:]}", file=sys.stderr)
        return 1
    rows: list[tuple[str, ...]] = []
    for count in COUNTS:
        for name, held in (("llm-council-core", _councils), ("rebut duel", _duels)):
            with _serving() as (url, told):
                took = held(python, url, count)
                seen = told()
            debates = count + 1  # both hold one debate before they are measured: imports and first connections
            if seen["calls"] != debates * CALLS[name]:
                print(f"{name}: {seen['calls']} calls for {debates} debates", file=sys.stderr)
            ideal = STEPS[name] * LATENCY
            rows.append(
                (
                    f"{count} at once: {name}",
                    f"{took['wall']:.2f} s",
                    f"{ideal:.1f} s",
                    f"{took['wall'] / ideal:.2f}",
                    f"{1000 * took['cpu'] / count:.0f} ms",
                    f"{seen['bytes'] / debates / 1000:.1f} kB",
                    f"{took['peak_mb']:.0f} MB",
                )
            )
    _print(rows)
    return 0


def _print(rows: list[tuple[str, ...]]) -> None:
    head = ("", "wall", "ideal", "times", "CPU a debate", "sent a debate", "peak memory")
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {PEER}\n")
    for row in (head, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells).rstrip())


def _installed() -> Path:
    place = Path(os.environ.get("REBUT_PEERS_CACHE") or Path.home() / ".cache/rebut-bench-peers")
    python, mark = place / "venv/bin/python", place / PEER
    if not mark.exists():
        place.mkdir(parents=True, exist_ok=True)
        quietly: dict[str, Any] = {"check": True, "capture_output": True, "text": True}
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place / "venv")], **quietly)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PEER], **quietly)
        mark.touch()
    return python


def _councils(python: Path, url: str, count: int) -> dict[str, float]:
    """In its own environment, with nothing of the user's: a key that is none, and this machine's server only."""
    with tempfile.TemporaryDirectory() as home:
        config = Path(home) / "council.yaml"
        models = ["test/one", "test/two", "test/three"]
        provider = {"openrouter": {"base_url": f"{url}/chat/completions", "api_key": "sk-test"}}
        gateways = {"default": "openrouter", "providers": provider}
        config.write_text(json.dumps({"council": {"gateways": gateways}}))
        env = {
            "HOME": home,
            "PATH": "/usr/bin:/bin",
            "OPENROUTER_API_KEY": "sk-test",
            "LLM_COUNCIL_CONFIG": str(config),
            "LLM_COUNCIL_MODELS": ",".join(models),
            "LLM_COUNCIL_CHAIRMAN": models[0],
            "LLM_COUNCIL_TELEMETRY": "off",
            "LLM_COUNCIL_MODEL_INTELLIGENCE": "false",
            "LLM_COUNCIL_DISCOVERY_ENABLED": "false",
        }
        # -P: the modules beside the script are not for the peer
        command = [str(python), "-P", str(HERE / "peer_council.py"), str(count)]
        ran = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"the peer failed: {ran.stderr[-2000:]}")
        found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
        return found


def _duels(python: Path, url: str, count: int) -> dict[str, float]:
    """In a process of its own, too, so that its memory is its own."""
    command = [sys.executable, "-c", f"from bench import peers; peers.hold_duels({url!r}, {count})"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return found


def hold_duels(url: str, count: int) -> None:
    async def hold(workspace: Path) -> dict[str, float]:
        await duel(url, workspace)
        began, cpu = time.monotonic(), time.process_time()
        await asyncio.gather(*(duel(url, workspace) for _ in range(count)))
        return {"wall": time.monotonic() - began, "cpu": time.process_time() - cpu}

    with own_home() as workspace:
        took = asyncio.run(hold(workspace))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**took, "peak_mb": peak}))


# The server: answers a form by its name, and anything else with a ranking, which is also an answer.


@contextmanager
def _serving() -> Iterator[tuple[str, Any]]:
    command = [sys.executable, "-m", "bench.peers", "--serve"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout and child.stdin
        port = int(child.stdout.readline())

        def told() -> dict[str, int]:
            assert child.stdout and child.stdin
            child.stdin.write("told\n")
            child.stdin.flush()
            found: dict[str, int] = json.loads(child.stdout.readline())
            return found

        yield f"http://127.0.0.1:{port}/v1", told
    finally:
        child.kill()
        child.communicate()


async def _serve() -> None:
    from aiohttp import web

    answers, seen = said.by_form(), {"calls": 0, "bytes": 0}

    async def answer(request: web.Request) -> web.StreamResponse:
        data = await request.read()
        seen["calls"] += 1
        seen["bytes"] += len(data)
        body = json.loads(data)
        form = body.get("response_format", {}).get("json_schema", {}).get("name", "")
        text = json.dumps(answers[form]) if form in answers else RANKED
        await asyncio.sleep(LATENCY)
        usage = {"prompt_tokens": 900, "completion_tokens": 500, "total_tokens": 1400}
        head = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"]}
        if not body.get("stream"):
            message = {"role": "assistant", "content": text}
            return web.json_response({**head, "choices": [{"index": 0, "message": message}], "usage": usage})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        frames: list[Any] = [{**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}]
        frames += [{**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
        frames += [{**head, "choices": [], "usage": usage}]
        sent = "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames) + "data: [DONE]\n\n"
        await response.write(sent.encode())
        return response

    app = web.Application(client_max_size=50_000_000)
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        asyncio.run(_serve())
    else:
        sys.exit(main())
