"""The closing call: one document made of two, with what was decided on each point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rebut.core.errors import ParticipantFailed
from rebut.core.text import plural
from rebut.core.types import Material
from rebut.domain.checks import to_weigh
from rebut.domain.forms import Form, cited
from rebut.domain.ledger import Claim, Ledger
from rebut.domain.prompts import fill
from rebut.engine.debate import Debate, Failure
from rebut.protocols.revise import ballot, log, prompts, render, reply_checks
from rebut.protocols.revise.forms import Plan, Verdict
from rebut.protocols.revise.prompts import Labels, shared
from rebut.protocols.revise.render import of_plan, of_verdict
from rebut.protocols.revise.state import ReviseState
from rebut.protocols.shared import LONG, aborted

F = TypeVar("F", bound=Form)


class LimitReached(Exception):
    """A limit leaves no room for the closing call."""


async def synthesized(debate: Debate, state: ReviseState) -> tuple[str, str]:
    """Ask for the synthesis. Returns the result, and its summary in a sentence.

    Raises `LimitReached`, or `Aborted` if the synthesizer fails twice; resume then asks it again.
    """
    ledger = debate.ledger
    if state.stage.name == "plan":
        plan = await _ask(debate, state, Plan, reply_checks.plan(ledger))
        state.fallbacks = debate.fallbacks
        state.left_out = reply_checks.grave(p for p in ledger.points if p.id not in plan.ruled())
        debate.take_up({}, plan.document)
        state.result = await render.looked_up(
            debate, "synthesis@synthesizer", "synthesizer", state.complete, plan.document
        )
        state.ignored = reply_checks.overruled_by_plan(ledger, plan)
        return of_plan(plan, debate.ledger, state), plan.summary
    form = await _ask(debate, state, Verdict, reply_checks.verdict(ledger))
    state.fallbacks = debate.fallbacks
    debate.take_up({}, "")  # findings are about the change, not about a document
    claims = [Claim(f.text, "synthesizer", state.complete, cited(f.evidence)) for f in form.findings if f.text]
    placed = await debate.enter("synthesis@synthesizer", claims)
    state.result = tuple(claim for _, claim in placed if isinstance(claim, Claim))
    state.contradiction = _contradiction(form, placed)
    untied = reply_checks.untied(ledger, form)
    state.left_out = reply_checks.grave(untied)
    state.ignored = reply_checks.overruled_by_verdict(ledger, form)
    return of_verdict(form, placed, state, untied, debate.ledger), f"{form.decision}: {form.summary}"


def _contradiction(form: Verdict, placed: render.Placed) -> str:
    """Say how the decision contradicts the findings. No finding that rests on an absent citation has high severity."""
    pairs = zip([f for f in form.findings if f.text], placed, strict=True)
    high = [
        id
        for f, (id, claim) in pairs
        if isinstance(claim, Claim) and render.weighed(f.severity, claim.evidence)[0] == "high"
    ]
    if form.decision != "approve" or not high:
        return ""
    return f"the synthesizer approves, although {', '.join(high)} {plural(len(high), 'is', 'are')} of high severity"


async def baseline(debate: Debate, state: ReviseState) -> str:
    """A synthesis of the first drafts alone, to compare with; empty if the call failed."""
    schema: type[Plan | Verdict] = Plan if state.stage.name == "plan" else Verdict
    got = await debate.try_ask(
        debate.seat("synthesizer"),
        "baseline",
        _prompt(debate, state, first=True),
        schema=schema,
        check=reply_checks.plan(Ledger()) if schema is Plan else reply_checks.verdict(Ledger()),
        max_output=LONG,
        material=_shown(debate, state, first=True),
    )
    if isinstance(got, Failure):
        return ""
    if isinstance(got.value, Plan):
        return got.value.document
    claims = [Claim(f.text, "", 0, cited(f.evidence)) for f in got.value.findings if f.text]
    return of_verdict(got.value, [("", claim) for claim in claims], state)


async def _ask(debate: Debate, state: ReviseState, schema: type[F], check: Callable[[F], list[str]]) -> F:
    who, prompt, shown = debate.seat("synthesizer"), _prompt(debate, state), _shown(debate, state)
    got = await debate.try_ask(
        who, "synthesis", prompt, schema=schema, check=check, closing=True, max_output=LONG, material=shown
    )
    if not isinstance(got, Failure):
        return got.value
    if got.kind == "budget":
        raise LimitReached(got.message)
    try:
        again = await debate.ask(
            who, "synthesis.again", prompt, schema=schema, check=check, closing=True, max_output=LONG, material=shown
        )
    except ParticipantFailed as error:
        if error.kind == "budget":
            raise LimitReached(error.message) from error
        hint = "Every document is kept. Resume when it can answer, or fork with --seat synthesizer=…."
        raise aborted(debate, who, f"gave no {state.stage.name}", error, hint) from error
    return again.value


def _shown(debate: Debate, state: ReviseState, *, first: bool = False) -> Material:
    """What a person who merges the documents is shown."""
    ledger = debate.ledger if state.settings.debates and not first else Ledger()
    texts = [(versions[0] if first else versions[-1]).text for versions in state.versions]
    documents = (texts[0], texts[-1])
    if state.stage.name == "plan":
        return Material(ballot=ballot.of_plan(debate.topic, documents, ledger.points))
    return Material(ballot=ballot.of_verdict(debate.topic, documents, ledger.open))


def _prompt(debate: Debate, state: ReviseState, *, first: bool = False) -> str:
    """`first`: for a synthesis of the first drafts alone."""
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
    ) + (to_weigh("point", debate.runners) if ledger.checks else "")


def _versions(debate: Debate, state: ReviseState, first: bool) -> str:
    labels, out = Labels(state.settings, state.files), []
    for author, versions in enumerate(state.versions):
        version = versions[0] if first else versions[-1]
        if author in state.stale and not first:
            out.append(fill(prompts.STALE, round=str(state.rounds[-1].n)))
        label = labels.ordinal(author)
        ran = "" if first else render.checked(debate, label, state.authors[author].seat)
        out.append(debate.quote(label, version.text) + render.citation_results(debate, label, version.claims) + ran)
    return "\n\n".join(out)


def _record(debate: Debate, state: ReviseState) -> str:
    """All critiques, the log and the ledger, without the authors' names unless these are to be shown."""
    labels = Labels(state.settings, state.files)
    files, parts = labels.neutral_files(), []
    for played in state.rounds:
        for by in sorted(played.critiques):
            one = played.critiques[by]
            text = render.critique(
                one.form,
                one.weaknesses,
                one.disagreements,
                files.source(1 - by),
                played.n,
                one.strengths,
                code=False,  # the code is shown below, with the points
            )
            parts.append(debate.quote(f"round {played.n}, critique of {labels.ordinal(1 - by)}", text))
    names = [labels.neutral(n) for n in range(2)]
    neutral = log.LogNames([name.capitalize() for name in names], _renamed(state), reasons=False)
    parts.append(debate.quote("the debate log", log.section(state, neutral)))
    seats = [who.seat for who in state.authors]
    parts.append(debate.quote("the points at issue", render.points(debate.ledger, seats, names)))
    return "".join(f"\n\n{part}" for part in parts)


def _renamed(state: ReviseState) -> Callable[[str], str]:
    """Return a function that gives a file's name for the synthesizer: the name without its author's name."""
    labels = Labels(state.settings, state.files)
    ours, theirs = state.files.all(state.planned), labels.neutral_files().all(state.planned)
    known = dict(zip(ours, theirs, strict=True))
    by_name = {Path(state.path(name)).name: shown for name, shown in known.items()}

    def shown(path: str) -> str:
        name = Path(path).name
        # A file that was written beside another one has the session's id before its suffix.
        return by_name.get(name) or by_name.get(f"{name.split('.')[0]}.md", "a file of its own")

    return shown


def _rulings(state: ReviseState, ledger: Ledger) -> str:
    if state.stage.name == "plan":
        ids = ", ".join(p.id for p in ledger.points)
        return fill(prompts.RULINGS_PLAN, points=ids) if ids else prompts.NO_RULINGS
    ids = ", ".join(p.id for p in ledger.open)
    return " " + fill(prompts.RULINGS_REVIEW, open=ids) if ids else ""
