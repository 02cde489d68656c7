"""The forms that the lead, the challengers and the judge of a panel fill in."""

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
    cited,
    code_of,
    no_items,
)
from rebut.domain.ledger import Point, Severity

Strength = Annotated[Literal["minor", "moderate", "strong"], FOLDED]
SEVERITY: dict[str, Severity] = {"minor": "P3", "moderate": "P2", "strong": "P1"}
Category = Annotated[
    Literal["correctness", "design", "scaling", "operations", "security", "cost", "usability", "other"], OTHERWISE
]


class Persona(Form):
    """One expert."""

    lens: str = Field(description="the lens, by its name as given")
    name: str = Field(description="who this is, in a few words, such as: storage engineer of a large online shop")
    background: str = Field(description="the experience that makes them see what others miss")
    looks_for: list[str] = Field(
        description="three to six things they look for on this topic, and no other expert does"
    )
    questions: list[str] = Field(default_factory=no_items, description="two or three questions they always ask")


class Personas(Form):
    """The experts of a panel."""

    domain: str = Field(description="the field that the topic belongs to, in a few words")
    personas: list[Persona] = Field(description="one for every lens")

    def is_agreement(self) -> bool:
        return False


class Assertion(Form):
    """A claim that the position rests on."""

    checks: ClassVar[Checks] = "may have one"
    glance: ClassVar[Glance] = CLAIM
    text: str
    evidence: Cites = Field(default_factory=no_items)


class Opening(Form):
    """The lead's first position."""

    reasoning: list[Assertion] = Field(description="what it rests on, one claim each")
    assumptions: list[str] = Field(description="what must be true for it to hold")
    weaknesses: list[str] = Field(description="where it is weakest, in your own judgement")
    position: str = Field(description="your position, in a few plain sentences")
    confidence: Level
    need: Need

    def is_agreement(self) -> bool:
        return False


class Objection(Form):
    """A point against the position."""

    checks: ClassVar[Checks] = "may have one"
    glance: ClassVar[Glance] = Glance(tag="grade")
    evidence: Cites = Field(default_factory=no_items)
    text: str
    category: Category
    strength: Strength = Field(description="minor: a remark; moderate: it must be fixed; strong: the position fails")
    about: str = Field(default="", description="the id of the claim it is about, such as C2; empty for none")
    same_as: SameAs

    @property
    def grade(self) -> Severity:
        """Its severity in the ledger."""
        return SEVERITY[self.strength]

    def point(self, by: str, round: int) -> Point:
        """For the ledger."""
        evidence, again = cited(self.evidence), self.same_as
        return Point(self.text, by, round, self.grade, self.category, evidence, self.about, again, check=code_of(self))


class Examined(Form):
    """Something that was examined."""

    angle: str = Field(description="the item of your own list that this belongs to")
    what: str = Field(description="what you examined, precisely")
    found: str = Field(description="what you found")


class Challenge(Form):
    """A challenger's first answer."""

    examined: list[Examined] = Field(description="what you examined from your angle; also needed to agree")
    points: list[Objection] = Field(default_factory=no_items, description="your objections, the gravest first")
    summary: str = Field(description="your view in a sentence or two")
    objection_strength: Strength = Field(description="of your gravest objection; minor if you have none")
    verdict: Annotated[Literal["agree", "partial", "disagree"], FOLDED]
    need: Need

    def is_agreement(self) -> bool:
        minor = all(one == "minor" for one in (self.objection_strength, *(p.strength for p in self.points)))
        return self.verdict == "agree" or (self.verdict == "partial" and minor)


class Response(Form):
    """The lead's answer to one point."""

    checks: ClassVar[Checks] = "weighs one"
    glance: ClassVar[Glance] = Glance("reason", "move", "id")
    id: str = Field(description="the point's id, such as B1")
    reason: str
    evidence: Cites = Field(default_factory=no_items)
    move: Annotated[Literal["accept", "partial", "reject"], FOLDED]
    same_as: SameAs


class Change(Form):
    """One change of the position."""

    what: str
    because: list[str] = Field(description="the ids of the points that caused it")


class Confrontation(Form):
    """The lead's answer to the objections, and its position afterwards."""

    responses: list[Response] = Field(description="one for every point listed")
    position: str = Field(description="your whole current position; word for word as before if no point convinced you")
    changes: list[Change] = Field(default_factory=no_items, description="what changed, and the points that caused it")
    confidence: Level
    need: Need

    def is_agreement(self) -> bool:
        return bool(self.changes) or any(one.move != "reject" for one in self.responses)


class Brief(Form):
    """The lead's short answer to minor remarks."""

    responses: list[Response] = Field(description="one for every point listed")

    def is_agreement(self) -> bool:
        return any(one.move != "reject" for one in self.responses)


class Ruling(Form):
    """A challenger's ruling on the lead's answer to one of its points."""

    checks: ClassVar[Checks] = "may have one"
    glance: ClassVar[Glance] = Glance("reason", "ruling", "id")
    id: str
    reason: str = Field(description="for accept: what convinced you")
    evidence: Cites = Field(default_factory=no_items)
    ruling: Annotated[Literal["accept", "maintain", "escalate"], FOLDED]


class Rebuttal(Form):
    """A dissenter's answer to the lead."""

    examined: list[Examined] = Field(default_factory=no_items)
    rulings: list[Ruling] = Field(default_factory=no_items, description="one for each of your points that is open")
    points: list[Objection] = Field(default_factory=no_items, description="what is newly wrong with the position")
    summary: str = Field(description="your view now, in a sentence or two")
    answer: Annotated[Literal["accept", "maintain", "escalate"], FOLDED]
    need: Need

    def is_agreement(self) -> bool:
        return self.answer == "accept" or any(one.ruling == "accept" for one in self.rulings)


class Crux(Form):
    """Something that would change a party's mind."""

    question: str = Field(description="where possible a question that can be answered by looking or measuring")
    how: str = Field(default="", description="how to find out: a measurement, a file, a person to ask; empty for none")


class Grounds(Form):
    """Why a party disagrees, and what would make the other side right."""

    why: str = Field(description="why you disagree, at the core")
    other_right: str = Field(description="what would have to be true for the other side to be right")
    assumptions: list[str] = Field(description="what you assume and the other side does not")
    cruxes: list[Crux] = Field(description="what would change your mind")

    def is_agreement(self) -> bool:
        return False


class Assumed(Form):
    """A core assumption, and which parties hold or deny it."""

    text: str
    held_by: list[str] = Field(description="parties whose position needs it, by the names given")
    denied_by: list[str] = Field(default_factory=no_items, description="parties whose position needs the opposite")


class Assumptions(Form):
    """The assumptions behind a disagreement that remains."""

    core_disagreement: str = Field(description="what could not be resolved, and between whom, in a sentence or two")
    assumptions: list[Assumed]

    def is_agreement(self) -> bool:
        return False
