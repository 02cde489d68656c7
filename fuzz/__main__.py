"""Run every target for a share of the time; write what breaks one, cut short, to `fuzz/corpus`."""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import time
import traceback
from collections.abc import Sequence

from fuzz.targets import CORPUS, TARGETS, Target

SLOW = 3.0
"""Seconds for 100 kB at most: a parser that takes longer is not linear."""
LARGEST = 100_000
FIXED = 14
"""The seed of the inputs that CI tries."""
PIECES = (
    *(b"{", b"}", b"[", b"]", b'"', b"\\", b"\n", b"\r\n", b"\x00", b"\xff", b"\xe2\x80\xa8", b"```", b"<think>", b"#"),
    *(
        b"--- a/x\n",
        b"+++ b/x\n",
        b"@@ -1 +1 @@\n",
        b"data: ",
        b"curl ",
        b"9" * 400,
        b"true",
        b"null",
        b"=",
        b"'''",
        b"/",
    ),
)


def mutated(data: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """The data with a few changes: bytes replaced, pieces inserted, repeated, removed or taken from another input."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        at = draw.randrange(len(out) + 1)
        match draw.randrange(6):
            case 0 if out:
                out[min(at, len(out) - 1)] = draw.randrange(256)
            case 1:
                out[at:at] = draw.choice(PIECES)
            case 2:
                out[at:at] = draw.choice(PIECES) * draw.choice((2, 50, 3000))
            case 3:
                del out[at : at + draw.randrange(1, 40)]
            case 4:
                end = at + draw.randrange(1, 200)
                out[at:at] = out[at:end] * draw.choice((1, 3, 200))
            case _:
                other = draw.choice(others)
                start = draw.randrange(len(other) + 1)
                out[at:at] = other[start : start + draw.randrange(1, 400)]
    return bytes(out[:LARGEST])


def problem(target: Target, data: bytes) -> str:
    """What goes wrong with this input; empty if nothing does."""
    began = time.process_time()
    try:
        target.run(data)
    except target.allowed:
        pass
    except Exception as error:  # noqa: BLE001  any other error is what is looked for
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {last.filename.rpartition('/')[2]}:{last.lineno}: {str(error)[:120]}"
    took = time.process_time() - began
    return f"{took:.1f} s for {len(data):,} bytes" if took > SLOW else ""


def shortened(target: Target, data: bytes, said: str) -> bytes:
    """A shorter input with the same kind of problem."""
    kind, step, until = said.split(":")[0], len(data) // 2, time.monotonic() + 20
    while step and time.monotonic() < until:
        at = 0
        while at < len(data) and time.monotonic() < until:
            shorter = data[:at] + data[at + step :]
            if problem(target, shorter).split(":")[0] == kind:
                data = shorter
            else:
                at += step
        step //= 2
    return data


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", help="targets; all of them by default")
    options.add_argument("--seconds", type=float, default=60, help="for all targets together")
    options.add_argument("--seed", type=int, default=0, help="0: another one each time")
    options.add_argument("--fixed", action="store_true", help="the same inputs each time, about a minute of them")
    given = options.parse_args()
    chosen = [target for target in TARGETS if not given.names or target.name in given.names]
    # A fixed seed and a fixed number of inputs: a run of CI fails because of what was changed, never by chance.
    seed = given.seed or (FIXED if given.fixed else random.SystemRandom().randrange(1, 1_000_000))
    found = 0
    print(f"seed {seed}")
    for target in chosen:
        draw, corpus = random.Random(f"{seed} {target.name}"), target.corpus
        until, runs, said = time.monotonic() + given.seconds / len(chosen), 0, ""
        queue = list(corpus)  # what is kept is tried first, unchanged
        while (runs < target.inputs if given.fixed else time.monotonic() < until) and not said:
            data = queue.pop() if queue else mutated(draw.choice(corpus), draw, corpus)
            runs += 1
            said = problem(target, data)
        print(f"{target.name:<10} {runs:>8,} inputs   {said or 'nothing found'}", flush=True)
        if said:
            found += 1
            short = shortened(target, data, said)
            place = CORPUS / target.name / hashlib.sha256(short).hexdigest()[:12]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(short)
            print(f"           {len(short):,} bytes are in {place}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
