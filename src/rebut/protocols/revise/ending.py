"""The closing call: one document out of two, with an account of what became of the debate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rebut.core.errors import ParticipantFailed
from rebut.core.types import Json
from rebut.domain.forms import Form, cited
from rebut.domain.ledger import Claim, Ledger
from rebut.domain.outcome import Outcome
from rebut.domain.prompts import fill
from rebut.domain.worth import Worth
from rebut.engine.debate import Debate, Failure
from rebut.protocols.revise import (
    prompts,
    render,
    reply_checks,
)
from rebut.protocols.revise.forms import Plan, Verdict
from rebut.protocols.revise.prompts import Labels, shared
from rebut.protocols.revise.render import of_plan, of_verdict, tally
from rebut.protocols.revise.state import ReviseState
from rebut.protocols.shared import LONG, aborted, of_rounds

F = TypeVar("F", bound=Form)


class NoMoney(Exception):
    """A limit leaves no room for the closing call."""


async def synthesized(debate: Debate, state: ReviseState) -> tuple[str, str]:
    """The result, and what it comes to in a sentence.

    Raises `NoMoney`, or `Aborted` when the synthesizer fails twice: then resume asks it again.
    """
    ledger = debate.ledger
    if state.stage.name == "plan":
        plan = await _ask(debate, state, Plan, reply_checks.plan(ledger))
        debate.take_up({}, plan.document)
        state.result = await render.looked_up(
            debate, "synthesis@synthesizer", "synthesizer", state.complete, plan.document
        )
        return of_plan(plan, ledger, state), plan.summary
    form = await _ask(debate, state, Verdict, reply_checks.verdict(ledger))
    debate.take_up({}, "")  # findings are about the change, not about a document
    claims = [Claim(f.text, "synthesizer", state.complete, cited(f.evidence)) for f in form.findings if f.text]
    placed = await debate.enter("synthesis@synthesizer", claims)
    state.result = tuple(claim for _, claim in placed if isinstance(claim, Claim))
    return of_verdict(form, placed, state), f"{form.decision}: {form.summary}"


async def baseline(debate: Debate, state: ReviseState) -> str:
    """What the synthesizer makes of the first drafts alone; empty if it could not be asked."""
    prompt, who = _prompt(debate, state, first=True), debate.seat("synthesizer")
    if state.stage.name == "plan":
        check = reply_checks.plan(Ledger())
        plan = await debate.try_ask(who, "baseline", prompt, schema=Plan, check=check, max_output=LONG)
        return "" if isinstance(plan, Failure) else plan.value.document
    weighed = reply_checks.verdict(Ledger())
    verdict = await debate.try_ask(who, "baseline", prompt, schema=Verdict, check=weighed, max_output=LONG)
    if isinstance(verdict, Failure):
        return ""
    claims = [Claim(f.text, "", 0, cited(f.evidence)) for f in verdict.value.findings if f.text]
    return of_verdict(verdict.value, [("", claim) for claim in claims], state)


async def _ask(debate: Debate, state: ReviseState, schema: type[F], check: Callable[[F], list[str]]) -> F:
    who, prompt = debate.seat("synthesizer"), _prompt(debate, state)
    got = await debate.try_ask(who, "synthesis", prompt, schema=schema, check=check, closing=True, max_output=LONG)
    if not isinstance(got, Failure):
        return got.value
    if got.kind == "budget":
        raise NoMoney(got.message)
    try:
        again = await debate.ask(
            who, "synthesis.again", prompt, schema=schema, check=check, closing=True, max_output=LONG
        )
    except ParticipantFailed as error:
        if error.kind == "budget":
            raise NoMoney(error.message) from error
        hint = "Every document is kept. Resume when it can answer, or fork with --seat synthesizer=…."
        raise aborted(debate, who, f"gave no {state.stage.name}", error, hint) from error
    return again.value


def _prompt(debate: Debate, state: ReviseState, *, first: bool = False) -> str:
    """`first` for what would have come of the first drafts alone."""
    argued = state.settings.debates and not first
    ledger = debate.ledger if argued else Ledger()
    template = prompts.SYNTHESIZE_PLAN if state.stage.name == "plan" else prompts.SYNTHESIZE_REVIEW
    return fill(
        template,
        **shared(debate, rule=False),
        argued=", after their authors debated them" if argued else "",
        versions=_versions(debate, state, first),
        record=_record(debate, state) if argued else "",
        rulings=_rulings(state, ledger),
    )


def _versions(debate: Debate, state: ReviseState, first: bool) -> str:
    labels, out = Labels(state.settings, state.files), []
    for author, versions in enumerate(state.versions):
        version = versions[0] if first else versions[-1]
        if author in state.stale and not first:
            out.append(fill(prompts.STALE, round=str(state.rounds[-1].n)))
        label = labels.ordinal(author)
        out.append(debate.quote(label, version.text) + render.shown(debate, label, version.claims))
    return "\n\n".join(out)


def _record(debate: Debate, state: ReviseState) -> str:
    """All critiques, the log and the ledger, without anybody's name unless names are to be shown."""
    labels = Labels(state.settings, state.files)
    files, parts = labels.neutral_files(), []
    for played in state.rounds:
        for by in sorted(played.critiques):
            one = played.critiques[by]
            text = render.critique(
                one.form, one.weaknesses, one.disagreements, files.source(one.of), played.n, one.strengths
            )
            parts.append(debate.quote(f"round {played.n}, critique of {labels.ordinal(one.of)}", text))
    names = [labels.neutral(n) for n in range(2)]
    neutral = render.LogNames([name.capitalize() for name in names], _renamed(state), reasons=False)
    parts.append(debate.quote("the debate log", render.log_section(state, neutral)))
    seats = [who.seat for who in state.authors]
    parts.append(debate.quote("the points at issue", render.points(debate.ledger, seats, names)))
    return "".join(f"\n\n{part}" for part in parts)


