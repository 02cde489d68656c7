"""The course of asking: blind answers side by side, a comparison, and a duel from those answers if they differ."""

from __future__ import annotations

from pydantic import BaseModel, Field

from rebut.core.errors import Aborted, ParticipantFailed, TooFewReplies
from rebut.core.types import Json
from rebut.domain.outcome import Outcome
from rebut.domain.prompts import FENCES, fill
from rebut.domain.worth import Worth
from rebut.engine.debate import Answer, Ask, Debate
from rebut.protocols.ask import words, worth
from rebut.protocols.ask.forms import Comparison
from rebut.protocols.duel import render as synthesis, reply_checks as rules
from rebut.protocols.duel.forms import Opening
from rebut.protocols.duel.minutes import Course, Said
from rebut.protocols.duel.run import claims, contest, partial as of_duel, shared

PARTIES = ("proposer", "challenger")


class Settings(BaseModel):
    """What asking can be told."""

    rounds: int = Field(default=1, ge=1, le=5, description="rounds of the duel, if the answers differ")
    effort: str = Field(default="", description="thinking effort of every seat")


def calls(settings: Settings) -> dict[str, int]:
    """How many calls it takes when the answers differ."""
    return {"proposer": settings.rounds, "challenger": 1 + settings.rounds, "judge": 2 + max(0, settings.rounds - 2)}


async def run(debate: Debate) -> Outcome:
    prompt = fill(words.ANSWER, **shared(debate))
    asks = [Ask(debate.seat(role), prompt, Opening, rules.opening) for role in PARTIES]
    try:
        answers = await debate.ask_all("answer", asks)
    except TooFewReplies as error:
        raise Aborted(f"nobody answered: {error.message}", "Resume when one of them can answer.") from error
    texts: dict[str, str] = {}
    for answer in answers.answered:  # in seat order, which gives the claims their ids
        new = await debate.note(f"answer.{answer.who.seat}", claims(answer.value, answer.who.seat))
        texts[answer.who.seat] = synthesis.opening(answer.value, new)
    course = Course()
    debate.minutes = course
    course.said = [Said(1, "proposer", texts["proposer"], _position(answers.all[0]))] if "proposer" in texts else []
    if len(texts) < len(PARTIES):
        [(who, text)] = texts.items()
        lost = answers.failed[0]
        return _alone(
            who, text, f"the {lost.who.seat} ({debate.speaker(lost.who)}) did not answer: {lost.kind}, {lost.message}"
        )
    compared = await _compare(debate, texts)
    alone = {role: _position(a) for role, a in zip(PARTIES, answers.all, strict=True)}
    if compared.same:
        return _agreed(compared, texts, alone)
    course.own = texts["challenger"]
    ended = await contest(debate, course)
    first: Json = {"same": False, "reason": compared.reason, "answers": dict[str, Json](alone)}
    return ended.filled(
        data={**ended.data, "first": first}, worth=worth.debated(ended, compared, debate.ledger, debate.answers)
    )


async def _compare(debate: Debate, texts: dict[str, str]) -> Comparison:
    # Names are left out: who answered first is the order of the seats and nothing else.
    first, second = (texts[role] for role in PARTIES)
    quoted = f"{debate.quote('the first answer', first)}\n\n{debate.quote('the second answer', second)}"
    prompt = fill(words.COMPARE, fences=FENCES, topic=debate.quote("topic", debate.topic), answers=quoted)
    judge = debate.seat("judge")
    try:
        answer = await debate.ask(judge, "comparison", prompt, schema=Comparison)
    except ParticipantFailed as error:
        raise Aborted(
            f"the judge ({debate.speaker(judge)}) did not compare the answers: {error.kind}, {error.message}",
            error.hint or "Both answers are kept. Resume when it can answer, or fork with another --judge.",
        ) from error
    return answer.value


def _agreed(compared: Comparison, texts: dict[str, str], alone: dict[str, str]) -> Outcome:
    pages = [f"## {role}\n\n{texts[role]}" for role in PARTIES]
    return Outcome(
        kind="uncontested",
        heading="UNCONTESTED",
        decision=compared.recommendation or compared.first,
        final="\n\n".join([words.AGREED, compared.reason, *pages]) + "\n",
        data={"first": {"same": True, "reason": compared.reason, "answers": dict[str, Json](alone)}},
        worth=worth.agreed(compared),
        notes=("both chose the same without seeing each other; nobody contested it",),
    )


def _alone(who: str, text: str, why: str) -> Outcome:
    return Outcome(
        kind="uncontested",
        heading="ONE ANSWER",
        decision=text.partition("\n")[0],
        conclusive=False,
        stopped=why,
        final=f"{words.ONE_ANSWER}\n\n## {who}\n\n{text}\n",
        data={"position": text.partition("\n")[0]},
        worth=Worth(caveat="only one of two answered, so there is nothing to compare it with"),
    )


def _position(answer: object) -> str:
    return answer.value.position if isinstance(answer, Answer) else ""


def partial(debate: Debate) -> Outcome:
    """At a deadline: the duel's own account if it came to one, else the blind answers."""
    blind = {k.partition("@")[2]: v for k, v in debate.answers.items() if k.startswith("answer@")}
    if any(key.startswith("r") for key in debate.answers):
        return of_duel(debate)
    said = {role: str(v.get("position", "")) for role, v in blind.items() if isinstance(v, dict)}
    return Outcome(
        kind="partial",
        heading=f"NO VERDICT YET, {len(said)} OF {len(PARTIES)} ANSWERS",
        # Of two answers none is the decision: nobody has said yet whether they choose the same, or who is right.
        decision=f"Undecided: {'; or: '.join(said.values())}" if len(said) > 1 else "".join(said.values()),
        basis="round 0" if said else "nothing yet",
        final="\n\n".join(f"## {role}\n\n{text}" for role, text in said.items()),
        data={"first": {"answers": dict[str, Json](said)}},
    )
