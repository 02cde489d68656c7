"""A protocol as the engine sees it: one Python file with a name, seats, settings and a coroutine."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field, fields, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rebut.core.errors import RebutError, UsageError
from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.domain.ledger import Ledger
from rebut.domain.session_status import ledger_of
from rebut.engine.steering import added
from rebut.record.artifacts import Artifact as Artifact
from rebut.record.record import Record

if TYPE_CHECKING:
    from pydantic import BaseModel

    from rebut.domain.outcome import Outcome
    from rebut.engine.debate import Debate
    from rebut.engine.plan import Plan

BUILT_IN = ("duel", "cross", "revise", "panel", "ask")
MANY = -1
"""In `seats`: as many seats as the user names models, at least one."""
MOST_FOUND = 3
"""The most seats that a `MANY` role has if the user names no model for it."""
GROUP = "rebut.protocols"
INSTALLED = "installed:"
"""The prefix of the name of an installed protocol where a record has the source of its protocol."""


@frozen
class Ended:
    """What a protocol may look at when it writes its artifacts: the record and how it ended, nothing live."""

    record: Record
    settings: Any
    outcome: Outcome | None = None
    error: RebutError | None = None
    """If there is neither outcome nor error, the debate continues or was interrupted."""
    so_far: Mapping[str, Json] = field(default_factory=dict)
    """The data of the best result so far, for a debate that continues or was interrupted."""

    @property
    def ledger(self) -> Ledger:
        return ledger_of(self.record)

    @property
    def planned(self) -> int:
        """Rounds in the settings, and those that the user added."""
        return int(self.settings.rounds) + added(self.record)


@frozen
class Role:
    """A role of a protocol: how many seats it has, and what fills them where the user names no model."""

    count: int = 1
    """Seats; `MANY` for as many as the user names; 0 for a role that stays empty unless a model is named for it."""
    silent: bool = False
    """Whether it is part of the debate but never asked. A person fills it if no model is named."""
    model: str = ""
    """The spec that fills it where none is named, such as `human`."""
    program: str = ""
    """The program that fills it where no model was found, for targets that are code."""
    stand_in: str = ""
    """The role whose model takes its place when it fails and no fallback was named."""
    independent: bool = True
    """For the judge: whether a model of another family is looked for; otherwise the model of a party judges."""


@frozen
class Preparation:
    """What a protocol may look at before its settings are complete."""

    named: Mapping[str, Any]
    """Seats and settings as the user named them."""
    workspace: Path
    env: Mapping[str, str]
    host_state: str = ""
    """The state folder of the coding agent that rebut runs under; empty if it runs under none."""
    dry_run: bool = False
    """Whether nothing may be written, not even to find out whether a folder can be written."""


@frozen
class NewSession:
    """What a protocol may look at when it chooses a folder for the files of a new session."""

    settings: Any
    workspace: Path
    session_folder: Path
    slug: str
    """The topic, as a part of a file's name."""


@frozen
class FilesFolder:
    """Where a protocol's files go, and the second name that the session gets from it; both may be empty."""

    path: str = ""
    alias: str = ""


