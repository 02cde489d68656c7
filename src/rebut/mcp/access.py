"""What a call of a host may reach: paths in the workspace, sessions of the workspace, models that the user listed.

The call is made by a model, so it never counts as the user: naming a provider in it does not permit that provider.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rebut.core.errors import UnknownSession, UsageError
from rebut.core.files import real, repository
from rebut.core.frozen import frozen
from rebut.core.types import ModelSpec
from rebut.domain.checks import CHECKS
from rebut.record import sessions
from rebut.record.record import Record
from rebut.record.sessions import FoundSession
from rebut.setup.config import Config
from rebut.setup.config_files import REPO_FILE

HERE = ("caller", "lint", "rules", "local")
"""Providers that a call may name although they are not in the user's list: they send nothing off this machine."""


@frozen
class HostWorkspace:
    """The folder that the server works in."""

    folder: Path

    @classmethod
    def at(cls, folder: Path | None = None) -> HostWorkspace:
        return cls(real(folder or Path.cwd()))

    @property
    def top(self) -> Path:
        return repository(self.folder)

    def check(self) -> None:
        """Refuse a missing folder, the home folder and the root: a debate could read every file below these two."""
        if not self.folder.is_dir():
            raise UsageError(
                f"there is no folder {self.folder} to work in",
                "Start the server in one that exists, or with `rebut mcp --root DIR`.",
            )
        for place, name in ((Path("/"), "the root of the file system"), (_home(), "your home folder")):
            if self.top == place:
                raise UsageError(
                    f"rebut was started in {name}, which is no workspace: every file below could be read",
                    "Start the agent host in a project folder, or the server with `rebut mcp --root DIR`.",
                )

    def inside(self, path: str) -> str:
        """A path relative to the workspace's folder. With links followed, it must be inside the workspace."""
        if "\0" in path:
            raise UsageError(f"{path!r} is not a path")
        full = real(self.folder / path)
        if not full.is_relative_to(self.top):
            raise UsageError(f"{path} is outside of the workspace {self.top}", "Name a file in the workspace.")
        return os.path.relpath(full, self.folder)

    def sessions(self) -> list[FoundSession]:
        """The sessions of this workspace, newest first."""
        return list(sessions.of_workspace(sessions.home(), self.folder))

    def session(self, name: str) -> Path:
        """The folder of a session of this workspace."""
        self.check()
        folder = sessions.find(sessions.home(), name, self.folder)
        found = sessions.first_event(folder)
        places = (found.opened.workspace, found.opened.started_in) if found else ()
        if found and not any(place and repository(Path(place)) == self.top for place in places):
            raise UnknownSession(
                f"session {name} was started in another folder, not in {self.top}",
                "Only sessions of this workspace can be used here.",
            )
        return folder


def check_models(models: Sequence[str], config: Config) -> None:
    """Refuse models that the user's own list does not permit."""
    for text in models:
        provider = ModelSpec.parse(text).provider
        if provider in ("human", "scripted", "gguf"):
            raise UsageError(f"a call cannot name {provider}", "Only the user can, in [seats] of the config.")
        if provider not in HERE and not config.listed(provider):
            if provider in (config.user_allow or ()):
                raise UsageError(
                    f"{REPO_FILE} of this workspace does not allow {provider} ([egress] allow)",
                    f"Name another model. The user's config allows {provider}, and the stricter list wins.",
                )
            raise UsageError(
                f"the user's config does not allow {provider} ([egress] allow), and a call cannot add it",
                f'The user can add it there: allow = ["{provider}"] in the file that `rebut config path` prints.',
            )


def check_record(record: Record, config: Config) -> None:
    """Refuse to continue a debate that runs checks, or that has models which a list in the config lacks."""
    if CHECKS in record.facts:
        raise UsageError(
            f"session {record.opened.id} runs checks, which is code of models, and that is not done for a host",
            f"The user can continue it in a terminal: rebut resume {record.opened.id}",
        )
    for row in record.opened.seats:
        provider = ModelSpec.parse(str(row["spec"])).provider
        if not config.listed(provider):
            whose = f"{REPO_FILE} of this workspace" if provider in (config.user_allow or ()) else "the user's config"
            raise UsageError(
                f"session {record.opened.id} uses {provider}, which is not in [egress] allow of {whose}",
                f"The user can continue it in a terminal: rebut resume {record.opened.id}",
            )


def _home() -> Path:
    return real(Path.home())
