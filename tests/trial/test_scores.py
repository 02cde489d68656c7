"""The scorer on reviewers whose behaviour is known: it must see through each of those that cheat."""

from __future__ import annotations

from functools import cache

import pytest
import reviewers
from reviewers import Critic

from rebut.trial.pairs import CLEAN, DEFECT, DefectPair, bundled, ordered
from rebut.trial.reviews import TrialFinding, TrialReview, voted
from rebut.trial.scores import ArmScore, arm_difference, arm_score, chance_of, compare, is_hit, judged, score
from rebut.trial.statistics import LEVEL


@cache
def pairs(count: int = 200) -> tuple[DefectPair, ...]:
    return tuple(ordered(bundled(), 7)[:count])


def review(critic: Critic, pair: DefectPair, side: str, tokens: int = 100) -> TrialReview:
    found = [
        TrialFinding(kind, ((pair.path, line, line),), severity, severity, severity != "P3", ("found",))
        for line, kind, severity in critic(pair, side)
    ]
    return TrialReview(tuple(found), tokens, 0.01, 1.0, 1, ("s",))


def arm(critic: Critic, count: int = 200, name: str = "one", tokens: int = 100) -> ArmScore:
    sides = [(pair, review(critic, pair, DEFECT, tokens), review(critic, pair, CLEAN, tokens)) for pair in pairs(count)]
    return arm_score(name, [score(*one) for one in sides])


def test_a_perfect_reviewer_finds_all_and_is_far_above_chance() -> None:
    perfect = arm(reviewers.finds(1.0))
    assert (perfect.found, perfect.alarms, perfect.told_apart, perfect.lost) == (200, 0, 200, 0)
    assert (perfect.p1, perfect.p1_right) == (200, 200) and perfect.chance < 0.02 and perfect.by_chance < 1e-100


def test_a_blind_reviewer_finds_nothing() -> None:
    blind = arm(reviewers.finds(0.0))
    assert (blind.found, blind.alarms, blind.chance, blind.by_chance) == (0, 0, 0.0, 1.0)
    assert not blind.is_better_than_chance


def test_one_at_chance_scores_what_chance_says() -> None:
    at_chance = arm(reviewers.at_chance)
    assert 0.005 < at_chance.chance < 0.02 and at_chance.found <= 8
    assert at_chance.by_chance > LEVEL and not at_chance.is_better_than_chance
    assert at_chance.alarms == 200 and at_chance.p1_right / at_chance.p1 < 0.03


def test_chance_is_what_a_reviewer_that_draws_does_find() -> None:
    """Over many draws, the share that is found is the share that `chance` names: it is measured, not assumed."""
    found = expected = 0.0
    for salt in range(40):
        for pair in pairs(100):
            draw = reviewers.drawn(pair, DEFECT, str(salt))
            lines = draw.sample(pair.changed, 4)
            kinds = draw.sample(list(reviewers.KINDS), 4)
            drawn = [TrialFinding(k, ((pair.path, n, n),), "P1", "P1", True) for n, k in zip(lines, kinds, strict=True)]
            found += any(is_hit(one, pair) for one in drawn)
            expected += chance_of(drawn, pair)
    assert found / 4000 == pytest.approx(expected / 4000, abs=0.012) and expected / 4000 > 0.02


def test_the_right_line_with_the_wrong_kind_is_no_hit() -> None:
    wrong = arm(reviewers.wrong_kind)
    assert wrong.found == 0 and wrong.alarms == 0 and wrong.p1 == 200 and wrong.p1_right == 0
    assert not wrong.is_better_than_chance


def test_one_that_alarms_on_everything_finds_much_and_is_no_better_than_chance() -> None:
    every = arm(reviewers.everything)
    assert every.found > 150 and every.alarms == 200 and every.told_apart < 20
    assert every.chance > 0.6 and every.pairs * every.chance == pytest.approx(every.found, abs=60)
    whole = [TrialFinding(kind, ((pairs()[0].path, 1, 99),), "P1", "P1", True) for kind in reviewers.KINDS]
    assert not any(is_hit(one, pairs()[0]) for one in whole)  # a whole file is no place
    pair = pairs()[0]
    flood = [TrialFinding(k, ((pair.path, n, n),), "P1", "P1", True) for n in pair.changed for k in reviewers.KINDS]
    assert chance_of(flood, pair) > 0.9


def test_one_that_always_cites_the_first_line_is_at_chance_and_tells_no_twin_apart() -> None:
    first = arm(reviewers.always_first)
    assert (
        first.found <= 4 and not first.is_better_than_chance and first.alarms == 200 and first.told_apart <= first.found
    )


