"""A debate as rows for a terminal: its header, one row per answer, and its outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from rebut.core.lazy_pattern import LazyPattern
from rebut.core.text import counted, cut, wrapped
from rebut.core.types import LEFT, ModelSpec
from rebut.domain.amounts import duration, money, size, spent
from rebut.domain.checks import CHECKS
from rebut.domain.ledger import SETTLED, UNPROVEN, Ledger, Move, Point, Slip, noun_in
from rebut.domain.limits import is_clamped, shown_limit
from rebut.domain.outcome import BY_PROGRAMS, Outcome, Rewritten
from rebut.domain.session_status import asked_by, ledger_of
from rebut.domain.user_notes import FACT
from rebut.domain.worth import fate_of
from rebut.record.events import Answered, Fact, Failed, Opened
from rebut.record.record import Record
from rebut.reports.worth import worth_rows

MOST_NOTES = 6
MOST_LEFT_OUT = 3
PROGRAMS = "rules"
"""The family of participants that are programs."""
EXPLAINED = ("crashed", "missing tool")
"""Kinds of failure whose message says what happened."""
MOST_DIFF = 40
"""Lines of a diff that are shown at the end of a debate."""
REPLY = LazyPattern(r"([\w./-]+@[\w.-]+): ")
"""How a note on a single reply begins: the key of its question."""
LEFTMOST = 4
"""The column under which a row continues if a word of it does not fit further right."""
GUTTER = "  | "
"""Before every line of a diff."""


def header(record: Record, *, width: int = 80) -> list[str]:
    """Which model has which seat, the limits and the session, before the first call."""
    opened = record.opened
    verb, notes = asked_by(record), record.notes
    rows = [f"{verb or opened.protocol:<6} {cut(opened.topic, width - 10)}"]
    if opened.forked_from:
        rows.append(f"{'fork of':<12} {opened.forked_from}")
    for row in opened.seats:
        seat = str(row["seat"])
        if verb and (seat, row["spec"]) == ("author", "human"):  # the user, who is not asked
            continue
        family = str(row.get("family") or "")
        mine = next((n for n in notes if n.startswith(f"the {seat} is ")), "")
        about = mine.partition(" is ")[2] if mine else _kind(family, str(row["spec"]))
        rows += hanging(f"{seat:<12} {shown_spec(str(row['spec'])):<20} {about}".rstrip(), width, 13)
    if not verb and (target := _target_line(record)):
        rows += hanging(f"{'target':<12} {target}", width, 13)
    if context := _context_line(record):
        rows += hanging(f"{'context':<12} {context}", width, 13)
    rows += hanging(f"{'limits':<12} {', '.join(_limits(opened, record.limits))}", width, 13)
    if (offer := record.facts.get(CHECKS)) and isinstance(offer.value, dict):
        names = offer.value["runners"]
        said = f"run in a sandbox: {', '.join(names)}" if isinstance(names, dict) and names else "none can be run"
        rows += hanging(f"{'checks':<12} {said}{f': {why}' if (why := offer.value['missing']) else ''}", width, 13)
    if (place := record.facts.get("folder")) and str(place.value).startswith(f"{opened.workspace}/"):
        rows += hanging(f"{'files':<12} {str(place.value).removeprefix(f'{opened.workspace}/')}", width, 13)
    rows.append(f"{'session':<12} {opened.id}  {cut(opened.slug, max(12, width - 26))}")
    # The absent citations of a plan are the first thing that its review shows, so the note leaves them out.
    notes = [n.partition("; absent: ")[0] if verb and n.startswith("what the text cites: ") else n for n in notes]
    notes = [n for n in notes if not n.startswith("the ") and not (verb and n.startswith(BY_PROGRAMS))]
    rows += [line for n in notes for line in hanging(f"{'note':<12} {n}", width, 13)]
    return [f"  {row}" for row in rows]


def _kind(family: str, spec: str) -> str:
    """The family as a third column, if it adds something to the spec."""
    if family == PROGRAMS:
        return "a program, not a model"
    return "" if family == ModelSpec.parse(spec).provider else family


def shown_spec(spec: str) -> str:
    """A seat's spec as shown: the user's name for it first; a long file path loses its folders."""
    name, equals, rest = spec.partition("=")
    name, rest = (name, rest) if equals else ("", spec)
    provider, _, model = rest.partition(":")
    if len(rest) > 30 and "/" in model:
        rest = f"{provider}:…/{model.rpartition('/')[2]}"
    return f"{name} ({rest})" if name else rest


def _target_line(record: Record) -> str:
    fact = record.facts.get("target")
    if not fact or not isinstance(fact.value, dict):
        return ""
    value = fact.value
    return f"{value.get('kind')} ({value.get('confidence')} confidence: {value.get('why')})"


def _context_line(record: Record) -> str:
    fact = record.facts.get("context")
    if not fact or not isinstance(fact.value, dict):
        return ""
    from rebut.core.redaction import PLACEHOLDER
    from rebut.workspace.context import Gathered, printable_name as shown_path

    given = Gathered.from_json(fact.value)
    secrets = len({found for piece in given.files for found in PLACEHOLDER.findall(piece.text)})
    out = f"{counted(len(given.files), 'file')}, {size(given.total, 'B')}"
    out += f", {counted(secrets, 'secret')} removed" if secrets else ""
    if not given.left_out:
        return out
    named = [f"{shown_path(path)} ({why})" for path, why in given.left_out[:MOST_LEFT_OUT]]
    more = ["…"] if len(given.left_out) > MOST_LEFT_OUT else []
    return out + f", {len(given.left_out)} left out: {'; '.join([*named, *more])}"


def _limits(opened: Opened, limits: Mapping[str, Any]) -> list[str]:
    rounds = opened.settings.get("rounds")
    said = [counted(rounds, "round")] if isinstance(rounds, int) and rounds else []
    return said + shown_limits(limits)


def shown_limits(limits: Mapping[str, Any]) -> list[str]:
    order = ("timeout", "minutes", "usd", "tokens", "calls")
    return [shown_limit(name, limits[name]) for name in order if limits.get(name) is not None]


def turn(record: Record, answered: Answered, ledger_fact: Fact | None = None, *, width: int = 80) -> str:
    """One row for an answer: seat, step, time, cost, and what it added to the ledger."""
    step, _, seat = answered.key.rpartition("/")[2].rpartition("@")
    call = record.calls[answered.key]
    cost = ""
    if answered.copied_from:
        took = f"reused from {answered.copied_from[:4]}"
    else:
        took = f"{duration(answered.ms / 1000):>8}"
        cost = f"{size(call.tokens):>5} tokens"
        cost += "" if call.usd is None else f"  {money(call.usd)}"
    tries = [f"{len(call.attempts)} tries"] if len(call.attempts) > 1 else []
    brought = "; ".join([*tries, *(entered(ledger_fact, ledger_of(record).ids()) if ledger_fact else [])])
    head = f"    {seat:<{column(record)}} {step:<11} {took}"
    if len(head) + len(cost) + 2 > width:  # a narrow terminal
        brought = "; ".join(part for part in (cost.strip(), brought) if part)
    else:
        head = f"{head}  {cost}".rstrip()
    if not brought or len(head) + len(brought) + 3 <= width:
        return f"{head}   {brought}".rstrip()
    # What does not fit on the first line goes below it.
    return "\n".join([head, *hanging(f"{'':16} {brought}", width, 17)])


def column(record: Record) -> int:
    """The width of the column of seats."""
    return max(11, *(len(str(row["seat"])) for row in record.opened.seats))


def entered_by(fact: Fact) -> set[str]:
    """The seats that a ledger entry is from."""
    rows: Sequence[Any] = fact.value.get("entries", ()) if isinstance(fact.value, dict) else ()  # type: ignore[assignment]
    return {str(row.get("by") or "checks") for row in rows}  # an entry without a seat: rebut ran the checks again


def entered(fact: Fact, known: Collection[str]) -> list[str]:
    """What an answer added to the ledger. Moves on an unknown id are counted apart."""
    value = fact.value
    rows: Sequence[Any] = value.get("entries", ()) if isinstance(value, dict) else ()  # type: ignore[assignment]
    parts = []
    claims = [r for r in rows if r["entry"] == "claim"]
    points = [r for r in rows if r["entry"] == "point"]
    moves = [r for r in rows if r["entry"] == "move"]
    if moves:
        words = ((RULINGS if m["by"] in ("judge", "decider") else VERBS).get(m["kind"], m["kind"]) for m in moves)
        parts.append(
            _tally(w if m["point"] in known else "about an unknown point" for m, w in zip(moves, words, strict=True))
        )
    if points:
        noun = noun_in(value) if isinstance(value, dict) else "point"
        parts.append(f"{counted(len(points), noun)}: " + _tally(p["severity"] for p in points))
    if claims:
        bare = sum(1 for c in claims if not c["evidence"] and (c.get("check") or {}).get("mark") != "shown")
        parts.append(counted(len(claims), "claim") + (f", {bare} unsupported" if bare else ""))
    marks = [e["mark"] for r in rows for e in r.get("evidence", ())]
    if marks:
        parts.append("citations: " + _tally(marks))
    if checks := [r["check"]["mark"] for r in rows if r.get("check")]:
        parts.append("checks: " + _tally(checks))
    if again := [r for r in rows if r["entry"] == "rerun"]:
        parts.append(f"on version {again[0]['version']}: " + _tally(r["side"] or "not run" for r in again))
    return parts


def failure_line(failed: Failed) -> str:
    """Why a call gave no answer: the kind of failure and its message.

    The kind is left out if it says less than the message: "crashed", if a server refused the connection.
    """
    return failed.message if failed.failure in EXPLAINED and failed.message else f"{failed.failure}, {failed.message}"


def decided(fact: Fact) -> str:
    """A decision of the user, or a call that was skipped, as a line; empty for any other fact."""
    if fact.key == "settle" and isinstance(fact.value, dict):
        when = f"in round {fact.value['round']}" if fact.value["round"] else "before the first round"
        return f"settled by hand {when}: no further rounds"
    if fact.key == "more" and isinstance(fact.value, int):
        return f"extended by hand: {counted(fact.value, 'more round')}"
    if fact.key.startswith(FACT) and isinstance(fact.value, dict):
        return f"note to every seat, from the next round on: {fact.value.get('text')}"
    if fact.key.endswith("#spared"):
        return f"skipped, since the answer could not change the outcome: {fact.value}"
    return ""


VERBS = {
    "concede": "conceded",
    "defend": "rebutted",
    "partly": "trade-off",
    "resolve": "resolved",
    "maintain": "unresolved",
    "contest": "unresolved",
    "withdraw": "withdrawn",
    "mend": "fixed",
}
RULINGS = {"concede": "valid", "defend": "invalid", "maintain": "missing evidence"}
"""A judge's moves during a review."""


