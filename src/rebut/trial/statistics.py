"""The statistics of a trial: exact tests on pairs, intervals for shares, and how many pairs a difference needs."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

LEVEL = 0.05
"""A difference that chance gives less often than this is called a difference."""
Z, Z_POWER = 1.959963984540054, 0.8416212335729143
"""Quantiles of the normal distribution: 95 % is between -Z and Z, and 80 % below Z_POWER."""
USUAL_DISCORDANT = 0.30
"""The share of pairs on which two arms are assumed to differ, as long as there are too few pairs to measure it."""
FEWEST_FOR_SHARE = 20
"""From this many pairs on, the share on which two arms differ is measured."""
FEWEST_FILES = 20
"""From this many files on, an interval is drawn file by file."""
DRAWS = 2000

Interval = tuple[float, float]


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided McNemar test: how often chance alone splits the pairs that differ at least so unevenly."""
    n = gained + lost
    if not n:
        return 1.0
    tail: float = sum(math.comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n
    return min(1.0, 2 * tail)


def wilson(hits: int, of: int) -> Interval:
    """The Wilson interval of a share, at 95 %."""
    if not of:
        return 0.0, 1.0
    share, z2 = hits / of, Z * Z
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = Z * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of)) / (1 + z2 / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def paired_difference(both: int, gained: int, lost: int, neither: int) -> Interval:
    """Newcombe's interval (1998, method 10) of the difference of two shares on the same pairs, at 95 %.

    `gained` pairs have only the first, `lost` only the second.
    """
    n = both + gained + lost + neither
    if not n:
        return -1.0, 1.0
    first, second = both + gained, both + lost
    low1, high1 = wilson(first, n)
    low2, high2 = wilson(second, n)
    p1, p2 = first / n, second / n
    margins = first * second * (n - first) * (n - second)
    phi = 0.0
    if margins:
        cross = float(both * neither - gained * lost)
        cross = max(cross - n / 2, 0.0) if cross > 0 else cross  # with a correction for small numbers
        phi = cross / math.sqrt(margins)
    down = (p1 - low1) ** 2 - 2 * phi * (p1 - low1) * (high2 - p2) + (high2 - p2) ** 2
    up = (p2 - low2) ** 2 - 2 * phi * (p2 - low2) * (high1 - p1) + (high1 - p1) ** 2
    middle = p1 - p2
    return middle - math.sqrt(max(0.0, down)), middle + math.sqrt(max(0.0, up))


def by_file(differences: Mapping[str, Sequence[int]], seed: int) -> Interval | None:
    """The bootstrap interval of a mean difference, at 95 %; None with too few files.

    The pairs of one file resemble each other, so whole files are drawn.
    """
    if len(differences) < FEWEST_FILES:
        return None
    sums = [(sum(rows), len(rows)) for _, rows in sorted(differences.items())]
    draw = random.Random(seed)
    means = list[float]()
    for _ in range(DRAWS):
        drawn = draw.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    return means[int(DRAWS * 0.025)], means[int(DRAWS * 0.975) - 1]


def pairs_needed(difference: float, discordant: float = USUAL_DISCORDANT) -> int:
    """About how many pairs show such a difference in 4 of 5 trials, if the arms differ on the share `discordant`."""
    share = max(discordant, difference)  # a difference of 20 points needs 20 % of the pairs to differ
    root = Z * math.sqrt(share) + Z_POWER * math.sqrt(max(0.0, share - difference**2))
    return round((root / difference) ** 2)


def discordant_share(gained: int, lost: int, pairs: int) -> float:
    """The share of pairs on which two arms differ: as measured, or as assumed while there are too few pairs."""
    return (gained + lost) / pairs if pairs >= FEWEST_FOR_SHARE else USUAL_DISCORDANT


def at_least(hits: int, chances: Sequence[float]) -> float:
    """How often chance alone gives as many hits or more, if each case has its own chance."""
    exactly = [1.0]
    for p in chances:
        exactly = [
            (exactly[k] * (1 - p) if k < len(exactly) else 0.0) + (exactly[k - 1] * p if k else 0.0)
            for k in range(len(exactly) + 1)
        ]
    return min(1.0, sum(exactly[hits:]))