@frozen
class Protocol:
    """The parts of a protocol file. All but `run` and the roles are optional."""

    name: str
    version: str
    about: str
    roles: Mapping[str, Role]
    settings: type[BaseModel]
    run: Callable[[Debate], Awaitable[Outcome]]
    letter: str = "P"
    """The letter of its points' ids."""
    noun: str = "point"
    """What its points are called: point, finding."""
    judge: str = ""
    """The role that is filled by default: with a third family, else a fresh call of a party's model."""
    closing_tokens: int = 0
    """What to set aside at the start for the closing call; 0 for a protocol without one."""
    closings: Callable[[Any], int] | None = None
    """Settings → how many closing calls each judge makes; one if it is not given."""
    reviews: bool = False
    """Whether its outcome has a `ReviewResult`: findings that a gate can judge."""
    checks: bool = False
    """Whether its participants may add checks, which are run if the user says so."""
    place: str = ""
    """The setting that names the folder of its files; `-` there means the session's own folder."""
    calls: Callable[[Any], Mapping[str, int]] | None = None
    """Settings → how many calls each role makes when all goes well."""
    limits: Callable[[Any], Mapping[str, float]] | None = None
    """Settings → limits that hold where the user set no others."""
    prepare: Callable[[Preparation], tuple[Mapping[str, Json], Sequence[str]]] | None = None
    """Settings that follow from workspace and environment, and notices for the user."""
    seats_for: Callable[[Any], Mapping[str, int | Role]] | None = None
    """Settings → roles, where these depend on them."""
    check: Callable[[Plan], Sequence[str]] | None = None
    """Raises `UsageError` if a plan does not fit together; returns notices for the user. No session is open yet."""
    folder: Callable[[NewSession], FilesFolder] | None = None
    """Claims a folder for the files of one session."""
    artifacts: Callable[[Ended], Sequence[Artifact]] | None = None
    """The files as they are by now: called at the end, and whenever the protocol publishes."""
    partial: Callable[[Debate], Outcome] | None = None
    """The best result so far, at a deadline."""
    source: str = ""

    @property
    def seats(self) -> dict[str, int]:
        """Role → how many seats it has."""
        return {name: role.count for name, role in self.roles.items()}

    @property
    def silent(self) -> tuple[str, ...]:
        return tuple(name for name, role in self.roles.items() if role.silent)

    @property
    def stand_ins(self) -> dict[str, str]:
        return {name: role.stand_in for name, role in self.roles.items() if role.stand_in}

    @property
    def programs(self) -> dict[str, str]:
        return {name: role.program for name, role in self.roles.items() if role.program}

    @property
    def models(self) -> dict[str, str]:
        """Role → the spec that fills it where none is named."""
        return {name: role.model for name, role in self.roles.items() if role.model}

    @property
    def third_judges(self) -> bool:
        return self.roles[self.judge].independent if self.judge in self.roles else True

    def with_settings(self, settings: Any) -> Protocol:
        """The protocol with the roles that it has under these settings."""
        if self.seats_for is None:
            return self
        roles = _roles(self.seats_for(settings))
        judge = self.judge if self.judge in roles else ""
        return replace(self, roles=roles, judge=judge, closing_tokens=self.closing_tokens if judge else 0)


def _roles(seats: Mapping[str, int | Role]) -> dict[str, Role]:
    return {name: role if isinstance(role, Role) else Role(role) for name, role in seats.items()}


