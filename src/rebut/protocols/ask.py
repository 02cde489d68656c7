"""Two blind answers to a question; a duel only if they do not choose the same."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, Field

from rebut.core.errors import Aborted, ParticipantFailed, TooFewReplies
from rebut.core.json_value import Json
from rebut.domain.forms import Form
from rebut.domain.ledger import Ledger
from rebut.domain.outcome import Outcome
from rebut.domain.prompts import FENCES, fill
from rebut.domain.worth import Worth, fates, quoted
from rebut.engine.debate import Answer, Ask, Debate
from rebut.protocols.duel import ending as duel_ending, render, reply_checks
from rebut.protocols.duel.forms import Opening
from rebut.protocols.duel.prompts import EVIDENCE_RULE
from rebut.protocols.duel.run import claims, contest
from rebut.protocols.duel.state import DuelState, Turn
from rebut.protocols.shared import UNCONTESTED, aborted, prompt_head

name = "ask"
version = "5"
seats = {"proposer": 1, "challenger": 1, "judge": 1}
judge = "judge"
letter = "D"
closing_tokens = 16_000

__all__ = ["Settings", "calls", "closing_tokens", "judge", "letter", "name", "partial", "run", "seats", "version"]

PARTIES = ("proposer", "challenger")
BLIND = ("answer@*",)
"""The keys of the two blind answers."""


class Settings(BaseModel):
    """The settings of a question."""

    rounds: int = Field(default=1, ge=1, le=5, description="rounds of the duel, if the answers differ")
    effort: str = Field(default="", description="thinking effort of every seat")


class Comparison(Form):
    """Whether two answers make the same choice. Reasons may differ; what the reader would do decides."""

    first: str = Field(description="what the first answer would have the reader do, in one sentence")
    second: str = Field(description="what the second answer would have the reader do, in one sentence")
    same: bool = Field(description="true only if a reader would do the same thing by following either answer")
    reason: str = Field(description="what makes them the same, or where they differ")
    recommendation: str = Field(default="", description="for the same choice: that choice, as one thing to do now")

    def is_agreement(self) -> bool:
        return self.same


def calls(settings: Settings) -> dict[str, int]:
    """How many calls each seat makes if the answers differ."""
    return {"proposer": settings.rounds, "challenger": 1 + settings.rounds, "judge": 2 + max(0, settings.rounds - 2)}


# the debate


async def run(debate: Debate) -> Outcome:
    prompt = fill(ANSWER, **prompt_head(debate, EVIDENCE_RULE))
    asks = [Ask(debate.seat(role), prompt, Opening, reply_checks.opening) for role in PARTIES]
    try:
        answers = await debate.ask_all("answer", asks)
    except TooFewReplies as error:
        raise Aborted(f"no model answered: {error.message}", "Resume when one of them can answer.") from error
    texts: dict[str, str] = {}
    for answer in answers.answered:  # in seat order, which gives the claims their ids
        new = await debate.note(f"answer.{answer.who.seat}", claims(answer.value, answer.who.seat))
        texts[answer.who.seat] = render.opening(answer.value, new)
    positions = {role: _position(answer) for role, answer in zip(PARTIES, answers.all, strict=True)}
    state = DuelState()
    debate.state = state
    if "proposer" in texts:
        state.turns = [Turn(1, "proposer", texts["proposer"], positions["proposer"])]
    if len(texts) < len(PARTIES):
        [(who, text)] = texts.items()
        lost = answers.failed[0]
        failed = f"the {lost.who.seat} ({debate.speaker(lost.who)}) did not answer: {lost.kind}, {lost.message}"
        return one_answer(who, text, failed)
    compared = await compare(debate, texts)
    if compared.same:
        return agreed(compared, texts, positions)
    state.own_answer = texts["challenger"]
    ended = await contest(debate, state)
    first: Json = {"same": False, "reason": compared.reason, "answers": dict[str, Json](positions)}
    return ended.filled(data={**ended.data, "first": first}, worth=_worth(ended, compared, debate))


async def compare(debate: Debate, texts: dict[str, str]) -> Comparison:
    # The judge is not told who answered: first and second are only the order of the seats.
    first, second = (texts[role] for role in PARTIES)
    both = f"{debate.quote('the first answer', first)}\n\n{debate.quote('the second answer', second)}"
    prompt = fill(COMPARE, fences=FENCES, topic=debate.quote("topic", debate.topic), answers=both)
    who = debate.seat("judge")
    try:
        answer = await debate.ask(who, "comparison", prompt, schema=Comparison)
    except ParticipantFailed as error:
        hint = "Both answers are kept. Resume when it can answer, or fork with another --judge."
        raise aborted(debate, who, "did not compare the answers", error, hint) from error
    return answer.value


def _position(answer: object) -> str:
    return answer.value.position if isinstance(answer, Answer) else ""


# how it ends without a duel


def agreed(compared: Comparison, texts: dict[str, str], positions: dict[str, str]) -> Outcome:
    pages = [f"## {role}\n\n{texts[role]}" for role in PARTIES]
    return Outcome(
        kind="uncontested",
        unsettled=UNCONTESTED,
        heading="UNCONTESTED",
        decision=compared.recommendation or compared.first,
        final="\n\n".join([AGREED, compared.reason, *pages]) + "\n",
        data={"first": {"same": True, "reason": compared.reason, "answers": dict[str, Json](positions)}},
        worth=Worth(first=f"both chose {quoted(compared.first)}", same=True, keys=BLIND),
        notes=("both chose the same without seeing each other's answer; it was not contested",),
    )


def one_answer(who: str, text: str, why: str) -> Outcome:
    position = text.partition("\n")[0]
    return Outcome(
        kind="uncontested",
        unsettled=UNCONTESTED,
        heading="ONE ANSWER",
        decision=position,
        conclusive=False,
        stopped=why,
        final=f"{ONE_ANSWER}\n\n## {who}\n\n{text}\n",
        data={"position": position},
        worth=Worth(caveat="only one of two answered, so there is nothing to compare it with"),
    )


def partial(debate: Debate) -> Outcome:
    """The result at a deadline: that of the duel, if it has begun, else the blind answers."""
    if any(key.startswith("r") for key in debate.answers):
        return duel_ending.partial(debate)
    blind = {k.partition("@")[2]: v for k, v in debate.answers.items() if k.startswith("answer@")}
    positions = {role: str(v.get("position", "")) for role, v in blind.items() if isinstance(v, dict)}
    return Outcome(
        kind="partial",
        heading=f"NO VERDICT YET, {len(positions)} OF {len(PARTIES)} ANSWERS",
        # Neither of two answers is the decision: they are not compared yet.
        decision=f"Undecided: {'; or: '.join(positions.values())}"
        if len(positions) > 1
        else "".join(positions.values()),
        basis="round 0" if positions else "nothing yet",
        final="\n\n".join(f"## {role}\n\n{text}" for role, text in positions.items()),
        data={"first": {"answers": dict[str, Json](positions)}},
    )


# was it worth it


def _worth(ended: Outcome, compared: Comparison, debate: Debate) -> Worth:
    """The answers differed, and a duel followed. One of the two wins, so the result is never what both said."""
    ledger: Ledger = ended.ledger if ended.verdict else debate.ledger
    answers: Mapping[str, Json] = debate.answers
    blind = answers.get("answer@proposer")
    changed = duel_ending.moved(answers, ledger, str(blind.get("position", "")) if isinstance(blind, dict) else "")
    won = ended.verdict.winner if ended.verdict else ""
    changed.insert(0, f"judged for the {'first' if won == 'proposer' else 'other'}" if won else "no decision")
    return Worth(
        first=f"one said {quoted(compared.first)}, the other {quoted(compared.second)}",
        points=fates(ledger),
        changed=tuple(changed),
        same=False if won else None,
        caveat=ended.worth.caveat if ended.worth else "",
        keys=BLIND,
    )


# the prompts, and the notices on a result that was not debated

ANSWER = """You are asked a question that an engineer has to decide. Another model is asked the same question; neither
of you sees the other's answer.

$rule

$fences

$topic$context

Choose. Take one clear position, do not describe both sides, do not leave the decision to the reader. Break your reasons
into claims, each able to stand or fall alone, each with its evidence."""

COMPARE = """Two engineers answered a question, each without seeing the other's answer. Say whether they made the same
choice.

$fences

$topic

$answers

Compare what the reader would do, not how it is said: two answers that recommend the same thing for different reasons
made the same choice; two that share most reasons and would do different things did not. Conditions count: "yes" and
"yes, but only if", where the condition is not met today, are different choices. When in doubt they are different."""

ONE_ANSWER = """[WARN] Only one of two models answered, so there was nothing to compare. This is one model's view, not
checked by another."""

AGREED = """Two models made the same choice without seeing each other's answer. It was not contested: this is not a
consensus after a debate, and two models can share a mistake."""
