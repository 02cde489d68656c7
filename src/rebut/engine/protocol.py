"""A protocol as the engine sees it: one Python file with a name, seats, settings and a coroutine."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rebut.core.errors import RebutError, UsageError
from rebut.core.types import Json, Participant
from rebut.domain.ledger import Ledger
from rebut.domain.session_status import ledger_of
from rebut.engine.steering import added
from rebut.record.artifacts import Artifact as Artifact
from rebut.record.record import Record

if TYPE_CHECKING:
    from pydantic import BaseModel

    from rebut.domain.outcome import Outcome
    from rebut.engine.debate import Debate
    from rebut.workspace.targets.target import Target

BUILT_IN = ("duel", "cross", "revise", "panel", "ask")
MANY = -1
"""In `seats`: as many as are named, at least one."""
MOST_FOUND = 3
"""How many of those that were found take a role of many by themselves."""
GROUP = "rebut.protocols"
INSTALLED = "installed:"
"""Before the name of a protocol from another package, where a record says where its protocol came from."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a protocol may look at when it writes its artifacts: the record and how it ended, nothing live."""

    record: Record
    settings: Any
    outcome: Outcome | None = None
    error: RebutError | None = None
    """Neither: the debate goes on."""

    @property
    def ledger(self) -> Ledger:
        return ledger_of(self.record)

    @property
    def planned(self) -> int:
        """Rounds as they were asked for, and those that were added by hand."""
        return int(self.settings.rounds) + added(self.record)


@dataclass(frozen=True, slots=True)
class Protocol:
    """The parts of a protocol file."""

    name: str
    version: str
    about: str
    seats: Mapping[str, int]
    """Role → how many sit in it, or `MANY`; 0 for a role that stays empty unless somebody is named for it."""
    settings: type[BaseModel]
    run: Callable[[Debate], Awaitable[Outcome]]
    letter: str = "P"
    """The letter of its points' ids."""
    judge: str = ""
    """The role that is filled by default: with a third family, else a fresh call of a party's model."""
    closing_tokens: int = 0
    """What to set aside at the start for the closing call; 0 for a protocol without one."""
    calls: Callable[[Any], Mapping[str, int]] | None = None
    """Settings → how many calls each role makes when all goes well."""
    partial: Callable[[Debate], Outcome] | None = None
    artifacts: Callable[[Ended], Sequence[Artifact]] | None = None
    """The files as they are by now: called at the end, and whenever the protocol publishes."""
    silent: Sequence[str] = ()
    """Roles that are part of the debate and never asked anything; a person's, where nobody is named."""
    third_judges: bool = True
    """Whether a family of its own is looked for to judge; else a party's model does."""
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    """Role → the role whose model takes its place when it fails and no fallback was named."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """Role → the program that fills it where no model was found; for targets that are code."""
    implied: Callable[[Any], Mapping[str, str]] | None = None
    """Settings → seats that follow from them."""
    limits: Callable[[Any], Mapping[str, float]] | None = None
    """Settings → limits that hold where nobody set others."""
    notices: Callable[[Any, Mapping[str, Json], Target | None], Sequence[str]] | None = None
    """What to tell the user before anything is asked, from settings, limits and target."""
    state_dir: Callable[[Mapping[str, str], Path], tuple[str, str]] | None = None
    """Environment and workspace → where its files go, and what to tell the user about that."""
    claim: Callable[[Any, datetime, int], str] | None = None
    """Settings, time and process → the session's second name, whose folder it takes for itself."""
    prepare: Callable[[Mapping[str, Any], Path], tuple[Mapping[str, Json], Sequence[str]]] | None = None
    """What was named, and the workspace → settings as that workspace's own files want them, and what to tell."""
    company: Callable[[Any], Mapping[str, int]] | None = None
    """Settings → seats, where these depend on them."""
    fits: Callable[[Any, Sequence[Participant]], None] | None = None
    """Settings and seats → `UsageError` where they do not go together; asked before anything is opened."""
    folder: Callable[[Any, Path, Path, str], Path] | None = None
    """Settings, workspace, the session's own folder and slug → a folder for its files, for this debate alone."""
    source: str = ""

    def with_settings(self, settings: Any) -> Protocol:
        """The protocol with the seats that it has under these settings."""
        if self.company is None:
            return self
        seats = self.company(settings)
        judge = self.judge if self.judge in seats else ""
        return replace(self, seats=seats, judge=judge, closing_tokens=self.closing_tokens if judge else 0)


def load(name: str | Path) -> Protocol:
    """A shipped or an installed protocol by its name, or anybody's by the path of its file."""
    text = str(name)
    if text in BUILT_IN:
        return of_module(importlib.import_module(f"rebut.protocols.{text}"))
    path = Path(text).expanduser()
    if path.suffix != ".py":
        return _installed(text.removeprefix(INSTALLED))
    if not path.is_file():
        raise UsageError(f"there is no file {text}")
    source = path.read_bytes()
    sha = hashlib.sha256(source).hexdigest()[:8]
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
    version = str(own.get("version", "1"))
    return Protocol(
        **{
            "name": Path(where).stem,
            **own,
            "seats": dict(module.seats),
            "version": f"{version}+{sha}" if sha else version,
            "about": (module.__doc__ or "").strip().partition("\n")[0],
            "settings": getattr(module, "Settings", None) or create_model("Settings"),
            "source": source,
        }
    )
