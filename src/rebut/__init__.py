"""rebut: AI models argue about a plan, a diff or a question, are held to evidence, and leave a decision on record.

This is the public API. It is lazy: importing rebut loads nothing else, and a name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebut.api import (
        ask as ask,
        ask_async as ask_async,
        fork as fork,
        plan as plan,
        plan_async as plan_async,
        replay as replay,
        resume as resume,
        review as review,
        review_async as review_async,
        run as run,
        start as start,
        stream as stream,
    )
    from rebut.core.errors import (
        Aborted as Aborted,
        DuplicateKey as DuplicateKey,
        ParticipantFailed as ParticipantFailed,
        Paused as Paused,
        RebutError as RebutError,
        RecordError as RecordError,
        ReplayMismatch as ReplayMismatch,
        TooFewReplies as TooFewReplies,
        UsageError as UsageError,
    )
    from rebut.core.types import (
        Backend as Backend,
        ModelSpec as ModelSpec,
        Participant as Participant,
        Reply as Reply,
        Request as Request,
        Usage as Usage,
    )
    from rebut.domain.forms import Cite as Cite, Form as Form, Glance as Glance, Need as Need
    from rebut.domain.ledger import Claim as Claim, Evidence as Evidence, Ledger as Ledger, Move as Move, Point as Point
    from rebut.domain.outcome import Outcome as Outcome, Verdict as Verdict
    from rebut.domain.prompts import fill as fill
    from rebut.domain.review_result import ReviewResult as ReviewResult
    from rebut.domain.worth import Worth as Worth, fates as fates
    from rebut.engine.debate import (
        Answer as Answer,
        Answers as Answers,
        Ask as Ask,
        Debate as Debate,
        Failure as Failure,
        Round as Round,
    )
    from rebut.engine.live_events import (
        DebateEnded as DebateEnded,
        DebateEvent as DebateEvent,
        DebateStarted as DebateStarted,
        PointChanged as PointChanged,
        PointWritten as PointWritten,
        SeatAnswered as SeatAnswered,
        SeatAsked as SeatAsked,
        SeatFailed as SeatFailed,
    )
    from rebut.engine.protocol import MANY as MANY, Role as Role
    from rebut.engine.runtime import Connection as Connection, Control as Control
    from rebut.record.artifacts import Artifact as Artifact
    from rebut.setup.checked_text import (
        CheckedCitation as CheckedCitation,
        CheckedText as CheckedText,
        check as check,
        check_async as check_async,
    )

__version__ = "0.1.0"

_DOOR = {
    "start": "api",
    "resume": "api",
    "fork": "api",
    "replay": "api",
    "run": "api",
    **dict.fromkeys(("ask", "ask_async", "review", "review_async", "plan", "plan_async", "stream"), "api"),
    **dict.fromkeys(("DebateEvent", "DebateStarted", "DebateEnded"), "engine.live_events"),
    **dict.fromkeys(("SeatAsked", "SeatAnswered", "SeatFailed"), "engine.live_events"),
    **dict.fromkeys(("PointWritten", "PointChanged"), "engine.live_events"),
    "check": "setup.checked_text",
    "check_async": "setup.checked_text",
    "CheckedText": "setup.checked_text",
    "CheckedCitation": "setup.checked_text",
    "Connection": "engine.runtime",
    "Control": "engine.runtime",
    "Debate": "engine.debate",
    "Round": "engine.debate",
    "Ask": "engine.debate",
    "Answer": "engine.debate",
    "Answers": "engine.debate",
    "Failure": "engine.debate",
    "Outcome": "domain.outcome",
    "Verdict": "domain.outcome",
    "Form": "domain.forms",
    "Cite": "domain.forms",
    "Glance": "domain.forms",
    "Claim": "domain.ledger",
    "Evidence": "domain.ledger",
    "Point": "domain.ledger",
    "Move": "domain.ledger",
    "Ledger": "domain.ledger",
    "Need": "domain.forms",
    "ReviewResult": "domain.review_result",
    "Worth": "domain.worth",
    "fates": "domain.worth",
    "Artifact": "record.artifacts",
    "MANY": "engine.protocol",
    "Role": "engine.protocol",
    "fill": "domain.prompts",
    "Participant": "core.types",
    "ModelSpec": "core.types",
    "Request": "core.types",
    "Reply": "core.types",
    "Backend": "core.types",
    "Usage": "core.types",
    "RebutError": "core.errors",
    "UsageError": "core.errors",
    "ParticipantFailed": "core.errors",
    "TooFewReplies": "core.errors",
    "Aborted": "core.errors",
    "RecordError": "core.errors",
    "ReplayMismatch": "core.errors",
    "DuplicateKey": "core.errors",
    "Paused": "core.errors",
}

__all__ = [*sorted(_DOOR), "__version__"]


def __getattr__(name: str) -> object:
    if name in _DOOR:
        return getattr(import_module(f"rebut.{_DOOR[name]}"), name)
    raise AttributeError(f"module 'rebut' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
