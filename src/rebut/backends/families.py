"""The family of a model, derived from its name, for models behind a router or a local server."""

from __future__ import annotations

import re

_FAMILIES = {
    "chatgpt": "openai",
    "claude": "anthropic",
    "codestral": "mistralai",
    "command": "cohere",
    "deepseek": "deepseek",
    "devstral": "mistralai",
    "gemini": "google",
    "gemma": "google",
    "glm": "z-ai",
    "gpt": "openai",
    "granite": "ibm-granite",
    "grok": "x-ai",
    "kimi": "moonshotai",
    "llama": "meta-llama",
    "magistral": "mistralai",
    "ministral": "mistralai",
    "mistral": "mistralai",
    "mixtral": "mistralai",
    "nemotron": "nvidia",
    "o": "openai",  # o3, o4-mini
    "phi": "microsoft",
    "qwen": "qwen",
    "qwq": "qwen",
}


def family_of(model: str) -> str:
    """`anthropic/claude-…` → anthropic; `qwen3:8b` → qwen; empty for an unknown name."""
    *vendors, name = model.lower().split("/")
    if vendors and vendors[0] not in ("", ".", "..", "~"):  # these begin the path of a file
        return vendors[-1]
    first_word = re.match(r"[a-z]+", name)
    return _FAMILIES.get(first_word[0], "") if first_word else ""
