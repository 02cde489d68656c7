"""Looking up what a text cites, in the workspace as it stands now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from rebut.core.text import cut
from rebut.evidence.citation_syntax import Citation, Found
from rebut.evidence.lookup import SHOWN, Mark, Verdict, check_text
from rebut.workspace.snapshot import Redact
from rebut.workspace.view import LiveView


async def look_up(
    text: str, workspace: Path, redact: Redact, never: Sequence[str], folder: Path | None = None
) -> list[tuple[Found, Mark]]:
    """Every citation of a text with its mark. `folder` is where the text itself lies: paths may be meant from there."""
    view = await LiveView.open(workspace, redact, never)
    try:
        inside = folder is not None and folder.is_relative_to(view.root)
        base = folder.relative_to(view.root).as_posix() if folder and inside else ""
        return await check_text(text, view, base=base if base != "." else "")
    finally:
        await view.close()


def summed(results: Sequence[tuple[Found, Mark]]) -> tuple[str, ...]:
    """What the citations of a text came to: how many of each mark, then a line for each that is absent or moved."""
    marks = [mark for _, mark in results]
    counts = {name: sum(m.mark == name for m in marks) for name in get_args(Verdict)}
    tally = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    rows = [f"{m.mark}: {_named(f.citation, m)}" for f, m in results if m.mark in ("absent", "moved")]
    return (tally, *dict.fromkeys(rows)) if tally else ()


def _named(citation: Citation, mark: Mark) -> str:
    quote = f' "{cut(citation.quote, SHOWN)}"' if citation.quote else ""
    why = f"now at {mark.moved_to}" if mark.moved_to else mark.note.removeprefix(f"{citation.place}: ")
    return f"{citation.place}{quote} ({why})"
