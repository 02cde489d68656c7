"""Versions of the artifact: the user's own, and those written for a compromise or for accepting the critique."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.text import tokens
from rebut.core.types import Changed, ModelSpec, Participant
from rebut.domain.fixes import fixes, lines_of
from rebut.domain.ledger import Ledger, Point
from rebut.domain.prompts import FENCES, fill
from rebut.domain.review_result import CHANGED, FIXED, SILENT, UNTOUCHED, Seen
from rebut.engine.debate import Answer, Ask, Debate
from rebut.protocols.cross import findings as weighing, prompts, render
from rebut.protocols.cross.forms import NextPatch, NextText
from rebut.protocols.shared import describe
from rebut.workspace.diff import CONTEXT, BothTexts, FileChange, Span, meets, parts, section, written
from rebut.workspace.targets.resolve import whole
from rebut.workspace.targets.target import Target
from rebut.workspace.targets.text import split_mixed

PROGRAMS = ("lint", "rules")
"""Providers of programs, which write no text: their version is composed of the fixes that came with the findings."""
MOST_OUTPUT = 16_000
GIVEN = "artifact.md"
"""The session's file with the artifact as the user gave it."""


@frozen
class ArtifactVersion:
    """One version of the artifact. `files` replace those of the first version."""

    n: int
    text: str = ""
    files: Mapping[str, str | None] = field(default_factory=dict)
    patch: str = ""
    """From the first version to this one."""
    by: str = ""
    changes: tuple[str, ...] = ()
    modes: Mapping[str, str] = field(default_factory=dict)
    """Path → its mode, for files whose executable bit a patch changed."""
    exact: str = ""
    """The patch against the bytes of the real files, in base64; empty if it is the same as `patch`."""
    round: int = 0
    """The round in which it was written."""
    whole: str = ""
    """The whole given text with this version's code and prose in it; empty if files or a proposal were given."""
    caveat: str = ""
    """Why `git apply` would refuse the patch, if it would."""
    text_patch: str = ""
    """The patch for `artifact.md`, if a text was given beside a change; empty if `exact` contains it."""

    def change(self, target: Target) -> tuple[Changed, ...]:
        """The target's change with the files of this version."""
        if not self.files:
            return target.changes
        known = {c.path: c for c in target.changes}
        out = [self._one(c) for c in target.changes]
        new = [self._one(Changed(path, None, text)) for path, text in self.files.items() if path not in known]
        return tuple(out + new)

    def _one(self, change: Changed) -> Changed:
        if change.path not in self.files:
            return change
        after = self.files[change.path]
        # `written` bounds its work: comparing two long files would block the process for minutes.
        return replace(change, after=after, added=written(change.before, after))

    def to_json(self) -> dict[str, Json]:
        return {
            "version": self.n,
            "by": self.by,
            "text": self.text,
            "patch": self.patch,
            "files": [*sorted(self.files)],
            "changes": [*self.changes],
            "exact": self.exact,
            "whole": self.whole,
            "text_patch": self.text_patch,
        }


async def write(
    r: Debate, writer: Participant, now: ArtifactVersion, task: str, artifact: str
) -> ArtifactVersion | str:
    """Have the next version written, or return why there is none."""
    target, points = r.target, [p for p in r.ledger.points if weighing.is_open(r.ledger, p)]
    if _is_program(r, writer):
        return await _composed(r, writer, now, points)
    findings = r.quote("findings", render.findings_text(r.ledger, points))
    shared = {"fences": FENCES, "artifact": artifact, "findings": findings, "task": task}
    asks: list[Ask[Any]] = []
    if target.changes:
        asks.append(Ask(writer, fill(prompts.PATCH, **shared), NextPatch, _applies(r), "code", max_output=MOST_OUTPUT))
    if now.text:
        size = min(MOST_OUTPUT, 4096 + 2 * tokens(now.text))
        check = _is_whole(now, [f"({c.path})" for c in target.changes])
        asks.append(Ask(writer, fill(prompts.TEXT, **shared), NextText, check, "text", max_output=size))
    if not asks:
        return "there is nothing to write a next version of"
    answers = await r.ask_all("version", asks, need=0)
    if answers.failed and _is_program(r, writer):  # meanwhile a program became the writer's fallback
        return await _composed(r, writer, now, points)
    if answers.failed:
        return "; ".join(f"the {f.who.seat} wrote no next version ({describe(f)})" for f in answers.failed)
    return await _from_answers(r, writer, now, answers.answered)


