"""Pure functions that check the replies in a duel. Each returns what is wrong, which is sent back once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rebut.core.citation_syntax import find_citations
from rebut.core.text import squeeze, tokens
from rebut.domain.forms import Cite
from rebut.domain.ledger import Ledger, MoveKind, Same
from rebut.protocols.duel.forms import Challenge, Decision, Defense, FollowUp, Opening, Summary
from rebut.protocols.shared import called_same, misread, name_faults, overruled, unknown, unsound

MOVES: dict[str, MoveKind] = {"concede": "concede", "rebut": "defend", "trade-off": "partly"}
RULINGS: dict[str, MoveKind] = {
    "resolved": "resolve",
    "unresolved": "maintain",
    "dodged": "maintain",
    "withdrawn": "withdraw",
}
GIVES_IN = ("resolved", "withdrawn")
"""Rulings by which the challenger gives up a point. Without evidence they resolve nothing."""
MOST_SUMMARY_TOKENS = 1100  # the prompt asks for 500 to 800, and the estimate of tokens is about a third too high


def opening(reply: Opening) -> list[str]:
    wrong = []
    if not reply.position:
        wrong.append("the position is empty: take a clear position")
    if not any(c.text for c in reply.claims):
        wrong.append("there is no claim: say what the position rests on, one claim each")
    return wrong


def challenge(ledger: Ledger, against: str = "proposer") -> Callable[[Challenge], list[str]]:
    """`against` is the seat whose case is challenged."""

    def check(reply: Challenge) -> list[str]:
        wrong = []
        if not any(f.text for f in reply.flaws):
            wrong.append("no flaw is named: name at least one genuine flaw or omission before any agreement")
        if not any(reply.alternatives):
            wrong.append("no alternative is proposed: propose at least one, concretely")
        for name in ("correctness", "security", "developer_experience"):
            if not getattr(reply.coverage, name):
                wrong.append(f"{name.replace('_', ' ')} is not covered: say what you found, or that you found nothing")
        for n, agreed in enumerate(reply.agreements, 1):
            if not agreed.evidence:
                wrong.append(f"agreement {n} cites no evidence: agree only with what you can cite, or leave it out")
            if not agreed.risk:
                wrong.append(f"agreement {n} names no remaining risk")
        called = set(reply.unsupported)
        named = called | {f.about for f in reply.flaws if f.about}
        wrong += unknown(sorted(named), (c.id for c in ledger.claims), "claim")
        wrong += unsound(ledger, (f.point("challenger", 1) for f in reply.flaws))
        for claim in ledger.unsupported:
            if claim.by == against and claim.id not in called:
                wrong.append(f"{claim.id} cites nothing and is not called out under `unsupported`")
        return wrong

    return check


def defense(ledger: Ledger, by: str = "proposer") -> Callable[[Defense], list[str]]:
    def check(reply: Defense) -> list[str]:
        named = {r.id for r in reply.responses if r.argument}
        answered = {ledger.issue_of(id) for id in named}
        wrong = [f"{p.id} is not answered: concede, rebut or trade off" for p in ledger.open if p.id not in answered]
        wrong += unknown(sorted(named), ledger.point_ids)
        wrong += joined_by_defense(ledger, reply, 0, by)[1]
        for one in reply.responses:
            if one.move == "concede" and not cites(one.argument, one.evidence):
                wrong.append(f"{one.id} is conceded without evidence: cite what shows that the challenger is right")
        if not reply.position:
            wrong.append("the position is empty: state your current position")
        return wrong

    return check


def follow_up(ledger: Ledger, by: str = "challenger") -> Callable[[FollowUp], list[str]]:
    def check(reply: FollowUp) -> list[str]:
        named = {r.id for r in reply.rulings}
        ruled = {ledger.issue_of(id) for id in named}
        wrong = [f"{p.id} is not ruled on" for p in ledger.open if p.id not in ruled]
        wrong += unknown(sorted(named), ledger.point_ids)
        wrong += joined_by_follow_up(ledger, reply, 0, by)[1]
        for ruling in reply.rulings:
            if ruling.ruling in GIVES_IN and not cites(ruling.reason, ruling.evidence):
                wrong.append(f"{ruling.id} is called {ruling.ruling} without evidence: cite what convinced you")
        certified = any(r.ruling == "resolved" and cites(r.reason, r.evidence) for r in reply.rulings)
        raised = [f.point("challenger", 0) for f in reply.flaws if f.text]
        wrong += unsound(ledger, raised)
        if not any(not p.same_as and not ledger.repeated(p) for p in raised) and not certified:
            wrong.append("name a new weakness, or certify an earlier point as resolved with evidence")
        return wrong

    return check


def joined_by_defense(ledger: Ledger, reply: Defense, n: int, by: str = "proposer") -> tuple[list[Same], list[str]]:
    """The joins of points to earlier ones in a defense, and complaints about joins that make no sense."""
    return called_same(ledger, by, n, [(r.id, r.same_as, MOVES[r.move]) for r in reply.responses])


def joined_by_follow_up(
    ledger: Ledger, reply: FollowUp, n: int, by: str = "challenger"
) -> tuple[list[Same], list[str]]:
    return called_same(ledger, by, n, [(r.id, r.same_as, RULINGS[r.ruling]) for r in reply.rulings])


def cites(text: str, evidence: Sequence[Cite]) -> bool:
    """Whether a statement cites something, in its own field or in its words."""
    return bool(evidence) or bool(find_citations(text))


def summary(earlier: Sequence[str]) -> Callable[[Summary], list[str]]:
    """Check that the summary is short, and that each concession is quoted word for word, apart from white space."""
    said = [squeeze(text) for text in earlier]

    def check(reply: Summary) -> list[str]:
        wrong = [
            f"this concession was never made in these words: {quote!r}"
            for quote in reply.concessions
            if not is_verbatim(quote, said)
        ]
        size = tokens(reply.model_dump_json())
        if size > MOST_SUMMARY_TOKENS:
            wrong.append(f"the summary is about {size * 3 // 4} tokens long; 500 to 800 are asked for")
        return wrong

    return check


def is_verbatim(quote: str, said: Sequence[str]) -> bool:
    words = bare_quote(quote)
    return bool(words) and any(words in text for text in said)


def bare_quote(quote: str) -> str:
    """The quoted words, without white space and quotation marks around them."""
    return squeeze(quote).strip(" \"'“”")


def decision(ledger: Ledger, *, trusting: bool = False) -> Callable[[Decision], list[str]]:
    """`trusting`: the session began under a version that does not check the judge's statements against the record."""

    def check(reply: Decision) -> list[str]:
        wrong = reasoned(ledger, reply.reasoning, trusting=trusting)
        if not reply.recommendation:
            wrong.append("there is no recommendation: say what to do")
        return wrong + name_faults(overruled(ledger, lost(ledger, reply), reply))

    return check


def lost(ledger: Ledger, reply: Decision) -> list[str]:
    """The ids of the open points against which a verdict goes."""
    return [p.id for p in ledger.open] if reply.winner == "proposer" else []


def reasoned(ledger: Ledger, reasoning: str, *, trusting: bool = False) -> list[str]:
    """Return what is wrong with a judge's reasons. They must name claims and points by ids that exist."""
    wrong = []
    named = set(re.findall(r"\b[CD]\d+\b", reasoning))
    if ledger.ids() and not named & ledger.ids():
        wrong.append("the reasoning names no claim or point by its id")
    wrong += [f"the reasoning names {id}, which does not exist" for id in sorted(named - ledger.ids())]
    return wrong if trusting else wrong + misread(ledger, reasoning)
