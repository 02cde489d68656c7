"""Model names without a provider, and the message where there is no model at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import voices
from loopback import Loopback

import rebut
from rebut.core.files import shipped
from rebut.core.types import ModelSpec
from rebut.setup.config import Config, load_config
from rebut.setup.discover import GET_ONE
from rebut.setup.model_names import resolved


def config(tmp_path: Path, **env: str) -> Config:
    return load_config(workspace=tmp_path, env=env)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("gpt-5", "openai:gpt-5"),
        ("gpt-5.5@high", "openai:gpt-5.5@high"),
        ("o3", "openai:o3"),
        ("o4-mini@low", "openai:o4-mini@low"),
        ("chatgpt-4o-latest", "openai:chatgpt-4o-latest"),
        ("claude-opus-4", "anthropic:claude-opus-4"),
        ("gemini-3.8-flash", "google:gemini-3.8-flash"),
        ("reviewer=gpt-5", "reviewer=openai:gpt-5"),
        # Names of tools, providers and participants stay what they are.
        ("claude", "claude"),
        ("gemini", "gemini"),
        ("qwen", "qwen"),
        ("openai", "openai"),
        ("openai:gpt-5", "openai:gpt-5"),
        ("lint", "lint"),
        ("local", "local"),
        ("gpt-proxy:x", "gpt-proxy:x"),  # a provider in Python code
        ("opnai", "opnai"),  # reported with the nearest name
    ],
)
def test_a_model_name_alone_means_the_provider_of_its_family(given: str, meant: str, tmp_path: Path) -> None:
    assert resolved(ModelSpec.parse(given), config(tmp_path), {"gpt-proxy"}, {}).written == meant


@pytest.mark.parametrize(
    ("given", "told"),
    [("qwen3-coder", "openrouter:qwen/qwen3-coder"), ("mistral-zzz", "ollama:mistral-zzz or lmstudio:mistral-zzz")],
)
def test_where_several_may_have_it_the_message_says_who(given: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(rebut.UsageError, match="it is not clear who provides it") as error:
        resolved(ModelSpec.parse(given), config(tmp_path), (), {})
    assert told in error.value.hint


def test_a_server_on_this_machine_that_has_the_model_is_named(tmp_path: Path) -> None:
    with Loopback(model="qwen3:8b") as server:
        (tmp_path / "rebut-config.toml").write_text(f'[providers.ollama]\nbase_url = "{server.url}"\n')
        made = config(tmp_path, REBUT_CONFIG=str(tmp_path / "rebut-config.toml"))
        with pytest.raises(rebut.UsageError) as error:
            resolved(ModelSpec.parse("qwen3:8b"), made, (), {})
    assert error.value.hint.startswith("Write ollama:qwen3:8b")


def test_a_debate_takes_bare_names_everywhere_a_model_is_named(tmp_path: Path) -> None:
    words = ("duel", "Redis?", "--proposer", "gpt-5", "--challenger", "gpt-5-mini", "--dry-run", "--json")
    done = voices.cli(*words, cwd=tmp_path)
    assert done.returncode == 0 and '"openai"' in done.stdout, done.stderr
    missing = voices.cli("ask", "Redis?", "--with", "gpt-5,gpt-5-mini", cwd=tmp_path)
    assert missing.returncode == 2 and "OPENAI_API_KEY" in missing.stderr


def test_without_any_model_the_message_names_variables_tools_and_what_works_anyway(tmp_path: Path) -> None:
    done = voices.cli("ask", "Redis or Postgres?", cwd=tmp_path)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2, said
    tables: Any = shipped("providers.toml")
    keys = [table["api_key_env"] for table in tables.values() if "api_key_env" in table and not table.get("free")]
    for name in (*keys, *shipped("tools.toml")["tools"], "rebut init", "rebut demo", "rebut check", "lint,rules"):
        assert name in GET_ONE and name in said, name
