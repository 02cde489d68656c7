"""An answer while it is being written: its points on the screen as they come, marked, without secrets, provisional."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

import rebut
from rebut import Form, Glance
from rebut.api import Setup, start
from rebut.cli.runner import CommandRun
from rebut.cli.screen import live_rows
from rebut.core.types import Reply, Request
from rebut.domain import forms as glance
from rebut.domain.outcome import Outcome
from rebut.engine.live_answer import LiveAnswer, LivePoint
from tests import duels, panels, voices
from tests.voices import Voice

TOKEN = "ghp_" + "0123456789abcdefghij" + "ABCDEFGHIJ012345"
Watch = Callable[[Request, str], Awaitable[None]]


class Terminal(io.StringIO):
    """Somebody's terminal, as far as a program can tell."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


class Debate:
    """A debate on a terminal whose models write in pieces, with a look at the screen whenever one has come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, said: Mapping[str, Any], size: int = 40) -> None:
        self.said, self.size = said, size
        self.watch: Watch | None = None
        self.whole: dict[str, int] = {}
        self.terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", self.terminal)
        self.stage = CommandRun(False, False, None, {"fake": Voice(self._says)})

    async def _says(self, request: Request) -> Reply:
        tries = self.said[request.key]
        one = tries[min(request.attempt, len(tries)) - 1] if isinstance(tries, list) else tries
        text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
        for at in range(0, len(text), self.size):
            request.on_text(text[at : at + self.size])
            if self.watch:
                await self.watch(request, text[: at + self.size])
        return Reply(text, "m", "f", voices.USAGE, 0.0)

    def play(self, protocol: str = "duel", **seats: Any) -> Outcome:
        seats = seats or {role: f"fake:{role}" for role in ("proposer", "challenger", "judge")}

        async def act(setup: Setup) -> Outcome:
            return await start(protocol, "Redis?", setup=setup, **seats)

        came = self.stage.play(act)
        assert isinstance(came, Outcome), came
        return came

    def hearing(self, request: Request) -> LiveAnswer:
        return self.stage.screen.moving.answers[request.key]

    async def looked_up(self, request: Request) -> None:
        await asyncio.gather(*self.hearing(request)._runtime.background)  # until git and files have answered

    def rows(self, width: int = 80) -> list[str]:
        return self.stage.screen.moving.rows(width)

    @property
    def printed(self) -> str:
        return self.terminal.getvalue()


def test_each_point_is_on_the_screen_before_the_next_one_is_written_with_its_mark(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C14, C11
    flaws = [
        duels.flaw("No replica at all.", 1),
        duels.flaw("The port is open.", 2, severity="P2", evidence=[duels.cite("src/session.py:2", "port = 1")]),
        duels.flaw("It moved.", 2, severity="P3", evidence=[duels.cite("src/session.py:9", "ttl = 3600")]),
        duels.flaw("It stands.", 2, severity="P3", evidence=[duels.cite("src/session.py:2", "ttl = 3600")]),
        duels.flaw("It is documented.", 2, severity="P3", evidence=[duels.cite("https://redis.io")]),
    ]
    debate = Debate(monkeypatch, duels.answers() | {"r1/challenge@challenger": duels.challenge(flaws=flaws)}, 1)
    first: list[str] = []
    marks: list[str] = []

    async def watch(request: Request, sofar: str) -> None:
        nonlocal first, marks
        if request.key != "r1/challenge@challenger":
            return
        known = len(debate.hearing(request).points)
        written = sum(json.dumps(flaw) in sofar for flaw in flaws)
        assert known == written, "neither late nor early"
        if known == 1 and not first:
            assert not debate.hearing(request).points[0].looked_up, "nobody waited for git"
            await debate.looked_up(request)
            first = debate.rows()
        if known == len(flaws) and not marks:
            await debate.looked_up(request)
            marks = [point.mark for point in debate.hearing(request).points]

    debate.watch = watch
    debate.play()
    speaking, point = first[:2]
    assert speaking.split()[:2] == ["challenger", "challenge"]
    assert point.split() == ["P1", "No", "replica", "at", "all.", "src/session.py:1", "located"]
    assert marks == ["located", "absent", "moved", "found", "uncheckable"]
    assert {e["mark"] for e in _cited("r1/challenge#ledger")} == set(marks), "as they are on record then"


def _cited(key: str) -> list[Any]:
    fact = voices.record().facts[key]
    assert isinstance(fact.value, dict)
    return [e for entry in fact.value["entries"] for e in entry["evidence"]]  # type: ignore[union-attr,index,call-overload]


def test_no_raw_json_is_ever_on_the_screen_only_words(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C14
    long = "Redis keeps what it was told, and a restart of the shop is no reason to log everybody out. " * 3
    debate = Debate(monkeypatch, duels.answers() | {"r1/opening@proposer": duels.opening(position=long)}, 7)
    seen: set[str] = set()

    async def watch(request: Request, sofar: str) -> None:
        seen.update(debate.rows(200))

    debate.watch = watch
    debate.play()
    assert any('"' in row and "a restart of the shop" in row for row in seen), "what is being said can be read along"
    for sign in ("{", "}", "[", "]", "\\", '":', "position", "evidence", "severity", "text"):
        assert not any(sign in row for row in seen), sign


def test_prose_is_shown_as_words(tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C14: an answer without a form
    path = voices.protocol(
        tmp_path, "answer = await debate.ask(debate.seat('author'), 'draft', 'Write.')\nreturn done(text=answer.value)"
    )
    words = "Once upon a time there was a store of sessions that nobody had ever counted. " * 3
    debate = Debate(monkeypatch, {"draft@author": words}, 11)
    seen: set[str] = set()

    async def watch(request: Request, sofar: str) -> None:
        seen.update(debate.rows(120))

    debate.watch = watch
    debate.play(str(path), author="fake:a", critic="fake:b")
    assert any("a store of sessions" in row for row in seen)


LONG = ".".join(
    (
        "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
        "ey" + "JzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0",
        "SflKx" * 8,
    )
)
"""A token of which nothing can be told before its third part begins."""
BEHIND = "Zq81hunter2vWx77"
WORDS = (
    *("correct", "horse", "battery", "staple", "lamp", "window", "bottle", "garden", "copper", "silver", "marble"),
    *("velvet", "orange", "purple", "yellow", "mountain", "river", "ocean", "forest", "desert", "island", "village"),
)

FARTHER = {
    "words behind a type": 'let password: &\'static str = "{}"',
    "words of a pair": '{{"key": "smtp_password", "type": "string", "value": "{}"}}',
    "words in a call": "password = Secret::new(String::from('{}'))",
}
"""What may be between the name of a password and its words."""


@pytest.mark.parametrize("size", [3, 24, 5000])
@pytest.mark.parametrize(
    "where",
    [
        *("a point", "words", "a long word", "by what follows", "by its name", "behind an escape", "prose before"),
        *("a row of SQL", "many words", "a phrase", "words behind a type", "words of a pair", "words in a call"),
    ],
)
def test_a_secret_never_shows_however_it_is_cut(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, size: int, where: str
) -> None:
    # C8
    around = "The deploy key is {} and it stands in the log of every build that ran since the first of May."
    secret, said = TOKEN, duels.challenge(flaws=[duels.flaw("All is well.")])
    answer: Any = said
    if where == "a point":
        said["flaws"][0]["text"] = around.format(secret)
    elif where == "words":
        said["coverage"]["security"] = around.format(secret) * 2
    elif where == "a long word":
        secret = LONG
        said["coverage"]["security"] = around.format(secret)
    elif where == "by what follows":
        secret = BEHIND
        said["coverage"]["security"] = around.format(f"<password>{' ' * 20}{secret}{' ' * 20}</password>")
    elif where == "a row of SQL":
        secret = BEHIND
        row = f"INSERT INTO users (name, password, note) VALUES ('ann', '{secret}', '{'a long note, ' * 20}')"
        said["coverage"]["security"] = around.format(row)
    elif where == "many words":
        secret = " ".join(WORDS)
        said["coverage"]["security"] = around.format(f"password = '{secret}'")
    elif where in FARTHER:
        secret = " ".join(WORDS)
        said["coverage"]["security"] = around.format(FARTHER[where].format(secret))
    elif where == "a phrase":
        secret = " ".join(WORDS)
        said["coverage"]["security"] = around.format(f"Recovery phrase: '{secret}'")
    elif where == "by its name":
        secret = BEHIND
        said["flaws"][0]["text"] = f'It says password = "{secret}" there.'
    elif where == "behind an escape":
        answer = json.dumps(said).replace("All is well", around.format(secret).replace("ghp_", "\\u0067hp_"))
    else:
        answer = f"{around.format(secret) * 2}\n```json\n{json.dumps(said)}\n```"
    debate = Debate(monkeypatch, duels.answers() | {"r1/challenge@challenger": answer}, size)
    seen: set[str] = set()

    async def watch(request: Request, sofar: str) -> None:
        if request.key == "r1/challenge@challenger":
            await debate.looked_up(request)
            seen.update(debate.rows(300))

    debate.watch = watch
    debate.play()
    shown = "\n".join(seen)
    assert size > 1000 or "[secret:" in shown, "it was looked at"
    for at in range(len(secret) - 8):
        assert secret[at : at + 8] not in shown + debate.printed, shown


def test_a_private_key_ends_the_reading_along(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C8: it is known for one only by its last line, which may come in a later point
    body = "MIIEowIBAAKCAQEA1234567890abcdef"
    begin, end = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"
    flaws = [duels.flaw(f"See {begin}"), duels.flaw(f"and {body}"), duels.flaw(f"and {end}")]
    # As a whole it is no answer any more: the key took its structure with it.
    said = duels.answers() | {"r1/challenge@challenger": [duels.challenge(flaws=flaws), duels.challenge()]}
    debate = Debate(monkeypatch, said, 10)
    seen: set[str] = set()

    async def watch(request: Request, sofar: str) -> None:
        seen.update(debate.rows(300))

    debate.watch = watch
    debate.play()
    assert not any("MIIE" in row for row in seen)


def test_controls_in_an_answer_do_not_reach_the_terminal(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flaw = duels.flaw("red \x1b[31malert\x07 and \u202eback\ud83d")
    debate = Debate(monkeypatch, duels.answers() | {"r1/challenge@challenger": duels.challenge(flaws=[flaw])}, 9)
    debate.said = {**debate.said, "r1/challenge@challenger": json.dumps(duels.challenge(flaws=[flaw]))}
    texts: set[str] = set()

    async def watch(request: Request, sofar: str) -> None:
        texts.update(point.text for point in debate.hearing(request).points)

    debate.watch = watch
    debate.play()
    assert any("alert and back" in text for text in texts)
    assert not any(char in text for text in texts for char in "\x1b\x07\u202e\ud83d")


def test_what_was_sent_back_vanishes_with_the_new_question(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C14: provisional
    wrong = duels.challenge(flaws=[duels.flaw("Said in a hurry.")], alternatives=[])
    right = duels.challenge(flaws=[duels.flaw("Said with care.")])
    debate = Debate(monkeypatch, duels.answers() | {"r1/challenge@challenger": [wrong, right]})
    seen: dict[int, set[str]] = {1: set(), 2: set()}

    async def watch(request: Request, sofar: str) -> None:
        if request.key == "r1/challenge@challenger":
            seen[request.attempt].update(debate.rows())

    debate.watch = watch
    debate.play()
    assert any("Said in a hurry" in row for row in seen[1])
    assert not any("Said in a hurry" in row for row in seen[2])
    assert any("Said with care" in row for row in seen[2])
    lines = [line for line in debate.printed.splitlines() if "Said" in line and "\x1b" not in line]
    assert [line.split()[:4] for line in lines] == [["P1", "Said", "with", "care."]], "one line stays, from the record"


def test_several_speak_at_once_each_with_points_below_it(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C14
    debate = Debate(monkeypatch, panels.consensus())
    together: list[str] = []

    async def watch(request: Request, sofar: str) -> None:
        nonlocal together
        await asyncio.sleep(0)  # the others write, too
        rows = debate.rows()
        if sum("One node" in row or "Keys are" in row for row in rows if row.startswith("      ")) == 2:
            together = together or rows

    debate.watch = watch
    debate.play("panel", lead="fake:lead", challenger=["fake:a", "fake:b", "fake:c"], judge="fake:judge", rounds=2)
    order = [row.split()[0] for row in together if not row.startswith("    so far")]
    below: dict[str, list[str]] = {}
    for word in order:  # who is asked first among equals is the disk's to say
        if word.startswith("challenger"):
            seat = below.setdefault(word, [])
        else:
            seat.append(word)
    assert below == {"challenger.1": ["P1"], "challenger.2": [], "challenger.3": ["P3"]}


def test_points_stay_below_a_turn_also_when_nobody_streamed_them(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C14: command-line tools answer in one piece
    debate = Debate(monkeypatch, {})
    said = duels.answers()
    debate.stage.backends = {"fake": Voice(lambda request: json.dumps(said[request.key]))}
    debate.play()
    lines = [line for line in debate.printed.splitlines() if line.startswith("      P1  No replica")]
    assert len(lines) == 1 and lines[0].endswith("src/session.py:1 located")


STAYS = """
from typing import ClassVar

