"""The checks with the mark `shown`, as test files for the repository.

In the sandbox the project is in /w. In a test file, paths are relative to the top folder of the repository, from which
tests are run; the imports of a Node module are relative to the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import relpath

from rebut.core.text import slug, squeeze
from rebut.domain.checks import CodeCheck
from rebut.domain.ledger import Ledger

NAMES = {"pytest": ("test_{}.py", "#"), "python": ("test_{}.py", "#"), "shell": ("check_{}.sh", "#")}
NAMES |= {"node": ("{}.test.mjs", "//"), "go": ("{}/check_test.go", "//")}
"""Runner → the name of its test files, and the sign that begins a comment. A Go package is a folder."""
RUNS_SCRIPT = """import os
import subprocess
import sys

CODE = {code}


def test_{name}():
    env = {{**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])}}
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True)
    {verdict}
"""
_WORK = re.compile(r"(?<![\w./})-])/w(?:/|(?![\w/.-]))")
_IMPORTED = re.compile(r"""(\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(['"`])(?:file://)?/w/([^'"`\n]+)\2""")


@dataclass(frozen=True)
class _Shown:
    id: str
    about: str
    """What the check shows, in the words of its author."""
    check: CodeCheck
    problem: bool
    """Whether the check shows a problem of the code."""


def check_files(ledger: Ledger, session: str, folder: PurePosixPath) -> dict[str, str]:
    """File name → text, for every check with the mark `shown`.

    `folder` is where the files are written, relative to the top folder of the repository.
    """
    out: dict[str, str] = {}
    for shown in _shown(ledger):
        runner = shown.check.runner
        ending = re.search(r"/w/\S*?(\.\w+)\b", shown.check.command)
        pattern, sign = NAMES.get(runner, (f"check_{{}}{ending[1] if ending else '.txt'}", "#"))
        stem = f"{shown.id.lower()}_{slug(shown.about)[:40].strip('-')}".replace("-", "_").strip("_")
        name, n = pattern.format(stem), 2
        while name in out:
            name, n = pattern.format(f"{stem}_{n}"), n + 1
        head = [f"{sign} {line}" for line in _head(shown, session)]
        first = ["#!/bin/sh"] if runner == "shell" else []
        out[name] = "\n".join([*first, *head, "", _code(shown.check, stem, folder).strip("\n"), ""])
    return out


def _shown(ledger: Ledger) -> Iterator[_Shown]:
    for claim in ledger.claims:
        if claim.check and claim.check.mark == "shown":
            yield _Shown(claim.id, squeeze(claim.text), claim.check, problem=False)
    for one in (one for point in ledger.points for one in point.wordings):
        if one.check and one.check.mark == "shown":
            yield _Shown(one.id, squeeze(one.text), one.check, problem=True)
    for move in ledger.moves:
        if move.check and move.check.mark == "shown":
            yield _Shown(move.point, f"answer of the {move.by}: {squeeze(move.reason)}", move.check, problem=False)


def _head(shown: _Shown, session: str) -> Iterator[str]:
    yield f"{shown.id}: {shown.about}"
    yield f"It {shown.check.claim}. Shown in session {session} of rebut."
    if shown.check.shows.startswith("fails"):
        yield "This test should pass once the problem is fixed."
    elif shown.problem:
        # Of the programs that only print, the file of a Python script alone compares the output.
        compares = shown.check.shows != "prints this" or shown.check.runner == "python"
        then = "it should fail" if compares else "its output should change"
        yield f"This test passes while the problem exists, and {then} once the problem is fixed."


def _code(check: CodeCheck, stem: str, folder: PurePosixPath) -> str:
    code = check.code
    if check.runner == "node":
        code = _IMPORTED.sub(lambda m: f"{m[1]}{m[2]}{_import_path(folder, m[3])}{m[2]}", code)
    code = _WORK.sub(lambda m: "" if m[0].endswith("/") else ".", code)
    if check.runner == "shell":
        return f"set -e\n{code}"
    if check.runner != "python":
        return code
    text = f"\n{code.strip(chr(10))}\n"
    quoted = f"r'''{text}'''" if "'''" not in text else repr(text)
    said = repr(check.prints.strip())
    verdict = f"assert done.stdout.strip() == {said}" if check.shows == "prints this" else "assert done.returncode == 0"
    return RUNS_SCRIPT.format(code=quoted, name=stem, verdict=f"{verdict}, done.stderr")


def _import_path(folder: PurePosixPath, path: str) -> str:
    there = relpath(path, str(folder))
    return there if there.startswith("../") else f"./{there}"
