"""The one question to ask when it is not clear what a target is."""

from __future__ import annotations

from dataclasses import dataclass

from rebut.core.errors import UsageError
from rebut.workspace.targets.target import KINDS, Kind, Target

MEANING: dict[Kind, str] = {
    "code": "a change or a piece of code, to be searched for defects",
    "proposal": "a design or a decision, to be weighed against others",
    "mixed": "both: the code and the text are criticised side by side",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask, the answers with their meaning, and the answer that an empty line gives."""

    text: str
    choices: tuple[tuple[Kind, str], ...]
    default: Kind


def question(target: Target) -> Question | None:
    """What to ask before this target is debated; None if it is clear enough. Resolve again with the answer."""
    if target.confidence != "low":
        return None
    choices = tuple((kind, MEANING[kind]) for kind in KINDS if kind != "proposal" or not target.scope)
    return Question(f"What should be debated? It was taken for {target.kind}: {target.why}.", choices, target.kind)


def unanswerable(target: Target) -> UsageError:
    """The error where nobody can be asked."""
    kinds = [kind for kind in KINDS if kind != "proposal" or not target.scope]
    return UsageError(
        f"it is not clear whether the target is {', '.join(kinds[:-1])} or {kinds[-1]}: {target.why}",
        f"Nothing was called. Say which with {' or '.join(f'--target {kind}' for kind in kinds)}.",
    )
