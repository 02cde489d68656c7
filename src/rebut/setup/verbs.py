"""`ask`, `review` and `plan`: short ways to run a protocol, with low limits for a first look.

The commands of these names and the functions `rebut.ask`, `rebut.review` and `rebut.plan` both get from here which
protocol runs, which model has which role, what is debated, and how much it may take.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rebut.core import files
from rebut.core.errors import NotSeated, PriceUnknown, UsageError
from rebut.core.frozen import frozen

if TYPE_CHECKING:
    from rebut.engine.plan import Plan
    from rebut.setup.prepare import Setup
    from rebut.workspace.targets.target import Wanted

FIRST_LOOK = {"timeout": 90, "calls": 12, "usd": 1}
"""Limits of the verbs, unless others are given."""
A_PLAN = 120
"""Seconds per call for a text: with less, the review would be reported as short of time."""
QUICK = {"timeout": 60, "calls": 10, "usd": 1}
DEEP = {"timeout": 240, "calls": 40, "usd": 5}
ROLES = ("proposer", "challenger", "critic", "judge")
"""The roles in which to look for the model of a user who named only one, in this order."""
THRIFTY_TOKENS = 300_000
REVIEWED = "Name a commit, a range A..B or a file, or use - to read a diff from standard input"
BEGINNING = 100_000
"""Bytes of a file that show whether it is a diff."""


@frozen
class Verb:
    """Which protocol a verb runs, and the models of its roles."""

    name: str
    protocol: str
    roles: Mapping[str, str | Sequence[str]]
    in_place: bool = False
    """Its files go to their usual place, not to the session's own folder."""

    def first_look(
        self, given: Mapping[str, object], wanted: Wanted | None = None, *, quick: bool = False, deep: bool = False
    ) -> FirstLook:
        """The values that the verb chooses where the user gives none."""
        from rebut.engine.protocol import load

        if twice := next((role for role, who in self.roles.items() if who and given.get(role)), ""):
            raise UsageError(
                f"the {twice} is named twice: {_joined(self.roles[twice])} and {_joined(given[twice])}",
                "Name the models together, or each by its seat.",
            )
        values: dict[str, object] = {role: who for role, who in self.roles.items() if who}
        usual: dict[str, float] = dict(QUICK if quick else DEEP if deep else FIRST_LOOK)
        if wanted is not None and wanted.target == "proposal" and not quick:
            usual["timeout"] = max(usual["timeout"], A_PLAN)
        if given.get("intensity"):  # it sets the rounds and the time of a call
            del usual["timeout"]
        elif self.protocol != "panel" and given.get("rounds") is None:
            values["rounds"] = 3 if deep else 1
        made = load(self.protocol)
        if deep and "both_orders" in made.settings.model_fields:
            values["both_orders"] = True
        judges = values.get("judge", "")
        if isinstance(judges, list) and len(judges) > 1 and not given.get("judges"):
            values["judges"] = len(judges)
        if quick and not given.get("effort"):
            values["effort"] = "low"
        place = made.place
        if place and not given.get(place) and not self.in_place:
            values[place] = "-"  # its files stay in the session
        limits = given.get("limits") or {}
        assert isinstance(limits, Mapping)
        return FirstLook(self.name, values, usual, "usd" not in limits and "tokens" not in limits)


@frozen
class FirstLook:
    """The values that a verb chooses for a debate where the user gives none."""

    verb: str
    values: Mapping[str, object]
    """Seats and settings."""
    limits: Mapping[str, float]
    thrifty: bool
    """Whether to limit tokens instead of dollars if a price is unknown, since the user gave neither limit."""


def ask(models: Sequence[str] = ()) -> Verb:
    """Two models answer a question, and debate if they differ. The third and all further ones judge."""
    parties = dict(zip(("proposer", "challenger"), models, strict=False))
    return Verb("ask", "ask", {**parties, "judge": list(models[2:])})


def debate(protocol: str, models: Sequence[str] = ()) -> Verb:
    """A question by a protocol of the caller's choice: `ask`, `duel` or `panel`."""
    if protocol == "panel":
        return Verb("panel", "panel", {"lead": models[:1], "challenger": models[1:]})
    return replace(ask(models), name=protocol, protocol=protocol)


