"""A person in a seat: shows the question on the terminal and walks the reply's schema as a short form.

The question holds texts of models and repositories, which must not drive the terminal: control characters are taken
out before it is shown. The person's answers come back as JSON that fits the schema, like any other participant's.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import sys
import textwrap
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from rebut.backends.human.terminal import Editor, Keyboard, NotWritten, columns, drawn, plain, readable, to_stderr
from rebut.core.errors import WaitingForPerson
from rebut.core.types import Json, Reply, Request

Schema = Mapping[str, Json]

SKIPPED = "need"
"""The field by which models ask for more context. People have their own tools."""
HOW_TO = (
    "A line that ends with \\ goes on in the next. An empty line leaves out what is optional, and ends a list.\n"
    ":e alone, where words are wanted, opens your editor ($VISUAL or $EDITOR) for a long answer.\n"
    "Ctrl-D stops here; nothing is lost but this form."
)
EDIT = ":e"
HINT = "Resume it in a terminal."


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


class Human:
    """A backend that is a person. Give all seats of people the same one: it lets one form be filled in at a time."""

    def __init__(
        self,
        *,
        read: Callable[[], str] | None = None,
        write: Callable[[str], None] = to_stderr,
        is_terminal: Callable[[], bool] = _at_terminal,
        editor: Editor | None = None,
    ) -> None:
        self._editor = editor or Editor()
        self._keyboard = Keyboard()
        self._read = read
        self._write = write
        self._is_terminal = is_terminal
        self._turn = asyncio.Lock()
        self._shown: set[tuple[str, str]] = set()

    async def complete(self, request: Request) -> Reply:
        seat = request.participant.seat
        if not self._is_terminal():
            raise WaitingForPerson(f"it is the {seat}'s turn, and that seat is a person's", HINT)
        async with self._turn:
            self._show(request)
            edit = partial(self._editor.write, question=plain(request.whole))
            form = SchemaForm(self._line, self._write, request.schema or {}, edit)
            try:
                if request.schema is None:
                    text = await form.free()
                elif keys := one_key(request.schema):
                    text = json.dumps({keys[0]: await self._press(keys[1])})
                else:
                    text = json.dumps(await form.fill(request.schema, ""), ensure_ascii=False)
            except EOFError:
                self._write("\n")
                raise WaitingForPerson(f"the person in the {seat}'s seat stopped before answering", HINT) from None
            except asyncio.CancelledError:
                self._write("\n")  # Ctrl-C: what is said next begins a line of its own
                raise
        return Reply(text, model="human", family="human")

    def _show(self, request: Request) -> None:
        """The whole question, or only what came after it when the person has just had the rest on screen."""
        again = (request.key, request.prompt) in self._shown and request.followup
        self._shown.add((request.key, request.prompt))
        self._write(f"\n--- {plain(request.participant.seat)}: your turn ---\n\n")
        material, width = request.material, columns()
        if material.question:
            if material.table:
                self._write(drawn([[plain(cell) for cell in row] for row in material.table], width) + "\n\n")
            for line in material.question.splitlines():
                self._write("\n".join(textwrap.wrap(f"  {plain(line)}", width, subsequent_indent="    ")) + "\n")
            return
        self._write(readable(plain(request.followup if again else request.whole)) + "\n\n")
        if request.schema is not None:
            self._write(readable(HOW_TO) + "\n")

    async def _press(self, keys: Sequence[str]) -> str:
        """One of the given letters."""
        while True:
            self._write(f"  {'/'.join(keys)} > ")
            stop = threading.Event()
            try:
                said = await asyncio.to_thread(self._read or partial(self._keyboard.key, stop))
            finally:
                stop.set()
            self._write(f"{plain(said).strip()}\n" if self._read is None else "")
            if said.strip().upper() in keys:
                return said.strip().upper()
            self._write(f"  Press one of {', '.join(keys)}; Ctrl-D stops here, and nothing is lost.\n")

    async def _line(self) -> str:
        """One line, read beside the event loop. There is no timeout: a person may think as long as they like."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._read or partial(self._keyboard.read, stop))
        finally:
            # After a cancellation the thread would sit on the keyboard until Enter, and the program could not end.
            stop.set()


