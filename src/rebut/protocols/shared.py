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
from rebut.core.text import encoded, plural
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
"""Why an uncontested outcome is not an accepted decision."""
MISSING = "a field is missing"
"""How the complaint about a missing list of objections begins."""
OWN = "-"
"""The value of a folder setting that means the session's own folder."""
LONG = 8192
"""The most output tokens of a reply that contains a whole document."""

NO_CONTEXT = "No files were given."
NO_REASON = "the judge, a person, gave no reason"


# asking


def prompt_head(debate: Debate, rule: str) -> dict[str, str]:
    """Return the start of every debater's prompt: rule, topic and files, in the same order in every round."""
    files = f"\n\n{CONTEXT}\n\n{debate.quote('files', debate.context)}" if debate.context else f"\n\n{NO_CONTEXT}"
    rule += may_add("point or claim", debate.runners, both_sides=debate.has_old_side)
    return {"rule": rule, "fences": FENCES, "topic": debate.quote("topic", debate.topic), "context": files}


def chosen_folder(asked: Preparation, setting: str) -> str | None:
    """Return the folder that the user named in a setting, as an absolute path; empty for `-`, the session's own folder.

    None if the user named no folder. A relative folder is relative to the workspace. Raises UsageError if files cannot
    be written there: an error after the debate would come too late.
    """
    chosen = asked.named.get(setting)
    if chosen == OWN:
        return ""
    if not chosen:
        return None
    named = asked.workspace / Path(str(chosen)).expanduser()
    if link := files.link_below(files.repository(asked.workspace), named):
        raise UsageError(f"{link} is a symbolic link, and rebut does not write through links", f"Name {real(named)}.")
    folder = real(named)
    if why := files.not_writable(folder):
        raise UsageError(f"--{setting.replace('_', '-')} {chosen} cannot be used: {why}", "Name a folder.")
    return str(folder)


async def ask_twice(debate: Debate, step: str, asks: Sequence[Ask[V]], *, need: int = 0) -> list[Answer[V] | Failure]:
    """Ask all at once, then ask each that failed once more. Raises `TooFewReplies` if fewer than `need` have answered.

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

    Such a debate continues and replays by those rules. `fact` is the name under which a fork records the answer.
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
    """The error if the debate cannot continue without this seat: `the judge (claude) gave no verdict: timeout, …`."""
    message = f"the {who.seat} ({debate.speaker(who)}) {what}: {error.kind}, {error.message}"
    return Aborted(message, error.hint or hint, data)


def describe(failure: Failure) -> str:
    """Say why a call failed, in a few words. A message about a limit needs no kind of failure before it."""
    return failure.message if failure.kind == "budget" else f"{failure.kind}: {failure.message}"


def ended_by(failure: Failure, round: int) -> str:
    """Say why a failure ends the rounds."""
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
    existing = list(known)
    names = f"the {noun}s are {', '.join(existing)}" if existing else f"there is no {noun} yet"
    return [f"there is no {noun} {id}: {names}" for id in dict.fromkeys(ids) if id not in existing]


def by_first_letter(*words: str) -> tuple[Option, ...]:
    """The options of a ballot, each with the first letter of its word as its key."""
    return tuple(Option(word[0], word, word) for word in words)


LEVELS = by_first_letter("high", "medium", "low")


def places(evidence: Sequence[Evidence]) -> str:
    """List the citations of a claim or a point for a ballot: `src/a.py:3 found, src/b.py:9 absent`."""
    return ", ".join(f"{e.place} {e.mark}" for e in evidence) or "cites nothing"


def missing(reply: BaseModel, name: str) -> list[str]:
    """Return a complaint if a reply leaves out a list of objections. Only an empty list says that there are none.

    Only this complaint records the omission: a recorded answer has every field, whether or not the model wrote it.
    """
    if name in reply.model_fields_set or getattr(reply, name):
        return []
    return [f"{MISSING}: `{name}`; an empty list says that there are none"]


def has_missing(complaints: Iterable[str]) -> bool:
    """Whether an answer was accepted although it leaves out its list of objections."""
    return any(complaint.startswith(f"{MISSING}: ") for complaint in complaints)


def called_same(
    ledger: Ledger, by: str, round: int, said: Sequence[tuple[str, str, MoveKind]], noun: str = "point"
) -> tuple[list[Same], list[str]]:
    """Return the joins of points to earlier ones in a reply, and a complaint on each pair that cannot be one issue.

    `said` has an entry for every point that the reply answers: its id, the earlier point that it names, and the answer.
    Joined points must have the same answer: otherwise a serious point could vanish in one that was rejected. A
    concession is binding, so a conceded point can be joined only to another conceded point.
    """
    last = {m.point: m.kind for m in ledger.moves if m.by == by}
    conceded = {m.point for m in ledger.moves if m.by == by and m.kind == "concede"}
    last |= {ledger.issue_of(id): kind for id, _, kind in said}
    joins, wrong = list[Same](), list[str]()
    for id, other, kind in said:
        if not other or ledger.point(id) is None:
            continue
        pair = (ledger.issue_of(id), ledger.issue_of(other))
        if why := ledger.separate(id, other, noun):
            wrong.append(why)
        elif last.get(pair[1], kind) != kind or (kind != "concede" and not conceded.isdisjoint(pair)):
            wrong.append(f"{id} is called the same as {other}, but is answered otherwise: answer both alike")
        else:
            joins.append(Same(id, other, by, round))
    return joins, wrong


MOVES_NEEDED = {
    "conceded": ("concede", "partly"),
    "concedes": ("concede", "partly"),
    "withdrawn": ("withdraw", "resolve"),
    "withdrew": ("withdraw", "resolve"),
    "withdraws": ("withdraw", "resolve"),
    "resolved": ("resolve", "withdraw", "mend", "concede"),
    "rebutted": ("defend", "partly"),
    "defended": ("defend", "partly"),
}
"""A judge's word for what happened to a point → the moves that make it true; one of them must be on record."""
PARTICIPLES = {"concedes": "conceded", "withdrew": "withdrawn", "withdraws": "withdrawn"}
NOT_REPORTED = re.compile(
    r"^\s*had\b|n['’]t\b|\b(?:no(?:t|r|ne|body)?|never|neither|without|if|unless|until|whether|should|could|would|"
    r"may|might|must|claims?|claimed|says?|said|argues?|argued)\b",
    re.I,
)
"""Words in front of a statement that keep it from reporting an event: `D1 should be conceded`."""
BY_NONE = re.compile(r" by (?:no(?:ne|body|thing)?|neither)\b", re.I)


