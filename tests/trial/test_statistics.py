"""The statistics of a trial, against published values and by counting."""

from __future__ import annotations

import math
from itertools import product

import pytest

from rebut.trial import statistics
from rebut.trial.statistics import at_least, by_file, mcnemar, paired_difference, pairs_needed, wilson


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    # the exact two-sided sign test, as tables of the binomial distribution have it
    [(0, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (10, 2, 0.03857), (2, 10, 0.03857), (8, 8, 1.0), (9, 1, 0.02148)],
)
def test_mcnemar_is_exact(gained: int, lost: int, p: float) -> None:
    assert mcnemar(gained, lost) == pytest.approx(p, abs=1e-5)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    # Newcombe 1998 (Statistics in Medicine 17:857), table I, method 3: 81/263, 15/148, 0/20, 1/29
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_has_the_published_limits(hits: int, of: int, low: float, high: float) -> None:
    assert wilson(hits, of) == pytest.approx((low, high), abs=1e-4)


def test_the_interval_of_a_difference_covers_the_truth_as_often_as_it_says() -> None:
    """All results of 20 pairs, each with its probability: the interval contains the true difference in about 95 %."""
    n = 20
    for both, gained, lost in ((0.4, 0.3, 0.1), (0.5, 0.1, 0.1), (0.2, 0.4, 0.05), (0.7, 0.15, 0.05)):
        neither = 1 - both - gained - lost
        covered = 0.0
        for a, b, c in product(range(n + 1), repeat=3):
            if a + b + c > n:
                continue
            d = n - a - b - c
            ways = math.factorial(n) / math.prod(map(math.factorial, (a, b, c, d)))
            low, high = paired_difference(a, b, c, d)
            if low <= gained - lost <= high:
                covered += ways * both**a * gained**b * lost**c * neither**d
        assert 0.93 <= covered <= 0.995, (both, gained, lost, covered)


def test_the_interval_is_symmetrical_and_contains_what_was_seen() -> None:
    for a, b, c, d in ((20, 9, 2, 29), (0, 5, 5, 0), (10, 0, 0, 10), (0, 20, 0, 0)):
        low, high = paired_difference(a, b, c, d)
        assert low <= (b - c) / (a + b + c + d) <= high
        assert paired_difference(a, c, b, d) == pytest.approx((-high, -low))
        assert low >= -1 and high <= 1


def test_the_pairs_that_a_difference_needs_are_computed() -> None:
    assert pairs_needed(0.20) == 56  # 30 % of the pairs differ, 80 % power, 5 % level
    assert (
        pairs_needed(0.20, 0.5) == 96
        and pairs_needed(0.10) == 233
        and pairs_needed(0.20, 0.1) == pairs_needed(0.2, 0.2)
    )
    assert statistics.discordant_share(3, 1, 10) == 0.30 and statistics.discordant_share(6, 2, 20) == 0.40


def test_so_many_pairs_do_show_it_in_about_three_of_four_trials() -> None:
    """The exact test at the number that the formula gives, over all results."""
    n, gained, lost = pairs_needed(0.20), 0.25, 0.05
    power = 0.0
    for b in range(n + 1):
        for c in range(n - b + 1):
            if mcnemar(b, c) <= statistics.LEVEL and b > c:
                ways = math.comb(n, b) * math.comb(n - b, c)
                power += ways * gained**b * lost**c * (1 - gained - lost) ** (n - b - c)
    assert 0.74 <= power <= 0.78, power


def test_hits_by_chance_are_added_up_case_by_case() -> None:
    assert (
        at_least(0, [0.5, 0.5]) == 1.0
        and at_least(1, [0.5, 0.5]) == 0.75
        and at_least(2, [0.5, 0.1]) == pytest.approx(0.05)
    )
    assert at_least(2, [0.05] * 6) == pytest.approx(0.032774, abs=1e-6) and at_least(3, [1.0] * 3) == 1.0
    assert at_least(1, []) == 0.0


def test_files_are_drawn_whole_from_twenty_on() -> None:
    alike = {f"f{n}": [1, 1, 1] if n < 10 else [0, 0, 0] for n in range(20)}
    apart = {f"f{n}": [(n + k) % 2 for k in range(3)] for n in range(20)}
    first, second = by_file(alike, 1), by_file(apart, 1)
    assert first is not None and second is not None
    assert first[1] - first[0] > 2 * (second[1] - second[0])  # pairs of one file that agree say less
    assert by_file(alike, 1) == first and by_file(dict(list(alike.items())[:19]), 1) is None