def _tally(names: Iterable[str]) -> str:
    return ", ".join(f"{n} {name}" for name, n in Counter(names).items())


def ending(
    outcome: Outcome,
    *,
    width: int = 80,
    short: str = "",
    told: Sequence[str] = (),
    everything: bool = False,
    points: bool = True,
) -> str:
    """The outcome of a debate. `told` are notes that were shown already; without `points` the ledger is left out."""
    if compared := outcome.answers:
        from rebut.reports import answers  # imported here, since it imports this module

        return answers.ending(outcome, compared, width=width, short=short, told=told, points=points)
    made = outcome.review
    said = outcome.verdict.winner if outcome.verdict else made.headline if made else ""
    rows = rewritten_diff(outcome.rewritten, width, short, everything) if outcome.rewritten else []
    rows += hanging(f"  {outcome.heading}  {said}".rstrip(), width, 4)
    if outcome.verdict:
        rows += _indented(outcome.verdict.reasoning, width)
    if outcome.stopped:
        rows += ["", *_indented(f"Ended early: {outcome.stopped}", width)]
    if outcome.decision and not made:  # a review shows it with the judge's reason
        rows += ["", f"  {_label_of(outcome)}", *_indented(outcome.decision, width)]
    rows += ["", *([] if made or not points else _ledger_rows(outcome.ledger, width))]
    for label, text in outcome.rows:
        rows += labelled(label, text, width)
    rows += worth_rows(outcome.worth, width)
    rows += labelled("spent", spent(outcome.spent), width)
    if outcome.rows and outcome.rounds.calls and not outcome.worth:  # `worth it?` shows this cost
        rows += labelled("in rounds", spent(outcome.rounds), width)
    rows += foot(outcome, width=width, short=short, told=told)
    if made:
        rows += ["", made.screen(width=width - 2, everything=everything)]
    return "\n".join(rows)


