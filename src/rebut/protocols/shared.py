"""What several protocols need: the head of a prompt, a second try, and one wording for failures and unknown ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rebut.core import files
from rebut.core.ballot import Option
from rebut.core.errors import Aborted, ParticipantFailed, UsageError
from rebut.core.files import real
from rebut.core.json_value import Json
from rebut.core.text import encoded
from rebut.core.types import LEFT, Participant
from rebut.domain.checks import may_add
from rebut.domain.doubts import Doubt
from rebut.domain.forms import fault_of, weighs_checks
from rebut.domain.ledger import Evidence, Ledger, MoveKind, Point, Same
from rebut.domain.prompts import CONTEXT, FENCES
from rebut.domain.review_result import MOVES
from rebut.engine.debate import Answer, Ask, Debate, Failure
from rebut.engine.protocol import Preparation

if TYPE_CHECKING:
    from pydantic import BaseModel

    from rebut.domain.forms import Form

V = TypeVar("V")
UNCONTESTED = "uncontested: the models that answered chose the same, and none argued against it"
"""Why such an outcome is not an accepted decision."""
MISSING = "a field is missing"
"""How the complaint about a list of objections that was left out begins."""
OWN = "-"
"""As the place of a protocol's files: the session's own folder."""
LONG = 8192
"""Tokens for a whole document."""

NO_CONTEXT = "No files were given."
NO_REASON = "the judge, a person, gave no reason"


# asking


def prompt_head(debate: Debate, rule: str) -> dict[str, str]:
    """How the prompt of every debater begins: rule, topic and files, in an order that stays from round to round."""
    files = f"\n\n{CONTEXT}\n\n{debate.quote('files', debate.context)}" if debate.context else f"\n\n{NO_CONTEXT}"
    rule += may_add("point or claim", debate.runners, both_sides=debate.has_old_side)
    return {"rule": rule, "fences": FENCES, "topic": debate.quote("topic", debate.topic), "context": files}


def chosen_folder(asked: Preparation, setting: str) -> str | None:
    """The folder that the user named in a setting, as an absolute path; empty for `-`, the session's own folder.

    None where the user named none. A relative folder is relative to the workspace. UsageError if files cannot be
    written there: found out after the debate, its files would be missing.
    """
    chosen = asked.named.get(setting)
    if chosen == OWN:
        return ""
    if not chosen:
        return None
    folder = real(asked.workspace / Path(str(chosen)).expanduser())
    if why := files.not_writable(folder):
        raise UsageError(f"--{setting.replace('_', '-')} {chosen} cannot be used: {why}", "Name a folder.")
    return str(folder)


async def ask_twice(debate: Debate, step: str, asks: Sequence[Ask[V]], *, need: int = 0) -> list[Answer[V] | Failure]:
    """Ask all at once, and each that fails once more. Raises `TooFewReplies` if fewer than `need` answer then.

    A call that a limit forbids or that the user skipped is not tried again.
    """
    got = list(await debate.ask_all(step, asks, need=0))
    again = [n for n, one in enumerate(got) if isinstance(one, Failure) and one.kind not in ("budget", LEFT)]
    if again:
        still = max(0, need - sum(isinstance(one, Answer) for one in got))
        more = await debate.ask_all(step, [replace(asks[n], part="again") for n in again], need=min(still, len(again)))
        for n, one in zip(again, more, strict=True):
            got[n] = one
    return got


async def began_before(debate: Debate, version: int, fact: str) -> bool:
    """Whether this debate, or the session that it is forked from, began under the rules of an earlier version.

    Such a debate continues and replays by those rules. `fact` is the name under which a fork records it.
    """
    own, *parent = (int(one) < version for one in debate.versions)
    if own or not debate.is_fork:
        return own
    return bool(await debate.once(fact, lambda: any(parent), cls="input"))


# failures


def aborted(
    debate: Debate,
    who: Participant,
    what: str,
    error: ParticipantFailed,
    hint: str,
    data: Mapping[str, Any] | None = None,
) -> Aborted:
    """The debate cannot continue without this seat: `the judge (claude) gave no verdict: timeout, …`."""
    message = f"the {who.seat} ({debate.speaker(who)}) {what}: {error.kind}, {error.message}"
    return Aborted(message, error.hint or hint, data)


def describe(failure: Failure) -> str:
    """Why a call failed, in a few words. The message about a limit needs no class before it."""
    return failure.message if failure.kind == "budget" else f"{failure.kind}: {failure.message}"


def ended_by(failure: Failure, round: int) -> str:
    """Why the rounds end with a failure."""
    if failure.kind == "budget":
        return failure.message
    return f"the {failure.who.seat} failed in round {round} ({describe(failure)})"


# wording, and what ballots have in common


def of_rounds(done: int, planned: int) -> str:
    """For headings of a debate that is not over or ended early: `1 OF 2 ROUNDS`."""
    return f"{done} OF {planned} ROUNDS"


def json_text(value: Mapping[str, Json]) -> str:
    """JSON for a file that people may read, too."""
    return encoded(value, indent=2).decode() + "\n"


def unknown(ids: Iterable[str], known: Iterable[str], noun: str = "point") -> list[str]:
    """A complaint for each id that does not exist."""
    there = list(known)
    names = f"the {noun}s are {', '.join(there)}" if there else f"there is no {noun} yet"
    return [f"there is no {noun} {id}: {names}" for id in dict.fromkeys(ids) if id not in there]


def by_first_letter(*words: str) -> tuple[Option, ...]:
    """The options of a ballot, each with the first letter of its word as its key."""
    return tuple(Option(word[0], word, word) for word in words)


LEVELS = by_first_letter("high", "medium", "low")


def places(evidence: Sequence[Evidence]) -> str:
    """What something cites, on a ballot: `src/a.py:3 found, src/b.py:9 absent`."""
    return ", ".join(f"{e.place} {e.mark}" for e in evidence) or "cites nothing"


def missing(reply: BaseModel, name: str) -> list[str]:
    """A complaint if a reply leaves out a list of objections. Only an empty list says that there are none.

    Only the complaint is on record: a recorded answer has every field, whether or not the model wrote it.
    """
    if name in reply.model_fields_set or getattr(reply, name):
        return []
    return [f"{MISSING}: `{name}`; an empty list says that there are none"]


def has_missing(complaints: Iterable[str]) -> bool:
    """Whether an answer was taken although it leaves out its list of objections."""
    return any(complaint.startswith(f"{MISSING}: ") for complaint in complaints)


def called_same(
    ledger: Ledger, by: str, round: int, said: Sequence[tuple[str, str, MoveKind]], noun: str = "point"
) -> tuple[list[Same], list[str]]:
    """The points that a reply joins to earlier ones, and a complaint on each pair that cannot be one issue.

    `said` has an entry for every point that the reply answers: its id, the earlier one that it names, and the answer.
    Points that are one issue have one answer: with two, a serious one could vanish in one that was rejected. What was
    conceded is held, so it is the same only as a point that is conceded, too.
    """
    last = {m.point: m.kind for m in ledger.moves if m.by == by}
    held = {m.point for m in ledger.moves if m.by == by and m.kind == "concede"}
    last |= {ledger.issue_of(id): kind for id, _, kind in said}
    joins, wrong = list[Same](), list[str]()
    for id, other, kind in said:
        if not other or ledger.point(id) is None:
            continue
        pair = (ledger.issue_of(id), ledger.issue_of(other))
        if why := ledger.separate(id, other, noun):
            wrong.append(why)
        elif last.get(pair[1], kind) != kind or (kind != "concede" and not held.isdisjoint(pair)):
            wrong.append(f"{id} is called the same as {other}, but is answered otherwise: answer both alike")
        else:
            joins.append(Same(id, other, by, round))
    return joins, wrong


SAID = {
    "conceded": ("concede", "partly"),
    "concedes": ("concede", "partly"),
    "withdrawn": ("withdraw", "resolve"),
    "withdrew": ("withdraw", "resolve"),
    "withdraws": ("withdraw", "resolve"),
    "resolved": ("resolve", "withdraw", "mend", "concede"),
    "rebutted": ("defend", "partly"),
    "defended": ("defend", "partly"),
}
"""What a judge may say about a point → the moves of which one must be on record for that."""
DONE = {"concedes": "conceded", "withdrew": "withdrawn", "withdraws": "withdrawn"}
UNSAID = re.compile(
    r"^\s*had\b|n['’]t\b|\b(?:no(?:t|r|ne|body)?|never|neither|without|if|unless|until|whether|should|could|would|"
    r"may|might|must|claims?|claimed|says?|said|argues?|argued)\b",
    re.I,
)
"""Words before a statement by which it does not say that something happened: `D1 should be conceded`."""
BY_NONE = re.compile(r" by (?:no(?:ne|body|thing)?|neither)\b", re.I)


def misread(ledger: Ledger, text: str) -> list[str]:
    """What a judge says about points and the record contradicts: `D1 was conceded`, though no side conceded it.

    The judge's own rulings are no concession: that it calls a finding valid is not something that a side said.
    """
    ids = "|".join(sorted(ledger.point_ids, key=len, reverse=True))
    if not ids:
        return []
    words, some = "|".join(SAID), rf"(?:{ids})(?:(?:, | and |, and )(?:{ids}))*"
    after = rf"\b(?P<ids>{some})\b (?:was|were|is|are|has been|have been) (?:\w+ly |already )?(?P<word>{words})\b"
    before = rf"\b(?P<word>{words}) (?:both )?(?:the )?(?:points? |findings? )?(?P<ids>{some})\b"
    claimed = [
        (found["ids"], found["word"])
        for found in (*re.finditer(after, text), *re.finditer(before, text))
        if not UNSAID.search(_clause(text, found.start())) and not BY_NONE.match(text, found.end())
    ]
    wrong: list[str] = []
    for names, word in claimed:
        for id in re.findall(rf"\b(?:{ids})\b", names):
            issue = ledger.issue_of(id)
            moves = [m for m in ledger.moves if m.point == issue and (m.by != "judge" or m.kind == MOVES["fixed"])]
            if not any(m.kind in SAID[word] for m in moves):
                status = replace(ledger, moves=tuple(moves)).final_status(issue)
                wrong.append(f"the reasons say that {id} was {DONE.get(word, word)}; on record it is {status}")
    for found in re.finditer(rf"\b({ids})[’']s (?:citation|quote|evidence) (?:is|was) (absent|found)\b", text):
        point = ledger.point(found[1])
        marks = {e.mark for one in point.wordings for e in one.evidence} if point else set[str]()
        if marks and found[2] not in marks:
            wrong.append(
                f"the reasons say that the citation of {found[1]} is {found[2]}; it is {', '.join(sorted(marks))}"
            )
    return list(dict.fromkeys(wrong))


def _clause(text: str, end: int) -> str:
    """What stands before a place of a text in the same part of the sentence."""
    return re.split(r"[.;:!?,\n]|\b(?:but|so|although|though)\b", text[:end])[-1]


def is_shown(ledger: Ledger, id: str) -> bool:
    """Whether a check shows a point."""
    point = ledger.point(id)
    return point is not None and point.check is not None and point.check.mark == "shown"


def reason_of(reason: str, ruling: Form) -> str:
    """The reason of a ruling, with what it says about the check."""
    fault = fault_of(ruling)
    return f"{reason} (On its check: {fault})" if fault else reason


def overruled(ledger: Ledger, ids: Iterable[str], reply: Form) -> list[str]:
    """The ids of points that a check shows, and that a reply rules against without saying what is wrong with the check.

    A person is not asked for that, and may rule as they like.
    """
    if not weighs_checks(reply):
        return []
    return [id for id in ids if is_shown(ledger, id) and not re.search(rf"\b{id}\b", fault_of(reply))]


def name_faults(ids: Iterable[str]) -> list[str]:
    """A complaint for each of these points."""
    return [f"the check of {id} is marked shown: say under `check_fault`, by id, what is wrong with it" for id in ids]


def check_ignored(ids: Sequence[str], ruled: str) -> Doubt:
    """The doubt about such a ruling. `ruled` says who rules how: `the lead rejects`."""
    said = f"{ruled} {', '.join(ids)}, and nothing is said about what is wrong with the check"
    return Doubt("check ignored", "A CHECK WAS IGNORED", said)


def unsound(ledger: Ledger, points: Iterable[Point], noun: str = "point") -> list[str]:
    """A complaint for each `same_as` that names no earlier point, or one about another document."""
    named = [point for point in points if point.same_as]
    wrong = unknown((point.same_as for point in named), ledger.point_ids, noun)
    for point in named:
        issue = ledger.point(point.same_as)
        if issue and ledger.repeated(point) != issue:
            wrong.append(f"{issue.id} is about another document, so this is not the same: leave `same_as` empty")
    return wrong
