"""Assumption extraction: why the parties disagree at bottom, on what that rests, and what would change their minds."""

from __future__ import annotations

from rebut.core.types import Json
from rebut.domain.prompts import FENCES, fill
from rebut.engine.debate import Ask, Debate, Failure
from rebut.protocols.panel import prompts as words, render as telling, reply_checks as rules
from rebut.protocols.panel.forms import Assumptions, Grounds
from rebut.protocols.panel.parts import told
from rebut.protocols.panel.state import Course

LEAD = "Lead"


async def extract(debate: Debate, course: Course) -> None:
    """Ask the lead and everyone who still dissents, all at once; then map what each takes to be so."""
    lead, open_points = debate.seat("lead"), rules.contested(debate.ledger, (c.seat for c in course.dissenters))
    shared = {
        "fences": FENCES,
        "topic": debate.quote("topic", debate.topic),
        "version": str(course.position.version),
        "position": debate.quote("the position", course.position.text),
        "points": debate.quote("the contested points", telling.points(debate.ledger, open_points, course.lens_of)),
    }
    first = fill(words.GROUNDS, **shared, who="the LEAD of the panel", side=words.SIDE_LEAD)
    asks = [Ask(lead, first, Grounds, rules.grounds)]
    for c in course.dissenters:
        prompt = fill(words.GROUNDS, **shared, who=f"the {c.lens} on it", side=words.SIDE_CHALLENGER)
        asks.append(Ask(c.who, told(c, prompt), Grounds, rules.grounds))
    parties = {"lead": LEAD, **{c.seat: c.lens for c in course.dissenters}}
    for answer in await debate.scope("assumptions").ask_all("grounds", asks, need=0):
        if isinstance(answer, Failure):
            course.notes.append(f"{parties[answer.who.seat]} did not say why it disagrees ({answer.kind})")
            course.unsaid = course.unsaid or (answer.message if answer.kind == "budget" else course.notes[-1])
            continue
        form = answer.value
        cruxes: list[Json] = [
            {"question": x.question, "how": x.how, "checkable": rules.checkable(x.question, x.how)}
            for x in form.cruxes
            if x.question
        ]
        course.grounds.append(
            {
                "party": parties[answer.who.seat],
                "seat": answer.who.seat,
                "why": form.why,
                "other_right": form.other_right,
                "assumptions": [a for a in form.assumptions if a],
                "cruxes": cruxes,
            }
        )
    if len(course.grounds) > 1:
        await _map(debate, course, list(parties.values()))
    elif course.grounds:
        await debate.spare("map", "only one party said what it takes to be so, and there is nothing to set it against")
        course.mapped = own(course)


async def _map(debate: Debate, course: Course, parties: list[str]) -> None:
    said = "\n\n".join(
        debate.quote(f"what the {g['party']} says", _told(g)) for g in course.grounds if isinstance(g, dict)
    )
    prompt = fill(
        words.MAP, fences=FENCES, topic=debate.quote("topic", debate.topic), grounds=said, parties=", ".join(parties)
    )
    answer = await debate.try_ask(
        debate.seat("judge"), "map", prompt, schema=Assumptions, check=rules.mapping(parties), closing=True
    )
    if isinstance(answer, Failure):
        course.notes.append(
            f"nobody mapped the assumptions ({answer.kind}: {answer.message}); each party's own are listed"
        )
        course.mapped = own(course)
        return
    known = {p.casefold(): p for p in parties}
    course.core = answer.value.core_disagreement
    for one in answer.value.assumptions:
        held = [known[p.casefold()] for p in one.held_by if p.casefold() in known]
        denied = [known[p.casefold()] for p in one.denied_by if p.casefold() in known]
        if one.text:
            course.mapped.append({"text": one.text, "held_by": list(held), "denied_by": list(denied)})


def own(course: Course) -> list[Json]:
    """Without a judge: what each party itself said it takes to be so."""
    out: list[Json] = []
    for g in course.grounds:
        if isinstance(g, dict) and isinstance(g["assumptions"], list):
            out += [{"text": a, "held_by": [g["party"]], "denied_by": []} for a in g["assumptions"]]
    return out


def _told(g: dict[str, Json]) -> str:
    rows = g["assumptions"] if isinstance(g["assumptions"], list) else []
    listed = "\n".join(f"- {a}" for a in rows)
    return f"Why: {g['why']}\nThe other side is right if: {g['other_right']}\nTaken to be so:\n{listed}"
