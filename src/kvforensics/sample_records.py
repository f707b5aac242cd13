"""Runs of records, whatever they say: where they stand, when the last burst of them began."""

from __future__ import annotations

import polars as pl

from kvforensics.events import SEEN_SCHEMA
from kvforensics.sample_buckets import is_one

BURST_GAP_US = 5_000_000  # records further apart than this are not one burst
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


def as_records(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the runs of a block's records (`events.SEEN_SCHEMA` with `after_line`)."""
    if rows.height and all(is_one(rows[name]) for name in _SEEN_KEY):
        return _one_run(rows)
    one = rows.select(*SEEN_SCHEMA, "after_line").select(
        *_SEEN_KEY,
        first_line="line",
        last_line="line",
        first_at="at",
        last_at="at",
        burst_at="at",
        burst_line="line",
        records=pl.lit(1, dtype=pl.Int64),
        ours=pl.col("ours").fill_null(value=False).cast(pl.Int64),
    )
    return merge_records(one)


def _one_run(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the run of records of one writer, in their order."""
    at, line = rows["at"], rows["line"]
    timed = at.is_not_null()
    times, places = (at, line) if timed.all() else (at.filter(timed), line.filter(timed))
    gaps = (times.to_physical().diff().abs() > BURST_GAP_US).arg_true()
    burst = int(gaps[-1]) if len(gaps) else 0
    found = {
        **{name: rows[name][0] for name in _SEEN_KEY},
        "first_line": line.min(),
        "last_line": line.max(),
        **dict.fromkeys(("first_at", "last_at", "burst_at", "burst_line")),
        "records": rows.height,
        "ours": int(rows["ours"].sum()),
    }
    if len(times):
        found |= {"first_at": times[0], "last_at": times[-1]}
        found |= {"burst_at": times[burst], "burst_line": places[burst]}
    return pl.DataFrame({name: [value] for name, value in found.items()}, schema=records_schema())


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
