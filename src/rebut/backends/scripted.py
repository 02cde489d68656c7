"""A participant that reads its answers from a file, for demonstrations, tests and offline runs.

    {"model": "debater-a", "family": "scripted a",
     "answers": {"r1/opening@proposer": {"json": {"claim": "…"}},
                 "r*/defense@*": [{"text": "first try"}, {"text": "second try"}]}}

A question's key is looked up literally, then as a pattern, in the order of the file. A list has one answer per attempt,
and its last one repeats. There is no counter, so a new process gives the same answers as the old one would have.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path

from rebut.core import files
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, amount, count
from rebut.core.types import FAILURES, Reply, Request, Usage
from rebut.core.working_time import timeout

_PIECE = 24
LARGEST = 50_000_000
_EXAMPLE = 'An answer is {"text": "…"}, {"json": {…}}, {"fail": "timeout"} or {"hang": true}, or a list of these.'
_FIELDS = {"text", "json", "fail", "hang", "message", "delay", "stream", "usage", "usd", "truncated"}


@frozen
class ScriptedAnswer:
    """One scripted answer, or a scripted failure."""

    text: str = ""
    fail: str = ""
    message: str = ""
    hang: bool = False
    delay: float = 0.0
    stream: float = 0.0
    """Seconds between two pieces of text."""
    usage: Usage = field(default_factory=Usage)
    usd: float | None = None
    truncated: bool = False


class Scripted:
    """Answers by key from a JSON file, which is read and checked at construction."""

    def __init__(self, path: Path, pace: float = 1.0) -> None:
        self._path, self._pace = path, pace
        self.model, self.family, self._answers = _read(path)

    async def complete(self, request: Request) -> Reply:
        answer = self._find(request)
        try:
            async with timeout(request.timeout):
                if answer.hang:
                    await asyncio.Event().wait()
                await asyncio.sleep(answer.delay * self._pace)
                if answer.fail:
                    raise ParticipantFailed(answer.fail, answer.message or f"{self.model}: scripted {answer.fail}")
                for at in range(0, len(answer.text), _PIECE):
                    if at and answer.stream and self._pace:
                        await asyncio.sleep(answer.stream * self._pace)
                    request.on_text(answer.text[at : at + _PIECE])
        except TimeoutError:
            raise ParticipantFailed("timeout", f"{self.model}: no answer within {request.timeout:g} s") from None
        if not answer.text.strip():
            raise ParticipantFailed("bad reply", f"{self.model}: empty reply")
        return Reply(answer.text, self.model, self.family, answer.usage, answer.usd, answer.truncated)

    def _find(self, request: Request) -> ScriptedAnswer:
        tries = self._answers.get(request.key)
        if tries is None:
            fitting = (found for pattern, found in self._answers.items() if fnmatchcase(request.key, pattern))
            tries = next(fitting, None)
        if tries is None:
            raise ParticipantFailed(
                "missing tool",
                f"{self._path} has no answer for {request.key}",
                f'Add "{request.key}" under "answers"'
                + (f', or a pattern such as "*/{request.key.rpartition("/")[2]}".' if "/" in request.key else "."),
            )
        return tries[min(request.attempt, len(tries)) - 1]


def _read(path: Path) -> tuple[str, str, dict[str, list[ScriptedAnswer]]]:
    try:
        source = files.read(path, LARGEST + 1).decode()
        if len(source) > LARGEST:
            raise UsageError(f"{path} is larger than {LARGEST:,} bytes", "Check the path after scripted:.")
        whole = json.loads(source, object_pairs_hook=_no_twins)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", "Check the path after scripted:.") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}, line {error.lineno}: {error.msg}", "The file must be JSON.") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}, line {line}: not UTF-8", "Save the file as UTF-8.") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply", "Use fewer brackets inside each other.") from None
    except _Twins as twins:
        line = _line(source, twins.name, source.find(json.dumps(twins.name)) + 1)
        raise UsageError(f"{path}, line {line}: {twins.name!r} appears twice", "Keep one of them.") from None
    except ValueError as error:  # a number with thousands of digits
        raise UsageError(f"{path}: {error}", "Use smaller numbers.") from None

    def wrong(what: str, name: str = "") -> UsageError:
        return UsageError(f"{path}, line {_line(source, name)}: {what}", _EXAMPLE)

    if not isinstance(whole, dict) or not isinstance(whole.get("answers"), dict):
        raise wrong('needs an object with "answers", an object of key to answer')
    if odd := sorted(set(whole) - {"model", "family", "answers"}):
        raise wrong(f"unknown field {odd[0]!r}", odd[0])
    model, family = whole.get("model", path.stem), whole.get("family", "scripted")
    if not isinstance(model, str) or not isinstance(family, str):
        raise wrong("model and family must be text", "model" if not isinstance(model, str) else "family")
    answers = {}
    for key, value in whole["answers"].items():
        tries = value if isinstance(value, list) else [value]
        try:
            answers[key] = [_answer(one) for one in tries]
        except ValueError as error:
            raise wrong(f"the answer for {key!r} {error}", key) from None
        if not tries:
            raise wrong(f"the answer for {key!r} is an empty list", key)
    return model, family, answers


def _answer(value: Json) -> ScriptedAnswer:
    """Check one answer. Raises ValueError with what is wrong."""
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    if odd := sorted(set(value) - _FIELDS):
        raise ValueError(f"has the unknown field {odd[0]!r}")
    if sum(name in value for name in ("text", "json", "fail", "hang")) != 1:
        raise ValueError("needs exactly one of text, json, fail and hang")
    text, fail, message, usage = value.get("text", ""), value.get("fail", ""), value.get("message", ""), {}
    if "json" in value:
        text = json.dumps(value["json"], ensure_ascii=False)
    if not isinstance(text, str) or not isinstance(message, str):
        raise ValueError("has a text or message that is not a string")
    if not isinstance(fail, str) or ("fail" in value and fail not in FAILURES):
        raise ValueError(f"fails in an unknown way; the classes are {', '.join(FAILURES)}")
    if "usage" in value:
        given = value["usage"]
        counts = given.values() if isinstance(given, dict) else [None]
        if not isinstance(given, dict) or set(given) - {"input", "output", "cached"} or None in map(count, counts):
            raise ValueError("has a usage that is not input, output and cached in whole numbers")
        usage = {name: int(str(number)) for name, number in given.items()}
    return ScriptedAnswer(
        text=text,
        fail=fail,
        message=message,
        hang=bool(value.get("hang")),
        delay=_seconds(value, "delay"),
        stream=_seconds(value, "stream"),
        usage=Usage(**usage),
        usd=_seconds(value, "usd") if value.get("usd") is not None else None,
        truncated=value.get("truncated") is True,
    )


def _seconds(value: dict[str, Json], name: str) -> float:
    """A number that is not negative; 0 if absent."""
    number = amount(value.get(name, 0))
    if number is None:
        raise ValueError(f"has a {name} that is not a number from 0 up")
    return number


class _Twins(Exception):
    """A name that appears twice in one object, of which the JSON parser would silently keep the last."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _no_twins(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, value in pairs:
        if name in found:
            raise _Twins(name)
        found[name] = value
    return found


def _line(source: str, name: str, start: int = 0) -> int:
    """The line of a name, as far as a text search finds it; else the first line."""
    at = source.find(f'"{name}"', start) if name else 0
    return source.count("\n", 0, max(at, 0)) + 1
