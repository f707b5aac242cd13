"""A block added up before it is known which boundary stands before it: threads may do that in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from kvforensics.samples.buckets import NEVER, placed, together
from kvforensics.samples.records import as_records
from kvforensics.samples.sums import may_sum, summed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvforensics.events import EventBlock


class Sums(NamedTuple):
    """What a block holds; its first rows stand behind NEVER until `moved` tells their boundary."""

    frames: list[tuple[str, pl.DataFrame]]  # its hot frames, by kind
    width_us: int
    span: tuple[int, int]  # its first and its last line
    cuts: tuple[int, ...]  # boundaries within
    by_kind: dict[str, pl.DataFrame]
    records: pl.DataFrame | None


NO_SUMS = Sums([], 1, (0, -1), (), {}, None)


def sums_of(block: EventBlock, width_us: int) -> Sums:
    """Add up a block in buckets of some width, by the boundaries that it holds itself."""
    span = _span(block)
    if span is None:
        return NO_SUMS
    inside = within((event.line for event in block.rare), span)
    cuts = pl.Series("cuts", [NEVER, *inside], dtype=pl.Int64)
    frames = together({kind: frame for kind, frame in block.hot.items() if len(frame)})
    found = {
        kind: summed(kind, placed(frame, cuts), width_us) for kind, frame in frames if may_sum(kind, frame)
    }
    seen = block.seen if block.seen is not None and len(block.seen) else None
    records = None if seen is None else as_records(seen, cuts)
    return Sums(frames, width_us, span, inside, found, records)


def filled(block: EventBlock) -> list[pl.DataFrame]:
    """Return the frames of a block that hold anything: its records, its hot lines."""
    return [frame for frame in (block.seen, *block.hot.values()) if frame is not None and len(frame)]


def _span(block: EventBlock) -> tuple[int, int] | None:
    """Return the first and the last line of a block, None where it holds events alone."""
    ends: list[Any] = [end for one in filled(block) for end in (one["line"].min(), one["line"].max())]
    return (min(ends), max(ends)) if ends else None


def within(lines: Iterable[int], span: tuple[int, int]) -> tuple[int, ...]:
    """Return the lines that lie between two, in order."""
    return tuple(sorted({line for line in lines if span[0] <= line <= span[1]}))


def moved(rows: pl.DataFrame, before: int, times: int = 1) -> pl.DataFrame:
    """Return buckets or records with the boundary before them, buckets that are some times as wide."""
    place = rows["after_line"]
    columns = {column.name: column for column in rows} | {"after_line": place.set(place == NEVER, before)}
    if times > 1:
        columns["slot"] //= times
    return pl.DataFrame(list(columns.values()))
