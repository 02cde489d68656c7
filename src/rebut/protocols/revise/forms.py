"""The forms that the authors and the synthesizer fill in."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rebut.domain.forms import FOLDED, Checks, Cites, Form, Glance, Level, Need, SameAs, cited, code_of, no_items
from rebut.domain.ledger import Point, Severity as Grade

Impact = Annotated[Literal["correctness", "security", "completeness", "none"], FOLDED]


class Draft(Form):
    """A first document, written without seeing the other author's."""

    checks: ClassVar[Checks] = "states some"
    document: str = Field(description="the whole document in Markdown, with a heading for each section")
    need: Need

    def is_agreement(self) -> bool:
        return False


class Strength(Form):
    """A strength of the other document."""

    text: str
    evidence: Cites = Field(default_factory=no_items, description="a section of the document, or a place in a file")


class Objection(Form):
    """An objection to the other document. Its severity comes after its reasons and evidence, which decide it."""

    checks: ClassVar[Checks] = "may have one"
    glance: ClassVar[Glance] = Glance(tag="grade")
    text: str = Field(description="what is wrong, missing or risky, and what its consequence is")
    evidence: Cites = Field(default_factory=no_items, description="a section of the document, or a place in a file")
    impact: Impact = Field(description="none is for style, naming and order")
    severity: Level
    same_as: SameAs

    @property
    def grade(self) -> Grade:
        """Its severity in the ledger. A low one that has an impact is more than cosmetic: it counts as medium."""
        if self.severity == "high":
            return "P1"
        return "P3" if self.severity == "low" and self.impact == "none" else "P2"

    @property
    def whole(self) -> str:
        """The text with all that belongs to it."""
        return self.text

    def point(self, kind: str, by: str, about: str, round: int) -> Point:
        """For the ledger."""
        evidence, category = cited(self.evidence), f"{kind}: {self.impact}"
        return Point(self.whole, by, round, self.grade, category, evidence, about, self.same_as, check=code_of(self))


class Reasoned(Form):
    """The fields of a dispute that come first."""

    text: str
    why: str = Field(description="why your own choice is better, with evidence")


class Dispute(Objection, Reasoned):
    """A choice on which the two documents differ."""

    text: str = Field(description="what they differ on, in a few words")

    @property
    def whole(self) -> str:
        return f"{self.text}: {self.why}" if self.why else self.text


class Concession(Form):
    """A point on which the other document is better."""

    text: str
    id: str = Field(default="", description="the id of the earlier point that this settles, such as W2; empty for none")


class Critique(Form):
    """One author's critique of the other's document."""

    strengths: list[Strength] = Field(default_factory=no_items)
    weaknesses: list[Objection] = Field(
        default_factory=no_items, description="the gravest first; empty if there is none"
    )
    disagreements: list[Dispute] = Field(default_factory=no_items)
    concessions: list[Concession] = Field(default_factory=no_items)
    need: Need

    def is_agreement(self) -> bool:
        """Also if all objections are cosmetic: the revision converges then."""
        return bool(self.concessions) or all(one.grade == "P3" for one in (*self.weaknesses, *self.disagreements))


class Addressed(Form):
    """A point that holds, and the change that it caused."""

    id: str = Field(description="the point's id, such as W1")
    change: str = Field(description="what changed in the document because of it")


class Defended(Form):
    """A point that does not hold, and why."""

    checks: ClassVar[Checks] = "may have one"
    id: str = Field(description="the point's id, such as W1")
    reason: str
    evidence: Cites = Field(default_factory=no_items)


class Revision(Form):
    """The next version of an author's document."""

    checks: ClassVar[Checks] = "states some"
    document: str = Field(
        description="the whole document with the same headings in the same order, no comment, no Defense"
    )
    addressed: list[Addressed] = Field(default_factory=no_items)
    defended: list[Defended] = Field(default_factory=no_items)
    summary: str = Field(description="what changed and why, in one sentence")
    need: Need

    def is_agreement(self) -> bool:
        return bool(self.addressed)


class Adopted(Form):
    """A point that the final document follows."""

    id: str
    how: str = Field(description="where and how the document follows it")


class Overruled(Form):
    """A point that the final document does not follow."""

    id: str
    why: str


class Unresolved(Form):
    """A point on which the two still differ, and the tie-break."""

    id: str
    tie_break: str = Field(description="what the document does, and why")


class Plan(Form):
    """One plan made of two, with what was decided on each point."""

    checks: ClassVar[Checks] = "weighs all"
    document: str = Field(description="the whole plan in Markdown, without notes on how it was made")
    summary: str = Field(description="what the plan does, in one or two sentences")
    adopted: list[Adopted] = Field(default_factory=no_items)
    overruled: list[Overruled] = Field(default_factory=no_items)
    unresolved: list[Unresolved] = Field(default_factory=no_items)

    def ruled(self) -> list[str]:
        """The ids of all points that were accounted for."""
        return [*(a.id for a in self.adopted), *(o.id for o in self.overruled), *(u.id for u in self.unresolved)]


class Finding(Form):
    """One finding of the two reviews together."""

    text: str
    evidence: Cites = Field(default_factory=no_items)
    held_by: Annotated[Literal["both", "first", "second"], FOLDED]
    why: str = Field(default="", description="why this severity, if the reviews differ on it")
    severity: Level = Field(description="one severity, even where the reviews differ")


class Split(Form):
    """A point on which the two reviews differ, and the tie-break."""

    point: str = Field(description="begins with the point's id, if it has one")
    tie_break: str


class Verdict(Form):
    """One verdict made of two reviews."""

    checks: ClassVar[Checks] = "weighs all"
    first: str = Field(description="the final assessment of the first review")
    second: str = Field(description="the final assessment of the second review")
    findings: list[Finding] = Field(default_factory=no_items, description="the gravest first; each once")
    agreement: list[str] = Field(default_factory=no_items, description="what both reviews agree on")
    disagreement: list[Split] = Field(default_factory=no_items)
    summary: str = Field(description="why the decision that follows, in one or two sentences")
    decision: Annotated[Literal["approve", "approve with changes", "reject"], FOLDED]

    def is_agreement(self) -> bool:
        return self.decision != "reject"
