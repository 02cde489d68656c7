"""Runs the checks of a text, for `rebut check --run-checks`. Only that flag allows it: no config, no other command."""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import replace
from pathlib import Path

from rebut.core.files import repository
from rebut.core.redaction import Redactor
from rebut.domain.checks import CodeCheck
from rebut.proof import fenced, runners
from rebut.proof.checks import CheckedSides, CheckRunner
from rebut.proof.fenced import FencedCheck
from rebut.setup import config as configs
from rebut.workspace.tree import LiveView


def run(text: str, *, root: Path | None = None, folder: Path | None = None) -> list[tuple[int, CodeCheck]]:
    """Every check of a text with its line, run on the files of its repository or folder as they are now."""
    top = repository((root or folder or Path.cwd()).resolve())
    config = configs.load(workspace=top, env=os.environ)
    tables = runners.load(config.runners)
    found = fenced.find(text, tables)
    if not found:
        return []
    redact = Redactor(secrets.token_bytes(32), config.known_secrets(os.environ)).door
    runner = CheckRunner(top, os.environ, redact, tables)
    ran = asyncio.run(_all(found, top, runner, config.never))
    return [(one.line, check) for one, check in zip(found, ran, strict=True)]


async def _all(found: list[FencedCheck], top: Path, runner: CheckRunner, never: tuple[str, ...]) -> list[CodeCheck]:
    view = await LiveView.open(top, runner.redact, never)
    # What a plan shows may be about the language or the system alone, so that it need not depend on the project.
    sides = CheckedSides(view, of_project=False)
    try:
        out = []
        for one in found:
            wrong = replace(one.check, mark="broken", note=one.wrong)
            out.append(wrong if one.wrong else await runner.run(one.check, sides))
        return out
    finally:
        await runner.close()
        await view.close()
