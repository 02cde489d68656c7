"""The loop of a cross review: critique, judgement, choice, and another version or an answer, until a rule ends it."""

from __future__ import annotations

from typing import Any

from rebut.core.errors import Aborted, ParticipantFailed, TooFewReplies
from rebut.core.types import Json
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import Recommended, ReviewResult
from rebut.engine.debate import Answer, Debate, Round
from rebut.protocols.cross import (
    findings,
    prompts,
    questions,
    render,
    reply_checks,
    versions,
)
from rebut.protocols.cross.findings import weighed
from rebut.protocols.cross.forms import CodeCritique
from rebut.protocols.cross.state import CrossState, contract
from rebut.protocols.cross.versions import ArtifactVersion
from rebut.protocols.shared import aborted, describe, ended_by, of_rounds

WHY = {
    "agreed": "the critic agrees",
    "quiet": "two rounds in a row brought nothing new of P1 or P2",
    "rounds": "all rounds are used",
    "A": "the original is kept",
    "B": "the critic's recommendation is accepted",
    "E": "it was stopped without a decision",
}


async def run(debate: Debate) -> Outcome:
    state = CrossState([ArtifactVersion(1, debate.target.text)])
    for r in debate.rounds(debate.settings.rounds):
        cause = await one_round(r, state)
        if cause:
            return ended(debate, state, cause)
    if not state.rounds:
        raise Aborted(f"the review never began: {debate.stopped}", "Raise the limit, then resume.")
    return ended(debate, state, "settled" if debate.settled else "minutes")


async def one_round(r: Round, state: CrossState) -> str:
    """A round; says why the review ends with it, if it does."""
    answers = await _critique(r, state)
    replies: list[CodeCritique] = [a.value for a in answers]
    if not replies:
        return r.stopped and "failed"
    agreed = reply_checks.agrees(replies) and not state.unread
    await questions.enter(r, state, replies, agreed)
    state.rounds = r.n
    fresh = findings.raised_in(r.ledger, r.n)
    said = render.concerns(replies, fresh)

    def keep_page() -> None:
        state.pages[f"round-{r.n}-critique.md"] = render.page(r.n, replies, fresh, r.ledger, agreed)

    keep_page()
    if agreed:
        return "agreed"
    try:
        judged = (await questions.judge(r, state, said)).value
    except ParticipantFailed as error:
        return _without_judge(r, state, error)
    state.last = judged
    keep_page()
    choice, by = await questions.decide(r, judged)
    state.history.append(Recommended(r.n, judged.choice, judged.reason, choice, by))
    state.rebuttal = ""
    if choice == "B" and not r.settings.skip_materialize_opposite:
        state.accepted = await _next_version(r, state, "critic", prompts.ACCEPT)
    elif choice == "C":
        state.compromised = await _next_version(r, state, "judge", prompts.COMPROMISE) or state.compromised
    # Before the rebuttal is asked for: a round that is added by hand meanwhile must not change what was asked.
    cause = reply_checks.cause(r.ledger, r.n, r.planned(r.settings.rounds), choice)
    if choice == "D":
        state.rebuttal = await _rebuttal(r, state, said, cause)
    return cause


async def _rebuttal(r: Round, state: CrossState, said: str, cause: str) -> str:
    """The answer to the critique. Where no round follows nobody would read one, so none is asked for."""
    written = state.last.rebuttal if state.last else ""
    if not written and (cause or r.settled_before("rebuttal")):
        await r.skip("rebuttal", f"no round follows round {r.n}, so nobody would read a rebuttal")
        return ""
    text = written or await questions.rebuttal(r, state, said)
    state.pages[f"round-{r.n}-rebuttal.md"] = f"# Round {r.n}: rebuttal\n\n{text}\n"
    return text


async def _critique(r: Round, state: CrossState) -> tuple[Answer[Any], ...]:
    try:
        answers = await questions.critique(r, state)
    except TooFewReplies as error:
        who = r.seat("critic")
        raise Aborted(
            f"the critic ({r.speaker(who)}) did not answer, so nothing was reviewed: {error.message}",
            "Everything is kept. Resume when it can answer, or fork with another --seat critic=SPEC.",
        ) from error
    state.unread = bool(answers.failed) and bool(answers.answered)
    for failure in answers.failed:
        part = failure.key.rpartition("/")[2].partition("@")[0].partition(".")[2]
        missing = f"the part {part} of the critique" if part else "the critique"
        state.notes.append(f"round {r.n}: {missing} is missing ({describe(failure)}), so that part was not reviewed")
    if not answers.answered:
        r.stop(ended_by(answers.failed[0], r.n))
    return answers.answered


