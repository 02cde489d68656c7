"""Personas: written by the judge's model, held to be distinct, else built in; and the file that each one makes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rebut.core.text import cut, squeeze
from rebut.domain.prompts import FENCES, fill
from rebut.engine.debate import Debate, Failure
from rebut.protocols.panel import prompts as words
from rebut.protocols.panel.forms import Persona, Personas
from rebut.protocols.panel.personas import Lens

FEWEST_ITEMS, MOST_ITEMS = 3, 8
UNKNOWN_DOMAIN = "not told"


async def written(debate: Debate, lenses: Sequence[Lens], notes: list[str]) -> Personas:
    """Distinct experts for this topic. A poor set is asked for once more; then the built-in ones serve."""
    listed = "\n".join(f"- {lens.title}: {lens.catches}" for lens in lenses)
    prompt = fill(words.PERSONAS, fences=FENCES, topic=debate.quote("topic", debate.topic), lenses=listed)
    answer = await debate.try_ask(
        debate.seat("judge"), "personas", prompt, schema=Personas, check=distinct([lens.title for lens in lenses])
    )
    if isinstance(answer, Failure):
        notes.append(f"no personas were written ({answer.kind}: {answer.message}); the built-in ones served")
        return built_in(lenses)
    if answer.complaints:
        notes.append(f"the personas were not distinct enough ({answer.complaints[0]}); the built-in ones served")
        return built_in(lenses, answer.value.domain)
    by_lens = {_plain(p.lens): p for p in answer.value.personas}
    return Personas(domain=_line(answer.value.domain, 80), personas=[by_lens[_plain(lens.title)] for lens in lenses])


def built_in(lenses: Sequence[Lens], domain: str = "") -> Personas:
    own = [
        Persona(
            lens=lens.title,
            name=lens.name,
            background=lens.background,
            looks_for=list(lens.looks_for),
            questions=list(lens.questions),
        )
        for lens in lenses
    ]
    return Personas(domain=_line(domain, 80) or UNKNOWN_DOMAIN, personas=own)


def distinct(titles: Sequence[str]) -> Callable[[Personas], list[str]]:
    """Each lens once, each with a list of its own, no item on two lists."""

    def check(reply: Personas) -> list[str]:
        wrong = [] if reply.domain else ["the domain is empty: name the field that the topic belongs to"]
        lenses = [_plain(p.lens) for p in reply.personas]
        wrong += [f"the lens {t} has no persona" for t in titles if _plain(t) not in lenses]
        wrong += [f"the lens {t} has {lenses.count(_plain(t))} personas" for t in titles if lenses.count(_plain(t)) > 1]
        known = {_plain(t) for t in titles}
        wrong += [f"{p.lens!r} is no lens of this panel" for p in reply.personas if _plain(p.lens) not in known]
        seen: dict[str, str] = {}
        for persona in reply.personas:
            if not persona.name or not persona.background:
                wrong.append(f"{persona.lens}: name or background is empty")
            items = {_plain(item) for item in persona.looks_for if _plain(item)}
            if len(items) < FEWEST_ITEMS:
                wrong.append(f"{persona.lens} looks for {len(items)} things: at least {FEWEST_ITEMS}")
            wrong += [f"{seen[item]} and {persona.lens} both look for {item!r}" for item in sorted(items & set(seen))]
            seen |= dict.fromkeys(items, persona.lens)
        return wrong

    return check


def text(persona: Persona, domain: str) -> str:
    """The persona as a file. The frame is ours; what a model wrote fills short lines of it and nothing more."""
    asks = "".join(f"- {_line(q, 200)}\n" for q in persona.questions[:4] if _line(q, 200))
    return (
        fill(
            words.PERSONA,
            lens=_line(persona.lens, 40),
            name=_line(persona.name, 120),
            background=_line(persona.background, 500),
            domain=_line(domain, 80),
            items="\n".join(f"- {item}" for item in items(persona)),
            asks=f"\nYou always ask:\n\n{asks}" if asks else "",
        )
        + "\n"
    )


def items(persona: Persona) -> list[str]:
    """What a persona looks for, as it stands in its file."""
    return [_line(item, 200) for item in persona.looks_for[:MOST_ITEMS] if _line(item, 200)]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def file_names(files: Sequence[str], names: Sequence[str]) -> list[str]:
    """The name of each persona's file. Where two tools read the same name, only the first has it in this folder."""
    out: list[str] = []
    for file, name in zip(files, names, strict=True):
        own = file if file and file not in out else f"PERSONA_{name}.md"
        out.append(own)
    return out


def spoilt(folder: str, expected: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Seat → what is wrong with its persona's file by now; nothing for those that are as they were written."""
    wrong: dict[str, str] = {}
    for seat, (name, digest) in expected.items() if folder else ():
        path = Path(folder) / name
        try:
            found = "" if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            wrong[seat] = f"its persona file {name} cannot be read: {error.strerror}"
            continue
        if found != digest:
            wrong[seat] = f"its persona file {name} was changed since it was written"
    return wrong


def _plain(text: str) -> str:
    return re.sub(r"[^\w ]", "", squeeze(text).casefold()).removeprefix("the ")


def _line(text: str, limit: int) -> str:
    # Some tools take `@path` in a context file for a file to read in; headings and fences could end the frame.
    return cut(re.sub(r"[@`#<>«»]", " ", text), limit)
