"""Evidence: each mark is given when it should be, and only `absent` can hurt a claim."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from repositories import commit, git, new, redact, small

from rebut.core.citation_syntax import Citation
from rebut.evidence import lookup
from rebut.evidence.lookup import Mark, check_text, look_up_citation
from rebut.workspace.snapshot import Snapshot, take
from rebut.workspace.tree import LiveView, Missing, Overlay, Read, Text, View, Workspace

CACHE = """\
import redis


def get(key):
    # look it up
    return redis.get(key)


def put(key, value):
    redis.set(
        key,
        value,
    )
    return value  # the old value is gone, and nobody is told of that, which may surprise some


def both(key):
    return redis.get(key)
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    (folder / "src/deep").mkdir(parents=True)
    (folder / "src/cache.py").write_text(CACHE)
    (folder / "src/deep/util.py").write_text("x = 1\n")
    (folder / "src/util.py").write_text("y = 1\n")
    (folder / "src/deep/say.py").write_text('say("hi")\n')
    (folder / "conf.py").write_text("password = 'hunter2'\nname = 'db'\n")
    (folder / "blob.bin").write_bytes(b"\0\1")
    (folder / ".env").write_text("KEY=1\n")
    (folder / "docs").mkdir()
    (folder / "docs/plan.md").write_text("# Plan\n\nSee cache.py.\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Put a cache in front\n\nIt is slow otherwise.")
    return folder


def marks(repo: Path, *cited: tuple[str, str], artifact: str | None = None) -> list[Mark]:
    async def run() -> list[Mark]:
        keep = repo.parent / "keep"
        taken = await take(repo, keep, redact)
        results = []
        for view in (View(taken, keep, redact), LiveView(repo, redact)):
            results.append([await look_up_citation(Citation.of(*c), view, artifact=artifact) for c in cited])
            await view.close()
        assert results[0] == results[1]  # a clean workspace and its snapshot say the same
        return results[0]

    return asyncio.run(run())


def mark(repo: Path, place: str, quote: str = "", artifact: str | None = None) -> Mark:
    return marks(repo, (place, quote), artifact=artifact)[0]


@pytest.mark.parametrize(
    ("place", "quote"),
    [
        ("src/cache.py:6", "return redis.get(key)"),
        ("src/cache.py:6", "    return   redis.get( key )  "),
        ("src/cache.py:4-6", "return redis.get(key)"),
        ("src/cache.py:4", "def get(key):\n    # look it up\n    return redis.get(key)"),
        ("src/cache.py:10", "redis.set(key, value,)"),
        ("src/cache.py:4", "def get(key): … return redis.get(key)"),
        ("src/cache.py:9-14", "def put(key, value): ... return value"),
        ("src/cache.py", "redis.set("),
        ("src/cache.py:6", "`return redis.get(key)`"),
        ("src/cache.py:4-6", "   4| def get(key):\n   5|     # look it up"),
        ("src/cache.py:5", "+    # look it up\n+    return redis.get(key)"),
        ("cache.py:6", "return redis.get(key)"),
        (r"src\cache.py:6", "return redis.get(key)"),
        ("b/src/cache.py:6", "return redis.get(key)"),
        ("conf.py:1", "password = '[secret:x:00000000]'"),
        ("conf.py:2", "name = ‘db’"),
        ("src/deep/say.py:1", r"say(\"hi\")"),
    ],
)
def test_a_quote_that_stands_at_the_place_is_found_white_space_aside(repo: Path, place: str, quote: str) -> None:
    # C11
    assert mark(repo, place, quote).mark == "found"


@pytest.mark.parametrize(
    ("place", "quote", "expected", "note"),
    [
        ("src/cache.py:9-4", "", "located", "the range is reversed: read as lines 4-9"),
        ("src/cache.py#L9-L4", "return redis.get(key)", "found", "the range is reversed: read as lines 4-9"),
        ("src/cache.py:9-8", "import redis", "moved", "is at line 1; the range is reversed: read as lines 8-9"),
        ("src/cache.py lines 40 to 30", "", "absent", "the file ends at line 18"),
    ],
)
def test_a_range_that_is_reversed_is_read_the_other_way_round_and_the_note_says_so(
    repo: Path, place: str, quote: str, expected: str, note: str
) -> None:
    # C11
    result = mark(repo, place, quote)
    assert (result.mark, result.place, result.note) == (expected, place, note)