def _is_program(r: Debate, writer: Participant) -> bool:
    """Whether a program answers for the writer.

    A critic's fallback counts: this is the last question to its seat, so a replay sees the same. A judge's fallback
    does not: it may come in a later round, and a replay would see it too early.
    """
    stand_in = r.stand_in(writer) if writer.seat == "critic" else ""
    return (ModelSpec.parse(stand_in) if stand_in else writer.spec).provider in PROGRAMS


async def _from_answers(
    r: Debate, writer: Participant, now: ArtifactVersion, answers: Sequence[Answer[Any]]
) -> ArtifactVersion | str:
    version = replace(now, n=now.n + 1, by=writer.seat, changes=())
    for answer in answers:
        if answer.complaints:
            return f"version {version.n} was not accepted: {'; '.join(answer.complaints)}"
        version = replace(version, changes=(*version.changes, *answer.value.changes))
        if isinstance(answer.value, NextText):
            version = replace(version, text=answer.value.text)
            continue
        patch = answer.value.patch

        async def apply(patch: str = patch) -> Json:
            done = await r.try_patch(patch)
            files, modes = {**now.files, **done.files}, {**now.modes, **done.modes}
            drawn = await _drawn(r, files, modes)
            return {
                **drawn,
                "files": dict[str, Json](files),
                "modes": dict[str, Json](modes),
                "complaint": done.complaint,
            }

        made = await r.once("version", apply, of=[patch, now.patch])
        assert isinstance(made, dict) and isinstance(made["files"], dict)
        if made["complaint"]:
            return f"version {version.n} was not accepted: {made['complaint']}"
        files = {path: None if text is None else str(text) for path, text in made["files"].items()}
        version = replace(version, files=files, **_read(made))
    return await _in_given_text(r, version)


async def _in_given_text(r: Debate, version: ArtifactVersion) -> ArtifactVersion:
    """Add the whole given text with this version in it, and its patch, to a version whose code is in the given text.

    The patch is for the file that the text was read from or, if there is none, for the session's `artifact.md`.
    """
    target = r.target
    text = whole(target, version.files, version.text)
    if not text:
        return version
    version = replace(version, whole=text)
    if target.is_beside_change:
        return await _beside_change(r, version)
    path, sides = target.file or GIVEN, BothTexts(target.given, text)

    async def draw() -> Json:
        patch = section(path, target.given, text, sides.differences(), sides=sides)
        exact, caveat = await r.as_it_stands(patch, {path: text}) if target.file else (patch.encode(), "")
        return {"exact": base64.b64encode(exact).decode(), "caveat": caveat}

    made = await r.once("whole", draw, of=[path, target.given, text])
    assert isinstance(made, dict)
    return replace(version, exact=str(made["exact"]), caveat=str(made["caveat"]))


async def _beside_change(r: Debate, version: ArtifactVersion) -> ArtifactVersion:
    """Add the patches to a version of a change and of a text beside it: one for the files, and one for the text.

    If the text is a file of the workspace, one patch is for both. Code blocks of the text are not among the files.
    """
    target, names = r.target, {block.name for block in split_mixed(r.target.given)[0]}
    own = {path: text for path, text in version.files.items() if path not in names}
    modes = {path: mode for path, mode in version.modes.items() if path not in names}
    path, before, after = target.file, target.given, version.whole
    if not path:
        path = GIVEN
        before, after = (render.artifact(replace(target, given=text)) for text in (before, after))

    async def draw() -> Json:
        sides = BothTexts(before, after)
        text = section(path, before, after, sides.differences(), sides=sides) if before != after else ""
        drawn = _read(await _drawn(r, own, modes)) if own else {"patch": "", "exact": "", "caveat": ""}
        exact, caveats = base64.b64decode(drawn["exact"]) or drawn["patch"].encode(), [drawn["caveat"]]
        if target.file:
            more, caveat = await r.as_it_stands(text, {path: after})
            exact, text, caveats = exact + more, "", [*caveats, caveat]
        return {"exact": base64.b64encode(exact).decode(), "caveat": "; ".join(filter(None, caveats)), "text": text}

    made = await r.once("whole", draw, of=[path, before, after, dict[str, Json](own)])
    assert isinstance(made, dict)
    return replace(version, exact=str(made["exact"]), caveat=str(made["caveat"]), text_patch=str(made["text"]))


