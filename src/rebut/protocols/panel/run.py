"""The course of a panel: reach the challengers, open, challenge at once, confront and rebut until all is said."""

from __future__ import annotations

from rebut.core.errors import Aborted
from rebut.domain.outcome import Outcome
from rebut.engine.debate import Debate
from rebut.protocols.panel import assumptions, ending as synthesis
from rebut.protocols.panel.opening import open_up, seated
from rebut.protocols.panel.parts import publish
from rebut.protocols.panel.rebuttals import SILENCE, hearing, rebut
from rebut.protocols.panel.rounds import address, challenge, confront


async def run(debate: Debate) -> Outcome:
    course = await seated(debate)
    debate.minutes = course
    await open_up(debate, course)
    for r in debate.rounds(debate.settings.rounds):
        if r.n == 1:
            await challenge(r, course)
        elif not hearing(course):
            r.stop(f"whoever still dissents answered nothing {SILENCE} times")  # the lead would speak to nobody
            break
        elif not await confront(r, course) or not await rebut(r, course):
            break
        course.rounds = r.n
        await publish(r, course, "state")
        if not course.dissenters:
            break
    if not course.rounds:
        raise Aborted(f"the challengers were never asked: {debate.stopped}", "Raise the limit, then resume.")
    if course.rounds == 1 and not course.dissenters:
        await address(debate, course)
    if course.dissenters:
        await assumptions.extract(debate, course)
    return synthesis.outcome(debate, course)
