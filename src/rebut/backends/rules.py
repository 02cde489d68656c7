"""A judge by fixed rules, for code: weighs each finding by the result of checking its citations.

The rubric is in docs/analysers.md; this module has its two tables, and the reasons for each result.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rebut.core.errors import ParticipantFailed
from rebut.core.json_value import Json
from rebut.core.types import Finding, Reply, Request, Usage

NAME, FAMILY, FORM = "rules 1", "rules", "Judgement"
MOST_NAMED = 8
_PRESENT = ("found", "moved")
_CLOSED = ("resolved", "withdrawn")


class Rules:
    """Weighs findings and makes a choice, without a model and without cost."""

    async def complete(self, request: Request) -> Reply:
        if request.schema_name != FORM:
            raise ParticipantFailed(
                "bad reply",
                "rules can only weigh the findings of a review",
                "Use it as the judge of a code target: `rebut cross --judge rules`; here, choose a model.",
            )
        text = json.dumps(judged(request.material.findings), ensure_ascii=False)
        return Reply(text, NAME, FAMILY, Usage(0, 0), 0.0, notes=("the judge is a set of rules, not a model",))


def judged(findings: Sequence[Finding]) -> dict[str, Json]:
    # A ruling on a finding that is fixed or withdrawn would open it again.
    findings = [one for one in findings if one.status not in _CLOSED]
    weighed = [(one, *weigh(one)) for one in findings]
    serious = [one for one, ruling, severity, _ in weighed if ruling == "valid" and severity != "P3"]
    bare = [one for one, ruling, _, _ in weighed if ruling == "missing evidence" and one.severity != "P3"]
    stuck = [one for one in serious if one.rule_based and not one.has_fix]
    choice, reason = _choose(serious, bare, stuck, len(findings))
    rows: list[Json] = [
        {"id": one.id, "ruling": ruling, "severity": severity, "reason": why} for one, ruling, severity, why in weighed
    ]
    rebuttal = f"{_ids(bare)}: name the place as path:line and quote what is there, or withdraw it."
    return {
        "findings": rows,
        "missed": [],
        "choice": choice,
        "reason": reason,
        "rebuttal": rebuttal if choice == "D" else "",
        "unresolved": [f"{one.id}: {one.text}" for one in (serious if choice == "E" else bare)],
        "next_actions": [],  # each finding has its own action
    }


def weigh(one: Finding) -> tuple[str, str, str]:
    """Ruling, severity and reason for one finding."""
    present = [mark for mark in one.marks if mark in _PRESENT]
    absent = one.marks.count("absent")
    at_most = "P2" if one.severity == "P1" else one.severity
    if absent and absent == len(one.marks):
        return "invalid", at_most, "what it cites is not there"
    if present and absent:
        return "valid", at_most, f"{len(present)} of its quotes were found, {absent} of its citations are absent"
    if present:
        rule = " (an analyser's rule)" if one.rule_based else ""
        return "valid", one.severity, f"what it quotes is there{rule}"
    if "located" in one.marks and not absent:
        return "valid", at_most, "the place exists, but nothing was quoted from it"
    if absent:
        return "missing evidence", at_most, f"none of its quotes was found, and {absent} of its citations are absent"
    if one.marks:
        return "missing evidence", at_most, "none of its citations can be checked here"
    return "missing evidence", at_most, "it cites nothing"


def _choose(
    serious: Sequence[Finding], bare: Sequence[Finding], stuck: Sequence[Finding], count: int
) -> tuple[str, str]:
    if stuck:
        why = "and no analyser has a fix for" if len(stuck) == len(serious) else "and there is no fix for"
        return "E", f"{_ids(serious)} valid at P1 or P2, {why} {_ids(stuck)}: the author of the change must fix it"
    if serious:
        return "B", f"{_ids(serious)} valid at P1 or P2, and the critic can fix them"
    if bare:
        return "D", f"nothing is valid at P1 or P2, but {_ids(bare)} may be: evidence is missing"
    return "A", "nothing is valid at P1 or P2" if count else "nothing is at issue"


def _ids(findings: Sequence[Finding]) -> str:
    more = f" and {len(findings) - MOST_NAMED} more" if len(findings) > MOST_NAMED else ""
    return ", ".join(one.id for one in findings[:MOST_NAMED]) + more
