"""Whatever models, users and servers write, a session's documents have our headings only, and nothing is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crosses
import duels
import panels
import pytest
import revisions
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
        "agreements",
        "suggestions",
        "rebuttal",
        "unresolved",
        "next_actions",
        "change",
        "tie_break",
        "first",
        "second",
        "agreement",
    ]
)
CODE = "see `a < b && <b>[x](y)` and ``x ` <i>``"
"""Words in which every backslash would be shown."""


RENDERER = MarkdownIt("gfm-like", {"linkify": False, "html": True})


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
        for token in RENDERER.parse(document)
        for one in (token, *(token.children or ()))
        if one.type in kinds
    ]


def documents(words: list[str], workspace: Path) -> list[tuple[str, str]]:
    """The exports and files of one debate, each with its name. A user's own text and a persona stay as they are."""
    done = piped(*words, cwd=workspace)
    assert done.returncode in (0, 1, 3), done.stderr
    said = [piped("export", "last", cwd=workspace), piped("export", "last", "--format", "adr", cwd=workspace)]
    assert all(one.returncode == 0 for one in said), [one.stderr for one in said]
    files = [file for file in sorted(workspace.rglob("*.md")) if {"debates", "review-loop", ".kiln"} & {*file.parts}]
    kept = [file for file in files if file.name != "artifact.md" and "personas" not in file.parts]
    return [*(("export", one.stdout) for one in said), *((file.name, file.read_text()) for file in kept)]


def commanded(kind: str, folder: Path, place: Path, odd: str) -> list[str]:
    """The command of a debate in which everything that is said is odd."""
    if kind == "duel":
        seats = {
            role: duels.script(folder / f"{role}.json", put(duels.answers(2), odd), model=f"model {odd}")
            for role in ("proposer", "challenger", "judge")
        }
        return ["duel", f"Redis? {odd}", *(word for role, spec in seats.items() for word in (f"--{role}", spec))]
    if kind == "panel":
        made = panels.seats(folder, put(panels.tradeoff(2), odd))
        words = ["--lead", made["lead"], "--judge", made["judge"], "--max-rounds", "2"]
        return ["panel", f"Redis? {odd}", *words, *(w for spec in made["challenger"] for w in ("--challenger", spec))]
    if kind == "cross":
        crosses.repository(place)
        said = {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/judgement@judge": crosses.judgement()}
        seats = crosses.seats(folder, put(said, odd))
        return ["cross", "--uncommitted", *(w for role, spec in seats.items() for w in (f"--{role}", spec))]
    made = revisions.seats(folder, put(revisions.answers(1), odd))
    words = ["revise", "plan", f"Redis? {odd}", "--rounds", "1", "--synthesizer", made["synthesizer"]]
    return [*words, *(w for spec in made["author"] for w in ("--author", spec))]


KINDS = ["duel", "panel", "cross", "revise"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_debate_with_hostile_words_has_the_documents_of_a_plain_one(
    workspace: Path, tmp_path: Path, kind: str
) -> None:  # C14
    shapes, texts = [], []
    for n, odd in enumerate((PLAIN, HOSTILE)):
        folder, place = tmp_path / str(n), workspace / str(n)
        folder.mkdir()
        place.mkdir()
        found = documents(commanded(kind, folder, place, odd), place)
        shapes.append([(name, shape(text)) for name, text in found])
        texts.append(found)
    assert shapes[0] == shapes[1]
    assert len(shapes[0]) >= 2 and all("forged" in text for _, text in texts[1][:1])


@pytest.mark.parametrize("kind", KINDS)
def test_code_within_a_line_is_shown_without_backslashes(workspace: Path, tmp_path: Path, kind: str) -> None:  # C14
    folder, place = tmp_path / "seats", workspace / "here"
    folder.mkdir()
    place.mkdir()
    shown = [
        one.content
        for _, text in documents(commanded(kind, folder, place, CODE), place)
        for token in RENDERER.parse(text)
        for one in token.children or ()
        if one.type == "code_inline"
    ]
    assert {"a < b && <b>[x](y)", "x ` <i>"} <= set(shown)
    assert not [code for code in shown if "\\" in code]


@pytest.mark.parametrize(
    "end", ["<!-- gone", "<script>", "<? x", "```\ncode", "~~~~\ncode", "<style>\n\n<!--", "text `"]
)
def test_a_plan_cannot_hide_what_stands_below_it(workspace: Path, tmp_path: Path, end: str) -> None:  # C14
    said = revisions.answers(1)
    said["synthesis@synthesizer"]["document"] += f"\n{end}"
    made = revisions.seats(tmp_path / "seats", said)
    words = ["revise", "plan", "Redis?", "--rounds", "1", "--synthesizer", made["synthesizer"]]
    found = dict(documents([*words, *(w for spec in made["author"] for w in ("--author", spec))], workspace))
    heads = [
        RENDERER.parse(found["PLAN.md"])[n + 1].content
        for n, token in enumerate(RENDERER.parse(found["PLAN.md"]))
        if token.type == "heading_open"
    ]
    assert heads[-4:] == ["Synthesis Notes", "Adopted", "Overruled", "Unresolved"]
    assert "code" in found["PLAN.md"] or "code" not in end
