"""A panel: reach the challengers, open, challenge all at once, then confront and rebut until no one dissents."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Sequence
from dataclasses import replace

from rebut.core.errors import Aborted, ParticipantFailed, TooFewReplies
from rebut.core.text import squeeze
from rebut.core.types import Material
from rebut.domain.checks import to_weigh
from rebut.domain.forms import cited, code_of
from rebut.domain.ledger import Claim, Entry, Ledger, Move, MoveKind, Point, Slip
from rebut.domain.outcome import Outcome
from rebut.domain.prompts import FENCES, fill
from rebut.engine.debate import Ask, Debate, Failure, Round
from rebut.engine.preflight import Reach, reach
from rebut.protocols.panel import ballot, outcome, personas, prompts, render, reply_checks
from rebut.protocols.panel.forms import (
    Assertion,
    Assumptions,
    Brief,
    Challenge,
    Confrontation,
    Grounds,
    Objection,
    Opening,
    Personas,
    Rebuttal,
    Response,
)
from rebut.protocols.panel.personas import assigned
from rebut.protocols.panel.state import (
    UNEXAMINED,
    Cause,
    Challenger,
    CoreAssumption,
    NamedCrux,
    PanelState,
    PartyGrounds,
    Position,
    names,
)
from rebut.protocols.shared import aborted, describe, prompt_head, reason_of

MOST_MISSING = 2
"""After so many missing rebuttals in a row, a dissenter is not asked any more."""
LEAD = "Lead"
DOCTOR = "`rebut doctor` checks each of them and says what to do."


async def run(debate: Debate) -> Outcome:
    state = await reach_challengers(debate)
    debate.state = state
    await open_panel(debate, state)
    for r in debate.rounds(debate.settings.rounds):
        if r.n == 1:
            await challenge(r, state)
        elif not answering(state):
            r.stop(f"the dissenters did not answer {MOST_MISSING} times in a row")  # there is no one left to convince
            break
        elif not await confront(r, state) or not await rebut(r, state):
            break
        state.rounds = r.n
        await publish(r, state, "state")
        if not state.dissenters:
            break
    if not state.rounds:
        raise Aborted(f"the challengers were never asked: {debate.stopped}", "Raise the limit, then resume.")
    if state.rounds == 1 and not state.dissenters:
        await address(debate, state)
    if state.dissenters:
        await collect_assumptions(debate, state)
    return outcome.outcome(debate, state)


# before round 1: which challengers answer, their personas, and the position that they will attack


async def reach_challengers(debate: Debate) -> PanelState:
    """Find out which challengers can be reached, and give each its lens and file names."""
    seats = debate.seats("challenger")
    try:
        found = await reach(debate.scope("preflight"), seats, need=debate.settings.min_challengers)
    except TooFewReplies as error:
        raise Aborted(f"too few challengers can be reached. {error.message}", DOCTOR) from error
    lenses = assigned([who.spec.provider for who in seats])
    own = names(seats)
    files = personas.file_names([one.file for one in found], own)
    built = personas.built_in(lenses).personas
    state = PanelState(
        [
            Challenger(who, name, lens.title, persona, file=file, tool_file=one.file, reads=one.reads)
            for who, name, lens, persona, file, one in zip(seats, own, lenses, built, files, found, strict=True)
        ]
    )
    for c, one in zip(state.challengers, found, strict=True):
        _note_reach(c, one, state)
    return state


def _note_reach(c: Challenger, one: Reach, state: PanelState) -> None:
    if one.problem:
        c.stand, c.why = "failed", one.problem
        state.notes.append(f"{c.shown} cannot be reached: {one.problem}")
    elif not one.reads:
        state.notes.append(f"{c.shown} does not read {c.file}; its persona goes into each prompt")


async def open_panel(debate: Debate, state: PanelState) -> None:
    """Have the personas and the lead's opening written in parallel; then write the persona files."""
    scope = debate.scope("opening")
    lenses = [next(lens for lens in personas.lenses() if lens.title == c.lens) for c in state.challengers]
    # Both answers are on record before a failure is raised.
    done = await asyncio.gather(personas.written(scope, lenses, state.notes), _opening(scope), return_exceptions=True)
    for result in done:
        if isinstance(result, BaseException):
            raise result
    experts, form = done
    assert isinstance(experts, Personas) and isinstance(form, Opening)
    state.domain = experts.domain
    for c, persona in zip(state.challengers, experts.personas, strict=True):
        c.persona, c.text = persona, personas.text(persona, experts.domain, debate.quote)
        c.who = replace(c.who, persona=c.text if c.reads else "")
    await scope.note("position", _claims(form.reasoning))
    state.positions.append(Position(1, 0, form.position, form.confidence))
    state.weaknesses, state.assumptions = list(form.weaknesses), list(form.assumptions)
    files = {c.file: c.text for c in state.challengers}
    await debate.once("persona-files", lambda: dict(files), of=dict(files))
    await publish(debate, state, "state")
    wrong = await check_personas(debate, state, "laid")
    if wrong and len(wrong) == len(state.challengers):
        raise Aborted(f"no persona file could be written: {next(iter(wrong.values()))}", f"Look at {debate.folder}.")


