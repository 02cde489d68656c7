"""How a duel reads: each turn as Markdown, the list of points, and the report at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rebut.core.text import cut, encoded, squeeze, tame
from rebut.core.types import Json, ModelSpec
from rebut.domain import render as ledgers
from rebut.domain.ledger import Claim, Entry, Ledger, Move, Point
from rebut.domain.render import Vocabulary, bullets, section
from rebut.domain.worth import TAKEN, Worth, fates
from rebut.engine.debate import Debate
from rebut.engine.protocol import Artifact, Ended
from rebut.protocols.duel import reply_checks
from rebut.protocols.duel.forms import Challenge, Decision, Defense, Opening, Summary
from rebut.record.record import Call, Record

WORDS = Vocabulary(
    moves={"defend": "rebut", "partly": "trade-off", "resolve": "resolved", "maintain": "unresolved"},
    needs_evidence=("defend", "partly", "resolve"),
)


def opening(form: Opening, new: Sequence[Entry]) -> str:
    return f"{form.position}\n\n{ledgers.claims(new)}".strip()


def challenge(form: Challenge, new: Sequence[Entry]) -> str:
    looked = form.coverage
    covered = {
        "correctness": looked.correctness,
        "security": looked.security,
        "developer experience": looked.developer_experience,
    }
    agreed = [f"{a.text} (risk that remains: {a.risk or 'none named'})" for a in form.agreements]
    parts = [
        ledgers.raised(new, WORDS),
        f"Claims without evidence: {', '.join(form.unsupported)}" if form.unsupported else "",
        bullets("Alternatives:", form.alternatives),
        bullets("Examined:", [f"{field}: {found}" for field, found in covered.items()]),
        bullets("Agreed:", agreed),
    ]
    return "\n\n".join(p for p in parts if p)


def defense(form: Defense, ledger: Ledger, n: int) -> str:
    moves = ledgers.moves((m for m in ledger.moves if m.by == "proposer" and m.round == n), WORDS)
    new = ledgers.claims(c for c in ledger.claims if c.by == "proposer" and c.round == n)
    return "\n\n".join(p for p in (moves, f"Position now: {form.position}", new) if p)


def follow_up(new: Sequence[Entry], ledger: Ledger, n: int) -> str:
    moves = ledgers.moves((m for m in ledger.moves if m.by == "challenger" and m.round == n), WORDS)
    return "\n\n".join(p for p in (moves, ledgers.raised(new, WORDS)) if p)


def points(ledger: Ledger) -> str:
    """The ledger as the debaters and the judge see it. What was answered is in the turns that they read beside it."""
    rows = [*ledgers.points(ledger, WORDS, answers="none"), *ledgers.unmatched(ledger)]
    return "\n".join(rows) or "none"


def own_summary(ledger: Ledger, conceded: Sequence[Move]) -> str:
    """What the program can say without a model: the points and the concessions."""
    given = bullets("Concessions:", [f"{m.point}: {m.reason}" for m in conceded])
    return f"{points(ledger)}\n\n{given}".strip()


def summary(form: Summary, verbatim: Sequence[str], conceded: Sequence[Move]) -> str:
    """The minutes; concessions that the writer left out are put back from the ledger, word for word."""
    # A few words out of a concession may say another thing than all of it: it then stands whole in their place.
    quotes = [(quote, reply_checks.plain(quote)) for quote in verbatim]
    whole = [(m, squeeze(m.reason)) for m in conceded if not any(squeeze(m.reason) in plain for _, plain in quotes)]
    kept = [quote for quote, plain in quotes if not any(plain in reason for _, reason in whole)]
    kept += [f"{m.point}: {m.reason}" for m, _ in whole]
    agreed = [f"{a.text} (evidence: {', '.join(c.place for c in a.evidence) or 'none'})" for a in form.agreements]
    parts = [
        f"Proposer: {form.proposer}",
        f"Challenger: {form.challenger}",
        bullets("Concessions, verbatim:", kept),
        bullets("Agreed:", agreed),
        bullets("Open:", form.disagreements),
        bullets("Contradictions:", form.contradictions),
    ]
    return "\n\n".join(p for p in parts if p)


def checked(ledger: Ledger) -> str:
    """What the program looked at, in one sentence; never that anything is so."""
    marks = ledger.marks()
    total = sum(marks.values())
    said = ", ".join(f"{n} {name}" for name, n in sorted(marks.items()))
    looked = f"{total - marks.get('uncheckable', 0)} of {total} citations checked ({said})"
    slips = [f"{s.point} {s.kind} by the {s.by}" for s in ledger.slips]
    bare = sum(1 for p in ledger.points if not p.evidence)
    return (
        f"{looked if total else 'nothing was cited'}; {len(ledger.unsupported)} of {len(ledger.claims)} claims and "
        f"{bare} of {len(ledger.points)} points cite nothing; "
        f"concessions: {'; '.join(slips) if slips else 'none was walked back, and no point was dropped'}."
    )


def unsupported(ledger: Ledger) -> list[str]:
    """What either side asserted and cited nothing for."""
    asserted: list[Claim | Point] = [*ledger.claims, *ledger.points]
    rows = [f"{one.id} ({one.by}, round {one.round}): {one.text}" for one in asserted if not one.evidence]
    return rows + [
        f"on {m.point} ({m.by}, round {m.round}): {m.reason}"
        for m in ledger.moves
        if m.kind in WORDS.needs_evidence and not m.evidence
    ]


def report(debate: Debate, ledger: Ledger, decision: Decision, rounds: int, notes: Sequence[str]) -> str:
    """The synthesis in its fixed format."""
    names = {role: debate.seat(role).label for role in ("proposer", "challenger")}
    agreed = [
        f"{a.text} (evidence: {', '.join(c.place for c in a.evidence) or 'none given'}"
        + (f"; risk that remains: {a.risk})" if a.risk else ")")
        for a in decision.agreements
    ]
    differ = [
        f"{d.point}: {names['proposer']} argues {d.proposer}, {names['challenger']} argues {d.challenger}"
        for d in decision.disagreements
    ]
    parts = [
        _head(debate, ledger, rounds),
        f"### Verdict\n\n{names[decision.winner]} ({decision.winner}) had the stronger argument because: "
        f"{tame(decision.reasoning)}",
        "### Debate Quality\n\n"
        f"- **Genuine disagreement**: {decision.genuine_disagreement}\n"
        f"- **Evidence quality**: {decision.evidence_quality}\n"
        f"- **Challenge depth**: {decision.challenge_depth}",
        section("### Key Agreements", agreed),
        section("### Key Disagreements", differ),
        section("### Unresolved Questions", decision.unresolved),
        section("### Unsupported Claims", unsupported(ledger)),
        section("### Notes", [*([debate.stopped] if debate.stopped else []), *notes])
        if debate.stopped or notes
        else "",
        f"### Recommendation\n\n{tame(decision.recommendation)}",
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def without_verdict(debate: Debate, rounds: int, why: str) -> str:
    head, left = _head(debate, debate.ledger, rounds), points(debate.ledger)
    return f"{head}\n\n### Verdict\n\nNone: {why}.\n\n### Points at issue\n\n{left}\n"


def _head(debate: Debate, ledger: Ledger, rounds: int) -> str:
    rows = [f"**Topic**: {squeeze(debate.topic)}"]
    for role in ("proposer", "challenger"):
        who = debate.seat(role)
        spoke = f", for which {debate.stand_in(who)} spoke as a fallback" if debate.stand_in(who) else ""
        rows.append(f"**{role.capitalize()}**: {who.label} ({who.spec.model or 'default model'}){spoke}")
    planned = debate.planned(debate.settings.rounds)
    rows.append(f"**Rounds**: {rounds}" + ("" if rounds == planned else f" of {planned}"))
    rows.append(f"**Rigor**: Two positions compared under adversarial rules. The program checked: {checked(ledger)}")
    return "## Debate Summary\n\n" + "  \n".join(rows)


# The duel's state file, `debate/last-debate.json`: a projection of the record in a schema that other tools read.


def artifacts(ended: Ended) -> list[Artifact]:
    record, outcome = ended.record, ended.outcome
    seats = {str(row["seat"]): ModelSpec.parse(str(row["spec"])) for row in record.opened.seats}
    data: dict[str, Json] = dict(outcome.data if outcome else getattr(ended.error, "data", {}))
    stamp = record.lines[0].at
    short = hashlib.sha256(record.opened.id.encode()).hexdigest()[:4]
    state: dict[str, Any] = {
        "id": f"debate-{stamp}-{short}",
        "topic": record.opened.topic,
        "proposer": _tool(seats["proposer"]),
        "challenger": _tool(seats["challenger"]),
        "effort": str(ended.settings.effort) or None,
        "rounds_completed": data.get("rounds_completed", 0),
        "max_rounds": ended.planned,
        "status": status(ended),
        "exchanges": _exchanges(record, seats, data),
        "verdict": _verdict(ended, seats),
        "timestamp": record.lines[-1].at,
        "session": record.opened.id,
    }
    base = f"{ended.settings.state_dir}/" if ended.settings.state_dir else ""
    return [Artifact(f"{base}debate/last-debate.json", encoded(state, indent=2).decode() + "\n")]


def status(ended: Ended) -> str:
    """completed, incomplete, uncontested or aborted."""
    if ended.outcome is None:
        return "aborted"
    if ended.outcome.kind == "uncontested":
        return "uncontested"
    return "completed" if ended.outcome.kind == "verdict" and ended.outcome.conclusive else "incomplete"


def _tool(spec: ModelSpec) -> dict[str, Json]:
    return {"tool": spec.provider, "model": spec.model or None}


def _exchanges(record: Record, seats: dict[str, ModelSpec], data: dict[str, Json]) -> list[dict[str, Json]]:
    rows = data.get("exchanges")
    out: list[dict[str, Json]] = []
    for row in rows if isinstance(rows, list) else ():
        assert isinstance(row, dict)
        n, role = row["round"], str(row["role"])
        turn = _turns(record, role, f"r{n}/")
        ms = sum(c.answered.ms for c in turn if c.answered)
        tool = _spoke(turn, seats[role])
        out.append({"round": n, "role": role, "tool": tool, "response": row["response"], "duration_ms": ms})
    return out


def _turns(record: Record, role: str, begin: str = "") -> list[Call]:
    return [c for c in record.calls.values() if c.key.startswith(begin) and c.key.endswith(f"@{role}")]


def _spoke(turn: Iterable[Call], seated: ModelSpec) -> str:
    """The tool that really said it: where a seat's own model failed, a fallback spoke in its place."""
    asked = [one for call in turn if call.answered for one, got in call.returned if one and got.outcome == "ok"]
    return ModelSpec.parse(asked[-1].spec).provider if asked else seated.provider