WHOLE = """TTL = 3600
limit = 3.5
the users of a queue
1. 200 ms is the limit on port 6379.
2 nodes
max_retries = HTTPServer()
超时是三十秒
"""


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("TTL = 3600", "found"),
        ("TTL = 360", "absent"),
        ("TL = 3600", "absent"),
        ("limit = 3", "absent"),
        ("5\nthe users", "absent"),
        ("limit = 3.5", "found"),
        ("the user", "absent"),
        ("sers of a queue", "absent"),
        ("the user…queue", "found"),
        ("…sers of a queue", "found"),
        ("200 ms", "found"),
        ("port 6379", "found"),
        ("port 6379.\n2 nodes", "found"),
        ("port 6379.2", "absent"),
        ("retries = HTTP", "found"),
        ("Server()", "found"),
        ("时是三十", "found"),
    ],
)
def test_a_quote_is_found_only_as_whole_words_and_numbers(tmp_path: Path, quote: str, expected: str) -> None:
    # C11
    (tmp_path / "a.md").write_text(WHOLE)

    async def run() -> str:
        view = LiveView(tmp_path, redact)
        found = await look_up_citation(Citation.of("a.md", quote), view)
        await view.close()
        return found.mark

    assert asyncio.run(run()) == expected


@pytest.mark.parametrize("name", ["gro\u0308\u00dfe.py", "gr\u00f6\u00dfe.py"])
def test_an_accent_in_a_path_may_be_a_character_of_its_own(tmp_path: Path, name: str) -> None:
    # C11
    (tmp_path / name).write_text("limit = 3\n")

    async def run() -> list[str]:
        view = LiveView(tmp_path, redact)
        places = ("gro\u0308\u00dfe.py:1", "gr\u00f6\u00dfe.py:1")
        results = await check_text("\n".join(f'`{place}` "limit = 3"' for place in places), view)
        await view.close()
        return [found.mark for _, found in results]

    assert asyncio.run(run()) == ["found", "found"]


@pytest.mark.parametrize("opening, closing", ['""', "“”"])
def test_a_beginning_that_was_cut_in_the_middle_of_code_is_never_found(
    tmp_path: Path, opening: str, closing: str
) -> None:
    # C11: each quote begins like the line of the file, up to its first inner quotation mark
    code = ['return sum(i["price"] for i in items)', 'return row.split(", ")', 'name = ""', 'print("a (b)")']
    (tmp_path / "a.py").write_text("\n".join(code) + "\n")
    wrong = ['return sum(i["cost"] for i in rows)', 'return row.split(" ")', 'name = "x" + y', 'print(" c")']

    async def said(quotes: list[str]) -> list[str]:
        lines = [f"- `a.py:{n}` {opening}{quote}{closing}." for n, quote in enumerate(quotes, 1)]
        view = LiveView(tmp_path, redact)
        results = await check_text("\n".join(lines), view)
        await view.close()
        return [mark.mark for _, mark in results]

    assert asyncio.run(said(code)) == ["found"] * 4
    marks = asyncio.run(said(wrong))
    assert marks[0] == marks[2] == "absent"
    assert "found" not in marks and "located" not in marks


def test_a_quote_whose_end_cannot_be_told_is_neither_found_nor_absent(tmp_path: Path) -> None:
    # C11
    (tmp_path / "a.py").write_text("join(x)\n")

    async def run() -> list[Mark]:
        view = LiveView(tmp_path, redact)
        results = await check_text('a.py:1 "join(" and "(x)".\n\na.py:1 "joins(" and "(x)".', view)
        await view.close()
        return [mark for _, mark in results]

    first, second = asyncio.run(run())
    assert (first.mark, first.note) == ("uncheckable", "it is not clear where the quote ends")
    assert second.mark == "absent"


def test_the_same_line_twice_is_found_at_either_place(repo: Path) -> None:
    # C11
    assert [m.mark for m in marks(repo, *((f"src/cache.py:{n}", "return redis.get(key)") for n in (6, 18)))] == [
        "found"
    ] * 2


