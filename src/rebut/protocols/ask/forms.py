"""What the judge of two blind answers fills in."""

from __future__ import annotations

from pydantic import Field

from rebut.domain.forms import Form


class Comparison(Form):
    """Whether two answers choose the same. Reasons may differ; what would be done decides."""

    first: str = Field(description="what the first answer would have the reader do, in one sentence")
    second: str = Field(description="what the second answer would have the reader do, in one sentence")
    same: bool = Field(description="true only if somebody who follows either would do the same")
    reason: str = Field(description="what makes them the same, or where they part")
    recommendation: str = Field(default="", description="for the same choice: that choice, as one thing to do now")
