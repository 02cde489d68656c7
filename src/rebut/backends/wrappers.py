"""The last word on time and faults: a call that takes too long, or breaks in an unforeseen way, is a failure."""

from __future__ import annotations

import asyncio

from rebut.core.errors import ParticipantFailed, Paused, RecordError
from rebut.core.types import Backend, Reply, Request


class Timed:
    """Ends a call at its timeout. The one place where any exception of a backend becomes a failure of its seat.

    A backend with `own_time` keeps the timeout itself. Ours would come a moment before its own, and with it would go
    what the backend makes of what it has heard by then.
    """

    def __init__(self, inner: Backend, *, own_time: bool = False) -> None:
        self._inner = inner
        self._own_time = own_time

    async def complete(self, request: Request) -> Reply:
        scope = asyncio.timeout(None if self._own_time else request.timeout)
        try:
            if self._own_time:
                return await self._inner.complete(request)
            async with scope:
                return await self._inner.complete(request)
        except TimeoutError as error:
            if not scope.expired():
                raise ParticipantFailed("timeout", f"timed out: {error}") from error
            raise ParticipantFailed(
                "timeout", f"no answer within {request.timeout:g} s", "Give it more time with --timeout SECONDS."
            ) from error
        except (ParticipantFailed, Paused, RecordError):  # a record that cannot be written is no model's fault
            raise
        except Exception as error:  # a backend may be anybody's code: however it breaks, only its seat fails
            raise ParticipantFailed("crashed", f"{type(error).__name__}: {error}") from error
