"""Free memory along a start, the minimum over ranks, as the sizing rule takes it.

A is measured just before the pools: after the target's weights up to 0.5.13, after the draft's from 0.5.14
(managers/scheduler.py:859@0.5.14). So it is each rank's last `Load weight end` before its first pool line,
whatever the release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.knowledge import within
from kvforensics.launches.kinds import STAGES
from kvforensics.launches.launch import Memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kvforensics.events import Event, Ranks
    from kvforensics.knowledge import VersionRange

_POOL_LINES = frozenset(
    {"kv_pool", "kv_skipped", "swa_split", "swa_pool", "mamba_pool", "dsv4_sizing", "pool_end"}
)


def by_rank(events: Iterable[Event]) -> dict[Ranks, list[Event]]:
    """Return the start-up events of each rank, in order, each once however often it was delivered."""
    ranks: dict[Ranks, list[Event]] = {}
    for event in events:
        if event.kind in STAGES:
            ranks.setdefault(event.ranks, []).append(event)
    return {rank: _once(own) for rank, own in ranks.items()}


def _once(events: list[Event]) -> list[Event]:
    """Leave out repeated lines where a load shows that they are copies: no rank does it twice in a second.

    Equal pool lines alone are two pools.
    """
    loads = [event.text for event in events if event.kind in ("load_begin", "load_end")]
    if None in loads or len(set(loads)) == len(loads):
        return events
    return list({event.text: event for event in reversed(events)}.values())[::-1]


def memory(ranks: Mapping[Ranks, Sequence[Event]], version: VersionRange) -> Memory:
    """Return the free memory that the lines of all ranks give, in GiB."""
    before, after, pool = [], [], []
    for events in ranks.values():
        before += _figures(events, "load_begin")[:1]
        after += _after_load(events, version)[-1:]
        pool += _figures(events, "pool_end")[-1:]
    return Memory(
        before_load_gib=min(before, default=None),
        after_load_gib=min(after, default=None),
        after_pool_gib=min(pool, default=None),
    )


def _after_load(events: Sequence[Event], version: VersionRange) -> list[float]:
    """Return a rank's figures of which the last one is A."""
    first_pool = next((index for index, event in enumerate(events) if event.kind in _POOL_LINES), None)
    if first_pool is not None:
        return _figures(events[:first_pool], "load_end")
    figures = _figures(events, "load_end")
    return figures if within(version, "0.5.14", None) else figures[:1]


def _figures(events: Iterable[Event], kind: str) -> list[float]:
    return [
        float(event.fields["avail_gib"])
        for event in events
        if event.kind == kind and event.fields.get("avail_gib") is not None
    ]
