"""What every prompt of a revision begins with: the task, the files, the change, and who is called what."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rebut.domain.prompts import CONTEXT, FENCES
from rebut.engine.debate import Debate
from rebut.protocols.revise import prompts as words
from rebut.protocols.revise.files import Files
from rebut.protocols.revise.settings import Settings
from rebut.workspace.targets import Target, whole_files

DIFF_BUDGET = 120_000
PIECE = re.compile(r"^(?=diff --git )", re.M)


def shared(debate: Debate, *, rule: bool = True) -> dict[str, str]:
    """Slots that all templates have, in an order that does not change from round to round."""
    parts = []
    if debate.settings.stage == "review":
        parts.append(_change(debate))
    parts.append(f"{CONTEXT}\n\n{debate.quote('files', debate.context)}" if debate.context else "")
    if not any(parts):
        parts = [words.NO_CONTEXT if rule else ""]
    out = {
        "fences": FENCES,
        "topic": debate.quote("task", debate.topic),
        "material": "".join(f"\n\n{part}" for part in parts if part),
    }
    return {**out, "rule": words.EVIDENCE_RULE} if rule else out


def _change(debate: Debate) -> str:
    target = debate.target
    diff, missing = fitted(target)
    parts = [words.CHANGE]
    if diff:
        parts.append(debate.quote("the change", diff))
    if target.text:
        parts.append(debate.quote("the text under review", target.text))
    if files := whole_files(target).text:
        parts.append(debate.quote("changed files", files))
    left_out = [*missing, *target.left_out]
    if left_out:
        parts.append(debate.quote("not shown", "\n".join(left_out)))
    return "\n\n".join(parts)


def fitted(target: Target) -> tuple[str, list[str]]:
    """As many whole files of the diff as fit a prompt, and a line for each that does not."""
    kept, missing, left = list[str](), list[str](), DIFF_BUDGET
    for piece in PIECE.split(target.diff):
        size = len(piece.encode(errors="replace"))
        if size <= left:
            kept.append(piece)
            left -= size
        else:
            missing.append(f"{piece.partition(chr(10))[0].removeprefix('diff --git ')}: {size:,} bytes of diff")
    return "".join(kept), missing


@dataclass(frozen=True, slots=True)
class Labels:
    """What authors and the synthesizer are told of who wrote what. Names sway models, so they stay out unless asked."""

    settings: Settings
    files: Files

    @property
    def noun(self) -> str:
        return self.settings.stage

    def theirs(self, author: int) -> str:
        """The other document, for its critic."""
        return (
            f"the {self.noun} of {self.files.names[author]}" if self.settings.show_names else f"the other {self.noun}"
        )

    @property
    def mine(self) -> str:
        return f"your {self.noun}"

    def neutral(self, author: int) -> str:
        """An author, for the synthesizer."""
        if self.settings.show_names:
            return self.files.names[author]
        return ("first", "second")[author]

    def ordinal(self, author: int) -> str:
        name = f" of {self.files.names[author]}" if self.settings.show_names else ""
        return f"the {('first', 'second')[author]} {self.noun}{name}"

    def neutral_files(self) -> Files:
        return Files(self.files.stage, tuple(self.neutral(n) for n in range(len(self.files.names))))
