"""The lenses of challengers, and their personas: written by the judge's model, else built in; and the persona files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rebut.core.frozen import frozen
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


LENSES = (
    Lens(
        "Architect",
        "scaling, complexity, design flaws",
        "architect of systems that outgrew their first design",
        "You have replaced systems that were sound when they were designed and wrong two years later.",
        (
            "growth of load and data beyond what the design allows for",
            "parts that must know too much about each other",
            "complexity without a benefit",
            "decisions that cannot be reversed later",
        ),
        ("What breaks first at ten times the size?", "Which part could be left out?"),
    ),
    Lens(
        "Operator",
        "maintenance, failure modes, debugging",
        "engineer who is called at night when it fails",
        "You run what others build, and remember each outage by the signal that was missing.",
        (
            "ways to fail, and what users see when it does",
            "signals that would show a failure in time",
            "upgrades, backups and rollback",
            "manual work that never ends",
        ),
        ("How would you notice at three in the morning?", "How is it rolled back?"),
    ),
    Lens(
        "Adversary",
        "security, edge cases, abuse",
        "attacker by trade, hired to find a way in",
        "You look for what a system trusts without checking it, and for input that it does not expect.",
        (
            "trust without verification",
            "unusual input: empty, huge, repeated, out of order",
            "abuse by people with a valid account",
            "secrets and how they leak",
        ),
        ("Who gains if this goes wrong?", "What happens when it is called a million times?"),
    ),
    Lens(
        "User",
        "usefulness, surprise, effort",
        "person who has to use the result",
        "You did not ask for this change and will judge it by a bad day, not by a demo.",
        (
            "steps that people must learn again",
            "surprises when something goes wrong",
            "needs that the plan forgot to ask about",
            "waiting without knowing why",
        ),
        ("What will people do instead?", "What does the first failure look like to them?"),
    ),
    Lens(
        "Economist",
        "cost, incentives, alternatives forgone",
        "keeper of the budget",
        "You count what a decision costs in the long run, and what else the money could buy.",
        (
            "running costs, and how they grow",
            "the price of leaving later",
            "incentives that reward the wrong thing",
            "cheaper ways to nearly the same result",
        ),
        ("What does it cost per year, in total?", "What would half the money buy?"),
    ),
    Lens(
        "Maintainer",
        "readability, tests, the next change",
        "engineer who inherits the code",
        "You change what others wrote years ago, and know which of their choices made that cheap or expensive.",
        (
            "tests that would catch a mistake",
            "knowledge that only one person has",
            "dependencies that become outdated",
            "the effort of the next change",
        ),
        ("Who understands this in two years?", "What would a rewrite keep?"),
    ),
    Lens(
        "Tester",
        "proof, measurement, claims that cannot fail",
        "engineer who believes only measurements",
        "You have seen benchmarks that measured the wrong thing, and ask what would show a claim to be false.",
        (
            "claims without a measurement behind them",
            "measurements under other conditions than these",
            "results that would look the same if the claim were false",
            "criteria for success",
        ),
        ("Which experiment could prove this wrong?", "Under which load was that measured?"),
    ),
    Lens(
        "Regulator",
        "law, privacy, accountability",
        "auditor who reads the contract",
        "You come after the fact and want to see who decided what, and why.",
        (
            "personal data: where it is stored and for how long",
            "legal and contractual duties",
            "records of who decided and why",
            "licences of what is used",
        ),
        ("Would it convince a court?", "Who is accountable for it?"),
    ),
    Lens(
        "Newcomer",
        "clarity, undocumented knowledge",
        "capable engineer in the first week",
        "You know the trade but not this project, so you see problems that others no longer notice.",
        (
            "terms that mean two things here",
            "steps that are not documented",
            "reasons that are only tradition",
            "defaults that hurt people who do not know them",
        ),
        ("Where would I have looked for this?", "Why is it not done in the obvious way?"),
    ),
    Lens(
        "Integrator",
        "interfaces, other systems, migration",
        "engineer of the neighbouring systems",
        "Your systems depend on this one, and you were not asked before the plan was made.",
        (
            "interfaces that change without notice",
            "the time in which old and new run in parallel",
            "assumptions about what other systems send",
            "order and timing across systems",
        ),
        ("Who must change on the same day?", "What do the old clients see?"),
    ),
    Lens(
        "Historian",
        "earlier attempts, fashion, base rates",
        "observer of many such projects",
        "You remember how the last three attempts at this ended, and how sure their authors were.",
        (
            "earlier attempts, here and elsewhere",
            "optimism in estimates of time",
            "fashion in place of a reason",
            "how such plans usually end",
        ),
        ("Who tried this before, and where is it now?", "What is different this time?"),
    ),
    Lens(
        "Strategist",
        "goals, priorities, doing nothing",
        "advisor who asks what it is for",
        "You care less about whether it works than about whether it is the right thing to do now.",
        (
            "the goal, and whether this serves it",
            "other work that is not done because of it",
            "the case for waiting",
            "dependence on one supplier",
        ),
        ("What if nothing is done for a year?", "What would have to be true for this to matter?"),
    ),
)
BY_TOOL = {"gemini": "Architect", "codex": "Operator", "qwen": "Adversary"}
"""Tools with a fixed lens; all others get the free ones in order."""


def assigned(providers: Sequence[str]) -> list[Lens]:
    """A lens for each challenger, each lens once."""
    by_title = {lens.title: lens for lens in LENSES}
    taken: dict[int, Lens] = {}
    for n, provider in enumerate(providers):
        lens = by_title.get(BY_TOOL.get(provider, ""))
        if lens and lens not in taken.values():
            taken[n] = lens
    free = [lens for lens in LENSES if lens not in taken.values()]
    return [taken[n] if n in taken else free.pop(0) for n in range(len(providers))]


# personas

FEWEST_ITEMS, MOST_ITEMS = 3, 8
UNKNOWN_DOMAIN = "not told"


async def written(debate: Debate, lenses: Sequence[Lens], notes: list[str]) -> Personas:
    """Distinct experts for this topic. A poor set is sent back once; after that the built-in ones are used."""
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
    """Each lens once, each with a list of its own, no item on two lists."""

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
    """The name of each persona's file. If two tools read the same name, the first one gets it."""
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
    # Some tools read in `@path` in a context file; headings and fences could end the frame.
    return cut(re.sub(r"[@`#<>«»]", " ", text), limit)
