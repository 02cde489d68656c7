"""The ending of `rebut review` and `rebut plan`: one block for each finding, as a linter prints it, then one line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rebut.core.text import counted, cut, squeeze
from rebut.domain.amounts import duration, money
from rebut.domain.doubts import ONLY_ACCEPTED
from rebut.domain.fixes import fixes
from rebut.domain.outcome import BY_PROGRAMS, Outcome, Seated
from rebut.domain.review_result import CHECK, OUTSIDE, ReviewFinding, ReviewResult
from rebut.record.record import Record
from rebut.reports.terminal import hanging, labelled, shown_spec
from rebut.workspace.diff import line_counts
from rebut.workspace.targets.target import Target, absent_citations, target_of, text_target

MOST_BLOCKS = 10
"""Findings that are shown with their code; further ones are in a table."""
WIDE = 110
"""Columns of a terminal on which the table also shows the status of each finding."""
AROUND = 2
"""Lines of code that are shown before and after the cited lines."""
MOST_LINES = 8
MOST_CHECK = 8
"""Lines of a check that are shown."""
REJECTED = {
    "judged invalid": "rejected",
    "struck for an absent citation": "struck, because what it cites is absent",
    "P3": "minor",
}
"""Why a finding is hidden → the word for that in the summary."""


def ending(
    outcome: Outcome,
    *,
    target: Target,
    width: int = 80,
    short: str = "",
    told: Sequence[str] = (),
    everything: bool = False,
    brief: bool = False,
    files: Mapping[str, str] | None = None,
) -> str:
    """The findings, the gravest first; then a line that sums them up, and the commands that can follow.

    `files` are the texts of cited files besides those of the target, by the path as it is cited.
    With `brief`, only the commands that resume the review, or apply its patch or fixes, are named.
    """
    made = outcome.review
    assert made is not None
    blocks = sorted(made.findings, key=lambda f: f.severity) if everything else made.shown
    undecided = doubtful(outcome, target)
    rows = [row for line in (by_programs(outcome), undecided) if line for row in hanging(f"  {line}", width, 4)]
    rows += [""] if rows else []
    absent_rows = [row for line in unlisted_citations(made, target) for row in hanging(f"  absent  {line}", width, 10)]
    rows += [*absent_rows, ""] if absent_rows else []
    most = len(blocks) if everything else MOST_BLOCKS
    framed = set[str]()
    for finding in blocks[:most]:
        rows += [*block(finding, target, files or {}, width, framed), ""]
    if rest := blocks[most:]:
        rows += hanging(f"  {len(rest)} more, with the code in `rebut show {short or 'ID'} --all`:", width, 4)
        rows += [*finding_table(rest, width), ""]
    for f in made.fixed_since:
        rows += labelled("fixed", f"{f.id} {f.place or 'no place'}  {f.severity}  {squeeze(f.text)}", width)
        rows += hanging(f"{'':<16}by {squeeze(f.fixed_by)}", width, 19)
    rows += [""] if made.fixed_since else []
    if outside := [f for f in made.findings if f.hidden == OUTSIDE and f.severity != "P3" and not everything]:
        rows += [
            *hanging("  outside the change, so not counted:", width, 4),
            *finding_table(outside[:MOST_BLOCKS], width),
            "",
        ]
    rows += hanging(f"  {summary(outcome, target)}", width, 4)
    for note in _notes(outcome, told):
        rows += labelled("note", note, width)
    return "\n".join([*rows, *_next(outcome, made, target, short, width, brief)])


def headline(outcome: Outcome, target: Target | None = None) -> str:
    """The result of a review in a few words, such as `2 problems to fix`; never more than the record holds."""
    made = outcome.review
    assert made is not None
    problems, minor = made.shown, [f for f in made.findings if f.hidden == "P3"]
    absent = sum(CHECK in f.voices for f in problems)
    unlisted = unlisted_citations(made, target) if target else ()
    counts = [
        f"{n} {s}" for s in ("P1", "P2") if (n := sum(f.severity == s and CHECK not in f.voices for f in problems))
    ]
    counts += [counted(absent + len(unlisted), "absent citation")] if absent or unlisted else []
    if counts:
        return f"{counted(len(problems) + len(unlisted), 'problem')} to fix ({', '.join(counts)})"
    if not outcome.conclusive or not outcome.complete:
        nothing = target is not None and _nothing_read(outcome, target)
        return "nothing was reviewed" if nothing else "no problem found in what was reviewed"
    if fixed := _fixed(made):  # in the patch: the reviewed files still have them
        return f"{counted(len(fixed), 'problem')} found, fixed in the final version"
    said = "no problems to fix" if minor else "no problems found"
    if target is None:
        return said
    read, every = files_read(outcome, target)
    if not read and every:
        count = counted(every, "file of the change is", "files of the change are")
        return f"nothing to review: [gate] unread_ok accepts that {count} not read"
    part = f"{read} of {counted(every, 'file')}"
    return f"{said} in {_size(target) if read == every else part}"


def files_read(outcome: Outcome, target: Target) -> tuple[int, int]:
    """The number of files of a target that were read, and of all; both without pictures, fonts, sound and film."""
    noted = [note.removeprefix("not read: ") for note in outcome.notes if note.startswith("not read: ")]
    unread = outcome.unread or noted  # sessions of earlier versions have only the notes
    # A path may contain a colon, and so may the reason: the text before any of the colons may be the path.
    paths = {line[: colon.start()] for line in unread for colon in re.finditer(": ", line)}
    skipped = sum(c.path in paths for c in target.changes)
    return len(target.changes) - skipped, len(target.changes) + len(unread) - skipped


def _nothing_read(outcome: Outcome, target: Target) -> bool:
    return bool(target.changes) and not files_read(outcome, target)[0]


def _fixed(made: ReviewResult) -> list[ReviewFinding]:
    """The problems that the final version fixes."""
    return [f for f in made.findings if f.hidden == "fixed" and f.severity != "P3" and not f.fixed_by]


def summary(outcome: Outcome, target: Target) -> str:
    """One line: the headline, how many findings are hidden and why, who reviewed, and what it cost."""
    made = outcome.review
    assert made is not None
    aside = Counter(
        f"fixed since {made.since[:12]}" if f.fixed_by else REJECTED.get(f.hidden, f.hidden)
        for f in made.findings
        if f.hidden
    )
    if "fixed in" in (first := headline(outcome, target)):
        aside.pop("fixed", None)
    parts = [", ".join([first, *(f"{n} {word}" for word, n in aside.items())])]
    parts += [", ".join(_participants(outcome.seats))] if outcome.seats and not _nothing_read(outcome, target) else []
    parts.append(f"{duration(outcome.spent.seconds)}, {money(outcome.spent.usd)}")
    return _capitalized(" · ".join(parts))


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def doubtful(outcome: Outcome, target: Target) -> str:
    """The first line of a review that decided nothing, which says why; empty for a conclusive review."""
    if outcome.complete and outcome.conclusive:
        return ""
    why: list[str] = []
    for doubt in outcome.doubts:
        if doubt.kind == "files unread":
            read, every = files_read(outcome, target)
            why.append(f"{every - read} of {counted(every, 'file')} not read")
        elif "conclusive" in doubt.denies:
            why.append(cut(doubt.said or doubt.kind, 160))
    return f"Not decided: {'; '.join(dict.fromkeys(why)) or outcome.stopped or outcome.heading}."


def heading(outcome: Outcome, target: Target) -> str:
    """The heading of `review` and `plan` for programs: the first lines of the screen, and the headline."""
    found = headline(outcome, target)
    first = [line for line in (by_programs(outcome), doubtful(outcome, target)) if line]
    return " ".join([*first, f"{_capitalized(found)}."]) if first else found


def heading_of(record: Record, outcome: Outcome) -> str:
    """The `heading` of a session on record."""
    return heading(outcome, target_of(record) or text_target(record.opened.topic))


def decided(outcome: Outcome, target: Target) -> str:
    """The decision of a review, for programs: its heading as a sentence, and the reason of the last choice."""
    made = outcome.review
    assert made is not None
    said = _capitalized(heading(outcome, target).rstrip("."))
    return " ".join([f"{said}.", *(cut(one.reason, 600) for one in made.history[-1:])])


def by_programs(outcome: Outcome) -> str:
    """The note that programs took the seats for which the user named no model, and why; empty without such a note."""
    note = next((note for note in outcome.notes if note.startswith(BY_PROGRAMS)), "")
    return f"{_capitalized(note)}." if note else ""


def unlisted_citations(made: ReviewResult, target: Target) -> Sequence[str]:
    """The absent citations of a reviewed text, if they are not findings: in sessions of earlier versions."""
    return () if any(CHECK in f.voices for f in made.findings) else absent_citations(target)


def block(f: ReviewFinding, target: Target, files: Mapping[str, str], width: int, framed: set[str]) -> list[str]:
    """One finding: place, severity, what is wrong; the code, the check, what to do, and the fix as a diff.

    `framed` has the code shown for earlier findings, which is not repeated; the code of this finding is added.
    """
    head = f"  {f.place or 'no place'}  {f.severity}  {f.category}".rstrip()
    status = ", ".join(_status(f))
    space = min(width, 100) - len(head) - len(status) - 2
    rows = [f"{head}{' ' * space}{status}"] if space >= 2 else [head, *hanging(f"    {status}", width, 4)]
    rows += hanging(f"    {squeeze(f.text)}", width, 4)
    if frame := _frame(f, target, files, width):
        shown = "\n".join(frame)
        rows += ["    code   as above"] if shown in framed else frame
        framed.add(shown)
    rows += _check(f, width)
    if f.action:
        rows += hanging(f"    to do  {squeeze(f.action)}", width, 11)
    return rows + _fix(f, target, files, width)


def _status(f: ReviewFinding) -> Iterable[str]:
    yield f.id
    if CHECK in f.voices:
        yield "checked by rebut"
        return
    yield f.mark or "cites nothing"
    yield from f.checked
    if f.ruling:
        yield f.ruling
    if f.since and not f.hidden:
        yield f"raised in {f.since}"
    if f.seen:
        yield f.seen
    elif f.hidden and f.hidden not in ("P3", "judged invalid"):
        yield f.hidden


def finding_table(findings: Sequence[ReviewFinding], width: int) -> list[str]:
    """One line per finding: id, severity, place and what is wrong; on a wide terminal also its status."""
    wide = width >= WIDE
    marks = [", ".join([*_status(f)][1:]) if wide else "" for f in findings]
    first = [max(map(len, column)) for column in ([f.id for f in findings], [f.place for f in findings])]
    last = max(map(len, marks))
    place = min(first[1], max(16, width // 3))
    space = width - 2 - first[0] - 2 - 2 - 2 - place - 2 - (last + 2 if wide else 0) - 2
    rows = []
    for f, mark in zip(findings, marks, strict=True):
        where = f.place if len(f.place) <= place else f"…{f.place[1 - place :]}"
        said = cut(f.text, max(12, space))
        rows.append(f"  {f.id:<{first[0]}}  {f.severity}  {where:<{place}}  {said:<{space if wide else 0}}  {mark}")
    return [row.rstrip() for row in rows]


# the code that a finding cites


def _lines(f: ReviewFinding, target: Target, files: Mapping[str, str]) -> tuple[list[str], int, int] | None:
    """All lines of the cited file or text, and the numbers of the first and the last cited line; None if unknown."""
    path, _, lines = f.place.rpartition(":")
    first, _, last = lines.partition("-")
    if f.mark == "absent" or not first.isdecimal():
        return None
    given = {name: target.given or target.text for name in (target.file, target.path) if name}
    start, text = int(first), {**given, **files, **target.texts}.get(path)
    if text is None:
        return None
    rows = text.split("\n")
    end = int(last) if last.isdecimal() else start
    if not 1 <= start <= end <= len(rows):
        return None
    # A finding of a later round may cite a later version, which has other lines at these numbers.
    is_other_version = f.round > 1 and squeeze(f.quote) not in squeeze("\n".join(rows[start - 1 : end]))
    return None if is_other_version else (rows, start, end)


def _frame(f: ReviewFinding, target: Target, files: Mapping[str, str], width: int) -> list[str]:
    found = _lines(f, target, files)
    if found is None:
        return []
    rows, start, end = found
    last = min(end, start + MOST_LINES - 1)
    whole = len(rows) - (rows[-1] == "")
    span = range(max(1, start - AROUND), min(whole, last + AROUND) + 1)
    digits, out = len(str(span.stop - 1)), list[str]()
    for n in span:
        mark = ">" if start <= n <= last else " "
        out.append(f"    {mark} {n:>{digits}} | {cut_line(rows[n - 1], width - digits - 10)}".rstrip())
    return out


def _check(f: ReviewFinding, width: int) -> list[str]:
    """The check of a finding: its runner, what it claims, its verdict, and the first lines of its code."""
    if f.check is None:
        return []
    rows = hanging(f"    check  {f.check.runner}, {f.check.claim}: {squeeze(f.check.verdict)}", width, 11)
    lines = f.check.code.strip("\n").split("\n")
    rows += [f"           | {cut_line(line, width - 14)}".rstrip() for line in lines[:MOST_CHECK]]
    rows += [f"           … {len(lines) - MOST_CHECK} more lines"] if len(lines) > MOST_CHECK else []
    return rows


def _fix(f: ReviewFinding, target: Target, files: Mapping[str, str], width: int) -> list[str]:
    """The fix as a small diff."""
    found = _lines(f, target, files)
    if not f.fix or found is None:
        return []
    rows, start, end = found
    old, new = rows[start - 1 : end], f.fix.removesuffix("\n").split("\n")
    lines = [*(f"- {line}" for line in old), *(f"+ {line}" for line in new)]
    shown = [f"    {'fix' if not n else '':<5}  {cut_line(line, width - 14)}" for n, line in enumerate(lines[:16])]
    return shown + ([f"    {'':<5}  … {len(lines) - 16} more lines"] if len(lines) > 16 else [])


def cut_line(line: str, most: int) -> str:
    """A line of code on one line of the terminal; its indentation stays."""
    line = line.expandtabs(4)
    return line if len(line) <= most else f"{line[: max(1, most - 1)]}…"


# the last lines


def _size(target: Target) -> str:
    if not target.changes:
        return "the text"
    added, removed = line_counts(target.diff)
    size = f" (+{added} -{removed})" if target.diff else ""
    return f"{counted(len(target.changes), 'file')}{size}"


def _participants(seats: Sequence[Seated]) -> Iterable[str]:
    """Who reviewed and who judged, by the names of the models."""
    did = {"critic": "reviewed", "judge": "judged", "decider": "decided"}
    for seat in seats:
        if seat.seat in did and seat.answered:
            yield f"{cut(shown_spec(seat.spec), 40)} {did[seat.seat]}"


def _notes(outcome: Outcome, told: Sequence[str]) -> list[str]:
    """Doubts that leave a review conclusive, and notes on what was not read or applied; `rebut show` has the others."""
    wanted = (
        "no check could be run",
        "not read",
        "not applied",
        "applied",
        "already applied",
        "there is no final patch",
    )
    shown = [doubt.said for doubt in outcome.doubts if doubt.heading and doubt.denies == ONLY_ACCEPTED and doubt.said]
    known = set(told)
    shown += [note for note in outcome.notes if note.startswith(wanted) and note not in known][:6]
    if any(doubt.kind == "files unread" for doubt in outcome.doubts):
        shown.append(
            "to accept files that are not read, name them in unread_ok of [gate] in a committed rebut.toml, "
            "or in your own config (`rebut config path`)"
        )
    made = outcome.review
    last = made.history[-1] if made and made.history else None
    if made and last and made.stopped_by == "A" and any(f.severity in ("P1", "P2") for f in made.shown):
        who = last.by or "judge"
        shown.append(
            f"the {who} accepts the change despite these findings" + (f": {last.reason}" if who == "judge" else "")
        )
    return shown


def _next(outcome: Outcome, made: ReviewResult, target: Target, short: str, width: int, brief: bool) -> list[str]:
    if not short:
        return []
    offers = [] if brief else [f"everything: rebut show {short}", f"in the browser: rebut view {short}"]
    if not outcome.complete:
        offers.insert(0, f"continue: rebut resume {short}")
    if made.patch:
        decided = outcome.conclusive and made.decision != "Stopped"
        said = "patch: rebut apply {}" if decided else "patch, not decided on: rebut apply {} --force"
        offers.insert(0, said.format(short))
    elif fixable := [
        f for f in made.shown if fixes(target.texts, [p for p in outcome.ledger.points if p.id == f.id])[0]
    ]:
        # Without FINDING, `rebut apply` applies the fixes of the findings that were judged valid.
        finding = "" if any(f.ruling == "valid" for f in fixable) else f" {fixable[0].id}"
        said = "fixes: rebut apply {}{}" if outcome.conclusive else "fixes, not decided on: rebut apply {}{} --force"
        offers.insert(0, said.format(short, finding))
    line = f"  {' · '.join(offers)}"
    # A line that is too long would break inside a command.
    return ([line] if len(line) <= width - 2 else [f"  {offer}" for offer in offers]) if offers else []
