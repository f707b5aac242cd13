"""Which server a process belongs to, where the carrier tells pids but no invocation.

A `server_args=` line of a new process opens a group; a rank belongs to the group in which that rank has no
other process yet, its main process having the nearest lower pid. A rank that appears under another pid
although its place is taken is the rank of another start: the jump of pids that a lost start leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from kvforensics.events import NO_RANKS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvforensics.events import Ranks
    from kvforensics.launches.items import Item
    from kvforensics.records import Origins

OPEN_GROUPS = 8  # servers of one stream that may run at the same time


class _Group(Struct):
    number: int
    main: int | None = None
    ranks: dict[Ranks, int] = field(default_factory=dict)


def group(items: Iterable[Item], origins: Origins) -> None:
    """Set `group` of the items of one stream, in their order; items without pid keep None."""
    groups: list[_Group] = []
    by_pid: dict[int, _Group] = {}
    of_pid: dict[int, list[Item]] = {}
    for item in items:
        pid = origins[item.origin].pid
        if pid is None or item.kind == "run":
            continue
        known = by_pid.get(pid)
        if known is None or _is_another(known, item, pid):
            known = by_pid[pid] = _find(item, pid, groups)
            for earlier in of_pid.get(pid, []) if item.kind == "server_args" else []:
                earlier.group = known.number  # what a process said before its settings
        if item.kind == "server_args" and known.main is None:
            known.main = pid
        if item.ranks != NO_RANKS:
            known.ranks.setdefault(item.ranks, pid)
        item.group = known.number
        of_pid.setdefault(pid, []).append(item)
    _place_runs(items, by_pid, origins)


def _is_another(group: _Group, item: Item, pid: int) -> bool:
    """Whether a process that was taken for one of a group shows that it is another's."""
    if item.kind == "server_args":
        return group.main is not None and group.main != pid
    return item.ranks != NO_RANKS and group.ranks.get(item.ranks, pid) != pid


def _find(item: Item, pid: int, groups: list[_Group]) -> _Group:
    if item.kind != "server_args":
        free = [g for g in groups[-OPEN_GROUPS:] if item.ranks == NO_RANKS or item.ranks not in g.ranks]
        below = [g for g in free if g.main is not None and g.main <= pid]
        if below:
            return max(below, key=lambda g: (g.main or 0, g.number))
        if free:
            return free[-1]
    groups.append(_Group(len(groups), pid if item.kind == "server_args" else None))
    return groups[-1]


def _place_runs(items: Iterable[Item], by_pid: dict[int, _Group], origins: Origins) -> None:
    for item in items:
        if item.kind == "run":
            known = by_pid.get(origins[item.origin].pid or -1)
            item.group = None if known is None else known.number
