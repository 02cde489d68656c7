"""Reports: events and outcomes as text for a terminal and as Markdown. Reads only; needs no protocol code."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rebut.budget import shown
from rebut.endings import progress
from rebut.events import Answered, Fact, Opened
from rebut.ledger import Evidence, Ledger, Point, from_json
from rebut.outcome import Outcome
from rebut.record import Call, Record, Spent
from rebut.text import cut
from rebut.types import Json


def duration(seconds: float) -> str:
    whole = round(seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"


def size(count: float, unit: str = "") -> str:
    if count >= 999_500:
        return f"{count / 1e6:.1f}M{unit}"
    return f"{count / 1000:.1f}k{unit}" if count >= 1000 else f"{count:.0f}{unit}"


def money(usd: float | None) -> str:
    return "price unknown" if usd is None else f"${usd:.2f}" if usd >= 0.005 or usd == 0 else "under $0.01"


def spent(total: Spent) -> str:
    calls = f"{total.calls} call{'' if total.calls == 1 else 's'}"
    rest = f", {total.in_doubt} in doubt" if total.in_doubt else ""
    rest += f" ({total.unmetered} of them without a token count)" if total.unmetered else ""
    return f"{calls}, {duration(total.seconds)}, {size(total.tokens)} tokens, {money(total.usd)}{rest}"


def header(record: Record, *, width: int = 80) -> list[str]:
    """Who sits where and what is set, before the first call."""
    opened = record.opened
    rows = [f"{opened.protocol:<6} {cut(opened.topic, width - 10)}"]
    fact = record.facts.get("notes")
    notes = [str(n) for n in fact.value] if fact and isinstance(fact.value, list) else []
    for row in opened.seats:
        seat = str(row["seat"])
        family = str(row.get("family") or "")
        mine = next((n for n in notes if n.startswith(f"the {seat} is ")), "")
        about = mine.partition(" is ")[2] if mine else family
        rows += _wrapped(f"{seat:<12} {_label(str(row['spec'])):<20} {about}".rstrip(), width, 13)
    if context := _context_line(record):
        rows += _wrapped(f"{'context':<12} {context}", width, 13)
    rows.append(f"{'limits':<12} {', '.join(_limits(opened, record.limits))}")
    rows.append(f"{'session':<12} {opened.id}  {opened.slug}")
    rows += [line for n in notes if not n.startswith("the ") for line in _wrapped(f"{'note':<12} {n}", width, 13)]
    return [f"  {row}" for row in rows]


def _label(spec: str) -> str:
    """A seat's spec as shown: the name that the user gave comes first, a long file path is cut at its front."""
    name, equals, rest = spec.partition("=")
    name, rest = (name, rest) if equals else ("", spec)
    provider, _, model = rest.partition(":")
    if len(rest) > 30 and "/" in model:
        rest = f"{provider}:…/{model.rpartition('/')[2]}"
    return f"{name} ({rest})" if name else rest


def _context_line(record: Record) -> str:
    fact = record.facts.get("context")
    if not fact or not isinstance(fact.value, dict):
        return ""
    from rebut.context import Gathered
    from rebut.redaction import PLACEHOLDER

    given = Gathered.from_json(fact.value)
    count = len(given.files)
    secrets = len({found for piece in given.files for found in PLACEHOLDER.findall(piece.text)})
    out = f"{count} file{'' if count == 1 else 's'}, {size(given.total, 'B')}"
    out += f", {secrets} secret{'' if secrets == 1 else 's'} removed" if secrets else ""
    return out + (f", {len(given.left_out)} left out" if given.left_out else "")


def _limits(opened: Opened, limits: Mapping[str, Any]) -> list[str]:
    rounds = opened.settings.get("rounds")
    order = ("timeout", "minutes", "usd", "tokens", "calls")
    said = [f"{rounds} round{'' if rounds == 1 else 's'}"] if rounds else []
    return said + [shown(name, limits[name]) for name in order if limits.get(name) is not None]


