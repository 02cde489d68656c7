"""Static analysers as a critic: they raise the findings that a change introduces, not those that were there before.

How each analyser is called is in its table (`tables.py`); this module treats all analysers alike. The answer is the
JSON of a critique, made by rules alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rebut.backends.linters import findings as fixes, tables as analysers
from rebut.backends.linters.findings import FileCopy, LinterFinding, Sifted, copy_files, line_to_cite, read_report, sift
from rebut.backends.linters.tables import Analyser, environment
from rebut.core import process
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.json_value import Json
from rebut.core.scratch import scratch_folder
from rebut.core.text import counted, last_line
from rebut.core.types import Changed, Finding, Reply, Request, Usage
from rebut.core.working_time import clock

FAMILY = "rules"
MOST = 60
"""The most findings in one critique; of the others it gives the number."""
MOST_NAMED = 5
"""Files that are named in a message."""
REPLACE = "Put the fix in place of the cited lines."
ACTION = "Fix it, or explain in the code why it is right."
SILENCED = {
    "": "",
    "before": " A comment there silences the rule, and did so before this change.",
    "by this change": " This change brings in a comment that silences the rule, so the comment lowers nothing.",
}
DIFFS = (".diff", ".patch")
LOOSE = "the text of a diff that does not match the files in this folder"


class Lint:
    """All installed analysers, or those that the user named."""

    def __init__(
        self, tables: Mapping[str, Analyser], env: Mapping[str, str], *, only: str = "", effort: str = ""
    ) -> None:
        named = only.split("+") if only else list(tables)
        if odd := [name for name in named if name not in tables]:
            raise UsageError(f"lint has no analyser {odd[0]!r}", f"It has {', '.join(tables)}; join names with +.")
        self._tables = {name: tables[name] for name in named}
        self._env = dict(env)
        self._versions: dict[str, str] = {}
        self._notes = [f"lint has no levels of effort; continued without {effort}"] if effort else []

    async def complete(self, request: Request) -> Reply:
        change = request.material.change
        if not change:
            raise ParticipantFailed(
                "bad reply",
                "lint reads code changes, and this question has none",
                "Use it as the critic of a code target: `rebut cross --critic lint`; here, choose a model.",
            )
        places = ((a, analysers.find_executable(a, self._env)) for a in self._tables.values())
        installed = {a.name: (a, path) for a, path in places if path is not None}
        if not installed:
            raise ParticipantFailed(
                "missing tool", f"no analyser is installed: looked for {', '.join(self._tables)}", _install()
            )
        wanted = {n: self._readers(c) for n, c in enumerate(change, 1) if c.after is not None and self._readers(c)}
        # Only a whole change of deleted files is refused: a part of a large change may have nothing else.
        if not wanted and all(c.after is None for c in change) and not request.material.is_part:
            paths = ", ".join(c.path for c in change[:MOST_NAMED]) + (" …" if len(change) > MOST_NAMED else "")
            raise ParticipantFailed(
                "missing tool",
                f"no analyser reads files that were deleted: {paths}",
                "Choose a model as the critic.",
            )
        names = _needed(wanted, installed)
        base = scratch_folder(self._env)
        try:
            # Well before the limit: an analyser that hangs is ended first, and the reports of the others still count.
            seconds = max(request.timeout / 2, request.timeout - 5)
            versions = asyncio.gather(*(self._version(*installed[name], seconds) for name in names))
            (old, new), _ = await asyncio.gather(analysed(change, installed, base, seconds, request.on_spawn), versions)
        finally:
            shutil.rmtree(base, ignore_errors=True)
        unread = dict(new.unread)
        for number, readers in wanted.items():
            if number not in new.whole and number not in unread:
                unread[number] = f"not installed: {', '.join(a.name for a in readers)}"
        # The text of a diff that matches no files here counts as unread: if it were ignored, it would count as clean.
        strays = {n: LOOSE for n, c in enumerate(change, 1) if c.before is None and c.path.endswith(DIFFS)}
        unread |= strays
        loose = f"{change[next(iter(strays)) - 1].path} is {LOOSE}" if strays else ""
        if wanted and not new.whole and not new.findings:
            why = "; ".join(dict.fromkeys(unread.values()))
            raise ParticipantFailed("crashed", f"no analyser could read any changed file: {why}", _install())
        sifted = sift(old.findings, new.findings, change)
        model = ", ".join(f"{name} {self._versions[name]}".strip() for name in names) or "no analyser"
        skipped = [
            c.path for n, c in enumerate(change, 1) if c.after is not None and n not in wanted and n not in strays
        ]
        notes, self._notes = [*self._notes, f"lint ({model}): {sifted.tally}"], []
        answer = _critique(sifted, change, unread, old, model, _remark_on_skipped(skipped))
        numbers = {c.path: n for n, c in enumerate(change, 1)}
        answer["earlier"] = _earlier(request.material.findings, answer, numbers, new)
        # Bytes that are not text become replacement characters, as elsewhere.
        text = re.sub("[\ud800-\udfff]", "\ufffd", json.dumps(answer, ensure_ascii=False))
        return Reply(text, model, FAMILY, Usage(0, 0), 0.0, notes=tuple(notes), unread=loose, skipped=tuple(skipped))

    def _readers(self, changed: Changed) -> list[Analyser]:
        return [a for a in self._tables.values() if a.reads(changed.path, changed.after or "")]

    async def _version(self, analyser: Analyser, path: Path, seconds: float) -> None:
        self._versions[analyser.name] = await analysers.version(analyser, path, self._env, seconds)


def _install() -> str:
    from rebut.core.installation import with_extra

    return f"Run `{with_extra('lint')}`."


def _remark_on_skipped(paths: Sequence[str]) -> list[str]:
    """The remark on changed files that no analyser reads; none if there are no such files."""
    if not paths:
        return []
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return [f"no analyser is for {counted(len(paths), 'file')} of this change: {', '.join(paths[:MOST_NAMED])}{more}"]


def _needed(wanted: Mapping[int, Sequence[Analyser]], installed: Mapping[str, tuple[Analyser, Path]]) -> list[str]:
    """The analysers that have a file to read, in the order of the tables."""
    readers = {reader.name for each in wanted.values() for reader in each}
    return [name for name in installed if name in readers]


def _critique(
    sifted: Sifted,
    change: Sequence[Changed],
    unread: Mapping[int, str],
    old: LintedSide,
    model: str,
    skipped: Sequence[str],
) -> dict[str, Json]:
    files = {number: changed.path for number, changed in enumerate(change, 1)}
    more = len(sifted.new) - MOST
    remarks = [f"Rule-based, by {model}: {sifted.tally}."]
    if more > 0:
        remarks.append(f"{more} more findings count and are not listed; those listed are the most severe.")
    remarks += [f"Not read completely: {files[number]} ({why})." for number, why in sorted(unread.items())]
    remarks += [
        f"The old version of {files[number]} was not read completely ({why}), so old findings may count as new."
        for number, why in sorted(old.unread.items())
        if number not in unread
    ]
    remarks += [f"{one[:1].upper()}{one[1:]}." for one in skipped]
    findings: list[Json] = [_finding_json(one, change[one.file.number - 1]) for one in sifted.new[:MOST]]
    clean = not sifted.new and not unread
    return {
        "findings": findings,
        "agrees": clean,
        "agreements": [f"{model}: no new findings in this change."] if clean and len(skipped) < len(files) else [],
        "suggestions": list[Json](remarks),
        "need": [],
    }


def _earlier(
    findings: Sequence[Finding], answer: Mapping[str, Json], numbers: Mapping[str, int], new: LintedSide
) -> list[Json]:
    """The state of earlier findings.

    A finding that is not raised again is fixed only if the analyser that raised it has read its file completely, and no
    other one that ran has failed to. Analysers cannot tell whether a finding of a model is fixed.
    """
    raised = answer["findings"]
    assert isinstance(raised, list)
    raised_now = [_words_and_place(row) for row in raised if isinstance(row, dict)]
    missing = _not_raised_again(findings, raised_now)
    out: list[Json] = [
        {"id": one.id, "reason": "The analysers report it again.", "state": "still there"}
        for one in findings
        if one not in missing
    ]
    for one in missing:
        number = numbers.get(one.place.rpartition(":")[0], 0)
        if not number or len(raised) == MOST:
            continue
        state, reason = "not checked", "No analyser that can report it has read its file."
        if number in new.unread:
            reason = "Its file was not read completely."
        elif any(_is_of(one.text, name) for name in new.whole.get(number, ())):
            state, reason = "fixed", "The analysers no longer report it."
        out.append({"id": one.id, "reason": reason, "state": state})
    return out


def _is_of(text: str, analyser: str) -> bool:
    """Whether an analyser raised the finding with this text, which ends as `_finding_json` writes it."""
    for remark in SILENCED.values():
        text = text.removesuffix(remark) if remark else text
    rule = text.rpartition(f" ({analyser} ")[2]
    return rule != text and rule.endswith(").") and " " not in rule


def _words_and_place(row: Mapping[str, Json]) -> tuple[str, str]:
    evidence = row["evidence"]
    first = evidence[0] if isinstance(evidence, list) and evidence else {}
    return str(row["text"]), str(first.get("place", "")) if isinstance(first, dict) else ""


def _not_raised_again(findings: Sequence[Finding], raised_now: Sequence[tuple[str, str]]) -> list[Finding]:
    """The earlier findings that are not raised again: no new finding has the same text and file.

    If a file had the same finding more often before than now, those at other places than now are not raised again.
    """
    out: list[Finding] = []
    left = Counter((text, place.rpartition(":")[0]) for text, place in raised_now)
    for one in sorted(findings, key=lambda one: (one.text, one.place) not in raised_now):
        key = (one.text, one.place.rpartition(":")[0])
        left[key] -= 1
        if left[key] < 0:
            out.append(one)
    return out


def _finding_json(one: LinterFinding, changed: Changed) -> Json:
    fix = fixes.as_lines(one.edits, one.file.lines, one.line)
    line = line_to_cite(one, changed.added)
    first, last = (fix.first, fix.last) if fix else (line, line)
    place = f"{changed.path}:{first}" + (f"-{last}" if last > first else "")
    silenced = SILENCED[one.silenced]
    return {
        "text": f"{one.message.rstrip('.')} ({one.tool} {one.rule}).{silenced}",
        "severity": one.severity,
        "category": one.grade.category,
        "evidence": [{"place": place, "quote": "\n".join(one.file.lines[first - 1 : last])}],
        "action": one.grade.action or one.help or (REPLACE if fix else ACTION),
        "fix": fix.text if fix else "",
    }


AT_ONCE = max(2, os.cpu_count() or 1)
BATCH = 100
"""Files per process: limits the size of a report, and what is lost if a process fails."""


@dataclass(slots=True)
class LintedSide:
    """What was found in one version of the files, and which files were not read completely and why."""

    copies: list[FileCopy] = field(default_factory=list)
    findings: list[LinterFinding] = field(default_factory=list)
    unread: dict[int, str] = field(default_factory=dict)
    whole: dict[int, set[str]] = field(default_factory=dict)
    """Files that at least one analyser has read completely, with the names of these analysers."""


async def analysed(
    change: Sequence[Changed],
    installed: Mapping[str, tuple[Analyser, Path]],
    base: Path,
    seconds: float,
    on_spawn: Callable[[int], None],
) -> tuple[LintedSide, LintedSide]:
    """Run the analysers on the old and the new version of the files."""
    scratch = base / "scratch"
    scratch.mkdir(mode=0o700)
    readers = [analyser for analyser, _ in installed.values()]
    sides = {name: LintedSide(copy_files(base / name, change, readers, old=name == "old")) for name in ("old", "new")}
    turn = asyncio.Semaphore(AT_ONCE)
    until = clock() + seconds

    async def run(
        side: LintedSide, folder: Path, analyser: Analyser, path: Path, copies: Sequence[FileCopy], home: Path
    ) -> None:
        async with turn:
            left = min(analyser.timeout, until - clock())
            await _run(side, folder, analyser, path, copies, home, max(0.0, left), on_spawn)

    async with asyncio.TaskGroup() as group:
        for analyser, path in installed.values():
            home = scratch / analyser.name
            home.mkdir(mode=0o700)
            for name, content in analyser.lay.items():
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                (home / name).write_text(content, encoding="utf-8")
            for name, side in sides.items():
                mine = [one for one in side.copies if analyser in one.readers]
                size = 1 if analyser.one_by_one else BATCH
                for start in range(0, len(mine), size):
                    group.create_task(run(side, base / name, analyser, path, mine[start : start + size], home))
    return sides["old"], sides["new"]


async def _run(
    side: LintedSide,
    folder: Path,
    analyser: Analyser,
    path: Path,
    copies: Sequence[FileCopy],
    home: Path,
    seconds: float,
    on_spawn: Callable[[int], None],
) -> None:
    args = [arg.replace("${folder}", str(home)) for arg in analyser.args]
    argv = [str(path), *args, *(one.name for one in copies)]
    own = tempfile.mkdtemp(dir=home)  # several runs of an analyser share its home
    env = {**environment(home), "TMPDIR": own}
    try:
        ended = await process.run_program(argv, cwd=folder, env=env, seconds=seconds, on_spawn=on_spawn, mark=Path(own))
    except OSError as error:
        return _mark_unread(side, copies, f"{analyser.name} cannot be started: {error.strerror}")
    if ended.cut:
        why = f"no report within {seconds:g} s" if ended.cut == "time" else "its report is too large"
        return _mark_unread(side, copies, f"{analyser.name}: {why}")
    if ended.code not in analyser.exits:
        return _mark_unread(side, copies, f"{analyser.name}: exit {ended.code}{_last_error(ended.err)}")
    try:
        found, unread = read_report(analyser, ended.out, copies, folder)
    except ValueError as error:
        return _mark_unread(side, copies, f"{analyser.name}: its report cannot be read: {error}")
    side.findings += found
    for one in copies:
        if one.number in unread:
            side.unread.setdefault(one.number, f"{analyser.name} could not read all of it")
        else:
            side.whole.setdefault(one.number, set()).add(analyser.name)


def _mark_unread(side: LintedSide, copies: Sequence[FileCopy], why: str) -> None:
    for one in copies:
        side.unread.setdefault(one.number, why)


def _last_error(err: str) -> str:
    last = last_line(err)
    return f": {re.sub(r'[^ -~]+', ' ', last)[:200]}" if last else ""
