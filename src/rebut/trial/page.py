"""The page of a trial."""

from __future__ import annotations

from rebut.trial.trial import TrialReport


def page(report: TrialReport) -> str:
    return ""