def turn(record: Record, answered: Answered, ledger_fact: Fact | None = None, *, width: int = 80) -> str:
    """One line for a settled answer: who, what, how long, how much, and what it brought."""
    step, _, seat = answered.key.rpartition("/")[2].rpartition("@")
    call = record.calls[answered.key]
    tokens = sum((a.input or 0) + (a.output or 0) for a in call.attempts.values())
    usd = [a.usd for a in call.attempts.values()]
    if answered.copied_from:
        cost = f"reused from {answered.copied_from[:4]}"
    else:
        cost = f"{duration(answered.ms / 1000):>8}  {size(tokens):>5} tokens"
        cost += "" if None in usd else f"  {money(sum(u for u in usd if u is not None))}"
    tries = [f"{len(call.attempts)} tries"] if len(call.attempts) > 1 else []
    brought = "; ".join([*tries, *(counted(ledger_fact) if ledger_fact else [])])
    return "\n".join(_wrapped(f"    {seat:<11} {step:<11} {cost}   {brought}".rstrip(), width, 28))


def counted(fact: Fact) -> list[str]:
    """What a turn entered in the ledger."""
    value = fact.value
    rows: Sequence[Any] = value.get("entries", ()) if isinstance(value, dict) else ()  # type: ignore[assignment]
    parts = []
    claims = [r for r in rows if r["entry"] == "claim"]
    points = [r for r in rows if r["entry"] == "point"]
    moves = [r for r in rows if r["entry"] == "move"]
    if moves:
        parts.append(_tally(VERBS.get(m["kind"], m["kind"]) for m in moves))
    if points:
        parts.append(f"{len(points)} point{'' if len(points) == 1 else 's'}: " + _tally(p["severity"] for p in points))
    if claims:
        bare = sum(1 for c in claims if not c["evidence"])
        said = f"{len(claims)} claim{'' if len(claims) == 1 else 's'}"
        parts.append(said + (f", {bare} unsupported" if bare else ""))
    marks = [e["mark"] for r in rows for e in r.get("evidence", ())]
    if marks:
        parts.append("citations: " + _tally(marks))
    return parts


VERBS = {
    "concede": "conceded",
    "defend": "rebutted",
    "partly": "trade-off",
    "resolve": "resolved",
    "maintain": "unresolved",
    "withdraw": "withdrawn",
}


def _tally(names: Iterable[str]) -> str:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{n} {name}" for name, n in counts.items())


def ending(outcome: Outcome, *, width: int = 80, short: str = "") -> str:
    """The end of a debate, for people."""
    won = f"  {outcome.verdict.winner}" if outcome.verdict else ""
    rows = [f"  {outcome.heading}{won}"]
    if outcome.verdict:
        rows += _indented(outcome.verdict.reasoning, width)
    if outcome.stopped:
        rows += ["", *_indented(f"It ended early: {outcome.stopped}", width)]
    if outcome.decision:
        rows += ["", f"  {_label_of(outcome)}", *_indented(outcome.decision, width)]
    rows += ["", *ledger_rows(outcome.ledger, width)]
    rows += _wrapped(f"  {'spent':<12}  {spent(outcome.spent)}", width, 16)
    missing = [f"{s.seat} ({s.spec})" for s in outcome.seats if s.failed]
    if missing:
        rows += _wrapped(f"  {'failed':<12}  {', '.join(missing)}", width, 16)
    for note in outcome.notes:
        rows += _wrapped(f"  {'note':<12}  {note}", width, 16)
    if short:
        rows += ["", *_next(outcome, short, width)]
    return "\n".join(rows)


def _label_of(outcome: Outcome) -> str:
    return "RECOMMENDATION" if outcome.verdict else "DECISION" if outcome.conclusive else "POSITION"


def _next(outcome: Outcome, short: str, width: int) -> list[str]:
    offers = [("all of it", f"rebut show {short}")]
    offers.append(
        ("go on", f"rebut resume {short}") if not outcome.complete else ("change a seat", f"rebut fork {short} …")
    )
    line = "        ".join(f"{name}   {command}" for name, command in offers)
    return [f"  {line}"] if len(line) + 2 <= width else [f"  {name}   {command}" for name, command in offers]


