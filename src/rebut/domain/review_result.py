"""The result of a review: what was decided, what was found, what is left to do; for people and programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from rebut.core.frozen import frozen
from rebut.core.json_value import Json, as_row, remade
from rebut.core.markdown import backticks, inline
from rebut.core.text import counted, cut, plural, squeeze, wrapped
from rebut.domain.checks import CodeCheck, check_of
from rebut.domain.ledger import Ledger, MoveKind, Point, Slip

Decision = Literal["Keep Original", "Accept Opposite", "Compromise", "Stopped"]
MOST_SHOWN = 5
LONGEST_CONTENT = 20_000
ENDED = {
    "agreed": "the critic agrees",
    "clean": "static analysers found nothing",
    "unread": "no file of the change was read",
    "quiet": "two rounds brought nothing new",
    "rounds": "all rounds are used",
    "unwritten": "the chosen version could not be written",
    "contradiction": "the judge contradicts itself",
}
"""By `stopped_by`: what ended the review, for reviews that no choice ended."""

RULINGS: Mapping[MoveKind, str] = {"concede": "valid", "defend": "invalid", "maintain": "missing evidence"}
MOVES: Mapping[str, MoveKind] = {**{ruling: move for move, ruling in RULINGS.items()}, "fixed": "mend"}
"""What the judge rules → the move. That a finding is fixed says nothing about whether it was valid."""

Seen = Literal["", "fixed", "changed, not checked again", "not raised again", "called fixed, its file unchanged"]
FIXED: Seen = "fixed"
"""The final version differs, and the critic, the judge or a check looked for this very finding there: it is gone."""
CHANGED: Seen = "changed, not checked again"
"""The final version changes what the finding cites. No seat looked at the finding in that version."""
SILENT: Seen = "not raised again"
"""The final version was reviewed. No seat said whether it fixes the finding."""
UNTOUCHED: Seen = "called fixed, its file unchanged"
"""The critic or the judge calls it fixed. The final version leaves every file that the finding cites as it was."""
CHECK = "check"
"""The voice of a finding that the program raised, not a participant."""
OUTSIDE = "outside the change"
UNCHECKED = (CHANGED, SILENT, UNTOUCHED)


@frozen
class ReviewFinding:
    """A finding at the end of a review."""

    id: str
    severity: str
    """The severity at the end: as the judge weighed it, limited by what checking its evidence showed."""
    raised_as: str
    category: str
    text: str
    place: str = ""
    quote: str = ""
    mark: str = ""
    """What checking its first citation showed; empty where it cites nothing."""
    marks: tuple[str, ...] = ()
    ruling: str = ""
    """valid, invalid or missing evidence; empty without a ruling."""
    reason: str = ""
    action: str = ""
    fix: str = ""
    status: str = "raised"
    voices: tuple[str, ...] = ()
    round: int = 0
    struck: bool = False
    """Whether what it cites is absent, so that it cannot be a P1."""
    seen: Seen = ""
    """What is known about it in the final version, if that is not the first."""
    outside: bool = False
    """Whether it is about a file or lines that the reviewed change does not touch."""
    since: str = ""
    """The session of the earlier review that raised it; empty if this one did."""
    fixed_by: str = ""
    """The commit that fixed it since the earlier review, as the critic, the judge or an analyser confirmed."""
    check: CodeCheck | None = None
    """The code that should show it, and what running it showed."""
    rerun: str = ""
    """What that check does on the final version: passes, fails, cannot run; empty if it was not run there."""
    dismissed: str = ""
    """Why it was dismissed. Never on record: dismissals are read again each time, and they expire."""

    @property
    def hidden(self) -> str:
        """Why the finding is not shown at first; empty if it is."""
        if self.dismissed:
            return "dismissed"
        if self.ruling == "invalid":
            return "judged invalid"
        if self.status == "withdrawn":
            return "withdrawn"
        if self.is_fixed:
            return "fixed"
        if self.struck:
            return "struck for an absent citation"
        if self.outside:
            return OUTSIDE
        return "P3" if self.severity == "P3" else ""

    @property
    def is_fixed(self) -> bool:
        """Whether it was seen to be fixed. In a user's protocol, the participant that raised it may say so."""
        return self.seen == FIXED or (self.status == "resolved" and not self.seen)

    @property
    def checked(self) -> tuple[str, ...]:
        """What its check showed, in a word or two; nothing if it has none."""
        if self.check is None:
            return ()
        again = f", {self.rerun} on the final version" if self.rerun else ""
        return (f"check {self.check.mark}{again}",)

    def line(self) -> str:
        quote = f' "{cut(self.quote, 60)}"' if self.quote else ""
        said = [f"{self.mark or 'cites nothing'}{quote}", *self.checked, *([self.ruling] if self.ruling else [])]
        said += [self.seen or self.status] if self.seen or self.status in ("resolved", "withdrawn") else []
        said += [f"by {squeeze(self.fixed_by)}"] if self.fixed_by else []
        said += [OUTSIDE] if self.outside else []
        said += [f"dismissed: {squeeze(self.dismissed)}"] if self.dismissed else []
        where = f"{self.place} " if self.place else ""
        return f"{self.id} {where}{squeeze(self.text)} ({', '.join(said)})"


