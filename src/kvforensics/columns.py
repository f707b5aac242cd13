"""Columns that hold one value in every row, and other things that polars does slowly for small frames."""

from __future__ import annotations

from typing import Any

import polars as pl

_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999  # since 1970: the years 1 and 9999
_kept: dict[tuple[Any, pl.DataType], pl.Series] = {}  # long columns of null, 0 and 1, of which parts are used


def constant(name: str, value: Any, dtype: pl.DataType, height: int) -> pl.Series:
    """Return a column that holds one value `height` times; those of null, 0 and 1 share their memory."""
    if value is not None and not (isinstance(value, int) and value in (0, 1)):
        return pl.Series(name, [value], dtype=dtype).new_from_index(0, height)
    known = _kept.get((value, dtype))
    if known is None or len(known) < height:
        known = pl.Series([value], dtype=dtype).new_from_index(0, 2 * height)
        _kept[value, dtype] = known
    return known.slice(0, height).alias(name)


def is_one(column: pl.Series) -> bool:
    """Whether a column holds one value in all its rows."""
    if column.null_count():
        return column.null_count() == len(column)
    return bool(column.min() == column.max())


def in_calendar(times: pl.Series) -> pl.Series:
    """Return times without those before the year 1 or after 9999: polars knows them, Python does not."""
    micros = times.to_physical()
    ends: tuple[Any, Any] = (micros.min(), micros.max())
    if ends[0] is None or (ends[0] >= _FIRST_US and ends[1] <= _LAST_US):
        return times
    return times.set((micros < _FIRST_US) | (micros > _LAST_US), None)


def without(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return a frame without one of its columns."""
    rest = frame.clone()
    rest.drop_in_place(name)
    return rest
