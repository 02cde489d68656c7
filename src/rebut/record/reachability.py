"""Which models answered a few minutes ago, in the user's state folder, so that none is tried twice in a row."""

from __future__ import annotations

import json
import time
from pathlib import Path

from rebut.core import files
from rebut.core.frozen import frozen

FRESH = 600.0
"""Seconds for which a successful call shows that a model is reachable."""
MOST = 200


@frozen
class Trip:
    """When a model answered, and whether it had read its persona, if that was tried."""

    at: float
    reads: bool | None = None


@frozen
class Reachability:
    """Successful calls by model spec. Failures are not stored: after fixing a login, the user wants to try at once."""

    path: Path

    def known(self, spec: str) -> Trip | None:
        trip = self._read().get(spec)
        return trip if trip and 0 <= time.time() - trip.at < FRESH else None

    def keep(self, spec: str, reads: bool | None = None) -> None:
        """Store a success. If it cannot be written, the only harm is that the model is tried again later."""
        known = self.known(spec)
        if reads is None and known:
            reads = known.reads
        trips = {**self._read(), spec: Trip(time.time(), reads)}
        newest = sorted(trips.items(), key=lambda item: item[1].at)[-MOST:]
        text = json.dumps({name: {"at": trip.at, "reads": trip.reads} for name, trip in newest}, indent=1)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            files.write(self.path, text.encode(), 0o600)
        except OSError:
            return

    def _read(self) -> dict[str, Trip]:
        try:
            rows = json.loads(files.read(self.path))
            return {str(name): Trip(float(row["at"]), row.get("reads")) for name, row in rows.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            return {}