def _without_judge(r: Round, state: CrossState, error: ParticipantFailed) -> str:
    """Where the money is gone the program ends the review; a judge that failed can be asked again."""
    if error.kind == "budget":
        r.stop(error.message)
        return "limit"
    hint = "Every answer is kept. Resume when it can answer, or fork with another --judge."
    kept = data(state, contract(r, state, "failed"))
    raise aborted(r, r.seat("judge"), f"did not weigh round {r.n}", error, hint, kept) from error


async def _next_version(r: Round, state: CrossState, role: str, task: str) -> bool:
    made = await versions.write(r, r.seat(role), state.now, task, questions.for_judge(r, state.now))
    if isinstance(made, str):
        state.notes.append(f"round {r.n}: {made}")
        return False
    state.take(made, r)
    return True


# the ending


def ended(debate: Debate, state: CrossState, cause: str) -> Outcome:
    made, planned = contract(debate, state, cause), debate.planned(debate.settings.rounds)
    stand_in = debate.stand_in(debate.seat("critic"))
    heading, whole = made.decision.upper(), cause not in ("minutes", "limit", "failed", "settled")
    if not whole:
        heading += f" AFTER {of_rounds(state.rounds, planned)}"
    elif cause == "rounds":
        heading += ", NOT CONVERGED"
    if stand_in:
        heading += ", SELF-REVIEW"
        state.notes.append(
            f"{stand_in} spoke for the critic, and judges too: one opinion, not two independent ones"
            if stand_in == str(debate.seat("judge").spec)
            else f"{stand_in} spoke for the critic, as a fallback"
        )
    alone = not stand_in and _reviews_itself(debate)
    if alone:
        heading += ", SELF-REVIEW"
        state.notes.append("critic and author are the same model: one opinion, not two independent ones")
    if state.unread:
        heading += ", NOT ALL OF IT READ"
    unweighed = [p.id for p in findings.unweighed(debate.ledger)] if state.history else []
    if unweighed or debate.ledger.unplaced:
        heading += ", NOT ALL OF IT WEIGHED"
    if unweighed:
        state.notes.append(f"the judge said nothing of {', '.join(unweighed)}")
    last = state.history[-1].reason if state.history else ""
    return Outcome(
        kind=made.decision.lower(),
        unsettled="not decided" if made.decision == "Stopped" else "",
        heading=heading,
        decision=f"{made.decision}: {WHY.get(cause, debate.stopped)}." + (f" {last}" if last else ""),
        conclusive=whole and not (stand_in or alone or state.unread or unweighed),
        stopped="" if whole else debate.stopped,
        final=made.markdown(),
        data=data(state, made),
        notes=tuple(state.notes),
        caveats=("SELF-REVIEW",) if stand_in or alone else (),
        worth=weighed(
            made,
            len(state.versions) - 1,
            "the change" if debate.target.changes else "the text",
            "" if whole else of_rounds(state.rounds, planned).lower(),
        ),
    )


def _reviews_itself(debate: Debate) -> bool:
    """Whether critic and author are one model, as when only one was found."""
    critic = debate.seat("critic").spec.identity
    return any(author.spec.identity == critic for author in debate.seats("author"))


def data(state: CrossState, made: ReviewResult) -> dict[str, Json]:
    """The ending for machines, and what the session's files are made of."""
    pages: dict[str, Json] = dict(state.pages)
    return {
        "contract": made.to_json(),
        "versions": [v.to_json() for v in state.versions[1:]],
        "pages": pages,
    }


def partial(debate: Debate) -> Outcome:
    """The best that can be said at a deadline: what was found and weighed so far."""
    state = CrossState([ArtifactVersion(1, debate.target.text)])
    state.rounds = len({k.partition("/")[0] for k in debate.answers if k.endswith("@judge")})
    made = contract(debate, state, "minutes")
    return Outcome(
        kind="partial",
        heading=f"NO DECISION YET, {of_rounds(state.rounds, debate.planned(debate.settings.rounds))}",
        decision=f"{len(made.shown)} findings of P1 and P2 stand so far.",
        basis=f"round {state.rounds}" if state.rounds else "the critique alone" if made.findings else "nothing yet",
        final=made.markdown(),
        data=data(state, made),
    )
