"""A cross review: rounds of critique, judgement, choice, and another version or a rebuttal, until a rule ends it."""

from __future__ import annotations

from typing import Any

from rebut.core.errors import Aborted, ParticipantFailed, TooFewReplies
from rebut.core.text import plural
from rebut.domain.outcome import Outcome
from rebut.domain.review_result import Recommended
from rebut.engine.debate import Answer, Debate, Round
from rebut.protocols.cross import findings, outcome, prompts, questions, render, reply_checks, versions
from rebut.protocols.cross.forms import CodeCritique
from rebut.protocols.cross.state import CrossState
from rebut.protocols.cross.versions import ArtifactVersion
from rebut.protocols.shared import aborted, began_before, describe, ended_by, has_missing

LOOKED = 4
"""The first version in which a finding counts as fixed only if the critic or the judge looked at it again."""


async def run(debate: Debate) -> Outcome:
    debate.state = state = CrossState([ArtifactVersion(1, debate.target.text)])
    state.trusting = await began_before(debate, LOOKED, "trusting")
    await questions.carry_over(debate, state)
    for r in debate.rounds(debate.settings.rounds):
        if cause := await one_round(r, state):
            return outcome.ended(debate, state, cause)
    if not state.rounds:
        raise Aborted(f"the review never began: {debate.stopped}", "Raise the limit, then resume.")
    return outcome.ended(debate, state, "settled" if debate.settled else "minutes")


async def one_round(r: Round, state: CrossState) -> str:
    """Play a round, and return why the review ends with it; empty if it continues."""
    answers = await _critique(r, state)
    replies: list[CodeCritique] = [a.value for a in answers]
    if not replies:
        return r.stopped and "failed"
    agreed = reply_checks.agrees(replies) and not state.unread
    state.unnamed = any(reply_checks.names_nothing(reply) for reply in replies) and not state.trusting
    await questions.enter(r, state, replies, agreed)
    state.rounds = r.n
    unplaced = [m for m in r.ledger.unplaced if (m.by, m.round) == ("critic", r.n)]
    said = render.concerns(replies, findings.raised_in(r.ledger, r.n), unplaced)

    def keep_page() -> None:
        stood_in = r.spoke_for(r.seat("critic"))
        by = f"{stood_in} answered for {r.seat('critic').label}, as a fallback." if stood_in else ""
        fresh = findings.raised_in(r.ledger, r.n)  # the judge may have joined some of them
        state.pages[f"round-{r.n}-critique.md"] = render.page(r.n, replies, fresh, r.ledger, agreed, by)

    keep_page()
    if agreed:
        return "agreed"
    try:
        judged = (await questions.judge(r, state, said)).value
    except ParticipantFailed as error:
        return _without_judge(r, state, error)
    state.last = judged
    if not state.trusting and r.seat("judge").spec.provider != "human":
        ignored = reply_checks.overruled(r.ledger, judged.findings)
        state.overrule("judge", (w.id for w in judged.findings), ignored)
    if not state.trusting:
        await questions.weigh_additions(r, state)
    keep_page()
    choice, by = await questions.decide(r, state, judged)
    state.history.append(Recommended(r.n, judged.choice, judged.reason, choice, by))
    if (
        choice == "A"
        and not state.trusting
        and r.seat(by).spec.provider != "human"
        and (left := _contradicted(r, state))
    ):
        held = f"{', '.join(left)} {plural(len(left), 'is', 'are')} valid at P1 or P2"
        state.contradiction = f"the {by} keeps the original, although {held}"
        return "contradiction"
    state.rebuttal = state.unwritten = ""
    if choice == "B" and not r.settings.skip_materialize_opposite:
        state.accepted = await _next_version(r, state, "critic", prompts.ACCEPT)
    elif choice == "C":
        state.compromised = await _next_version(r, state, "judge", prompts.COMPROMISE) or state.compromised
    # Decided before the rebuttal is asked for: a round that the user adds meanwhile must not change what is asked.
    cause = outcome.cause(r.ledger, r.n, r.planned(r.settings.rounds), choice)
    if choice == "D":
        state.rebuttal = await _rebuttal(r, state, said, cause)
    return cause


def _contradicted(r: Round, state: CrossState) -> list[str]:
    """The findings that speak against keeping the original: valid, grave, and about the change itself."""
    apart = outcome.apart(r, state)
    return [
        p.id
        for p in findings.valid_and_grave(findings.without_fixes(r.ledger, state.first_rounds))
        if p.id not in apart
    ]


async def _critique(r: Round, state: CrossState) -> tuple[Answer[Any], ...]:
    try:
        answers = await questions.critique(r, state)
    except TooFewReplies as error:
        who = r.seat("critic")
        if set(error.kinds) == {"budget"}:  # a limit ended the review, which is a result
            r.stop(error.message.rpartition(": budget, ")[2])
            return ()
        raise Aborted(
            f"the critic ({r.speaker(who)}) did not answer, so nothing was reviewed: {error.message}",
            "Resume when it can answer, or fork with another --seat critic=SPEC.",
        ) from error
    state.unread = bool(answers.failed) and bool(answers.answered)
    for failure in answers.failed:
        part = failure.key.rpartition("/")[2].partition("@")[0].partition(".")[2]
        missing = f"the part {part} of the critique" if part else "the critique"
        state.notes.append(f"round {r.n}: {missing} is missing ({describe(failure)}), so that part was not reviewed")
    if any(has_missing(answer.complaints) for answer in answers.answered):
        state.unread = True
        state.notes.append(f"round {r.n}: the critique leaves out `findings`, so it is not an agreement")
    if not answers.answered:
        r.stop(ended_by(answers.failed[0], r.n))
    return answers.answered


def _without_judge(r: Round, state: CrossState, error: ParticipantFailed) -> str:
    """End the review if a limit leaves no room for the judge. Raises `Aborted` if the judge failed: resume asks it."""
    state.judge_failed = f"Round {r.n}: the judge gave no answer: {error.kind}, {error.message}"
    if error.kind == "budget":
        r.stop(error.message)
        return "limit"
    hint = "Every answer is kept. Resume when it can answer, or fork with another --judge."
    kept = outcome.data(state, outcome.result(r, state, "failed"))
    raise aborted(r, r.seat("judge"), f"did not weigh round {r.n}", error, hint, kept) from error


async def _next_version(r: Round, state: CrossState, role: str, task: str) -> bool:
    made = await versions.write(r, r.seat(role), state.latest, task, questions.for_judge(r, state, whole=True))
    if isinstance(made, str):
        state.unwritten = f"choice {state.history[-1].taken} of round {r.n} was not carried out: {made}"
        state.notes.append(f"round {r.n}: {made}")
        return False
    state.add(made, r)
    await r.run_again("checks", made.n, r.n)
    return True


async def _rebuttal(r: Round, state: CrossState, said: str, cause: str) -> str:
    """Return the answer to the critique. If no round follows, it is not asked for: no model would read it."""
    written = state.last.rebuttal if state.last else ""
    if not written and (cause or r.settled_before("rebuttal")):
        await r.skip("rebuttal", f"no round follows round {r.n}, so no model would read a rebuttal")
        return ""
    try:
        text = written or await questions.rebuttal(r, state, said)
    except ParticipantFailed as error:
        if error.kind != "budget":
            raise
        r.stop(error.message)
        return ""
    state.pages[f"round-{r.n}-rebuttal.md"] = f"# Round {r.n}: rebuttal\n\n{text}\n"
    return text
