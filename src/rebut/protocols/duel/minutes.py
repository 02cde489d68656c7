"""The minutes of a duel: what was said, and the summary that takes the place of older rounds."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebut.core.text import squeeze, tokens
from rebut.domain.prompts import FENCES, fill
from rebut.engine.debate import Failure, Round
from rebut.protocols.duel import prompts as words, render as synthesis, reply_checks as rules
from rebut.protocols.duel.forms import Summary


@dataclass
class Said:
    """One turn, as the other side, the judge and the reader see it."""

    round: int
    role: str
    text: str
    quotable: str
    """The author's own words, in which a concession must be found verbatim."""


@dataclass
class Course:
    """What was said so far, and what became of earlier rounds."""

    said: list[Said] = field(default_factory=list)
    summary: str = ""
    notes: list[str] = field(default_factory=list)
    closed: str = ""
    """Why no further round was held, where nothing was left to argue about."""
    unsummed: bool = False
    """A summary failed, and the sides argued on over the program's list of points: less than they were promised."""
    own: str = ""
    """What the challenger answered before it saw the proposer's case, where it was asked."""

    def round(self, n: int) -> list[Said]:
        return [s for s in self.said if s.round == n]

    def size(self) -> int:
        """Tokens of all that was said, which the closing call will have to read."""
        return sum(tokens(s.text) for s in self.said)

    def whole_rounds(self) -> int:
        return sum(1 for s in self.said if s.role == "challenger")


async def background(r: Round, course: Course) -> str:
    """What was said before: in full for two rounds; from the third on, all but the last round as a summary."""
    if r.n == 1:
        return ""
    latest = "\n\n".join(r.quote(f"round {s.round}, {s.role}", s.text) for s in course.round(r.n - 1))
    if r.n < 3:
        return latest
    course.summary = await summarize(r, course)
    return f"{r.quote(f'summary of rounds 1 to {r.n - 2}', course.summary)}\n\n{latest}"


async def summarize(r: Round, course: Course) -> str:
    """Roll the summary forward by one round: prompts stay as long as they are, however many rounds there are."""
    old = r.quote(f"summary of rounds 1 to {r.n - 3}", course.summary) if course.summary else ""
    turns = "\n\n".join(r.quote(f"round {s.round}, {s.role}", s.text) for s in course.round(r.n - 2))
    upto = r.n - 2
    conceded = [m for m in r.ledger.moves if m.kind == "concede" and m.round <= upto]
    # The old summary is no source: its writer's own words would turn into a debater's on the second round.
    earlier = [s.quotable for s in course.said if s.round <= upto] + [f"{m.point}: {m.reason}" for m in conceded]
    prompt = fill(words.SUMMARY, fences=FENCES, upto=str(upto), material=f"{old}\n\n{turns}".strip())
    answer = await r.try_ask(r.seat("judge"), "summary", prompt, schema=Summary, check=rules.summary(earlier))
    if isinstance(answer, Failure):
        course.unsummed = True
        course.notes.append(
            f"round {r.n}: no summary was written ({answer.kind}); the program's own list of points served"
        )
        return synthesis.own_summary(r.ledger, conceded)
    said = [squeeze(text) for text in earlier]
    kept = [c for c in answer.value.concessions if rules.is_verbatim(c, said)]
    if dropped := len(answer.value.concessions) - len(kept):
        course.notes.append(f"round {r.n}: {dropped} concession(s) in the summary were not verbatim and were left out")
    return synthesis.summary(answer.value, kept, conceded)