async def _drawn(r: Debate, files: Mapping[str, str | None], modes: Mapping[str, str]) -> dict[str, Json]:
    """The patch that produces these files, as it was debated and as git accepts it."""
    patch = await r.difference(files, modes)
    exact, caveat = await r.as_it_stands(patch, files)
    same = exact == patch.encode()
    return {"patch": patch, "exact": "" if same else base64.b64encode(exact).decode(), "caveat": caveat}


def _read(made: Mapping[str, Json]) -> dict[str, Any]:
    """Read a patch from the record. Earlier versions of rebut recorded only its text."""
    modes = made.get("modes")
    return {
        "patch": str(made["patch"]),
        "exact": str(made.get("exact", "")),
        "caveat": str(made.get("caveat", "")),
        "modes": {path: str(mode) for path, mode in modes.items()} if isinstance(modes, dict) else {},
    }


def _applies(r: Debate) -> Any:
    async def check(reply: NextPatch) -> list[str]:
        complaint = (await r.try_patch(reply.patch)).complaint
        return [f"the patch does not apply to the version under review: {complaint}"] if complaint else []

    return check


def _is_whole(now: ArtifactVersion, stand_ins: Sequence[str]) -> Any:
    def check(reply: NextText) -> list[str]:
        if not reply.text:
            return ["the text is empty: give the whole text"]
        before, after = ([line.strip() for line in text.split("\n")] for text in (now.text, reply.text))
        lost = [line for line in stand_ins if line in before and after.count(line) != 1]
        if lost:
            return [f"{line} must be there once, on a line of its own: it stands for code of the text" for line in lost]
        short = len(reply.text) < len(now.text) // 4 and len(now.text) > 2000
        return ["the text is less than a quarter of what it was: give all of it, not a part"] if short else []

    return check


async def _composed(
    r: Debate, writer: Participant, now: ArtifactVersion, points: Sequence[Point]
) -> ArtifactVersion | str:
    """A version composed of the fixes that came with the findings."""
    texts = {c.path: c.after for c in now.change(r.target) if c.after is not None}
    fixed, taken = fixes(texts, points)
    if not fixed:
        return "no finding has a fix that could be applied"
    files: dict[str, str | None] = {**now.files, **fixed}

    async def diff() -> Json:
        return {**await _drawn(r, files, now.modes), "modes": dict[str, Json](now.modes)}

    found = await r.once("version", diff, of=[dict(files)])
    made = _read(found if isinstance(found, dict) else {"patch": found})
    done = tuple(f"{p.id}: {p.action or p.words()}" for p in points if p.id in taken)
    version = replace(now, n=now.n + 1, files=files, by=writer.seat, changes=done, **made)
    return await _in_given_text(r, version)


# what is known about each finding in the final version


def seen(ledger: Ledger, versions: Sequence[ArtifactVersion], final: ArtifactVersion, rounds: int) -> dict[str, Seen]:
    """Finding → what the final version is known to do about it. Findings that it does not affect have no entry.

    A finding is fixed only if a later version differs in what it cites, and the critic or the judge looked at that very
    finding there.
    """
    if final.n == 1:
        return {}
    whole = {part.path: part for part in parts(final.patch)}
    known = {p.id: _seen(ledger, p, versions, final, whole, rounds) for p in ledger.points}
    return {id: word for id, word in known.items() if word}


