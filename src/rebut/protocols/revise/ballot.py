"""The ballots for people in a revision, who draft, critique, revise, or merge both documents."""

from __future__ import annotations

from collections.abc import Iterable

from rebut.core.ballot import Ballot, KeyChoice, Listed, Option, Remark, RulingList, Rulings
from rebut.core.text import squeeze
from rebut.domain.ledger import Point
from rebut.protocols.revise.sections import parts
from rebut.protocols.shared import LEVELS

SEVERITY = KeyChoice("severity", "How grave is it?", LEVELS)


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
    """The ballot of a critique: the other author's document, and what is good, wrong and better in it."""
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


def of_revision(topic: str, stage: str, document: str, critique: str, points: Iterable[Point]) -> Ballot:
    """The ballot of a revision: the critique, an answer to each of its points, and the own document to be edited."""
    return Ballot(
        case=(squeeze(topic), "", f"Answer the critique of your {stage}, point by point; then edit the {stage}."),
        text=critique,
        picks=(),
        rulings=Rulings(
            "",
            tuple(_listed(points)),
            (Option("c", "addressed", "change it"), Option("d", "defended", "defend it")),
            noun="point",
            argued=True,
            lists={
                "addressed": RulingList("addressed", "change"),
                "defended": RulingList("defended", "reason", "evidence"),
            },
        ),
        remarks=(
            Remark("document", f"Your {stage}, with the same headings", draft=parts(document).document),
            Remark("summary", "What changed and why, in one sentence", usual={"": "nothing changed"}),
        ),
        rest={"need": []},
    )


def of_plan(topic: str, documents: tuple[str, str], points: Iterable[Point]) -> Ballot:
    """The ballot of a merged plan: both plans, what becomes of each point, and the first plan to be edited."""
    return Ballot(
        case=(
            squeeze(topic),
            "",
            "Merge both plans: say what becomes of each point, then edit the first plan.",
        ),
        text="\n\n".join(f"PLAN {n}\n\n{text}" for n, text in enumerate(documents, 1)),
        picks=(),
        rulings=Rulings(
            "",
            tuple(_listed(points)),
            (
                Option("a", "adopted", "adopt it"),
                Option("o", "overruled", "overrule it"),
                Option("u", "unresolved", "leave it open"),
            ),
            noun="point",
            argued=True,
            lists={
                "adopted": RulingList("adopted", "how"),
                "overruled": RulingList("overruled", "why"),
                "unresolved": RulingList("unresolved", "tie_break"),
            },
        ),
        remarks=(
            Remark("document", "The final plan", draft=parts(documents[0]).document),
            Remark("summary", "What the plan does, in a sentence"),
        ),
    )


def of_verdict(topic: str, documents: tuple[str, str], points: Iterable[Point]) -> Ballot:
    """The ballot of a merged review: both reviews, what decides each open point, and one decision."""
    return Ballot(
        case=(squeeze(topic), "", "Make one verdict of both reviews."),
        text="\n\n".join(f"REVIEW {n}\n\n{text}" for n, text in enumerate(documents, 1)),
        picks=(
            KeyChoice(
                "decision",
                "",
                (
                    Option("a", "approve", "approve"),
                    Option("c", "approve with changes", "approve with changes"),
                    Option("r", "reject", "reject"),
                ),
            ),
        ),
        rulings=Rulings(
            "",
            tuple(_listed(points)),
            (Option("1", "first", "the first is right"), Option("2", "second", "the second is right")),
            noun="point",
            argued=True,
            lists=dict.fromkeys(("first", "second"), RulingList("disagreement", "tie_break", id="point")),
        ),
        remarks=(
            Remark("findings", "The findings that count", many="text", each=(HELD_BY, SEVERITY), cites="evidence"),
            Remark("agreement", "What both agree on", many=""),
            Remark("first", "The first review in a sentence"),
            Remark("second", "The second review in a sentence"),
            Remark("summary", "Why the decision that follows"),
        ),
        remarks_first=True,
    )


HELD_BY = KeyChoice(
    "held_by",
    "Who has it?",
    (Option("b", "both", "both"), Option("1", "first", "the first"), Option("2", "second", "the second")),
)


def _listed(points: Iterable[Point]) -> Iterable[Listed]:
    return (Listed(p.id, f"{p.id}  {p.severity}", p.words()) for p in points)
