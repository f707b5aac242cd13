"""The last stage of every carrier: keep the records that were asked for, and count them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.carriers.selection import Selection
from kvforensics.columns import in_calendar
from kvforensics.records import LEFT_SCHEMA, RECORD_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.carriers.carrier import Context
    from kvforensics.records import Source


def accounted(frames: Iterable[pl.DataFrame], context: Context) -> Iterator[pl.DataFrame]:
    """Yield frames of exactly `RECORD_SCHEMA`, of thinned lines `LEFT_SCHEMA` too.

    They are added to the source's counters and damage.
    """
    selection = Selection(context)
    thin = RECORD_SCHEMA.names() + LEFT_SCHEMA.names()
    for given in frames:
        frame = given.with_columns(in_calendar(given["at"]))
        names = thin if "left_out" in frame.columns else RECORD_SCHEMA.names()
        kept = selection.of(frame if frame.columns == names else frame.select(names))
        if kept.height:
            _count(kept, context.source)
            yield kept


def _count(frame: pl.DataFrame, source: Source) -> None:
    source.records += frame.height + (int(frame["left_out"].sum()) if "left_out" in frame.columns else 0)
    at = frame["at"]
    if at.null_count() < frame.height:
        times: Any = (at.min(), at.max())
        source.first_at = min(times if source.first_at is None else [source.first_at, *times])
        source.last_at = max(times if source.last_at is None else [source.last_at, *times])
        source.time_basis = "carrier"
    if frame["damage"].null_count() == frame.height:
        return
    damaged = frame.filter(pl.col("damage").is_not_null())
    kinds = damaged.group_by("damage", maintain_order=True).agg(pl.col("line").min(), pl.len())
    for kind, line, count in kinds.iter_rows():
        source.add_damage(kind, line, count)
