"""How a panel ends: consensus, partial consensus or trade-off, in a fixed format; and what the debate changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from rebut.core.json_value import Json, objects
from rebut.core.markdown import inline, tame
from rebut.core.text import counted, cut, squeeze
from rebut.domain.doubts import Doubt, heading_with
from rebut.domain.ledger import Ledger, Point, Slip, distinct
from rebut.domain.outcome import DecisionNotes, Outcome
from rebut.domain.render import cell
from rebut.domain.worth import Worth, fates, quoted
from rebut.engine.debate import Debate
from rebut.protocols.panel.reply_checks import contested
from rebut.protocols.panel.state import UNEXAMINED, Challenger, PanelState, Position
from rebut.protocols.shared import check_ignored, of_rounds

ORDER = ("low", "medium", "high")
LONGEST_ROW = 160
"""The most characters of a position or an assumption in the terminal's outcome."""
MOST_ASSUMPTIONS = 5


def outcome(debate: Debate, state: PanelState) -> Outcome:
    """The outcome. Seats that never answered count in every total (C6)."""
    # A point that a dissenter has not accepted is open, even if the lead conceded it.
    unsettled = tuple(p.id for p in contested(debate.ledger, (c.seat for c in state.dissenters)))
    ledger, asked = replace(debate.ledger, held=unsettled), debate.planned(debate.settings.rounds)
    ok, of = len(state.validated), len(state.challengers)
    heading, kind, doubts = "CONSENSUS", "consensus", list[Doubt]()
    if state.dissenters:
        kind, heading = "tradeoff", "TRADEOFF"
        answered = of - len(state.missing)
        if debate.stopped:
            heading = f"TRADEOFF AFTER {of_rounds(state.rounds, asked)}"
        if state.missing:
            heading += f" ({answered} OF {of} ANSWERED)"
        doubts.append(Doubt("contested", said=f"{len(state.dissenters)} of {of} still object"))
        if debate.stopped:
            doubts.append(Doubt("ended early", said=debate.stopped))
        if state.unsaid:
            doubts.append(Doubt("seats missing", "NOT EVERY PARTY NAMED ITS ASSUMPTIONS", state.unsaid))
        if state.unmapped:
            doubts.append(Doubt("seats missing", "ASSUMPTIONS NOT COMPARED", state.unmapped))
        if state.missing:
            doubts.append(Doubt("seats missing", said=f"{answered} of {of} answered"))
        silent = [c.shown for c in state.dissenters if c.silent]
        if silent and not debate.stopped:
            missing = "A REBUTTAL IS MISSING" if len(silent) == 1 else f"{len(silent)} REBUTTALS ARE MISSING"
            doubts.append(Doubt("seats missing", missing, f"{', '.join(silent)} gave no rebuttal in the last round"))
    elif not ok:
        kind, heading = "no consensus", f"NO CONSENSUS (0 of {of})"
    elif ok < of:
        kind, heading = "partial consensus", f"PARTIAL CONSENSUS ({ok} of {of})"
    if ok < of and not state.dissenters:
        doubts.append(Doubt("seats missing", said=f"{ok} of {of} accept the position"))
    if lost := dropped(ledger):
        strong = sum(p.severity == "P1" for p in lost)
        parts = [(strong, "STRONG OBJECTION"), (len(lost) - strong, "MODERATE OBJECTION")]
        said = " AND ".join(counted(n, one, f"{one}S") for n, one in parts if n) + " DROPPED WITHOUT A REASON"
        doubts.append(Doubt("dropped", said, said.lower()))
    if state.overruled:
        doubts.append(check_ignored(state.overruled, "the lead rejects"))
    body = _tradeoff(debate, state) if state.dissenters else _consensus(state, ledger, asked)
    final = "\n\n".join([f"## DEBATE OUTCOME: {heading_with(heading, doubts)}", *body, *_trail(state, ledger)]) + "\n"
    return Outcome(
        kind=kind,
        heading=heading,
        decision=state.position.text,
        doubts=tuple(doubts),
        label="POSITION, CONTESTED" if kind == "tradeoff" else "",
        unsettled="contested" if kind == "tradeoff" else "with objections dropped without a reason" if lost else "",
        decision_notes=decision_notes(state),
        stopped=(debate.stopped or state.unsaid) if state.dissenters else "",
        final=final,
        data={
            **state.to_json(),
            "confidence": confidence(state, ledger),
            "held": held(state, ledger),
        },
        notes=tuple(state.notes),
        ledger=ledger,
        rows=tuple(_rows(state, ledger)),
        worth=worth(state, ledger, _lacking(state, debate.stopped)),
    )


