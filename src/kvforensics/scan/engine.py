"""The one protocol of engines, and the engines that every installation has.

An engine runs a function over items and gives each item back with its result or its error, in any order. An
item that kills its worker is an error of that item and of no other. So a new engine is a class with `run`.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Protocol, TypeVar

from kvforensics.garbage import look_seldom
from kvforensics.scan.atomic import CatalogueWriteError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")
RETRIES = 3  # times that an item is tried again after an error that may pass
WINDOW = 4  # items under way for each worker: what waits costs memory


class WorkerDiedError(Exception):
    """The worker of this item died each time that it was tried."""


class Engine(Protocol):
    """Runs a function over items."""

    def run(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result | None, Exception | None]]:
        """Give each item once, with its result or its error. The function and the items can be pickled.

        Items are taken as they are needed, never all at once. An OSError is tried again RETRIES times.
        """
        ...


class Here:
    """This process: for a few items, and for tests. An item that kills it kills the scan."""

    def run(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result | None, Exception | None]]:
        """Give each item once, with its result or its error."""
        for item in items:
            yield item, *_tried(function, item)


class Local:
    """Processes on this machine."""

    def __init__(self, workers: int) -> None:
        self.workers = max(1, workers)

    def run(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result | None, Exception | None]]:
        """Give each item once, with its result or its error; who kills a worker is found out alone."""
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
        first = next(pending, None)
        if first is None:
            return True  # nothing to do: no process is started
        with _pool_of(self.workers) as pool:
            running: dict[Future[tuple[Result | None, Exception | None]], Item] = {}
            waiting: list[Item] = [first]
            while True:
                while len(running) < self.workers * WINDOW:
                    item = waiting.pop() if waiting else next(pending, None)
                    if item is None:
                        break
                    try:
                        running[pool.submit(_tried, function, item)] = item
                    except BrokenProcessPool:
                        suspects += [*running.values(), item]
                        return False
                if not running:
                    return True
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                broken = [future for future in finished if isinstance(future.exception(), BrokenProcessPool)]
                for future in finished:
                    if future not in broken:
                        yield running.pop(future), *_outcome(future)
                if broken:
                    suspects += running.values()
                    return False

    def _alone(
        self, function: Callable[[Item], Result], item: Item
    ) -> tuple[Item, Result | None, Exception | None]:
        """Run one item in a pool of its own: who dies here is to blame."""
        for _ in range(RETRIES):
            with _pool_of(1) as pool:
                try:
                    return item, *pool.submit(_tried, function, item).result()
                except BrokenProcessPool:
                    continue
        return item, None, WorkerDiedError(f"its worker died {RETRIES} times")


def prepare(threads: int) -> None:
    """Set up a worker process before anything heavy is loaded: polars would take all cores for each."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    look_seldom()


def _tried(function: Callable[[Item], Result], item: Item) -> tuple[Result | None, Exception | None]:
    """Run one item; what may pass (a share that went away) is tried again, a full catalogue is not."""
    for attempt in range(RETRIES + 1):
        try:
            return function(item), None
        except CatalogueWriteError as error:
            return None, error
        except OSError as error:
            if attempt == RETRIES:
                return None, error
        except Exception as error:  # noqa: BLE001 - reported with its item
            return None, error
    raise AssertionError


def _outcome(
    future: Future[tuple[Result | None, Exception | None]],
) -> tuple[Result | None, Exception | None]:
    error = future.exception()  # the result could not be sent, or the worker was told to stop
    if error is None:
        return future.result()
    if not isinstance(error, Exception):
        raise error
    return None, error


def _pool_of(workers: int) -> ProcessPoolExecutor:
    # forked processes would hang in polars' thread pool
    context = multiprocessing.get_context("forkserver")
    threads = max(1, (os.cpu_count() or 1) // workers)
    return ProcessPoolExecutor(workers, mp_context=context, initializer=prepare, initargs=(threads,))