def _verdict(ended: Ended, seats: dict[str, ModelSpec]) -> dict[str, Json] | None:
    outcome = ended.outcome
    if outcome is None or outcome.verdict is None:
        return None
    decision = outcome.data["decision"]
    assert isinstance(decision, dict)
    agreements, disputes = decision["agreements"], decision["disagreements"]
    assert isinstance(agreements, list) and isinstance(disputes, list)
    return {
        "winner": _spoke(_turns(ended.record, outcome.verdict.winner), seats[outcome.verdict.winner]),
        "winner_role": outcome.verdict.winner,
        "reasoning": outcome.verdict.reasoning,
        "agreements": [a["text"] for a in agreements if isinstance(a, dict)],
        "disagreements": [d["point"] for d in disputes if isinstance(d, dict)],
        "recommendation": outcome.verdict.recommendation,
    }


# Was a duel worth it: the opening as it stood before any challenge, and what became of it.

OPENING = "r1/opening@proposer"
LONGEST = 200
VERDICTS = {"proposer": "the verdict stays with it", "": "nobody decided"}


def weighed(answers: Mapping[str, Json], ledger: Ledger, winner: str = "", caveat: str = "") -> Worth:
    """The account of a duel. `winner` is empty where nobody decided."""
    first = _position(answers.get(OPENING))
    mine = [c for c in ledger.claims if c.round == 1 and c.by == "proposer"]
    bare = sum(1 for c in mine if c.unsupported)
    claims = f"{len(mine)} claim{'' if len(mine) == 1 else 's'}" + (f", {bare} unsupported" if bare else "")
    changed = moved(answers, ledger, first)
    same = not changed if winner == "proposer" else False if winner else None
    if not same:
        changed.insert(0, VERDICTS.get(winner, "the verdict goes against it"))
    return Worth(
        first=f"“{cut(first, LONGEST)}” on {claims}",
        points=fates(ledger),
        changed=tuple(changed),
        same=same,
        caveat=caveat,
        keys=(OPENING,),
    )


def moved(answers: Mapping[str, Json], ledger: Ledger, first: str) -> list[str]:
    """Whether the proposer's position moved, and which points it gave in to. Other words alone are no change."""
    taken = [p.id for p in ledger.points if _gave_in(ledger, p.id)]
    later = [_position(v) for k, v in answers.items() if k.endswith("/defense@proposer")]
    last = next((p for p in reversed(later) if p), first)
    if taken and squeeze(last) != squeeze(first):
        return [f"position moved after {', '.join(taken)}"]
    return [f"{', '.join(taken)} accepted, position kept"] if taken else []


def _gave_in(ledger: Ledger, id: str) -> bool:
    """Whether the proposer gave in to a point, in part or whole, and whatever the challenger then made of that."""
    said = [move.kind for move in ledger.moves if move.point == id and move.by == "proposer"]
    return ledger.status(id) in TAKEN or said[-1:] in (["concede"], ["partly"])


def _position(value: Any) -> str:
    return str(value.get("position", "")) if isinstance(value, dict) else ""
