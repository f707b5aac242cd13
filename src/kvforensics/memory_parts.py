"""Where a GPU's memory went at a launch: what its own lines say was taken by what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kvforensics.launches import Launch
    from kvforensics.sizing.budget import Budget


class MemoryParts(Struct, frozen=True):
    """One GPU's memory in GiB; the four parts add up to what was free before loading."""

    weights_gib: float
    pools_gib: float
    graphs_gib: float  # graphs and buffers: what is neither weights nor pools nor free
    free_gib: float
    limit_gib: float | None  # what mem_fraction_static lets weights and pools take; the reserve is above it


def memory_parts(launch: Launch, budget: Budget | None) -> MemoryParts | None:
    """Return the parts, or None where the log does not tell all of them or they do not add up."""
    before, after, free = launch.memory.before_load_gib, launch.memory.after_load_gib, launch.free_gib
    pools = None if budget is None else budget.pools_gib
    if before is None or after is None or pools is None or free is None:
        return None
    weights, graphs = before - after, after - pools - free
    if min(weights, graphs) < 0:
        return None
    fraction = launch.config.values.get("mem_fraction_static")
    return MemoryParts(
        weights_gib=round(weights, 2),
        pools_gib=round(pools, 2),
        graphs_gib=round(graphs, 2),
        free_gib=round(free, 2),
        limit_gib=round(before * fraction, 2) if isinstance(fraction, float) and 0 < fraction < 1 else None,
    )
