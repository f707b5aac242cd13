"""The load of a service over time: what its ranks logged about the same moments, as one row a bucket.

Every view of running requests and token usage draws from here, so that they agree: ranks of one data-parallel
group print about the same requests, so the largest figure over them counts; groups serve different ones and
are added. Usage is the largest of any rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kvforensics.events import RANK_TAGS

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis

SCHEMA = pl.Schema(
    {
        "launch": pl.String(),
        "slot_at": pl.Datetime("us"),  # start of the bucket, UTC
        "usage": pl.Float64(),  # share of the pool, the largest of the bucket
        "running": pl.Int64(),  # requests, the most of the bucket
        "queue": pl.Int64(),
    }
)

PRESSURE = pl.Schema(
    {
        "launch": pl.String(),
        "at": pl.Datetime("us"),  # of the first such line of the bucket, UTC
        "source": pl.UInt32(),  # and where it stands
        "line": pl.Int64(),
        "kind": pl.String(),  # retraction | pool | context: by what requests were refused
        "requests": pl.Int64(),
    }
)
_LINES = {
    "retraction": "first_retraction",
    "pool": "first_refused_pool",
    "context": "first_refused_context",
}


def load(analysis: Analysis, service: str) -> pl.DataFrame:
    """Return the load of a service by launch and bucket (SCHEMA), in order of time."""
    if analysis.samples is None:
        return pl.DataFrame(schema=SCHEMA)
    figures = {"usage": "usage_max", "running": "running_max", "queue": "queue_max"}
    return (
        analysis.samples.filter(service=service)
        .drop_nulls(["launch", "slot_at"])
        .filter(pl.any_horizontal(pl.col(*figures.values()).is_not_null()))
        .group_by("launch", "slot_at", "dp")
        .agg(pl.col(column).max().alias(name) for name, column in figures.items())
        .group_by("launch", "slot_at")
        .agg(pl.col("usage").max(), *(_added(name) for name in ("running", "queue")))
        .sort("slot_at", "launch")
        .select(list(SCHEMA))
    )


def pressure(analysis: Analysis, service: str) -> pl.DataFrame:
    """Return where requests were retracted or refused (PRESSURE), a row a bucket and kind, in order of time.

    Each request counts once, whatever several ranks or layers print about it.
    """
    if analysis.samples is None:
        return pl.DataFrame(schema=PRESSURE)
    mine = analysis.samples.filter(service=service).drop_nulls(["launch", "slot_at"])
    bucket = ["launch", "slot_at"]
    by_engine = (
        mine.group_by(*bucket, *RANK_TAGS)
        .agg(pl.col("retracted", "refused_pool", "refused_context").sum())
        .group_by(*bucket, "dp")
        .agg(pl.col("retracted", "refused_pool", "refused_context").max())
        .group_by(bucket)
        .agg(pl.col("retracted", "refused_pool", "refused_context").sum())
    )
    by_front = mine.group_by(bucket).agg(
        pl.col("refused_pool_front", "refused_context_front").sum(),
        *(_first_of(line, kind) for kind, line in _LINES.items()),
    )
    both = by_engine.join(by_front, on=bucket)
    counts = {
        "retraction": pl.col("retracted"),
        "pool": pl.max_horizontal("refused_pool", "refused_pool_front"),
        "context": pl.max_horizontal("refused_context", "refused_context_front"),
    }
    found = [
        both.filter(count > 0).select("launch", kind=pl.lit(kind), requests=count, place=kind).unnest("place")
        for kind, count in counts.items()
    ]
    return pl.concat(found).drop_nulls("at").select(list(PRESSURE)).cast(PRESSURE).sort("at", "line", "kind")


def _first_of(line: str, kind: str) -> pl.Expr:
    """Give the place and time of the first line of a kind as a struct."""
    told = pl.struct("source", line=pl.col(line), at=pl.col(f"{line}_at"))
    return told.filter(pl.col(line).is_not_null()).sort_by(pl.col(line).drop_nulls()).first().alias(kind)


def _added(name: str) -> pl.Expr:
    """Add over groups, null where none has a figure."""
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum())
