"""The last stage of every carrier: keep the records that were asked for, and count them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kvforensics.records import RECORD_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.carriers.carrier import Context


def accounted(frames: Iterable[pl.DataFrame], context: Context) -> Iterator[pl.DataFrame]:
    """Yield frames of exactly `RECORD_SCHEMA`, and add them to the source's counters and damage."""
    source = context.source
    for frame in frames:
        kept = frame.select(RECORD_SCHEMA.names())
        if not kept.height:
            continue
        source.records += kept.height
        first, last = kept["at"].min(), kept["at"].max()
        if first is not None and last is not None:
            source.first_at = first if source.first_at is None else min(source.first_at, first)
            source.last_at = last if source.last_at is None else max(source.last_at, last)
            source.time_basis = "carrier"
        damaged = kept.filter(pl.col("damage").is_not_null())
        if damaged.height:
            for kind, line, count in (
                damaged.group_by("damage", maintain_order=True)
                .agg(pl.col("line").min(), pl.len())
                .iter_rows()
            ):
                source.add_damage(kind, line, count)
        yield kept
