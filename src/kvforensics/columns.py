"""Columns that hold one value in every row, and other things that polars does slowly for small frames."""

from __future__ import annotations

from typing import Any

import polars as pl

_kept: dict[tuple[Any, pl.DataType], pl.Series] = {}  # long columns of null and of 0, of which parts are used


def constant(name: str, value: Any, dtype: pl.DataType, height: int) -> pl.Series:
    """Return a column that holds one value `height` times; those of null and 0 share their memory."""
    if value is not None and not (isinstance(value, int) and value == 0):
        return pl.Series(name, [value], dtype=dtype).new_from_index(0, height)
    known = _kept.get((value, dtype))
    if known is None or len(known) < height:
        known = pl.Series([value], dtype=dtype).new_from_index(0, 2 * height)
        _kept[value, dtype] = known
    return known.slice(0, height).alias(name)


def without(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return a frame without one of its columns."""
    rest = frame.clone()
    rest.drop_in_place(name)
    return rest
