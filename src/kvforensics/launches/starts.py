"""Cut a service's items into starts of the server.

What the carrier knows comes first: invocation, stream, process. Else the lines tell: systemd's start and
stop, a new `server_args=`, a load or an init after readiness, a start that dies before it printed its
settings. A rank's line out of order, a draft model's second load and the Engine API's second
`server_args=` are no new start.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvforensics.events import NO_RANKS
from kvforensics.launches.kinds import (
    CRASHES,
    RAISED,
    RANK_BEGINS,
    STAGES,
    START_ONLY,
    TERMINAL,
    UNIT_GONE,
    UNIT_START,
    is_preface,
    is_systemd,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kvforensics.events import Event, Ranks
    from kvforensics.launches.items import Item
    from kvforensics.records import Origins

HEAD_S = 30  # rank lines this close before `server_args=` are out of order, not another start
TWICE_S = 60  # the Engine API's second `server_args=` follows within this
NODES_S = 600  # the nodes of one server print their `server_args=` within this
LATE_S = 120  # lines of a dead process still arrive within this
PER_NODE = {"node_rank", "host", "port", "nccl_port", "random_seed", "base_gpu_id", "dist_init_addr"}


@dataclass(slots=True, eq=False)
class Start:
    """A launch in the making."""

    items: list[Item] = field(default_factory=list)
    server_args: Event | None = None
    unit_start: Event | None = None
    ready: Item | None = None
    summary: Item | None = None
    served: bool = False  # scheduler lines
    terminal: Item | None = None  # the first line that means the end
    gone: Item | None = None  # systemd's word that the process is gone
    stages: dict[Ranks, int] = field(default_factory=dict)
    loads: dict[Ranks, int] = field(default_factory=dict)
    pids: set[int] = field(default_factory=set)
    ids: set[tuple[str, Any]] = field(default_factory=set)

    @property
    def own(self) -> bool:
        """Whether the server itself said anything."""
        return any(
            item.event is None or not is_systemd(item.event.kind) for item in self.items if item.run is None
        )

    def take(self, item: Item, pid: int | None) -> None:
        """Add an item and note what it says of the start's progress."""
        self.items.append(item)
        if item.event is not None and is_systemd(item.kind):
            self._note_unit(item, item.event)
            return
        if pid is not None:
            self.pids.add(pid)
        if item.event is not None:
            self._note_event(item, item.event)
        if item.hot is not None and (item.hot["prefills"] or item.hot["decodes"]):
            self.served = True

    def _note_unit(self, item: Item, event: Event) -> None:
        if event.kind in UNIT_START:
            self.unit_start = self.unit_start or event
        if event.kind in UNIT_GONE:
            self.gone = self.gone or item

    def _note_event(self, item: Item, event: Event) -> None:
        kind = event.kind
        if kind == "server_args":
            self.server_args = self.server_args or event
        elif kind == "ready":
            self.ready = self.ready or item
        elif kind == "summary":
            self.summary = self.summary or item
        elif kind == "load_begin":
            self.loads[item.ranks] = self.loads.get(item.ranks, 0) + 1
        elif kind in TERMINAL:
            self.terminal = self.terminal or item
        if kind in STAGES:
            self.stages[item.ranks] = max(self.stages.get(item.ranks, 0), STAGES[kind])

    @property
    def first_at(self) -> datetime | None:
        """Time of the first item that has one."""
        return next((item.at for item in self.items if item.at is not None), None)

    @property
    def last_at(self) -> datetime | None:
        """Time of the last item that has one."""
        return next((item.last_at for item in reversed(self.items) if item.last_at is not None), None)


