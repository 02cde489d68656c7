"""Writes corpus/pairs.json of the trial: of the defects that can be planted in the corpus, those that its checks see.

python tools/trial_pairs.py            writes the file
python tools/trial_pairs.py --show     also prints the defects that no check sees
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import signal
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "trial")]

LIMIT = 2.0
"""Seconds for one check: a defect may loop for ever."""


class TooLong(BaseException):
    """A check did not end. Not an Exception, so that the checked code does not catch it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def passes(path: str, text: str) -> bool:
    """Whether the check of a file passes on this text."""
    import linecache

    import corpus_checks

    check = getattr(corpus_checks, path.removesuffix(".py").replace("/", "_"))
    name = f"<{path} {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # for inspect.getsource
    module: Any = types.ModuleType(path.removesuffix(".py").replace("/", "."))
    sys.modules[module.__name__] = module
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            with limited(LIMIT):
                exec(compile(text, name, "exec"), module.__dict__)
                check(module)
        except BaseException:  # noqa: BLE001  what pytest.raises raises is no Exception, nor is TooLong
            return False
        finally:
            del sys.modules[module.__name__], linecache.cache[name]
            if "async def" in text:
                gc.collect()  # coroutines that a defect left behind complain now, where it is not heard
    return True


def killed() -> dict[str, list[int]]:
    from rebut.trial.operators import defects
    from rebut.trial.pairs import changed_lines, corpus

    out = {}
    for path, (before, after) in corpus().items():
        assert passes(path, after), f"{path}: its check fails without any defect"
        every = defects(after, changed_lines(before, after))
        out[path] = [n for n, one in enumerate(every) if not passes(path, one.text)]
        if "--show" in sys.argv:
            for n, one in enumerate(every):
                if n not in out[path]:
                    print(f"{path}:{one.first} {one.kind}: {one.was.strip()} -> {one.now.strip()}")
    return out


if __name__ == "__main__":
    found = killed()
    place = ROOT / "src/rebut/trial/corpus/pairs.json"
    rows = ",\n".join(f" {json.dumps(path)}: {json.dumps(numbers)}" for path, numbers in found.items())
    place.write_text(f"{{\n{rows}\n}}\n")
    print(f"{sum(map(len, found.values()))} pairs of {len(found)} files")