async def _opening(scope: Debate) -> Opening:
    who, prompt = scope.seat("lead"), fill(prompts.OPENING, **prompt_head(scope, prompts.EVIDENCE_RULE))
    try:
        shown, check = Material(ballot=ballot.of_opening(scope.topic)), reply_checks.opening
        answer = await scope.ask(who, "position", prompt, schema=Opening, check=check, material=shown)
    except ParticipantFailed as error:
        raise lead_failed(scope, error, "did not open") from error
    return answer.value


# round 1: all challengers at once


async def challenge(r: Round, state: PanelState) -> None:
    reachable = [c for c in state.challengers if c.stand != "failed"]
    case = r.quote("the lead's case", render.case(state.position.text, r.ledger, state.weaknesses, state.assumptions))
    prompt = fill(prompts.CHALLENGE, **prompt_head(r, prompts.EVIDENCE_RULE), case=case)
    wrong = await check_personas(r, state, "personas")
    asks = [
        Ask(
            c.who,
            with_persona(c, prompt),
            Challenge,
            reply_checks.challenge(r.ledger, personas.items(c.persona)),
            material=Material(
                ballot=ballot.of_challenge(r.topic, c.lens, personas.items(c.persona), squeeze(state.position.text))
            ),
            refused=wrong.get(c.seat, ""),
        )
        for c in reachable
    ]
    got = await r.ask_all("challenge", asks, need=r.settings.min_challengers, unreadable=True)
    entries: list[Entry] = []
    for c, answer in zip(reachable, got, strict=True):
        if isinstance(answer, Failure):
            _note_failure(c, answer, state, r.n)
            continue
        form, looks_for = answer.value, personas.items(c.persona)
        c.verdict, c.strength = form.verdict, reply_checks.strength_of(form)
        if reply_checks.accepts(form, looks_for):
            c.accepts(1, "agree" if form.verdict == "agree" else "minor", form.summary)
        else:
            c.doubted = reply_checks.doubtful(form, looks_for)
            strength = reply_checks.strongest("moderate", c.strength) if c.doubted else c.strength
            concern = UNEXAMINED if c.doubted else gravest(form.points, form.summary)
            c.objects(strength, form.summary, concern)
            if c.doubted:
                state.notes.append(
                    f"{c.shown} agreed in round 1 without naming what it examined: counted as partial, moderate"
                )
        entries += raised(c, form.points, r.n)
    state.at_once = len(state.validated)
    await r.note("challenge", entries)


