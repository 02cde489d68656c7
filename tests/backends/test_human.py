"""A person can fill any seat: the form fits the schema, the terminal is safe, and an absent person is waited for."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import console
import pytest
from pydantic import BaseModel, Field

from rebut.backends.human.form import Human
from rebut.backends.human.terminal import printable
from rebut.core.errors import WaitingForPerson
from rebut.core.json_value import Json
from rebut.core.types import ModelSpec, Participant, Reply, Request
from tests.terminals import Talk, watched

JUDGE = Participant("judge", ModelSpec("human"))


class Desk:
    """A scripted person: types the given lines, then Ctrl-D, and remembers what was on screen."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.screen = ""
        self.human = Human(read=self.read, write=self.write, is_terminal=lambda: True)

    def read(self) -> str:
        if not self.lines:
            raise EOFError
        line = self.lines.pop(0)
        self.screen += f"{line}\n"
        return line

    def write(self, text: str) -> None:
        self.screen += text

    def answer(self, schema: dict[str, Json] | type[BaseModel] | None, prompt: str = "Who is right?") -> Reply:
        form = schema.model_json_schema() if isinstance(schema, type) else schema
        reply = asyncio.run(self.human.complete(Request("close/verdict@judge", JUDGE, prompt, schema=form)))
        assert self.lines == [], "the form ended before the person did"
        return reply

    def value(self, schema: dict[str, Json] | type[BaseModel]) -> Json:
        read: Json = json.loads(self.answer(schema).text)
        return read


class Citation(BaseModel):
    place: str
    quote: str | None = None


class Finding(BaseModel):
    title: str = Field(description="What is wrong\nin one line.")
    severity: Literal["high", "low"]
    evidence: list[Citation] = []


class Verdict(BaseModel):
    winner: Literal["proposer", "challenger"]
    sure: bool
    score: int = Field(ge=1, le=10)
    reasons: list[str] = Field(min_length=1)
    findings: list[Finding]
    best: Citation | None
    remark: str = ""
    need: list[str]


# Forms ----------------------------------------------------------------------------------------------------------------


def test_a_whole_verdict_is_asked_field_by_field_and_fits_its_schema() -> None:  # C1
    lines = ["2", "y", "8", "well argued", "tested", ""]
    lines += ["y", "race in close", "high", "y", "a.py:3", "x = 1", "n", "n", "", ""]
    setup = Desk(*lines)
    value = setup.value(Verdict)
    assert value == {
        "winner": "challenger",
        "sure": True,
        "score": 8,
        "reasons": ["well argued", "tested"],
        "findings": [
            {"title": "race in close", "severity": "high", "evidence": [{"place": "a.py:3", "quote": "x = 1"}]}
        ],
        "best": None,
        "need": [],
    }
    Verdict.model_validate(value)
    assert "(What is wrong)" in setup.screen and "need" not in setup.screen


def test_the_reply_says_that_a_person_spoke() -> None:  # C5
    reply = Desk("fine", ".").answer(None)
    assert (reply.model, reply.family, reply.text) == ("human", "human", "fine")


def test_without_a_schema_lines_go_on_until_a_single_dot() -> None:  # C1
    assert Desk("first", "", "..", ".").answer(None).text == "first\n\n.."


def test_a_backslash_continues_a_text_in_the_next_line() -> None:  # C1
    assert Desk("one\\", "two\\", "three").value({"type": "string"}) == "one\ntwo\nthree"


@pytest.mark.parametrize(
    ("typed", "meant"), [("1", "keep"), ("KEEP", "keep"), ("2", "Drop"), ("drop", "Drop"), ("7", "7")]
)
def test_a_choice_is_made_by_number_or_by_word(typed: str, meant: str) -> None:  # C1
    assert Desk(typed).value({"enum": ["keep", "Drop", "7"]}) == meant


@pytest.mark.parametrize(
    ("schema", "typed", "meant"),
    [
        ({"enum": ["a", "b"]}, ["c", "0", "3", "", "²", "b"], "b"),
        ({"type": "boolean"}, ["maybe", "", "No"], False),
        ({"type": "integer", "minimum": 1, "maximum": 5}, ["", "x", "9", "2.5", "1e3", "4"], 4),
        ({"type": "number", "exclusiveMinimum": 0}, ["nan", "inf", "0", "0.5"], 0.5),
        ({"type": "string", "minLength": 3}, ["", "", "ab", "abc"], "abc"),
        ({"type": "string", "maxLength": 3}, ["abcd", "abc"], "abc"),
        ({"type": "string", "pattern": "^[a-z]+:[0-9]+$"}, ["nowhere", "a:1"], "a:1"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["a", "", "b", ""], ["a", "b"]),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 2}, ["a", "b"], ["a", "b"]),
    ],
)
def test_what_does_not_fit_is_asked_again(schema: dict[str, Json], typed: list[str], meant: Json) -> None:  # C5
    assert Desk(*typed).value(schema) == meant


