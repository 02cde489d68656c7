"""The outcome as JSON for programs: at most 8 kB, with the command that prints all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from rebut.cli.output import as_json
from rebut.core.text import cut
from rebut.domain.ledger import Point, Same, distinct
from rebut.domain.outcome import Outcome, Seated, Vote
from rebut.domain.review_result import ReviewResult
from rebut.domain.side_by_side import SideBySide
from rebut.domain.worth import Worth

LARGEST = 8000
"""Bytes, the last newline included."""
TEXT, ITEM = 3000, 300
"""Characters of a text, and of one item of a list, before anything has to be dropped."""
SHORTEST = 60
"""Texts of at most this many characters are never cut."""


def brief(outcome: Outcome, beside: Mapping[str, object] | None = None) -> dict[str, object]:
    """As much of the outcome as fits: the largest list or text is made shorter until everything fits.

    `shortened` names what was cut; `rebut show ID --json` has all of it. `beside`, such as the parent of a fork, is
    added: it counts towards the size, and is never shortened.
    """
    short: dict[str, str] = {}
    totals: dict[str, int] = {}
    shown = _whole(outcome, short)

    def result() -> dict[str, object]:
        return {**shown, **({"shortened": list(short.values())} if short else {}), **(beside or {})}

    while (size := _size(result())) >= LARGEST and (parts := list(_parts(shown))):
        holder, name = max(parts, key=lambda part: _size(part[0][part[1]]))
        value = holder[name]
        total = totals.setdefault(name, len(value))
        most = int(len(value) * (0.5 if size > 2 * LARGEST else 0.9))
        holder[name] = cut(value, most) if isinstance(value, str) else value[:most]
        short[name] = name if isinstance(value, str) else f"{name} ({most} of {total})"
    order = {point.id: n for n, point in enumerate(outcome.ledger.points)}
    shown["ledger"]["points"].sort(key=lambda row: order[row["id"]])
    return result()


def _size(value: object) -> int:
    return len(as_json(value).encode())


def _parts(shown: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The texts and lists that can be shortened, each as the dictionary that holds it and its key there."""
    for name, value in shown.items():
        if isinstance(value, dict):
            yield from _parts(value)
        elif (isinstance(value, str) and len(value) > SHORTEST) or (isinstance(value, list) and len(value) > 1):
            yield shown, name


def _whole(outcome: Outcome, short: dict[str, str]) -> dict[str, Any]:
    """The result before anything is dropped. Texts that are cut even here are named in `short`."""

    def text(name: str, value: str, most: int = TEXT) -> str:
        if len(value) > most:
            short[name] = name
        return cut(value, most)

    ledger, verdict = outcome.ledger, outcome.verdict
    full: dict[str, Any] = {
        "kind": outcome.kind,
        "heading": text("heading", outcome.heading),
        "decision": text("decision", outcome.decision),
        "conclusive": outcome.conclusive,
        "complete": outcome.complete,
        "basis": text("basis", outcome.basis),
        "stopped": text("stopped", outcome.stopped),
        "session": outcome.session or None,
        "verdict": None
        if not verdict
        else {
            "winner": verdict.winner,
            "reasoning": text("reasoning", verdict.reasoning),
            "recommendation": text("recommendation", verdict.recommendation),
            "by": text("by", verdict.by, 100),
            **({"dissent": [_vote(vote, text) for vote in verdict.dissent]} if verdict.votes else {}),
        },
        "notes": [text("notes", note, ITEM * 2) for note in outcome.notes],
        "ledger": {
            "claims": len(ledger.claims),
            "unsupported": [c.id for c in ledger.unsupported],
            "points": [
                {
                    "id": p.id,
                    "severity": p.severity,
                    "status": ledger.final_status(p.id),
                    **({"contested": True} if ledger.contested(p) else {}),
                    **({"check": p.check.mark} if p.check else {}),
                    "text": text("points", p.text, ITEM),
                    **({"said": [_wording(one, text) for one in distinct(p.said)]} if p.said else {}),
                }
                # Settled and less severe points are at the end, which is dropped first.
                for p in sorted(ledger.points, key=lambda p: (p not in ledger.open, p.severity or "~"))
            ],
            "citations": dict(ledger.marks()),
            **({"checks": dict(Counter(check.mark for _, check in ledger.checks))} if ledger.checks else {}),
            "slips": [f"{s.point} {s.kind} by {s.by} in round {s.round}" for s in ledger.slips],
            **({"joined": [_joined(one) for one in ledger.joined]} if ledger.joined else {}),
        },
        "seats": [_seat(seat) for seat in outcome.seats],
        "spent": asdict(outcome.spent),
        "exit": outcome.exit_code,
    }
    if outcome.rows:
        full["rows"] = [[label, text("rows", said, ITEM * 2)] for label, said in outcome.rows]
    if votes := outcome.votes:
        full["votes"] = [_vote(vote, text) for vote in votes]
    if outcome.caveats:
        full["caveats"] = list(outcome.caveats)
    if said := [doubt.said for doubt in outcome.doubts if doubt.said]:
        full["doubts"] = [text("doubts", one, ITEM * 2) for one in said]
    if outcome.worth:
        full["worth"] = _worth(outcome.worth)
    if outcome.session:
        full["all_of_it"] = f"rebut show {outcome.session} --json"
    if outcome.review:
        full["review"] = _review(outcome.review)
    if outcome.answers:
        full |= _answers(outcome.answers, text)
    if outcome.rounds.calls:
        full["rounds"] = asdict(outcome.rounds)
    if not outcome.complete and outcome.session:
        full["resume"] = f"rebut resume {outcome.session}"
    return full


