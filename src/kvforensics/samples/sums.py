"""Lines of one kind added up to buckets at once, over the columns that the kind has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kvforensics.columns import constant, is_one
from kvforensics.samples.buckets import (
    CLIENT_ERROR,
    SERVER_ERROR,
    STRETCH,
    SUMS,
    USAGES,
    bucket_schema,
    is_even,
    thousandths,
)
from kvforensics.samples.grouping import Rule, grouped

if TYPE_CHECKING:
    from collections.abc import Callable


class _Told(NamedTuple):
    """What is told of the lines of a kind: rules, and the further columns that they need."""

    rules: dict[str, Rule]
    made: list[pl.Series]


_COMMON = {
    "first_line": Rule("first", "line"),
    "last_line": Rule("last", "line"),
    "first_at": Rule("first", "at"),
    "last_at": Rule("last", "at"),
}


def may_sum(kind: str, rows: pl.DataFrame) -> bool:
    """Whether `summed` adds up such rows as if line by line."""
    return kind in _TOLD and is_even(rows)


def summed(kind: str, rows: pl.DataFrame, width_us: int) -> pl.DataFrame:
    """Add up the lines of one kind, in their order, with `after_line`; columns are even."""
    rules, made = _TOLD[kind](rows)
    slot = (rows["at"].to_physical() // width_us).alias("slot")
    keyed = rows.hstack([slot, *made])
    key = [*STRETCH, "slot"]
    same = {name: keyed[name][0] for name in key if is_one(keyed[name])}
    found = grouped(keyed, [name for name in key if name not in same], {**_COMMON, **rules})
    constants: dict[str, object] = dict.fromkeys(SUMS, 0) | same

    def column(name: str, dtype: pl.DataType) -> pl.Series:
        return found[name] if name in found else constant(name, constants.get(name), dtype, found.height)

    return pl.DataFrame([column(*item) for item in bucket_schema().items()])


def _columns(rows: pl.DataFrame, *names: str) -> list[pl.Series]:
    """Return those of some columns that the lines name."""
    return [rows[name] for name in names if name in rows.columns and not rows[name].null_count()]


def _of_load(rows: pl.DataFrame) -> _Told:
    told = _Told({}, [])
    for column in _columns(rows, "running", "queue"):
        name = column.name
        told.rules.update({f"{name}_max": Rule("max", name), f"{name}_last": Rule("last", name)})
    usages = _columns(rows, *USAGES)
    if usages:
        usage = pl.DataFrame(usages).max_horizontal() if len(usages) > 1 else usages[0]
        told.made.append(usage.alias("most_used"))
        told.rules.update(usage_max=Rule("max", "most_used"), usage_last=Rule("last", "most_used"))
    return told


def _of_decode(rows: pl.DataFrame) -> _Told:
    told = _of_load(rows)
    told.rules["decodes"] = Rule("len")
    if _columns(rows, "tokens"):
        told.rules["tokens_last"] = Rule("last", "tokens")
    if _columns(rows, "gen_tps"):
        told.made.append(rows.select(milli=thousandths(pl.col("gen_tps")))["milli"])
        told.rules.update(gen_tps_milli=Rule("sum", "milli"), gen_tps_lines=Rule("len"))
    return told


def _of_prefill(rows: pl.DataFrame) -> _Told:
    told = _of_load(rows)
    told.rules["prefills"] = Rule("len")
    counters = [name for name in ("new_tokens", "cached_tokens") if name in rows.columns]
    told.rules.update({name: Rule("sum", name) for name in counters})
    return told


def _of_access(rows: pl.DataFrame) -> _Told:
    status = rows["status"]
    if not status.null_count() and status.max() < CLIENT_ERROR:  # type: ignore[operator]
        return _Told({"access_ok": Rule("len")}, [])
    kinds = {
        "access_ok": status < CLIENT_ERROR,
        "access_client_error": status.is_between(CLIENT_ERROR, SERVER_ERROR, closed="left"),
        "access_server_error": status >= SERVER_ERROR,
    }
    made = [answers.cast(pl.Int64).alias(name) for name, answers in kinds.items()]
    return _Told({name: Rule("sum", name) for name in kinds}, made)


_TOLD: dict[str, Callable[[pl.DataFrame], _Told]] = {
    "decode": _of_decode,
    "prefill": _of_prefill,
    "access": _of_access,
}
