"""Waiting, threads and work side by side for code without `await`; `_async_tasks` has the same for code with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

sleep = time.sleep


def call_blocking(function: Callable[[int], Result], argument: int) -> Result:
    return function(argument)


def in_parallel(items: Iterator[Item], parallel: int, work: Callable[[Item], None]) -> None:
    """Works on every item, on at most `parallel` at once; the first failure stops the others and is raised."""
    lock = threading.Lock()
    failures: list[BaseException] = []

    def worker() -> None:
        try:
            while True:
                with lock:
                    if failures:
                        return
                    try:
                        item = next(items)
                    except StopIteration:
                        return
                work(item)
        except BaseException as failure:
            failures.append(failure)

    with ThreadPoolExecutor(parallel, thread_name_prefix="reelwright-upload") as pool:
        try:
            for future in [pool.submit(worker) for _ in range(parallel)]:
                future.result()
        except BaseException as interruption:
            # An interrupt of the thread that waits: the workers end after their part.
            failures.append(interruption)
            raise
    if failures:
        raise failures[0]
