"""The findings of a review for other tools: SARIF 2.1.0, and the workflow commands by which GitHub annotates code."""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import quote

from rebut import __version__
from rebut.ci.cited_place import Cited, cited_place
from rebut.ci.gate import GatedReview, stands
from rebut.ci.recorded_reviews import Review
from rebut.core.json_value import Json, as_row
from rebut.core.redaction import PLACEHOLDER
from rebut.core.text import clean, fingerprint, squeeze, valid_unicode
from rebut.domain.review_result import ReviewFinding
from rebut.reports.review import headline
from rebut.workspace.targets.target import Target

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"P1": "error", "P2": "warning", "P3": "note"}
COMMANDS = {"P1": "error", "P2": "warning", "P3": "notice"}
"""GitHub's workflow command for each severity."""
ROOT = "SRCROOT"
AROUND = 2
"""Lines before and after the cited ones that a result shows."""
MOST_LINES = 12
LONGEST_LINE = 300
ABOUT = {
    "correctness": "The change does something other than what it is meant to do.",
    "security": "The change opens a security hole.",
    "reliability": "The change fails, loses or blocks where it should not.",
    "performance": "The change costs more than it needs to.",
    "maintainability": "The change is hard to read, to use or to extend.",
    "tests": "The change is not tested, or its tests prove nothing.",
}


def log(gated: GatedReview) -> dict[str, Json]:
    """The SARIF log: open findings, dismissed ones as suppressed; invalid, struck and withdrawn ones as a count."""
    review = gated.review
    open_findings = [f for f in gated.counted.findings if stands(f)]
    categories = sorted({_category(f) for f in open_findings})
    seen: Counter[str] = Counter()
    results: list[Json] = [
        _result(f, cited_place(f, review.target), review.target, categories, seen) for f in open_findings
    ]
    notes: list[Json] = [{"level": "warning", "message": {"text": _plain(doubt)}} for doubt in gated.ruling.doubts]
    left_out = len(gated.counted.findings) - len(open_findings)
    run: dict[str, Json] = {
        "tool": {"driver": {"name": "rebut", "version": __version__, "rules": [_rule(name) for name in categories]}},
        "automationDetails": {"id": f"rebut/{review.session}"},
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the reviewed workspace."}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {
            "session": review.session,
            "decision": review.contract.decision,
            "base": review.target.base,
            "new": review.target.new,
            "leftOut": left_out,
            "heading": headline(review.outcome, review.target),
            "gate": gated.ruling.to_json(),
            "analysed": review.contract.analysed,
            "reviewers": [clean(f"{seat.spec} ({seat.seat})") for seat in review.outcome.seats if seat.answered],
            "since": review.contract.since,
            "fixed": [_fixed(f, cited_place(f, review.target)) for f in gated.counted.fixed_since],
        },
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _category(finding: ReviewFinding) -> str:
    return squeeze(clean(finding.category)) or "other"


def _rule(category: str) -> dict[str, Json]:
    return {
        "id": f"rebut/{category}",
        "name": category.title(),
        "shortDescription": {"text": ABOUT.get(category, "A finding of a review.")},
    }


def _fixed(finding: ReviewFinding, place: Cited | None) -> dict[str, Json]:
    """A finding of an earlier review that a commit fixed. It is no SARIF result: readers would take it for open."""
    return {
        "id": finding.id,
        "severity": finding.severity,
        "place": finding.place or (place.path if place else ""),
        "text": clean(finding.text),
        "by": clean(finding.fixed_by),
    }


def _result(
    finding: ReviewFinding, place: Cited | None, target: Target, categories: list[str], seen: Counter[str]
) -> dict[str, Json]:
    category = _category(finding)
    action = f"\n\nTo do: {finding.action}" if finding.action else ""
    if finding.check is not None:
        action += f"\n\nCheck ({finding.check.runner}): {finding.check.verdict}."
    action += "\n\nOutside the change that was reviewed." if finding.outside else ""
    bound = [place.path, place.digest] if place and place.lines else [finding.place, finding.text]
    key = fingerprint([category, *bound])
    seen[key] += 1  # two findings about the same lines stay two
    result: dict[str, Json] = {
        "ruleId": f"rebut/{category}",
        "ruleIndex": categories.index(category),
        "level": "note" if finding.outside else LEVELS.get(finding.severity, "note"),
        "message": {"text": _plain(f"{finding.text}{action}") or finding.id},
        "partialFingerprints": {"rebutCitedLines/v1": f"{key}:{seen[key]}"},
        "properties": {
            "id": finding.id,
            "severity": finding.severity,
            "quote": finding.mark or "cites nothing",
            "judge": finding.ruling or "not judged",
            "raisedBy": list(finding.voices),
            "outside": finding.outside,
        },
    }
    if finding.check is not None:
        properties = result["properties"]
        assert isinstance(properties, dict)
        properties["check"] = {**as_row(finding.check), "onFinalVersion": finding.rerun}
    if place is not None:
        result["locations"] = [{"physicalLocation": _location(place, target)}]
        if fixes := _fixes(finding, place):
            result["fixes"] = fixes
    if finding.dismissed:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": clean(finding.dismissed)}]
    return result