def ledger_rows(ledger: Ledger, width: int) -> list[str]:
    if ledger == Ledger(ledger.letter):
        return []
    agreed = ledger.having("conceded", "resolved")
    still = [p for p in ledger.points if ledger.status(p.id) not in ("conceded", "resolved", "withdrawn")]
    groups: list[tuple[str, list[str]]] = [
        ("agreed", [_point(p) for p in agreed]),
        ("open", [_point(p) for p in still]),
        ("unsupported", [f'{c.id} {c.by}, round {c.round}: "{c.text}"' for c in ledger.unsupported]),
        ("absent", [f"{name} cites {e.place}: {e.note or 'not there'}" for name, e in _absent(ledger)]),
        (
            "walked back",
            [f"{s.point} by the {s.by} in round {s.round}" for s in ledger.slips if s.kind == "walked back"],
        ),
        ("dropped", [f"{s.point} by the {s.by} in round {s.round}" for s in ledger.slips if s.kind == "dropped"]),
    ]
    rows = []
    for name, items in groups:
        if not items and name in ("absent", "dropped"):
            continue
        rows.append(f"  {name:<12} {len(items):>2}" + (f"   {cut(items[0], width - 20)}" if items else ""))
        rows += [f"  {'':<12}      {cut(item, width - 20)}" for item in items[1:5]]
        if len(items) > 5:
            rows.append(f"  {'':<12}      … {len(items) - 5} more")
    return rows


def _absent(ledger: Ledger) -> list[tuple[str, Evidence]]:
    named = [(c.id, c.evidence) for c in ledger.claims] + [(p.id, p.evidence) for p in ledger.points]
    named += [(f"{m.by} on {m.point}", m.evidence) for m in ledger.moves]
    return [(name, e) for name, cited in named for e in cited if e.mark == "absent"]


def _point(point: Point) -> str:
    marks = f"  ({point.evidence[0].place} {point.evidence[0].mark})" if point.evidence else ""
    return f"{point.id} {point.text}{marks}"


def _indented(text: str, width: int) -> list[str]:
    rows = []
    for paragraph in text.splitlines():
        rows += textwrap.wrap(paragraph, max(20, width - 4)) or [""]
    return [f"    {row}".rstrip() for row in rows]


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    """Wrapped, with the first line's own indent kept."""
    return textwrap.wrap(text, max(30, width - 2), subsequent_indent=" " * indent, break_long_words=False) or [""]


def ledger_of(record: Record) -> Ledger:
    """The ledger as the record has it: no protocol code needed, also for a debate that is still open."""
    ledger: Ledger | None = None
    for line in record.lines:
        event = line.event
        if isinstance(event, Fact) and event.key.endswith("#ledger") and isinstance(event.value, dict):
            ledger = ledger or Ledger(str(event.value["letter"]))
            ledger = ledger.add(from_json(row) for row in event.value["entries"])  # type: ignore[union-attr,arg-type]
    return ledger or Ledger()


def outcome_of(record: Record) -> Outcome | None:
    return Outcome.from_json(record.closed.outcome) if record.closed else None


def status(record: Record) -> str:
    """How a session stands, in a few words."""
    if outcome := outcome_of(record):
        return outcome.heading.lower() + (f": {outcome.verdict.winner}" if outcome.verdict else "")
    return f"open, {progress(record)}"


def prose(value: Json, depth: int = 0) -> str:
    """Any structured answer as readable Markdown."""
    pad = "  " * depth
    match value:
        case dict():
            rows = []
            for key, item in value.items():
                if item in (None, "", [], {}):
                    continue
                name = key.replace("_", " ")
                if isinstance(item, dict | list):
                    rows.append(f"{pad}- **{name}**:\n{prose(item, depth + 1)}")
                else:
                    rows.append(f"{pad}- **{name}**: {item}")
            return "\n".join(rows)
        case list():
            rows = []
            for item in value:
                if isinstance(item, dict):
                    first, *rest = [(k, v) for k, v in item.items() if v not in (None, "", [], {})] or [("", "")]
                    rows.append(f"{pad}- {first[1]}" if not isinstance(first[1], dict | list) else f"{pad}- {first[0]}")
                    rows.append(prose(dict(rest), depth + 1))
                else:
                    rows.append(f"{pad}- {item}")
            return "\n".join(row for row in rows if row)
        case _:
            return f"{pad}{value}"


