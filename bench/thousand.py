"""A protocol that asks a thousand small questions: what replay is measured with."""

from __future__ import annotations

from rebut import Debate, Form, Outcome

name = "thousand"
seats = {"speaker": 1}
QUESTIONS = 1000


class Reply(Form):
    """A small answer."""

    text: str
    grade: int = 0


async def run(debate: Debate) -> Outcome:
    who, last = debate.seat("speaker"), "nothing yet"
    for n in range(QUESTIONS):
        prompt = f"Question {n} about {debate.topic}\n\n{debate.quote('the answer before', last)}"
        last = (await debate.ask(who, f"question.{n}", prompt, schema=Reply)).value.text
    return Outcome(kind="done", heading="DONE", decision=last)