@pytest.mark.parametrize(
    ("place", "quote", "to"),
    [
        ("src/cache.py:5", "return redis.get(key)", "src/cache.py:6"),
        ("src/cache.py:17", "return redis.get(key)", "src/cache.py:18"),
        ("src/cache.py:500", "import redis", "src/cache.py:1"),
        ("src/cache.py:5-6", "def get(key):\n    # look it up", "src/cache.py:4"),
        ("cache.py:2", "def put(key, value):", "src/cache.py:9"),
        ("src/cache.py:0", "import redis", "src/cache.py:1"),
        ("src/cache.py:0-5", "def put(key, value):", "src/cache.py:9"),
        ("src/cache.py:5-0", "def put(key, value):", "src/cache.py:9"),
    ],
)
def test_a_quote_that_stands_elsewhere_in_the_file_is_moved(repo: Path, place: str, quote: str, to: str) -> None:
    # C11
    result = mark(repo, place, quote)
    assert (result.mark, result.moved_to) == ("moved", to)
    assert f"line {to.rpartition(':')[2]}" in result.note


@pytest.mark.parametrize(
    ("place", "quote", "note"),
    [
        ("src/cache.py:6", "return memcache.get(key)", "line 6 is: return redis.get(key)"),
        ("src/cache.py:2", "return memcache.get(key)", "line 2 is empty"),
        ("src/cache.py:14", "not there", "line 14 is: return value # the old value is gone, and nobody is told of…"),
        ("src/cache.py", "return memcache.get(key)", "the quoted text is nowhere in src/cache.py"),
        ("src/cache.py:6", "redis.get(key) ... import redis", "line 6 is: return redis.get(key)"),
        ("src/cache.py:19", "", "the file ends at line 18"),
        ("src/cache.py:99999999999999999", "", "the file ends at line 18"),
        ("src/cache.py:19", "not there", "the file ends at line 18"),
        ("src/cash.py:3", "", "src/cash.py: no such file"),
        ("../outside.py:3", "", "../outside.py: not a path inside the workspace"),
        ("/etc/hosts.txt", "localhost", "/etc/hosts.txt: not a path inside the workspace"),
        ("commit deadbee1", "", "no commit deadbee1"),
        ("src/cache.py:6", "Return Redis.get(key)", "line 6 is: return redis.get(key)"),
        ("src/cache.py:6", "returnredis.get(key)", "line 6 is: return redis.get(key)"),
    ],
)
def test_what_is_not_there_is_absent_and_the_note_says_what_is(repo: Path, place: str, quote: str, note: str) -> None:
    # C11
    assert mark(repo, place, quote) == Mark("absent", place, note)


@pytest.mark.parametrize(
    "place", ["src/cache.py:6", "src/cache.py:4-6", "src/cache.py", "src/", "src", "HEAD", "src/deep"]
)
def test_a_place_without_a_quote_is_located(repo: Path, place: str) -> None:
    # C11
    assert mark(repo, place).mark == "located"


def test_a_quote_too_short_to_tell_anything_is_no_evidence(repo: Path) -> None:
    # C11
    result = mark(repo, "src/cache.py:6", "() ")
    assert result.mark == "located" and "too short" in result.note
    assert mark(repo, "src/cache.py:6", "... …").mark != "found"


@pytest.mark.parametrize(
    ("place", "note"),
    [
        ("https://example.org/src/cache.py", "URL"),
        ("benchmark of last week", "looked up"),
        ("TCP/IP", "looked up"),
        ("the Redis documentation", "looked up"),
        ("blob.bin", "binary"),
        (".env:1", "never read"),
        ("§ Rollout", "no text under discussion"),
        ("util.py:1", "2 paths end like this"),
    ],
)
def test_what_the_program_cannot_judge_is_uncheckable(repo: Path, place: str, note: str) -> None:
    # C11
    result = mark(repo, place, "whatever it says")
    assert result.mark == "uncheckable" and note in result.note


def test_a_commit_is_located_and_its_words_are_found(repo: Path) -> None:
    # C11
    head = git(repo, "rev-parse", "HEAD")
    results = marks(
        repo,
        (f"commit {head[:9]}", ""),
        (head, "It is slow otherwise."),
        (head, "+def put(key, value):"),
        (head, "never said"),
    )
    assert [result.mark for result in results] == ["located", "found", "found", "absent"]


def test_outside_git_a_commit_is_uncheckable(tmp_path: Path) -> None:
    # C11
    view = LiveView(tmp_path, redact)
    assert asyncio.run(look_up_citation(Citation.of("commit abc1234"), view)).mark == "uncheckable"


