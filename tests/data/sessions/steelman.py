"""Steelman: a skeptic makes the best case for the other side, its owner says whether it is fair, then decides."""

from typing import Literal

from pydantic import BaseModel, Field

from rebut import Cite, Debate, Failure, Form, Outcome, fill

name = "steelman"
version = "1"
seats = {"owner": 1, "skeptic": 1}


class Settings(BaseModel):
    tries: int = Field(default=2, ge=1, le=4)


class Case(Form):
    case: str = Field(description="the strongest honest case against what the owner leans to")
    evidence: list[Cite] = Field(default_factory=list)


class Reply(Form):
    fair: bool = Field(description="is this the best case that can be made?")
    choice: Literal["keep", "change"]
    reason: str


async def run(debate: Debate) -> Outcome:
    owner, skeptic = debate.seat("owner"), debate.seat("skeptic")
    before = "Nothing yet."
    for r in debate.rounds(debate.settings.tries):
        topic = r.quote("topic", r.topic)
        case = await r.ask(skeptic, "case", fill(CASE, topic=topic, before=before), schema=Case)
        quoted = r.quote("the case against", case.value.case)
        reply = await r.try_ask(owner, "reply", fill(REPLY, topic=topic, case=quoted), schema=Reply)
        if isinstance(reply, Failure):
            return Outcome("unanswered", "UNANSWERED", case.value.case, conclusive=False, stopped=reply.message)
        if reply.value.fair:
            word = reply.value.choice
            return Outcome("decided", f"{word.upper()} AFTER A FAIR HEARING", reply.value.reason)
        before = r.quote("why the last case was not fair", reply.value.reason)
    return Outcome("unfair", "NO FAIR HEARING", "The owner never saw the best case against it.", conclusive=False)


CASE = """Make the strongest honest case against what most people would answer here.

$topic

What the owner said of your last try: $before"""

REPLY = """You own this decision. Someone argues against you:

$topic

$case

Say whether this is the best case against you that can be made, and whether you keep or change your mind."""
