"""The forms that the debaters and the judge of a duel fill in."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rebut.domain.forms import (
    CLAIM,
    FOLDED,
    OTHERWISE,
    Checks,
    Cites,
    Form,
    Glance,
    Level,
    Need,
    SameAs,
    Severity,
    cited,
    code_of,
    no_items,
)
from rebut.domain.ledger import Point

Category = Annotated[Literal["correctness", "security", "developer experience", "other"], OTHERWISE]


class Assertion(Form):
    """A claim of the proposer's own case."""

    checks: ClassVar[Checks] = "may have one"
    glance: ClassVar[Glance] = CLAIM
    text: str
    evidence: Cites = Field(default_factory=no_items)


class Opening(Form):
    """The proposer's case."""

    claims: list[Assertion] = Field(description="what the position rests on, one claim each")
    position: str = Field(description="your position, in a few plain sentences")
    need: Need

    def is_agreement(self) -> bool:
        return False


class Flaw(Form):
    """Something wrong or missing in the other side's case."""

    checks: ClassVar[Checks] = "may have one"
    evidence: Cites = Field(default_factory=no_items)
    text: str
    category: Category
    severity: Severity = Field(description="P1 decides the matter, P2 weakens the case, P3 is minor")
    about: str = Field(default="", description="the id of the claim it is about; empty for none")
    same_as: SameAs

    def point(self, by: str, round: int) -> Point:
        """For the ledger."""
        return Point(
            self.text,
            by,
            round,
            self.severity,
            self.category,
            cited(self.evidence),
            self.about,
            self.same_as,
            check=code_of(self),
        )


class Agreement(Form):
    """Something that both sides agree on, and the risk that remains."""

    text: str
    evidence: Cites = Field(default_factory=no_items)
    risk: str = Field(default="", description="the risk that remains")


class Coverage(Form):
    """What was found in each field that must be examined; say so if nothing was found."""

    correctness: str
    security: str
    developer_experience: str


class Challenge(Form):
    """The challenger's first answer. What is wrong comes first."""

    flaws: list[Flaw] = Field(description="what is wrong or missing, the gravest first")
    unsupported: list[str] = Field(default_factory=no_items, description="ids of claims that cite nothing")
    alternatives: list[str] = Field(description="what to do instead")
    coverage: Coverage
    agreements: list[Agreement] = Field(default_factory=no_items)
    need: Need

    def is_agreement(self) -> bool:
        return bool(self.agreements) or not self.flaws


class Response(Form):
    """The proposer's answer to one point."""

    checks: ClassVar[Checks] = "may have one"
    glance: ClassVar[Glance] = Glance("argument", "move", "id")
    id: str = Field(description="the point's id, such as D1")
    argument: str
    evidence: Cites = Field(default_factory=no_items)
    move: Annotated[Literal["concede", "rebut", "trade-off"], FOLDED]
    same_as: SameAs


class Defense(Form):
    """The proposer's answer to the challenge."""

    responses: list[Response] = Field(description="one for every open point")
    position: str = Field(description="your current position, with what changed")
    claims: list[Assertion] = Field(default_factory=no_items, description="new claims, if any")
    need: Need

    def is_agreement(self) -> bool:
        return any(one.move != "rebut" for one in self.responses)


class Ruling(Form):
    """The challenger's ruling on one answer."""

    checks: ClassVar[Checks] = "may have one"
    glance: ClassVar[Glance] = Glance("reason", "ruling", "id")
    id: str
    reason: str = Field(description="for resolved: what convinced you")
    evidence: Cites = Field(default_factory=no_items)
    ruling: Annotated[Literal["resolved", "unresolved", "dodged", "withdrawn"], FOLDED]
    same_as: SameAs


class FollowUp(Form):
    """The challenger's answer to the defense."""

    rulings: list[Ruling] = Field(description="one for every point that was answered")
    flaws: list[Flaw] = Field(default_factory=no_items, description="new weaknesses of the current position")
    need: Need

    def is_agreement(self) -> bool:
        settled = any(one.ruling in ("resolved", "withdrawn") for one in self.rulings)
        return settled or not (self.rulings or self.flaws)


class Summary(Form):
    """A summary of earlier rounds."""

    proposer: str = Field(description="the proposer's core position")
    challenger: str = Field(description="the challenger's core position")
    concessions: list[str] = Field(description="each concession, copied word for word")
    agreements: list[Agreement] = Field(default_factory=no_items, description="with the evidence behind each")
    disagreements: list[str] = Field(default_factory=no_items, description="what is still open")
    contradictions: list[str] = Field(default_factory=no_items, description="contradicting statements, both quoted")

    def is_agreement(self) -> bool:
        return bool(self.concessions or self.agreements)


class Dispute(Form):
    """A point on which the two still differ."""

    point: str
    proposer: str
    challenger: str


class Decision(Form):
    """The judge's verdict. There is no field for a draw."""

    checks: ClassVar[Checks] = "weighs all"
    reasoning: str = Field(description="why one side wins, by the ids that decided it")
    genuine_disagreement: Level = Field(description="did the challenger hold a position of its own?")
    evidence_quality: Level = Field(description="did both sides cite specifics?")
    challenge_depth: Level = Field(description="were the challenges substantial?")
    agreements: list[Agreement] = Field(default_factory=no_items)
    disagreements: list[Dispute] = Field(default_factory=no_items)
    unresolved: list[str] = Field(
        default_factory=no_items, description="questions that neither side answered well enough"
    )
    winner: Annotated[Literal["proposer", "challenger"], FOLDED]
    recommendation: str = Field(description="one thing to do now")
