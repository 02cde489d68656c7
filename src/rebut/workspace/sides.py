"""The two sides of what is debated, as evidence reads them: how it stands now, and how it stood before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebut.core.text import fingerprint
from rebut.core.types import Json
from rebut.workspace.overlay import Overlay
from rebut.workspace.snapshot import Redact
from rebut.workspace.targets import Target
from rebut.workspace.tree import Workspace
from rebut.workspace.view import View


@dataclass
class Sides:
    """What a citation is looked up in. Moves on when a debate takes up a later version of its artifact."""

    new: Workspace | None = None
    old: Workspace | None = None
    artifact: str | None = None
    """The text under discussion, whose sections can be cited."""
    version: str = ""
    """A fingerprint of the version that is discussed; empty for the one that the debate opened with."""
    opened: Workspace | None = field(default=None, repr=False)
    """The new side as it was at first: later versions lie over it."""

    @classmethod
    def of(cls, view: View | None, target: Target | None, redact: Redact, root: str, never: Sequence[str]) -> Sides:
        if target is None:
            return cls(view, opened=view)
        after = {c.path: c.after for c in target.changes}
        after |= {c.old_path: None for c in target.changes if c.old_path and c.old_path not in after}
        before = {c.old_path or c.path: c.before for c in target.changes}
        new = Overlay(_at(view, target.new), after, redact, root=root, never=never)
        old = Overlay(_at(view, target.base) if target.base else None, before, redact, root=root, never=never)
        return cls(new, old if target.changes else None, target.text or None, opened=new)

    def take_up(self, files: dict[str, str | None], text: str, modes: Mapping[str, str] | None = None) -> None:
        """Discuss a later version from here on: the files that it changes, and its text."""
        self.version = fingerprint([dict(files), text])
        self.artifact = text or None
        if self.opened is not None:
            self.new = Overlay(self.opened, files, self.opened.redact, modes=modes)

    def of_version(self, value: Json) -> Json:
        """What a derived fact depends on: a mark that was made on one version does not hold for another."""
        return [value, self.version] if self.version else value

    async def close(self) -> None:
        for side in (self.opened, self.old):
            if side is not None:
                await side.close()


def _at(view: View | None, commit: str) -> View | None:
    """The workspace as kept, or the same repository at a commit."""
    return View(view.snapshot.at(commit), view.keep, view.redact) if view and commit else view
