"""What an outcome may claim. It is decided here and nowhere else, from what the record shows.

Protocols and the engine state doubts: facts that weaken an outcome. `RULES` says for each kind of doubt which claims it
denies. The terminal, JSON, the exit code, the gate, SARIF, exports and decision records follow this table, which
docs/claims.md shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from rebut.core.frozen import frozen

Claim = Literal["conclusive", "accepted"]
CLAIMS: Mapping[Claim, str] = {
    "conclusive": "exit code 0, `conclusive: true`, a gate that passes, “no problems found”",
    "accepted": "a decision record with the status *accepted*",
}
"""What each claim allows, for docs/claims.md."""
NOTHING: frozenset[Claim] = frozenset()
BOTH: frozenset[Claim] = frozenset({"conclusive", "accepted"})
ONLY_ACCEPTED: frozenset[Claim] = frozenset({"accepted"})


@frozen
class Rule:
    """What a kind of doubt means, and which claims it denies."""

    means: str
    denies: frozenset[Claim] = BOTH


RULES: Mapping[str, Rule] = {
    "deadline": Rule("the deadline came before the end; the exit code is 5"),
    "ended early": Rule("a limit, a failed seat or the user ended the debate before its last round"),
    "undecided": Rule("the protocol itself says that it reached no decision"),
    "files unread": Rule("files of the target were not read, and no policy accepts that"),
    "shown in part": Rule("a model was shown only a part of its question"),
    "part missing": Rule(
        "a part of the target was not reviewed, because its critique failed or leaves out its findings"
    ),
    "seats missing": Rule("a seat gave no answer that counts"),
    "not weighed": Rule(
        "the judge or synthesizer did not rule on a P1 or P2, or the critic did not weigh what the judge added"
    ),
    "unmatched": Rule("an objection names a point that does not exist, so it was not weighed"),
    "contradiction": Rule(
        "the judge keeps the original although it calls a P1 or P2 valid, or a verdict approves beside a high finding"
    ),
    "not written": Rule("the version that was chosen could not be written, or its patch does not apply"),
    "same model": Rule("the critic is the model that wrote what it reviews, or the judge's model answered for it"),
    "nothing raised": Rule("no point was raised against the position"),
    "struck points": Rule("every point of the winner rests on a citation that is absent"),
    "order decides": Rule("the judge's choice changes with the order in which the sides are shown"),
    "no majority": Rule("no side has more than half of the judges"),
    "check ignored": Rule(
        "the judge, critic, lead or synthesizer rules against a point that a check shows, and says nothing against the "
        "check"
    ),
    "misread record": Rule("the judge's reasons say something that the record contradicts", ONLY_ACCEPTED),
    "one model": Rule("one model had every seat", ONLY_ACCEPTED),
    "uncontested": Rule("the models that answered agree, and none argued against the answer", ONLY_ACCEPTED),
    "one-sided": Rule("not every answer was challenged and defended", ONLY_ACCEPTED),
    "contested": Rule("a participant still objects", ONLY_ACCEPTED),
    "dropped": Rule("a strong or moderate objection was dropped without a reason", ONLY_ACCEPTED),
    "not debated": Rule("the result was not debated", ONLY_ACCEPTED),
    "not converged": Rule("all rounds were used, and the review did not converge", NOTHING),
}
"""The rule of each kind of doubt. An unknown kind, such as one from another version of rebut, denies both claims."""


@frozen
class Doubt:
    """A fact that weakens what an outcome may claim."""

    kind: str
    heading: str = ""
    """What the heading must state because of the doubt; empty if the heading states it already."""
    said: str = ""
    """The doubt in a sentence."""

    @property
    def denies(self) -> frozenset[Claim]:
        return RULES[self.kind].denies if self.kind in RULES else BOTH


def may_claim(claim: Claim, doubts: Iterable[Doubt]) -> bool:
    """Whether an ending with these doubts may make a claim."""
    return not any(claim in doubt.denies for doubt in doubts)


def heading_with(base: str, doubts: Iterable[Doubt]) -> str:
    """The heading with the words of each doubt, each once, before the colon of a heading such as `BOTH AGREE: …`."""
    stated = dict.fromkeys(doubt.heading for doubt in doubts if doubt.heading)
    name, colon, words = base.partition(": ")
    return ", ".join([name, *stated]) + colon + words


def other_doubts(doubts: Sequence[Doubt], kind: str) -> list[Doubt]:
    """The doubts of other kinds that make an outcome inconclusive."""
    return [doubt for doubt in doubts if doubt.kind != kind and "conclusive" in doubt.denies]
