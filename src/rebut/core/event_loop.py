"""Runs coroutines from commands, with an event loop only if one is needed.

Loading asyncio takes longer than everything else that a short command does. So code that both debates and short
commands use waits through the functions here. `run` starts without a loop; the first call that needs one starts it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
P = ParamSpec("P")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    import asyncio

    return asyncio.run(work)  # the coroutine continues where it waits, in `started`


def is_running() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def refuse_to_wait(name: str, instead: str) -> None:
    """UsageError if a loop is running: a public function that waits for its result would block that loop."""
    if is_running():
        from rebut.core.errors import UsageError

        raise UsageError(
            f"rebut.{name} blocks until its result is ready, so it cannot be called inside a running event loop, "
            "such as in a notebook",
            f"Write `await rebut.{instead}(…)` there, with the same arguments.",
        )


class PerLoop(Generic[T]):
    """One value per event loop, made when it is first needed."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: dict[asyncio.AbstractEventLoop, T] = {}

    def get(self) -> T:
        """The value of the running loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        if loop not in self._values:
            # Values refer to their loop, so a weak key would never expire: closed loops are removed by hand. Other
            # threads add and remove loops at the same time, so this iterates over a copy.
            for old in [known for known in list(self._values) if known.is_closed()]:
                self._values.pop(old, None)
            self._values[loop] = self._make()
        return self._values[loop]


@coroutine
def started() -> Generator[None, None, None]:
    """Wait until a loop is running. Await this before the first use of asyncio."""
    if not is_running():
        yield


async def in_thread(function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """The result of a slow function. It is called in a thread if a loop is running, so that it does not block it."""
    if not is_running():
        return function(*args, **options)
    import asyncio

    return await asyncio.to_thread(function, *args, **options)


async def gather(*work: Coroutine[Any, Any, T]) -> list[T]:
    """The results of all coroutines, run one after the other until a loop is running, then the rest at once."""
    results: list[T] = []
    for at, one in enumerate(work):
        if is_running():
            import asyncio

            return results + await asyncio.gather(*work[at:])
        results.append(await one)
    return results
