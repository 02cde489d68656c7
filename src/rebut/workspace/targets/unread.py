"""Files of a target that no model reads: those that leave a review in doubt, those that are accepted or exempt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import cast

from rebut.core.frozen import frozen
from rebut.core.text import counted
from rebut.record.record import Record
from rebut.workspace.file_reader import HIDDEN, NEVER_READ

MEDIA = re.compile(
    r"\.(?:avif?|bmp|eot|gif|heic|ico|jpe?g|mkv|mov|mp[34]|ogg|otf|png|psd|tiff?|ttf|wav|webm|webp|woff2?)$", re.I
)
"""Pictures, fonts, sound and film: a review need not read them."""
NO_ANALYSER = "no analyser is for such a file"
MOST_NAMED = 50
"""How many of the files that were not read a message names. The record has all of them."""
ACCEPTED = "unread_ok"
"""The fact that holds the paths which the user, or the base commit, permits a review to leave unread."""


@frozen
class UnreadFiles:
    """The lines of `Target.left_out`, by what they mean for a review."""

    doubtful: tuple[str, ...] = ()
    """Not read and not accepted: the review is inconclusive."""
    accepted: tuple[str, ...] = ()
    media: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of files that a policy has to accept, whether it does or not."""
        return (*self.doubtful, *self.accepted)

    @property
    def caveat(self) -> str:
        """For the heading; empty if nothing is in doubt."""
        return f"{counted(len(self.doubtful), 'FILE', 'FILES')} NOT READ" if self.doubtful else ""

    @property
    def sentence(self) -> str:
        """The doubtful files in words."""
        return "; ".join(not_read(self.doubtful))

    @property
    def notes(self) -> list[str]:
        said = not_read(self.doubtful)
        said += [f"not read, which [gate] unread_ok accepts: {line}" for line in few(self.accepted)]
        if self.media:
            files = counted(len(self.media), "file")
            said.append(f"not read, and not needed for a review: {files} with pictures, fonts, sound or film")
        return said


def unread_files(left_out: Sequence[str], accepted: Sequence[str] = ()) -> UnreadFiles:
    """Sort the lines of `Target.left_out`; `accepted` are paths, folders or globs."""
    return _unread_files(tuple(left_out), tuple(accepted))


@lru_cache(maxsize=2)  # a review asks ten times, and a change may leave out 200,000 files
def _unread_files(left_out: tuple[str, ...], accepted: tuple[str, ...]) -> UnreadFiles:
    from rebut.workspace.targets.git_change import is_own

    doubtful, allowed, media = list[str](), list[str](), list[str]()
    for line in left_out:
        if line.endswith(": a submodule, removed") or is_own(line):
            continue
        if _is_media(line):
            media.append(line)
        elif any(covers(pattern, _path(line)) for pattern in accepted):
            allowed.append(line)
        else:
            doubtful.append(line)
    return UnreadFiles(tuple(doubtful), tuple(allowed), tuple(media))


def few(lines: Sequence[str]) -> list[str]:
    """The lines; if they are too many for a message, the first of them and how many more there are."""
    more = len(lines) - MOST_NAMED
    return [*lines[:MOST_NAMED], f"{more:,} more files"] if more > 1 else list(lines)


def not_read(lines: Sequence[str]) -> list[str]:
    """Notes about files that were not read."""
    return [f"not read: {line}" for line in few(lines)]


def unread_in(record: Record) -> UnreadFiles:
    """The files of its target that a session did not read, from its record alone."""
    fact, ok = record.facts.get("target"), record.facts.get(ACCEPTED)
    if fact is None or not isinstance(fact.value, dict):
        return UnreadFiles()
    lines = cast(list[str], fact.value.get("left_out", []))
    attempts = (one for call in record.calls.values() for one in call.attempts.values())
    skipped = dict.fromkeys(f"{path}: {NO_ANALYSER}" for one in attempts for path in one.skipped)
    return unread_files([*lines, *skipped], cast(list[str], ok.value) if ok else ())


def _is_media(line: str) -> bool:
    from rebut.workspace.targets.git_change import STANDS_FOR

    return any(line.endswith(why) and MEDIA.search(line.removesuffix(why)) for why in (": binary", f": {STANDS_FOR}"))


def _path(line: str) -> str:
    """The path of a line; some reasons contain a colon themselves."""
    why = next((one for one in (NEVER_READ, HIDDEN) if line.endswith(f": {one}")), "")
    return line.removesuffix(f": {why}") if why else line.rpartition(": ")[0]


def covers(pattern: str, path: str) -> bool:
    """Whether a pattern names a path or a folder above it. Letters match exactly: to accept too little is safe."""
    pattern, parts = pattern.removeprefix("./").rstrip("/"), path.split("/")
    return any(fnmatchcase("/".join(parts[: n + 1]), pattern) for n in range(len(parts)))