def _location(place: Cited, target: Target) -> dict[str, Json]:
    out: dict[str, Json] = {"artifactLocation": _file(place)}
    if place.first:
        out["region"] = _region(place)
        if around := _around(place, target):
            out["contextRegion"] = around
    return out


def _around(place: Cited, target: Target) -> dict[str, Json] | None:
    """The cited lines and some before and after them."""
    change = next((c for c in target.changes if c.path == place.path), None)
    text = (change.after if place.changed else change.before) if change else None
    rows = (text or "").split("\n")
    last = min(max(place.first, place.last), place.first + MOST_LINES - 1)
    if not text or last > len(rows):
        return None
    first, end = max(1, place.first - AROUND), min(len(rows) - (rows[-1] == ""), last + AROUND)
    lines = [valid_unicode(row[:LONGEST_LINE]) for row in rows[first - 1 : end]]
    return {"startLine": first, "endLine": max(first, end), "snippet": {"text": "\n".join(lines)}}


def _file(place: Cited) -> dict[str, Json]:
    # In a URI, spaces, percent signs and non-ASCII characters are percent-encoded.
    return {"uri": quote(place.path.encode("utf-8", "replace"), safe="/"), "uriBaseId": ROOT}


def _region(place: Cited) -> dict[str, Json]:
    return {"startLine": place.first, "endLine": max(place.first, place.last)}


def _fixes(finding: ReviewFinding, place: Cited) -> list[Json]:
    """The proposed text, if the lines that it replaces are certain."""
    sure = place.changed and place.first and finding.mark in ("found", "moved")
    # Where a secret was removed, the real lines are unknown.
    has_secret = any(PLACEHOLDER.search(text) for text in (finding.fix, *place.lines))
    if not finding.fix or not sure or has_secret:
        return []
    # A region without columns ends before its last line end, so the text that replaces it has none either.
    fix = valid_unicode(finding.fix).rstrip("\r\n")
    change: Json = {"deletedRegion": _region(place), "insertedContent": {"text": fix}}
    about = _plain(finding.action) or "The text that the review proposes."
    return [
        {
            "description": {"text": about},
            "artifactChanges": [{"artifactLocation": _file(place), "replacements": [change]}],
        }
    ]


def _plain(text: str) -> str:
    """A model's text as a SARIF message, in which `[text](target)` would be a link."""
    return re.sub(r"\[([^\[\]]*)\]\(", r"\\[\1\\](", clean(text)).strip()


def commands(gated: GatedReview) -> str:
    """A workflow command for each open finding that is not dismissed, then one for each doubt."""
    review = gated.review
    open_findings = [f for f in gated.counted.findings if stands(f) and not f.dismissed]
    lines = [_annotation(f, review) for f in sorted(open_findings, key=lambda f: f.severity)]
    lines += [f"::warning title={_property('rebut: inconclusive')}::{_data(doubt)}" for doubt in gated.ruling.doubts]
    return "\n".join(lines)


def _annotation(finding: ReviewFinding, review: Review) -> str:
    place = cited_place(finding, review.target)
    named = {"title": f"{finding.id} {finding.severity} {finding.category}".rstrip()}
    if place is not None:
        lines = {"line": str(place.first), "endLine": str(max(place.first, place.last))} if place.first else {}
        named = {"file": place.path, **lines, **named}
    action = f"\nTo do: {finding.action}" if finding.action else ""
    rest = ",".join(f"{name}={_property(value)}" for name, value in named.items())
    return f"::{COMMANDS.get(finding.severity, 'notice')} {rest}::{_data(f'{finding.text}{action}')}"


def _data(text: str) -> str:
    """The text of a command, escaped so that it cannot end the line or the command."""
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
