"""rebut: AI models argue about a plan, a diff or a question, are held to evidence, and leave a decision with its record.

This is the public door. It is lazy: importing rebut loads nothing else, names are fetched when they are used.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

_DOOR = {
    "start": "api",
    "resume": "api",
    "fork": "api",
    "replay": "api",
    "run": "api",
    "Control": "room",
    "Debate": "debate",
    "Round": "debate",
    "Ask": "debate",
    "Answer": "debate",
    "Answers": "debate",
    "Failure": "debate",
    "Outcome": "outcome",
    "Verdict": "outcome",
    "Form": "forms",
    "Cite": "forms",
    "Claim": "ledger",
    "Point": "ledger",
    "Move": "ledger",
    "Ledger": "ledger",
    "fill": "prompts",
    "Participant": "types",
    "ModelSpec": "types",
    "Request": "types",
    "Reply": "types",
    "Backend": "types",
    "Usage": "types",
    "RebutError": "errors",
    "UsageError": "errors",
    "ParticipantFailed": "errors",
    "TooFewReplies": "errors",
    "Aborted": "errors",
    "RecordError": "errors",
    "ReplayMismatch": "errors",
    "DuplicateKey": "errors",
    "Paused": "errors",
}

__all__ = [*sorted(_DOOR), "__version__"]


def __getattr__(name: str) -> object:
    if name in _DOOR:
        return getattr(import_module(f"rebut.{_DOOR[name]}"), name)
    raise AttributeError(f"module 'rebut' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
