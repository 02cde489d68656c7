"""Commands that wait for nothing start no event loop; the others start one when they first need it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from rebut.core import event_loop


async def plain() -> str:
    return await event_loop.in_thread(threading.current_thread().getName)


async def later(seen: list[bool]) -> str:
    seen.append(event_loop.is_running())
    await event_loop.started()
    seen.append(event_loop.is_running())
    await event_loop.started()  # it is running: returns at once
    return await asyncio.wait_for(asyncio.sleep(0, "done"), 5)


def test_a_coroutine_that_waits_for_nothing_needs_no_asyncio() -> None:
    code = (
        "import sys; from rebut.core import event_loop\n"
        "async def work(): return await event_loop.in_thread(len, 'abc'), await event_loop.gather(other(), other())\n"
        "async def other(): return 1\n"
        "assert event_loop.run(work()) == (3, [1, 1]); assert 'asyncio' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_continues_in_a_loop_where_it_first_needs_one() -> None:
    seen: list[bool] = []
    assert event_loop.run(later(seen)) == "done"
    assert seen == [False, True]


def test_within_a_running_loop_work_goes_to_threads_and_at_once() -> None:
    async def main() -> tuple[bool, list[str]]:
        thread = await event_loop.in_thread(threading.current_thread)
        met = asyncio.Event()

        async def first() -> str:
            await asyncio.wait_for(met.wait(), 5)
            return "first"

        async def second() -> str:
            met.set()
            return "second"

        return thread is not threading.main_thread(), await event_loop.gather(first(), second())

    assert asyncio.run(main()) == (True, ["first", "second"])


def test_work_that_starts_the_loop_is_followed_by_the_rest_at_once() -> None:
    async def needs() -> str:
        await event_loop.started()
        return "a"

    async def other() -> str:
        return "b"

    async def main() -> list[str]:
        return await event_loop.gather(needs(), other(), other())

    assert event_loop.run(main()) == ["a", "b", "b"]


@pytest.mark.parametrize("waits", [False, True])
def test_an_error_reaches_the_caller(waits: bool) -> None:
    async def fails() -> None:
        if waits:
            await event_loop.started()
        raise KeyError("x")

    with pytest.raises(KeyError):
        event_loop.run(fails())


def test_each_loop_has_a_value_of_its_own_and_that_of_a_closed_one_is_dropped() -> None:
    values = event_loop.PerLoop[list[int]](list)

    async def twice() -> tuple[list[int], list[int]]:
        return values.get(), values.get()

    first, again = asyncio.run(twice())
    other, _ = asyncio.run(twice())
    assert first is again and first is not other
    assert len(values._values) == 1


def test_threads_with_loops_of_their_own_do_not_disturb_each_other() -> None:
    values = event_loop.PerLoop[list[int]](list)
    threads: list[threading.Thread] = []

    async def use() -> None:
        values.get()

    class Looked(asyncio.SelectorEventLoop):
        def is_closed(self) -> bool:
            """While this one is looked at, another thread comes, adds its own loop and removes this one."""
            if super().is_closed() and not threads:
                threads.append(threading.Thread(target=asyncio.run, args=(use(),)))
                threads[0].start()
                threads[0].join()
            return super().is_closed()

    loop = Looked()
    loop.run_until_complete(use())
    loop.close()
    asyncio.run(use())
    assert len(threads) == 1