@frozen
class Recommended:
    """What the judge recommended in a round, and what was done."""

    round: int
    choice: str
    reason: str
    taken: str = ""
    by: str = ""
    """The seat that decided."""

    def line(self) -> str:
        other = f" (the {self.by} chose {self.taken})" if self.taken and self.taken != self.choice else ""
        return f"Round {self.round}: {self.choice}: {squeeze(self.reason)}{other}"


@frozen
class ReviewResult:
    """The result of a review, field by field."""

    session: str
    target: str
    rounds: int
    converged: bool
    decision: Decision
    artifact: str
    """Where the final artifact is, in a line."""
    folder: str = ""
    """The session's folder, where its files are."""
    content: str = ""
    """The final artifact itself, where it is a text."""
    patch: str = ""
    """The patch that makes the final artifact, where files change."""
    findings: tuple[ReviewFinding, ...] = ()
    history: tuple[Recommended, ...] = ()
    unresolved: tuple[str, ...] = ()
    next_actions: tuple[str, ...] = ()
    stopped_by: str = ""
    """agreed, unread, quiet, rounds, unwritten, minutes, limit, failed, or the choice A, B or E."""
    judge_failed: str = ""
    """In which round the judge was asked and gave no answer, and why."""
    slips: tuple[str, ...] = ()
    """Rulings that the judge walked back without new evidence, and findings that the critic dropped without reason."""
    earlier: str = ""
    """The session of the earlier review of this branch that this review continues."""
    since: str = ""
    """The commit that the earlier review reviewed."""
    checked: bool = False
    """Whether the critic could add checks, which were run."""
    analysed: bool = False
    """Whether the critic is a static analyser: if it finds nothing, that is no agreement."""

    @classmethod
    def of(cls, ledger: Ledger, decision: Decision, *, judge: str = "judge", **more: Any) -> ReviewResult:
        """The result of a review whose findings are the points of a ledger; `more` are other fields.

        Findings of P1 and P2 that stand are unresolved.
        """
        findings = findings_of(ledger, judge=judge)
        rounds = max((point.round for point in ledger.points), default=0)
        usual: dict[str, Any] = {
            **{"session": "", "target": "", "artifact": "as it was", "rounds": rounds, "converged": True},
            "unresolved": tuple(f"{f.id} ({f.severity}): {cut(f.text, 300)}" for f in findings if not f.hidden),
        }
        return cls(decision=decision, findings=findings, **{**usual, **more})

    @property
    def shown(self) -> tuple[ReviewFinding, ...]:
        """P1 and P2 that stand, the most severe first; in each severity, what the program proved wrong comes first."""
        left = (f for f in self.findings if not f.hidden)
        return tuple(sorted(left, key=lambda f: (f.severity, CHECK not in f.voices, _number(f.id))))

    @property
    def fixed_since(self) -> tuple[ReviewFinding, ...]:
        """Findings of the earlier review that were seen to be fixed by commits since, and that are not dismissed."""
        return tuple(f for f in self.findings if f.fixed_by and f.hidden == "fixed")

    @property
    def headline(self) -> str:
        """How many findings stand, how severe they are, and what ended the review: `3 findings stand, 1 P1; …`."""
        left = [f for f in self.findings if f.hidden in ("", "P3")]
        grave = sum(1 for f in left if f.severity == "P1")
        said = counted(len(left), "finding stands", "findings stand") if left else "no finding stands"
        said += f", {grave} P1" if grave else ""
        last = self.history[-1] if self.history else None
        chose = f"the {last.by or 'judge'} chose {last.taken or last.choice}" if last else ""
        ended = "clean" if self.analysed and self.stopped_by == "agreed" else self.stopped_by
        why = chose if self.stopped_by in ("A", "B", "E") else ENDED.get(ended, "")
        return "; ".join(part for part in (said, why) if part)

    def dismissing(self, reasons: Mapping[str, str]) -> ReviewResult:
        """The result with some findings dismissed. `reasons` says why, by the id of a finding."""
        heads = _heads(*reasons)
        return replace(
            self,
            findings=tuple(replace(f, dismissed=reasons.get(f.id, "")) for f in self.findings),
            unresolved=tuple(line for line in self.unresolved if not line.startswith(heads)),
            next_actions=tuple(line for line in self.next_actions if not line.startswith(heads)),
        )

    def to_json(self) -> dict[str, Json]:
        row = cast(dict[str, Any], as_row(self))
        if not self.checked:
            del row["checked"]
        for finding in row["findings"]:  # a review without checks is recorded as by versions that had none
            for name in ("check", "rerun"):
                if not finding[name]:
                    del finding[name]
        return row

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ReviewResult:
        findings = tuple(remade(ReviewFinding, _upgraded(row), check=check_of(row)) for row in data.get("findings", ()))
        history = tuple(remade(Recommended, row) for row in data.get("history", ()))
        return remade(cls, data, findings=findings, history=history)

    def hidden_line(self, shown: Sequence[ReviewFinding]) -> str:
        """The findings that the reader does not see, counted by reason; empty if none is hidden."""
        counts: dict[str, int] = {}
        for finding in self.findings:
            if finding not in shown:
                why = finding.hidden or "more of P1 and P2"
                counts[why] = counts.get(why, 0) + 1
        return ", ".join(f"{n} {why}" for why, n in counts.items())

    def concentration(self) -> dict[str, Json]:
        """How severity is concentrated: findings that stand, by file and by category, each with its severities."""
        left = [f for f in self.findings if f.hidden in ("", "P3")]
        named = {"files": [place_of(f) for f in left], "categories": [f.category or "other" for f in left]}
        out: dict[str, Json] = {}
        for name, groups in named.items():
            rows: dict[str, dict[str, int]] = {}
            for group, finding in zip(groups, left, strict=True):
                row = rows.setdefault(group, {})
                row[finding.severity] = row.get(finding.severity, 0) + 1
            first = sorted(rows, key=lambda group: [-rows[group].get(s, 0) for s in ("P1", "P2", "P3")])
            out[name] = {group: cast(Json, dict(sorted(rows[group].items()))) for group in first}
        return out

    def _concentrated(self) -> list[str]:
        rows = []
        for name, groups in self.concentration().items():
            said = [
                f"{group} {', '.join(f'{n} {severity}' for severity, n in cast(dict[str, int], counts).items())}"
                for group, counts in cast(dict[str, Json], groups).items()
            ]
            more = f"; {len(said) - MOST_SHOWN} more" if len(said) > MOST_SHOWN else ""
            rows += [f"by {CONCENTRATED[name]}: {'; '.join(said[:MOST_SHOWN])}{more}"] if said else []
        return rows

    def markdown(self, heading: str = "", notes: Sequence[Json] = ()) -> str:
        """The whole result, for `summary.md`; with the outcome's heading where that says more than the decision."""
        content = self.content[:LONGEST_CONTENT]
        fence = backticks(content)
        body = [
            *map(inline, self._where()),
            *(["", f"{fence}markdown", content.rstrip("\n"), fence] if content else []),
        ]
        rows = self._rows(body, self.findings, "", say=inline)
        more = [heading] if heading and heading != self.decision.upper() else []
        at = rows.index(f"- {self.decision}") + 1
        rows[at:at] = [f"- {inline(squeeze(str(one)))}" for one in (*more, *notes)]
        return "\n".join(rows) + "\n"

    def screen(self, *, width: int, everything: bool = False) -> str:
        """The result for a terminal: at most five P1 and P2, and one line for what is hidden."""
        shown = self.findings if everything else self.shown[:MOST_SHOWN]
        hidden = self.hidden_line(shown)
        hidden_row = f"- hidden: {hidden}; `rebut show ID --all` shows them" if hidden else ""
        rows = replace(self, unresolved=self._named(shown))._rows(
            self._where(), shown, hidden_row, None if everything else MOST_SHOWN
        )
        out: list[str] = []
        for row in rows:
            indent = "  " if row.startswith("- ") else "       " if re.match(r"\d+\. \[", row) else ""
            out += wrapped(row, width, hanging=indent)
        return "\n".join(out)

    def _named(self, shown: Sequence[ReviewFinding]) -> tuple[str, ...]:
        """The unresolved items, with findings that are listed above them by their ids only."""
        named = [f.id for f in shown if any(line.startswith(_heads(f.id)) for line in self.unresolved)]
        rest = tuple(line for line in self.unresolved if not line.startswith(_heads(*named)))
        return (f"{', '.join(named)}, as above", *rest) if named else rest

    def _where(self) -> list[str]:
        return [self.artifact, *([f"in {self.folder}"] if self.folder else [])]

    def _rows(
        self,
        artifact: Sequence[str],
        findings: Sequence[ReviewFinding],
        hidden: str,
        most: int | None = None,
        say: Callable[[str], str] = squeeze,
    ) -> list[str]:
        rows = ["## Debate Summary", "", f"Session: {self.session}", f"Target: {self.target}", f"Rounds: {self.rounds}"]
        rows += [f"Converged: {'yes' if self.converged else 'no'}", "", "### Final Decision", f"- {self.decision}", ""]
        rows += ["### Final Artifact", *artifact, "", "### Key Findings"]
        for severity in ("P1", "P2", "P3"):
            mine = [f for f in findings if f.severity == severity]
            # Findings that stand, but are not listed here, must not read as `none`.
            there = sum(1 for f in self.findings if f.severity == severity and f.hidden in ("", severity))
            none = f"{there}, hidden" if there else "none"
            rows += [f"- {severity}: {say(f.line())}" for f in mine] or [f"- {severity}: {none}"]
        rows += [hidden] if hidden else []
        rows += [f"- {say(row)}" for row in self._concentrated()]
        rows += ["", "### Judge Recommendation History", *(f"- {say(h.line())}" for h in self.history)]
        rows += [f"- {say(self.judge_failed)}"] if self.judge_failed else []
        rows += [] if self.history or self.judge_failed else ["- none: the judge was not asked"]
        rows += [f"- {say(slip)}" for slip in self.slips]
        rows += ["", "### Unresolved", *(f"- {say(u)}" for u in self.unresolved[:most] or ("none",))]
        rows += _omitted(self.unresolved, most)
        actions = self.next_actions[:most] or (self._left_to_do(),)
        rows += ["", "### Next Actions", *(f"{n}. [ ] {say(a)}" for n, a in enumerate(actions, 1))]
        return rows + _omitted(self.next_actions, most)

    def _left_to_do(self) -> str:
        """The next action, if neither the judge nor a finding names one."""
        if standing := [f.id for f in self.shown]:
            return f"Fix or answer {', '.join(standing)}: {plural(len(standing), 'it is', 'they are')} still open."
        if self.stopped_by == "unread":
            return "Have a model or a person read the change: none of its files was reviewed."
        return "Settle what is unresolved." if self.unresolved else "nothing is left to do"