from rebut import Glance


class Flaw(Form):
    glance: ClassVar[Glance] = Glance(stays={stays})
    text: str
    severity: str


class Flaws(Form):
    flaws: list[Flaw]


seats = {{"author": 1, "critic": 1}}


async def run(debate):
    found = await debate.ask(debate.seat("critic"), "look", "Look.", schema=Flaws)
    await debate.note("look", [Point(f.text, "critic", 1, f.severity) for f in found.value.flaws])
    return done()
"""


@pytest.mark.parametrize("stays", [True, False])
def test_a_form_whose_points_the_ending_lists_leaves_none_of_them_below_its_turn(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    path = voices.protocol(tmp_path, STAYS.format(stays=stays))
    debate = Debate(monkeypatch, {"look@critic": {"flaws": [{"text": "It leaks.", "severity": "P2"}]}})
    seen: set[str] = set()

    async def watch(request: Request, sofar: str) -> None:
        seen.update(debate.rows())

    debate.watch = watch
    debate.play(str(path), author="fake:a", critic="fake:b")
    assert any("P2  It leaks." in row for row in seen), "while it was written it was shown"
    assert ("      P2  It leaks." in debate.printed.splitlines()) == stays


@pytest.mark.parametrize("width", [40, 50, 80])
def test_a_row_fits_its_width_whatever_the_characters(width: int) -> None:
    for text in ("会话必须在重启后继续存在，" * 9, "plain words " * 20, "x" * 200):
        for place in ("", "src/session.py:2", "a/very/long/path/to/some/file_with_a_name.py:1200-1300"):
            row = live_rows.row(LivePoint(text, "P1", "", place, "uncheckable", looked_up=True), width)
            assert live_rows.cells(row) <= width, row
            assert row.endswith("uncheckable") and row.startswith("      P1  ")


# what a form says of itself


class Remark(Form):
    glance: ClassVar[Glance] = Glance("reason", "move", "id")
    id: str
    move: str
    reason: str


class Plain(BaseModel):
    text: str
    severity: str


class Other(BaseModel):
    text: str


class Answer(Form):
    remarks: list[Remark]
    plain: list[Plain]
    others: list[Other]
    words: list[str]
    single: Plain


def test_a_form_says_itself_which_of_its_lists_are_shown_and_how() -> None:
    found = glance.lists(Answer)
    assert {name: told for name, (_, told) in found.items()} == {
        "remarks": Glance("reason", "move", "id"),
        "plain": Glance(),
    }


@pytest.mark.parametrize("protocol", ["duel", "cross", "revise", "panel", "ask"])
def test_what_a_shipped_form_shows_are_attributes_that_it_has(protocol: str) -> None:
    import importlib

    forms = importlib.import_module(f"rebut.protocols.{protocol}" + (".forms" if protocol != "ask" else ""))
    shown = 0
    for form in vars(forms).values():
        for element, told in glance.lists(form).values() if isinstance(form, type) and issubclass(form, Form) else ():
            shown += 1
            for name in filter(None, (told.words, told.tag, told.about)):
                assert name in element.model_fields or isinstance(getattr(element, name), property), (element, name)
    assert shown or protocol == "ask"


def test_whoever_asks_for_nothing_is_told_nothing(workspace: Path, tmp_path: Path) -> None:
    # nothing is parsed or looked up for a debate that nobody watches
    heard: list[str] = []
    control = rebut.Control(on_heard=lambda key, hearing: heard.append(key))
    rebut.run("duel", "Redis?", control=control, **duels.seats(tmp_path))
    assert "r1/challenge@challenger" in heard
    assert rebut.Control().on_heard is None
