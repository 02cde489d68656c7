"""Finding citations in prose: what is one, what is not, which quote belongs to it, and that no text can hurt."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from rebut.core.citation_syntax import Citation, FoundCitation, Place, find_citations, understand


def places(text: str) -> list[str]:
    return [found.citation.place for found in find_citations(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See src/a.py:12.", ["src/a.py:12"]),
        ("(src/a.py:10-12), and src/b.ts:3–4;", ["src/a.py:10-12", "src/b.ts:3–4"]),
        ("lib/x.ts#L10-L20", ["lib/x.ts#L10-L20"]),
        ("`src/my plan.md:3` and `docs/read me.md`", ["src/my plan.md:3", "docs/read me.md"]),
        ("in a.py and b.py, c.py", ["a.py", "b.py", "c.py"]),
        ("foo.py line 9", ["foo.py:9"]),
        ("`foo.py`, lines 10 to 12", ["foo.py:10-12"]),
        ("foo.py (line 7)", ["foo.py:7"]),
        ("lines 3-5 of `Makefile`", ["Makefile:3-5"]),
        ("[the cache](src/cache.py#L3)", ["src/cache.py#L3"]),
        ("[`cache.py`](src/cache.py) does", ["src/cache.py"]),
        (
            "since commit abc1234 and commit `0123456789abcdef0123456789abcdef01234567`",
            ["commit abc1234", "commit 0123456789abcdef0123456789abcdef01234567"],
        ),
        ("tests/test_a.py::test_b fails", ["tests/test_a.py::test_b"]),
        (".github/workflows/ci.yml:3", [".github/workflows/ci.yml:3"]),
        ("`src/rebut/` and `src/rebut`", ["src/rebut/", "src/rebut"]),
        ("As scripts/deploy:12 and ./run:3 say", ["scripts/deploy:12", "./run:3"]),
        ("**src/z.go:7**", ["src/z.go:7"]),
        ("- src/a.py:1:5: E501", ["src/a.py:1:5"]),
        ("`app/[id]/page.tsx:4`", ["app/[id]/page.tsx:4"]),
        ("| src/a.py:3 | x |", ["src/a.py:3"]),
        ("docs/überblick.md:2", ["docs/überblick.md:2"]),
        ("docs/u\u0308berblick.md:2", ["docs/u\u0308berblick.md:2"]),
        ("data/prices.dat:3 and `/data/prices.dat:3`", ["data/prices.dat:3", "/data/prices.dat:3"]),
        (r"C:\src\a.py:3 and `D:/src/b.py:4`", [r"C:\src\a.py:3", "D:/src/b.py:4"]),
        ("read https://x.org/a.py:12 now", ["https://x.org/a.py:12"]),
        (
            "src/a.py:99999999999999999 and `src/a.py#L" + "9" * 99 + "`",
            ["src/a.py:" + "9" * 17, "src/a.py#L" + "9" * 99],
        ),
        ("src/a.py, line 99999999999999999", ["src/a.py:99999999999999999"]),
        ("\ufeffsrc/a.py:99 is first", ["src/a.py:99"]),
        ("\u200bsrc/a.py:9\u2060, （src/b.py:3）", ["src/a.py:9", "src/b.py:3"]),
        (r"src\a.py:9, .\src\b.py:3 and `lib\deep\c.py`", [r"src\a.py:9", r".\src\b.py:3", r"lib\deep\c.py"]),
        (r"tests\test_a.py::test_b", [r"tests\test_a.py::test_b"]),
        (r"src/my\_file.py:9", [r"src/my\_file.py:9"]),
    ],
)
def test_a_place_in_prose_is_found(text: str, expected: list[str]) -> None:
    # C11
    assert places(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "1.2.3",
        "v1.2.3",
        "at 12:30",
        "host:8080",
        "localhost:3000",
        "127.0.0.1:80",
        "e.g. this",
        "i.e. that",
        "and/or",
        "TCP/IP",
        "std::vector",
        "3/4",
        "16:9",
        "10/12/2024",
        "example.com",
        "example.com/a.py",
        "C:\\x\\y.py",
        "C:x.py:3",
        "a:/3",
        "1/2.5:3",
        "\\\\server\\share\\y.py:3",
        "either\\or",
        r"`\d+\.py`",
        r"`\w+/\w+.py`",
        r"`say\n`",
        "key:value",
        "`key:value`",
        '`{"a": 1}`',
        "Node.js",
        "Alpine.js",
        "`git add src/a.py`",
        "`application/json`",
        "src/*.py",
        "~/x.py",
        "$HOME/x.py",
        "`response.json()`",
        "response.json",
        "me@example.com",
        "`self.c`",
        "I/O",
        "console.log",
        "`foo()`",
        "and so on...",
        "a.b.c",
        "`x = y.py(3)`",
        "src/.../a.py",
        "```\nsrc/a.py:3\n```",
        "his/her/their",
        "commit to it",
        "commit defaced",
        "`/api/users`",
    ],
)
def test_what_only_looks_like_a_place_is_not_found(text: str) -> None:
    # C11
    assert places(f"We say {text} here." if "\n" not in text else text) == []


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("src/a.py:3 says `return x`", "return x"),
        ('src/a.py:3: "return x"', "return x"),
        ("`src/a.py:3` — `return x`", "return x"),
        ("`return x` (src/a.py:3)", "return x"),
        ('"return x" in src/a.py:3', "return x"),
        ("“return x” (see `src/a.py:3`)", "return x"),
        ("a.py, line 3: `return x`", "return x"),
        ("src/a.py:3:\n```python\nreturn x\n  y\n```\n", "return x\n  y"),
        ("As in **src/a.py:3**:\n\n~~~\nreturn x\n~~~", "return x"),
        ("`src/a.py:3` calls `foo()`", ""),
        ("Add `return x` (src/a.py:3)", ""),
        ('Add "return x. Then go." (src/a.py:3)', ""),
        ("src/a.py:3 and far away there is something else, namely `return x`", ""),
        ("Change src/a.py:3:\n```\nreturn y\n```", ""),
        ("src/a.py:3\n```diff\n-return x\n```", ""),
        ("src/a.py:3 is broken.\nSo:\n```\nreturn x\n```", ""),
        ("See src/a.py:3.\n\n## Next\n\n```\nreturn x\n```", ""),
        ("See src/a.py:3.\n\nAnother thing\n```\nreturn x\n```", ""),
        ("src/a.py:3 `src/b.py:4`", ""),
        ("src/a.py:3 `return x`", "return x"),
        ('`src/a.py:3 "return x"`', "return x"),
        ('(`src/a.py "return x"`)', "return x"),
        ('`src/a.py:3 "return x"` `y = 1`', "return x"),
        ('src/a.py#L3 "return x"', "return x"),
        ("a.py line 3 `return x`", "return x"),
        ('see src/a.py:3 (`src/b.py:4 "return x"`)', ""),
        ("the files `debates/NNN`, `last.json`, `other`", ""),
        ("in `last.json` `other`", ""),
    ],
)
def test_a_quote_is_taken_only_when_it_clearly_belongs_to_the_place(text: str, quote: str) -> None:
    # C11
    assert find_citations(text)[0].citation.quote == quote


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ('`src/a.py:9` "return sum(i["cost"] for i in rows)".', 'return sum(i["cost"] for i in rows)'),
        ('`src/a.py:9` “return sum(i["cost"] for i in rows)”.', 'return sum(i["cost"] for i in rows)'),
        ("`src/a.py:9` “return sum(i[“cost”] for i in rows)”.", "return sum(i[“cost”] for i in rows)"),
        ('`src/a.py:9 "rows["cost"]"`', 'rows["cost"]'),
        ('"rows["cost"] + 1" in src/a.py:9', 'rows["cost"] + 1'),
        ('src/a.py:9 "join(", ", rows)" is slow', 'join(", ", rows)'),
        ('src/a.py:9 "row.split(" ")"', 'row.split(" ")'),
        ('src/a.py:9 "P = r".*""', 'P = r".*"'),
        ('src/a.py:9 "name = "" if x"', 'name = "" if x'),
        ('src/a.py:9 ""x" in y"', '"x" in y'),
        ('src/a.py:9 "<a href="x">go</a>"', '<a href="x">go</a>'),
        ('src/a.py:9 "if char == \'"\': return"', "if char == '\"': return"),
        ('src/a.py:9 "in the users\' words" and "name == \'x.\'"', "in the users' words"),
        ("src/a.py:9 \"name == 'x.'\" is wrong", "name == 'x.'"),
        ("src/a.py:9 \"don't, 'x.'\"", "don't, 'x.'"),
        ('src/a.py:9 "KEYS = (\'"at"\', \'"role"\')"', "KEYS = ('\"at\"', '\"role\"')"),
        (r'src/a.py:9 "split("\\", 1)"', r'split("\\", 1)'),
        ('src/a.py:9 "assert " x" in at("b.py:5")["c"]"', 'assert " x" in at("b.py:5")["c"]'),
        ('src/a.py:9 "log(" rest of a string', "log("),
        ('src/a.py:9 "return sum(i["cost"', 'return sum(i["cost'),
        ('src/a.py:9 """Look it up."""', "Look it up."),
        ('the 5" disk in src/a.py:9 "x = 1"', "x = 1"),
        ("src/a.py:9 ``x = `a` + b``", "x = `a` + b"),
        ("src/a.py:9 `x = `a` + b`", ""),
        ('src/a.py:9 "x" and "y"', "x"),
        ('src/a.py:9 "x =" and "y"', "x ="),
        ('src/a.py:9: "one (1)", src/b.py:2: "(2) two".', "one (1)"),
        ('src/a.py:9 "def get(" and src/b.py:2 "(key)"', "def get("),
        ('src/a.py:9 "return x” and src/b.py:2 “y"', "return x"),
        ('src/a.py:9 “return x" is wrong', "return x"),
        ('src/a.py:9 "x = 1", not "(y = 2)"', "x = 1"),
        ('src/a.py:9 "return x"。', "return x"),
        ("src/a.py:9 “return x”，是错的", "return x"),
        ('src/a.py:9 "return x(" → wrong', "return x("),
        ("src/a.py:9 'return f(x)'です", "return f(x)"),
        ('| src/a.py:9 "return x"<br>is wrong |', "return x"),
        ('src/a.py:9 """x = """""', 'x = ""'),
        ("src/a.js:9 `const url = `${base}/y`;`", ""),
        ("src/a.js:9 `const q = sql`select y`;`", ""),
        ('src/a.py:9 `if "`" not in line:`', ""),
        ("src/a.py:9 `return x  # as in `_line` above`", ""),
        ("src/a.py:9 ` x = 1 `, which is wrong", "x = 1"),
    ],
)
def test_a_quote_with_quotation_marks_inside_is_read_to_its_real_end(text: str, quote: str) -> None:
    # C11
    assert find_citations(text)[0].citation.quote == quote


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("In src/a.py line 9, `return mul(`", "return mul("),
        ("But at line 9 of `src/a.py`, “return mul(x)” is wrong.", "return mul(x)"),
        ("In src/a.py:9, `mul` is called", ""),
        ("In src/a.py:9, `mul(x, 1)` is called", ""),
        ("At src/a.py:9, `make test LIMIT=1` fails", ""),
        ("In src/a.py:9, `x = 2` should be there", ""),
        ("It reads src/a.py:9, `x = 2`", ""),
        ("| src/a.py:9 | `return mul(x)` |", "return mul(x)"),
        ('| **`src/a.py:9`** | "return mul(x)" | bad |', "return mul(x)"),
        (r"In src/a.py line 9, `P = r'x\|y'`", r"P = r'x\|y'"),
        ("| src/a.py:9 | `mul` |", ""),
        ("| see src/a.py:9 | `return mul(x)` |", ""),
        ("| src/a.py:9 | call `return mul(x)` |", ""),
        ("| src/a.py:9 | `return mul(x)` twice |", ""),
        ("| Place | Quote |\n|---|---|\n| src/a.py:9 | `mul` |", "mul"),
        ("> | Place | Code |\n> |---|---|\n> | src/a.py:9 | `a \\| b` |", "a | b"),
        ("| Place | Fix |\n|---|---|\n| src/a.py:9 | `return add(x)` |", ""),
        ("| Place | New code |\n|---|---|\n| src/a.py:9 | `return add(x)` |", ""),
        ("| Place | Quote |\n|---|---|\n\n| src/a.py:9 | `mul` |", ""),
        ('"return mul(x)" is at src/a.py:9', "return mul(x)"),
        ("`return mul(x)` is still in `src/a.py:9`", "return mul(x)"),
        ('"return mul(x)" can be found at line 9 of src/a.py', "return mul(x)"),
        ("`Cache` is at src/a.py:9", ""),
        ('"The loop" is in src/a.py:9', ""),
        ('"return mul(x)" is not at src/a.py:9', ""),
        ("src/a.py:9 'sum(x)'", "sum(x)"),
        ("src/a.py, line 9: 'rows['cost'] + 1'.", "rows['cost'] + 1"),
        ("src/a.py:9 ‘don’t(x)’", "don’t(x)"),
        ("src/a.py:9 isn't the users' f(x)", ""),
        ("src/a.py:9 'tis the season (of a_b)", ""),
        ("src/a.py:9 'the season' is", ""),
        ("src/a.py 'sum(x)'", ""),
        ("'src/a.py:9' and 'f(x)'", ""),
        ("src/a.py:9 'see src/b.py:3'", ""),
    ],
)
def test_other_ways_to_quote_are_read_only_if_the_words_are_clearly_said_to_be_there(text: str, quote: str) -> None:
    # C11
    assert find_citations(text)[0].citation.quote == quote
    assert ("src/b.py:3" in text) == ("src/b.py:3" in places(text))


def test_the_end_of_a_quote_that_has_too_many_marks_is_not_a_quote_before_a_place() -> None:
    # C11: at most sixteen quotation marks are read inside a quote
    code = 'said += ("" if said.endswith((".", ",", ":", "!", "?")) else "," if n else ":") + f" {cell}"'
    found = find_citations(f'"{code}" (src/a.py:9), and src/b.py:4 "x = 1"')
    assert [(one.citation.place, one.citation.quote) for one in found] == [("src/a.py:9", ""), ("src/b.py:4", "x = 1")]


def test_a_quote_with_two_possible_ends_is_read_to_the_later_one_and_the_other_is_kept() -> None:
    # C11
    found = [one.citation for one in find_citations('src/a.py:9 "join(" and "(x)".')]
    assert [(one.quote, one.shorter) for one in found] == [('join(" and "(x)', "join(")]


@pytest.mark.parametrize(
    "text",
    [
        "> As in `src/a.py:3`:\n> ```python\n> if x > y:\n>     return x\n> ```",
        "> As in `src/a.py:3`:\n>\n> ~~~\n> if x > y:\n>     return x\n> ~~~\n\nThat is all.",
        "> > As in `src/a.py:3`:\n> > ```\n> > if x > y:\n> >     return x\n> > ```",
        ">> As in `src/a.py:3`:\n>> ```\n>> if x > y:\n>>     return x\n>> ```",
        "- > As in `src/a.py:3`:\n  > ```\n  > if x > y:\n  >     return x\n  > ```",
        "> 1. As in `src/a.py:3`:\n>    ```\n>    if x > y:\n>        return x\n>    ```",
        "\t> As in `src/a.py:3`:\n\t> ```\n\t> if x > y:\n\t>     return x\n\t> ```",
        "> As in `src/a.py:3`:\n> ```\n> if x > y:\n>     return x\n\nThe block quote has ended.",
        "> As in `src/a.py:3`:\n> ```\nif x > y:\n    return x\n> ```",
    ],
)
def test_a_fenced_block_in_a_block_quote_is_read_without_the_markers(text: str) -> None:
    # C11
    found = find_citations(text + "\n\nsrc/b.py:4")
    assert [one.citation.place for one in found] == ["src/a.py:3", "src/b.py:4"]
    assert [line.strip() for line in found[0].citation.quote.split("\n") if line] == ["if x > y:", "return x"]


def test_a_fence_without_a_line_ends_with_its_block_quote() -> None:
    # C11
    assert places("> As in `src/a.py:3`:\n> ```\n\nsrc/b.py:4") == ["src/a.py:3", "src/b.py:4"]


def test_a_fenced_block_keeps_what_only_looks_like_a_marker() -> None:
    # C11
    assert find_citations("src/a.py:3:\n```\n> x\n```")[0].citation.quote == "> x"
    assert find_citations("> src/a.py:3:\n> ```\n> > x\n> ```")[0].citation.quote == "> x"


def test_each_place_carries_its_line_and_whether_it_is_yet_to_be_made() -> None:
    # C11
    text = (
        "One\r\n\r\nsrc/a.py:3 here\n```\nsrc/no.py:1\n```\n[b](docs/b.md)\nCreate `src/new.py`. Look at src/old.py.\n"
    )
    found = find_citations(text)
    assert [(f.line, f.citation.place) for f in found] == [
        (3, "src/a.py:3"),
        (7, "docs/b.md"),
        (8, "src/new.py"),
        (8, "src/old.py"),
    ]
    assert [f.planned for f in found] == [False, False, True, False]


def test_a_fenced_block_after_a_byte_order_mark_is_not_searched() -> None:
    # C11
    assert places("\ufeff```\nsrc/a.py:3\n```\nsrc/b.py:4") == ["src/b.py:4"]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("src/a.py:3", Place("file", "src/a.py", 3, 3)),
        ("`src/a.py:9-3`", Place("file", "src/a.py", 3, 9)),
        ("src/a.py#L3-L9", Place("file", "src/a.py", 3, 9)),
        ("src/a.py lines 3-9", Place("file", "src/a.py", 3, 9)),
        ("src/a.py, line 3", Place("file", "src/a.py", 3, 3)),
        ("src/a.py:3 (get)", Place("file", "src/a.py", 3, 3)),
        ("src/a.py (get)", Place("file", "src/a.py")),
        ("file: src/a.py:3", Place("file", "src/a.py", 3, 3)),
        ("my docs/plan one.md:3", Place("file", "my docs/plan one.md", 3, 3)),
        ("tests/a.py::test_b", Place("file", "tests/a.py")),
        ("Makefile", Place("file", "Makefile")),
        ("src/a.py:3:14", Place("file", "src/a.py", 3, 3)),
        (r"src\deep\a.py:3", Place("file", "src/deep/a.py", 3, 3)),
        (r"src/my\_file.py", Place("file", "src/my_file.py")),
        ("src/a.py:3-" + "9" * 99, Place("file", "src/a.py", 3, 999_999_999)),
        (r"C:\src\a.py:3", Place("file", "C:/src/a.py", 3, 3)),
        ("data/a.dat:3", Place("file", "data/a.dat", 3, 3)),
        ("commit abc1234", Place("commit", name="abc1234")),
        ("abc1234", Place("commit", name="abc1234")),
        ("HEAD~2", Place("commit", name="HEAD~2")),
        ("https://example.org/a.py:3", Place("url")),
        ("§ Rollout", Place("section", name="Rollout")),
        ('section "Rollout plan"', Place("section", name="Rollout plan")),
        ("## Rollout", Place("section", name="Rollout")),
        ("line 12", Place("section", "", 12, 12)),
        ("TCP/IP", Place("other", "TCP/IP")),
        ("benchmark: 3x faster", Place("other")),
        ("", Place("other")),
        ("x" * 5000, Place("other")),
    ],
)
def test_a_place_given_as_such_is_understood(place: str, expected: Place) -> None:
    # C11
    assert understand(place) == expected
    assert Citation.of(f" {place} ").parsed == expected


MARKUP = st.lists(
    st.sampled_from(
        [
            "src/a.py:3",
            "a.py",
            "`",
            "``",
            "```",
            "~~~",
            "\n",
            " ",
            "(",
            ")",
            "[",
            "](",
            '"',
            "“",
            "line 3",
            "commit abc1234",
            "§",
            "https://x",
            ":",
            "#L3",
            "-",
            "…",
            "::",
            "\r",
            "\0",
            "é",
            "\ud800",
            "says",
            "1" * 12,
            "/",
            ".",
            "..",
            ",",
            "|",
            "<",
            ">",
        ]
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=300), MARKUP.map("".join)))
def test_no_text_makes_the_finder_fail_and_what_it_finds_stands_there(text: str) -> None:
    # C11
    total = text.count("\n") + 1
    for found in find_citations(text):
        assert 1 <= found.line <= total
        assert found.citation.parsed.kind in ("file", "commit", "url", "other")
        path = found.citation.parsed.path
        assert re.sub(r"\s", "", path) in re.sub(r"\s", "", text) or "\\" in found.citation.place


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=300), MARKUP.map("".join)))
def test_no_place_makes_the_reader_fail(text: str) -> None:
    # C11
    place = understand(text)
    assert 0 <= place.start <= place.end


LONG = [
    "a/",
    "`",
    ":1",
    '"',
    "a.py,",
    "(",
    "[](",
    "` ",
    "a",
    "commit ",
    "line 1 ",
    "- ",
    "`a` ",
    "is ",
    "https://",
    "“",
    " ",
    ">",
    "1",
    "](a.py",
    "``` \n",
    "a.py:",
    "::",
    "lines 1 of ",
    "*",
    '" ',
    '"(',
    'x"',
    '"x["',
    '"""',
    "“(",
    "” ",
    "“x”",
    "``x",
    "`(`x",
    "'x",
    " 'a(",
    "| `x y` ",
    "a.py:3 '(",
    "|a.py:3|`x = 1`",
    ", `x = 1`",
    "> ",
]


@pytest.mark.parametrize("piece", LONG)
def test_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    # C11: on so long a line a pattern that backtracks would not end within the life of the test run
    size = 100_000
    found = find_citations("src/a.py:3 " + piece * (size // len(piece)) + "\nsrc/b.py:4")
    assert (found[0].citation.place, found[0].line) == ("src/a.py:3", 1)
    assert piece.startswith("```") or found[-1] == FoundCitation(2, Citation("src/b.py:4"))


def test_a_megabyte_of_prose_is_read_through() -> None:
    # C11
    line = "The cache (see `src/cache.py:88`) is not `thread safe`, and/or TCP/IP at 12:30 on host:8080, e.g. v1.2.3.\n"
    assert len(find_citations(line * 10_000)) == 10_000
