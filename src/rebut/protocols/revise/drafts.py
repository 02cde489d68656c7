"""Round 0: both authors write, each without sight of the other. What stands in the folder already is taken up."""

from __future__ import annotations

import os
from pathlib import Path

from rebut.core.errors import Aborted, TooFewReplies, UsageError
from rebut.domain.ledger import Claim
from rebut.domain.prompts import fill
from rebut.engine.debate import Ask, Debate, Failure
from rebut.engine.protocol import Artifact
from rebut.protocols.revise import prompts as words, prose, reply_checks as rules
from rebut.protocols.revise.forms import Draft
from rebut.protocols.revise.headings import parts
from rebut.protocols.revise.material import shared
from rebut.protocols.revise.state import Course, Version
from rebut.protocols.shared import LONG, ask_twice, told

LARGEST = 400_000


async def written(debate: Debate, course: Course) -> None:
    """Fill in version 1 of each author, or why there is none. Without any, there is nothing to go on with."""
    r = debate.scope("r0")
    found = [await _taken_up(r, course, n) for n in range(len(course.authors))]
    missing = [n for n, text in enumerate(found) if text is None]
    prompt = fill(words.DRAFT_PLAN if course.stage.name == "plan" else words.DRAFT_REVIEW, **shared(r))
    asks = [Ask(course.authors[n], prompt, Draft, rules.draft, max_output=LONG) for n in missing]
    course.versions = [[] for _ in course.authors]
    try:
        got = await ask_twice(r, "draft", asks, need=1 if len(missing) == len(course.authors) else 0)
    except TooFewReplies as error:
        raise _aborted(course, error.message) from error
    drafts = dict(zip(missing, got, strict=True))
    if all(isinstance(one, Failure) for one in got) and len(missing) == len(course.authors):
        raise _aborted(course, "; ".join(told(one) for one in got if isinstance(one, Failure)))
    for n, text in enumerate(found):
        name = course.files.version(n, 1)
        if text is not None:
            path = course.path(name)
            if debate.is_fork:  # it was taken up in another phase, and a phase holds all that its debate began with
                [path] = await r.leave(Artifact(path, text))
            course.versions[n].append(Version(1, text, path, True, await _cited(r, course, n, text)))
            continue
        one = drafts[n]
        if isinstance(one, Failure):
            course.missing[n] = told(one)
            continue
        text = parts(one.value.document).document.strip("\n") + "\n"
        [path] = await r.leave(Artifact(course.path(name), text))
        course.versions[n].append(Version(1, text, path, claims=await _cited(r, course, n, text)))


async def _cited(r: Debate, course: Course, author: int, text: str) -> tuple[Claim, ...]:
    seat = course.authors[author].seat
    r.take_up({}, text)
    return await prose.looked_up(r, f"draft@{seat}", seat, 0, parts(text).document)


async def _taken_up(r: Debate, course: Course, author: int) -> str | None:
    """A draft that is there already, read once: later versions of the file are not looked at."""
    if course.settings.strategy == "single" or not course.settings.shared:
        return None
    name = course.files.version(author, 1)
    value = await r.once(
        f"taken-up@{course.authors[author].seat}", lambda: _read(course.folder / name), of=name, cls="input"
    )
    return value if isinstance(value, str) else None


def _read(path: Path) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if path.is_symlink() else error.strerror
        raise UsageError(f"{path} should be taken up as a first draft, and cannot be read: {why}") from error
    try:
        with os.fdopen(fd, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{path} should be taken up as a first draft, and cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise UsageError(f"{path} is larger than {LARGEST:,} bytes", "Shorten it, or move it away to have it written.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8", "Save it as UTF-8, or move it away to have it written.") from error
    return text if text.strip() else None


def _aborted(course: Course, why: str) -> Aborted:
    many = "neither author wrote" if len(course.authors) > 1 else "the author did not write"
    return Aborted(
        f"{many} a {course.stage.name}: {why}",
        "Without one there is nothing to go on with. Resume when they can answer.",
    )