def _note_failure(c: Challenger, failure: Failure, state: PanelState, n: int) -> None:
    c.stand, c.why = ("unknown", "its reply could not be read") if failure.raw else ("failed", describe(failure))
    c.verdict = "unknown" if failure.raw else ""
    what = "could not be read and is kept as received" if failure.raw else f"is missing ({describe(failure)})"
    state.notes.append(f"the answer of {c.shown} in round {n} {what}")


# later rounds: the lead answers what is contested, and those who dissent rule on the answers


async def confront(r: Round, state: PanelState) -> bool:
    """Have the lead answer the contested points. Returns False if a limit leaves no room for the call."""
    contested = reply_checks.contested(r.ledger, (c.seat for c in state.dissenters))
    points = contested + [p for p in reply_checks.unanswered(r.ledger) if p not in contested]
    unplaced = [m for m in r.ledger.unplaced if m.round == r.n - 1 and m.by in {c.seat for c in state.dissenters}]
    if not points and not unplaced:
        return True  # the dissenters agreed without naming what they examined: there is no point to answer
    before = state.position
    prompt = fill(
        prompts.CONFRONT,
        **prompt_head(r, prompts.EVIDENCE_RULE),
        after=str(r.n - 1),
        version=str(before.version),
        position=r.quote("your position", before.text),
        points=r.quote("the contested points", render.points(r.ledger, points, state.lens_of, unplaced)),
        open=", ".join(p.id for p in points) or "none has an id",
    ) + to_weigh("point", r.runners)
    check = reply_checks.confrontation(r.ledger, points, before.text)
    try:
        shown = Material(ballot=ballot.of_confrontation(r.topic, before.text, points, state.lens_of))
        answer = await r.ask(r.seat("lead"), "confront", prompt, schema=Confrontation, check=check, material=shown)
    except ParticipantFailed as error:
        if error.kind == "budget":
            r.stop(error.message)
            return False
        raise lead_failed(r, error, f"did not answer in round {r.n}") from error
    form = answer.value
    await r.note("confront", answered(r.ledger, form.responses, r.n, state))
    causes = [
        Cause(id, " and ".join(state.lens_of(v) for v in point.voices), point.words(state.lens_of), change.what)
        for change in form.changes
        for id in dict.fromkeys(change.because)
        if (point := r.ledger.point(id))
    ]
    named = {id: change.what for change in form.changes for id in change.because}
    causes += [Cause(m.point, state.lens_of(m.by), m.reason, named[m.point]) for m in unplaced if m.point in named]
    text = form.position or before.text
    unexplained = reply_checks.unexplained(form, before.text, r.ledger.ids() | {m.point for m in unplaced})
    if squeeze(text) == squeeze(before.text):  # the same words are the same version
        state.positions[-1] = replace(before, confidence=form.confidence)
        return True
    state.positions.append(Position(before.version + 1, r.n - 1, text, form.confidence, tuple(causes), unexplained))
    if unexplained:
        state.notes.append(f"v{before.version + 1} of the position names no point that caused the change")
    return True


def answering(state: PanelState) -> list[Challenger]:
    """The dissenters that can still be expected to answer."""
    return [c for c in state.dissenters if c.silent < MOST_MISSING]


async def rebut(r: Round, state: PanelState) -> bool:
    """Have the dissenters rule on the lead's answers. Returns False if none of them answers."""
    asked = answering(state)
    wrong = await check_personas(r, state, "personas")
    asks = [_ask_rebuttal(r, state, c, wrong.get(c.seat, "")) for c in asked]
    got = await r.ask_all("rebuttal", asks, need=0)
    before = {c.seat: [p for p in r.ledger.points if reply_checks.holds(r.ledger, p, c.seat)] for c in asked}
    entries: list[Entry] = []
    for c, answer in zip(asked, got, strict=True):
        if isinstance(answer, Failure):
            c.silent += 1
            c.why = describe(answer)
            state.notes.append(
                f"{c.shown} gave no rebuttal in round {r.n} ({describe(answer)}): its objection stays unresolved"
            )
            if answer.kind == "budget":
                r.stop(answer.message)
            continue
        c.silent, c.why = 0, ""
        others = {id for id in r.ledger.point_ids if (p := r.ledger.point(id)) and c.seat not in p.voices}
        entries += _rulings(r.ledger, c, answer.value, before[c.seat], others, r.n)
        _update(c, answer.value, before[c.seat], state.position.version)
        if c.stand == "unexamined":
            state.notes.append(f"{c.shown} {UNEXAMINED}, in round {r.n} too: it does not count as an agreement")
    await r.note("rebuttal", entries)
    if asked and all(isinstance(answer, Failure) for answer in got):
        r.stop(r.stopped or f"no dissenter answered in round {r.n}")
        return False
    return bool(asked)


