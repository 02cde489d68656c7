"""Parts that the steps of a panel share: what each prompt begins with, what goes into the ledger, files."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.errors import Aborted, ParticipantFailed
from rebut.domain.forms import cited
from rebut.domain.ledger import Entry, Move, MoveKind, Point
from rebut.engine.debate import Debate
from rebut.protocols.duel.run import shared as of_duel
from rebut.protocols.panel import personas_part as personas, prompts as words, reply_checks as rules
from rebut.protocols.panel.forms import Objection, Response
from rebut.protocols.panel.state import Challenger, Course

MOVES: dict[str, MoveKind] = {"accept": "concede", "partial": "partly", "reject": "defend"}


async def publish(debate: Debate, course: Course, key: str) -> None:
    """Keep where the panel stands, and write its files as they are by now."""
    state = course.to_json()
    await debate.once(key, lambda: state, of=state)
    await debate.publish()


async def touched(debate: Debate, course: Course, key: str) -> dict[str, str]:
    """What is wrong with a persona's file, looked at once and then on record."""
    expected = {c.seat: (c.file, personas.sha(c.text)) for c in course.challengers}
    found = await debate.once(key + "#files", lambda: dict(personas.spoilt(debate.folder, expected)), cls="limit")
    return {str(seat): str(why) for seat, why in found.items()} if isinstance(found, dict) else {}


def lead_failed(debate: Debate, error: ParticipantFailed, what: str) -> Aborted:
    return Aborted(
        f"the lead ({debate.speaker(debate.seat('lead'))}) {what}: {error.kind}, {error.message}",
        error.hint or "Without the lead there is no position to test. Resume when it can answer.",
    )


def told(c: Challenger, prompt: str) -> str:
    """A challenger that does not read its persona's file is told it in the prompt."""
    return prompt if c.reads else f"{c.text}\n{prompt}"


def gravest(points: Sequence[Objection], summary: str) -> str:
    said = sorted((p for p in points if p.text), key=lambda p: -rules.STRENGTHS.index(p.strength))
    return said[0].text if said else summary


def raised(c: Challenger, points: Sequence[Objection], n: int) -> list[Entry]:
    return [Point(p.text, c.seat, n, p.grade, p.category, cited(p.evidence), about=p.about) for p in points if p.text]


def answered(responses: Sequence[Response], n: int) -> list[Entry]:
    return [Move(one.id, MOVES[one.move], "lead", n, one.reason, cited(one.evidence)) for one in responses]


def shared(r: Debate) -> dict[str, str]:
    """What every debater's prompt begins with: as in a duel, under a panel's own rule."""
    return {**of_duel(r), "rule": words.EVIDENCE_RULE}
