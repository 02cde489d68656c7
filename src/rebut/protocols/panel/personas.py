"""The lenses of challengers, and their personas: written by the judge's model, else built in; and the persona files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from rebut.core import files
from rebut.core.files import shipped
from rebut.core.frozen import frozen
from rebut.core.json_value import remade
from rebut.core.text import cut, squeeze
from rebut.domain.prompts import FENCES, fill
from rebut.engine.debate import Debate, Failure
from rebut.protocols.panel import prompts
from rebut.protocols.panel.forms import Persona, Personas
from rebut.protocols.shared import describe


@frozen
class Lens:
    """The angle from which a challenger looks, with a built-in persona."""

    title: str
    catches: str
    name: str
    background: str
    looks_for: tuple[str, ...]
    questions: tuple[str, ...]


@cache
def lenses() -> tuple[Lens, ...]:
    """All lenses, in the order in which challengers get them."""
    return tuple(remade(Lens, row) for row in shipped("protocols/panel/lenses.toml")["lenses"])


BY_TOOL = {"gemini": "Architect", "codex": "Operator", "qwen": "Adversary"}
"""Tools with a fixed lens. Other challengers get the remaining lenses in order."""


def assigned(providers: Sequence[str]) -> list[Lens]:
    """Return a lens for each challenger; no two get the same."""
    by_title = {lens.title: lens for lens in lenses()}
    taken: dict[int, Lens] = {}
    for n, provider in enumerate(providers):
        lens = by_title.get(BY_TOOL.get(provider, ""))
        if lens and lens not in taken.values():
            taken[n] = lens
    free = [lens for lens in lenses() if lens not in taken.values()]
    return [taken[n] if n in taken else free.pop(0) for n in range(len(providers))]


# personas

FEWEST_ITEMS, MOST_ITEMS = 3, 8
UNKNOWN_DOMAIN = "not told"


async def written(debate: Debate, lenses: Sequence[Lens], notes: list[str]) -> Personas:
    """Ask for distinct experts on this topic. A poor set is sent back once; then the built-in personas are used."""
    listed = "\n".join(f"- {lens.title}: {lens.catches}" for lens in lenses)
    prompt = fill(prompts.PERSONAS, fences=FENCES, topic=debate.quote("topic", debate.topic), lenses=listed)
    answer = await debate.try_ask(
        debate.seat("judge"), "personas", prompt, schema=Personas, check=distinct([lens.title for lens in lenses])
    )
    if isinstance(answer, Failure):
        notes.append(f"no personas were written ({describe(answer)}); the built-in ones are used")
        return built_in(lenses)
    if answer.complaints:
        notes.append(f"the personas were not distinct enough ({answer.complaints[0]}); the built-in ones are used")
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
    """Return a check that each lens has one persona with a list of its own, and that no item is on two lists."""

    def check(reply: Personas) -> list[str]:
        wrong = [] if reply.domain else ["the domain is empty: name the field that the topic belongs to"]
        lenses = [_plain(p.lens) for p in reply.personas]
        wrong += [f"the lens {t} has no persona" for t in titles if _plain(t) not in lenses]
        wrong += [f"the lens {t} has {lenses.count(_plain(t))} personas" for t in titles if lenses.count(_plain(t)) > 1]
        known = {_plain(t) for t in titles}
        wrong += [f"there is no lens {p.lens!r} on this panel" for p in reply.personas if _plain(p.lens) not in known]
        seen: dict[str, str] = {}
        for persona in reply.personas:
            if not persona.name or not persona.background:
                wrong.append(f"{persona.lens}: name or background is empty")
            items = {_plain(item) for item in persona.looks_for if _plain(item)}
            if len(items) < FEWEST_ITEMS:
                wrong.append(f"{persona.lens} looks for {len(items)} things: name at least {FEWEST_ITEMS}")
            wrong += [f"{seen[item]} and {persona.lens} both look for {item!r}" for item in sorted(items & set(seen))]
            seen |= dict.fromkeys(items, persona.lens)
        return wrong

    return check


def text(persona: Persona, domain: str, quote: Callable[[str, str], str]) -> str:
    """The persona as a file. The frame is fixed; what a model wrote fills short lines in a fence (C7)."""
    asks = "".join(f"- {_line(q, 200)}\n" for q in persona.questions[:4] if _line(q, 200))
    itself = fill(
        prompts.PERSONA_ITSELF,
        name=_line(persona.name, 120),
        background=_line(persona.background, 500),
        domain=_line(domain, 80),
        items="\n".join(f"- {item}" for item in items(persona)),
        asks=f"\nYou always ask:\n\n{asks}" if asks else "",
    )
    return fill(prompts.PERSONA, lens=_line(persona.lens, 40), persona=quote("persona", itself)) + "\n"


def items(persona: Persona) -> list[str]:
    """What a persona looks for, as in its file."""
    return [_line(item, 200) for item in persona.looks_for[:MOST_ITEMS] if _line(item, 200)]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def file_names(files: Sequence[str], names: Sequence[str]) -> list[str]:
    """The name of each persona's file. If two tools read a file of the same name, the first one gets the name."""
    out: list[str] = []
    for file, name in zip(files, names, strict=True):
        own = file if file and file not in out else f"PERSONA_{name}.md"
        out.append(own)
    return out


def changed_files(folder: str, expected: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Seat → what is wrong with its persona's file; seats whose file is unchanged are left out."""
    wrong: dict[str, str] = {}
    for seat, (name, digest) in expected.items() if folder else ():
        path = Path(folder) / name
        try:
            found = "" if path.is_symlink() else hashlib.sha256(files.read(path)).hexdigest()
        except OSError as error:
            wrong[seat] = f"its persona file {name} cannot be read: {error.strerror}"
            continue
        if found != digest:
            wrong[seat] = f"its persona file {name} was changed since it was written"
    return wrong


def _plain(text: str) -> str:
    return re.sub(r"[^\w ]", "", squeeze(text).casefold()).removeprefix("the ")


def _line(text: str, limit: int) -> str:
    # Some tools replace `@path` in a context file with the file at that path; headings and fences could end the frame.
    return cut(re.sub(r"[@`#<>«»]", " ", text), limit)
