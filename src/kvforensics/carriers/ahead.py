"""The next item is made in a thread while the last one is used: reading and unpacking beside parsing."""

from __future__ import annotations

import threading
from queue import Queue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")


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