def _renamed(state: ReviseState) -> render.Told:
    """A file's name for the synthesizer: the one that it would have if its author had no name."""
    labels = Labels(state.settings, state.files)
    ours, theirs = state.files.all(state.planned), labels.neutral_files().all(state.planned)
    known = dict(zip(ours, theirs, strict=True))
    id_free = {Path(state.path(name)).name: told for name, told in known.items()}

    def told(path: str) -> str:
        name = Path(path).name
        # One that stands beside its place carries the session's id before its ending.
        return id_free.get(name) or id_free.get(f"{name.split('.')[0]}.md", "a file of its own")

    return told


def _rulings(state: ReviseState, ledger: Ledger) -> str:
    if state.stage.name == "plan":
        ids = ", ".join(p.id for p in ledger.points)
        return fill(prompts.RULINGS_PLAN, points=ids) if ids else prompts.NO_RULINGS
    ids = ", ".join(p.id for p in ledger.open)
    return " " + fill(prompts.RULINGS_REVIEW, open=ids) if ids else ""


# How a revision ends: each way with a heading of its own, so that a degraded one never reads as a whole one.


def heading(state: ReviseState, contested: bool) -> str:
    word = "PLAN" if state.stage.name == "plan" else "REVIEW VERDICT"
    if not state.settings.debates:
        return f"{word} OUT OF TWO DRAFTS, NOT DEBATED"
    done, budget = state.complete, state.planned
    if state.cut_short:
        stale = ", ONE VERSION STALE" if state.stale else ""
        return f"{word} AFTER {of_rounds(done, budget)}{stale}"
    if not contested:
        word = f"UNCONTESTED {word}"
    if state.converged:
        return f"{word}, CONVERGED AFTER {of_rounds(done, budget)}"
    return f"{word} AFTER {done} ROUND{'' if done == 1 else 'S'}"


def ended(
    debate: Debate, state: ReviseState, text: str, decision: str, figures: Figures, notes: Sequence[str] = ()
) -> Outcome:
    debated = state.settings.debates
    page, rows = (figures.markdown(), figures.rows()) if debated else ("", ())
    return Outcome(
        kind="synthesis",
        heading=heading(state, bool(debate.ledger.points or debate.ledger.unplaced)),
        decision=decision,
        conclusive=not state.cut_short and not notes,
        stopped=state.cut_short,
        final=f"{text}\n{page}" if page else text,
        data=told(state),
        notes=tuple(notes),
        rows=(*rows, *_where(state)),
        worth=figures.worth(state.files.names, "it ended early" if state.cut_short else "")
        if debated
        else Worth(caveat="the drafts were not debated", keys=DRAFTS),
    )


def no_synthesis(state: ReviseState, why: str) -> Outcome:
    """The money for the closing call was not there: both documents stand side by side."""
    texts = [f"# {state.files.names[n]}\n\n{versions[-1].text}" for n, versions in enumerate(state.versions)]
    return Outcome(
        kind="no synthesis",
        heading=f"NO SYNTHESIS, {of_rounds(state.complete, state.planned)}",
        conclusive=False,
        stopped=why,
        final="\n\n".join(texts) + "\n",
        data=told(state),
        rows=_where(state),
        worth=Worth(caveat="there is no synthesis to hold the drafts against", keys=DRAFTS),
    )


def one_sided(state: ReviseState) -> Outcome:
    [there] = [versions[-1] for versions in state.versions if versions]
    word = state.stage.name.upper()
    return Outcome(
        kind="one-sided",
        heading=f"ONE-SIDED {word}, 1 OF 2 AUTHORS",
        conclusive=False,
        stopped=state.cut_short,
        final=f"[WARN] Only one of two authors wrote a {state.stage.name}; nobody examined it.\n\n{there.text}",
        data=told(state),
        rows=_where(state),
        worth=Worth(caveat="only one of two authors wrote, so nothing was debated", keys=DRAFTS),
    )


def single(state: ReviseState, notes: Sequence[str]) -> Outcome:
    return Outcome(
        kind="single",
        heading="SINGLE REVIEW, NOT DEBATED",
        conclusive=not notes,
        final=state.latest(0).text,
        data=told(state),
        notes=tuple(notes),
        rows=_where(state),
    )