@pytest.mark.parametrize(
    ("schema", "typed", "meant"),
    [
        ({"const": "v1"}, [], "v1"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, [""], None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["x"], "x"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, ["3"], 3),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, ["integer", "3"], 3),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, ["integer", "3"], 3),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"enum": ["x"]}}}, ["x"], "x"),
        ({"type": "array", "items": {"const": "v"}}, ["1", ""], ["v"]),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, ["1", "a"], [1, "a"]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, ["a", "1", ""], {"a": 1}),
        ({"type": "string"}, ["", ""], ""),
    ],
)
def test_every_corner_of_a_schema_has_a_question(schema: dict[str, Json], typed: list[str], meant: Json) -> None:  # C1
    assert Desk(*typed).value(schema) == meant


def test_optional_fields_may_be_left_empty_and_are_then_left_out() -> None:  # C1
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "c": {"type": "boolean"},
            "d": {"type": "array", "items": {"type": "string"}},
            "e": {"type": "object", "properties": {"x": {"type": "string"}}},
            "f": {"enum": ["p", "q"]},
            "g": {"type": "string"},
        },
        "required": ["g"],
    }
    assert Desk("", "", "", "", "", "", "here").value(schema) == {"g": "here"}


@pytest.mark.parametrize(
    ("need", "blank"),
    [({"type": "array"}, []), ({"type": "string"}, ""), ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None)],
)
def test_need_is_never_asked_but_the_reply_still_fits(need: dict[str, Json], blank: Json) -> None:  # C15
    schema: dict[str, Json] = {"properties": {"need": need, "say": {"type": "string"}}, "required": ["need", "say"]}
    assert Desk("yes").value(schema) == {"need": blank, "say": "yes"}
    assert Desk("yes").value({**schema, "required": ["say"]}) == {"say": "yes"}