def _ask_rebuttal(r: Round, state: PanelState, c: Challenger, refused: str) -> Ask[Rebuttal]:
    mine = [p for p in r.ledger.points if reply_checks.holds(r.ledger, p, c.seat)]
    all_open = reply_checks.contested(r.ledger, (d.seat for d in state.dissenters))
    others = [p for p in all_open if p not in mine]
    unplaced = [m for m in r.ledger.unplaced if (m.by, m.round) == (c.seat, r.n - 1)]
    prompt = fill(
        prompts.REBUT,
        **prompt_head(r, prompts.EVIDENCE_RULE),
        round=str(r.n),
        version=str(state.position.version),
        position=r.quote("the lead's position", render.current(state.position, r.n - 1)),
        points=r.quote("your open points", render.points(r.ledger, mine, state.lens_of, unplaced)),
        others=f"Contested by others:\n\n{r.quote('points of others', render.brief(others, state.lens_of))}"
        if others
        else "",
        open=", ".join(p.id for p in mine) or "none",
        examine=prompts.EXAMINE if c.doubted and not mine else "",
    )
    check = reply_checks.rebuttal(r.ledger, c.seat)
    shown = Material(ballot=ballot.of_rebuttal(r.topic, state.position.text, mine, state.lens_of, r.ledger))
    return Ask(c.who, with_persona(c, prompt), Rebuttal, check, material=shown, refused=refused)


def _rulings(
    ledger: Ledger, c: Challenger, form: Rebuttal, mine: Sequence[Point], others: Container[str], n: int
) -> list[Entry]:
    entries: list[Entry] = []
    for one in form.rulings:
        if one.id in others:
            continue  # a challenger rules on its own points only
        proof = cited(one.evidence)
        if one.ruling == "escalate":
            # The challenger raises its own point again as graver: the ledger joins the new point to the repeated one.
            entries.append(Point(one.reason, c.seat, n, "P1", evidence=proof, same_as=one.id, check=code_of(one)))
            entries.append(Move(one.id, "contest", c.seat, n, one.reason, proof))
            continue
        kind: MoveKind = "resolve" if one.ruling == "accept" else "contest"
        entries.append(Move(one.id, kind, c.seat, n, one.reason, proof, check=code_of(one)))
        if one.ruling == "accept" and one.reason.strip() and reply_checks.thin(one.reason, one.evidence):
            entries.append(Slip("dropped", one.id, c.seat, n))
    if form.answer == "accept":
        # The challenger accepts the position without ruling on these points: they stay as the lead's answer left them.
        ruled = {ledger.issue_of(one.id) for one in form.rulings}
        entries += [Slip("dropped", point.id, c.seat, n) for point in mine if point.id not in ruled]
    return entries + raised(c, form.points, n)