def one_key(schema: Schema) -> tuple[str, list[str]] | None:
    """The one field of a form that is answered by a letter, and its letters; None for any other form."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or len(properties) != 1:
        return None
    [(name, part)] = properties.items()
    options = part.get("enum") if isinstance(part, dict) else None
    letters = [str(o) for o in options] if isinstance(options, list) else []
    return (name, letters) if letters and all(len(o) == 1 and o.isupper() for o in letters) else None


class SchemaForm:
    """A JSON schema asked field by field."""

    def __init__(
        self,
        line: Callable[[], Awaitable[str]],
        write: Callable[[str], None],
        root: Schema,
        edit: Callable[[str], Awaitable[str]],
    ) -> None:
        self._line = line
        self._write = write
        self._root = root
        self._edit = edit

    async def free(self) -> str:
        """Lines until a single dot, or what the editor holds."""
        self._write(f"Your answer; a line with a single . ends it. {EDIT} alone opens your editor.\n")
        lines: list[str] = []
        while (line := await self._ask("")) != ".":
            if line.strip() != EDIT:
                lines.append(line)
            elif text := await self._edited("\n".join(lines)):
                return text
        return "\n".join(lines)

    async def _edited(self, draft: str) -> str:
        """What the person wrote in their editor; empty, with the reason on screen, when that came to nothing."""
        try:
            text = await self._edit(draft)
        except NotWritten as error:
            self._write(f"{plain(str(error))}.\n")
            return ""
        words = len(text.split())
        self._write(f"({words} word{'' if words == 1 else 's'} from your editor)\n")
        return text

    async def fill(self, schema: Schema, label: str, *, optional: bool = False) -> Json:
        """A value that fits; None when it is optional and left out."""
        schema, nullable = self._settle(schema)
        optional = optional or nullable
        if "const" in schema:
            return schema["const"]
        if isinstance(options := schema.get("enum"), list):
            chosen = await self._choose(label, [_word(o) for o in options], optional)
            return None if chosen is None else options[chosen]
        if variants := _schemas(schema.get("anyOf") or schema.get("oneOf")):
            settled = [self._settle(v)[0] for v in variants]
            chosen = await self._choose(label, [_title(v) for v in settled], optional)
            return None if chosen is None else await self.fill(settled[chosen], label)
        match schema.get("type", "object" if "properties" in schema else "string"):
            case "object":
                return await self._object(schema, label, optional)
            case "array":
                return await self._array(schema, label, optional)
            case "boolean":
                return await self._yes_no(f"{label} [y/n]{_may_skip(optional)}: ", optional)
            case "integer" | "number" as kind:
                return await self._number(schema, label, optional, whole=kind == "integer")
            case "null":
                return None
            case _:
                return await self._string(schema, label, optional)

    def _settle(self, schema: Schema) -> tuple[Schema, bool]:
        """Follow references and peel off `or null`; the second value says whether null is among the choices."""
        nullable = False
        for _ in range(32):
            if isinstance(ref := schema.get("$ref"), str):
                target: Json = dict(self._root)
                for part in ref.removeprefix("#/").split("/"):
                    target = target.get(part) if isinstance(target, dict) else None
                schema = {**(target if isinstance(target, dict) else {}), **_without(schema, "$ref")}
            elif len(parts := _schemas(schema.get("allOf"))) == 1:
                schema = {**parts[0], **_without(schema, "allOf")}
            elif isinstance(kinds := schema.get("type"), list):
                nullable = nullable or "null" in kinds
                rest: list[Json] = [{"type": k} for k in kinds if k != "null"]
                schema = {**schema, "type": kinds[0]} if not rest else {**_without(schema, "type"), "anyOf": rest}
            elif (key := "anyOf" if "anyOf" in schema else "oneOf") in schema:
                variants = _schemas(schema[key])
                real = [v for v in variants if v.get("type") != "null"]
                nullable = nullable or len(real) < len(variants)
                if len(real) != 1:
                    return {**schema, key: [dict(v) for v in real]}, nullable
                schema = {**_without(schema, key), **real[0]}
            else:
                break
        return schema, nullable

    async def _object(self, schema: Schema, label: str, optional: bool) -> Json:
        if optional and not await self._yes_no(f"{label}: fill in? [y/N]: ", optional=True):
            return None
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        result: dict[str, Json] = {}
        properties = schema.get("properties")
        for name, part in (properties if isinstance(properties, dict) else {}).items():
            if not isinstance(part, dict):
                continue
            if name == SKIPPED:
                value = self._blank(part)
            else:
                self._explain(part)
                value = await self.fill(part, f"{label}.{name}" if label else name, optional=name not in needed)
            if name in needed or (value is not None and name != SKIPPED):
                result[name] = value
        values = schema.get("additionalProperties")
        while not properties and isinstance(values, dict):
            if not (key := (await self._ask(f"{label or 'entry'}, name (empty ends): ")).strip()):
                break
            result[key] = await self.fill(values, f"{label}.{key}" if label else key)
        return result

    def _explain(self, schema: Schema) -> None:
        """The first line of what the schema says about a field."""
        if isinstance(about := self._settle(schema)[0].get("description"), str) and about.strip():
            self._write(f"({plain(about.strip().splitlines()[0])})\n")

    def _blank(self, schema: Schema) -> Json:
        """The emptiest value of a field that is not asked."""
        schema, nullable = self._settle(schema)
        return None if nullable else [] if schema.get("type") == "array" else ""

    async def _array(self, schema: Schema, label: str, optional: bool) -> Json:
        if places := _schemas(schema.get("prefixItems")):
            return [await self.fill(part, f"{label} {i}") for i, part in enumerate(places, 1)]
        items = schema.get("items")
        each = self._settle(items if isinstance(items, dict) else {})[0]
        if "const" in each:
            each = {"enum": [each["const"]]}
        least, most = _count(schema, "minItems", 0), _count(schema, "maxItems", 1000)
        found: list[Json] = []
        while len(found) < most:
            value = await self.fill(each, f"{label or 'item'} {len(found) + 1}", optional=True)
            if value is not None:
                found.append(value)
            elif len(found) >= least or (optional and not found):
                break
            else:
                self._write(f"At least {least} needed.\n")
        return None if optional and not found else found

    async def _choose(self, label: str, words: list[str], optional: bool) -> int | None:
        """By number or by word. A word wins, for a choice may itself be a number."""
        for number, word in enumerate(words, 1):
            self._write(f"  {number} {plain(word)}\n")
        while True:
            said = (await self._ask(f"{label or 'answer'}, number or word{_may_skip(optional)}: ")).strip()
            if not said and optional:
                return None
            lowered = [w.lower() for w in words]
            if said.lower() in lowered:
                return words.index(said) if said in words else lowered.index(said.lower())
            if re.fullmatch(r"[0-9]{1,4}", said) and 1 <= int(said) <= len(words):
                return int(said) - 1
            self._write(f"Not one of them. Type 1 to {len(words)}, or the word.\n")

    async def _yes_no(self, question: str, optional: bool) -> bool | None:
        while True:
            said = (await self._ask(question)).strip().lower()
            if said in ("y", "yes", "n", "no"):
                return said.startswith("y")
            if not said and optional:
                return None
            self._write("Type y or n.\n")

    async def _number(self, schema: Schema, label: str, optional: bool, *, whole: bool) -> int | float | None:
        low, high = _bound(schema, "minimum", -math.inf), _bound(schema, "maximum", math.inf)
        above, below = _bound(schema, "exclusiveMinimum", -math.inf), _bound(schema, "exclusiveMaximum", math.inf)
        while True:
            said = (await self._ask(f"{label or 'answer'}, a number{_may_skip(optional)}: ")).strip()
            if not said and optional:
                return None
            if re.fullmatch(r"[+-]?[0-9]{1,15}" if whole else r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?", said):
                value = int(said) if whole else float(said)
                if low <= value <= high and above < value < below:
                    return value
            span = f" from {max(low, above):g} to {min(high, below):g}" if math.isfinite(max(low, above)) else ""
            self._write(f"Type a {'whole ' if whole else ''}number{span}.\n")

    async def _string(self, schema: Schema, label: str, optional: bool) -> str | None:
        least, most = _count(schema, "minLength", 0), _count(schema, "maxLength", sys.maxsize)
        pattern = schema.get("pattern")
        warned = False
        draft = ""
        while True:
            text = await self._ask(f"{label or 'answer'}{_may_skip(optional)}: ")
            if text.strip() == EDIT:
                if not (text := await self._edited(draft)):
                    continue
                draft = text
            else:
                while text.endswith("\\"):
                    text = text[:-1] + "\n" + await self._ask("  ... ")
            if not text.strip() and optional:
                return None
            if not text.strip() and not (warned and least == 0):
                warned = True
                self._write("This one is needed." + (" Enter once more leaves it empty.\n" if least == 0 else "\n"))
            elif not least <= len(text) <= most:
                limit = f"at least {least}" if len(text) < least else f"at most {most}"
                self._write(f"That has {len(text)} characters; {limit}, please.\n")
            elif isinstance(pattern, str) and not re.search(pattern, text):
                self._write(f"It must match {plain(pattern)}\n")
            else:
                return text

    async def _ask(self, question: str) -> str:
        self._write(question)
        return await self._line()


def _may_skip(optional: bool) -> str:
    return " (may be empty)" if optional else ""


def _schemas(value: Json) -> list[dict[str, Json]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _without(schema: Schema, key: str) -> dict[str, Json]:
    return {k: v for k, v in schema.items() if k != key}


def _count(schema: Schema, key: str, default: int) -> int:
    value = schema.get(key)
    return value if isinstance(value, int) else default


def _bound(schema: Schema, key: str, default: float) -> float:
    value = schema.get(key)
    return value if isinstance(value, int | float) else default


def _word(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _title(schema: Schema) -> str:
    return _word(schema.get("title") or schema.get("const") or schema.get("type") or "other")