def _seen(
    ledger: Ledger,
    point: Point,
    versions: Sequence[ArtifactVersion],
    final: ArtifactVersion,
    whole: Mapping[str, FileChange],
    rounds: int,
) -> Seen:
    again = ledger.rerun(point.id, final.n)
    if again is not None and again.side in ("passes", "fails"):  # the finding's check was run on the final version
        return FIXED if again.side == "passes" else ""
    last = max([one.round for one in point.wordings] + [m.round for m in ledger.moves if m.point == point.id])
    looked = reviewed_in(last, versions)  # the version in which a participant last said something about the finding
    if ledger.status(point.id) == "resolved":
        if not _alike(point, looked, final):
            return CHANGED
        raised = reviewed_in(max(one.round for one in point.wordings), versions)
        cites_lines = any(lines_of(e.place) for e in point.evidence)
        return UNTOUCHED if looked.n > raised.n and cites_lines and _alike(point, raised, final) else FIXED
    if looked.n == final.n:
        return ""
    if rounds > final.round:
        return SILENT
    changed = any(_changes(one, reviewed_in(one.round, versions), final, whole) for one in point.wordings)
    return CHANGED if changed else ""


def reviewed_in(n: int, versions: Sequence[ArtifactVersion]) -> ArtifactVersion:
    """The version that was under review in a round."""
    return [version for version in versions if version.round < n or version.n == 1][-1]


def differs(point: Point, versions: Sequence[ArtifactVersion], n: int) -> bool:
    """Whether round `n` reviews a later version than the one in which a finding was last raised."""
    raised = max(one.round for one in point.wordings)
    return reviewed_in(raised, versions).n < reviewed_in(n, versions).n


def _alike(point: Point, a: ArtifactVersion, b: ArtifactVersion) -> bool:
    """Whether two versions have the same text, and the same content in every file that a finding cites."""
    places = [place for e in point.evidence if (place := lines_of(e.place))]
    return a.text == b.text and all(a.files.get(path, "") == b.files.get(path, "") for path, *_ in places)


def _changes(point: Point, seen: ArtifactVersion, final: ArtifactVersion, whole: Mapping[str, FileChange]) -> bool:
    """Whether the final version changes the lines that a finding cites, or the text."""
    for cited in point.evidence:
        place = lines_of(cited.place)
        if cited.mark == "absent" or place is None or place[0] not in final.files or place[0] not in whole:
            continue
        path, first, last = place
        spans = whole[path].spans
        if path in seen.files:
            spans = BothTexts(seen.files[path], final.files[path]).differences()
        if meets(spans, first, last):
            return True
    return bool(final.text) and final.text != seen.text


# which findings are outside the change


def outside(ledger: Ledger, target: Target, versions: Sequence[ArtifactVersion]) -> frozenset[str]:
    """The findings that cite only files or lines which the reviewed change does not touch.

    The lines that a diff shows around a change belong to it. Nothing is outside of a text, or of a file that is
    reviewed as a whole.
    """
    if not target.base or not target.changes:
        return frozenset()
    spans: dict[tuple[int, str], Sequence[Span] | None] = {}

    def touches(version: ArtifactVersion, place: tuple[str, int, int]) -> bool:
        path, first, last = place
        if (version.n, path) not in spans:
            found = [c for c in version.change(target) if path in (c.path, c.old_path)]
            both = [BothTexts(c.before, c.after).differences() for c in found if c.before is not None]
            # A new file belongs to the change as a whole.
            spans[version.n, path] = both[0] if both else None if found else ()
        known = spans[version.n, path]
        if known is None:
            return True
        near = range(first - CONTEXT, last + CONTEXT + 1)
        return any(_near(near, s.new, s.new_end) or _near(near, s.old, s.old_end) for s in known)

    def inside(point: Point) -> bool:
        version = reviewed_in(point.round, versions)
        places = [lines_of(e.place) for e in point.evidence if e.mark != "absent"]
        return not places or any(place is None or touches(version, place) for place in places)

    return frozenset(p.id for p in ledger.points if not any(inside(one) for one in p.wordings))


def _near(lines: range, start: int, end: int) -> bool:
    """Whether lines, counted from 1, meet those from `start` to `end`, counted from 0.

    An empty span counts as the line after it.
    """
    return lines.start <= max(end, start + 1) and start + 1 < lines.stop
