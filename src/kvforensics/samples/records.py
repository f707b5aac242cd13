"""Runs of records, whatever they say: where they stand, when the last burst of them began."""

from __future__ import annotations

import polars as pl

from kvforensics.columns import constant, is_one
from kvforensics.events import BURST_GAP_US
from kvforensics.samples.buckets import placed

_SEEN_KEY = ["source", "after_line", "origin"]


def records_schema() -> dict[str, pl.DataType]:
    """Return the columns of a run of records."""
    return {
        "source": pl.UInt32(),
        "after_line": pl.Int64(),
        "origin": pl.UInt32(),
        "first_line": pl.Int64(),
        "last_line": pl.Int64(),
        "first_at": pl.Datetime("us"),
        "last_at": pl.Datetime("us"),
        "burst_at": pl.Datetime("us"),
        "burst_line": pl.Int64(),
        "records": pl.Int64(),
        "ours": pl.Int64(),
    }


def as_records(seen: pl.DataFrame, cuts: pl.Series) -> pl.DataFrame:
    """Return the runs of a block's records (`events.SEEN_SCHEMA`) between boundaries, in order."""
    if seen.height and is_one(seen["source"]) and is_one(seen["origin"]) and seen["line"].is_sorted():
        return _of_one(seen, cuts)
    one = placed(seen, cuts).select(
        *_SEEN_KEY,
        first_line="line",
        last_line="line",
        first_at="at",
        last_at="at",
        burst_at="at",
        burst_line="line",
        records="records",
        ours="ours",
    )
    return merge_records(one)


def _of_one(seen: pl.DataFrame, cuts: pl.Series) -> pl.DataFrame:
    """Return the runs of one writer's records, in their order, by the rows where runs begin and end."""
    line, timed = seen["line"], seen["at"].is_not_null()
    at, line_at = (seen["at"], line) if timed.all() else (seen["at"].filter(timed), line.filter(timed))
    begin, end = _edges(line, cuts)
    first, behind = _edges(line_at, cuts)
    gaps = (at.to_physical().diff().abs() > BURST_GAP_US).arg_true().cast(pl.Int64)
    last_gap = gaps.search_sorted(behind, "left").cast(pl.Int64) - 1
    gap = gaps.gather(last_gap.set(last_gap < 0, None))
    burst = pl.DataFrame([first.alias("first"), gap.alias("gap")]).max_horizontal()
    empty = first >= behind
    first, last, burst = (one.set(empty, None) for one in (first, behind - 1, burst))
    spans = list(zip(begin, end, strict=True))
    sums = {name: [seen[name][start:stop].sum() for start, stop in spans] for name in ("records", "ours")}
    found = {
        "source": constant("source", seen["source"][0], pl.UInt32(), len(cuts)),
        "after_line": cuts,
        "origin": constant("origin", seen["origin"][0], pl.UInt32(), len(cuts)),
        "first_line": line.gather(begin.set(begin >= end, None)),
        "last_line": line.gather((end - 1).set(begin >= end, None)),
        "first_at": at.gather(first),
        "last_at": at.gather(last),
        "burst_at": at.gather(burst),
        "burst_line": line_at.gather(burst),
        **sums,
    }
    return pl.DataFrame(found, schema=records_schema()).filter(pl.col("records") > 0)


def _edges(lines: pl.Series, cuts: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return where the lines behind each boundary begin and end; those before the first are behind it too."""
    begins = lines.search_sorted(cuts[1:], "left").cast(pl.Int64)
    zero, height = pl.Series([0], dtype=pl.Int64), pl.Series([len(lines)], dtype=pl.Int64)
    return zero.append(begins), begins.clone().append(height)


def merge_records(rows: pl.DataFrame) -> pl.DataFrame:
    """Add up rows of one key; each row is a run of records whose last burst is known."""
    if not rows.height:
        return rows.select(list(records_schema()))
    ordered = rows.select(list(records_schema()))
    if not ordered["first_line"].is_sorted():
        ordered = ordered.sort("first_line", maintain_order=True)
    alone = all(is_one(ordered[name]) for name in _SEEN_KEY)
    before = pl.col("last_at").forward_fill().shift(1)
    before = before if alone else before.over(_SEEN_KEY, order_by="first_line")
    gap = (pl.col("first_at") - before).dt.total_microseconds().abs() > BURST_GAP_US
    own = pl.col("burst_at") != pl.col("first_at")  # the run itself holds a gap
    starts = (gap | own | before.is_null()) & pl.col("burst_at").is_not_null()
    marked = ordered.with_columns(starts.fill_null(value=False).alias("_starts"))
    rules = (
        pl.col("first_line").min(),
        pl.col("last_line").max(),
        pl.col("first_at").drop_nulls().first(),
        pl.col("last_at").drop_nulls().last(),
        pl.col("burst_at").filter(pl.col("_starts")).last(),
        pl.col("burst_line").filter(pl.col("_starts")).last(),
        pl.col("records").sum(),
        pl.col("ours").sum(),
    )
    if alone:
        merged = marked.select(*(pl.col(name).first() for name in _SEEN_KEY), *rules)
    else:
        merged = marked.group_by(_SEEN_KEY, maintain_order=True).agg(rules)
    return merged.select(list(records_schema()))
