"""The forms of the judge of a question. The answers, challenges and defenses are those of a duel."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rebut.domain.forms import FOLDED, Checks, Form, no_items


class Comparison(Form):
    """Whether two answers make the same choice. Reasons may differ; what the reader would do decides."""

    first: str = Field(description="what the first answer would have the reader do, in one sentence")
    second: str = Field(description="what the second answer would have the reader do, in one sentence")
    reason: str = Field(description="what makes them the same, or where they differ")
    same: bool = Field(description="true only if a reader would do the same thing by following either answer")
    recommendation: str = Field(default="", description="for the same choice: that choice, as one thing to do now")

    def is_agreement(self) -> bool:
        return self.same


class Choice(Form):
    """The better of two answers. There is no field for a draw."""

    checks: ClassVar[Checks] = "weighs all"
    reasoning: str = Field(description="why, naming the ids of the claims and points that decided it")
    unresolved: list[str] = Field(
        default_factory=no_items, description="questions that neither answer settles well enough"
    )
    better: Annotated[Literal["answer 1", "answer 2"], FOLDED]
    answer: str = Field(description="the answer for the reader: one thing to do now, in one or two sentences")
