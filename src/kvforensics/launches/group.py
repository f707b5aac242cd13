"""The items of one service, before they are cut into launches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvforensics.launches.items import Item
    from kvforensics.launches.keys import Key


@dataclass(slots=True, eq=False)
class Group:
    """The items of one service, by source and in line order, and host-wide ones that may concern it."""

    key: Key
    items: dict[int, list[Item]] = field(default_factory=dict)
    host_wide: list[Item] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Take an item of this service."""
        self.items.setdefault(item.source, []).append(item)
