"""Items that come are worked on in threads while others are used: reading and unpacking beside parsing."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")
AT_ONCE = 2  # items that are worked on at the same time


class _End:
    """Stands behind the last item, with what stopped the making of more."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield items in order; from the second one on each is made while the one before it is used.

    Whoever stops early waits for nothing: the thread notices, or ends with the process.
    """
    source = iter(items)
    for first in source:
        yield first
        break
    else:
        return
    handed: Queue[T | _End] = Queue(maxsize=1)
    stopped = threading.Event()
    threading.Thread(target=_make, args=(source, handed, stopped), daemon=True).start()
    try:
        while not isinstance(item := handed.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()
        if not handed.empty():
            handed.get_nowait()


def _make(source: Iterator[T], handed: Queue[T | _End], stopped: threading.Event) -> None:
    error: BaseException | None = None
    try:
        for item in source:
            handed.put(item)
            if stopped.is_set():
                return
    except BaseException as raised:  # noqa: BLE001 - whoever uses the items has to see it, whatever it is
        error = raised
    handed.put(_End(error))


def side_by_side(
    items: Iterable[T], work: Callable[[T], R], may: Callable[[], bool]
) -> Iterator[tuple[T, R | None]]:
    """Yield items in order with what became of each, several worked on at once.

    None became of those that came while there `may` no work begin.
    """
    waiting: deque[tuple[T, Future[R]]] = deque()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for item in items:
            if not waiting and not may():
                yield item, None
                continue
            waiting.append((item, threads.submit(work, item)))
            if len(waiting) > AT_ONCE:
                first, made = waiting.popleft()
                yield first, made.result()
        for first, made in waiting:
            yield first, made.result()