def load(name: str | Path) -> Protocol:
    """A shipped or an installed protocol by its name, or any protocol by the path of its file."""
    text = str(name)
    if text in BUILT_IN:
        return of_module(importlib.import_module(f"rebut.protocols.{text}"))
    path = Path(text).expanduser()
    if path.suffix != ".py":
        return _installed(text.removeprefix(INSTALLED))
    if not path.is_file():
        raise UsageError(f"there is no file {text}")
    sha = file_digest(path.read_bytes())
    spec = importlib.util.spec_from_file_location(f"rebut_protocol_{sha}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pydantic looks up annotations there
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the file does when it is loaded: it is the user's code, not ours
        raise UsageError(f"{text} cannot be loaded: {type(error).__name__}: {error}") from error
    # The text of the file is part of its version: an edited protocol is another one, not a nondeterministic one.
    return of_module(module, source=str(path.resolve()), sha=sha)


def file_digest(source: bytes) -> str:
    """The digest of a protocol file, which its version has after a plus sign. It is so long that no other text with the
    same digest can be found. Earlier versions recorded its first 32 bits."""
    return hashlib.sha256(source).hexdigest()[:32]


def is_same_text(known: str, now: str) -> bool:
    """Whether two digests are of the same text. `known` may be as short as earlier versions recorded it."""
    return known == now or (OLD_DIGEST.fullmatch(known) is not None and len(now) == 32 and now.startswith(known))


OLD_DIGEST = re.compile("[0-9a-f]{8}")
"""A digest on record by earlier versions."""


def is_same_version(known: str, now: str) -> bool:
    """Whether two versions are the same, the digests of their files included."""
    (number, _, text), (number_now, _, text_now) = known.partition("+"), now.partition("+")
    return number == number_now and is_same_text(text, text_now)


def changed_file(record: Record) -> Path | None:
    """The session's protocol file, if its text differs from when the session was last run. It is not loaded."""
    from rebut.core import files
    from rebut.record.events import Resumed

    if not record.lines or not record.opened.source.endswith(".py"):
        return None
    file = Path(record.opened.source)
    resumed = [line.event.protocol_version for line in record.lines if isinstance(line.event, Resumed)]
    _, plus, known = (resumed or [record.opened.protocol_version])[-1].rpartition("+")
    try:
        now = file_digest(files.read(file))
    except OSError:
        return None  # loading it says what is wrong
    return file if plus and not is_same_text(known, now) else None


def _installed(name: str) -> Protocol:
    """A protocol of another package, which names its module in the entry-point group `rebut.protocols`."""
    from importlib.metadata import entry_points

    found = {one.name: one for one in entry_points(group=GROUP)}
    if name not in found:
        others = f" Installed: {', '.join(sorted(found))}." if found else ""
        raise UsageError(
            f"no protocol is called {name!r}", f"Shipped: {', '.join(BUILT_IN)}.{others} Or give a .py file."
        )
    one = found[name]
    try:
        module = one.load()
    except Exception as error:  # whatever the package does when it is loaded: it is its author's code, not ours
        raise UsageError(f"{name} ({one.value}) cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(module, ModuleType):
        raise UsageError(f"{name} ({one.value}) is no module", f"Name the protocol's module alone under {GROUP}.")
    made = of_module(module, source=INSTALLED + name, sha=one.dist.version if one.dist else "")
    return replace(made, name=name)


def of_module(module: ModuleType, source: str = "", sha: str = "") -> Protocol:
    from pydantic import create_model

    where = source or module.__name__
    for needed in ("seats", "run"):
        if not hasattr(module, needed):
            raise UsageError(f"{where} is no protocol: it has no `{needed}`", "See docs/writing-a-protocol.md.")
    if not inspect.iscoroutinefunction(module.run):
        raise UsageError(f"{where}: `run` is not async", "Write `async def run(debate)`.")
    own = {one.name: getattr(module, one.name) for one in fields(Protocol) if hasattr(module, one.name)}
    _refuse_old_hooks(module, where)
    version = str(own.get("version", "1"))
    return Protocol(
        **{
            "name": Path(where).stem,
            **own,
            "roles": _roles(module.seats),
            "version": f"{version}+{sha}" if sha else version,
            "about": (module.__doc__ or "").strip().partition("\n")[0],
            "settings": getattr(module, "Settings", None) or create_model("Settings"),
            "source": source,
        }
    )


OLD_HOOKS = {
    **dict.fromkeys(("silent", "third_judges", "stand_ins", "programs"), "a `Role` in `seats`"),
    **dict.fromkeys(("company", "implied"), "`seats_for(settings)`"),
    **dict.fromkeys(("fits", "notices"), "`check(plan)`"),
    "claim": "`folder(session)`",
    "state_dir": "`prepare(asked)`",
}
"""Names of hooks in 0.1, and what does their work now."""


def _refuse_old_hooks(module: ModuleType, where: str) -> None:
    """Raise if a module has a hook under its old name, which would be ignored, and say what took its place."""
    for name, now in OLD_HOOKS.items():
        found = getattr(module, name, None)
        if found is not None and (callable(found) or isinstance(found, Mapping | tuple | bool)):
            raise UsageError(
                f"{where}: `{name}` is no longer a part of a protocol", f"Use {now}: docs/writing-a-protocol.md."
            )
