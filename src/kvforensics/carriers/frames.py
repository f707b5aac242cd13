"""The frame that carriers yield: `RECORD_SCHEMA` plus working columns for the stages that follow.

Working columns begin with an underscore, are optional, and are dropped before a frame leaves the package:

| column | type | meaning |
|---|---|---|
| `_more` | Int8 | whether the carrier broke the message off here (`MORE_*`), see rejoin.py |
| `_key` | String | pieces with the same key belong together; null: pieces of the same origin do |
| `_raw` | Binary | the bytes of a message that is not UTF-8, where a piece may hold half a character |
| `_wall` | Datetime us | a time without year or zone, put into the leap year 2000; see times.py |
| `_local` | Datetime us | a time without zone; becomes `at` through `--tz`; see times.py |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.columns import constant
from kvforensics.records import LEFT_SCHEMA, RECORD_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.carriers.carrier import Context

MORE_NO = 0  # whole
MORE_CERTAIN = 1  # the rest must follow; without it something is lost (`split_lost`)
MORE_OPEN = 2  # no line end yet; nothing is lost when nothing follows
MORE_MAYBE = 3  # joined only when what follows does not begin a line of its own
MORE_RAW = 5  # as MORE_CERTAIN, whatever the rest begins with: the carrier cuts text by its size alone
MORE_SOON = 4  # no line end, and the carrier would have waited for one: joined only to what follows at once

WORKING_SCHEMA = pl.Schema(
    {
        "_more": pl.Int8(),
        "_key": pl.String(),
        "_raw": pl.Binary(),
        "_wall": pl.Datetime("us"),
        "_local": pl.Datetime("us"),
    }
)
_MORE = {**WORKING_SCHEMA, **LEFT_SCHEMA}
_FULL = {**RECORD_SCHEMA, **_MORE}


def record_frame(context: Context, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Build a record frame; columns that are missing are null, `source` is filled in.

    `columns` maps names of `RECORD_SCHEMA`, `LEFT_SCHEMA` or working columns to series or lists of one
    length; `line` and `message` are required. Types are cast, times must be UTC microseconds or datetimes.
    """
    height = len(columns["line"])
    made = {name: _column(name, columns.get(name), context, height) for name in RECORD_SCHEMA}
    for name in _MORE:
        if name in columns:
            made[name] = _column(name, columns[name], context, height)
    return pl.DataFrame(made)


def empty_frame() -> pl.DataFrame:
    """Return a frame without records."""
    return pl.DataFrame(schema=RECORD_SCHEMA)


def _column(name: str, values: Any, context: Context, height: int) -> pl.Series:
    dtype = _FULL[name]
    if name == "source":
        return constant(name, context.index, dtype, height)
    if values is None:
        return constant(name, None, dtype, height)
    if isinstance(values, pl.Series):
        return values.alias(name) if values.dtype == dtype else values.cast(dtype).alias(name)
    return pl.Series(name, values, dtype=dtype)


def repeated(value: Any, height: int, dtype: pl.DataType | None = None) -> pl.Series:
    """Return a series that holds one value `height` times."""
    return pl.Series([value], dtype=dtype).new_from_index(0, height)
