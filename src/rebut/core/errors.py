"""The errors of rebut, split by who must act.

    RebutError
    ├── UsageError             you: a flag, a file or a config value is wrong; nothing was called        exit 2
    │   ├── ConfigError        a config file says something that it may not
    │   ├── NotAvailable       a model that was named cannot be called here: a tool, key or file is missing
    │   ├── NotSeated          a seat is empty: no model was named for it, and none was found
    │   ├── PriceUnknown       a dollar limit, and a model whose price is unknown
    │   └── UnknownSession     no session, or more than one, has that name
    ├── NothingRead            the target: none of its files can be read, so there is no review
    ├── ParticipantFailed      a participant: it gave no answer; has a class, never counts as an argument
    ├── TooFewReplies          participants: fewer answered than the protocol needs
    ├── Aborted                the protocol: it cannot continue, and gives the reason; resumable
    ├── RecordError            the record: it cannot be written, read or trusted
    │   ├── SessionBusy        another process is running this session
    │   ├── RecordLost         another process has taken this session over
    │   ├── RecordAltered      the hash chain is broken
    │   ├── RecordNewer        written by a later version of rebut
    │   └── RecordPoisoned     a sync failed: what is on disk is unknown
    ├── ProtocolError          the protocol's author
    │   ├── DuplicateKey       the same key asked twice in one run
    │   ├── ReplayMismatch     the same key, another question, though nothing was upgraded
    │   └── NotOnRecord        an offline replay came to a question that was never answered
    └── Paused                 no fault: the debate waits and can be resumed
        ├── WaitingForPerson   it is a person's turn and there is no terminal                            exit 4
        ├── WaitingForCaller   it is the turn of the program that runs rebut                             exit 4
        ├── DeadlineReached    the time that the caller gave is over                                     exit 5
        └── Interrupted        Ctrl-C                                                                    exit 130

Every message says what happened and to whom; `hint` says what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rebut.core.types import Usage


ODD_VALUE = (
    *(TypeError, KeyError, AttributeError, ValueError, IndexError),
    *(ArithmeticError, RecursionError, AssertionError),
)
"""What reading a record raises if a value in it is of another kind than the one that rebut wrote."""


class RebutError(Exception):
    """Base of all errors that rebut raises on purpose."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UsageError(RebutError):
    """The call, the settings or a file given by the user is wrong. Raised before any model is called."""

    exit_code = 2


class ConfigError(UsageError):
    """A config file is malformed or asks for something it may not."""


class NotAvailable(UsageError):
    """A model was named that cannot be called here: its tool, key or file is missing. A fallback may take over."""


class NotSeated(UsageError):
    """The seat of `role` is empty: no model was named for it, and none was found. `why_none` says why none was found.
    Without a `role`, all seats could go to programs, but the user has models and has not said to do without.

    `in_vain` names the models that the user has set up but that cannot be used, with reasons. It is the first part of
    the hint, since the user meant one of them to fill the seat. `unlisted` are two models that can be used, but only if
    the user names or lists them.
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        why_none: str = "",
        role: str = "",
        in_vain: str = "",
        unlisted: Sequence[str] = (),
    ) -> None:
        super().__init__(message, " ".join(part for part in (in_vain, hint, why_none) if part))
        self.why_none, self.role, self.in_vain, self.unlisted = why_none, role, in_vain, unlisted


class PriceUnknown(UsageError):
    """A dollar limit was given for a model whose price is unknown."""


class UnknownSession(UsageError):
    """No session has the given name, or several do."""


class NothingRead(RebutError):
    """None of the files of a target can be read. The exit code is 0 if none of them needs to be.

    `unread` names the files, each with the reason, and `base` is the commit whose policy may accept them.
    """

    def __init__(
        self, message: str, hint: str = "", exit_code: int = 3, unread: Sequence[str] = (), base: str = ""
    ) -> None:
        super().__init__(message, hint)
        self.exit_code, self.unread, self.base = exit_code, unread, base


class ParticipantFailed(RebutError):
    """A participant gave no usable answer. `kind` is one of `types.FAILURES`.

    A call that failed may have been billed: `usage` and `usd` are what it used and cost, as far as that is known.
    """

    def __init__(
        self, kind: str, message: str, hint: str = "", *, usage: Usage | None = None, usd: float | None = None
    ) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.usage, self.usd = usage, usd


class TooFewReplies(RebutError):
    """`ask_all` got fewer answers than `need`. Resume repeats the failed calls. `kinds` are the failures' classes."""

    def __init__(self, message: str, hint: str = "", kinds: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.kinds = kinds


class Aborted(RebutError):
    """The protocol cannot continue. The session stays open, so that `resume` can try again.

    `data` is what the protocol's artifacts may still show.
    """

    def __init__(self, message: str, hint: str = "", data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, hint)
        self.data = data or {}


class RecordError(RebutError):
    """The journal could not be written, read or trusted."""


class SessionBusy(RecordError):
    """Another process holds the session's lock."""


class RecordLost(RecordError):
    """Another process has taken the session over, because this one was not heard of for too long."""


class RecordAltered(RecordError):
    """A line of the journal is not an event, or does not follow from the line before it."""


class RecordNewer(RecordError):
    """The journal was written by a version of rebut whose event schema is newer than this one's."""


class RecordPoisoned(RecordError):
    """A sync failed, so that it is unknown what is on disk; nothing more is written."""


class ProtocolError(RebutError):
    """The protocol itself is at fault, or its file changed under a running debate."""


class DuplicateKey(ProtocolError):
    """A protocol asked two questions under one key."""


class ReplayMismatch(ProtocolError):
    """A recorded key came back with another question, and neither rebut nor the protocol was upgraded."""


class NotOnRecord(ProtocolError):
    """An offline replay needs an answer that is not in the record."""


class Paused(RebutError):
    """The debate is interrupted; nothing is lost, and it can be resumed."""


class WaitingForPerson(Paused):
    """A person has the seat, and there is no terminal to ask at."""

    exit_code = 4


class WaitingForCaller(Paused):
    """The program that runs rebut has the seat. Carries the question and the schema of its answer."""

    exit_code = 4

    def __init__(
        self, message: str, *, key: str, question: str, schema: Mapping[str, Any] | None = None, followup: str = ""
    ) -> None:
        super().__init__(message, "Answer with `rebut answer ID --file FILE`.")
        self.key = key
        self.question = question
        self.schema = schema
        self.followup = followup
        """Comes after a question that was asked before: what was wrong with the answer, or the context it asked for."""


class DeadlineReached(Paused):
    """The caller's deadline passed."""

    exit_code = 5


class Interrupted(Paused):
    """The person at the terminal asked to stop."""

    exit_code = 130