def test_one_that_calls_everything_p1_is_seen_by_its_precision() -> None:
    grave = arm(reviewers.always_p1)
    assert grave.found == 200 and grave.p1 == 200 * 9 and grave.p1_right / grave.p1 < 0.15 and grave.alarms == 200


def test_a_p3_finds_nothing_and_alarms_no_one() -> None:
    quiet = arm(lambda pair, side: [(pair.defect.first, pair.defect.kind, "P3")] if side == DEFECT else [])
    assert quiet.found == 0 and quiet.alarms == 0 and quiet.p1 == 0


def test_two_arms_are_compared_on_the_same_pairs() -> None:
    low, high = arm(reviewers.finds(0.3)), arm(reviewers.finds(0.8), name="cross", tokens=250)
    both = compare(high, low, 1)
    assert both.found.pairs == 200 and both.found.first - both.found.second == high.found - low.found
    assert both.found.lost == 0 and both.found.is_shown and both.found.p < 1e-20  # the same draws: 0.8 has all of 0.3
    assert both.tokens == 2.5 and both.found.by_files and both.found.interval[0] > 0.3
    few = compare(arm(reviewers.finds(0.8), 8, "cross"), arm(reviewers.finds(0.6), 8), 1)
    assert not few.found.is_shown and few.found.needed == 56 and not few.found.by_files
    assert few.found.pairs == 8


def test_equal_arms_are_rarely_called_different() -> None:
    shown = 0
    for seed in range(200):
        draw = reviewers.drawn(pairs()[0], DEFECT, str(seed))
        rows = [(f"f{n % 5}", draw.random() < 0.6, draw.random() < 0.6) for n in range(40)]
        shown += arm_difference(rows, 1).is_shown
    assert shown <= 16  # 5 % of 200 is 10; the exact test is below


def found(pair: DefectPair, **changes: object) -> TrialFinding:
    place = (pair.path, pair.defect.first, pair.defect.first)
    usual = {"kind": pair.defect.kind, "places": (place,), "raised": "P1", "severity": "P1", "reported": True}
    return TrialFinding(**{**usual, **changes})  # type: ignore[arg-type]


def test_a_vote_keeps_what_more_than_half_of_the_samples_report() -> None:
    pair = pairs()[0]
    one, other = found(pair), found(pair, kind="other")
    near = found(pair, places=((pair.path, pair.defect.first + 1, pair.defect.first + 1),))
    far = found(pair, places=((pair.path, pair.defect.first + 9, pair.defect.first + 9),))
    made = voted([TrialReview((one,), 10), TrialReview((near, other), 20), TrialReview((far,), 30)])
    assert [(f.kind, f.reported) for f in made.findings] == [
        (pair.defect.kind, True),
        ("other", False),
        (pair.defect.kind, False),
    ]
    assert made.tokens == 60 and not voted([TrialReview((one,)), TrialReview(())]).findings[0].reported
    assert score(pair, voted([TrialReview((one,)), TrialReview(()), TrialReview(())]), TrialReview()).lost


def test_what_the_judge_keeps_is_counted_by_evidence() -> None:
    pair, twin = pairs()[0], pairs()[1]
    kept = found(pair, ruling="valid", marks=("found",))
    dropped = found(twin, ruling="invalid", reported=False, marks=("absent",))
    false = found(pair, ruling="valid", marks=("found",), checks=("refuted",))
    unruled = found(pair)
    arms = arm_score(
        "cross",
        [
            score(pair, TrialReview((kept,)), TrialReview((false, unruled))),
            score(twin, TrialReview((dropped,)), TrialReview()),
        ],
    )
    seen = judged(arms)
    assert (seen.true.kept, seen.true.of, seen.false.kept, seen.false.of) == (1, 2, 1, 1)
    true, false_ones = seen.by_evidence["found"]
    assert (true.kept, true.of, false_ones.kept, false_ones.of) == (1, 1, 1, 1)
    assert seen.by_evidence["absent"][0].of == 1 and seen.by_evidence["refuted"][1].kept == 1
    assert arms.lost == 1 and arms.absent == 1 and arms.citations == 3


def test_a_difference_is_not_named_beside_a_range_that_contains_none() -> None:
    # One file of twenty has all that differs: drawn file by file, it may not be drawn at all.
    rows = [("f0", True, False)] * 12 + [(f"f{n}", True, True) for n in range(1, 20)]
    made = arm_difference(rows, 1)
    assert made.by_files and made.p < 0.001 and made.in_pairs[0] == 0
    assert not made.is_shown
