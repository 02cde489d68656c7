"""The two stages that this protocol serves, a plan and a review: what differs between them, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage is called, and what it leaves."""

    name: str
    without: str
    """The strategy that does not debate, and the default where a workspace has settings of its own."""
    preference: str
    """Its key in the workspace's settings."""
    result: str
    title: str

    @property
    def strategies(self) -> tuple[str, str]:
        return (self.without, "debate")


PLAN = Stage("plan", "synthesize", "planStrategy", "PLAN.md", "Plan Debate")
REVIEW = Stage("review", "single", "reviewStrategy", "review_verdict.md", "Review Debate")
STAGES = {stage.name: stage for stage in (PLAN, REVIEW)}