def test_in_a_shallow_clone_an_unknown_commit_is_uncheckable(repo: Path, tmp_path: Path) -> None:
    # C11
    deep = tmp_path / "deep"
    git(tmp_path, "clone", "-q", str(repo), "deep")
    first = git(deep, "rev-parse", "HEAD")
    git(deep, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{deep}", "shallow")

    async def run(folder: Path) -> str:
        view = LiveView(folder, redact)
        try:
            return (await look_up_citation(Citation.of(f"commit {first}"), view)).mark
        finally:
            await view.close()

    assert asyncio.run(run(deep)) == "located"
    assert asyncio.run(run(tmp_path / "shallow")) == "uncheckable"


PLAN = """\
# Plan

We begin.

## 1. Rollout

Ten percent first,
then all.

### Rollback

Turn the flag off.

```sh
# Not a heading
```

## 2. Costs of it

About **nothing**.
"""


@pytest.mark.parametrize(
    ("place", "quote", "expected"),
    [
        ("§ Rollout", "Ten percent first, then all.", "found"),
        ("section 'rollout'", "Turn the flag off", "found"),
        ("# Rollback", "", "located"),
        ("§ 2", "About **nothing**.", "found"),
        ("Costs of it", "", "located"),
        ("§ Costs", "Ten percent first", "moved"),
        ("§ Rollout", "About **nothing**.", "moved"),
        ("§ Rollout", "never said in it", "absent"),
        ("§ Not a heading", "", "absent"),
        ("§ Schedule", "", "absent"),
        ("lines 7-8", "then all.", "found"),
        ("line 3", "then all.", "moved"),
        ("line 99", "", "absent"),
        ("some study", "", "uncheckable"),
        ("some study", "never said in it", "uncheckable"),
        ("Rollout", "never said in it", "absent"),
        ("the proposal, Rollout", "never said in it", "absent"),
        ("the proposal, Rollout", "then all.", "found"),
        ("artifact", "never said in it", "absent"),
        ("artifact", "then all.", "found"),
        ("the text", "", "located"),
        ("", "never said in it", "uncheckable"),
    ],
)
def test_the_text_under_discussion_is_cited_by_section(repo: Path, place: str, quote: str, expected: str) -> None:
    # C11
    assert mark(repo, place, quote, PLAN).mark == expected


@pytest.mark.parametrize(
    ("opening", "inside", "closing"),
    [
        ("```sh", "~~~", "```"),
        ("~~~", "```", "~~~"),
        ("~~~", "```", "~~~~"),
        ("````md", "```", "````"),
        ("```md", "```sh", "```"),
        ("  ```", "~~~", "  ```"),
    ],
)
def test_a_heading_within_code_is_no_section(repo: Path, opening: str, inside: str, closing: str) -> None:
    # C11
    plan = f"# Plan\n\n{opening}\n{inside}\n# In code\n{closing}\n\n# Costs\n\nAbout nothing.\n"
    assert mark(repo, "§ In code", "", plan).mark == "absent"
    assert mark(repo, "§ Costs", "About nothing.", plan).mark == "found"


def test_code_within_a_line_opens_no_block(repo: Path) -> None:
    # C11
    plan = "# Plan\n\n```make``` runs it.\n\n# Costs\n\nAbout nothing.\n"
    assert mark(repo, "§ Costs", "About nothing.", plan).mark == "found"


def test_a_moved_quote_names_the_section_where_it_stands(repo: Path) -> None:
    # C11
    assert mark(repo, "§ Costs", "Ten percent first", PLAN).moved_to == "§ 1. Rollout"
    assert mark(repo, "line 3", "then all.", PLAN).moved_to == "line 8"


def test_either_side_of_a_diff_counts(repo: Path, tmp_path: Path) -> None:
    # C11
    keep = tmp_path / "keep"
    work = tmp_path / "copy"
    git(tmp_path, "clone", "-q", str(repo), "copy")
    (work / "src/cache.py").write_text("import memcache\n")
    (work / "conf.py").unlink()

    async def run() -> list[Mark]:
        taken = await take(work, keep, redact)
        new, old = View(taken, keep, redact), View(taken.at(taken.head), keep, redact)
        cited = [
            ("src/cache.py:1", "import memcache"),
            ("src/cache.py:6", "return redis.get(key)"),
            ("conf.py:2", ""),
            ("src/cache.py:1", "import nothing"),
        ]
        results = [await look_up_citation(Citation.of(*c), new, other=old) for c in cited]
        await new.close()
        await old.close()
        return results

    results = asyncio.run(run())
    assert [result.mark for result in results] == ["found", "found", "located", "absent"]
    assert results[0].note == "" and "old side" in results[1].note and "old side" in results[2].note
    assert "import memcache" in results[3].note


def test_files_that_were_not_kept_are_uncheckable(tmp_path: Path) -> None:
    # C11
    snapshot = Snapshot("files", str(tmp_path), skipped={"big.py": "larger than 1 MB", "build": "ignored by git"})
    view = View(snapshot, tmp_path, redact)
    big = asyncio.run(look_up_citation(Citation.of("big.py:3", "whatever"), view))
    built = asyncio.run(look_up_citation(Citation.of("build/out.js:1"), view))
    assert (big.mark, big.note) == ("uncheckable", "larger than 1 MB")
    assert (built.mark, built.note) == ("uncheckable", "ignored by git")


def test_a_text_is_checked_from_end_to_end(repo: Path) -> None:
    # C11
    text = (
        "`return redis.get(key)` (src/cache.py:6) is fine.\n"
        "src/cache.py:5 says `return redis.get(key)`.\n"
        "src/cash.py:3 is wrong, src/cache.py:4 is there.\n"
        "Create `src/new.py`. See [the plan](plan.md) and https://example.org.\n"
        "conf.py:1 has `password = 'hunter2'`.\n"
    )

    async def run() -> list[tuple[int, str, str]]:
        view = LiveView(repo, redact)
        return [(f.line, f.citation.place, m.mark) for f, m in await check_text(text, view, base="docs")]

    assert asyncio.run(run()) == [
        (1, "src/cache.py:6", "found"),
        (2, "src/cache.py:5", "moved"),
        (3, "src/cash.py:3", "absent"),
        (3, "src/cache.py:4", "located"),
        (4, "src/new.py", "uncheckable"),
        (4, "plan.md", "located"),
        (4, "https://example.org", "uncheckable"),
        (5, "conf.py:1", "found"),
    ]


class Lines(Workspace):
    """A workspace of one file."""

    def __init__(self, text: str) -> None:
        super().__init__("/nowhere", redact)
        self.text = text

    async def _look(self, path: str) -> Read:
        return Text.of(path, self.text) if path == "a.py" else Missing(path)

    async def _list(self) -> list[str]:
        return ["a.py"]


WORDS = st.lists(
    st.sampled_from(["foo", "bar(", ")", "= 1", "", "  x", "\t", "é", "…", "..."]), min_size=1, max_size=12
)


@settings(max_examples=200, deadline=None)
@given(WORDS, st.data())
def test_any_run_of_lines_is_found_where_it_stands(words: list[str], data: st.DataObject) -> None:
    # C11
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    quote = "\n".join(words[first : last + 1])
    result = asyncio.run(
        look_up_citation(Citation.of(f"a.py:{first + 1}-{last + 1}", quote), Lines("\n".join([*words, "end"])))
    )
    if len("".join(quote.split())) >= 3:
        assert result.mark == "found"
    else:
        assert result.mark == "located"


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=200))
def test_no_citation_makes_the_check_fail(place: str, quote: str, text: str) -> None:
    # C11
    for cited in (place, "a.py:1", "§ " + place):
        result = asyncio.run(look_up_citation(Citation.of(cited, quote), Lines(text), artifact=text))
        assert result.place == cited.strip()


