"""When a launch began, and whether the log holds its beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.events import BURST_GAP_US

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kvforensics.launches.items import Item
    from kvforensics.launches.start import Start


def is_complete(start: Start) -> bool:
    """Whether the log shows the beginning of a start, or its death before it had one."""
    if start.server_args is not None or start.unit_start is not None:
        return True
    begun = any(item.kind in ("init_begin", "load_begin") for item in start.items)
    failed = start.terminal is not None and start.ready is None and not start.served
    return begun or (failed and not start.stages)


def started_at(start: Start, items: Sequence[Item], place_of: Mapping[int, int]) -> datetime | None:
    """Return the time of the earliest record.

    Lines before the first event belong to the launch when they follow one another without a long gap.
    """
    own = [item for item in start.items if item.run is None and id(item) in place_of]
    if not own:
        return next((item.at for item in start.items if item.at is not None), None)
    first = next((item.at for item in own if item.at is not None), None)
    if start.unit_start is not None or first is None:
        return first
    if any(kind == "invocation" for kind, _ in start.ids):
        return next(item.at for item in start.items if item.at is not None)
    return _burst(first, place_of[id(own[0])], items)


def _burst(first: datetime, place: int, items: Sequence[Item]) -> datetime:
    """Follow records that stand before a launch's first event back to a gap in time.

    Where they reach back to the launch before without a gap, nobody can tell whose they are.
    """
    begun: datetime = first
    item = items[place]
    for other in reversed(items[:place]):
        row = other.run
        if row is None or row["last_at"] is None or row["burst_at"] is None or other.origin != item.origin:
            return begun if row is not None else first
        if abs((begun - row["last_at"]).total_seconds()) * 1e6 > BURST_GAP_US:
            return begun
        if abs(row["burst_line"]) == row["after_line"]:
            return first
        begun = min(begun, row["burst_at"])
        if row["burst_at"] != row["first_at"]:
            break
    return begun
