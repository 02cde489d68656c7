"""Asks what only the user knows about a target: whether a text is code, and whether the last message is meant."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from rebut.api import Setup
from rebut.cli.output import can_ask, folded, say
from rebut.core.errors import UsageError

if TYPE_CHECKING:
    from rebut.workspace.targets.resolve import TargetQuestion
    from rebut.workspace.targets.target import Wanted


def with_kind(wanted: Wanted) -> Wanted:
    """The wanted target, with its kind decided. Only the kind of a text can be unclear."""
    if wanted.target != "auto":
        return wanted
    if not wanted.scope and not _has_text(wanted):
        wanted = _offered(wanted)
    if not _has_text(wanted):
        return wanted
    target, _ = asyncio.run(Setup(rehearsal=True).resolve(wanted))
    from rebut.workspace.targets.resolve import question, unanswerable

    asked = question(target)
    if asked is None:
        return wanted
    if not can_ask():
        raise unanswerable(target)
    return replace(wanted, target=_ask(asked))


def _has_text(wanted: Wanted) -> bool:
    return any((wanted.content, wanted.artifact_file, wanted.stdin, wanted.context_file, wanted.from_transcript))


def _offered(wanted: Wanted) -> Wanted:
    """If nothing was given and nothing has changed, offer to review the last message of an assistant instead (J14)."""
    if not can_ask():
        return wanted
    from rebut.workspace.targets.transcripts import last_said

    setup = Setup(rehearsal=True)
    try:
        message = last_said(setup.workspace, setup.env)
    except UsageError:
        return wanted
    try:
        asyncio.run(setup.resolve(wanted))
        return wanted  # there is a change to review
    except UsageError as nothing:
        from rebut.cli.screen.hotkeys import one_key
        from rebut.core.text import clean, cut, squeeze

        first = cut(squeeze(clean(message.text)), 100)
        say(f"\n  {nothing.message}", sys.stderr)
        said = f"The last message of {message.tool} in this folder: “{first}”"
        say(folded(f"  {said}", sys.stderr, 2), sys.stderr)
        say("  Enter or y reviews it; any other key stops.", sys.stderr)
        if one_key() not in ("\r", "\n", "y", "Y"):
            raise
        return replace(wanted, from_transcript=True)


def _ask(asked: TargetQuestion) -> str:
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
        say(f"  Please answer one of: {', '.join(kind for kind, _ in asked.choices)}.", sys.stderr)
