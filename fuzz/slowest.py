"""Looks for texts on which the search for secrets is slow: `python -m fuzz.slowest --seconds 600`.

A text is a unit that is repeated, below a head that names everything the search knows, or none. In a unit `¤` stands
for a letter or digit that is another one each time, so that nothing can be remembered from one repetition to the next.
The units that took longest are changed and combined; a seed gives the same units each time.
"""

from __future__ import annotations

import argparse
import random
import string
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rebut.core import secret_contexts
from rebut.core.redaction import Redactor
from rebut.core.secret_table import TABLES

MEGABYTE = 1_000_000
SIZE = 100_000
LONGEST = 320
KEPT = 40
FRESH = "¤"
LETTERS = string.ascii_letters + string.digits
PIECES = (
    *("a", " ", "\n", "\\", "'", '"', "`", "=", ":", "(", ")", "[", "{", "<", ">", "$", "%", "-", "--", "_", ".", "0"),
    *(
        "/",
        "|",
        "@",
        "&",
        "?",
        ",",
        ";",
        "+",
        "é",
        "K",
        "\t",
        "\x1a",
        "\ue000",
        ": ",
        " = ",
        '="',
        "='",
        '": "',
        "\\\n",
    ),
    *(FRESH * 3, FRESH * 6, FRESH * 8, FRESH * 16, FRESH * 32, "a1", "1a2b3c4d", "a1b2c3d4e5f6a7b8", "-p", " -u a:b1c"),
)
WORDS = (
    *secret_contexts.FILLER.split(),
    *(
        "curl ",
        "mysql ",
        "sshpass ",
        "docker ",
        "redis-cli ",
        "Server=a;",
        "value",
        "name",
        "default",
        "insert into a (",
    ),
    *(
        "password",
        "passphrase",
        "pwd",
        "secret",
        "token",
        "credentials",
        "creds",
        "mnemonic",
        "key",
        "pass",
        "pw",
        "psk",
    ),
    *("api_key", "client-key-data", "#define TOKEN ", "ENV token ", "String::from(", "getenv(", "string ", "for a is "),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "[secret:jwt:0a1b2c3d]", "[secret:", "digest "),
    *(gate for gates, _ in (*secret_contexts.RULES, secret_contexts.SESSIONS) for gate in gates),
    *(gate for gate, _ in secret_contexts.RULES_WITH_NAMES),
    *(prefix for table in TABLES for prefix in table.prefixes),
    *(word for table in TABLES for word in table.keywords),
    *(table.contains for table in TABLES if table.contains),
)
EVERYTHING = "\n".join(f"{word}={string.ascii_letters}0123456789{word}\n{word} a" for word in dict.fromkeys(WORDS))


@dataclass(frozen=True, order=True)
class Slow:
    """A unit and how long it takes, in seconds of processor time per MB."""

    seconds: float
    unit: str
    head: str = ""

    def __str__(self) -> str:
        return f"{self.seconds:.3f} s/MB  {self.unit!r}{' below a head' if self.head else ''}"


def text_of(unit: str, head: str, size: int = SIZE) -> str:
    text = unit * max(1, (size - len(head)) // len(unit))
    if FRESH in text:
        draw = random.Random(unit)
        parts = text.split(FRESH)
        fresh = draw.choices(LETTERS, k=len(parts) - 1)
        text = "".join([piece for pair in zip(parts, [*fresh, ""], strict=True) for piece in pair])
    return head + text


def measured(unit: str, head: str = "", *, times: int = 1, size: int = SIZE) -> Slow:
    text, best = text_of(unit, head, size), float("inf")
    for _ in range(times):
        redactor = Redactor(b"k" * 32)  # a new one, which remembers no secret
        began = time.process_time()
        redactor.redact(text)
        best = min(best, time.process_time() - began)
    return Slow(best * MEGABYTE / len(text), unit, head)


def changed(unit: str, other: str, draw: random.Random) -> str:
    at = draw.randrange(len(unit) + 1)
    match draw.randrange(9):
        case 0:
            made = unit + other
        case 1:
            made = unit[: len(unit) // 2 + 1] + other
        case 2:
            made = draw.choice((unit.upper(), unit.lower(), unit.title()))
        case 3:
            made = unit[:at] + draw.choice(PIECES) + unit[at:]
        case 4:
            made = unit[:at] + draw.choice(WORDS) + unit[at:]
        case 5:
            made = unit[:at] + unit[at + draw.randrange(1, 6) :]
        case 6:
            made = unit[:at] + draw.choice(PIECES) + unit[at + 1 :]
        case 7:
            made = draw.choice(WORDS) + draw.choice(PIECES) + draw.choice((FRESH * 8, draw.choice(PIECES)))
        case _:
            made = unit * 2 + other[:3]
    return made[:LONGEST] or other[:LONGEST]


def search(
    units: Sequence[str],
    *,
    seed: int,
    steps: int = 0,
    seconds: float = 0.0,
    size: int = SIZE,
    report: bool = False,
) -> Slow:
    """The slowest text of this size that so many steps, or so much time, find."""
    draw, until = random.Random(seed), time.monotonic() + seconds
    pool = sorted((measured(unit, size=size) for unit in units), reverse=True)
    seen, tried, worst = set(units), 0, 0.0
    while tried < steps or time.monotonic() < until:
        tried += 1
        first, second = draw.choice(pool[: KEPT // 4]), draw.choice(pool[:KEPT])
        unit = changed(first.unit, second.unit, draw)
        # A head takes most of a small text, and would then be what is measured.
        head = draw.choice((first.head, first.head, "", EVERYTHING if size >= SIZE else ""))
        if (unit + head[:1]) in seen:
            continue
        seen.add(unit + head[:1])
        one = measured(unit, head, size=size)
        if one.seconds > pool[min(KEPT, len(pool)) - 1].seconds:
            one = measured(unit, head, times=2, size=size)  # one hiccup of the machine would otherwise keep it
            pool = sorted([*pool, one], reverse=True)[:KEPT]
        if report and pool[0].seconds > worst * 1.02:
            worst = pool[0].seconds
            print(f"{tried:>6,} tried  {pool[0]}", flush=True)
    if report:
        print(f"{tried:,} tried")
    return max(measured(one.unit, one.head, times=3, size=2 * size) for one in pool[:8])


def main() -> int:
    from bench.secrets import UNITS, floor

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--seed", type=int, default=14)
    options.add_argument("--size", type=int, default=SIZE, help="characters of a text")
    given = options.parse_args()
    worst = search(UNITS, seed=given.seed, seconds=given.seconds, size=given.size, report=True)
    print(f"slowest: {worst}")
    # On a busy machine both take longer. The goal is ten times as long.
    print(f"{worst.seconds / floor():.1f} times as long as to find the words of a text")
    return 0


if __name__ == "__main__":
    sys.exit(main())
