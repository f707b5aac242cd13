"""Frames that pile up until it is worth merging them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

LOOSE_ROWS = 50_000  # unmerged rows that may pile up


class Pile:
    """Frames that are merged only when they have grown well beyond what was merged already."""

    def __init__(self, merged: pl.DataFrame, merger: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        self.merged = merged
        self._merger = merger
        self._loose: list[pl.DataFrame] = []
        self._rows = 0

    def add(self, frame: pl.DataFrame) -> bool:
        """Take a frame; true when it is time to merge."""
        self._loose.append(frame)
        self._rows += len(frame)
        return self._rows > LOOSE_ROWS + len(self.merged)

    def change(self, column: pl.Expr) -> None:
        """Change a column of all frames, merged ones too; they must be merged again."""
        self._loose = [frame.with_columns(column) for frame in (self.merged, *self._loose)]
        self.merged = self.merged.clear()

    def merge(self) -> None:
        """Merge all frames into `merged`."""
        if self._loose:
            self.merged = self._merger(pl.concat([self.merged, *self._loose]))
            self._loose, self._rows = [], 0