def _lacking(state: PanelState, stopped: str) -> str:
    """Say what is missing in the comparison with the first position: answers, or the rounds after an early end."""
    unread = sum(c.stand == "unknown" for c in state.missing)
    silent, of = len(state.missing) - unread, len(state.challengers)
    lacking = [f"{silent} of {of} did not answer"] if silent else []
    lacking += [f"the answer of {unread} of {of} could not be read"] if unread else []
    if lacking:
        return ", ".join(lacking)
    return "it ended early" if stopped and state.dissenters else ""


def partial(debate: Debate) -> Outcome:
    """The result at a deadline: the last position, and the points that are open."""
    answers, state = debate.answers, debate.state
    said = [v for k, v in answers.items() if k.endswith("@lead") and isinstance(v, dict) and v.get("position")]
    rounds = state.rounds if isinstance(state, PanelState) else 0  # completed rounds only
    challenges = [v for k, v in answers.items() if k.startswith("r1/challenge@") and isinstance(v, dict)]
    position = str(said[-1]["position"]) if said else ""
    # Points get their ids when a round is over, so the points of an incomplete round have none yet.
    early = [p for form in challenges for p in objects(form.get("points"))] if not rounds else []
    rows = [f"- {p.id}: {squeeze(p.words())}" for p in debate.ledger.open] + [
        f"- {squeeze(str(p['text']))}" for p in early
    ]
    left = "\n".join(rows) or "- none yet"
    return Outcome(
        kind="partial",
        heading=f"NO CONSENSUS YET, {of_rounds(rounds, debate.planned(debate.settings.rounds))}",
        decision=position,
        basis=f"round {rounds}"
        if rounds
        else _before_round_1(bool(said), len(challenges), len(debate.seats("challenger"))),
        final=f"## Position so far\n\n{tame(position) or 'none yet'}\n\n## Open points\n\n{tame(left)}\n",
        data={"position": position, "round": rounds},
    )


def _before_round_1(opened: bool, answered: int, of: int) -> str:
    if answered:
        return f"the opening and {answered} of {of} challenges"
    return "the opening alone" if opened else "nothing yet"


def confidence(state: PanelState, ledger: Ledger) -> str:
    """The lead's own confidence; high if all challengers agree in round 1.

    At most medium if the position is contested, a challenger did not answer, or an objection was dropped.
    """
    if state.rounds == 1 and all(c.stand == "agree" for c in state.challengers):
        return "high"
    own = state.position.confidence
    whole = len(state.validated) == len(state.challengers) and not dropped(ledger)
    return own if whole else min(own, "medium", key=ORDER.index)


def held(state: PanelState, ledger: Ledger) -> dict[str, Json]:
    """What the program checked: changes of mind without a cause, concessions taken back, and citations."""
    return {
        "flips_without_cause": len(flips(ledger)),
        "flips": list(_slips(flips(ledger), state)),
        "walked_back": list(_slips(walked_back(ledger), state)),
        "unexplained_versions": [p.version for p in state.positions if p.unexplained],
        "citations": dict(ledger.marks()),
        "claims_unsupported": [c.id for c in ledger.unsupported],
        "points_unsupported": [p.id for p in unsupported_points(ledger)],
        "unmatched": [f"{m.by} answered {m.point}" for m in ledger.unmatched],
    }


def flips(ledger: Ledger) -> list[Slip]:
    """Objections that were dropped without a reason, each listed once."""
    return list(dict.fromkeys(s for s in ledger.slips if s.kind == "dropped"))


def dropped(ledger: Ledger) -> list[Point]:
    """The strong and moderate objections that were dropped without a reason. A minor one never stops a consensus."""
    ids = {slip.point for slip in flips(ledger)}
    return [p for p in ledger.points if p.id in ids and p.severity != "P3"]


def walked_back(ledger: Ledger) -> list[Slip]:
    return [s for s in ledger.slips if s.kind == "walked back"]


def unsupported_points(ledger: Ledger) -> list[Point]:
    return [p for p in ledger.points if not p.evidence]


def _slips(slips: Sequence[Slip], state: PanelState) -> list[str]:
    return [f"{slip.point} by {state.lens_of(slip.by)} in round {slip.round}" for slip in slips]


def decision_notes(state: PanelState) -> DecisionNotes:
    """What a decision record says about a panel besides its points."""
    alternatives = []
    for old, new in pairwise(state.positions):
        why = [f"{cause.lens} raised {cause.point}" for cause in new.causes]
        if squeeze(old.text) != squeeze(new.text):
            given_up = "; ".join(why) or "no point was named"
            alternatives.append(f"v{old.version}: {old.text} Given up: {given_up}.")
    against = "what would make the decision wrong, according to the"
    alternatives += [f"{against} {one.party}: {one.other_right}" for one in state.grounds]
    consequences = [f"weak by its author's own account: {text}" for text in state.weaknesses if text]
    cruxes = [crux for one in state.grounds for crux in one.cruxes if crux.checkable]
    consequences += [f"[ ] find out: {crux.question} ({crux.how})" for crux in cruxes]
    dissent = []
    for c in state.challengers:
        if c.stand == "dissent":
            dissent.append(f"{c.shown}: {c.strength}: {c.concern}")
        elif not c.content:
            dissent.append(f"{c.shown} {_absent(c)}")
    return DecisionNotes(
        context=(
            *([f"field: {state.domain}"] if state.domain else []),
            *(f"taken for granted at the start: {text}" for text in state.assumptions if text),
        ),
        alternatives=tuple(alternatives),
        consequences=tuple(consequences),
        dissent=tuple(dissent),
    )


