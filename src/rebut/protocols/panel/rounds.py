"""The rounds of a panel: all challenge at once, the lead confronts what is contested, or answers remarks in brief."""

from __future__ import annotations

from rebut.core.errors import ParticipantFailed
from rebut.domain.ledger import Entry
from rebut.domain.prompts import FENCES, fill
from rebut.engine.debate import Ask, Debate, Failure, Round
from rebut.protocols.panel import personas_part as personas, prompts as words, render as telling, reply_checks as rules
from rebut.protocols.panel.forms import Brief, Challenge, Confrontation
from rebut.protocols.panel.parts import answered, gravest, lead_failed, raised, shared, told, touched
from rebut.protocols.panel.state import Cause, Challenger, Course, Position


async def challenge(r: Round, course: Course) -> None:
    """All challengers at once."""
    here = [c for c in course.challengers if c.stand != "failed"]
    case = r.quote(
        "the lead's case", telling.case(course.position.text, r.ledger, course.weaknesses, course.assumptions)
    )
    prompt = fill(words.CHALLENGE, **shared(r), case=case)
    wrong = await touched(r, course, "personas")
    asks = [
        Ask(
            c.who,
            told(c, prompt),
            Challenge,
            rules.challenge(r.ledger, personas.items(c.persona)),
            refused=wrong.get(c.seat, ""),
        )
        for c in here
    ]
    got = await r.ask_all("challenge", asks, need=r.settings.min_challengers, unreadable=True)
    entries: list[Entry] = []
    for c, answer in zip(here, got, strict=True):
        if isinstance(answer, Failure):
            _failed(c, answer, course, r.n)
            continue
        form, looks_for = answer.value, personas.items(c.persona)
        c.verdict, c.strength = form.verdict, rules.strength_of(form)
        if rules.accepts(form, looks_for):
            c.accepts(1, "agree" if form.verdict == "agree" else "minor", form.summary)
        else:
            c.doubted = rules.doubtful(form, looks_for)
            strength = rules.strongest("moderate", c.strength) if c.doubted else c.strength
            concern = "agreed without naming what it examined" if c.doubted else gravest(form.points, form.summary)
            c.objects(strength, form.summary, concern)
            if c.doubted:
                course.notes.append(
                    f"{c.shown} agreed in round 1 and named nothing it examined: counted as partial, moderate"
                )
        entries += raised(c, form.points, r.n)
    course.at_once = len(course.validated)
    await r.note("challenge", entries)


async def confront(r: Round, course: Course) -> bool:
    """The lead answers what is contested; False when a limit left no room for that."""
    contested = rules.contested(r.ledger, (c.seat for c in course.dissenters))
    points = contested + [p for p in rules.unanswered(r.ledger) if p not in contested]
    if not points:
        return True  # only agreements that showed no work: there is nothing to answer
    before = course.position
    prompt = fill(
        words.CONFRONT,
        **shared(r),
        after=str(r.n - 1),
        version=str(before.version),
        position=r.quote("your position", before.text),
        points=r.quote("the contested points", telling.points(r.ledger, points, course.lens_of)),
        open=", ".join(p.id for p in points),
    )
    check = rules.confrontation(r.ledger, points, before.text)
    try:
        answer = await r.ask(r.seat("lead"), "confront", prompt, schema=Confrontation, check=check)
    except ParticipantFailed as error:
        if error.kind == "budget":
            r.stop(error.message)
            return False
        raise lead_failed(r, error, f"did not answer in round {r.n}") from error
    form = answer.value
    await r.note("confront", answered(form.responses, r.n))
    causes = [
        Cause(id, " and ".join(course.lens_of(v) for v in point.voices), point.text, change.what)
        for change in form.changes
        for id in dict.fromkeys(change.because)
        if (point := r.ledger.point(id))
    ]
    text = form.position or before.text
    unexplained = rules.unexplained(form, before.text, r.ledger.ids())
    course.positions.append(Position(before.version + 1, r.n - 1, text, form.confidence, tuple(causes), unexplained))
    if unexplained:
        course.notes.append(f"v{before.version + 1} of the position names no point that changed it")
    return True


async def address(debate: Debate, course: Course) -> None:
    """After a fast exit: minor remarks are answered in brief. The position that was accepted stays as it is."""
    points = rules.unanswered(debate.ledger)
    if not points:
        return
    scope = debate.scope("remarks")
    prompt = fill(
        words.ADDRESS,
        rule=words.EVIDENCE_RULE,
        fences=FENCES,
        topic=debate.quote("topic", debate.topic),
        position=debate.quote("your position", course.position.text),
        points=debate.quote("the remarks", telling.points(debate.ledger, points, course.lens_of)),
        open=", ".join(p.id for p in points),
    )
    answer = await scope.try_ask(
        debate.seat("lead"), "address", prompt, schema=Brief, check=rules.responses(debate.ledger, points)
    )
    if isinstance(answer, Failure):
        course.notes.append(f"the lead did not answer the minor remarks ({answer.kind})")
        return
    await scope.note("address", answered(answer.value.responses, 1))


def _failed(c: Challenger, failure: Failure, course: Course, n: int) -> None:
    c.stand, c.why = (
        ("unknown", "its reply could not be read") if failure.raw else ("failed", f"{failure.kind}: {failure.message}")
    )
    said = (
        "could not be read and is kept as it came"
        if failure.raw
        else f"did not come ({failure.kind}: {failure.message})"
    )
    course.notes.append(f"the answer of {c.shown} in round {n} {said}")
