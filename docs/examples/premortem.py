"""Premortem: the plan has failed; a critic lists the causes, the owner rules on each, and a gate can judge the rest."""

from typing import Literal

from pydantic import Field

from rebut import Artifact, Cite, Debate, Form, Move, Outcome, Point, ReviewResult, Worth, fates, fill

name = "premortem"
version = "1"
seats = {"critic": 1, "owner": 1}
letter = "F"
noun = "finding"
reviews = True  # the outcome has findings, so --fail-on works


class Cause(Form):
    text: str = Field(description="what went wrong, in one sentence")
    severity: Literal["P1", "P2", "P3"]
    evidence: list[Cite] = Field(default_factory=list, description="the lines that show it")


class Causes(Form):
    causes: list[Cause]


class Ruling(Form):
    id: str = Field(description="the finding, such as F1")
    valid: bool
    reason: str


class Rulings(Form):
    rulings: list[Ruling]


async def run(debate: Debate) -> Outcome:
    critic, owner = debate.seat("critic"), debate.seat("owner")
    topic = debate.quote("plan", debate.topic)
    said = await debate.ask(critic, "causes", fill(CAUSES, topic=topic, files=debate.context), schema=Causes)
    points = [Point(c.text, "critic", 1, c.severity, evidence=c.evidence) for c in said.value.causes]
    await debate.note("causes", points)
    listed = "\n".join(f"{p.id} ({p.severity}) {p.words()}" for p in debate.ledger.points)
    asked = fill(RULINGS, topic=topic, findings=debate.quote("findings", listed))
    ruled = await debate.ask(owner, "rulings", asked, schema=Rulings)
    moves = [Move(r.id, "concede" if r.valid else "defend", "owner", 1, r.reason) for r in ruled.value.rulings]
    await debate.note("rulings", moves)
    review = ReviewResult.of(debate.ledger, "Keep Original", judge="owner", target="plan")
    worth = Worth(first="the plan as it was", points=fates(debate.ledger), noun=noun, keys=("causes@critic",))
    return Outcome("premortem", "PREMORTEM", review.headline, worth=worth).with_review(review)


def artifacts(ended):
    """One file in the session's folder: the findings as a list."""
    rows = [f"- {p.id} {p.severity} {ended.ledger.final_status(p.id)}: {p.words()}" for p in ended.ledger.points]
    return [Artifact("premortem.md", "\n".join(["# Premortem", "", *rows, ""]))]


CAUSES = """A year from now this plan has failed. List the causes, worst first. Cite the lines that show each.

$topic

$files"""

RULINGS = """You own this plan. Someone says why it failed:

$topic

$findings

Rule on every finding: is it valid?"""
