"""One order over several inputs.

Within an input its own order holds, whatever the wall clock does (a DST hour, a clock step). Inputs are
merged by the monotonic clock where both sides are of one
boot, else by time. Inputs without any time stand behind the one whose path sorts before theirs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kvforensics.launches.items import Item
    from kvforensics.records import Origins, Source


def arrange(
    by_source: Mapping[int, Sequence[Item]], sources: Sequence[Source], origins: Origins
) -> list[Item]:
    """Return all items of one service in one order that does not depend on the order of the inputs."""
    timed: list[list[Item]] = []
    timeless: list[list[Item]] = []
    for _, items in sorted(by_source.items()):
        (timed if any(item.at for item in items) else timeless).append(list(items))
    timed.sort(key=lambda items: (_first(items), _last(items), _path(items, sources)))
    merged: list[Item] = []
    for items in timed:
        merged = _merge(merged, items, origins)
    return _insert(merged, timeless, sources)


def _first(items: Sequence[Item]) -> datetime:
    return next(item.at for item in items if item.at is not None)


def _last(items: Sequence[Item]) -> datetime:
    return next(item.at for item in reversed(items) if item.at is not None)


def _path(items: Sequence[Item], sources: Sequence[Source]) -> list[tuple[int, str]]:
    return natural(sources[items[0].source].path)


def natural(path: str) -> list[tuple[int, str]]:
    """Sort key that puts `log.2` before `log.10`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]{1,18})", path)]


def _merge(left: list[Item], right: list[Item], origins: Origins) -> list[Item]:
    if not left or _before(left[-1], right[0], origins, default=False) is True:
        return left + right
    left_keys, right_keys = _running(left), _running(right)
    merged: list[Item] = []
    i = j = 0
    while i < len(left) and j < len(right):
        first = _before(left[i], right[j], origins, default=left_keys[i] <= right_keys[j])
        if first:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


def _before(a: Item, b: Item, origins: Origins, *, default: bool) -> bool:
    """Whether a came first, by the monotonic clock of one boot, else `default`."""
    if a.mono is not None and b.mono is not None:
        boot = origins[a.origin].boot
        if boot is not None and boot == origins[b.origin].boot:
            return a.mono <= b.mono
    return default


def _running(items: Sequence[Item]) -> list[datetime]:
    """Give each item the latest time met so far, so that a merge keeps the order within an input."""
    latest = _first(items)
    keys = []
    for item in items:
        if item.at is not None and item.at > latest:
            latest = item.at
        keys.append(latest)
    return keys


def _insert(merged: list[Item], timeless: list[list[Item]], sources: Sequence[Source]) -> list[Item]:
    for items in sorted(timeless, key=lambda items: _path(items, sources)):
        own = _path(items, sources)
        at = 0
        for index, item in enumerate(merged):
            if natural(sources[item.source].path) < own:
                at = index + 1
        merged = merged[:at] + items + merged[at:]
    return merged
