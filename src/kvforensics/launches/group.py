"""The items of one service, before they are cut into launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from kvforensics.launches.items import Item
    from kvforensics.launches.keys import Key


class Group(Struct, eq=False):
    """The items of one service, by source and in line order, and host-wide ones that may concern it."""

    key: Key
    items: dict[int, list[Item]] = field(default_factory=dict)
    host_wide: list[Item] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Take an item of this service."""
        self.items.setdefault(item.source, []).append(item)
