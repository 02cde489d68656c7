"""Pairs: a small change of real code, and the same change with one defect planted; and the order of a trial's pairs."""

from __future__ import annotations

import difflib
import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from importlib.resources import files as resources
from importlib.resources.abc import Traversable

from rebut.core.frozen import frozen
from rebut.trial.operators import Defect, defects

CORPUS, CHOSEN = "corpus", "pairs.json"
BEFORE, AFTER, END = "@@before\n", "@@after\n", "@@end\n"


@frozen(slots=False)
class DefectPair:
    """A file before a change, after it, and after it with a defect."""

    path: str
    """The path of the file in its repository."""
    before: str
    after: str
    defect: Defect

    @cached_property
    def id(self) -> str:
        said = "\0".join((self.path, self.before, self.defect.text))
        return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:12]

    @cached_property
    def changed(self) -> tuple[int, ...]:
        """The lines of the file with the defect that the change wrote, where a reader of the diff looks."""
        return tuple(sorted(changed_lines(self.before, self.defect.text)))

    def text(self, side: str) -> str:
        return self.defect.text if side == DEFECT else self.after


DEFECT, CLEAN = "defect", "clean"
SIDES = (DEFECT, CLEAN)


def changed_lines(before: str, after: str) -> frozenset[int]:
    """The numbers of the lines of `after` that `before` does not have."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return frozenset(
        line
        for tag, _, _, start, end in matcher.get_opcodes()
        if tag in ("replace", "insert")
        for line in range(start + 1, end + 1)
    )


def split(text: str) -> tuple[str, str]:
    """The two versions of a file of the corpus, which has both."""
    before, after = list[str](), list[str]()
    into = (before, after)
    for line in text.splitlines(keepends=True):
        if line in (BEFORE, AFTER, END):
            into = {BEFORE: (before,), AFTER: (after,), END: (before, after)}[line]  # type: ignore[assignment]
            continue
        for side in into:
            side.append(line)
    return "".join(before), "".join(after)


def corpus() -> dict[str, tuple[str, str]]:
    """The files that come with rebut: path → before and after the change."""
    out = dict[str, tuple[str, str]]()
    for area in sorted(_corpus().iterdir(), key=lambda entry: entry.name):
        if area.is_dir():
            for file in sorted(area.iterdir(), key=lambda entry: entry.name):
                if file.name.endswith(".pair"):
                    out[f"{area.name}/{file.name.removesuffix('.pair')}.py"] = split(file.read_text(encoding="utf-8"))
    return out


def _corpus() -> Traversable:
    return resources("rebut.trial") / CORPUS


@cache
def bundled() -> tuple[DefectPair, ...]:
    """The pairs that come with rebut. The tests of the corpus fail on each defect, and pass without it."""
    chosen: dict[str, list[int]] = json.loads((_corpus() / CHOSEN).read_text(encoding="utf-8"))
    out = list[DefectPair]()
    for path, (before, after) in corpus().items():
        every = defects(after, changed_lines(before, after))
        out += [DefectPair(path, before, after, every[n]) for n in chosen.get(path, ())]
    return tuple(out)


def ordered(pairs: Iterable[DefectPair], seed: int) -> list[DefectPair]:
    """The pairs in the order in which a trial takes them: files and kinds in turn; the seed decides between equals.

    A larger trial begins with the pairs of a smaller one.
    """
    draw = random.Random(seed)
    left = [(draw.random(), pair) for pair in sorted(pairs, key=lambda pair: pair.id)]
    left.sort(key=lambda one: one[0])
    files, kinds, lines = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    out = list[DefectPair]()

    def rank(one: tuple[float, DefectPair]) -> tuple[int, int, int, float]:
        pair = one[1]
        same = lines[pair.path, pair.defect.was]  # two defects of one line are nearly one
        return same, files[pair.path], kinds[pair.defect.kind], one[0]

    while left:
        best = min(left, key=rank)
        left.remove(best)
        pair = best[1]
        files[pair.path] += 1
        kinds[pair.defect.kind] += 1
        lines[pair.path, pair.defect.was] += 1
        out.append(pair)
    return out


def areas(pairs: Sequence[DefectPair]) -> int:
    """How many folders the files of these pairs are in."""
    return len({pair.path.partition("/")[0] for pair in pairs})