def _upgraded(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A recorded finding with `seen`. Before `seen`, `resolved` meant only that the critic did not raise it again."""
    if "seen" in row:
        return row
    return {**row, "seen": SILENT if row.get("status") == "resolved" else CHANGED if row.get("mended") else ""}


CONCENTRATED = {"files": "file", "categories": "category"}


def place_of(finding: ReviewFinding) -> str:
    """The file that a finding cites, or the section of a text."""
    return re.sub(r":\d[\d,-]*$", "", finding.place) or "no place"


def _omitted(rows: Sequence[str], most: int | None) -> list[str]:
    return (
        [f"- {len(rows) - most} more; `rebut show ID --all` shows them"]
        if most is not None and len(rows) > most
        else []
    )


def _heads(*ids: str) -> tuple[str, ...]:
    """How the lines of these findings begin."""
    return tuple(f"{id}{mark}" for id in ids for mark in (" (", ": "))


def _number(id: str) -> int:
    digits = re.sub(r"\D", "", id)
    return int(digits) if digits else 0


# From a ledger to findings.


def severity(ledger: Ledger, point: Point) -> str:
    """The severity as the judge weighed it; never P1 for a point that rests on an absent citation."""
    weighed = ledger.severity(point.id)
    return "P2" if weighed == "P1" and point.struck else weighed


DECIDER = "decider"
"""The seat of the user who decides in place of the judge."""


def ruling(ledger: Ledger, point: Point, judge: str = "judge") -> str:
    """The judge's last ruling on a point. A concession is binding (C12), and a point that the judge repeats is valid.

    A point that the judge alone raised is weighed by another seat.
    """
    if point.voices == (judge,) and ledger.version > 1:
        weighed = [m.kind for m in ledger.moves if m.point == point.id and m.by != judge and m.kind in RULINGS]
        return RULINGS[weighed[-1]] if weighed else ""
    word = "valid" if judge in point.voices else ""
    own = [one for one in point.wordings if one.by == judge]
    for move in ledger.moves:
        if move.point == point.id and move.by == DECIDER and move.kind in RULINGS:
            word = RULINGS[move.kind]  # the user's own ruling counts, whatever the judge said
            continue
        mine = move.point == point.id and move.by == judge and move.kind in RULINGS
        if not mine or Slip("walked back", point.id, judge, move.round) in ledger.slips:
            continue
        # The judge considers a point valid that it raises again itself, in this round or later.
        if any(one.round >= move.round for one in own):
            word = "valid"
        else:
            word = "valid" if word == "valid" and move.kind == "maintain" else RULINGS[move.kind]
    return word


def reason(ledger: Ledger, point: Point, judge: str = "judge") -> str:
    own = point.voices == (judge,)
    said = [
        m.reason
        for m in ledger.moves
        if m.point == point.id and ((m.by == judge) != own or m.by == DECIDER) and m.reason
    ]
    return said[-1] if said else ""


def findings_of(
    ledger: Ledger,
    *,
    judge: str = "judge",
    seen: Mapping[str, Seen] | None = None,
    outside: Collection[str] = (),
    final: int = 1,
) -> tuple[ReviewFinding, ...]:
    """Every point of a ledger as a finding. `judge` is the seat that rules on them, `final` the last version.

    `seen` is what is known about findings in the final version, `outside` the ids of those outside the change.
    """
    out = []
    for p in ledger.points:
        first = p.evidence[0] if p.evidence else None
        out.append(
            ReviewFinding(
                id=p.id,
                severity=severity(ledger, p),
                raised_as=p.severity,
                category=p.category,
                text=p.words(),
                place=first.place if first else "",
                quote=first.quote if first else "",
                mark=first.mark if first else "",
                marks=tuple(e.mark for e in p.evidence),
                ruling=ruling(ledger, p, judge),
                reason=reason(ledger, p, judge),
                action="; ".join(dict.fromkeys(one.action for one in p.wordings if one.action)),
                fix=p.wordings[0].fix,  # it replaces the lines of the first citation
                status=ledger.final_status(p.id),
                voices=p.voices,
                round=p.round,
                struck=p.struck,
                seen=(seen or {}).get(p.id, ""),
                outside=p.id in outside,
                check=p.check,
                rerun=again.side if (again := ledger.rerun(p.id, final)) else "",
            )
        )
    return tuple(out)