class Cutter:
    """Places items one by one, in order, into starts."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self.starts: list[Start] = []
        self.outside: list[Item] = []  # systemd's words about a start that is not in the log
        self._by_id: dict[tuple[str, Any], Start] = {}

    def cut(self, items: Sequence[Item]) -> None:
        """Place all items of one service, in order."""
        runs = [item for item in items if item.run is not None]
        told = [item for item in items if item.run is None]
        position = {id(item): index for index, item in enumerate(items)}
        for index, item in enumerate(told):
            following = told[index + 1] if index + 1 < len(told) else None
            start = self._place(item, following)
            if start is None:
                self.outside.append(item)
            else:
                self._register(start, item)
                start.take(item, self._origins[item.origin].pid)
        self._place_runs(runs, position)
        for start in self.starts:
            start.items.sort(key=lambda item: position[id(item)])

    def _register(self, start: Start, item: Item) -> None:
        for name in self._names(item):
            start.ids.add(name)
            self._by_id[name] = start

    def _names(self, item: Item) -> list[tuple[str, Any]]:
        """Return what identifies the start that an item belongs to, the surest first."""
        origin = self._origins[item.origin]
        if item.event is not None and is_systemd(item.kind):
            invocation = item.event.fields.get("invocation")
            return [("invocation", invocation)] if invocation else []
        names: list[tuple[str, Any]] = []
        if origin.invocation is not None:
            names.append(("invocation", origin.invocation))
        if origin.stream is not None and origin.unit is not None:
            names.append(("stream", origin.stream))
        if item.group is not None and not names:
            names.append(("group", item.group))
        return names

    def _new(self) -> Start:
        self.starts.append(Start())
        return self.starts[-1]

    def _after(self, start: Start) -> Start:
        """Open a start after another, and give it what the other's items end with but a start begins with.

        Changes that the engine makes to its settings by itself are told before `server_args=`.
        """
        opened = self._new()
        done = start.ready or start.summary or start.terminal or start.gone or start.served
        while done and start.items and is_preface(start.items[-1].kind):
            opened.items.insert(0, start.items.pop())
        return opened

    def _place(self, item: Item, following: Item | None) -> Start | None:
        names = self._names(item)
        known = next((self._by_id[name] for name in names if name in self._by_id), None)
        current = self.starts[-1] if self.starts else None
        if item.event is not None and is_systemd(item.kind):
            return self._place_systemd(item, known, current, named=bool(names))
        if known is not None:
            sure = any(name[0] == "invocation" for name in names)
            return self._after(known) if begins_anew(known, item, following, sure=sure) else known
        if names:
            if current is not None and self._adopts(current, names):
                return current
            dead = self._of_pid(item) if names[0][0] != "invocation" else None
            return dead or self._new()
        dead = self._of_pid(item)
        start = dead or current
        if start is None:
            return self._new()
        return self._after(start) if begins_anew(start, item, following, sure=False) else start

    def _place_systemd(
        self, item: Item, known: Start | None, current: Start | None, *, named: bool
    ) -> Start | None:
        if item.kind not in UNIT_START:
            return known or (None if named and item.kind in UNIT_GONE and current is None else current)
        if known is not None:
            return known
        waiting = current is not None and current.unit_start is not None and current.gone is None
        if waiting and current is not None and item.kind == "unit_started":
            begun = current.unit_start is not None and current.unit_start.kind == "unit_starting"
            again = any(i.kind == "unit_started" for i in current.items)
            if begun and not again and not (named and current.ids):
                return current
        return self._new()

    def _adopts(self, current: Start, names: list[tuple[str, Any]]) -> bool:
        """Whether a start that systemd announced, or that has no identity yet, is this item's."""
        if current.gone is not None or any(kind == names[0][0] for kind, _ in current.ids):
            return False
        if names[0][0] == "group" and any(kind == "invocation" for kind, _ in current.ids):
            return not current.own
        return current.unit_start is not None and not current.own

    def _of_pid(self, item: Item) -> Start | None:
        """Find the latest start of a process whose records lost their invocation when it died."""
        pid = self._origins[item.origin].pid
        if pid is None or item.group is not None:
            return None
        return next((start for start in reversed(self.starts) if pid in start.pids), None)

    def _place_runs(self, runs: list[Item], position: dict[int, int]) -> None:
        """Give other records to the start that their origin names, else to the one that they follow."""
        if not self.starts and any(item.run and item.run["ours"] for item in runs):
            self._new()
        firsts = [position[id(start.items[0])] for start in self.starts if start.items]
        for item in runs:
            names = self._names(item)
            start = next((self._by_id[name] for name in names if name in self._by_id), None)
            if start is None and self.starts and not any(kind == "invocation" for kind, _ in names):
                start = self.starts[max(bisect_right(firsts, position[id(item)]) - 1, 0)]
            if start is not None:
                start.take(item, self._origins[item.origin].pid)


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