def markdown(record: Record) -> str:
    """A whole session as one Markdown document."""
    opened, outcome = record.opened, outcome_of(record)
    rows = [
        f"# {opened.protocol}: {cut(opened.topic, 120)}",
        "",
        f"Session `{opened.id}`, opened {record.lines[0].at}.",
        "",
    ]
    rows += ["| seat | model | family |", "|---|---|---|"]
    rows += [f"| {s['seat']} | {_cell(s['spec'])} | {_cell(s.get('family', ''))} |" for s in opened.seats]
    if len(opened.topic) > 120:
        rows += ["", "## Topic", "", opened.topic]
    rows += ["", "## Outcome", "", f"**{outcome.heading}**" if outcome else f"Still {status(record)}.", ""]
    if outcome:
        rows += [outcome.final or outcome.decision, ""]
    rows += ["## What was said", ""]
    for call in record.calls.values():
        if call.answered:
            rows += [f"### {call.key} ({call.answered.model or 'unknown model'})", "", prose(call.answered.value), ""]
            rows += [f"> rule broken after one send-back: {c}" for c in call.answered.complaints]
        elif call.failed:
            rows += [f"### {call.key}", "", f"No answer: {call.failed.failure}, {call.failed.message}", ""]
    rows += points_table(ledger_of(record))
    rows += ["## Cost", "", spent(record.spent()), ""]
    return "\n".join(rows).rstrip() + "\n"


def points_table(ledger: Ledger) -> list[str]:
    if not ledger.points and not ledger.claims:
        return []
    rows = ["## Claims and points", "", "| id | who | what | status | evidence |", "|---|---|---|---|---|"]
    for c in ledger.claims:
        rows.append(
            f"| {c.id} | {c.by} | {_cell(c.text)} | {'unsupported' if c.unsupported else ''} | {_cited(c.evidence)} |"
        )
    for p in ledger.points:
        state = f"{p.severity}, {ledger.final_status(p.id)}"
        rows.append(f"| {p.id} | {', '.join(p.voices)} | {_cell(p.text)} | {state} | {_cited(p.evidence)} |")
    return [*rows, ""]


def _cited(evidence: Iterable[Any]) -> str:
    return _cell("; ".join(f"{e.place} ({e.mark or 'unchecked'})" for e in evidence))


def _cell(value: object) -> str:
    return cut(str(value), 300).replace("|", "\\|")


def as_json(record: Record) -> dict[str, Json]:
    """A whole session for machines; the session's keys stay behind."""
    from rebut.events import to_json
    from rebut.ledger import ledger_to_json

    hidden = {"keys"}
    events: list[Json] = [
        {"seq": line.seq, "at": line.at, **to_json(line.event)}
        for line in record.lines
        if not (isinstance(line.event, Fact) and line.event.key in hidden)
    ]
    outcome = outcome_of(record)
    return {
        "id": record.opened.id,
        "status": status(record),
        "outcome": outcome.to_json() if outcome else None,
        "ledger": ledger_to_json(ledger_of(record)),
        "events": events,
    }


def dumps(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def failures(record: Record) -> list[str]:
    """What failed, each attempt with its class."""
    rows = []
    for call in record.calls.values():
        for n, attempt in sorted(call.attempts.items()):
            if attempt.outcome != "ok":
                rows.append(f"  {call.key}, attempt {n}: {attempt.outcome}, {attempt.message}")
        if call.failed and not call.answered:
            rows.append(f"  {call.key}: {call.failed.failure}, {call.failed.message}")
        rows += [
            f"  {call.key}, attempt {a.attempt}: in doubt, it was started and never seen to end" for a in call.in_doubt
        ]
    return rows


def said(call: Call) -> list[str]:
    """One answer or failure, for reading."""
    if call.answered:
        a = call.answered
        rows = [f"  {call.key}  ({a.model or 'unknown model'})", "", textwrap.indent(prose(a.value), "    "), ""]
        return rows + [f"    rule broken after one send-back: {c}" for c in a.complaints]
    if call.failed:
        return [f"  {call.key}  failed: {call.failed.failure}, {call.failed.message}", ""]
    return [f"  {call.key}  not answered yet", ""]


def questions(call: Call) -> list[str]:
    """What was asked under one key, follow-ups included."""
    rows = []
    for n, asked in sorted(call.asked.items()):
        rows += [f"  {call.key}, attempt {n} ({asked.why}) to {asked.spec}:", ""]
        rows += [textwrap.indent(asked.prompt or asked.followup, "  | "), ""]
    return rows