def in_short(outcome: Outcome, width: int) -> list[str]:
    """The result in a few rows: the heading, and what was decided."""
    whole = outcome.conclusive and not outcome.caveats
    if outcome.answers and whole and outcome.decision:
        name = outcome.heading.partition(": ")[0] if outcome.answers.same else "ANSWER"
        return hanging(f"  {name}: {outcome.decision}", width, 4)
    winner = outcome.verdict.winner if outcome.verdict and not outcome.answers else ""
    rows = hanging(f"  {outcome.heading.partition(': ')[0]}  {winner}".rstrip(), width, 4)
    return rows + (_indented(cut(outcome.decision, 4 * width), width) if outcome.decision else [])


def rewritten_diff(made: Rewritten, width: int, short: str, everything: bool) -> list[str]:
    """What a rewritten text changes, as a diff; its beginning only, unless everything is wanted."""
    lines = made.diff.splitlines()
    counts = [sum(line.startswith(sign) for line in lines) for sign in "+-"]
    rows = [*hanging(f"  {made.file}, rewritten: +{counts[0]} -{counts[1]} lines", width, 4), ""]
    most = len(lines) if everything else MOST_DIFF
    rows += diff_rows("\n".join(lines[:most]), width)
    if len(lines) > most:
        rows.append(f"{GUTTER}… {len(lines) - most} more lines: rebut show {short or 'ID'} --all")
    return [*rows, ""]