def misread(ledger: Ledger, text: str) -> list[str]:
    """Return the judge's statements that the record contradicts: `D1 was conceded`, though no side conceded it.

    The judge's own rulings do not count as concessions: a finding that it calls valid was not conceded by a side.
    """
    ids = "|".join(sorted(ledger.point_ids, key=len, reverse=True))
    if not ids:
        return []
    words, id_list = "|".join(MOVES_NEEDED), rf"(?:{ids})(?:(?:, | and |, and )(?:{ids}))*"
    after = rf"\b(?P<ids>{id_list})\b (?:was|were|is|are|has been|have been) (?:\w+ly |already )?(?P<word>{words})\b"
    before = rf"\b(?P<word>{words}) (?:both )?(?:the )?(?:points? |findings? )?(?P<ids>{id_list})\b"
    claimed = [
        (found["ids"], found["word"])
        for found in (*re.finditer(after, text), *re.finditer(before, text))
        if not NOT_REPORTED.search(_clause_before(text, found.start())) and not BY_NONE.match(text, found.end())
    ]
    wrong: list[str] = []
    for names, word in claimed:
        for id in re.findall(rf"\b(?:{ids})\b", names):
            issue = ledger.issue_of(id)
            moves = [m for m in ledger.moves if m.point == issue and (m.by != "judge" or m.kind == MOVES["fixed"])]
            if not any(m.kind in MOVES_NEEDED[word] for m in moves):
                status = replace(ledger, moves=tuple(moves)).final_status(issue)
                wrong.append(f"the reasons say that {id} was {PARTICIPLES.get(word, word)}; on record it is {status}")
    for found in re.finditer(rf"\b({ids})[’']s (?:citation|quote|evidence) (?:is|was) (absent|found)\b", text):
        point = ledger.point(found[1])
        marks = {e.mark for one in point.wordings for e in one.evidence} if point else set[str]()
        if marks and found[2] not in marks:
            wrong.append(
                f"the reasons say that the citation of {found[1]} is {found[2]}; it is {', '.join(sorted(marks))}"
            )
    return list(dict.fromkeys(wrong))


def _clause_before(text: str, end: int) -> str:
    """Return the text before the position `end`, back to the start of its clause."""
    return re.split(r"[.;:!?,\n]|\b(?:but|so|although|though)\b", text[:end])[-1]


def is_shown(ledger: Ledger, id: str) -> bool:
    """Whether a point has a check that is marked shown."""
    point = ledger.point(id)
    return point is not None and point.check is not None and point.check.mark == "shown"


def reason_of(reason: str, ruling: Form) -> str:
    """Return the reason of a ruling, with what the ruling says is wrong with the point's check."""
    fault = fault_of(ruling)
    return f"{reason} (On its check: {fault})" if fault else reason


def overruled(ledger: Ledger, ids: Iterable[str], reply: Form) -> list[str]:
    """Return those `ids` whose check is marked shown, if the reply does not say what is wrong with the check.

    `ids` are points that the reply rules against. A person need not give such a reason, so none are returned.
    """
    if not weighs_checks(reply):
        return []
    return [id for id in ids if is_shown(ledger, id) and not re.search(rf"\b{id}\b", fault_of(reply))]


def name_faults(ids: Iterable[str]) -> list[str]:
    """Return a complaint for each of these points, whose check is ignored."""
    return [f"the check of {id} is marked shown: say under `check_fault`, by id, what is wrong with it" for id in ids]


def check_ignored(ids: Sequence[str], ruled: str) -> Doubt:
    """Return the doubt about a ruling that ignores checks of points. `ruled` says who rules how: `the lead rejects`."""
    said = f"{ruled} {', '.join(ids)}, and does not say what is wrong with the {plural(len(ids), 'check')}"
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
