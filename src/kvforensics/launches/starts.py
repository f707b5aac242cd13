"""Cut a service's items into starts of the server.

What the carrier knows comes first: invocation, stream, process. Else the lines tell: systemd's start and
stop, and what `boundaries` knows of the server's own.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from kvforensics.launches.boundaries import begins_anew
from kvforensics.launches.kinds import UNIT_GONE, UNIT_START, is_preface, is_systemd
from kvforensics.launches.services import runs_in_container
from kvforensics.launches.start import Start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvforensics.launches.items import Item
    from kvforensics.records import Origins


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
        unit_runs_it = not runs_in_container(
            origin
        )  # the invocation of a container engine is not the server's
        if origin.invocation is not None and unit_runs_it:
            names.append(("invocation", origin.invocation))
        if origin.stream is not None and origin.unit is not None and unit_runs_it:
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