# the report


def _consensus(state: PanelState, ledger: Ledger, asked: int) -> list[str]:
    head = [
        f"**Final position:** {tame(state.position.text)}",
        f"**Confidence:** {confidence(state, ledger).upper()}",
        f"**Rounds to consensus:** {state.rounds}"
        if state.validated
        else f"**Rounds:** {state.rounds} of {asked} (no consensus)",
    ]
    rows = [f"**Perspectives validated:** {len(state.validated)} of {len(state.challengers)}"]
    for c in state.challengers:
        if c.content:
            seen = f", v{c.validated}" + (
                " of v" + str(state.position.version) if c.validated < state.position.version else ""
            )
            rows.append(f"- ✅ {c.shown}{seen}: {inline(c.summary) or 'no summary given'}")
        else:
            rows.append(f"- ❌ {c.shown}: {_absent(c)}")
    return ["  \n".join(head), "\n".join(rows), _changed(state, ledger)]


def _tradeoff(debate: Debate, state: PanelState) -> list[str]:
    ledger = debate.ledger
    head = [
        f"**Final position:** {tame(state.position.text)} (contested)",
        f"**Confidence:** {confidence(state, ledger).upper()}",
        f"**Rounds:** {state.rounds} of {debate.planned(debate.settings.rounds)} (no consensus)",
    ]
    rows = ["**Perspective Breakdown:**"]
    for c in state.challengers:
        word = {
            "agree": "AGREE",
            "minor": "AGREE",
            "unexamined": "NOT COUNTED",
            "dissent": "DISAGREE",
            "unknown": "UNKNOWN",
        }.get(c.stand, "NO ANSWER")
        said = f"v{c.validated}: {inline(c.summary)}" if c.content else f"{c.strength}: {inline(c.concern)}"
        if c.stand == "dissent" and c.why:
            said += f" (no answer in the last round: {c.why})"
        rows.append(f"- {c.shown}: {word} - {said if c.content or c in state.dissenters else _absent(c)}")
    names = ", ".join(c.shown for c in state.dissenters)
    core = inline(state.core) or f"{names} did not accept the position"
    table = ["**Assumptions exposed:**", "", "| Assumption | Held by | Denied by |", "|---|---|---|"]
    for one in state.mapped:
        held, denied = (cell(", ".join(parties)) for parties in (one.held_by, one.denied_by))
        table.append(f"| {cell(one.text)} | {held} | {denied or '–'} |")
    if not state.mapped:
        why = "the answers name none" if state.grounds else "no party answered"
        table = [f"**Assumptions exposed:** none, because {why}"]
    parts = ["  \n".join(head), "\n".join(rows), f"**Core disagreement:** {core}", "\n".join(table)]
    return [*parts, *_cruxes(state), _changed(state, ledger)]


def _cruxes(state: PanelState) -> list[str]:
    rows = []
    for g in state.grounds:
        rows.append(f"- {g.party}: the other side would be right, it says: {inline(g.other_right) or 'never'}")
        for x in g.cruxes:
            how = f" (find out: {inline(x.how)})" if x.how else ""
            rows.append(f"  - {'[ ] ' if x.checkable else ''}{inline(x.question)}{how}")
    return ["**What would change minds:**\n" + "\n".join(rows)] if rows else []


def _changed(state: PanelState, ledger: Ledger) -> str:
    rows = []
    moves = {(m.point, m.kind) for m in ledger.moves if m.by == "lead"}
    for c in state.challengers:
        for p in ledger.points:
            conceded = (p.id, "concede") in moves
            if c.seat in p.voices and (conceded or (p.id, "partly") in moves):
                part = "accepted" if conceded else "accepted in part"
                own = [one for one in distinct(p.wordings) if one.by == c.seat] or [p]
                rows += [f"- {c.lens}: {p.id} {inline(one.text)} ({part})" for one in own]
    return "**What changed:**\n" + "\n".join(rows or ["- nothing: no critique was accepted"])


