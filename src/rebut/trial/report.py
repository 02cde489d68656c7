"""The report of a trial: one sentence as the answer, a table of every arm beside chance, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rebut.core.json_value import Json
from rebut.core.text import counted
from rebut.domain.amounts import duration, money, size
from rebut.trial.arms import ARMS, DEBATES, ONE
from rebut.trial.reviews import TrialFinding, TrialReview
from rebut.trial.scores import ArmScore, Comparison, Difference, Kept, PairScore, is_hit
from rebut.trial.statistics import wilson
from rebut.trial.trial import TOKENS_APART, TrialReport

Table = list[list[str]]


def sentence(report: TrialReport) -> str:
    """The answer. It says no more than the pairs show."""
    if report.floor:
        return f"Stopped at the floor: {report.floor}."
    if not report.arms:
        return "Nothing was measured: no pair has been reviewed on both sides."
    main = main_comparison(report)
    said = _compared(main) if main else _alone(report.arms[0])
    if report.missing or report.stopped:
        done = report.reviews - report.missing
        said = f"Incomplete, {done} of {report.reviews} reviews are done. So far: {said[0].lower()}{said[1:]}"
    return said


def main_comparison(report: TrialReport) -> Comparison | None:
    """The debate beside one call, or else the first two arms that are compared."""
    ranked = sorted(report.comparisons, key=lambda one: (one.base != ONE, one.arm not in DEBATES))
    return next((one for one in ranked if one.found.pairs), None)


def _alone(arm: ArmScore) -> str:
    low, high = wilson(arm.found, arm.pairs)
    beyond = "" if arm.is_better_than_chance else "; that is no better than chance"
    return (
        f"{ARMS[arm.arm].capitalize()} found {arm.found} of {arm.pairs} planted defects "
        f"({percent(low)} to {percent(high)}), where chance finds {percent(arm.chance)}{beyond}."
    )


def _compared(one: Comparison) -> str:
    arm, base, found = ARMS[one.arm], ARMS[one.base], one.found
    low, high = found.in_pairs
    span = f"{_signed(low)} to {_signed(high)}"
    more = found.first - found.second
    amount = f"{abs(more)} {'more' if more > 0 else 'fewer'}" if more else "as many"
    than = "than" if more else "as"
    of = f"of {found.pairs} planted defects {than} {base}"
    if found.is_shown:
        return f"{arm.capitalize()} found {amount} {of}, {span}; {_alarms(one.alarms)}; {_cost(one)}."
    if one.alarms.is_shown:
        chance = ", which may be chance" if more else ""
        return (
            f"{arm.capitalize()} raised {_alarms(one.alarms)} than {base} on {found.pairs} pairs; it found {amount} "
            f"planted defects ({span}){chance}; {_cost(one)}."
        )
    if found.pairs < found.needed:
        need = f"about {found.needed} pairs would show a difference of 20 points"
        return f"Too few to tell: {arm} found {amount} {of} ({span}); {need}."
    return f"No difference shown: {arm} found {amount} {of} ({span}); {_alarms(one.alarms)}; {_cost(one)}."


def _alarms(one: Difference) -> str:
    more = one.first - one.second
    if not more:
        return "as many false alarms"
    said = f"{abs(more)} {'more' if more > 0 else 'fewer'} false {'alarm' if abs(more) == 1 else 'alarms'}"
    return said if one.is_shown else f"{said}, which may be chance"


def _cost(one: Comparison) -> str:
    if one.usd:
        return f"{one.usd:.1f} times the cost"
    return f"{one.tokens:.1f} times the tokens" if one.tokens else "no tokens were reported to compare the cost"


def _signed(number: int) -> str:
    return f"+{number}" if number > 0 else f"−{abs(number)}" if number < 0 else "0"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


HEAD = ["arm", "found", "chance", "false alarms", "P1 right", "absent", "lost", "tokens", "cost", "time"]


def score_table(report: TrialReport) -> Table:
    rows = [HEAD]
    for arm in report.arms:
        rows.append(
            [
                arm.arm,
                share(arm.found, arm.pairs),
                percent(arm.chance),
                share(arm.alarms, arm.pairs),
                share(arm.p1_right, arm.p1) if arm.p1 else "no P1",
                percent(arm.absent / arm.citations) if arm.citations else "–",
                str(arm.lost),
                size(arm.tokens),
                "unknown" if arm.usd is None else money(arm.usd),
                duration(arm.seconds),
            ]
        )
    return rows


def share(hits: int, of: int) -> str:
    return f"{hits} of {of}, {percent(hits / of)}" if of else "none"


def notes(report: TrialReport) -> list[str]:
    """Notes on what the table does not show."""
    out = list(report.notes)
    for arm in report.arms:
        if not arm.is_better_than_chance and len(report.arms) > 1:
            out.append(f"{arm.arm} is no better than chance: {arm.found} found, chance finds {percent(arm.chance)}")
        if arm.found and not arm.told_apart:
            out.append(f"{arm.arm} reports the same on the twins without a defect, for every defect that it found")
        if arm.unnamed:
            of = counted(arm.findings, "finding")
            out.append(f"{arm.arm}: {arm.unnamed} of {of} of P1 or P2 name no kind of the list, and cannot count")
    if report.vote_tokens and abs(report.vote_tokens - 1) > TOKENS_APART:
        out.append(f"the vote used {report.vote_tokens:.2f} times the tokens of the debate, so they are not equal")
    if len(set(report.models)) == 1 and any(arm.arm in DEBATES for arm in report.arms):
        out.append("one model had every seat, so this says nothing about a second model")
    for arm_name, kept in report.judged.items():
        if kept.true.of or kept.false.of:
            out.append(
                f"the judge of {arm_name} kept {_kept(kept.true)} true findings and {_kept(kept.false)} false ones"
            )
        for evidence, (true, false) in kept.by_evidence.items():
            out.append(f"  with a citation or check marked {evidence}: {_kept(true)} true, {_kept(false)} false")
    for failure, count in (report.failures or {}).items():
        out.append(f"{counted(count, 'review')} failed: {failure}")
    return out


def _kept(one: Kept) -> str:
    return f"{one.kept} of {one.of}"


# As JSON


def to_json(report: TrialReport) -> dict[str, Json]:
    main = main_comparison(report)
    out: dict[str, Any] = {
        "sentence": sentence(report),
        "complete": report.is_complete,
        "stopped": report.stopped or report.floor,
        "pairs": len(report.pairs),
        "files": len({pair.path for pair in report.pairs}),
        "source": report.source,
        "seed": report.seed,
        "models": list(report.models),
        "reviews": report.reviews,
        "missing": report.missing,
        "failures": report.failures or {},
        "vote_tokens": report.vote_tokens,
        "arms": {arm.arm: _arm(arm) for arm in report.arms},
        "comparisons": [_comparison(one) | {"main": one is main} for one in report.comparisons],
        "judge": {
            name: {
                "true": _counts(one.true),
                "false": _counts(one.false),
                **{e: {"true": _counts(t), "false": _counts(f)} for e, (t, f) in one.by_evidence.items()},
            }
            for name, one in report.judged.items()
        },
        "notes": notes(report),
    }
    return cast(dict[str, Json], out)


def _counts(one: Kept) -> dict[str, int]:
    return {"kept": one.kept, "of": one.of}


def _arm(arm: ArmScore) -> dict[str, Any]:
    return {
        "pairs": arm.pairs,
        "found": arm.found,
        "found_interval": wilson(arm.found, arm.pairs),
        "chance": arm.chance,
        "p_by_chance": arm.by_chance,
        "better_than_chance": arm.is_better_than_chance,
        "told_apart": arm.told_apart,
        "false_alarms": arm.alarms,
        "false_alarms_interval": wilson(arm.alarms, arm.pairs),
        "p1": arm.p1,
        "p1_right": arm.p1_right,
        "p1_right_interval": wilson(arm.p1_right, arm.p1),
        "citations": arm.citations,
        "citations_absent": arm.absent,
        "lost": arm.lost,
        "findings": arm.findings,
        "findings_without_kind": arm.unnamed,
        "calls": arm.calls,
        "tokens": arm.tokens,
        "usd": arm.usd,
        "seconds": round(arm.seconds, 1),
    }


def _comparison(one: Comparison) -> dict[str, Any]:
    return {
        "arm": one.arm,
        "base": one.base,
        "pairs": one.found.pairs,
        "found": _difference(one.found),
        "false_alarms": _difference(one.alarms),
        "times_tokens": one.tokens,
        "times_usd": one.usd or None,
    }


def _difference(found: Difference) -> dict[str, Any]:
    return {
        "first": found.first,
        "second": found.second,
        "only_first": found.gained,
        "only_second": found.lost,
        "p": found.p,
        "interval": found.interval,
        "interval_by_files": found.by_files,
        "pairs_needed_for_20_points": found.needed,
    }


def pair_rows(report: TrialReport) -> list[dict[str, Json]]:
    """One row per arm and pair, for `pairs.jsonl`."""
    return [_pair(arm.arm, one) for arm in report.arms for one in arm.scores]


def _pair(arm: str, one: PairScore) -> dict[str, Json]:
    defect = one.pair.defect
    made: dict[str, Any] = {
        "pair": one.pair.id,
        "arm": arm,
        "file": one.pair.path,
        "kind": defect.kind,
        "lines": [defect.first, defect.last],
        "was": defect.was,
        "now": defect.now,
        "found": one.found,
        "chance": round(one.chance, 4),
        "false_alarm": one.alarm,
        "told_apart": one.told_apart,
        "lost": one.lost,
        "defect": _review(one.defect, one),
        "clean": _review(one.clean, None),
    }
    return cast(dict[str, Json], made)


def _review(review: TrialReview, of: PairScore | None) -> Mapping[str, Any]:
    return {
        "sessions": list(review.sessions),
        "tokens": review.tokens,
        "usd": review.usd,
        "seconds": round(review.seconds, 3),
        "findings": [_finding(one) | ({"hit": is_hit(one, of.pair)} if of else {}) for one in review.findings],
    }


def _finding(one: TrialFinding) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "places": [f"{path}:{first}-{last}" for path, first, last in one.places],
        "raised": one.raised,
        "severity": one.severity,
        "reported": one.reported,
        "marks": list(one.marks),
        "ruling": one.ruling,
        "text": one.text,
    }


def columns(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table for a terminal. If it is too wide, later columns go below; if it still is, each row becomes a block."""
    parts = [rows]
    if _width(rows) > width:
        parts = [[row[:SPLIT] for row in rows], [[row[0], *row[SPLIT:]] for row in rows]]
    if max(map(_width, parts)) <= width:
        out = list[str]()
        for part in parts:
            widths = _widths(part)
            out += [""] if out else []
            out += ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in part]
        return out
    head, *body = rows
    wide = max(map(len, head))
    out = []
    for row in body:
        out += [row[0], *(f"  {name.ljust(wide)}  {cell}" for name, cell in zip(head[1:], row[1:], strict=True))]
    return out


SPLIT = 5
"""Columns of the first part of a table that is too wide."""


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]


def _width(rows: Sequence[Sequence[str]]) -> int:
    return sum(_widths(rows)) + 2 * (len(rows[0]) - 1)