def diff_rows(diff: str, width: int) -> list[str]:
    """A diff, each line after a gutter."""
    parts = [part for line in diff.splitlines() for part in _wrapped_diff(line, width - len(GUTTER) - 2)]
    return [f"{GUTTER}{part}".rstrip() for part in parts]


def _wrapped_diff(line: str, width: int) -> list[str]:
    """A line of a diff as rows; each row of a long line begins with the sign of that line."""
    sign, text = (line[:1], line[1:]) if line[:1] in ("+", "-", " ") else ("", line)
    return [f"{sign}{part}" for part in wrapped(text, max(30, width - 1)) or [""]]


def foot(outcome: Outcome, *, width: int, short: str, told: Sequence[str]) -> list[str]:
    """The last rows: what is in doubt, seats that failed, notes that were not shown yet, and what to do next."""
    rows = [line for said in _doubted(outcome) for line in labelled("in doubt", said, width)]
    missing = [f"{s.seat} ({s.spec})" for s in outcome.seats if s.failed]
    if missing:
        rows += labelled("failed", ", ".join(missing), width)
    notes = [note for note in outcome.notes if note not in told or is_clamped(note) or note.startswith(BY_PROGRAMS)]
    faults = {key[1] for note in notes if (key := REPLY.match(note))}
    notes = [note for note in notes if not REPLY.match(note)]
    if faults:
        notes.append(
            f"{counted(len(faults), 'reply was', 'replies were')} used with faults: rebut show {short or 'ID'}"
        )
    for note in notes[:MOST_NOTES]:
        rows += labelled("note", note, width)
    if len(notes) > MOST_NOTES:
        rest = counted(len(notes) - MOST_NOTES, "more note")
        rows.append(f"  {'':<12}  … {rest} in `rebut export {short or outcome.session}`")
    if outcome.review and outcome.review.patch:
        decided = outcome.conclusive and outcome.review.decision != "Stopped"
        force = "" if decided else " --force (it was not decided on)"
        rows += labelled("patch", f"rebut apply {short or outcome.session}{force}", width)
    if short:
        rows += ["", *_next(outcome, short, width)]
    return rows


def _doubted(outcome: Outcome) -> Iterable[str]:
    """A sentence for each doubt that the heading names in a few words, unless the screen has it elsewhere."""
    for doubt in outcome.doubts:
        elsewhere = [outcome.stopped, *outcome.notes, *(text for _, text in outcome.rows)]
        if doubt.heading and doubt.said and doubt.said.upper() != doubt.heading and doubt.said not in elsewhere:
            yield doubt.said


def _label_of(outcome: Outcome) -> str:
    if outcome.label:
        return outcome.label
    return "RECOMMENDATION" if outcome.verdict else "DECISION" if outcome.conclusive else "POSITION"


