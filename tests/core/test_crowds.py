"""Blocks with so many possible secrets that they are removed whole: what that bounds, and what it leaves alone."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Iterator
from typing import Any

import pytest

from bench.secrets import form_cases, rule_cases
from rebut.core.crowds import BLOCK, MOST, SPARE, Crowds
from rebut.core.redaction import OVERLAP, PIECE, PLACEHOLDER, Redactor
from rebut.core.searched_text import SearchedText

KEY = b"k" * 32
LONG = 4 * BLOCK
DENSE = [
    "curl -u a:",
    "password='x1",
    'password="',
    "pwd={} ",
    "PASSWORD=https://{}@h ",
    "Cookie: a={}; ",
    "-p{} mysql ",
]


def text_of(unit: str, size: int) -> str:
    draw, parts = random.Random(unit), list[str]()
    while sum(map(len, parts[-1:])) + len(parts) * len(unit) < size:
        parts.append(unit.format("".join(draw.choices(string.ascii_letters + string.digits, k=10))))
    return "".join(parts)


@pytest.mark.parametrize("unit", DENSE)
def test_of_a_block_no_more_places_are_looked_at_than_the_limit(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # C8: this bounds the time for any text
    looked_at: dict[tuple[Crowds, int], int] = {}
    places = Crowds.places

    def counted(self: Crowds, *searched: object, **points: int) -> Iterator[re.Match[str]]:
        for m in places(self, *searched, **points):  # type: ignore[arg-type]
            block = self, m.start() // BLOCK
            looked_at[block] = looked_at.get(block, 0) + 1
            yield m

    monkeypatch.setattr(Crowds, "places", counted)
    text = text_of(unit, 3 * LONG)
    done = Redactor(KEY).redact(text)
    beyond = sum(max(0, count - MOST) for count in looked_at.values())
    assert looked_at and beyond <= SPARE, "what is shared is given once, however often the text is searched"
    assert Redactor(KEY).redact(done) == done


def test_a_match_that_reaches_over_many_blocks_is_read_a_few_times_however_long_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # C8: one word without an end, in which every block is crowded
    read = 0

    class Counted:
        def __init__(self, pattern: Any) -> None:
            self.pattern = pattern

        def finditer(self, *searched: object) -> Iterator[re.Match[str]]:
            nonlocal read
            for m in self.pattern.finditer(*searched):
                read += m.end() - m.start()
                yield m

    places = Crowds.places

    def counted(self: Crowds, pattern: Any, *searched: Any, **points: int) -> Iterator[re.Match[str]]:
        return places(self, Counted(pattern), *searched, **points)  # type: ignore[arg-type]

    monkeypatch.setattr(Crowds, "places", counted)
    text = text_of("password=a--password=%--cookie", 50 * BLOCK)
    Redactor(KEY).redact(text)
    assert read < 12 * len(text), f"{read / len(text):.0f} times the text"


@pytest.mark.parametrize(
    "unit", ["Server=a;Password=b;", "<password>", "a=-password=b;1a_cpassword>sigsserver=a;passw:"]
)
def test_a_text_without_a_space_is_not_searched_twice_for_the_same(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # C8: the first search took of what is shared until it was gone, and the second did the same once more
    searched: list[int] = []
    init = SearchedText.__init__

    def counted(self: SearchedText, text: str, *more: Any) -> None:
        searched.append(len(text))
        init(self, text, *more)

    monkeypatch.setattr(SearchedText, "__init__", counted)
    text = unit * (6 * LONG // len(unit))
    done = Redactor(KEY).redact(text)
    assert sum(searched) < 1.5 * len(text) and len(done) < len(text) / 2
    assert Redactor(KEY).redact(done) == done


def test_only_what_is_around_secrets_is_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:  # C8
    searched: list[int] = []
    init = SearchedText.__init__

    def counted(self: SearchedText, text: str, *more: Any) -> None:
        searched.append(len(text))
        init(self, text, *more)

    monkeypatch.setattr(SearchedText, "__init__", counted)
    plain = "    a line of ordinary words, which is nobody's secret\n" * 60
    text = "".join(f"{plain}password = 'aQ9z7W-{n}'\n" for n in range(40))
    done = Redactor(KEY).redact(text)
    assert len(PLACEHOLDER.findall(done)) == 40 and done.count(plain) == 40
    assert len(text) < sum(searched) < 1.6 * len(text) and max(searched) <= PIECE + OVERLAP + 100


@pytest.mark.parametrize("end", ["\n", " "])
def test_a_crowd_goes_whole_and_no_line_moves(end: str) -> None:  # C8, C11
    secrets = ["".join(random.Random(n).choices(string.ascii_letters, k=9)) + "7x" for n in range(3_000)]
    text = "".join(f"password='{secret}'{end}" for secret in secrets)
    plain = "a line without any\n" * BLOCK
    done = Redactor(KEY).redact(f"{plain}{text}\n{plain}")
    assert not [secret for secret in secrets if secret in done]
    assert done.count("\n") == text.count("\n") + 1 + 2 * BLOCK
    assert done.count("a line without any\n") > 2 * BLOCK - 3 * BLOCK // 19, "only the blocks of the crowd are gone"


def test_a_secret_that_begins_in_a_crowd_goes_with_it() -> None:  # C8
    long = "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=3 * BLOCK))
    crowd = "password='x1y2z3' " * (BLOCK // 18 * 5)
    for at in range(-40, 40, 4):
        text = crowd[: 4 * BLOCK + at] + f" api_key={long} end of it\n" + "plain words here\n" * 2_000
        done = Redactor(KEY).redact(text)
        assert not [n for n in range(0, len(long) - 24, 24) if long[n : n + 24] in done], at
        assert done.count("plain words here") == 2_000


@pytest.mark.parametrize("size", [LONG // 2, 8 * LONG])
def test_where_secrets_are_not_crowded_everything_else_stays(size: int) -> None:  # C8
    line = "    the setting of a service, with some words around it, and then its key on the next line\n"
    rows = [f"{line * 2}password = '{n}aQ9z7W-{n}'\n" for n in range(size // 200)]
    done = Redactor(KEY).redact("".join(rows))
    assert done.count(line) == 2 * len(rows) and len(PLACEHOLDER.findall(done)) == len(rows)


def test_in_a_short_text_each_secret_has_its_own_placeholder() -> None:  # C8
    rows = [f"SERVICE_TOKEN_{n}=aQ9z7W{n}x8\n" for n in range(200)]
    done = Redactor(KEY).redact("".join(rows))
    assert len("".join(rows)) > BLOCK and len(set(PLACEHOLDER.findall(done))) == 200


def test_a_file_with_hundreds_of_keys_in_a_long_text_loses_the_keys_and_nothing_else() -> None:  # C8
    draw = random.Random(14)
    keys = ["".join(draw.choices(string.ascii_letters + string.digits, k=24)) + "7x8y9z" for _ in range(250)]
    rows = [f"API_TOKEN_{n}={key}  # of service {n}\n" for n, key in enumerate(keys)]
    plain = "    return total(price, order)  # a line of ordinary code\n" * 2_000
    done = Redactor(KEY).redact(plain + "".join(rows) + plain)
    assert not [key for key in keys if key in done]
    assert done.count("  # of service ") == 250 and len(set(PLACEHOLDER.findall(done))) == 250
    assert done.count(plain) == 2


def test_in_a_long_text_the_same_secrets_are_found_wherever_it_is_cut() -> None:  # C8
    # A long text is searched in pieces, a short one at once, and words that were seen before are not read again.
    pick, cases = random.Random(5), [case.text for case in (*rule_cases(1, each=1), *form_cases(1, each=1))]
    one_by_one = {secret for case in cases for secret in Redactor(KEY).taken_out(f"{case}\n").values()}
    for is_new, length in ((True, 100), (False, 100), (True, 61), (False, 83)):
        lines = []
        for case in cases:
            words = ["".join(pick.choices("bdfgjlmruvz", k=7)) if is_new else "furlong" for _ in range(length)]
            lines.append(f"{' '.join(words)}\n\n{case}\n\n")
        text = "".join(lines)
        assert len(text) > 3 * PIECE
        found = set(Redactor(KEY).taken_out(text).values())
        assert found == one_by_one and len(found) > len(cases) * 0.9


def test_a_text_whose_words_were_all_seen_before_loses_the_same_secrets() -> None:  # C8
    cases = [case.text for case in (*rule_cases(2, each=1), *form_cases(2, each=1))]
    first = [Redactor(KEY).redact(text) for text in cases]
    assert [Redactor(KEY).redact(text) for text in cases] == first
    # Each word alone, so that none is known from a text in which it was beside a secret.
    for word in {word for text in cases for word in text.split()}:
        Redactor(KEY).redact(f"{word} {'x' * 80}")
    assert [Redactor(KEY).redact(text) for text in cases] == first


def test_a_long_file_that_names_tokens_on_every_line_stays_as_it_is() -> None:  # C8
    keys = {"input_token": "NextToken", "limit_key": "MaxResults", "output_token": "NextToken", "result_key": "Items"}
    text = json.dumps({f"List{n}": keys for n in range(400)}, indent=2)
    assert len(text) > 9 * BLOCK and Redactor(KEY).redact(text) == text


def test_what_a_match_in_a_crowded_block_covers_is_searched_once_the_block_is_gone() -> None:
    # C8: the block fills up while the text is searched, and the first cookie's match takes the rest of the line
    secret, prose = "Zx9Qm27LpT4vRk81WcYb56Hd", "the quick brown fox jumps over it "
    dense = ("token=a1b2c3d4e " * BLOCK)[: BLOCK - 16]
    text = f"{dense}cookie: a {prose * 20}cookie: zz={secret} {prose * 3}\n"
    done = Redactor(KEY).redact(text)
    assert secret not in done
    assert prose * 11 in done, "the crowded block takes a few words of the long line with it, and no more"
    assert Redactor(KEY).redact(done) == done


def test_words_that_name_no_secret_use_up_nothing_inside_a_long_value() -> None:
    # C8: a list of objects as one long value, each with a field called `key`
    rows = [{"key": f"item.{i}", "label": f"Label{i}", "n": i} for i in range(363)]
    text = f"const key = '{json.dumps(rows, separators=(',', ':'))}';\n"
    assert len(text) > 2 * BLOCK
    assert Redactor(KEY).redact(text) == text


def test_a_crowded_block_takes_the_end_of_its_line_with_it_also_where_the_text_ends() -> None:
    # C8: the block ends between the name and its secret
    secret = "Zx9Qm27LpT4vRk81WcYb56Hd"
    text = ("password='x1" * BLOCK)[: 2 * BLOCK - 6] + f"\ntoken = '{secret} "
    done = Redactor(KEY).redact(text)
    assert secret not in done
    assert Redactor(KEY).redact(done) == done


@pytest.mark.parametrize("tail", ["token", "token =", "token = '", "password "])
def test_a_crowded_block_takes_the_next_words_of_a_long_line_with_it(tail: str) -> None:
    # C8: the block ends between the name and its secret, on a line that is too long to go whole
    secret, prose = "Zx9Qm27LpT4vRk81WcYb56Hd", "the quick brown fox jumps over it "
    value = "token = '".removeprefix(tail) if tail.startswith("t") else "= '"
    text = f"{('password=x1y2z3 ' * BLOCK)[: 4 * BLOCK - len(tail) - 1]} {tail}{value}{secret}' {prose * 40}\n"
    done = Redactor(KEY).redact(text)
    assert secret not in done and prose * 32 in done


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("token: >\n", "  {}\n"),
        ("- name: DB_PASSWORD\n", "  value: {}\n"),
        ("Private-Lines: 2\n", "Xk29dPq7LmT4vRk81WcYb56Hd\n{}\n# the end\n"),
        ("+token = (\n", '+    "{}"\n+)\n'),
        ('variable "db_password" {{\n', '  type = string\n  default = "{}"\n}}\n'),
    ],
)
@pytest.mark.parametrize("cut", [0, 1, 2, 5])
def test_a_crowded_block_takes_the_lines_with_it_that_are_set_in_below_its_last_one(
    name: str, value: str, cut: int
) -> None:
    # C8: the block ends on the line of the name, and its secret is on one below
    secret, plain = "Zx9Qm27LpT4vRk81WcYb56Hd", "plain\n" * 300
    before = ("password='x1y2z3' " * BLOCK)[: 4 * BLOCK - len(name.format()) - 1 + cut]
    done = Redactor(KEY).redact(f"{before}\n{name.format()}{value.format(secret)}{plain}")
    assert secret not in done and done.endswith(f"\n{plain}")


@pytest.mark.parametrize("cut", range(0, 60, 6))
def test_a_secret_that_ends_in_a_block_of_names_goes_whole(cut: int) -> None:
    # C8: such a block was removed before its surroundings were read, and the beginning of the secret stayed
    for line in ("ghp" + "_aZ9bY8cX7dW6eV5fU4gT3hS2iR1jQ0kPlOm1", "token = 'Zx9Qm27LpT4vRk81WcYb56Hd'", "pw Zx9Qm27Lp"):
        plain = ("a plain line\n" * BLOCK)[: 3 * BLOCK - cut - 1]
        done = Redactor(KEY).redact(f"{plain}\n{line}\n{'key ' * BLOCK}\n")
        assert not re.search(r"ghp|Zx9", done), done[-200:]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_crowded_block_makes_no_line_of_its_own(end: str) -> None:  # C8, C11
    for shift in range(20):
        text = "x" * shift + f"password='x1y2z3'{end}" * 1_000
        done = Redactor(KEY).redact(text)
        assert len(done) < len(text) * 2 and "x1y2z3" not in done
        assert len(done.splitlines()) == len(text.splitlines()) and done.count(end) == text.count(end)


def test_a_row_of_which_each_secret_shows_the_next_takes_no_ordinary_lines_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # C8: after many searches hardly a place was left to a block, and each part that went showed the one beside it
    passes = 0
    spans = Redactor._spans

    def counted(self: Redactor, *searched: Any) -> Any:
        nonlocal passes
        passes += 1
        return spans(self, *searched)

    monkeypatch.setattr(Redactor, "_spans", counted)
    plain = "    password = ask_for_password(user)  # once\n" + "    an ordinary line of code or of words\n" * 6
    crowd = "password='x1y2z3' " * 2_000  # uses up what is shared
    done = Redactor(KEY).redact(f"{crowd}\n{plain * 40}{'PASSWORD=nonepassword: ' * 300}\n{plain * 40}")
    assert done.count("an ordinary line") > 480 - 40 and passes < 20


FAR_AWAY = [
    "curl https://host/x \\\n  -X POST \\\n  -H 'a: b' \\\n  -H 'c: d' \\\n  --compressed \\\n  -u ann:{}\n",
    f"curl {'-H accept --retry 3 ' * 40}-u ann:{{}}\n",
    f"smbclient {'--debug 3 ' * 60}-U ann%{{}}\n",
    f"Cookie: {'a=1; lang=en; ' * 60}xz={{}}\n",
    f"INSERT INTO users (name, about, password) VALUES ('ann', '{'a word or two, ' * 40}', '{{}}'); {'-- ' * 99}\n",
    f'Authorization: Digest username="ann", realm="{"a word " * 22}", response="{{}}", x="{"a word " * 80}"\n',
    "<key>api_token</key>\n<string>{}</string>\n",
    'password = (\n"{}"\n)\n',
    "machine host\nlogin ann\npassword {}\n",
]


@pytest.mark.parametrize("crowd", ["password='x1y2z3'\n", "key key key key\n"])
@pytest.mark.parametrize("form", FAR_AWAY)
def test_a_name_in_a_crowded_block_still_gives_away_a_value_far_behind_it(form: str, crowd: str) -> None:  # C8
    secret, plain = "correcthorse" if "login" in form else "Zx9Qm27LpT4vRk81WcYb56Hd", "a plain line\n" * 300
    text = form.format(secret)
    assert secret not in Redactor(KEY).redact(f"a plain line\n{text}a plain line\n")
    for at in (n for n in (0, 1, 3, 6, 10, 15, 17, 23, 40, 90) if n < len(text)):
        before = (crowd * BLOCK)[-(2 * BLOCK - at - 1) :] + "\n"
        done = Redactor(KEY).redact(before + text + plain)
        assert secret not in done and done.endswith(plain), at


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("0123456789abcdef" * 2 + "-us" + "21", "01234567"),
        ("aZ9bY8" + "_" + "cX7dW6eV5fU4gT3hS2iR1jQ0kPlOm" + "_mmk", "aZ9bY8"),
        ("app:anchor_dragon3172@tcp(db:3306)/app", "anchor"),
        ("eyJhbGciOiJIUzI1NiJ9" + "." + "aZ9bY8cX7dW6eV5fU4gT3hS2" * 120 + ".c2lnbmF0dXJlc2ln", "aZ9bY8"),
    ],
)
def test_a_secret_that_only_its_end_in_a_crowded_block_tells_goes_whole(secret: str, shown: str) -> None:
    # C8: the block was removed, and the beginning of the secret before it stayed
    for before in range(1, min(len(secret), 2_000), max(1, len(secret) // 20)):
        plain = ("a plain line\n" * BLOCK)[-(BLOCK - before - 6) :]
        done = Redactor(KEY).redact(f'{plain}dsn "{secret}"\n{"key " * BLOCK}\n')
        assert shown not in done, before
        assert done.startswith(plain.rpartition("\n")[0]), "nothing but the word goes"


@pytest.mark.parametrize("lines", [500, 700, 900])
def test_a_line_end_of_two_characters_is_not_torn_where_a_piece_begins_inside_it(lines: int) -> None:  # C8, C11
    plain = "    an ordinary line of code or of words\r\n"
    for shift in range(0, 40, 4):
        text = "x" * shift + plain * lines + "key key key\r\n" * 1_500 + plain * 9
        done = Redactor(KEY).redact(text)
        assert len(done.splitlines()) == len(text.splitlines())


@pytest.mark.parametrize("crowd", ["password='x1y2z3'\n+", "key key key key\n+"])
def test_in_a_diff_a_crowded_block_takes_no_sign_with_it(crowd: str) -> None:
    # C8: a block that began with a line took its sign, and the hunk could no longer be parsed
    for shift in range(40):
        plain = f"+{'x' * shift}\n" + "+a plain line\n" * (3 * BLOCK // 14)
        text = f"@@ -0,0 +1,2000 @@\n{plain}+{crowd * 1_500}the end\n"
        done = Redactor(KEY).redact(text)
        lines = done.splitlines()
        assert len(lines) == len(text.splitlines()) and all(line.startswith("+") for line in lines[1:]), shift
        assert Redactor(KEY).redact(done) == done
