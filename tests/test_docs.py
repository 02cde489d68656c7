"""Docs that can drift are generated, and what the docs show really runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import duels

import rebut

ROOT = Path(__file__).parent.parent


def test_the_generated_pages_are_current() -> None:  # house rule 10
    done = subprocess.run([sys.executable, str(ROOT / "tools/docs.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_page_that_is_linked_exists() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_example_protocol_of_the_docs_runs_from_its_file(tmp_path: Path) -> None:
    said = {
        "r1/case@skeptic": {"case": "Old servers need it.", "evidence": []},
        "r1/reply@owner": {"fair": False, "choice": "keep", "reason": "That is not the best case."},
        "r2/case@skeptic": {"case": "A customer of ours has one.", "evidence": []},
        "r2/reply@owner": {"fair": True, "choice": "change", "reason": "We cannot drop it yet."},
    }
    outcome = rebut.run(
        ROOT / "docs/examples/steelman.py",
        "Drop Python 3.10?",
        workspace=tmp_path,
        owner=duels.script(tmp_path / "owner.json", said, model="o"),
        skeptic=duels.script(tmp_path / "skeptic.json", said, model="s"),
    )
    assert outcome.heading == "CHANGE AFTER A FAIR HEARING"
    assert outcome.decision == "We cannot drop it yet."
    assert outcome.spent.calls == 4