def _vote(vote: Vote, text: Callable[[str, str, int], str]) -> dict[str, Any]:
    row = {"judge": vote.judge, "by": cut(vote.by, 100), "winner": vote.winner or None}
    row |= {"reasoning": text("votes", vote.reasoning, ITEM * 2)}
    row |= {"other_order": vote.other_order} if vote.other_order else {}
    return row | ({"flipped": vote.flipped} if vote.flipped else {})  # the judge chooses by position, not by side


def _answers(compared: SideBySide, text: Callable[[str, str, int], str]) -> dict[str, Any]:
    """Every answer, first and final, with the ids of the points against it; and where the answers differ."""
    # A dictionary by the names in `verdict.winner`: a list could lose its last answer when it is shortened.
    rows = {
        f"answer {number}": {
            "seat": one.seat,
            "model": cut(one.model, 80),
            "first": text("answers", one.first, ITEM * 3),
            "final": text("answers", one.now, ITEM * 3),
            "preferred": compared.chosen == number,
            "points": list(one.points),
            "accepted": list(one.accepted),
        }
        for number, one in enumerate(compared.answers, 1)
    }
    said = {"answers": rows, "agree": compared.same, "differ": text("differ", compared.differ, TEXT)}
    return said | ({"not_alike": list(compared.unequal)} if compared.unequal else {})


def _wording(point: Point, text: Callable[[str, str, int], str]) -> dict[str, object]:
    """One of several wordings of the same point."""
    raised_as = {"raised_as": point.was} if point.was else {}
    return {"by": point.by, "round": point.round, **raised_as, "text": text("points", point.text, ITEM)}


def _joined(same: Same) -> str:
    return f"{same.point} is the same as {same.same_as}, by {same.by} in round {same.round}"


def _worth(worth: Worth) -> dict[str, Any]:
    """What the debate changed, and what the first answers and the debate cost."""
    parts = {"alone": worth.alone, "debate": worth.debate}
    return {
        **{name: cut(text, TEXT) for name in ("first", "caveat") if (text := getattr(worth, name))},
        "points": dict(worth.points),
        "changed": [cut(text, ITEM * 2) for text in worth.changed],
        "changed_nothing": worth.nothing,
        **{n: {k: getattr(p, k) for k in ("calls", "tokens", "usd", "seconds")} for n, p in parts.items()},
    }


def _review(made: ReviewResult) -> dict[str, Any]:
    """A review in short: what was decided, and the findings in a line each."""
    findings = [
        {
            "id": f.id,
            "severity": f.severity,
            "where": cut(f.place, 80),
            "quote": f.mark,
            "judge": cut(f.ruling, ITEM),
            "text": cut(f.text, ITEM),
        }
        | ({"check": f.check.mark} if f.check else {})
        | ({"check_on_final_version": f.rerun} if f.rerun else {})
        | ({"dismissed": cut(f.dismissed, ITEM)} if f.dismissed else {})
        for f in made.findings
    ]
    names = ("session", "target", "rounds", "converged", "decision", "artifact", "stopped_by")
    values = {name: getattr(made, name) for name in names}
    short = {name: cut(value, TEXT) if isinstance(value, str) else value for name, value in values.items()}
    return {"summary": made.headline, **short, "choices": [h.taken for h in made.history], "findings": findings}


def _seat(seat: Seated) -> dict[str, object]:
    return {
        "seat": seat.seat,
        "spec": cut(seat.spec, 80),
        "family": cut(seat.family, 40),
        "spoke": [cut(name, 40) for name in seat.spoke[:3]],
        "answered": seat.answered,
        "failed": seat.failed,
        "why": cut(seat.why, 160),
    }
