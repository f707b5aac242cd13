"""The one protocol of engines, and the engine that every installation has.

An engine runs a function over items and gives each item back with its result or its error, in any order. An
item that kills its worker is an error of that item and of no other. So a new engine is a class with `run`.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")
RETRIES = 3  # times that an item is tried again after an error that may pass
WINDOW = 4  # items under way for each worker


class WorkerDiedError(Exception):
    """The worker of this item died each time that it was tried."""


class Engine(Protocol):
    """Runs a function over items."""

    def run(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result | None, Exception | None]]:
        """Give each item once, with its result or its error. The function and the items can be pickled."""
        ...


class Local:
    """Processes on this machine; one worker runs in this process."""

    def __init__(self, workers: int) -> None:
        self.workers = max(1, workers)

    def run(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result | None, Exception | None]]:
        """Give each item once, with its result or its error."""
        if self.workers == 1:
            for item in items:
                yield _here(function, item)
            return
        suspects: list[Item] = []
        pending = iter(items)
        exhausted = False
        while not exhausted:
            exhausted = yield from self._pool(function, pending, suspects)
        for item in suspects:
            yield self._alone(function, item)

    def _pool(
        self, function: Callable[[Item], Result], pending: Iterator[Item], suspects: list[Item]
    ) -> Generator[tuple[Item, Result | None, Exception | None], None, bool]:
        """Work with one pool until the items are done (true) or a worker died (false)."""
        with _pool_of(self.workers) as pool:
            running: dict[Future[Result], Item] = {}
            while True:
                while len(running) < self.workers * WINDOW:
                    item = next(pending, None)
                    if item is None:
                        break
                    try:
                        running[pool.submit(function, item)] = item
                    except BrokenProcessPool:
                        suspects += [*running.values(), item]
                        return False
                if not running:
                    return True
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    item = running.pop(future)
                    error = future.exception()
                    if isinstance(error, BrokenProcessPool):
                        suspects += [item, *running.values()]
                        return False
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    yield item, None if error else future.result(), error

    def _alone(
        self, function: Callable[[Item], Result], item: Item
    ) -> tuple[Item, Result | None, Exception | None]:
        """Run one item in a pool of its own: who dies here is to blame."""
        for _ in range(RETRIES):
            with _pool_of(1) as pool:
                try:
                    return item, pool.submit(function, item).result(), None
                except BrokenProcessPool:
                    continue
                except Exception as error:  # noqa: BLE001 - reported with its item
                    return item, None, error
        return item, None, WorkerDiedError(f"its worker died {RETRIES} times")


def _here(function: Callable[[Item], Result], item: Item) -> tuple[Item, Result | None, Exception | None]:
    try:
        return item, function(item), None
    except Exception as error:  # noqa: BLE001 - reported with its item
        return item, None, error


def _pool_of(workers: int) -> ProcessPoolExecutor:
    # forked processes would hang in polars' thread pool
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("forkserver"))
