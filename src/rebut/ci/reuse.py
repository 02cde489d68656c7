"""Reuse: a review of the same thing, by the same seats and settings, that is already on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rebut import __version__
from rebut.core.redaction import PLACEHOLDER
from rebut.core.text import canonical
from rebut.core.types import Json
from rebut.domain.endings import target_of
from rebut.domain.session_status import outcome_of
from rebut.engine.plan import Plan, opened
from rebut.record import sessions as session
from rebut.record.record import Record
from rebut.record.sessions import Found
from rebut.workspace.targets import Target
from rebut.workspace.targets.own import OUTPUT

OF_TARGET = ("kind", "scope", "text", "diff", "changes", "base", "new", "left_out")


def find(root: Path, plan: Plan) -> Record | None:
    """The newest ended, conclusive review that this plan would only repeat.

    The policy of a gate is no part of it: whatever it says now, the ending on record is judged by it anew. With
    --context there is none, since what the files said is not compared. The same goes for a target without a base, a
    text or one file: it may be held against any file of the workspace.
    """
    if plan.target is None or plan.context or not plan.target.base:
        return None
    wanted, about = _asked(plan, root), _about(plan.target)
    for found in session.sessions(root):
        if session.is_here(found, plan.workspace) and _same(found, wanted):
            record = session.load(found.folder)
            target, outcome = target_of(record), outcome_of(record)
            whole = outcome is not None and outcome.conclusive and outcome.complete
            if whole and target is not None and "context" not in record.facts and _about(target) == about:
                return record
    return None


def _asked(plan: Plan, root: Path) -> str:
    made = opened(plan, root, "")
    return _key(made.protocol, made.protocol_version, __version__, made.settings, made.seats)


def _same(found: Found, wanted: str) -> bool:
    made = found.opened
    return _key(made.protocol, made.protocol_version, made.rebut, made.settings, made.seats) == wanted


def _key(
    protocol: str, version: str, rebut: str, settings: Mapping[str, Json], seats: Sequence[Mapping[str, Json]]
) -> str:
    rows = [[row.get("seat"), row.get("spec"), row.get("persona", "")] for row in seats]
    return canonical([protocol, version, rebut, dict(settings), rows])


def _about(target: Target) -> str:
    """What is reviewed. A secret counts by its kind: that is all that a model was shown of it."""
    data = target.to_json()
    # What reviews left behind, since the last one, says nothing about the change.
    data["left_out"] = [line for line in target.left_out if OUTPUT not in line]
    text = canonical({name: data[name] for name in OF_TARGET})
    return PLACEHOLDER.sub(lambda found: found[0].rpartition(":")[0], text)
