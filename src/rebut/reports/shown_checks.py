"""The checks of a session that were shown, as test files for the repository."""

from __future__ import annotations

from rebut.core.text import slug, squeeze
from rebut.domain.checks import CodeCheck
from rebut.domain.ledger import Ledger

NAMES = {"pytest": ("test_{}.py", "#"), "python": ("check_{}.py", "#"), "shell": ("check_{}.sh", "#")}
NAMES |= {"node": ("{}.test.mjs", "//"), "go": ("{}_test.go", "//")}
"""Runner → the name of a file with such a check, and how a comment begins in it."""


def as_files(ledger: Ledger, session: str) -> dict[str, str]:
    """Name of the file → its text, for every check that was shown."""
    texts = {c.id: c.text for c in ledger.claims} | {p.id: p.text for p in ledger.points}
    out: dict[str, str] = {}
    for id, check in ledger.checks:
        if check.mark != "shown":
            continue
        pattern, _ = NAMES.get(check.runner, ("check_{}.txt", "#"))
        stem = f"{id.lower()}_{slug(texts.get(id, ''))[:40].strip('-')}".replace("-", "_").strip("_")
        name, n = pattern.format(stem), 2
        while name in out:
            name, n = pattern.format(f"{stem}_{n}"), n + 1
        out[name] = _text(id, check, texts.get(id, ""), session)
    return out


def _text(id: str, check: CodeCheck, said: str, session: str) -> str:
    sign = NAMES.get(check.runner, ("", "#"))[1]
    head = [f"{id}: {squeeze(said)}", f"It {check.claim}. Shown in session {session} of rebut."]
    head += ["In the repository it is to pass once the problem is fixed."] if check.shows.startswith("fails") else []
    rows = [f"{sign} {line}" for line in head]
    return "\n".join([*rows, "", check.code.strip("\n"), ""])
