"""Waiting, threads and work side by side for `await`; `_sync_tasks` has the same for code without it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.to_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

sleep = anyio.sleep


async def call_blocking(function: Callable[[int], Result], argument: int) -> Result:
    """Calls what reads a file, without holding up other tasks."""
    return await anyio.to_thread.run_sync(function, argument)


async def in_parallel(items: AsyncIterator[Item], parallel: int, work: Callable[[Item], Awaitable[None]]) -> None:
    """Works on every item, on at most `parallel` at once; the first failure stops the others and is raised."""
    lock = anyio.Lock()

    async def worker() -> None:
        while True:
            async with lock:
                try:
                    item = await anext(items)
                except StopAsyncIteration:
                    return
            await work(item)

    try:
        async with anyio.create_task_group() as group:
            for _ in range(parallel):
                group.start_soon(worker)
    except BaseExceptionGroup as failures:
        failure: BaseException = failures
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
        raise failure from None