def test_no_message_of_ours_says_that_a_claim_holds() -> None:
    # C11
    tree = ast.parse(Path(lookup.__file__).read_text())
    words = " ".join(
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    assert "uncheckable" in words
    assert not re.search(r"\b(true|truth|verif\w*|correct\w*|proven|confirmed)\b", words, re.I)


def test_a_path_is_read_from_where_the_debate_was_started_when_several_end_like_it(tmp_path: Path) -> None:  # C11
    repo = small(tmp_path)
    for name in ("one", "two"):
        (repo / name / "src").mkdir(parents=True)
        (repo / name / "src/a.py").write_text(f"here = {name!r}\n")

    async def look() -> str:
        taken = await take(repo / "two", tmp_path / "keep", str)
        view = View(Snapshot.from_json(taken.to_json()), tmp_path / "keep", str)
        try:
            return (await look_up_citation(Citation.of("src/a.py:1", "here = 'two'"), view)).mark
        finally:
            await view.close()

    assert asyncio.run(look()) == "found"


def test_a_large_file_is_searched_as_any_other(tmp_path: Path) -> None:
    # C11: aside, so that the debate goes on meanwhile
    folder = new(tmp_path / "large", {"big.py": "".join(f"line_{n} = {n}\n" for n in range(1, 20_001))})
    commit(folder)
    assert mark(folder, "big.py:19999", "line_19999 = 19999").mark == "found"
    assert mark(folder, "big.py:5", "line_19999 = 19999").moved_to == "big.py:19999"
    assert mark(folder, "big.py:5", "line_20001 = 20001").mark == "absent"


def test_a_section_that_is_a_long_run_of_digits_is_looked_up_at_once() -> None:
    # C11: a pattern that tried every way to divide the digits would not end before the test is stopped
    digits = "1" * 5_000
    result = asyncio.run(look_up_citation(Citation.of(f"§ {digits}", "x"), Lines("text"), artifact=f"# {digits}!\n"))
    assert result.mark in ("located", "absent", "found", "uncheckable")


class Walked(tuple[str, ...]):
    """The lines of a file, with how often all of them were gone through."""

    times = 0

    def __iter__(self) -> Iterator[str]:
        self.times += 1
        return super().__iter__()


class Files(Workspace):
    """A workspace of files whose lines count how often they are gone through."""

    def __init__(self, **texts: str) -> None:
        super().__init__("/nowhere", redact)
        self.lines = {f"{name}.py": Walked(text.split("\n")) for name, text in texts.items()}

    async def _look(self, path: str) -> Read:
        return Text(path, self.lines[path]) if path in self.lines else Missing(path)

    async def _list(self) -> list[str]:
        return list(self.lines)


ROWS = [f"row_{n} = {n}" for n in range(1, 101)]
CITING = [f"See `a.py:{n}` `{row}`.\n" for n, row in enumerate(ROWS, 1)]


@pytest.mark.parametrize("large", [False, True])
def test_a_file_is_prepared_once_for_all_its_citations(monkeypatch: pytest.MonkeyPatch, large: bool) -> None:  # C11
    monkeypatch.setattr(lookup, "LARGE", 10 if large else 100_000)

    def walked(text: str) -> tuple[int, list[str]]:
        view = Files(a="\n".join(ROWS))
        found = asyncio.run(check_text(text, view))
        return view.lines["a.py"].times, [mark.mark for _, mark in found]

    once, first = walked(CITING[0])
    often, every = walked("\n".join(CITING))
    assert (first, every) == (["found"], ["found"] * 100)
    assert once == often > 0


def test_only_so_much_is_kept_ready_to_search(monkeypatch: pytest.MonkeyPatch) -> None:  # C11
    monkeypatch.setattr(lookup, "MOST_KEPT", 25)
    view = Files(a="alpha = 1", b="beta = 22", c="gamma = 3")

    async def look(*names: str) -> list[int]:
        for name in names:
            quote = view.lines[f"{name}.py"][0]
            assert (await look_up_citation(Citation.of(f"{name}.py:1", quote), view)).mark == "found"
        return [lines.times for lines in view.lines.values()]

    a, b, c = asyncio.run(look("a", "b", "a", "c"))  # there is room for two: b was used longest ago
    assert a == b == c > 0
    assert asyncio.run(look("a", "c")) == [a, b, c]
    assert asyncio.run(look("b")) == [a, 2 * b, c]


def test_a_later_version_of_a_file_is_not_searched_in_the_earlier_one() -> None:  # C11
    opened = Files(a="before = 1")
    later = Overlay(opened, {"a.py": "after = 2\n"}, redact)

    async def look(view: Workspace) -> list[str]:
        cited = [Citation.of("a.py:1", quote) for quote in ("before = 1", "after = 2")]
        return [(await look_up_citation(one, view)).mark for one in cited]

    assert asyncio.run(look(opened)) == ["found", "absent"]
    assert asyncio.run(look(later)) == ["absent", "found"]
    assert asyncio.run(look(opened)) == ["found", "absent"]