def review(models: Sequence[str] = ()) -> Verb:
    """A critic reads a change, and a judge weighs the findings."""
    return Verb("review", "cross", _seated("review", ("critic", "judge"), models))


def plan(models: Sequence[str] = ()) -> Verb:
    """A critic reads a text, and a judge weighs the findings."""
    return Verb("plan", "cross", _seated("plan", ("critic", "judge"), models))


def rewrite(models: Sequence[str] = (), *, in_place: bool = False) -> Verb:
    """Two authors revise a text until they agree."""
    taken = _seated("plan --rewrite", ("first author", "second author", "synthesizer"), models)
    return Verb("plan", "revise", {"author": _authors([*taken.values()][:2]), "synthesizer": models[2:3]}, in_place)


def _seated(verb: str, roles: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """Role → its model, in this order. UsageError if there are more models than roles."""
    if spare := models[len(roles) :]:
        *first, last = (f"the {role}" for role in roles)
        raise UsageError(
            f"`rebut {verb}` has no seat for {_joined(spare)}",
            f"It takes {len(roles)} models: {', '.join(first)} and {last}. Nothing was called.",
        )
    return dict(zip(roles, models, strict=False))


def _joined(who: object) -> str:
    return who if isinstance(who, str) else ", ".join(map(str, who)) if isinstance(who, Sequence) else str(who)


def _authors(models: Sequence[str]) -> list[str]:
    """Two models of one provider get names: `revise` needs them for its files, and this verb has no flag for it."""
    from rebut.core.types import ModelSpec
    from rebut.setup.seats import told_apart

    out: list[ModelSpec] = []
    for text in models:
        out.append(told_apart(ModelSpec.parse(text), out))
    return [spec.written for spec in out]


def planned(
    setup: Setup,
    protocol: str,
    topic: str,
    *,
    first_look: FirstLook | None = None,
    naming: str = "--with {},{}",
    **named: Any,
) -> Plan:
    """Make the plan. With a first look, its errors name models, not seats; `naming` shows how to name two."""
    if first_look is None:
        return setup.plan(protocol, topic, **named)
    named |= first_look.values
    try:
        return setup.plan(protocol, topic, **named, usual_limits=first_look.limits)
    except NotSeated as error:
        if not error.role:
            raise
        from rebut.engine.protocol import load
        from rebut.setup.discover import GET_ONE

        # The user named one model, and no other is here.
        if one := next((who for role in ROLES if isinstance(who := named.get(role), str) and who), ""):
            other = "rules" if one.partition(":")[0] == "lint" else "SPEC"
            listed = any(first_look.values.get(role) == one for role in ROLES)
            # A silent seat is never asked: what is missing is the model that would judge.
            role = "judge" if error.role in load(protocol).silent else error.role
            add = f"--with {one},{other}" if listed else f"--{role} {other}"
            none = "" if error.why_none == GET_ONE else error.why_none
            raise NotSeated(
                f"`rebut {first_look.verb}` needs two models, and has one: {one}",
                f"Name another one, too: {add}. `rebut models` lists what is here.",
                none,
                in_vain=error.in_vain,
            ) from error
        example = naming.format(*(error.unlisted or ("claude", "codex")))
        raise NotSeated(
            f"`rebut {first_look.verb}` needs two models, and {'none is named' if error.unlisted else 'found fewer'}",
            "" if error.why_none == GET_ONE else f"Name them, for example {example}.",
            error.why_none,
            in_vain=error.in_vain,
        ) from error
    except PriceUnknown:
        if not first_look.thrifty:
            raise
        usual = {**first_look.limits, "usd": None, "tokens": THRIFTY_TOKENS}
        return setup.plan(protocol, topic, **named, usual_limits=usual)


# What is debated


async def change(what: str, folder: Path) -> Wanted:
    """The change that `review` is about: a commit, a range, a file, or what has changed in this folder's repository."""
    from rebut.workspace.targets.target import Wanted

    if not what:
        return Wanted(target="code", scope=await _present(folder), instead=REVIEWED)
    if is_folder(what, folder):
        raise UsageError(f"{what} is a folder", "Name a file in it, a commit or a range A..B.")
    if is_file(what, folder):
        if is_diff(beginning(what, folder)):
            return Wanted(target="code", artifact_file=what, instead=REVIEWED)
        return Wanted(target="code", scope=f"file:{what}", instead=REVIEWED)
    if ".." in what:
        return Wanted(target="code", scope=f"range:{what}", instead=REVIEWED)
    await _must_be_there(what, folder)
    return Wanted(target="code", scope=f"commit:{what}", instead=REVIEWED)


async def scope_of(word: str, folder: Path) -> str:
    """The scope of a commit, or a range of commits, that is there; empty if the word names none."""
    from rebut.workspace.git import Git

    ends = [end or "HEAD" for end in re.split(r"\.{2,3}", word)]
    if not re.fullmatch(r"[\w./~^@{}-]+", word) or len(ends) > 2 or (git := await Git.open(folder)) is None:
        return ""
    try:
        there = [await git.commit(end) for end in ends]
    finally:
        await git.close()
    return f"{'range' if len(ends) > 1 else 'commit'}:{word}" if all(there) else ""


async def _must_be_there(what: str, folder: Path) -> None:
    """Refuse a name that is neither a file nor a commit, unless a fuller clone may have it."""
    from rebut.workspace.git import Git, refusal

    git = await Git.open(folder)
    if git is None:
        why, hint = await refusal(folder)
        raise UsageError(
            why or f"there is no file {what!r} here, and this is not a git repository",
            hint or "Name a file, or use - to read a diff from standard input.",
        )
    try:
        if await git.commit(what) or await git.commit(f"origin/{what}") or await git.is_shallow():
            return
    finally:
        await git.close()
    raise UsageError(
        f"there is no file, commit, branch or tag {what!r} here",
        "Name one that is there: `git ls-files` lists files, `git log --oneline --all` commits.",
    )


def text_file(file: str, folder: Path, hint: str = "Give the file with the plan.") -> Wanted:
    """The text that `plan` is about."""
    from rebut.workspace.targets.target import Wanted

    must_be_file(file, folder, hint)
    return Wanted(target="proposal", artifact_file=file)


async def _present(folder: Path) -> str:
    """The uncommitted changes, or else this branch against the default branch."""
    from rebut.workspace.git import Git, refusal
    from rebut.workspace.targets.git_change import DISMISSALS

    git = await Git.open(folder)
    if git is None:
        why, hint = await refusal(folder)
        if why:
            raise UsageError(why, hint)
        raise UsageError("this is not a git repository, so there is no change to review", "Name a file to review.")
    try:
        changes = await git.changes()
        if not changes.head or {*changes.changed, *changes.untracked} - {DISMISSALS}:
            return "uncommitted"
        for branch in ("refs/remotes/origin/HEAD", "main", "master"):
            if (found := await git.commit(branch)) and found != changes.head:
                return f"base:{branch}"
    finally:
        await git.close()
    raise UsageError(
        "nothing to review: there are no uncommitted changes, and this is the default branch",
        "Name a commit, a range A..B or a file: rebut review HEAD.",
    )


def must_be_file(file: str, folder: Path, hint: str) -> None:
    if not is_file(file, folder):
        what = f"{file} is a folder" if is_folder(file, folder) else f"there is no file {file}"
        raise UsageError(what, hint)


def is_file(name: str, folder: Path) -> bool:
    try:
        return (folder / name).is_file()
    except (OSError, ValueError):  # too long for a file name
        return False


def is_folder(name: str, folder: Path) -> bool:
    try:
        return (folder / name).is_dir()
    except (OSError, ValueError):
        return False


def is_diff(text: str) -> bool:
    from rebut.workspace.diff import is_diff

    return is_diff(text)


def beginning(file: str, folder: Path) -> str:
    try:
        return files.read(folder / file, BEGINNING).decode(errors="replace")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
