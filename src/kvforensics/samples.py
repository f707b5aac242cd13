"""Scheduler lines summed up in time buckets, so that years of them fit into memory.

A bucket never spans a rare event's line of its source: `after_line` names the last one before it. So a
bucket belongs to one launch whatever launches turn out to be. The width of the buckets is one second at
first and doubles whenever there are more than `max_rows`; where blocks were cut does not show in the result.

Columns of a bucket (`frame()`): `source`, `origin`, the rank tags, `after_line`, `slot_at` (start of the
bucket, UTC), `first_line`, `last_line`, `first_at`, `last_at`, `prefills`, `decodes` (lines),
`tokens_last`, `usage_max`, `usage_last`, `running_max`, `running_last`, `queue_max`, `queue_last`,
`new_tokens`, `cached_tokens` (sums over prefills), `gen_tps` (mean, tokens a second), `retractions`
(lines), `retracted` (requests), `refused_pool`, `refused_context` (lines by the engine),
`refused_pool_front`, `refused_context_front` (lines by the HTTP front), `first_retraction`,
`first_refused_pool`, `first_refused_context` (their first lines; `*_at`: the times of these), `access_ok`,
`access_client_error`, `access_server_error` (HTTP requests by status). `usage_*` of a hybrid is the largest
over its pools.

A source that is read backwards, because it was printed newest first, has its lines counted as negative
in `stretches()` and `records()`, so that they ascend with time there too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kvforensics.events import RANK_TAGS
from kvforensics.sample_buckets import (
    FIRSTS,
    STRETCH,
    as_buckets,
    bucket_schema,
    merge,
    merge_slots,
    together,
)
from kvforensics.sample_records import as_records, merge_records, records_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kvforensics.events import EventBlock

MAX_ROWS = 100_000
LOOSE_ROWS = 50_000  # unmerged rows that may pile up
NEVER = -(1 << 62)  # stands before every line


class Samples:
    """Takes event blocks in the order of their sources' lines and keeps buckets of their hot frames."""

    def __init__(self, max_rows: int = MAX_ROWS) -> None:
        self._max_rows = max_rows
        self._width_us = 1_000_000
        self._buckets = _Pile(pl.DataFrame(schema=bucket_schema()), merge_slots)
        self._records = _Pile(pl.DataFrame(schema=records_schema()), merge_records)
        self._source: int | None = None
        self._after = NEVER  # last boundary already passed in this source
        self._sign = 0  # -1 where the lines of this source descend
        self._unsigned: list[tuple[EventBlock, set[int]]] = []
        self._held: tuple[list[int], list[pl.DataFrame], pl.DataFrame | None] | None = None

    def add(self, block: EventBlock, boundaries: Iterable[int] | None = None) -> None:
        """Take one block. `boundaries` are the lines that no bucket may span; by default every rare event's.

        A block is held back until the next one of its source, because an event of several lines may be
        known only when the block after its first line has been read.
        """
        source = _source_of(block)
        if source is None:
            return
        if source != self._source:
            self._flush([])
            self._source, self._after, self._sign = source, NEVER, 0
        lines = {event.line for event in block.rare} if boundaries is None else set(boundaries)
        self._unsigned.append((block, lines))
        if not self._sign:
            self._sign = _direction([waiting for waiting, _ in self._unsigned])
        if self._sign:
            self._sort_out()

    def _sort_out(self) -> None:
        """Take the blocks that waited until it was known whether lines ascend or descend."""
        sign = self._sign or 1
        for block, lines in self._unsigned:
            cuts = sorted(sign * line for line in lines)
            self._flush_held(cuts)
            hot = {kind: _signed(frame, sign) for kind, frame in block.hot.items() if len(frame)}
            seen = block.seen
            self._held = (
                cuts,
                together(hot),
                _signed(seen, sign) if seen is not None and len(seen) else None,
            )
        self._unsigned = []

    def frame(self) -> pl.DataFrame:
        """Return the buckets, in the order of sources and lines."""
        self._flush([])
        self._settle()
        tail = pl.col("gen_tps_sum") / pl.col("gen_tps_lines")
        return (
            self._buckets.merged.with_columns(
                slot_at=(pl.col("slot") * self._width_us).cast(pl.Datetime("us")),
                gen_tps=pl.when(pl.col("gen_tps_lines") > 0).then(tail.round(3)),
            )
            .drop("slot", "gen_tps_sum", "gen_tps_lines")
            .sort("source", "first_line", "origin", *RANK_TAGS, "slot_at", nulls_last=False)
            .with_columns(
                _whole("after_line"), *(pl.col(name).abs() for name in ("first_line", "last_line", *FIRSTS))
            )
        )

    def stretches(self) -> pl.DataFrame:
        """Return the buckets added up over time: one row a source, boundary, origin and rank."""
        self._flush([])
        self._settle()
        return (
            merge(self._buckets.merged, STRETCH)
            .sort("source", "first_line", "origin", *RANK_TAGS)
            .with_columns(_whole("after_line"))
        )

    def records(self) -> pl.DataFrame:
        """Return where records stood: one row a source, boundary and origin.

        Columns: `first_line`, `last_line`, `first_at`, `last_at`, `burst_at` and `burst_line` (start of the
        last run of records without a gap of five seconds), `records`, `ours` (written by SGLang).
        """
        self._flush([])
        self._settle()
        return self._records.merged.sort("source", "first_line", "origin").with_columns(_whole("after_line"))

    def parts(self) -> tuple[pl.DataFrame, pl.DataFrame, int]:
        """Return everything that was kept, for `restore`: buckets, records, bucket width in microseconds."""
        self._flush([])
        self._settle()
        order = ("source", "first_line", "origin", *RANK_TAGS, "slot")
        return self._buckets.merged.sort(order), self._records.merged, self._width_us

    def restore(self, buckets: pl.DataFrame, records: pl.DataFrame, width_us: int) -> None:
        """Take what another `Samples` kept of other sources; the wider buckets of the two are kept."""
        while self._width_us < width_us:
            self._widen()
        slots = pl.col("slot") // (self._width_us // width_us)
        many = self._buckets.add(merge_slots(buckets.with_columns(slots).select(list(bucket_schema()))))
        if self._records.add(records.select(list(records_schema()))) or many:
            self._settle()

    def standing(self) -> tuple[int, int]:
        """Return the last boundary passed in the source at hand, and 1 where its lines ascend."""
        self._flush([])
        return self._after, self._sign

    def resume(self, source: int, after: int) -> None:
        """Go on with a source whose lines ascend and of which `restore` brought the part up to here."""
        self._source, self._after, self._sign = source, after, 1

    @property
    def width_s(self) -> float:
        """Width of a bucket in seconds."""
        return self._width_us / 1e6

    def _flush(self, later: list[int]) -> None:
        self._sort_out()
        self._flush_held(later)

    def _flush_held(self, later: list[int]) -> None:
        if self._held is None:
            return
        lines, frames, seen = self._held
        self._held = None
        cuts = pl.Series("cuts", sorted({self._after, *lines, *later}), dtype=pl.Int64)
        for frame in frames:
            self._take(_placed(frame, cuts))
        if seen is not None:
            self._note(_placed(seen, cuts))
        if lines:
            self._after = max(self._after, lines[-1])

    def _take(self, rows: pl.DataFrame) -> None:
        fresh = rows.with_columns(slot=pl.col("at").dt.epoch("us") // self._width_us)
        if self._buckets.add(merge_slots(as_buckets(fresh))):
            self._settle()

    def _note(self, rows: pl.DataFrame) -> None:
        if self._records.add(as_records(rows)):
            self._settle()

    def _widen(self) -> None:
        self._width_us *= 2
        self._buckets.merge()
        self._buckets.merged = merge_slots(self._buckets.merged.with_columns(pl.col("slot") // 2))

    def _settle(self) -> None:
        """Merge what was piled up, and make it smaller where it is too large."""
        buckets, records = self._buckets, self._records
        buckets.merge()
        while len(buckets.merged) > self._max_rows and self._width_us < 1 << 50:
            self._widen()
        records.merge()
        if len(records.merged) > self._max_rows:
            known = records.merged.filter(pl.col("ours") > 0)["origin"].unique()
            records.merged = records.merged.filter(pl.col("origin").is_in(known.implode()))


class _Pile:
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

    def merge(self) -> None:
        """Merge all frames into `merged`."""
        if self._loose:
            self.merged = self._merger(pl.concat([self.merged, *self._loose]))
            self._loose, self._rows = [], 0


def _whole(name: str) -> pl.Expr:
    """Return a signed line as the line it is; 0 stands before the first boundary."""
    return pl.when(pl.col(name) == NEVER).then(0).otherwise(pl.col(name).abs()).alias(name)


def _direction(blocks: Iterable[EventBlock]) -> int:
    """Return -1 where lines descend, 1 where they ascend, 0 where there is only one so far."""
    lines: list[int] = []
    for block in blocks:
        frames = [frame for frame in (block.seen, *block.hot.values()) if frame is not None and len(frame)]
        if frames:
            lines += [frames[0]["line"][0], frames[0]["line"][-1]]
        else:
            lines += [event.line for event in block.rare]
    return 0 if lines[0] == lines[-1] else (1 if lines[-1] > lines[0] else -1)


def _signed(frame: pl.DataFrame, sign: int) -> pl.DataFrame:
    return frame.with_columns(pl.col("line") * sign) if sign < 0 else frame


def _source_of(block: EventBlock) -> int | None:
    for frame in (block.seen, *block.hot.values()):
        if frame is not None and len(frame):
            return int(frame["source"][0])
    return block.rare[0].source if block.rare else None


def _placed(rows: pl.DataFrame, cuts: pl.Series) -> pl.DataFrame:
    if len(cuts) == 1:
        return rows.with_columns(pl.lit(cuts[0], dtype=pl.Int64).alias("after_line"))
    index = cuts.search_sorted(rows["line"], side="right")
    at = (index.cast(pl.Int64) - 1).clip(lower_bound=0)
    return rows.with_columns(cuts.gather(at.cast(pl.UInt32)).alias("after_line"))
