"""Kinds of replies: an object that agrees and one that objects, each as models write them, and how each is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Read = Literal["agreement", "objection", "sent back"]


@dataclass(frozen=True)
class Kind:
    """One kind of reply. `write` takes an object that agrees and one that objects, both as JSON."""

    name: str
    read: Read
    write: Callable[[str, str], str]


def fence(body: str, word: str = "json", mark: str = "```") -> str:
    return f"{mark}{word}\n{body}\n{mark}"


def pretty(text: str) -> str:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)


def both(first: str, second: str) -> str:
    """One object that has every field of both, so that the fields of both are there twice."""
    return f"{first[:-1]}, {second[1:]}"


def escaped(text: str) -> str:
    return json.dumps(text)


def unseen(text: str) -> str:
    """The same with a control character in each name of a field."""
    return json.dumps({f"{name}\x07": value for name, value in json.loads(text).items()})


def renamed(text: str, change: Callable[[str], str]) -> str:
    """The same with other names of the fields."""
    return json.dumps({change(name): value for name, value in json.loads(text).items()})


def cyrillic(name: str) -> str:
    return name.translate(str.maketrans("aceiosp", "асеіоѕр"))


def wide(name: str) -> str:
    return "".join(chr(ord(sign) + 0xFEE0) for sign in name)


def commented(text: str, comment: str) -> str:
    return text.replace("{", "{ " + comment + "\n", 1)


def _kinds() -> list[Kind]:
    no = "This must NOT be approved."
    back: Read = "sent back"
    rows: list[tuple[str, Read, Callable[[str, str], str]]] = [
        # a reply that is one object
        ("agreement, bare", "agreement", lambda a, o: a),
        ("agreement, on many lines", "agreement", lambda a, o: pretty(a)),
        ("agreement, blank lines around", "agreement", lambda a, o: f"\n\n  {a}\n \n"),
        ("agreement, byte order mark", "agreement", lambda a, o: f"\ufeff{a}"),
        ("agreement, in a fence", "agreement", lambda a, o: fence(a)),
        ("agreement, in a fence without a word", "agreement", lambda a, o: fence(pretty(a), "")),
        ("agreement, in a fence of tildes", "agreement", lambda a, o: fence(a, "JSON", "~~~~")),
        ("agreement, after thinking", "agreement", lambda a, o: f"<think>All is well.</think>\n{a}"),
        ("agreement, after two thoughts", "agreement", lambda a, o: f"<think>x</think> <think>y</think>{a}"),
        ("agreement, after thinking that objects", "agreement", lambda a, o: f"<think>{o}? No.</think>\n{a}"),
        ("agreement, thinking in a fence's place", "agreement", lambda a, o: f"[THINK]Hm.[/THINK]\n{fence(a)}"),
        ("agreement, with a field about thinking", "agreement", lambda a, o: a[:-1] + ', "x": "<think>no"}'),
        ("agreement, with the objection in a text", "agreement", lambda a, o: a[:-1] + f', "x": {escaped(o)}}}'),
        ("objection, bare", "objection", lambda a, o: o),
        ("objection, in a fence", "objection", lambda a, o: fence(pretty(o))),
        ("objection, with the agreement in a text", "objection", lambda a, o: o[:-1] + f', "x": {escaped(a)}}}'),
        ("objection, after thinking that agrees", "objection", lambda a, o: f"<think>{a}</think>\n{o}"),
        ("objection, after thinking with an open brace", "objection", lambda a, o: f"<think>{{ {a}</think>{o}"),
        # refusals that quote an approval
        ("refusal, then what approval would be", back, lambda a, o: f"{no} Approval would read {a}"),
        ("refusal, then a fenced approval", back, lambda a, o: f"{no} An approval, for reference:\n\n{fence(a)}"),
        ("approval, then refused", back, lambda a, o: f"{a}\n\nis what you want to hear. {no}"),
        ("fenced approval, then refused", back, lambda a, o: f"{fence(a)}\n\n{no}"),
        ("approval between refusals", back, lambda a, o: f"{no}\n{a}\n{no}"),
        (
            "approval quoted from the change",
            back,
            lambda a, o: f"{no} The change tells me to answer:\n> {a}\nI do not.",
        ),
        ("approval in a diff", back, lambda a, o: f"{no}\n```diff\n+{a}\n```"),
        ("approval in a comment of the change", back, lambda a, o: f"{no} Line 3 says `# {a}`, an injection."),
        ("approval in inline code", back, lambda a, o: f"{no} It is not `{a}`."),
        ("approval in a Python fence", back, lambda a, o: f"{no}\n```python\nREPLY = {a}\n```"),
        ("one word before", back, lambda a, o: f"Not: {a}"),
        ("one word behind", back, lambda a, o: f"{a} NOT"),
        ("a full stop behind", back, lambda a, o: f"{a}."),
        ("in a list", back, lambda a, o: f"[{a}]"),
        ("as a JSON text", back, lambda a, o: escaped(a)),
        ("in a wrapper", back, lambda a, o: f'{{"would_be_wrong": {a}}}'),
        ("under a heading", back, lambda a, o: f"# Rejected\n\n{fence(a)}"),
        ("in a table", back, lambda a, o: f"| verdict | reply |\n|---|---|\n| rejected | {a} |"),
        ("in HTML", back, lambda a, o: f"<rejected>{a}</rejected>"),
        ("in a fence with a line before it inside", back, lambda a, o: fence(f"{no}\n{a}")),
        ("in a fence with a line behind it inside", back, lambda a, o: fence(f"{a}\n{no}")),
        ("in a fence within a fence", back, lambda a, o: fence(fence(a), "markdown", "````")),
        ("in a fence with a word of its own", back, lambda a, o: fence(a, "json_of_an_approval_that_I_refuse")),
        ("in a fence that is not closed", back, lambda a, o: f"```json\n{a}"),
        ("the same approval twice", back, lambda a, o: f"{a}\n{a}"),
        ("apology and approval", back, lambda a, o: f"Sorry, I cannot approve. {a}"),
        # thinking
        ("approval in thinking only", back, lambda a, o: f"<think>{a}</think>\n{no}"),
        ("approval in thinking, nothing behind", back, lambda a, o: f"<think>Perhaps {a}</think>"),
        ("approval in unclosed thinking", back, lambda a, o: f"<think>Perhaps {a}"),
        ("approval alone in unclosed thinking", back, lambda a, o: f"<think>\n{a}"),
        ("approval in unclosed thinking, other tag", back, lambda a, o: f"<reasoning>{a}\n{no}"),
        ("approval in unclosed thinking behind prose", back, lambda a, o: f"{no} <think>{a}"),
        ("approval behind an end of thinking in prose", back, lambda a, o: f"{no} The file has </think>{a}"),
        ("approval behind quoted thinking", back, lambda a, o: f"{no} It says <think>x</think>{a}"),
        ("approval between two thoughts", back, lambda a, o: f"<think>x</think>{a}<think>But {no}</think>"),
        ("approval behind another end of thinking", back, lambda a, o: f"<thinking>Its </think>{a} is a trick."),
        ("thinking, refusal, approval", back, lambda a, o: f"<think>x</think>{no} Not {a}"),
        # drafts, several objects, the same field twice
        ("draft, then corrected", back, lambda a, o: f"Draft: {a}\nOn reflection:\n{o}"),
        ("corrected, then the draft", back, lambda a, o: f"{o}\n\nMy first draft was {a}"),
        ("two fences that differ", back, lambda a, o: f"{fence(a)}\nNo, wait:\n{fence(o)}"),
        ("two bare objects that differ", back, lambda a, o: f"{a}\n{o}"),
        ("two in a list that differ", back, lambda a, o: f"[{a}, {o}]"),
        ("approval quoted, objection fenced", back, lambda a, o: f"The change says {a}. My answer:\n{fence(o)}"),
        ("objection quoted, approval fenced", back, lambda a, o: f"Another said {o}. Mine:\n{fence(a)}"),
        ("fields twice, approval last", back, lambda a, o: both(o, a)),
        ("fields twice, approval first", back, lambda a, o: both(a, o)),
        ("fields twice, in a fence", back, lambda a, o: fence(both(o, a))),
        ("fields twice, in prose", back, lambda a, o: f"{no} {both(a, o)}"),
        ("fields twice, and a comma too many", back, lambda a, o: both(a, o)[:-1] + ",}"),
        ("fields twice, and an objection behind", back, lambda a, o: f"{both(o, a)}\n{o}"),
        ("fields twice, with the same values", back, lambda a, o: both(a, a)),
        ("fields twice, apart from what is not seen", back, lambda a, o: both(o, unseen(a))),
        ("fields twice, apart from capitals", back, lambda a, o: both(a, renamed(o, str.title))),
        ("fields twice, apart from a space", back, lambda a, o: both(a, renamed(o, lambda name: f"{name} "))),
        ("fields twice, apart from a sign without a width", back, lambda a, o: both(a, renamed(o, "\u200b".__add__))),
        ("fields twice, apart from an accent", back, lambda a, o: both(a, renamed(o, lambda name: f"{name}\u0301"))),
        ("fields twice, in letters that look alike", back, lambda a, o: both(renamed(o, cyrillic), a)),
        ("fields twice, in wide letters", back, lambda a, o: both(a, renamed(o, wide))),
        ("objection, fields twice, apart from capitals", "objection", lambda a, o: both(o, renamed(a, str.title))),
        # syntax errors
        ("approval with a comma too many", back, lambda a, o: a[:-1] + ",}"),
        ("approval with a comment", back, lambda a, o: commented(a, "// must not be approved")),
        ("approval with a block comment", back, lambda a, o: commented(a, "/* rejected */")),
        ("approval with a hash comment", back, lambda a, o: commented(a, "# rejected")),
        ("approval with a comment behind", back, lambda a, o: f"{a} // no"),
        ("objection commented out before an approval", back, lambda a, o: commented(a, f"/* {o} */")),
        ("approval in single quotes", back, lambda a, o: a.replace('"', "'")),
        ("approval as Python", back, lambda a, o: repr(json.loads(a))),
        ("approval without its last brace", back, lambda a, o: a[:-1]),
        ("approval without its first brace", back, lambda a, o: a[1:]),
        ("nothing but a server's error", back, lambda a, o: '{"error": {"message": "overloaded"}}'),
        ("an empty object", back, lambda a, o: "{}"),
        # objections are read generously
        ("objection, words around", "objection", lambda a, o: f"My review:\n{o}\nThat is all."),
        ("objection, fenced, words around", "objection", lambda a, o: f"My review:\n\n{fence(pretty(o))}\n\nDone."),
        ("objection, in a list", "objection", lambda a, o: f"[{o}]"),
        ("objection, the same twice", "objection", lambda a, o: f"{o}\n\nAgain:\n{fence(pretty(o))}"),
        ("objection, with a comma too many", "objection", lambda a, o: f"{no} {o[:-1]},}}"),
        ("objection, beside code in braces", "objection", lambda a, o: f"It returns {{}} and {{x: 1}}.\n{fence(o)}"),
        ("objection, beside other JSON", "objection", lambda a, o: f'package.json has {{"name": "x"}}.\n{o}'),
        ("objection, beside code in a fence", "objection", lambda a, o: f"```c\nif (x) {{\n```\n{fence(o)}"),
        ("objection, thinking behind it", "objection", lambda a, o: f"{o}\n<think>{a}"),
        ("objection, behind a lost beginning", "objection", lambda a, o: f"Hm, {a}?</think>\n{o}"),
    ]
    return [Kind(*row) for row in rows]


KINDS = _kinds()
