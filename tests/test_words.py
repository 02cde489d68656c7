"""The texts of the project are plain English: words that its old dialect used do not come back."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIALECT = re.compile(
    r"\b(mend(?:s|ed|ing)?|whoever|whatsoever|somebody|nobody|anybody|anew|straggler|laid"
    r"|sits? down|takes? up again|goes on|held against|thereby)\b",
    re.I,
)
FROZEN = {
    "src/rebut/ci/gate.py": 1,  # a key of the JSON that `rebut gate` prints
    "src/rebut/domain/review_result.py": 2,  # a field of a recorded outcome
    "src/rebut/domain/ledger.py": 2,  # a move on record
    "src/rebut/protocols/cross/render.py": 1,
    "src/rebut/protocols/cross/questions.py": 2,
    "src/rebut/protocols/shared.py": 1,
    "src/rebut/reports/terminal.py": 1,
    "src/rebut/cli/installed_files.py": 1,  # the name of a file that earlier versions wrote
    "src/rebut/cli/commands/skill.py": 1,  # a key of its JSON
    "src/rebut/cli/commands/resume.py": 1,  # a key of its JSON
    "src/rebut/protocols/panel/run.py": 1,  # a setting
    "src/rebut/protocols/panel/reply_checks.py": 1,  # a list of English words
    "src/rebut/engine/preflight.py": 1,  # a prompt that enters fingerprints
    "src/rebut/shipped/new/test.txt": 2,  # what a scripted model says
    "docs/writing-a-protocol.md": 2,  # the same
}
"""How often such a word is meant, or recorded by earlier versions of rebut."""


def test_the_old_dialect_does_not_come_back() -> None:
    kinds = ("*.py", "*.md", "*.txt", "*.toml")
    files = [p for top in ("src", "docs", "examples", "skills") for kind in kinds for p in (ROOT / top).rglob(kind)]
    files += ROOT.glob("*.md")
    assert len(files) > 200
    found = {}
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        words = DIALECT.findall(path.read_text("utf-8"))
        if len(words) != FROZEN.get(name, 0):
            found[name] = words
    assert found == {}
