"""Whether a line opens another start, where nothing but the lines tells.

A new `server_args=`, a load or an init after readiness, a start that dies before it printed its settings.
A rank's line out of order, a draft model's second load and the Engine API's second `server_args=` are no
new start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.events import NO_RANKS
from kvforensics.launches.kinds import CRASHES, RAISED, RANK_BEGINS, STAGES, START_ONLY, TERMINAL

if TYPE_CHECKING:
    from kvforensics.launches.items import Item
    from kvforensics.launches.start import Start

HEAD_S = 30  # rank lines this close before `server_args=` are out of order, not another start
TWICE_S = 60  # the Engine API's second `server_args=` follows within this
NODES_S = 600  # the nodes of one server print their `server_args=` within this
LATE_S = 120  # lines of a dead process still arrive within this
PER_NODE = {"node_rank", "host", "port", "nccl_port", "random_seed", "base_gpu_id", "dist_init_addr"}


def begins_anew(start: Start, item: Item, following: Item | None, *, sure: bool) -> bool:
    """Tell whether an item opens another start after `start`.

    `sure` means that the carrier says that they belong together.
    """
    kind = item.kind
    if kind == "server_args":
        return _another_config(start, item, sure=sure)
    if kind in RANK_BEGINS:
        return _another_load(start, item, sure=sure)
    if kind == "ready":
        return start.ready is not None and not _same_moment(start.ready, item)
    if sure:
        return False
    if kind in START_ONLY:
        return _another_failure(start, item)
    if kind in RAISED and _heralds(item, following):
        return _another_failure(start, item)
    if kind not in STAGES and kind != "hot":
        return False
    late = _seconds(start.gone, item) if start.gone is not None else None
    return late is not None and late > LATE_S


def _another_config(start: Start, item: Item, *, sure: bool) -> bool:
    if start.server_args is None:
        if start.ready is not None or start.summary is not None or start.served:
            return True
        if start.terminal is not None or start.gone is not None:
            return not sure or start.terminal is None or start.terminal.kind in CRASHES
        if sure or not start.stages:
            return False
        first = next((i for i in start.items if i.kind in STAGES), None)
        return first is not None and (_seconds(first, item) or 0) > HEAD_S
    fresh = start.ready is None and start.terminal is None and start.gone is None
    old, new = start.server_args.fields.get("values"), item.event.fields.get("values") if item.event else None
    late = None if start.server_args.at is None or item.at is None else item.at - start.server_args.at
    waited = 0.0 if late is None else late.total_seconds()
    if fresh and old == new and not start.stages and waited <= TWICE_S:
        return False
    return not (fresh and _other_node(old, new) and abs(waited) <= NODES_S)


def _other_node(old: Any, new: Any) -> bool:
    """Whether two configurations are those of two nodes of one server."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return False
    if old.get("node_rank") == new.get("node_rank"):
        return False
    return {k: v for k, v in old.items() if k not in PER_NODE} == {
        k: v for k, v in new.items() if k not in PER_NODE
    }


def _another_load(start: Start, item: Item, *, sure: bool) -> bool:
    done = start.ready or start.summary
    if done is not None or start.served:
        if done is None or done.at is None or item.at is None:
            return start.loads.get(item.ranks, 0) > 0 or item.ranks == NO_RANKS
        if item.at != done.at:
            return item.at > done.at
        return start.loads.get(item.ranks, 0) > 0
    if start.gone is not None and not sure:
        return (_seconds(start.gone, item) or 0) > 0
    if start.terminal is not None:
        if start.stages.get(item.ranks, -1) >= STAGES[item.kind]:
            return True
        return not sure and (_seconds(start.terminal, item) or 0) > LATE_S
    return False


def _another_failure(start: Start, item: Item) -> bool:
    """Tell whether a failure before the settings were printed is another start's."""
    if start.ready is not None or start.summary is not None or start.served or start.gone is not None:
        return True
    if start.terminal is None:
        return False
    if start.server_args is not None:
        return start.terminal.kind in CRASHES
    earlier = start.items[-1]
    return earlier.kind not in TERMINAL or not _same_moment(earlier, item)


def _heralds(item: Item, following: Item | None) -> bool:
    """Whether a traceback is the body of a start-only failure, which the next event names."""
    return (
        following is not None
        and following.kind in START_ONLY
        and following.source == item.source
        and following.origin == item.origin
        and _same_moment(item, following)
    )


def _same_moment(a: Item, b: Item) -> bool:
    seconds = _seconds(a, b)
    return seconds is None or abs(seconds) <= 5  # noqa: PLR2004 - lines of one traceback


def _seconds(a: Item, b: Item) -> float | None:
    return None if a.at is None or b.at is None else (b.at - a.at).total_seconds()
