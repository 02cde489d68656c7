"""The opening of a panel: who can be reached, who looks from which angle, and the position that they will attack."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from rebut.core.errors import Aborted, ParticipantFailed, TooFewReplies
from rebut.domain.forms import cited
from rebut.domain.ledger import Claim
from rebut.domain.prompts import fill
from rebut.engine.debate import Debate
from rebut.engine.preflight import Reach, reach
from rebut.protocols.panel import personas_part as personas, prompts as words, reply_checks as rules
from rebut.protocols.panel.forms import Opening, Personas
from rebut.protocols.panel.parts import lead_failed, publish, shared, touched
from rebut.protocols.panel.personas import LENSES, assigned
from rebut.protocols.panel.state import Challenger, Course, Position, names

DOCTOR = "`rebut doctor` tries each by itself and says what to do about it."


async def seated(debate: Debate) -> Course:
    """Who is there, from which angle each will look, and under which name its files stand."""
    seats = debate.seats("challenger")
    try:
        found = await reach(debate.scope("preflight"), seats, need=debate.settings.min_challengers)
    except TooFewReplies as error:
        raise Aborted(f"too few challengers can be reached. {error.message}", DOCTOR) from error
    lenses = assigned([who.spec.provider for who in seats])
    own = names(seats)
    files = personas.file_names([one.file for one in found], own)
    built = personas.built_in(lenses).personas
    course = Course(
        [
            Challenger(who, name, lens.title, persona, file=file, tool_file=one.file, reads=one.reads)
            for who, name, lens, persona, file, one in zip(seats, own, lenses, built, files, found, strict=True)
        ]
    )
    for c, one in zip(course.challengers, found, strict=True):
        _reached(c, one, course)
    return course


def _reached(c: Challenger, one: Reach, course: Course) -> None:
    if one.problem:
        c.stand, c.why = "failed", one.problem
        course.notes.append(f"{c.shown} cannot be reached: {one.problem}")
    elif not one.reads:
        course.notes.append(f"{c.shown} does not read {c.file}; its persona goes into each prompt")


async def open_up(debate: Debate, course: Course) -> None:
    """The personas and the lead's opening, made side by side; then every persona's file is laid."""
    scope = debate.scope("opening")
    lenses = [next(lens for lens in LENSES if lens.title == c.lens) for c in course.challengers]
    done = await asyncio.gather(
        personas.written(scope, lenses, course.notes), _opening(scope), return_exceptions=True
    )  # both are on record before the failure of one leaves
    for result in done:
        if isinstance(result, BaseException):
            raise result
    cast, form = done
    assert isinstance(cast, Personas) and isinstance(form, Opening)
    course.domain = cast.domain
    for c, persona in zip(course.challengers, cast.personas, strict=True):
        c.persona, c.text = persona, personas.text(persona, cast.domain)
        c.who = replace(c.who, persona=c.text if c.reads else "")
    await scope.note("position", [Claim(a.text, "lead", 1, cited(a.evidence)) for a in form.reasoning if a.text])
    course.positions.append(Position(1, 0, form.position, form.confidence))
    course.weaknesses, course.assumptions = list(form.weaknesses), list(form.assumptions)
    laid = {c.file: c.text for c in course.challengers}
    await debate.once("persona-files", lambda: dict(laid), of=dict(laid))
    await publish(debate, course, "state")
    wrong = await touched(debate, course, "laid")
    if wrong and len(wrong) == len(course.challengers):
        raise Aborted(f"no persona file could be written: {next(iter(wrong.values()))}", f"Look at {debate.folder}.")


async def _opening(scope: Debate) -> Opening:
    who = scope.seat("lead")
    try:
        answer = await scope.ask(
            who, "position", fill(words.OPENING, **shared(scope)), schema=Opening, check=rules.opening
        )
    except ParticipantFailed as error:
        raise lead_failed(scope, error, "did not open") from error
    return answer.value
