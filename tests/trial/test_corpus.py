"""The files that come with the trial, and the defects that are planted in them."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

import pytest
import reviewers

from rebut.trial.defect_kinds import KINDS, kind_of
from rebut.trial.operators import OPERATORS, defects
from rebut.trial.pairs import bundled, changed_lines, corpus, ordered

sys.path.append(str(Path(__file__).parents[2] / "tools"))
import trial_pairs

PATHS = list(corpus())


def test_twenty_files_of_five_areas_with_more_than_sixty_pairs() -> None:
    assert len(PATHS) == 20 and Counter(path.partition("/")[0] for path in PATHS) == dict.fromkeys(
        ("billing", "data", "jobs", "storage", "web"), 4
    )
    for before, after in corpus().values():
        assert len(after.splitlines()) >= 80 and ast.parse(before) and ast.parse(after)
        assert 20 <= len(changed_lines(before, after)) < len(after.splitlines()) * 2 // 3
    pairs = bundled()
    assert len(pairs) > 400 and len({pair.id for pair in pairs}) == len(pairs)
    assert {pair.defect.kind for pair in pairs} == set(KINDS) == set(OPERATORS)
    for pair in pairs:
        assert pair.defect.text != pair.after and ast.parse(pair.defect.text)
        assert (
            pair.text("defect").splitlines()[: pair.defect.first - 1]
            == pair.after.splitlines()[: pair.defect.first - 1]
        )


@pytest.mark.long
@pytest.mark.parametrize("path", PATHS)
def test_every_defect_is_one_its_check_passes_without_it_and_fails_with_it(path: str) -> None:
    before, after = corpus()[path]
    assert trial_pairs.passes(path, after)
    every = defects(after, changed_lines(before, after))
    chosen = {pair.defect.text for pair in bundled() if pair.path == path}
    assert chosen == {one.text for one in every if not trial_pairs.passes(path, one.text)}


def test_the_seed_decides_and_a_larger_trial_begins_with_a_smaller_one() -> None:
    every = bundled()
    first = ordered(every, 1)
    assert first == ordered(reversed(every), 1) and first != ordered(every, 2)
    sixty = first[:60]
    assert set(Counter(pair.path for pair in sixty).values()) == {3}
    assert len(Counter(pair.defect.kind for pair in sixty)) == len(KINDS)
    assert max(Counter(pair.defect.kind for pair in sixty).values()) <= 9


OPERATED = [
    ("off by one", "if a < b:\n    pass\n", "if a <= b:\n    pass\n"),
    ("off by one", "x = items[1:]\n", "x = items[0:]\n"),
    ("off by one", "for n in range(size):\n    pass\n", "for n in range(size - 1):\n    pass\n"),
    ("off by one", "y = n + 1\n", "y = n\n"),
    ("inverted condition", "if not done:\n    pass\n", "if done:\n    pass\n"),
    ("inverted condition", "if a is not None:\n    pass\n", "if a is None:\n    pass\n"),
    ("wrong operator", "ok = a and b\n", "ok = a or b\n"),
    ("wrong operator", "x = max(a, 0)\n", "x = min(a, 0)\n"),
    ("wrong operator", "x -= step\n", "x += step\n"),
    ("swapped arguments", "copy(source, target)\n", "copy(target, source)\n"),
    ("wrong variable", "def f(a: int, b: int):\n    return g(a)\n", "def f(a: int, b: int):\n    return g(b)\n"),
    ("wrong default", "def f(strict=True):\n    pass\n", "def f(strict=False):\n    pass\n"),
    ("wrong default", "n = counts.get(key, 0)\n", "n = counts.get(key, 1)\n"),
    (
        "missing check",
        "def f(n):\n    if n < 0:\n        raise ValueError\n    return n\n",
        "def f(n):\n    return n\n",
    ),
    ("lost error", "try:\n    go()\nexcept OSError:\n    raise\n", "try:\n    go()\nexcept OSError:\n    pass\n"),
    (
        "lost error",
        "try:\n    go()\nexcept (OSError, ValueError):\n    stop()\n",
        "try:\n    go()\nexcept Exception:\n    stop()\n",
    ),
    ("missing await", "async def f():\n    await go()\n", "async def f():\n    go()\n"),
    ("not closed", "with open(p) as file:\n    a = 1\n    b = 2\nc = 3\n", "file = open(p)\na = 1\nb = 2\nc = 3\n"),
    ("not closed", "try:\n    a = 1\nfinally:\n    db.close()\n", "a = 1\n"),
    ("not closed", "lock.acquire()\nlock.release()\n", "lock.acquire()\n"),
    ("shared state", "x = list(items)\n", "x = items\n"),
    ("shared state", "x = row.copy()\n", "x = row\n"),
    ("unsafe call", "x = html.escape(name)\n", "x = name\n"),
    ("unsafe call", "ok = hmac.compare_digest(a, b)\n", "ok = a == b\n"),
    ("unsafe call", "x = ast.literal_eval(t)\n", "x = eval(t)\n"),
    (
        "unsafe call",
        'db.execute("select * from t where a = ?", (a,))\n',
        "db.execute(f\"select * from t where a = '{a}'\")\n",
    ),
]


@pytest.mark.parametrize(
    ("kind", "before", "after"), OPERATED, ids=[f"{kind} {n}" for n, (kind, *_) in enumerate(OPERATED)]
)
def test_an_operator_changes_one_piece_and_nothing_else(kind: str, before: str, after: str) -> None:
    made = {one.text: one.kind for one in defects(before, frozenset(range(1, 99)))}
    assert made.get(after) == kind, made
    assert not defects(before, frozenset({99}))


def test_texts_that_are_no_python_have_no_defects() -> None:
    assert defects("def f(:\n", frozenset({1})) == [] and defects("\0", frozenset({1})) == []
    wide = 'name = "ä€😀"; x = list(items)  # é\n'
    assert [one.text for one in defects(wide, frozenset({1}))] == ['name = "ä€😀"; x = items  # é\n']


def test_the_kind_of_a_finding_is_read_from_its_words() -> None:
    assert kind_of("[off by one] The last row.") == "off by one" and kind_of("**[Off-By-One]** x") == "off by one"
    assert kind_of("see items[0] [lost_error] x") == "lost error" and kind_of("[other] x") == "other"
    assert kind_of("The last row.") == "" and kind_of("[nonsense] x") == ""
    assert kind_of("Blind except (ruff BLE001).") == "lost error" and kind_of("Unused (ruff F401).") == "other"
    assert set(reviewers.KINDS) == set(KINDS)
