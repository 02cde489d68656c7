"""The last word on time and faults: a call that takes too long, or breaks in an unforeseen way, is a failure."""

from __future__ import annotations

import asyncio

from rebut.errors import ParticipantFailed, Paused
from rebut.types import Backend, Reply, Request


class Timed:
    """Ends a call at its timeout. The one place where any exception of a backend becomes a failure of its seat."""

    def __init__(self, inner: Backend) -> None:
        self._inner = inner

    async def complete(self, request: Request) -> Reply:
        try:
            async with asyncio.timeout(request.timeout) as scope:
                return await self._inner.complete(request)
        except TimeoutError as error:
            if not scope.expired():
                raise ParticipantFailed("timeout", f"timed out: {error}") from error
            raise ParticipantFailed(
                "timeout", f"no answer within {request.timeout:g} s", "Give it more time with --timeout SECONDS."
            ) from error
        except (ParticipantFailed, Paused):
            raise
        except Exception as error:  # a backend may be anybody's code: however it breaks, only its seat fails
            raise ParticipantFailed("crashed", f"{type(error).__name__}: {error}") from error
