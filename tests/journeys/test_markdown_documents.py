"""Whatever models, users and servers write, a session's documents have our headings only, and nothing is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duels
import panels
import pytest
from console import piped
from markdown_it import MarkdownIt

HOSTILE = "\n\n".join(
    [
        "<!-- gone",
        "# forged",
        "forged\n===",
        "- # forged",
        "<script>",
        "<? x",
        "[a]: b",
        "> # forged",
        "| a |\n|---|",
        "```",
        "end",
    ]
)
PLAIN = "nothing odd end"
SAID = frozenset(
    [
        "text",
        "reasoning",
        "recommendation",
        "argument",
        "reason",
        "summary",
        "position",
        "point",
        "why",
        "risk",
        "impact",
        "how",
        "question",
        "other_right",
        "concern",
        "action",
        "title",
        "claim",
        "defense",
        "note",
        "proposer",
        "challenger",
    ]
)


def put(value: Any, odd: str, name: str = "") -> Any:
    """The same answers with something odd at both ends of what they say."""
    if isinstance(value, dict):
        return {key: put(one, odd, key) for key, one in value.items()}
    if isinstance(value, list):
        return [put(one, odd, name) for one in value]
    return f"{odd}\n{value}\n{odd}" if isinstance(value, str) and name in SAID else value


def shape(document: str) -> list[tuple[str, str]]:
    """The headings, tables and quotes of a document: what a reader takes for its structure."""
    kinds = ("heading_open", "table_open", "hr", "html_block", "html_inline", "fence", "blockquote_open")
    return [
        (one.type, one.tag)
        for token in MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(document)
        for one in (token, *(token.children or ()))
        if one.type in kinds
    ]


def documents(folder: Path, words: list[str], workspace: Path) -> list[str]:
    done = piped(*words, cwd=workspace)
    assert done.returncode in (0, 1, 3), done.stderr
    said = [piped("export", "last", cwd=workspace), piped("export", "last", "--format", "adr", cwd=workspace)]
    assert all(one.returncode == 0 for one in said), [one.stderr for one in said]
    files = [file for place in ("debates", "review-loop") for file in sorted((workspace / place).rglob("*.md"))]
    kept = [file.read_text() for file in files if "input" not in file.name and "personas" not in file.parts]
    return [*(one.stdout for one in said), *kept]


@pytest.mark.parametrize("kind", ["duel", "panel"])
def test_a_debate_with_hostile_words_has_the_documents_of_a_plain_one(
    workspace: Path, tmp_path: Path, kind: str
) -> None:  # C14
    shapes, texts = [], []
    for n, odd in enumerate((PLAIN, HOSTILE)):
        folder = tmp_path / str(n)
        folder.mkdir()
        place = workspace / str(n)
        place.mkdir()
        if kind == "duel":
            seats = {
                role: duels.script(folder / f"{role}.json", put(duels.answers(2), odd), model=f"model {odd}")
                for role in ("proposer", "challenger", "judge")
            }
            words = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
        else:
            made = panels.seats(folder, put(panels.tradeoff(2), odd))
            words = ["--lead", made["lead"], "--judge", made["judge"], "--max-rounds", "2"]
            words += [word for spec in made["challenger"] for word in ("--challenger", spec)]
        found = documents(folder, [kind, f"Redis? {odd}", *words], place)
        shapes.append([shape(text) for text in found])
        texts.append(found)
    assert shapes[0] == shapes[1]
    assert len(shapes[0]) >= 2 and all("forged" in text for text in texts[1][:1])