def _trail(state: PanelState, ledger: Ledger) -> list[str]:
    rows = ["**Position history:**"]
    for p in state.positions:
        when = "opening" if not p.after else f"after round {p.after}"
        rows.append(f"- v{p.version} ({when}): {inline(p.text)}")
        rows += [f"  └── Changed because: {c.lens} raised {c.point}: {inline(c.text)}" for c in p.causes]
        if p.unexplained:
            rows.append("  └── Changed, and no point was named as the cause")
    flipped, back = (_slips(slips, state) for slips in (flips(ledger), walked_back(ledger)))
    marks = ", ".join(f"{n} {name}" for name, n in sorted(ledger.marks().items())) or "none"
    bare = [*(c.id for c in ledger.unsupported), *(p.id for p in unsupported_points(ledger))]
    checks = [
        f"- objections dropped without a reason: {len(flipped)}{_named(flipped)}",
        f"- concessions walked back: {len(back)}{_named(back)}",
        f"- citations: {marks}",
        f"- unsupported: {', '.join(bare) or 'none'}",
    ]
    parts = ["\n".join(rows), "**Checked by the program:**\n" + "\n".join(checks)]
    if state.notes:
        parts.append("**Notes:**\n" + "\n".join(f"- {inline(n)}" for n in state.notes))
    return parts


def _rows(state: PanelState, ledger: Ledger) -> list[tuple[str, str]]:
    """What the terminal shows besides the ledger: a label and a text each."""
    of = len(state.challengers)
    rows: list[tuple[str, str]] = [("validated", f"{len(state.validated)} of {of} perspectives")]
    for c in state.challengers:
        if c.content:
            rows.append(("", f"{c.shown} v{c.validated}: {inline(c.summary)}"))
        else:
            dissents = c in state.dissenters
            said = f"does not accept the position: {c.strength}, {inline(c.concern)}" if dissents else _absent(c)
            rows.append(("", f"{c.shown} {said}{', which does not count' if c.stand == 'unexamined' else ''}"))
    rows.append(("position", f"v{state.position.version}, confidence {confidence(state, ledger)}"))
    if len(state.positions) > 1:
        for p in state.positions:
            causes = ", ".join(dict.fromkeys(f"{c.lens} raised {c.point}" for c in p.causes))
            why = f" ({causes or 'no point was named'})" if p.after else ""
            rows.append(("", f"v{p.version}: {cut(inline(p.text), LONGEST_ROW)}{why}"))
    if state.dissenters and state.core:
        rows.append(("disagreement", cut(inline(state.core), LONGEST_ROW)))
    for n, one in enumerate(state.mapped[:MOST_ASSUMPTIONS] if state.dissenters else ()):
        held, denied = (cell(", ".join(parties)) for parties in (one.held_by, one.denied_by))
        who = f"held by {held}" + (f", denied by {denied}" if denied else "")
        rows.append(("" if n else "assumptions", f"{cut(inline(one.text), LONGEST_ROW)} ({who})"))
    if state.dissenters and (more := len(state.mapped) - MOST_ASSUMPTIONS) > 0:
        rows.append(("", f"… {more} more in `rebut export`"))
    if found := flips(ledger):
        said = f"{counted(len(found), 'objection')} without a reason: {', '.join(_slips(found, state))}"
        rows.append(("dropped", said))
    return rows


def _absent(c: Challenger) -> str:
    """Why a challenger neither validates the position nor contests it."""
    if c.stand == "unexamined":
        return UNEXAMINED
    if c.stand == "unknown":
        return "gave an answer that could not be read"
    return f"did not answer ({inline(c.why) or 'not asked'})"


def _named(rows: Sequence[str]) -> str:
    return f" ({'; '.join(rows)})" if rows else ""


# whether the debate was worth it: the first position, how many accepted it at once, and what the rounds changed


POSITION = "opening/position@lead"


def worth(state: PanelState, ledger: Ledger, caveat: str = "") -> Worth:
    of = len(state.challengers)
    changed = _moved(state.positions)
    won = len(state.validated) - state.at_once
    changed += [f"{won} more accepted it"] if won > 0 else []
    if state.dissenters:
        changed.append(f"{len(state.dissenters)} of {of} still contest it")
    return Worth(
        first=f"accepted at once by {state.at_once} of {of}: {quoted(state.positions[0].text)}",
        points=fates(ledger),
        changed=tuple(changed),
        same=None if state.dissenters or not state.validated else not changed,
        caveat=caveat,
        keys=(POSITION,),
    )


def _moved(positions: Sequence[Position]) -> list[str]:
    """Name the last version, if it differs from the first, and the points that the lead named as causes."""
    if inline(positions[0].text) == inline(positions[-1].text):
        return []
    causes = list(dict.fromkeys(c.point for p in positions for c in p.causes))
    return [f"position moved to v{positions[-1].version}, by {', '.join(causes) or 'no named point'}"]