def _next(outcome: Outcome, short: str, width: int) -> list[str]:
    offers = [("details", f"rebut show {short}"), ("in the browser", f"rebut view {short}")]
    if not outcome.complete:
        offers.append(("continue", f"rebut resume {short}"))
    elif not outcome.conclusive and any(seat.failed and LEFT not in seat.why for seat in outcome.seats):
        offers.append(("retry failed seats", f"rebut fork {short}"))
    else:
        offers.append(("with another model", f"rebut fork {short} …"))
    line = "        ".join(f"{name}   {command}" for name, command in offers)
    if len(line) + 2 <= width <= 120:  # a greater width means --plain: one fact per line
        return [f"  {line}"]
    aligned = max(len(name) for name, _ in offers) if width <= 120 else 0
    return [f"  {name:<{aligned}}   {command}" for name, command in offers]


def _ledger_rows(ledger: Ledger, width: int) -> list[str]:
    if ledger == Ledger(ledger.letter):
        return []
    struck = [p for p in ledger.open if fate_of(ledger, p) == "struck"]
    walked = {s.point for s in ledger.slips if s.kind == "walked back"}
    groups: list[tuple[str, list[str]]] = [
        ("agreed", [point_line(p) for p in ledger.agreed if p.id not in walked]),
        ("open", [point_line(p) + _granted(ledger, p) for p in ledger.open if p not in struck]),
        ("struck", [point_line(p) for p in struck]),
        ("unsupported", [f'{c.id} {c.by}, round {c.round}: "{c.text}"' for c in ledger.unsupported]),
        ("absent", absent(ledger, lambda move: f"{move.by} on {move.point}")),
        (
            "walked back",
            [
                f"{s.point} by the {s.by} in round {s.round}{_binding(ledger, s)}"
                for s in ledger.slips
                if s.point in walked and s.kind == "walked back"
            ],
        ),
        ("dropped", [f"{s.point} by the {s.by} in round {s.round}" for s in ledger.slips if s.kind == "dropped"]),
    ]
    rows = []
    for name, items in groups:
        # If a point cites nothing, "unsupported 0" would be misleading.
        unclear = name == "unsupported" and not all(p.evidence for p in ledger.points)
        optional = unclear or name in ("struck", "absent", "dropped")
        if not items and (optional or not (ledger.points or ledger.unsupported)):
            continue  # without points there is nothing to count
        rows += hanging(f"  {name:<12} {len(items):>2}   {items[0] if items else ''}".rstrip(), width, 20)
        for item in items[1:5]:
            rows += hanging(f"  {'':<12}      {item}", width, 20)
        if len(items) > 5:
            rows.append(f"  {'':<12}      … {len(items) - 5} more")
    return rows


def _binding(ledger: Ledger, slip: Slip) -> str:
    return "; the concession still counts" if ledger.status(slip.point) == "conceded" else ""


def absent(ledger: Ledger, called: Callable[[Move], str]) -> list[str]:
    """One row for every absent citation. `called` returns the name of an answer to a point."""
    cited = [(c.id, c.evidence) for c in ledger.claims] + [(p.id, p.evidence) for p in ledger.points]
    cited += [(called(m), m.evidence) for m in ledger.moves]
    return [f"{name} cites {e.place}: {e.note or 'not found'}" for name, es in cited for e in es if e.mark == "absent"]


def _granted(ledger: Ledger, point: Point) -> str:
    """The status of a point that is open although it was conceded or settled; empty for other points."""
    status = ledger.status(point.id)
    return f", {ledger.shown_status(point.id)}" if status == UNPROVEN or status in SETTLED else ""


def point_line(point: Point) -> str:
    """A point with its first citation, and the mark of its check."""
    said = [f"check {point.check.mark}"] if point.check else []
    if point.evidence:
        first, *others = point.evidence
        also = f"; also {_tally(e.mark for e in others)}" if others else ""
        said.insert(0, f"{first.place} {first.mark}{also}")
    return f"{point.id} {point.words()}" + (f"  ({'; '.join(said)})" if said else "")


def _indented(text: str, width: int) -> list[str]:
    return [row for line in text.splitlines() for row in wrapped(line, width, indent="    ", break_words=True)]


def hanging(text: str, width: int, indent: int) -> list[str]:
    """A row that continues under column `indent`, with two columns free on the right; further left for a long word."""
    most = max(30, width - 2)
    rows = wrapped(text, most, hanging=" " * indent)
    too_long = indent > LEFTMOST and any(len(row) > most for row in rows[1:])
    return wrapped(text, most, hanging=" " * LEFTMOST) if too_long else rows


def labelled(label: str, text: str, width: int) -> list[str]:
    """A row of a report: its label, and the text beside it."""
    return hanging(f"  {label:<12}  {text}", width, 16)
