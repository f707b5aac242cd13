"""A start of the server in the making: its items, and how far it has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kvforensics.launches.kinds import STAGES, TERMINAL, UNIT_GONE, UNIT_START, is_systemd

if TYPE_CHECKING:
    from datetime import datetime

    from kvforensics.events import Event, Ranks
    from kvforensics.launches.items import Item


class Start(Struct, eq=False):
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
