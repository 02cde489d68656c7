"""The closing call: one document out of two, with an account of what became of the debate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rebut.core.errors import Aborted, ParticipantFailed
from rebut.domain.forms import Form, cited
from rebut.domain.ledger import Claim, Ledger
from rebut.domain.prompts import fill
from rebut.engine.debate import Debate, Failure
from rebut.protocols.revise import log, prompts as words, prose, render as rendering, reply_checks as rules
from rebut.protocols.revise.forms import Plan, Verdict
from rebut.protocols.revise.material import Labels, shared
from rebut.protocols.revise.results import of_plan, of_verdict
from rebut.protocols.revise.state import Course
from rebut.protocols.shared import LONG

F = TypeVar("F", bound=Form)


class NoMoney(Exception):
    """A limit leaves no room for the closing call."""


async def synthesized(debate: Debate, course: Course) -> tuple[str, str]:
    """The result, and what it comes to in a sentence.

    Raises `NoMoney`, or `Aborted` when the synthesizer fails twice: then resume asks it again.
    """
    ledger = debate.ledger
    if course.stage.name == "plan":
        plan = await _ask(debate, course, Plan, rules.plan(ledger))
        debate.take_up({}, plan.document)
        course.result = await prose.looked_up(
            debate, "synthesis@synthesizer", "synthesizer", course.complete, plan.document
        )
        return of_plan(plan, ledger, course), plan.summary
    form = await _ask(debate, course, Verdict, rules.verdict(ledger))
    debate.take_up({}, "")  # findings are about the change, not about a document
    claims = [Claim(f.text, "synthesizer", course.complete, cited(f.evidence)) for f in form.findings if f.text]
    placed = await debate.enter("synthesis@synthesizer", claims)
    course.result = tuple(claim for _, claim in placed if isinstance(claim, Claim))
    return of_verdict(form, placed, course), f"{form.decision}: {form.summary}"


async def baseline(debate: Debate, course: Course) -> str:
    """What the synthesizer makes of the first drafts alone; empty if it could not be asked."""
    prompt, who = _prompt(debate, course, first=True), debate.seat("synthesizer")
    if course.stage.name == "plan":
        check = rules.plan(Ledger())
        plan = await debate.try_ask(who, "baseline", prompt, schema=Plan, check=check, max_output=LONG)
        return "" if isinstance(plan, Failure) else plan.value.document
    weighed = rules.verdict(Ledger())
    verdict = await debate.try_ask(who, "baseline", prompt, schema=Verdict, check=weighed, max_output=LONG)
    if isinstance(verdict, Failure):
        return ""
    claims = [Claim(f.text, "", 0, cited(f.evidence)) for f in verdict.value.findings if f.text]
    return of_verdict(verdict.value, [("", claim) for claim in claims], course)


async def _ask(debate: Debate, course: Course, schema: type[F], check: Callable[[F], list[str]]) -> F:
    who, prompt = debate.seat("synthesizer"), _prompt(debate, course)
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
        raise Aborted(
            f"the synthesizer ({debate.speaker(who)}) gave no {course.stage.name}: {error.kind}, {error.message}",
            error.hint or "Everything written is kept. Resume when it can answer, or fork with --seat synthesizer=….",
        ) from error
    return again.value


def _prompt(debate: Debate, course: Course, *, first: bool = False) -> str:
    """`first` for what would have come of the first drafts alone."""
    argued = course.settings.debates and not first
    ledger = debate.ledger if argued else Ledger()
    template = words.SYNTHESIZE_PLAN if course.stage.name == "plan" else words.SYNTHESIZE_REVIEW
    return fill(
        template,
        **shared(debate, rule=False),
        argued=", after their authors argued about them" if argued else "",
        versions=_versions(debate, course, first),
        record=_record(debate, course) if argued else "",
        rulings=_rulings(course, ledger),
    )


def _versions(debate: Debate, course: Course, first: bool) -> str:
    labels, out = Labels(course.settings, course.files), []
    for author, versions in enumerate(course.versions):
        version = versions[0] if first else versions[-1]
        if author in course.stale and not first:
            out.append(fill(words.STALE, round=str(course.rounds[-1].n)))
        label = labels.ordinal(author)
        out.append(debate.quote(label, version.text) + prose.shown(debate, label, version.claims))
    return "\n\n".join(out)


def _record(debate: Debate, course: Course) -> str:
    """All critiques, the log and the ledger, without anybody's name unless names are to be shown."""
    labels = Labels(course.settings, course.files)
    files, parts = labels.neutral_files(), []
    for played in course.rounds:
        for by in sorted(played.critiques):
            one = played.critiques[by]
            text = rendering.critique(
                one.form, one.weaknesses, one.disagreements, files.source(one.of), played.n, one.strengths
            )
            parts.append(debate.quote(f"round {played.n}, critique of {labels.ordinal(one.of)}", text))
    names = [labels.neutral(n) for n in range(2)]
    neutral = log.Naming([name.capitalize() for name in names], _renamed(course), reasons=False)
    parts.append(debate.quote("the debate log", log.section(course, neutral)))
    seats = [who.seat for who in course.authors]
    parts.append(debate.quote("the points at issue", rendering.points(debate.ledger, seats, names)))
    return "".join(f"\n\n{part}" for part in parts)


def _renamed(course: Course) -> log.Told:
    """A file's name for the synthesizer: the one that it would have if its author had no name."""
    labels = Labels(course.settings, course.files)
    ours, theirs = course.files.all(course.planned), labels.neutral_files().all(course.planned)
    known = dict(zip(ours, theirs, strict=True))
    id_free = {Path(course.path(name)).name: told for name, told in known.items()}

    def told(path: str) -> str:
        name = Path(path).name
        # One that stands beside its place carries the session's id before its ending.
        return id_free.get(name) or id_free.get(f"{name.split('.')[0]}.md", "a file of its own")

    return told


def _rulings(course: Course, ledger: Ledger) -> str:
    if course.stage.name == "plan":
        ids = ", ".join(p.id for p in ledger.points)
        return fill(words.RULINGS_PLAN, points=ids) if ids else words.NO_RULINGS
    ids = ", ".join(p.id for p in ledger.open)
    return " " + fill(words.RULINGS_REVIEW, open=ids) if ids else ""
