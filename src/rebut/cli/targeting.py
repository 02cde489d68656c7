"""The target of a command: asked about once, before anything else, if it is not clear what it is."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

from rebut.api import Desk
from rebut.cli.output import say
from rebut.workspace.targets import Question, Wanted, question, unanswerable


def settled(wanted: Wanted) -> Wanted:
    """What is wanted, its kind settled. Only of a text can the kind be in doubt."""
    given = (wanted.content, wanted.artifact_file, wanted.stdin, wanted.context_file, wanted.from_transcript)
    if wanted.target != "auto" or not any(given):
        return wanted
    target, _ = asyncio.run(Desk(rehearsal=True).resolve(wanted))
    asked = question(target)
    if asked is None:
        return wanted
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise unanswerable(target)
    return replace(wanted, target=_ask(asked))


def _ask(asked: Question) -> str:
    say(f"\n  {asked.text}", sys.stderr)
    for n, (kind, meaning) in enumerate(asked.choices, 1):
        say(f"  {n} {kind:<9} {meaning}{'  (Enter)' if kind == asked.default else ''}", sys.stderr)
    answers = {str(n): kind for n, (kind, _) in enumerate(asked.choices, 1)}
    answers |= {kind: kind for kind in answers.values()} | {"": asked.default}
    while True:
        sys.stderr.write("  > ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise KeyboardInterrupt
        if (said := line.strip().lower()) in answers:
            return answers[said]
        say(f"  One of {', '.join(kind for kind, _ in asked.choices)}, please.", sys.stderr)
