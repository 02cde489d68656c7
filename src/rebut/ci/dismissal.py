"""A dismissal: a finding that somebody has looked at and does not want to hear of again, until its lines change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields

from rebut.ci.cited import Cited, cited
from rebut.core.errors import ConfigError, UsageError
from rebut.core.text import cut
from rebut.core.types import Json
from rebut.domain.review_result import Contract, Held
from rebut.workspace.targets import Target

LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class Dismissal:
    """What is dismissed (path, category, lines) and, for people, why and what it was about."""

    path: str
    category: str
    lines: str
    """The hash of the cited lines."""
    reason: str
    place: str = ""
    text: str = ""
    session: str = ""
    at: str = ""

    @property
    def id(self) -> str:
        """The same for the same finding, whoever dismisses it and however it is worded."""
        bound = "\0".join((self.path, self.category, self.lines))
        return f"d{hashlib.sha256(bound.encode('utf-8', 'replace')).hexdigest()[:8]}"

    def covers(self, finding: Held, place: Cited | None) -> bool:
        if place is None or not place.lines:
            return False
        return (place.path, finding.category, place.digest) == (self.path, self.category, self.lines)

    def to_line(self) -> str:
        said: Mapping[str, Json] = {"id": self.id, **asdict(self)}
        return json.dumps(said, ensure_ascii=False) + "\n"


def dismissal(finding: Held, target: Target, reason: str, session: str, at: str) -> Dismissal:
    """Dismiss a finding for as long as the lines it cites stay as they are."""
    if not reason.strip():
        raise UsageError(f"say why {finding.id} is dismissed", "Add --reason TEXT.")
    place = cited(finding, target)
    if place is None or not place.lines:
        what = f"cites {finding.place}, and what stands there is not on record" if finding.place else "cites no lines"
        raise UsageError(
            f"{finding.id} {what}, so that a dismissal would never lapse",
            "Only a finding that cites lines of the change, or quotes what it cites, can be dismissed.",
        )
    return Dismissal(
        path=place.path,
        category=finding.category,
        lines=place.digest,
        reason=cut(reason, LONGEST_REASON),
        place=finding.place,
        text=cut(finding.text, 200),
        session=session,
        at=at,
    )


def parse(text: str, where: str) -> tuple[Dismissal, ...]:
    """Dismissals from a file of one JSON object a line. `where` names the file in complaints."""
    found: dict[str, Dismissal] = {}
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip():
            one = _read(line, f"{where}, line {n}")
            found[one.id] = one
    return tuple(found.values())


def _read(line: str, where: str) -> Dismissal:
    hint = "A line is one JSON object as `rebut dismiss` writes it; mend it or take it out."
    try:
        data = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{where}: not JSON", hint) from error
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: not an object", hint)
    names = [f.name for f in fields(Dismissal)]
    for name in names:
        if not isinstance(data.get(name, ""), str) or (name in names[:4] and not data.get(name)):
            raise ConfigError(f"{where}: {name!r} is missing or no text", hint)
    return Dismissal(**{name: data[name] for name in names if name in data})


def matching(made: Contract, target: Target, dismissals: Iterable[Dismissal]) -> dict[str, Dismissal]:
    """Finding → the dismissal that covers it, for those that one covers."""
    every = list(dismissals)
    found: dict[str, Dismissal] = {}
    for finding in made.findings if every else ():
        place = cited(finding, target)
        for one in every:
            if one.covers(finding, place):
                found[finding.id] = one
    return found
