"""The outside of a debate, as far as a protocol may reach it: what is debated, and the files that are left behind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.core.errors import ProtocolError
from rebut.engine.runtime import Room
from rebut.record import sessions as session
from rebut.record.artifacts import Artifact

if TYPE_CHECKING:
    from rebut.workspace.patch import Patched
    from rebut.workspace.targets import Target


class Outside:
    """A part of `Debate`, and nothing by itself."""

    _room: Room

    async def leave(self, *files: Artifact) -> Sequence[str]:
        """Write files now. Returns where each is: at its path, or beside it where somebody else's stands."""
        from rebut.engine.leaving import leave

        if self._room.offline:
            return [one.path for one in files]
        places, notes = await leave(self._room, files)
        self._room.notes += notes
        return [str(place) for place in places]

    def claim(self, folder: str, purpose: str, *, new: bool = False, shared: Collection[str] = ()) -> str:
        """Take a folder for this session, and make it. Returns who holds it for this purpose: empty if we do.

        A `new` one is made by us or not at all: whoever was quicker to make it has it. Whoever has ended holds it as
        long as a file is there that it wrote, `shared` ones aside. Call this in `once`.
        """
        from rebut.record import folder_claims as claims

        room, place = self._room, Path(folder)
        if room.offline:
            return ""
        place.parent.mkdir(parents=True, exist_ok=True)
        with claims.alone(room.root, place):
            try:
                place.mkdir()
                claims.forget(room.root, place)  # whoever held a folder of that name holds nothing any more
            except FileExistsError:
                if new or not place.is_dir():
                    return "another process"
            holder = claims.claim(room.root, place, purpose, room.record.opened.id, shared)
        return "" if holder == room.record.opened.id else holder

    def claimed(self, folder: str, purpose: str, *, shared: Collection[str] = ()) -> str:
        """Which other session holds a folder for a purpose; empty for none. Call this in `once`."""
        from rebut.record.folder_claims import holder

        found = holder(self._room.root, Path(folder), purpose, shared)
        return "" if found == self._room.record.opened.id else found

    @property
    def folder(self) -> str:
        """Where the protocol's files go, if it claimed a place for them. It has no business in a prompt."""
        return self._room.folder

    async def publish(self) -> Sequence[str]:
        """Write the protocol's artifacts as they are by now; what could not be written is said. Nothing in a replay."""
        return await self._room.publish() if self._room.publish else ()

    @property
    def is_fork(self) -> bool:
        return bool(self._room.record.opened.forked_from)

    @property
    def target(self) -> Target:
        """What is debated, as it was read when the debate opened."""
        if self._room.target is None:
            raise ProtocolError("this debate has no target", "Give one to `rebut.start(…, target=…)`.")
        return self._room.target

    @property
    def session(self) -> str:
        """The session's name for people: its alias if it has one. It has no business in a prompt."""
        opened = self._room.record.opened
        return opened.aliases[0] if opened.aliases else opened.id

    def take_up(self, files: Mapping[str, str | None], text: str = "", modes: Mapping[str, str] | None = None) -> None:
        """Discuss a later version from here on: citations are checked against it, and `need` is served from it."""
        self._room.sides.take_up(dict(files), text, modes)

    async def try_patch(self, patch: str) -> Patched:
        """What a patch would make of the version under discussion; nothing is changed. Call it in `once` or a check."""
        from rebut.workspace.patch import try_patch

        return await try_patch(self._room.view, patch)

    async def difference(self, files: Mapping[str, str | None], modes: Mapping[str, str] | None = None) -> str:
        """The diff from the version that the debate opened with to the given files. Call it in `once`."""
        from rebut.workspace.patch import difference

        return await difference(self._room.sides.opened, files, modes)

    async def as_it_stands(self, patch: str, files: Mapping[str, str | None]) -> tuple[bytes, str]:
        """Such a diff in terms of the bytes that are really there, and what keeps it from that. Call it in `once`."""
        from rebut.workspace.exact_patch import as_it_stands

        room = self._room
        top = session.repository(Path(room.record.opened.workspace))
        return await as_it_stands(patch, files, room.sides.opened, top, room.redact)
