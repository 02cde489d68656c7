"""The scores of a trial: what each arm found on each pair, beside chance, and how two arms differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

from rebut.batch.results import total_usd
from rebut.core.frozen import frozen
from rebut.trial import statistics
from rebut.trial.defect_kinds import KINDS, OTHER
from rebut.trial.pairs import DefectPair
from rebut.trial.reviews import NEAR, TrialFinding, TrialReview, near
from rebut.trial.statistics import Interval

WIDEST = 10
"""The most lines of a citation that can hit: a longer one would hit by its length alone."""
SHOWN_DIFFERENCE = 0.20
"""The difference for which the sentence on too few pairs says how many would be needed."""


@frozen
class PairScore:
    """How one arm did on one pair."""

    pair: DefectPair
    found: bool
    """Whether the defect is reported at the right place and as the right kind."""
    chance: float
    """How often a reviewer that draws its places and kinds would have found it, with as many findings."""
    alarm: bool
    """Whether something is reported on the twin, which has no defect."""
    same_on_twin: bool
    """Whether the finding that hits is reported on the twin as well: then the arm did not tell the two apart."""
    lost: bool
    """Whether the defect was raised, but is not reported in the end."""
    defect: TrialReview
    clean: TrialReview

    @property
    def told_apart(self) -> bool:
        return self.found and not self.same_on_twin

    @property
    def reviews(self) -> tuple[TrialReview, TrialReview]:
        return self.defect, self.clean


def is_hit(finding: TrialFinding, pair: DefectPair) -> bool:
    """Whether a finding has the right place and the right kind."""
    return finding.kind == pair.defect.kind and _is_there(finding, pair)


def _is_there(finding: TrialFinding, pair: DefectPair) -> bool:
    here = [(path, first, last) for path, first, last in finding.places if last - first < WIDEST]
    return near(here, [(pair.path, pair.defect.first, pair.defect.last)])


def is_alarm(finding: TrialFinding) -> bool:
    """Whether a finding on the twin is a false alarm. A finding of another kind may be right on both sides."""
    return finding.reported and finding.kind != OTHER


def chance_of(findings: Sequence[TrialFinding], pair: DefectPair) -> float:
    """How often these findings would hit if their places and kinds were drawn.

    Each place keeps its length and begins at a random line of the change. The kinds that are named count as drawn from
    the list, so that naming all of them always includes the right one.
    """
    by_kind = dict[str, float]()
    for finding in findings:
        if finding.kind in KINDS:
            missed = math.prod(1 - _by_place(last - first + 1, pair) for _, first, last in finding.places)
            by_kind[finding.kind] = by_kind.get(finding.kind, 1.0) * missed
    return sum(1 - missed for missed in by_kind.values()) / len(KINDS)


def _by_place(length: int, pair: DefectPair) -> float:
    """How often a place of so many lines hits if it begins at any line of the change."""
    if length > WIDEST or not pair.changed:
        return 0.0
    first, last = pair.defect.first - NEAR, pair.defect.last + NEAR
    hits = sum(1 for start in pair.changed if start <= last and first <= start + length - 1)
    return max(1, hits) / len(pair.changed)


def score(pair: DefectPair, defect: TrialReview, clean: TrialReview) -> PairScore:
    reported = [finding for finding in defect.findings if finding.reported]
    hits = [finding for finding in reported if is_hit(finding, pair)]
    raised = any(finding.was_grave and is_hit(finding, pair) for finding in defect.findings)
    again = any(f.reported and f.kind == h.kind and near(f.places, h.places) for f in clean.findings for h in hits)
    return PairScore(
        pair,
        found=bool(hits),
        chance=chance_of(reported, pair),
        alarm=any(map(is_alarm, clean.findings)),
        same_on_twin=again,
        lost=raised and not hits,
        defect=defect,
        clean=clean,
    )


@frozen
class ArmScore:
    """How one arm did on all pairs that it reviewed on both sides."""

    arm: str
    scores: tuple[PairScore, ...]
    p1: int = 0
    p1_right: int = 0
    citations: int = 0
    absent: int = 0
    unnamed: int = 0
    """Findings of P1 or P2 that name no kind: they can never hit."""
    findings: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    calls: int = 0

    @property
    def pairs(self) -> int:
        return len(self.scores)

    @property
    def found(self) -> int:
        return sum(one.found for one in self.scores)

    @property
    def alarms(self) -> int:
        return sum(one.alarm for one in self.scores)

    @property
    def told_apart(self) -> int:
        return sum(one.told_apart for one in self.scores)

    @property
    def lost(self) -> int:
        return sum(one.lost for one in self.scores)

    @property
    def chance(self) -> float:
        """The share that chance alone would find."""
        return sum(one.chance for one in self.scores) / self.pairs if self.scores else 0.0

    @property
    def by_chance(self) -> float:
        """How often chance alone finds as many or more."""
        return statistics.at_least(self.found, [one.chance for one in self.scores])

    @property
    def is_better_than_chance(self) -> bool:
        return self.by_chance <= statistics.LEVEL


def arm_score(arm: str, scores: Sequence[PairScore]) -> ArmScore:
    sides = [(review, one) for one in scores for review in one.reviews]
    p1 = right = unnamed = findings = 0
    marks = Counter[str]()
    for review, one in sides:
        marks += review.citations()
        for finding in review.findings:
            findings += finding.was_grave
            unnamed += finding.was_grave and not finding.kind
            if finding.reported and finding.severity == "P1":
                p1 += 1
                right += review is one.defect and is_hit(finding, one.pair)
    return ArmScore(
        arm,
        tuple(scores),
        p1=p1,
        p1_right=right,
        citations=marks.total(),
        absent=marks["absent"],
        unnamed=unnamed,
        findings=findings,
        tokens=sum(review.tokens for review, _ in sides),
        usd=total_usd(review.usd for review, _ in sides),
        seconds=sum(review.seconds for review, _ in sides),
        calls=sum(review.calls for review, _ in sides),
    )


# Two arms on the same pairs


@frozen
class Difference:
    """How often one arm has something that another has not, on the same pairs."""

    pairs: int
    first: int
    second: int
    gained: int
    """Pairs that only the first arm has."""
    lost: int
    """Pairs that only the second arm has."""
    interval: Interval
    """The interval of the difference of the shares, at 95 %."""
    by_files: bool
    """Whether the interval was drawn file by file."""

    @property
    def p(self) -> float:
        """The exact McNemar test."""
        return statistics.mcnemar(self.gained, self.lost)

    @property
    def is_shown(self) -> bool:
        """Whether both the test on pairs and the interval show it: drawn file by file, the interval may be wider."""
        low, high = self.in_pairs
        return self.p <= statistics.LEVEL and not low <= 0 <= high

    @property
    def needed(self) -> int:
        """About how many pairs would show a difference of 20 points."""
        share = statistics.discordant_share(self.gained, self.lost, self.pairs)
        return statistics.pairs_needed(SHOWN_DIFFERENCE, share)

    @property
    def in_pairs(self) -> tuple[int, int]:
        """The interval, as pairs."""
        low, high = self.interval
        return round(low * self.pairs), round(high * self.pairs)


def arm_difference(rows: Sequence[tuple[str, bool, bool]], seed: int) -> Difference:
    """The difference of two arms. A row is the file of a pair, and whether the first and the second arm has it."""
    counts = Counter((one, two) for _, one, two in rows)
    gained, lost = counts[True, False], counts[False, True]
    files = dict[str, list[int]]()
    for file, one, two in rows:
        files.setdefault(file, []).append(one - two)
    drawn = statistics.by_file(files, seed)
    usual = statistics.paired_difference(counts[True, True], gained, lost, counts[False, False])
    first, second = counts[True, True] + gained, counts[True, True] + lost
    return Difference(len(rows), first, second, gained, lost, drawn or usual, drawn is not None)


@frozen
class Comparison:
    """Two arms on the pairs that both have reviewed."""

    arm: str
    base: str
    found: Difference
    alarms: Difference
    tokens: float
    """Tokens of the arm per token of the base; 0 if the base used none."""
    usd: float
    """Dollars of the arm per dollar of the base; 0 if a price is unknown or 0."""


def compare(arm: ArmScore, base: ArmScore, seed: int) -> Comparison:
    other = {one.pair.id: one for one in base.scores}
    both = [(one, other[one.pair.id]) for one in arm.scores if one.pair.id in other]
    first = arm_score(arm.arm, [one for one, _ in both])
    second = arm_score(base.arm, [two for _, two in both])
    return Comparison(
        arm.arm,
        base.arm,
        arm_difference([(one.pair.path, one.found, two.found) for one, two in both], seed),
        arm_difference([(one.pair.path, one.alarm, two.alarm) for one, two in both], seed),
        first.tokens / second.tokens if second.tokens else 0.0,
        first.usd / second.usd if first.usd and second.usd else 0.0,
    )


# What the judge does with true and false findings


@frozen
class Kept:
    """How many findings a judge kept, of those it ruled on."""

    kept: int = 0
    of: int = 0


@frozen
class JudgeScore:
    """What became of true and false findings in a debate with a judge: in all, by mark, and by check."""

    true: Kept = Kept()
    false: Kept = Kept()
    by_evidence: Mapping[str, tuple[Kept, Kept]] = field(default_factory=dict)
    """found, absent, shown, refuted → the true and the false findings with that."""


def judged(arm: ArmScore) -> JudgeScore:
    """Findings of the planted defect are true, those on the twin false; others may be either, and do not count."""
    rows = list[tuple[bool, TrialFinding]]()
    for one in arm.scores:
        rows += [(True, finding) for finding in one.defect.findings if is_hit(finding, one.pair)]
        rows += [(False, finding) for finding in one.clean.findings if finding.kind != OTHER]
    rows = [(true, finding) for true, finding in rows if finding.ruling]
    named = {
        evidence: tuple(
            _kept([f for t, f in rows if t == true and evidence in (*f.marks, *f.checks)]) for true in (True, False)
        )
        for evidence in ("found", "absent", "shown", "refuted")
    }
    return JudgeScore(
        _kept([f for true, f in rows if true]),
        _kept([f for true, f in rows if not true]),
        {evidence: (true, false) for evidence, (true, false) in named.items() if true.of or false.of},
    )


def _kept(findings: Sequence[TrialFinding]) -> Kept:
    return Kept(sum(finding.reported for finding in findings), len(findings))
