"""A judge made of rules, for code: weighs each finding by what checking its citations showed, the same way every time.

The rubric is in docs/analysers.md; these are its two tables, and the words that say what decided.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rebut.core.errors import ParticipantFailed
from rebut.core.types import Finding, Json, Reply, Request, Usage

NAME, FAMILY, FORM = "rules 1", "rules", "Judgement"
MOST_NAMED = 8
_STANDS = ("found", "moved")
_OVER = ("resolved", "withdrawn")


class Rules:
    """Weighs and chooses. Costs nothing, asks nobody."""

    async def complete(self, request: Request) -> Reply:
        if request.schema_name != FORM:
            raise ParticipantFailed(
                "bad reply",
                "rules weighs the findings of a review and can do nothing else",
                "Seat it as the judge of a code target: `rebut cross --judge rules`; here, seat a model.",
            )
        text = json.dumps(judged(request.material.findings), ensure_ascii=False)
        return Reply(text, NAME, FAMILY, Usage(0, 0), 0.0, notes=("the judge is a set of rules, not a model",))


def judged(findings: Sequence[Finding]) -> dict[str, Json]:
    # A word on what is mended or withdrawn would open it again.
    findings = [one for one in findings if one.status not in _OVER]
    weighed = [(one, *weigh(one)) for one in findings]
    serious = [one for one, ruling, severity, _ in weighed if ruling == "valid" and severity != "P3"]
    bare = [one for one, ruling, _, _ in weighed if ruling == "missing evidence" and one.severity != "P3"]
    stuck = [one for one in serious if one.rule_based and not one.has_fix]
    choice, reason = _choose(serious, bare, stuck, len(findings))
    rows: list[Json] = [
        {"id": one.id, "ruling": ruling, "severity": severity, "reason": why} for one, ruling, severity, why in weighed
    ]
    rebuttal = f"{_ids(bare)}: name the place as path:line and quote what stands there, or withdraw it."
    return {
        "findings": rows,
        "missed": [],
        "choice": choice,
        "reason": reason,
        "rebuttal": rebuttal if choice == "D" else "",
        "unresolved": [f"{one.id}: {one.text}" for one in (serious if choice == "E" else bare)],
        "next_actions": [],  # what to do about each finding is told with it
    }


def weigh(one: Finding) -> tuple[str, str, str]:
    """Ruling, severity and reason for one finding."""
    standing = [mark for mark in one.marks if mark in _STANDS]
    absent = one.marks.count("absent")
    at_most = "P2" if one.severity == "P1" else one.severity
    if absent and absent == len(one.marks):
        return "invalid", at_most, "what it cites does not stand there"
    if standing and absent:
        return "valid", at_most, f"{len(standing)} of its quotes stand, {absent} of its citations are absent"
    if standing:
        said = " (an analyser's rule)" if one.rule_based else ""
        return "valid", one.severity, f"what it quotes stands there{said}"
    if "located" in one.marks and not absent:
        return "valid", at_most, "the place is there, but nothing was quoted from it"
    if absent:
        return "missing evidence", at_most, f"no quote of it stands, and {absent} of its citations are absent"
    if one.marks:
        return "missing evidence", at_most, "nothing that it cites can be checked here"
    return "missing evidence", at_most, "it cites nothing"


def _choose(
    serious: Sequence[Finding], bare: Sequence[Finding], stuck: Sequence[Finding], count: int
) -> tuple[str, str]:
    if stuck:
        why = "and no analyser has a fix for" if len(stuck) == len(serious) else "and there is no fix for"
        return "E", f"{_ids(serious)} valid at P1 or P2, {why} {_ids(stuck)}: whoever wrote the change must mend it"
    if serious:
        return "B", f"{_ids(serious)} valid at P1 or P2, and whoever raised them can mend them"
    if bare:
        return "D", f"nothing is valid at P1 or P2, but {_ids(bare)} may be: the evidence is missing"
    return "A", "nothing is valid at P1 or P2" if count else "nothing is at issue"


def _ids(findings: Sequence[Finding]) -> str:
    more = f" and {len(findings) - MOST_NAMED} more" if len(findings) > MOST_NAMED else ""
    return ", ".join(one.id for one in findings[:MOST_NAMED]) + more
