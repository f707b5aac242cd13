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

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kvforensics.events import RANK_TAGS
from kvforensics.samples.blocks import NO_SUMS, Sums, filled, moved, sums_of, within
from kvforensics.samples.buckets import (
    FIRSTS,
    MIXED,
    NEVER,
    STRETCH,
    as_buckets,
    bucket_schema,
    from_parts,
    merge,
    merge_slots,
    placed,
    to_parts,
    together,
    unify,
)
from kvforensics.samples.pile import Pile
from kvforensics.samples.records import as_records, merge_records, records_schema
from kvforensics.samples.sums import may_sum, summed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvforensics.events import EventBlock


class _Held(NamedTuple):
    """A block that waits until the next one tells whether an event of several lines began in it."""

    lines: list[int]
    frames: list[tuple[str, pl.DataFrame]]
    seen: pl.DataFrame | None
    sums: Sums


MAX_ROWS = 100_000
SECOND_US = 1_000_000
WIDEST_US = SECOND_US << 31  # 68 years
FEW_ROWS = 10_000  # lines that `summed` cannot add up wait until there are so many


class Samples:
    """Takes event blocks in the order of their sources' lines and keeps buckets of their hot frames."""

    def __init__(self, max_rows: int = MAX_ROWS, *, over_time: bool = True) -> None:
        """Without `over_time` the buckets are so wide that only `stretches` says more than one of them."""
        self._max_rows = max_rows
        self._width_us = SECOND_US if over_time else WIDEST_US
        self._buckets = Pile(pl.DataFrame(schema=bucket_schema()), merge_slots)
        self._records = Pile(pl.DataFrame(schema=records_schema()), merge_records)
        self._source: int | None = None
        self._after = NEVER  # last boundary already passed in this source
        self._sign = 0  # -1 where the lines of this source descend
        self._unsigned: list[tuple[EventBlock, set[int], Sums]] = []
        self._held: _Held | None = None
        self._rows: dict[str, list[pl.DataFrame]] = {}

    def sums(self, block: EventBlock) -> Sums:
        """Add up what a block holds, by the boundaries that it holds itself. Any thread may."""
        return sums_of(block, self._width_us)

    def add(self, block: EventBlock, boundaries: Iterable[int] | None = None, sums: Sums = NO_SUMS) -> None:
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
        self._unsigned.append((block, lines, sums))
        if not self._sign:
            self._sign = _direction([waiting for waiting, *_ in self._unsigned])
        if self._sign:
            self._sort_out()

    def _sort_out(self) -> None:
        """Take the blocks that waited until it was known whether lines ascend or descend."""
        sign = self._sign or 1
        for block, lines, sums in self._unsigned:
            cuts = sorted(sign * line for line in lines)
            self._flush_held(cuts)
            seen = _signed(block.seen, sign) if block.seen is not None and len(block.seen) else None
            if sign > 0 and sums is not NO_SUMS:
                self._held = _Held(cuts, sums.frames, seen, sums)
                continue
            hot = {kind: _signed(frame, sign) for kind, frame in block.hot.items() if len(frame)}
            self._held = _Held(cuts, together(hot), seen, NO_SUMS)
        self._unsigned = []

    def frame(self) -> pl.DataFrame:
        """Return the buckets, in the order of sources and lines."""
        self._flush([])
        self._settle()
        mean = pl.col("gen_tps_milli") / pl.col("gen_tps_lines") / 1000
        return (
            self._buckets.merged.with_columns(
                slot_at=(pl.col("slot") * self._width_us).cast(pl.Datetime("us")),
                gen_tps=pl.when(pl.col("gen_tps_lines") > 0).then(mean.round(3)),
            )
            .drop("slot", "gen_tps_milli", "gen_tps_lines")
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
        return to_parts(self._buckets.merged.sort(order)), self._records.merged, self._width_us

    def restore(self, buckets: pl.DataFrame, records: pl.DataFrame, width_us: int) -> None:
        """Take what another `Samples` kept of other sources; the wider buckets of the two are kept."""
        while self._width_us < width_us:
            self._width_us *= 2
            self._buckets.change(pl.col("slot") // 2)
        known, times = from_parts(buckets), self._width_us // width_us
        if times > 1:
            known = merge_slots(known.with_columns(pl.col("slot") // times))
        many = self._buckets.add(known)
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
        self._sum_rows()

    def _flush_held(self, later: list[int]) -> None:
        if self._held is None:
            return
        lines, frames, seen, sums = self._held
        self._held = None
        known = sorted({self._after, *lines, *later})
        cuts = pl.Series("cuts", known, dtype=pl.Int64)
        if within(known, sums.span) != sums.cuts:
            sums = NO_SUMS
        before = max((line for line in known if line < sums.span[0]), default=NEVER)
        for kind, frame in frames:
            if kind in sums.by_kind:
                self._pile(moved(sums.by_kind[kind], before, self._width_us // sums.width_us))
            else:
                self._take(kind, placed(frame, cuts))
        if seen is not None:
            self._note(as_records(seen, cuts) if sums.records is None else moved(sums.records, before))
        if lines:
            self._after = max(self._after, lines[-1])

    def _take(self, kind: str, rows: pl.DataFrame) -> None:
        if may_sum(kind, rows):
            self._pile(summed(kind, rows, self._width_us))
            return
        self._rows.setdefault(kind, []).append(rows)
        if sum(frame.height for frames in self._rows.values() for frame in frames) > FEW_ROWS:
            self._sum_rows()

    def _sum_rows(self) -> None:
        """Add up the lines that waited: of rare kinds a block has few, too few to look at them each time."""
        for kind, frames in self._rows.items():
            rows = pl.concat(frames)
            alike = rows if kind == MIXED else unify(kind, rows).hstack([rows["after_line"]])
            fresh = alike.with_columns(slot=pl.col("at").dt.epoch("us") // self._width_us)
            self._pile(merge_slots(as_buckets(fresh)))
        self._rows = {}

    def _pile(self, buckets: pl.DataFrame) -> None:
        if self._buckets.add(buckets):
            self._settle()

    def _note(self, records: pl.DataFrame) -> None:
        if self._records.add(records):
            self._settle()

    def _settle(self) -> None:
        """Merge what was piled up, and make it smaller where it is too large."""
        buckets, records = self._buckets, self._records
        buckets.merge()
        while len(buckets.merged) > self._max_rows and self._width_us < WIDEST_US:
            self._width_us *= 2
            buckets.change(pl.col("slot") // 2)
            buckets.merge()
        records.merge()
        if len(records.merged) > self._max_rows:
            known = records.merged.filter(pl.col("ours") > 0)["origin"].unique()
            records.merged = records.merged.filter(pl.col("origin").is_in(known.implode()))


def _whole(name: str) -> pl.Expr:
    """Return a signed line as the line it is; 0 stands before the first boundary."""
    return pl.when(pl.col(name) == NEVER).then(0).otherwise(pl.col(name).abs()).alias(name)


def _direction(blocks: Iterable[EventBlock]) -> int:
    """Return -1 where lines descend, 1 where they ascend, 0 where there is only one so far."""
    lines: list[int] = []
    for block in blocks:
        frames = filled(block)
        if frames:
            lines += [frames[0]["line"][0], frames[0]["line"][-1]]
        else:
            lines += [event.line for event in block.rare]
    return 0 if lines[0] == lines[-1] else (1 if lines[-1] > lines[0] else -1)


def _signed(frame: pl.DataFrame, sign: int) -> pl.DataFrame:
    return frame.with_columns(pl.col("line") * sign) if sign < 0 else frame


def _source_of(block: EventBlock) -> int | None:
    for frame in filled(block):
        return int(frame["source"][0])
    return block.rare[0].source if block.rare else None
