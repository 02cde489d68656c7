"""Rebuttals: those who dissent, and only they, judge what the lead answered."""

from __future__ import annotations

from collections.abc import Container, Sequence

from rebut.domain.forms import cited
from rebut.domain.ledger import Entry, Move, Point, Slip
from rebut.domain.prompts import fill
from rebut.engine.debate import Ask, Failure, Round
from rebut.protocols.panel import personas_part as personas, prompts as words, render as telling, reply_checks as rules
from rebut.protocols.panel.forms import Rebuttal
from rebut.protocols.panel.parts import gravest, raised, shared, told, touched
from rebut.protocols.panel.state import Challenger, Course

SILENCE = 2
"""Rebuttals in a row that may be missing before a dissenter is not asked any more."""


def hearing(course: Course) -> list[Challenger]:
    """Those who dissent and can still be expected to answer."""
    return [c for c in course.dissenters if c.silent < SILENCE]


async def rebut(r: Round, course: Course) -> bool:
    """Only those who dissent; False when none of them is left to hear."""
    asked = hearing(course)
    wrong = await touched(r, course, "personas")
    asks = [_rebuttal(r, course, c, wrong.get(c.seat, "")) for c in asked]
    got = await r.ask_all("rebuttal", asks, need=0)
    before = {c.seat: [p for p in r.ledger.points if rules.holds(r.ledger, p, c.seat)] for c in asked}
    entries: list[Entry] = []
    for c, answer in zip(asked, got, strict=True):
        if isinstance(answer, Failure):
            c.silent += 1
            c.why = f"{answer.kind}: {answer.message}"
            course.notes.append(
                f"{c.shown} gave no rebuttal in round {r.n} ({answer.kind}): its objection stays unresolved"
            )
            if answer.kind == "budget":
                r.stop(answer.message)
            continue
        c.silent, c.why = 0, ""
        others = {p.id for p in r.ledger.points if c.seat not in p.voices}
        entries += _ruled(c, answer.value, before[c.seat], others, r.n)
        _stands(c, answer.value, before[c.seat], course.position.version)
    await r.note("rebuttal", entries)
    if asked and all(isinstance(answer, Failure) for answer in got):
        r.stop(r.stopped or f"no dissenter answered in round {r.n}")
        return False
    return bool(asked)


def _rebuttal(r: Round, course: Course, c: Challenger, refused: str) -> Ask[Rebuttal]:
    mine = [p for p in r.ledger.points if rules.holds(r.ledger, p, c.seat)]
    all_open = rules.contested(r.ledger, (d.seat for d in course.dissenters))
    others = [p for p in all_open if p not in mine]
    prompt = fill(
        words.REBUT,
        **shared(r),
        round=str(r.n),
        version=str(course.position.version),
        position=r.quote("the lead's position", telling.standing(course.position)),
        points=r.quote("your open points", telling.points(r.ledger, mine, course.lens_of)),
        others=f"Contested by others:\n\n{r.quote('points of others', telling.brief(others, course.lens_of))}"
        if others
        else "",
        open=", ".join(p.id for p in mine) or "none",
        examine=words.EXAMINE if c.doubted and not mine else "",
    )
    check = rules.rebuttal(r.ledger, c.seat, personas.items(c.persona), c.doubted)
    return Ask(c.who, told(c, prompt), Rebuttal, check, refused=refused)


def _ruled(c: Challenger, form: Rebuttal, mine: Sequence[Point], others: Container[str], n: int) -> list[Entry]:
    entries: list[Entry] = []
    for one in form.rulings:
        if one.id in others:
            continue  # each speaks for its own points only
        proof = cited(one.evidence)
        if one.ruling == "escalate":
            # Raised again by its own author, and graver: the ledger joins it to the point it repeats.
            entries.append(Point(one.reason, c.seat, n, "P1", evidence=proof, same_as=one.id))
            continue
        entries.append(Move(one.id, "resolve" if one.ruling == "accept" else "maintain", c.seat, n, one.reason, proof))
        if one.ruling == "accept" and one.reason.strip() and rules.thin(one.reason, one.evidence):
            entries.append(Slip("dropped", one.id, c.seat, n))
    ruled = {one.id for one in form.rulings}
    if form.answer == "accept":
        for point in mine:
            if point.id not in ruled:
                entries += [
                    Slip("dropped", point.id, c.seat, n),
                    Move(point.id, "resolve", c.seat, n, "(nothing was said)"),
                ]
    return entries + raised(c, form.points, n)


def _stands(c: Challenger, form: Rebuttal, mine: Sequence[Point], version: int) -> None:
    c.verdict = form.answer
    if rules.agrees_now(form, mine, personas.items(c.persona), c.doubted):
        c.accepts(version, "minor" if any(p.text for p in form.points) else "agree", form.summary)
        return
    escalated = form.answer == "escalate" or any(one.ruling == "escalate" for one in form.rulings)
    new = [p.strength for p in form.points if p.text]
    strength = "strong" if escalated else rules.strongest(c.strength or "moderate", *new)
    # What it holds on to says more than that it does.
    mine = sorted(mine, key=lambda p: p.severity)
    c.objects(strength, form.summary, gravest(form.points, mine[0].text if mine else form.summary))
