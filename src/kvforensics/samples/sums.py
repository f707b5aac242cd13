"""Lines of one kind added up to buckets at once, over the columns that the kind has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kvforensics.columns import constant
from kvforensics.samples.buckets import (
    CLIENT_ERROR,
    SERVER_ERROR,
    STRETCH,
    SUMS,
    USAGES,
    bucket_schema,
    grouped,
    is_even,
    is_one,
)

if TYPE_CHECKING:
    from collections.abc import Callable


_COUNTERS: tuple[str, ...] = ("new_tokens", "cached_tokens")


def may_sum(kind: str, rows: pl.DataFrame) -> bool:
    """Whether `summed` adds up such rows as if line by line."""
    return kind in _SUMMED and is_even(rows)


def summed(kind: str, rows: pl.DataFrame, width_us: int) -> pl.DataFrame:
    """Add up the lines of one kind, in their order, with `after_line`; columns are even."""
    keyed = rows.hstack([(rows["at"].to_physical() // width_us).alias("slot")])
    key = [*STRETCH, "slot"]
    same = {name for name in key if is_one(keyed[name])}
    differing = [name for name in key if name not in same]
    rules = {**_COMMON, **_SUMMED[kind](rows)}
    made = grouped(keyed, differing, rules)
    constants: dict[str, object] = {name: keyed[name][0] for name in same} | dict.fromkeys(SUMS, 0)

    def column(name: str, dtype: pl.DataType) -> pl.Series:
        if name in rules or name in differing:
            return made[name] if made[name].dtype == dtype else made[name].cast(dtype)
        return constant(name, constants.get(name), dtype, made.height)

    return pl.DataFrame([column(*item) for item in bucket_schema().items()])


_COMMON = {
    "first_line": pl.col("line").first(),
    "last_line": pl.col("line").last(),
    "first_at": pl.col("at").first(),
    "last_at": pl.col("at").last(),
}


def _of_load(rows: pl.DataFrame) -> dict[str, pl.Expr]:
    usages = [name for name in USAGES if name in rows.columns and rows[name].null_count() == 0]
    found: dict[str, pl.Expr] = {}
    if usages:
        usage = pl.max_horizontal(usages) if len(usages) > 1 else pl.col(usages[0])
        found |= {"usage_max": usage.max(), "usage_last": usage.last()}
    for name in ("running", "queue"):
        if name in rows.columns and rows[name].null_count() == 0:
            found |= {f"{name}_max": pl.col(name).max(), f"{name}_last": pl.col(name).last()}
    return found


def _of_decode(rows: pl.DataFrame) -> dict[str, pl.Expr]:
    found = {"decodes": pl.len(), **_of_load(rows)}
    if "tokens" in rows.columns and rows["tokens"].null_count() == 0:
        found["tokens_last"] = pl.col("tokens").last()
    if "gen_tps" in rows.columns and rows["gen_tps"].null_count() == 0:
        found |= {"gen_tps_sum": pl.col("gen_tps").sum(), "gen_tps_lines": pl.len()}
    return found


def _of_prefill(rows: pl.DataFrame) -> dict[str, pl.Expr]:
    counters = [name for name in _COUNTERS if name in rows.columns]
    sums = {name: pl.col(name).cast(pl.Int64).sum() for name in counters}
    return {"prefills": pl.len(), **_of_load(rows), **sums}


def _of_access(rows: pl.DataFrame) -> dict[str, pl.Expr]:
    status = pl.col("status")
    if "status" not in rows.columns or rows["status"].null_count():
        return {
            "access_ok": (status < CLIENT_ERROR).sum(),
            "access_client_error": status.is_between(CLIENT_ERROR, SERVER_ERROR, closed="left").sum(),
            "access_server_error": (status >= SERVER_ERROR).sum(),
        }
    least, most = rows["status"].min(), rows["status"].max()
    if most < CLIENT_ERROR:  # type: ignore[operator]
        return {"access_ok": pl.len()}
    found = {"access_ok": (status < CLIENT_ERROR).sum()} if least < CLIENT_ERROR else {}  # type: ignore[operator]
    found["access_client_error"] = status.is_between(CLIENT_ERROR, SERVER_ERROR, closed="left").sum()
    if most >= SERVER_ERROR:  # type: ignore[operator]
        found["access_server_error"] = (status >= SERVER_ERROR).sum()
    return found


_SUMMED: dict[str, Callable[[pl.DataFrame], dict[str, pl.Expr]]] = {
    "decode": _of_decode,
    "prefill": _of_prefill,
    "access": _of_access,
}
