"""The comment on a pull request: the findings of a review with their code, what was fixed since, and the gate.

It is made from a SARIF file. In CI that file comes from a job that the change under review controls, so every value is
checked, cut and escaped, so that it cannot affect anything else in the comment.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from rebut.core.errors import UsageError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.markdown import backticks, unlinked
from rebut.core.text import clean, counted, cut, squeeze

MARKER = "<!-- rebut -->"
"""The first line of a comment, by which it is found again."""
DATA = re.compile(r"(?m)^<!-- rebut-data ([A-Za-z0-9+/=]{1,40000}) -->$")
"""A line of its own, which no finding can imitate: its text never begins a line without an escape."""
LARGEST_REPORT = 10_000_000
LONGEST = 60_000
"""Characters of a comment; GitHub takes 65,536."""
LONGEST_DATA = 20_000
LEFT_OUT = "Not everything has space here; the SARIF file of the workflow has all of it.\n"
MOST_FINDINGS, MOST_LISTED, MOST_REMEMBERED = 20, 30, 100
LONGEST_TEXT = 600
SEVERITIES = ("P1", "P2", "P3")
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")


@frozen
class ReportedFinding:
    """A finding as it is in a report."""

    key: str
    """Equal in two reports for the same finding about the same lines."""
    severity: str
    category: str
    text: str
    path: str = ""
    first: int = 0
    last: int = 0
    code: tuple[tuple[int, str], ...] = ()
    """Lines with their numbers."""
    about: str = ""
    outside: bool = False

    @property
    def place(self) -> str:
        lines = f":{self.first}" + (f"-{self.last}" if self.last > self.first else "") if self.first else ""
        return f"{self.path}{lines}" or "no place"


@frozen
class ReviewReport:
    """What a comment says about one review."""

    findings: tuple[ReportedFinding, ...]
    heading: str
    passed: bool
    fail_on: str
    failing: tuple[str, ...]
    doubts: tuple[str, ...]
    analysed: bool
    """Whether analysers made the review: their reports are complete, so a finding they no longer report is fixed."""
    fixed: tuple[str, ...] = ()
    """Lines about what was fixed since an earlier review on record."""
    reviewers: tuple[str, ...] = ()
    commit: str = ""
    session: str = ""


@frozen
class EarlierComment:
    """What an earlier comment remembers: its commit, and a key, severity, place and text for each finding."""

    commit: str = ""
    analysed: bool = False
    findings: tuple[tuple[str, str, str, str], ...] = ()


def body(report: ReviewReport, *, site: str = "", repository: str = "", commit: str = "", previous: str = "") -> str:
    """The comment in Markdown; empty if there is nothing to say and no earlier comment to replace.

    `site` and `repository` give the links to the lines of `commit`. `previous` is the text of the earlier comment.
    """
    if repository and not REPOSITORY.fullmatch(repository):
        raise UsageError(f"{repository!r} is not a repository", "Give --repository OWNER/NAME.")
    if commit and not COMMIT.fullmatch(commit):
        raise UsageError(f"{commit!r} is not a commit", "Give --commit with all digits of its id.")
    earlier = remembered(previous)
    commit = commit or report.commit
    base = f"{site.rstrip('/')}/{repository}" if site and repository and commit else ""
    gone = since(report, earlier)
    shown = [f for f in report.findings if f.severity != "P3" and not f.outside]
    minor = [f for f in report.findings if f not in shown]
    quiet = not (shown or gone or report.fixed or report.doubts) and report.passed
    if quiet and not previous:
        return ""
    head = "\n".join([MARKER, f"### rebut: {unlinked(report.heading)}", "", *_gate(report), ""])
    parts = [_block(f, base, commit) for f in shown[:MOST_FINDINGS]]
    parts += [_more(shown[MOST_FINDINGS:], "more"), _more(minor, "minor or outside the change")]
    parts += [_fixed(report, gone, earlier, base, commit)]
    foot = "\n".join(["", f"<sub>{' · '.join(_footer(report, base, commit))}</sub>", _data(report, commit)])
    space = LONGEST - len(head) - len(foot) - len(LEFT_OUT)
    fitting: list[str] = []
    for part in filter(None, parts):
        if len(part) < space:
            fitting.append(part)
            space -= len(part) + 1
    fitting += [LEFT_OUT] if len(fitting) < len([*filter(None, parts)]) else []
    return re.sub(r"\n{3,}", "\n\n", "\n".join([head, *fitting, foot])).rstrip() + "\n"


def _gate(report: ReviewReport) -> list[str]:
    if not report.fail_on:
        verdict = "No gate is set." if not report.doubts else "The review is inconclusive."
    elif report.failing:
        count = counted(len(report.failing), "finding")
        above = report.fail_on if report.fail_on == "P1" else f"{report.fail_on} or above"
        ids = [*report.failing[:MOST_FINDINGS], *(["…"] if len(report.failing) > MOST_FINDINGS else [])]
        verdict = f"**Gate failed**: {count} of severity {above} ({', '.join(ids)})."
    elif report.passed:
        verdict = "**Gate passed**" + (", although the review is inconclusive." if report.doubts else ".")
    else:
        verdict = "**Gate failed**: the review is inconclusive."
    return [verdict, *(f"- in doubt: {unlinked(doubt)}" for doubt in report.doubts)]


def _block(f: ReportedFinding, base: str, commit: str) -> str:
    rows = [f"**{f.severity}** {_link(f, base, commit)} {unlinked(f.category)}", "", unlinked(f.text)]
    if f.code:
        digits = len(str(f.code[-1][0]))
        lines = [f"{'>' if f.first <= n <= f.last else ' '} {n:>{digits}} | {line}".rstrip() for n, line in f.code]
        fence = backticks("\n".join(lines))
        rows += ["", f"{fence}text", *lines, fence]
    return "\n".join([*rows, *(["", f"<sub>{unlinked(f.about)}</sub>"] if f.about else []), ""])


def _link(f: ReportedFinding, base: str, commit: str) -> str:
    label = code_span(f.place)
    if not base or not f.path:
        return label
    lines = f"#L{f.first}" + (f"-L{f.last}" if f.last > f.first else "") if f.first else ""
    return f"[{label}]({base}/blob/{commit}/{quote(f.path.encode('utf-8', 'replace'), safe='/')}{lines})"


def code_span(text: str) -> str:
    """Text as code within a line, whatever backticks it has."""
    line = squeeze(clean(text))
    ticks = backticks(line, 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _more(findings: Sequence[ReportedFinding], what: str) -> str:
    if not findings:
        return ""
    rows = [f"- **{f.severity}** {code_span(f.place)} {unlinked(cut(f.text, 160))}" for f in findings[:MOST_LISTED]]
    rows += _rest(findings)
    return "\n".join(["<details>", f"<summary>{len(findings)} {what}</summary>", "", *rows, "", "</details>", ""])


def _rest(rows: Sequence[object]) -> list[str]:
    return [f"- and {len(rows) - MOST_LISTED} more"] if len(rows) > MOST_LISTED else []


def _fixed(
    report: ReviewReport, gone: Sequence[tuple[str, str, str, str]], earlier: EarlierComment, base: str, commit: str
) -> str:
    rows = ["**Fixed** since the last review", "", *(f"- {line}" for line in report.fixed), ""] if report.fixed else []
    if gone and not report.fixed:  # the record is more exact than the last comment
        old = earlier.commit
        seen = report.analysed and earlier.analysed
        where = f"[{old[:12]}]({base}/compare/{old}...{commit})" if base else code_span(old[:12])
        rows += [f"**{'Fixed' if seen else 'Not raised again'}** since {where}", ""]
        rows += [f"- {severity} {code_span(place)} {unlinked(text)}" for _, severity, place, text in gone[:MOST_LISTED]]
        rows += _rest(gone)
        rows += [] if seen else ["", "No seat said whether these are fixed."]
    return "\n".join(rows)


def _footer(report: ReviewReport, base: str, commit: str) -> list[str]:
    out = [f"reviewed {f'[{commit[:12]}]({base}/commit/{commit})' if base else commit[:12]}"] if commit else []
    out += [f"by {unlinked(', '.join(report.reviewers))}"] if report.reviewers else []
    return [*out, f"session {code_span(report.session)}"] if report.session else out or ["rebut"]


# What one comment remembers for the next


def since(report: ReviewReport, earlier: EarlierComment) -> list[tuple[str, str, str, str]]:
    """The findings of the earlier comment that are not in this report; none if this review is inconclusive.

    A finding is the same by its cited lines or, if those have changed, by its words in the same file.
    """
    if report.doubts or not earlier.commit:
        return []
    keys = {f.key for f in report.findings}
    known = {key for key, *_ in earlier.findings}
    words = Counter((f.path, _short(f.text)) for f in report.findings if f.key not in known)
    out = []
    for row in earlier.findings:
        key, _, place, text = row
        if key in keys:
            continue
        same = (re.sub(r":\d+(-\d+)?$", "", place), text)
        if words[same] > 0:
            words[same] -= 1
        else:
            out.append(row)
    return out


def _short(text: str) -> str:
    return cut(clean(text), 160)


def _data(report: ReviewReport, commit: str) -> str:
    rows: list[Json] = [[f.key, f.severity, cut(f.place, 200), _short(f.text)] for f in report.findings]
    rows = rows[:MOST_REMEMBERED]
    while True:
        data: Json = {"commit": commit, "analysed": report.analysed, "findings": rows}
        packed = base64.b64encode(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")).decode()
        if len(packed) < LONGEST_DATA:
            return f"<!-- rebut-data {packed} -->"
        rows = rows[: len(rows) // 2]


def remembered(comment: str) -> EarlierComment:
    """What an earlier comment of rebut remembers; nothing if the text is not such a comment."""
    found = DATA.findall(comment.replace("\r\n", "\n")) if comment.lstrip().startswith(MARKER) else []
    if len(found) != 1:
        return EarlierComment()
    try:
        data = json.loads(base64.b64decode(found[0], validate=True))
        rows = data["findings"]
        commit = str(data["commit"])
        kept = [
            tuple(clean(str(part))[:200] for part in row) for row in rows if isinstance(row, list) and len(row) == 4
        ]
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        return EarlierComment()
    if not COMMIT.fullmatch(commit):
        return EarlierComment()
    findings = tuple((a, b, c, d) for a, b, c, d in kept if b in SEVERITIES)
    return EarlierComment(commit, data.get("analysed") is True, findings[:MOST_REMEMBERED])


# Reading a report


def read_report(text: str, where: str) -> ReviewReport:
    """A report from the text of a SARIF file that rebut wrote. An unexpected value is an error, not left out."""
    hint = "Give the file that `rebut review --sarif FILE` wrote, or the id of a session."
    if len(text) > LARGEST_REPORT:
        raise UsageError(f"{where} is larger than {LARGEST_REPORT:,} characters", hint)
    try:
        return _report(json.loads(text))
    except RecursionError:
        raise UsageError(f"{where} is nested too deeply", hint) from None
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise UsageError(f"{where} is not a SARIF file of rebut", hint) from error


def _report(data: Any) -> ReviewReport:
    run = data["runs"][0]
    if run["tool"]["driver"]["name"] != "rebut":
        raise ValueError("another tool")
    more: Mapping[str, Any] = run["properties"]
    gate: Mapping[str, Any] = more["gate"]
    fail_on, commit = gate.get("fail_on") or "", str(more.get("new") or "")
    if fail_on not in ("", *SEVERITIES):
        raise ValueError("a threshold")
    results = [_finding(one) for one in run["results"] if not one.get("suppressions")]
    fixed = [
        f"{_severity(one['severity'])} {code_span(cut(str(one['place']), 200))} {unlinked(cut(str(one['text']), 300))} "
        f"by {unlinked(cut(str(one['by']), 120))}"
        for one in more.get("fixed", [])[:MOST_FINDINGS]
    ]
    return ReviewReport(
        findings=tuple(sorted(results, key=lambda f: f.severity)),
        heading=cut(clean(str(more["heading"])), 200),
        passed=gate["passed"] is True,
        fail_on=fail_on,
        failing=tuple(map(_id, gate["failing"])),
        doubts=tuple(cut(clean(str(doubt)), 300) for doubt in gate["doubts"][:MOST_FINDINGS]),
        analysed=more.get("analysed") is True,
        fixed=tuple(fixed),
        reviewers=tuple(cut(clean(str(one)), 80) for one in more.get("reviewers", [])[:5]),
        commit=commit if COMMIT.fullmatch(commit) else "",
        session=cut(clean(str(more["session"])), 40),
    )


def _finding(one: Mapping[str, Any]) -> ReportedFinding:
    about = one["properties"]
    spots = one.get("locations") or [{}]
    spot = spots[0].get("physicalLocation", {})
    region, around = spot.get("region", {}), spot.get("contextRegion")
    first = _number(region.get("startLine", 0))
    code: tuple[tuple[int, str], ...] = ()
    if around:
        lines = clean(str(around["snippet"]["text"])[:8000]).split("\n")[:20]
        code = tuple(enumerate((line[:300] for line in lines), _number(around["startLine"])))
    said = [_id(about["id"]), cut(str(about.get("quote", "")), 40), cut(str(about.get("judge", "")), 40)]
    return ReportedFinding(
        key=cut(str(one["partialFingerprints"]["rebutCitedLines/v1"]), 80),
        severity=_severity(about["severity"]),
        category=cut(clean(str(one["ruleId"])).removeprefix("rebut/"), 40),
        text=cut(clean(str(one["message"]["text"])).replace("\\[", "[").replace("\\]", "]"), LONGEST_TEXT),
        path=cut(clean(unquote(str(spot.get("artifactLocation", {}).get("uri", "")))), 500),
        first=first,
        last=max(first, _number(region.get("endLine", first))),
        code=code,
        about=", ".join(part for part in said if part),
        outside=about.get("outside") is True,
    )


def _severity(word: object) -> str:
    if word not in SEVERITIES:
        raise ValueError("a severity")
    return str(word)


def _id(word: object) -> str:
    if not isinstance(word, str) or not re.fullmatch(r"[A-Z]\d{1,5}", word):
        raise ValueError("an id")
    return word


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10_000_000:
        raise ValueError("a line number")
    return value