def told(state: ReviseState) -> dict[str, Json]:
    return {
        "stage": state.stage.name,
        "strategy": state.settings.strategy,
        "phase": state.phase,
        "rounds_completed": state.complete,
        "converged": state.converged,
        "stale": [state.files.names[author] for author in sorted(state.stale)],
        "taken_up": [
            state.files.version(author, 1)
            for author, versions in enumerate(state.versions)
            if versions and versions[0].taken_up
        ],
    }


def _where(state: ReviseState) -> tuple[tuple[str, str], ...]:
    up = [f"{v[0].path.rpartition('/')[2]} was there and was taken up" for v in state.versions if v and v[0].taken_up]
    folder = "/".join(state.folder.parts[-3:])
    if state.settings.shared and state.settings.place:
        folder = str(state.folder)
    latest = [versions[-1].path for versions in state.versions if versions]
    # One document is the result itself where there was no other to set beside it.
    path = state.result_path or (latest[0] if len(latest) == 1 else "")
    # Nobody knows by heart where a session lies, so that what was asked for is named in full there.
    rows = [("result", f"{folder}/{path.rpartition('/')[2]}" if state.settings.shared else path)] if path else []
    inside = "" if state.settings.shared else ", in the session's own folder"
    return (*_cited(state), *rows, ("files", "; ".join([folder + inside, *up])))


def _cited(state: ReviseState) -> tuple[tuple[str, str], ...]:
    """What the last version of each document cites; the result's first, where there is one."""
    named = [("result", state.result)]
    named += [(state.files.names[n], versions[-1].claims) for n, versions in enumerate(state.versions) if versions]
    rows = [f"{name} cites {cites}" for name, claims in named if (cites := tally(claims))]
    return tuple(("citations" if not n else "", row) for n, row in enumerate(rows))


# Was it worth it: what a debate changed between the first drafts and its end. Counted by the program, not judged.

DRAFTS = ("r0/draft*",)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures on one debate."""

    raised: int
    conceded: int
    defended: int
    withdrawn: int
    open: int
    changed: tuple[tuple[str, int, int], ...]
    """Author, sections of its first draft that changed or went, sections it had."""
    baseline: str = ""
    """How the result differs from a synthesis of the first drafts alone, where that was asked for."""

    @property
    def points(self) -> str:
        said = [f"{count} {name}" for name, count in self._fates() if count]
        return f"{self.raised} point{'' if self.raised == 1 else 's'} raised" + (f": {', '.join(said)}" if said else "")

    def _fates(self) -> list[tuple[str, int]]:
        return [
            ("conceded", self.conceded),
            ("defended", self.defended),
            ("withdrawn", self.withdrawn),
            ("open", self.open),
        ]

    @property
    def sections(self) -> str:
        return "; ".join(f"{name}: {n} of {of} section{'' if of == 1 else 's'} changed" for name, n, of in self.changed)

    def rows(self) -> tuple[tuple[str, str], ...]:
        return (("baseline", self.baseline),) if self.baseline else ()

    def worth(self, names: Sequence[str], caveat: str = "") -> Worth:
        """The same in the shape that every protocol's account has."""
        moved, of = sum(n for _, n, _ in self.changed), sum(of for *_, of in self.changed)
        sections = [f"{moved} of {of} section{'' if of == 1 else 's'} of the drafts changed"] if moved else []
        return Worth(
            first=f"two unargued drafts, of {' and '.join(names)}",
            points=tuple((name, count) for name, count in self._fates() if count),
            changed=tuple(sections),
            same=not sections,
            caveat=caveat,
            keys=DRAFTS,
        )

    def markdown(self) -> str:
        body = [f"- Points: {self.points}", f"- Sections: {self.sections or 'nothing changed'}"]
        body += [f"- Baseline: {self.baseline}"] if self.baseline else []
        return "## Was It Worth It\n\n" + "\n".join(body) + "\n"


def counted(ledger: Ledger, state: ReviseState, baseline: str = "") -> Figures:
    conceded, defended = ledger.having("conceded", "partly accepted", "resolved"), ledger.having("defended")
    withdrawn = ledger.having("withdrawn")
    changed = []
    for author, versions in enumerate(state.versions):
        if len(versions) > 1:
            changed.append((state.files.names[author], *reply_checks.changed(versions[0].text, versions[-1].text)))
    rest = len(ledger.points) - len(conceded) - len(defended) - len(withdrawn)
    return Figures(len(ledger.points), len(conceded), len(defended), len(withdrawn), rest, tuple(changed), baseline)


def compared(baseline: str, result: str) -> str:
    """One line on two documents: the synthesis of the first drafts alone, and the one that was argued out."""
    changed, of = reply_checks.changed(baseline, result)
    new, among = reply_checks.changed(result, baseline)
    words = len(result.split()) - len(baseline.split())
    return (
        f"against a synthesis of the first drafts alone, {changed} of its {of} sections read differently or are gone, "
        f"{new} of {among} here are not in it, {words:+} words"
    )