def test_a_schema_that_holds_itself_can_be_filled_in() -> None:  # C1
    node: dict[str, Json] = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        "required": ["name", "parts"],
    }
    got = Desk("a", "y", "b", "", "").value({"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    assert got == {"name": "a", "parts": [{"name": "b", "parts": []}]}


# The screen -----------------------------------------------------------------------------------------------------------


def test_text_of_models_cannot_drive_the_terminal_nor_hide_itself() -> None:  # C7
    hostile = "a\x1b[2Jb\x1b]0;title\x07c\x9b31md\x08\x7fe\rf\x1b\x1b[31m[0mg\u202eh\ud800i\tj\nk\x1bPhidden"
    setup = Desk("ok", ".")
    setup.answer(None, prompt=hostile)
    assert "ab]0;titlecdef[0mghi\tj\nkPhidden" in setup.screen
    assert not [c for c in setup.screen if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F]
    assert printable("straße → 日本 👩‍🔬") == "straße → 日本 👩‍🔬"


def test_a_second_call_shows_only_what_is_new() -> None:  # C14
    setup = Desk("one", ".", "two", ".")
    first = Request("k", JUDGE, "the long question")

    async def both() -> None:
        await setup.human.complete(first)
        setup.screen = ""
        await setup.human.complete(Request("k", JUDGE, "the long question", followup="that cites nothing", attempt=2))

    asyncio.run(both())
    assert "that cites nothing" in setup.screen and "the long question" not in setup.screen


def test_after_a_restart_the_whole_question_is_shown_with_what_is_new() -> None:  # C13
    setup = Desk("two", ".")
    asyncio.run(
        setup.human.complete(Request("k", JUDGE, "the long question", followup="that cites nothing", attempt=2))
    )
    assert setup.screen.index("the long question") < setup.screen.index("that cites nothing")


# Waiting --------------------------------------------------------------------------------------------------------------


def test_without_a_terminal_the_debate_waits_for_the_person() -> None:  # C17
    human = Human(read=lambda: "x", write=lambda text: None, is_terminal=lambda: False)
    with pytest.raises(WaitingForPerson) as caught:
        asyncio.run(human.complete(Request("k", JUDGE, "?")))
    assert caught.value.message == "it is the judge's turn, and that seat is a person's"
    assert caught.value.hint == "Resume it in a terminal."
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("schema", [None, Verdict])
def test_the_end_of_input_is_waiting_and_no_answer(schema: type[BaseModel] | None) -> None:  # C5, C17
    with pytest.raises(WaitingForPerson, match="judge's seat stopped before answering"):
        Desk("1").answer(schema)


def test_the_loop_goes_on_while_a_person_thinks_and_forms_do_not_mix() -> None:  # C14
    async def play() -> list[str]:
        ticked = asyncio.Event()
        loop = asyncio.get_running_loop()
        asked: list[str] = []

        def read() -> str:
            # Only a loop that is free can set the event; a blocked one would never come to it.
            asyncio.run_coroutine_threadsafe(ticked.wait(), loop).result(timeout=20)
            return "."

        human = Human(read=read, write=asked.append, is_terminal=lambda: True)
        seats = [Participant(f"author.{i}", ModelSpec("human")) for i in (1, 2)]
        calls = [asyncio.create_task(human.complete(Request(s.seat, s, f"for {s.seat}"))) for s in seats]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        before = "".join(asked)
        ticked.set()
        await asyncio.gather(*calls)
        return [before, "".join(asked)]

    before, after = asyncio.run(play())
    assert "author.1" in before and "author.2" not in before and "author.2" in after


# A real terminal ------------------------------------------------------------------------------------------------------

PROGRAM = textwrap.dedent("""
    import asyncio, json, sys
    from rebut.backends.human.form import Human
    from rebut.core.errors import WaitingForPerson
    from rebut.core.types import ModelSpec, Participant, Request
    fields = {"winner": {"enum": ["one", "two"]}, "why": {"type": "string"}}
    schema = {"properties": fields, "required": ["winner", "why"]}
    request = Request("k", Participant("judge", ModelSpec("human")), "Who wins?\\x1b[2J", schema=schema)
    async def play():
        call = asyncio.create_task(Human().complete(request))
        if sys.argv[1] == "cancel":
            await asyncio.sleep(0.3)
            call.cancel()
        return await call
    try:
        print("GOT", asyncio.run(play()).text)
    except WaitingForPerson as stop:
        print("WAITING", stop.exit_code)
    except asyncio.CancelledError:
        print("CANCELLED")
""")


def at_a_terminal(mode: str, talk: Talk) -> str:
    """Run the program on a pseudo-terminal. Returns all that was on screen."""
    env = {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "LANG": "C.UTF-8"}
    return watched([sys.executable, "-c", PROGRAM, mode], env, None, talk)[1]


def test_a_person_types_an_answer_at_a_real_terminal() -> None:  # C1, C7
    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("number or word")
        type_("3\r")
        expect("Not one of them")
        type_("two\r")
        expect("why: ")
        type_("größer\\\rund wahr\r")

    screen = at_a_terminal("answer", talk)
    assert 'GOT {"winner": "two", "why": "größer\\nund wahr"}' in screen
    assert "\x1b" not in screen and "Who wins?" in screen


def test_control_d_at_a_real_terminal_is_waiting() -> None:  # C17
    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("number or word")
        type_("\x04")

    assert "WAITING 4" in at_a_terminal("answer", talk)


def test_a_cancelled_wait_lets_the_program_end_without_a_key_being_pressed() -> None:  # C14
    def talk(expect: Callable[[str], None], type_: Callable[[str], None]) -> None:
        expect("CANCELLED")

    assert "GOT" not in at_a_terminal("cancel", talk)


def test_a_question_on_a_narrow_terminal_ends_its_lines_at_words(tmp_path: Path) -> None:  # C1, C14
    def keys(seen: str) -> bytes:
        if not seen.endswith("  > "):
            return b""
        return b"\x04" if "You are the PROPOSER" in seen else b"?\r"

    seats = [f"--{role}=human" for role in ("proposer", "challenger", "judge")]
    seen = console.at_a_terminal("duel", "Redis or not?", *seats, columns=60, cwd=tmp_path, keys=keys)
    asked = seen.text.partition("your turn ---")[2].splitlines()
    assert seen.code == 4 and any(line.startswith("You are the PROPOSER") for line in asked)
    assert max(map(len, asked)) < 60
