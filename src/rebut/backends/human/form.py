"""A person in a seat: shows the question on the terminal and asks for the reply.

A question that has a ballot is answered by single keys (`decisions`), any other field by field.

The question holds texts of models and repositories, which must not control the terminal: control characters are removed
before it is shown. The answers become JSON that fits the schema, like the reply of any other participant.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from rebut.backends.human.decisions import Decisions
from rebut.backends.human.terminal import Editor, Keyboard, NotWritten, printable, readable, to_stderr, unfenced
from rebut.core.ballot import Ballot, KeyChoice, Option
from rebut.core.errors import WaitingForPerson
from rebut.core.json_value import Json
from rebut.core.types import Reply, Request

T = TypeVar("T")
Schema = Mapping[str, Any]

SKIPPED = "need"
"""The field in which models ask for more context. It is not asked of people, who can look for themselves."""
EDIT = ":e"
HOW_TO = (
    "A line that ends with \\ continues in the next line. An empty line skips an optional field, and ends a list.\n"
    f"{EDIT} alone, in a text field, opens your editor ($VISUAL or $EDITOR) for a long answer.\n"
    "Ctrl-D stops here; only this form is lost."
)
HINT = "Resume it in a terminal."


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


class Human:
    """A backend that is a person. A debate's seats of people share it, so that one form is filled in at a time."""

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
            ballot = request.material.for_person() or one_key(request.schema or {})
            edit = partial(self._editor.write, question=printable(request.whole))
            form = SchemaForm(partial(self._typed, self._keyboard.read), self._write, request.schema or {}, edit)
            try:
                if ballot and request.schema is not None:
                    decisions = Decisions(
                        ballot, key=self._press, line=form.text, write=self._write, everything=self._whole(request)
                    )
                    text = json.dumps(await decisions.fill(), ensure_ascii=False)
                elif request.schema is None:
                    text = await form.free()
                else:
                    text = json.dumps(await form.fill(request.schema, ""), ensure_ascii=False)
            except EOFError:
                self._write("\n")
                raise WaitingForPerson(f"the person in the {seat}'s seat stopped before answering", HINT) from None
            except asyncio.CancelledError:
                self._write("\n")  # after Ctrl-C, the next message begins on its own line
                raise
        return Reply(text, model="human", family="human")

    def _show(self, request: Request) -> None:
        """Show the question, or only the follow-up if it was shown before. A protocol's ballot shows itself instead."""
        again = (request.key, request.prompt) in self._shown and request.followup
        self._shown.add((request.key, request.prompt))
        self._write(f"\n--- {printable(request.participant.seat)}: your turn ---\n\n")
        if request.material.ballot and request.schema is not None:
            return
        self._write((self._whole(request, request.followup) if again else self._whole(request)) + "\n\n")
        if request.schema is not None:
            self._write(readable(HOW_TO) + "\n")

    def _whole(self, request: Request, text: str = "") -> str:
        """The whole question, or another text, as people read it."""
        return readable(unfenced(printable(text or request.whole)))

    async def _press(self) -> str:
        """One key, shown as it is pressed."""
        pressed = await self._typed(self._keyboard.key)
        self._write(f"{printable(pressed).strip()}\n" if self._read is None else "")
        return pressed

    async def _typed(self, read: Callable[[threading.Event], str]) -> str:
        """A line or a key, read in a thread. There is no timeout: a person may take any time to think."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._read or partial(read, stop))
        finally:
            # Otherwise the thread would wait for Enter after a cancellation, and the program could not end.
            stop.set()


def one_key(schema: Schema) -> Ballot | None:
    """The ballot of a form whose only field is answered by one letter; None for any other form."""
    properties = schema.get("properties", {})
    if len(properties) != 1:
        return None
    [(name, part)] = properties.items()
    letters = [str(option) for option in part.get("enum", ())]
    if not letters or not all(len(o) == 1 and o.isupper() for o in letters):
        return None
    return Ballot((), (KeyChoice(name, "", tuple(Option(letter, letter, "") for letter in letters)),))


class SchemaForm:
    """Asks for a value field by field. Knows the JSON schema that pydantic writes for ordinary annotations."""

    def __init__(
        self,
        line: Callable[[], Awaitable[str]],
        write: Callable[[str], None],
        root: Schema,
        edit: Callable[[str], Awaitable[str]],
    ) -> None:
        self._line = line
        self._write = write
        self._definitions: Schema = root.get("$defs", {})
        self._edit = edit

    async def free(self) -> str:
        """Lines up to a single dot, or the text from the editor."""
        self._write(f"Your answer; a line with a single . ends it. {EDIT} alone opens your editor.\n")
        lines: list[str] = []
        while (line := await self._ask("")) != ".":
            if line.strip() != EDIT:
                lines.append(line)
            elif text := await self._edited("\n".join(lines)):
                return text
        return "\n".join(lines)

    async def text(self, question: str, draft: str = "") -> str:
        """One line, or the text from the editor, which opens with the draft."""
        while (typed := await self._ask(question)).strip() == EDIT:
            if text := await self._edited(draft):
                return text
        return typed

    async def fill(self, schema: Schema, label: str, *, optional: bool = False) -> Json:
        """A value that fits; None if it is optional and was skipped."""
        schema, nullable = self._resolved(schema)
        optional = optional or nullable
        options = schema.get("enum") or [self._resolved(variant)[0] for variant in schema.get("anyOf", ())]
        if options:
            names = [_title(option) if isinstance(option, dict) else _text(option) for option in options]
            number = await self._choose(label, names, optional)
            chosen: Json = None if number is None else options[number]
            return await self.fill(chosen, label) if isinstance(chosen, dict) else chosen
        if "const" in schema:
            constant: Json = schema["const"]
            return constant
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

    def _resolved(self, schema: Schema) -> tuple[Schema, bool]:
        """The schema without references and `or null`, its variants under anyOf; and whether null is allowed."""
        if "$ref" in schema:
            target = self._definitions[schema["$ref"].rpartition("/")[2]]
            return self._resolved({**target, **{key: value for key, value in schema.items() if key != "$ref"}})
        variants = schema.get("anyOf") or schema.get("oneOf") or []
        real = [variant for variant in variants if variant.get("type") != "null"]
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        nullable = len(real) < len(variants)
        if len(real) != 1:
            return {**rest, "anyOf": real}, nullable
        inner, or_null = self._resolved({**rest, **real[0]})
        return inner, nullable or or_null

    async def _object(self, schema: Schema, label: str, optional: bool) -> Json:
        if optional and not await self._yes_no(f"{label}: fill in? [y/N]: ", optional=True):
            return None
        result: dict[str, Json] = {}
        for name, part in schema.get("properties", {}).items():
            needed = name in schema.get("required", ())
            resolved, nullable = self._resolved(part)
            if name == SKIPPED:
                if needed:
                    result[name] = None if nullable else [] if resolved.get("type") == "array" else ""
                continue
            if about := resolved.get("description", "").strip():
                self._write(f"({printable(about.splitlines()[0])})\n")
            value = await self.fill(part, f"{label}.{name}" if label else name, optional=not needed)
            if needed or value is not None:
                result[name] = value
        values = schema.get("additionalProperties")
        while "properties" not in schema and isinstance(values, dict):
            if not (key := (await self._ask(f"{label or 'entry'}, name (empty ends): ")).strip()):
                break
            result[key] = await self.fill(values, f"{label}.{key}" if label else key)
        return result

    async def _array(self, schema: Schema, label: str, optional: bool) -> Json:
        if "prefixItems" in schema:
            return [await self.fill(part, f"{label} {i}") for i, part in enumerate(schema["prefixItems"], 1)]
        each = self._resolved(schema.get("items", {}))[0]
        if "const" in each:
            each = {"enum": [each["const"]]}  # so that an empty line can end the list
        least, most = schema.get("minItems", 0), schema.get("maxItems", 1000)
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

    async def _choose(self, label: str, names: Sequence[str], optional: bool) -> int | None:
        """The position of the choice, made by number or by word. A word wins, since a choice may itself be a number."""
        for number, name in enumerate(names, 1):
            self._write(f"  {number} {printable(name)}\n")
        lowered = [name.lower() for name in names]

        def position(typed: str) -> int | None:
            if typed.lower() in lowered:
                return names.index(typed) if typed in names else lowered.index(typed.lower())
            in_range = re.fullmatch(r"[0-9]{1,4}", typed) and 1 <= int(typed) <= len(names)
            return int(typed) - 1 if in_range else None

        question = f"{label or 'answer'}, number or word{_may_skip(optional)}: "
        return await self._until(question, position, f"Not one of them. Type 1 to {len(names)}, or the word.", optional)

    async def _yes_no(self, question: str, optional: bool) -> bool | None:
        answers = {"y": True, "yes": True, "n": False, "no": False}
        return await self._until(question, lambda typed: answers.get(typed.lower()), "Type y or n.", optional)

    async def _number(self, schema: Schema, label: str, optional: bool, *, whole: bool) -> int | float | None:
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        above, below = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
        pattern = r"[+-]?[0-9]{1,15}" if whole else r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?"

        def fitting(typed: str) -> int | float | None:
            if not re.fullmatch(pattern, typed):
                return None
            value = int(typed) if whole else float(typed)
            return value if low <= value <= high and above < value < below else None

        span = f" from {max(low, above):g} to {min(high, below):g}" if math.isfinite(max(low, above)) else ""
        question = f"{label or 'answer'}, a number{_may_skip(optional)}: "
        return await self._until(question, fitting, f"Type a {'whole ' if whole else ''}number{span}.", optional)

    async def _string(self, schema: Schema, label: str, optional: bool) -> str | None:
        least, most = schema.get("minLength", 0), schema.get("maxLength", sys.maxsize)
        warned, draft = False, ""
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
                self._write("An answer is needed." + (" Press Enter again to leave it empty.\n" if not least else "\n"))
            elif not least <= len(text) <= most:
                limit = f"at least {least}" if len(text) < least else f"at most {most}"
                self._write(f"That has {len(text)} characters; {limit}, please.\n")
            elif "pattern" in schema and not re.search(schema["pattern"], text):
                self._write(f"It must match {printable(schema['pattern'])}\n")
            else:
                return text

    async def _until(self, question: str, read: Callable[[str], T | None], wrong: str, optional: bool) -> T | None:
        """Ask until `read` makes a value of the line; None for an empty line if the value is optional."""
        while True:
            typed = (await self._ask(question)).strip()
            if not typed and optional:
                return None
            if (value := read(typed)) is not None:
                return value
            self._write(f"{wrong}\n")

    async def _edited(self, draft: str) -> str:
        """The text from the editor. If there is none, show the reason and return an empty text."""
        try:
            text = await self._edit(draft)
        except NotWritten as error:
            self._write(f"{printable(str(error))}.\n")
            return ""
        words = len(text.split())
        self._write(f"({words} word{'' if words == 1 else 's'} from your editor)\n")
        return text

    async def _ask(self, question: str) -> str:
        self._write(question)
        return await self._line()


def _may_skip(optional: bool) -> str:
    return " (may be empty)" if optional else ""


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _title(schema: Schema) -> str:
    return _text(schema.get("title") or schema.get("const") or schema.get("type") or "other")
