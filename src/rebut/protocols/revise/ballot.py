"""The ballots of people who write in a revision: of the first draft, and of the critique of the other document."""

from __future__ import annotations

from rebut.core.ballot import Ballot, KeyChoice, Option, Remark
from rebut.core.text import squeeze

SEVERITY = KeyChoice(
    "severity",
    "How grave is it?",
    (Option("h", "high", "high"), Option("m", "medium", "medium"), Option("l", "low", "low")),
)


def of_draft(topic: str, stage: str) -> Ballot:
    return Ballot(
        case=(
            squeeze(topic),
            "",
            f"Write your {stage}. Another author writes one, too; then each critiques the other's.",
        ),
        picks=(),
        remarks=(Remark("document", f"Your {stage}, as Markdown with headings; :e opens your editor"),),
        remarks_first=True,
        rest={"need": []},
    )


IMPACT = KeyChoice(
    "impact",
    "What does it affect?",
    (
        Option("c", "correctness", "correctness"),
        Option("s", "security", "security"),
        Option("m", "completeness", "what is missing"),
        Option("n", "none", "style only"),
    ),
)


def of_critique(topic: str, document: str) -> Ballot:
    """The other author's document, and what is good, wrong and better in it."""
    return Ballot(
        case=(squeeze(topic), "", "Critique the other author's document."),
        text=document,
        picks=(),
        remarks=(
            Remark("strengths", "What is good in it", many="text", cites="evidence"),
            Remark(
                "weaknesses",
                "What is wrong, missing or risky in it",
                many="text",
                each=(IMPACT, SEVERITY),
                cites="evidence",
            ),
            Remark("concessions", "Where it is better than yours", many="text"),
        ),
        remarks_first=True,
        rest={"disagreements": [], "need": []},
    )