def _update(c: Challenger, form: Rebuttal, mine: Sequence[Point], version: int) -> None:
    c.verdict = form.answer
    if reply_checks.agrees_now(form, mine, personas.items(c.persona), c.doubted):
        c.accepts(version, "minor" if any(p.text for p in form.points) else "agree", form.summary)
        return
    if reply_checks.still_doubtful(form, mine, personas.items(c.persona), c.doubted):
        c.does_not_count(form.summary)
        return
    escalated = form.answer == "escalate" or any(one.ruling == "escalate" for one in form.rulings)
    new = [p.strength for p in form.points if p.text]
    strength = "strong" if escalated else reply_checks.strongest(c.strength or "moderate", *new)
    own = [one.text for p in sorted(mine, key=lambda p: p.severity) for one in p.wordings if one.by == c.seat]
    c.objects(strength, form.summary, gravest(form.points, own[0] if own else form.summary))


# after the rounds: minor remarks are answered, or the assumptions behind the dissent are collected


async def address(debate: Debate, state: PanelState) -> None:
    """Have the lead answer the minor remarks, after all accepted in round 1. The accepted position stays as it is."""
    points = reply_checks.unanswered(debate.ledger)
    if not points:
        return
    scope = debate.scope("remarks")
    prompt = fill(
        prompts.ADDRESS,
        rule=prompts.EVIDENCE_RULE,
        fences=FENCES,
        topic=debate.quote("topic", debate.topic),
        position=debate.quote("your position", state.position.text),
        points=debate.quote("the remarks", render.points(debate.ledger, points, state.lens_of)),
        open=", ".join(p.id for p in points),
    ) + to_weigh("point", debate.runners)
    shown, check = ballot.of_remarks(debate.topic, points, state.lens_of), reply_checks.responses(debate.ledger, points)
    lead = debate.seat("lead")
    answer = await scope.try_ask(lead, "address", prompt, schema=Brief, check=check, material=Material(ballot=shown))
    if isinstance(answer, Failure):
        state.notes.append(f"the lead did not answer the minor remarks ({answer.kind})")
        return
    await scope.note("address", answered(debate.ledger, answer.value.responses, 1, state))


async def collect_assumptions(debate: Debate, state: PanelState) -> None:
    """Ask the lead and all dissenters in parallel why they disagree; then map what each assumes."""
    lead, open_points = debate.seat("lead"), reply_checks.contested(debate.ledger, (c.seat for c in state.dissenters))
    shared = {
        "fences": FENCES,
        "topic": debate.quote("topic", debate.topic),
        "version": str(state.position.version),
        "position": debate.quote("the position", state.position.text),
        "points": debate.quote("the contested points", render.points(debate.ledger, open_points, state.lens_of)),
    }
    first = fill(prompts.GROUNDS, **shared, who="the LEAD of the panel", side=prompts.SIDE_LEAD)
    asks = [Ask(lead, first, Grounds, reply_checks.grounds)]
    for c in state.dissenters:
        prompt = fill(prompts.GROUNDS, **shared, who=f"the {c.lens} on it", side=prompts.SIDE_CHALLENGER)
        asks.append(Ask(c.who, with_persona(c, prompt), Grounds, reply_checks.grounds))
    parties = {"lead": LEAD, **{c.seat: c.lens for c in state.dissenters}}
    for answer in await debate.scope("assumptions").ask_all("grounds", asks, need=0):
        if isinstance(answer, Failure):
            state.notes.append(f"{parties[answer.who.seat]} did not say why it disagrees ({answer.kind})")
            state.unsaid = state.unsaid or (answer.message if answer.kind == "budget" else state.notes[-1])
            continue
        form = answer.value
        seat, assumed = answer.who.seat, tuple(filter(None, form.assumptions))
        asked = [(x.question, x.how) for x in form.cruxes if x.question]
        cruxes = tuple(NamedCrux(question, how, reply_checks.checkable(question, how)) for question, how in asked)
        state.grounds.append(PartyGrounds(parties[seat], seat, form.why, form.other_right, assumed, cruxes))
    if len(state.grounds) > 1:
        await map_assumptions(debate, state, list(parties.values()))
    elif state.grounds:
        await debate.skip("map", "only one party named its assumptions, so there is nothing to compare them with")
        state.mapped = own_assumptions(state)


