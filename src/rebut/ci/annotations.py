"""Findings as annotations of a GitHub workflow: one command a line, out of which no text can break."""

from __future__ import annotations

from rebut.ci.cited import cited
from rebut.ci.gate import stands
from rebut.ci.recorded_reviews import Review
from rebut.ci.standing import Standing
from rebut.core.text import clean
from rebut.domain.review_result import Held

COMMANDS = {"P1": "error", "P2": "warning", "P3": "notice"}


def commands(standing: Standing) -> str:
    """One workflow command a line for each finding that stands and is not dismissed, then one for each doubt."""
    review = standing.review
    held = [f for f in standing.counted.findings if stands(f) and not f.dismissed]
    lines = [_annotation(f, review) for f in sorted(held, key=lambda f: f.severity)]
    lines += [f"::warning title={_property('rebut: inconclusive')}::{_data(doubt)}" for doubt in standing.ruling.doubts]
    return "\n".join(lines)


def _annotation(finding: Held, review: Review) -> str:
    place = cited(finding, review.target)
    named = {"title": f"{finding.id} {finding.severity} {finding.category}".rstrip()}
    if place is not None:
        lines = {"line": str(place.first), "endLine": str(max(place.first, place.last))} if place.first else {}
        named = {"file": place.path, **lines, **named}
    action = f"\nTo do: {finding.action}" if finding.action else ""
    rest = ",".join(f"{name}={_property(value)}" for name, value in named.items())
    return f"::{COMMANDS.get(finding.severity, 'notice')} {rest}::{_data(f'{finding.text}{action}')}"


def _data(text: str) -> str:
    """As the body of a command: what would end the line, or be read as an escape, is escaped."""
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
