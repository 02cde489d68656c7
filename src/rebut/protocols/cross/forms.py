"""The forms that the critic, the judge, the writer of a next version and the decider fill in."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from rebut.domain.forms import (
    AS_WORDS,
    ASKED,
    FOLDED,
    LATER,
    OTHERWISE,
    Checks,
    Cites,
    Form,
    Glance,
    Need,
    SameAs,
    Severity,
    Words,
    cited,
    code_of,
    no_items,
)
from rebut.domain.ledger import MoveKind, Point
from rebut.domain.review_result import MOVES

Category = Annotated[
    Literal["correctness", "security", "reliability", "performance", "maintainability", "tests", "other"], OTHERWISE
]
AsItStands = Annotated[str, StringConstraints(strip_whitespace=False), AS_WORDS]
"""Lines of code: their indentation matters."""
Choice = Annotated[Literal["A", "B", "C", "D", "E"], FOLDED]


class Raised(Form):
    """One finding."""

    checks: ClassVar[Checks] = "may have one"
    glance: ClassVar[Glance] = Glance(stays=False)
    evidence: Cites = Field(
        default_factory=no_items, description="where it is in the new version, with the line quoted"
    )
    text: str = Field(description="what is wrong and what its consequence is, in one or two sentences")
    category: Category
    severity: Severity = Field(description="P1 must not ship, P2 should be fixed before merging, P3 is minor")
    action: Words = Field(default="", description="what to do about it")
    fix: AsItStands = Field(default="", description="the text that should replace the cited lines; empty for none")
    same_as: SameAs

    def point(self, by: str, round: int, about: str = "") -> Point:
        """For the ledger. `about` is the document, if there is more than one."""
        evidence, again = cited(self.evidence), self.same_as
        return Point(
            self.text,
            by,
            round,
            self.severity,
            self.category,
            evidence,
            about=about,
            same_as=again,
            action=self.action,
            fix=self.fix,
            check=code_of(self),
        )


States = Literal["fixed", "still there", "withdrawn", "not checked"]


class Earlier(Form):
    """What the version under review shows about an earlier finding."""

    glance: ClassVar[Glance] = Glance("reason", "state", "id", stays=False)
    id: str = Field(description="the id of the earlier finding, such as F1")
    reason: str = Field(default="", description="what in this version shows it")
    state: Annotated[States, FOLDED]


class CodeCritique(Form):
    """The critique of a change."""

    findings: list[Raised] = Field(
        default_factory=no_items, description="what is wrong, the gravest first", json_schema_extra=ASKED
    )
    earlier: list[Earlier] = Field(
        default_factory=no_items, description="one for every finding of earlier rounds", json_schema_extra=LATER
    )
    agreements: list[str] = Field(default_factory=no_items, description="what is good and should be kept")
    suggestions: list[str] = Field(
        default_factory=no_items, description="what would make it better, beyond the findings"
    )
    agrees: bool = Field(strict=True, description="true only if no P1 or P2 speaks against the artifact as it is")
    need: Need

    def is_agreement(self) -> bool:
        """Also without a P1 or P2: nothing then speaks against the artifact."""
        settles = any(one.state in ("fixed", "withdrawn") for one in self.earlier)
        return self.agrees or settles or all(one.severity == "P3" for one in self.findings)


class ProposalCritique(CodeCritique):
    """The critique of a proposal."""

    alternatives: list[str] = Field(
        default_factory=no_items, description="what was not considered and should have been"
    )
    recommendation: str = Field(default="", description="the decision that you would make")


class Weighed(Form):
    """The judge's ruling on one finding."""

    checks: ClassVar[Checks] = "weighs one"
    glance: ClassVar[Glance] = Glance("reason", "ruling", "id", stays=False)
    id: str = Field(description="the finding's id, such as F1")
    reason: str
    severity: Severity = Field(description="the severity that you consider right, whatever the critic said")
    ruling: Annotated[Literal["valid", "invalid", "missing evidence", "fixed"], FOLDED]
    same_as: SameAs

    @property
    def move(self) -> MoveKind:
        """For the ledger."""
        return MOVES[self.ruling]


class Judgement(Form):
    """The judge's rulings on a round: each finding weighed, and one way to continue."""

    findings: list[Weighed] = Field(default_factory=no_items, description="one for every finding that is still open")
    missed: list[Raised] = Field(default_factory=no_items, description="what the critic should have seen")
    unresolved: list[str] = Field(default_factory=no_items)
    next_actions: list[str] = Field(default_factory=no_items)
    rebuttal: str = Field(default="", description="for D: the answer to the critique")
    reason: str = Field(description="the reason for the choice that follows")
    choice: Choice = Field(
        description="A keep the original; B accept what the critic recommends; C write a compromise and continue; "
        "D rebut the critique and continue; E stop without a decision"
    )


class Additions(Form):
    """The critic's rulings on what the judge added."""

    findings: list[Weighed] = Field(default_factory=no_items, description="one for every finding that was added")


class NextText(Form):
    """The complete next version of a proposal."""

    text: AsItStands = Field(description="the whole document, not a part of it")
    changes: list[str] = Field(default_factory=no_items, description="what changed, and for which finding")

    def is_agreement(self) -> bool:
        return False


class NextPatch(Form):
    """The next version of a change: a patch on top of the version that was discussed."""

    patch: AsItStands = Field(description="a unified diff with a/ and b/ paths that `git apply` accepts")
    changes: list[str] = Field(default_factory=no_items, description="what changed, and for which finding")

    def is_agreement(self) -> bool:
        return False


class Rebuttal(Form):
    """The answer to a critique."""

    text: str = Field(description="the answer, finding by finding, with evidence")


class Chosen(Form):
    """The choice of the seat that decides. Rulings of its own replace those of the judge."""

    findings: list[Weighed] = Field(default_factory=no_items, description="findings that you rule on otherwise")
    choice: Choice
    reason: str = Field(default="", description="why; may be empty")