async def map_assumptions(debate: Debate, state: PanelState, parties: list[str]) -> None:
    said = "\n\n".join(debate.quote(f"what the {g.party} says", _grounds(g)) for g in state.grounds)
    prompt = fill(
        prompts.MAP, fences=FENCES, topic=debate.quote("topic", debate.topic), grounds=said, parties=", ".join(parties)
    )
    answer = await debate.try_ask(
        debate.seat("judge"), "map", prompt, schema=Assumptions, check=reply_checks.mapping(parties), closing=True
    )
    if isinstance(answer, Failure):
        state.unmapped = f"the judge did not compare the assumptions ({describe(answer)})"
        state.notes.append(f"{state.unmapped}; each party's own are listed")
        state.mapped = own_assumptions(state)
        return
    known = {p.casefold(): p for p in parties}
    state.core = answer.value.core_disagreement
    for one in answer.value.assumptions:
        held, denied = (
            tuple(known[p.casefold()] for p in named if p.casefold() in known) for named in (one.held_by, one.denied_by)
        )
        if one.text:
            state.mapped.append(CoreAssumption(one.text, held, denied))


def own_assumptions(state: PanelState) -> list[CoreAssumption]:
    """The assumptions that each party named itself, for a panel whose judge did not compare them."""
    return [CoreAssumption(text, (g.party,)) for g in state.grounds for text in g.assumptions]


def _grounds(g: PartyGrounds) -> str:
    listed = "\n".join(f"- {a}" for a in g.assumptions)
    return f"Why: {g.why}\nThe other side is right if: {g.other_right}\nAssumptions:\n{listed}"


# shared by the steps


async def publish(debate: Debate, state: PanelState, key: str) -> None:
    """Record the state of the panel, and write its files."""
    data = state.to_json()
    await debate.once(key, lambda: data, of=data)
    await debate.publish()


async def check_personas(debate: Debate, state: PanelState, key: str) -> dict[str, str]:
    """Seat → what is wrong with the file of its persona; checked once and then on record."""
    expected = {c.seat: (c.file, personas.sha(c.text)) for c in state.challengers}
    found = await debate.once(
        key + "#files", lambda: dict(personas.changed_files(debate.folder, expected)), cls="limit"
    )
    return {str(seat): str(why) for seat, why in found.items()} if isinstance(found, dict) else {}


def lead_failed(debate: Debate, error: ParticipantFailed, what: str) -> Aborted:
    hint = "Without the lead there is no position to test. Resume when it can answer."
    return aborted(debate, debate.seat("lead"), what, error, hint)


def with_persona(c: Challenger, prompt: str) -> str:
    """The prompt, with the persona in front of it if the challenger's tool does not read the persona's file."""
    return prompt if c.reads else f"{c.text}\n{prompt}"


def gravest(points: Sequence[Objection], summary: str) -> str:
    said = sorted((p for p in points if p.text), key=lambda p: -reply_checks.STRENGTHS.index(p.strength))
    return said[0].text if said else summary


def raised(c: Challenger, points: Sequence[Objection], n: int) -> list[Entry]:
    return [p.point(c.seat, n) for p in points if p.text]


def _claims(reasoning: Sequence[Assertion]) -> list[Claim]:
    return [Claim(a.text, "lead", 1, cited(a.evidence), check=code_of(a)) for a in reasoning if a.text]


def answered(ledger: Ledger, responses: Sequence[Response], n: int, state: PanelState) -> list[Entry]:
    moves = reply_checks.MOVES
    again = {ledger.issue_of(one.id) for one in responses}
    state.overruled = [id for id in state.overruled if id not in again] + reply_checks.overruled(ledger, responses)
    out: list[Entry] = [
        Move(one.id, moves[one.move], "lead", n, reason_of(one.reason, one), cited(one.evidence), check=code_of(one))
        for one in responses
    ]
    return out + list[Entry](reply_checks.joins(ledger, responses, n)[0])
