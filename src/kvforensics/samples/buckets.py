"""The columns of a sample bucket: how a scheduler line becomes one, and how buckets are added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kvforensics.columns import constant, is_one
from kvforensics.events import BASE_SCHEMA, RANK_TAGS
from kvforensics.samples.grouping import Rule, grouped

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST = 1e12  # tokens a second
CLIENT_ERROR, SERVER_ERROR = 400, 500  # HTTP statuses from here on

LOAD = ("decode", "prefill")  # the kinds that have the columns of `*_max` and `*_last`
ALIKE = (*LOAD, "access")  # kinds of which the greatest values are enough without the load over time
STRETCH = ["source", "after_line", "origin", *RANK_TAGS]
USAGES = ("usage", "full_usage", "swa_usage", "mamba_usage")
_LAST_OF = (*USAGES, "running", "queue", "tokens", "gen_tps", "status", "at")
SUMS = (
    "prefills",
    "decodes",
    "new_tokens",
    "cached_tokens",
    "gen_tps_milli",
    "gen_tps_lines",
    "retractions",
    "retracted",
    "refused_pool",
    "refused_context",
    "refused_pool_front",
    "refused_context_front",
    "access_ok",
    "access_client_error",
    "access_server_error",
)
FIRSTS = ("first_retraction", "first_refused_pool", "first_refused_context")
_FIRST_TIMES = tuple(f"{name}_at" for name in FIRSTS)
_MAXIMA = ("usage_max", "running_max", "queue_max")
_LASTS = ("tokens_last", "usage_last", "running_last", "queue_last")


_RULES = {
    "first_line": Rule("min", "first_line"),
    "last_line": Rule("max", "last_line"),
    "first_at": Rule("first", "first_at", order="first_line"),
    "last_at": Rule("last", "last_at", order="last_line"),
    **{name: Rule("max", name) for name in _MAXIMA},
    **{name: Rule("min", name) for name in (*FIRSTS, *_FIRST_TIMES)},
    **{name: Rule("last", name, order="last_line") for name in _LASTS},
    **{name: Rule("sum", name) for name in SUMS},
}

NEVER = -(1 << 62)  # stands before every line
MIXED = "mixed"  # no kind of line, but unified lines of several


def together(hot: Mapping[str, pl.DataFrame]) -> list[tuple[str, pl.DataFrame]]:
    """Return the hot frames of a block by kind, those of the load as MIXED where they must be one.

    That is where a line does not tell all that others of its kind do: the last line of all kinds counts then.
    """
    if all(is_even(hot[kind]) for kind in LOAD if kind in hot):
        return list(hot.items())
    load = [unify(kind, hot[kind]) for kind in LOAD if kind in hot]
    others = [(kind, frame) for kind, frame in hot.items() if kind not in LOAD]
    return [(MIXED, pl.concat(load).sort("line")), *others]


def is_even(frame: pl.DataFrame) -> bool:
    """Whether the last line of a frame of one kind says what all of its lines say."""
    columns = (frame[name] for name in _LAST_OF if name in frame.columns)
    return frame["line"].is_sorted() and all(one.null_count() in (0, frame.height) for one in columns)


def unify(kind: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Bring a hot frame of any kind to the columns that are summed up; what a kind lacks is null."""

    def has(*names: str) -> list[pl.Expr]:
        return [pl.col(n).cast(pl.Float64) for n in names if n in frame.columns]

    def whole(name: str, when: str) -> pl.Expr:
        here = kind == when and name in frame.columns
        return pl.col(name).cast(pl.Int64) if here else pl.lit(None, dtype=pl.Int64)

    def any_of(names: list[pl.Expr], dtype: type[pl.DataType]) -> pl.Expr:
        return pl.max_horizontal(names).cast(dtype) if names else pl.lit(None, dtype=dtype)

    load = kind in LOAD
    status = pl.col("status").cast(pl.Int64) if "status" in frame.columns else pl.lit(None, dtype=pl.Int64)
    tps = any_of(has("gen_tps") if kind == "decode" else [], pl.Float64)
    return frame.select(
        *(pl.col(name).cast(dtype) for name, dtype in BASE_SCHEMA.items()),
        prefills=pl.lit(int(kind == "prefill"), dtype=pl.Int64),
        decodes=pl.lit(int(kind == "decode"), dtype=pl.Int64),
        tokens=whole("tokens", "decode"),
        usage=any_of(has(*USAGES) if load else [], pl.Float64),
        running=any_of(has("running") if load else [], pl.Int64),
        queue=any_of(has("queue") if load else [], pl.Int64),
        new_tokens=whole("new_tokens", "prefill").fill_null(0),
        cached_tokens=whole("cached_tokens", "prefill").fill_null(0),
        gen_tps_milli=thousandths(tps).fill_null(0),
        gen_tps_lines=tps.is_not_null().cast(pl.Int64),
        retractions=pl.lit(int(kind == "retraction"), dtype=pl.Int64),
        retracted=whole("retracted", "retraction").fill_null(0),
        **_refusals(kind, frame),
        first_retraction=_line(kind == "retraction"),
        first_retraction_at=_time(kind == "retraction"),
        access_ok=_count(kind == "access", status < CLIENT_ERROR),
        access_client_error=_count(
            kind == "access", status.is_between(CLIENT_ERROR, SERVER_ERROR, closed="left")
        ),
        access_server_error=_count(kind == "access", status >= SERVER_ERROR),
    )


def to_parts(buckets: pl.DataFrame) -> pl.DataFrame:
    """Return buckets as they are kept: `gen_tps_sum` in tokens a second."""
    return buckets.with_columns(gen_tps_milli=pl.col("gen_tps_milli") / 1000).rename(
        {"gen_tps_milli": "gen_tps_sum"}
    )


def from_parts(parts: pl.DataFrame) -> pl.DataFrame:
    """Return buckets that were kept."""
    names = {"gen_tps_milli": thousandths(pl.col("gen_tps_sum"))}
    return parts.select(names.get(name, pl.col(name)).alias(name) for name in bucket_schema())


def thousandths(value: pl.Expr) -> pl.Expr:
    """Return a number in whole thousandths, of which sums are exact; it is taken for 10^12 at most."""
    return (value.clip(upper_bound=_MOST) * 1000).round().cast(pl.Int64)


def _line(applies: bool, test: pl.Expr | None = None) -> pl.Expr:
    if not applies:
        return pl.lit(None, dtype=pl.Int64)
    return pl.col("line") if test is None else pl.when(test).then(pl.col("line"))


def _time(applies: bool, test: pl.Expr | None = None) -> pl.Expr:
    if not applies:
        return pl.lit(None, dtype=pl.Datetime("us"))
    return pl.col("at") if test is None else pl.when(test).then(pl.col("at"))


def _count(applies: bool, test: pl.Expr) -> pl.Expr:
    return test.fill_null(value=False).cast(pl.Int64) if applies else pl.lit(0, dtype=pl.Int64)


def _refusals(kind: str, frame: pl.DataFrame) -> dict[str, pl.Expr]:
    """Count refusals by gate and layer: the engine prints one a rank, the HTTP front one a request."""
    refused = kind == "too_long"
    columns = frame.columns
    front = pl.col("layer").is_not_null() if "layer" in columns else pl.lit(value=False)
    gate = pl.col("gate").str.starts_with("pool") if "gate" in columns else pl.lit(None, dtype=pl.Boolean)
    pool = gate.fill_null(value=True)
    return {
        "refused_pool": _count(refused, pool & ~front),
        "refused_context": _count(refused, ~pool & ~front),
        "refused_pool_front": _count(refused, pool & front),
        "refused_context_front": _count(refused, ~pool & front),
        "first_refused_pool": _line(refused, pool),
        "first_refused_context": _line(refused, ~pool),
        "first_refused_pool_at": _time(refused, pool),
        "first_refused_context_at": _time(refused, ~pool),
    }


def placed(rows: pl.DataFrame, cuts: pl.Series) -> pl.DataFrame:
    """Return rows with the last of some lines, in order, that is not behind them; before all: the first."""
    if len(cuts) == 1:
        return rows.hstack([constant("after_line", cuts[0], pl.Int64(), rows.height)])
    index = cuts.search_sorted(rows["line"], side="right")
    at = (index.cast(pl.Int64) - 1).clip(lower_bound=0)
    return rows.with_columns(cuts.gather(at.cast(pl.UInt32)).alias("after_line"))


def as_buckets(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one bucket a row; rows are unified, with `after_line` and `slot`."""
    return rows.select(
        *STRETCH,
        "slot",
        first_line="line",
        last_line="line",
        first_at="at",
        last_at="at",
        usage_max="usage",
        running_max="running",
        queue_max="queue",
        tokens_last="tokens",
        usage_last="usage",
        running_last="running",
        queue_last="queue",
        **{name: pl.col(name) for name in (*FIRSTS, *_FIRST_TIMES, *SUMS)},
    ).select(list(bucket_schema()))


def merge_slots(buckets: pl.DataFrame) -> pl.DataFrame:
    """Add up buckets of the same writer, boundary and slot."""
    return merge(buckets, [*STRETCH, "slot"])


def merge(buckets: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Add up buckets that agree in `key`; the last value is that of the last line.

    Most columns of most logs hold one value or none: those are not looked at row by row.
    """
    schema = bucket_schema()
    names = [name for name in schema if name in key or name not in (*STRETCH, "slot")]
    if not buckets.height:
        return buckets.select(names)
    same = {name: buckets[name][0] for name in key if is_one(buckets[name])}
    empty: dict[str, object] = {name: None for name in _RULES if buckets[name].null_count() == buckets.height}
    empty |= {name: 0 for name in SUMS if is_one(buckets[name]) and not buckets[name][0]}
    rules = {name: rule for name, rule in _RULES.items() if name not in empty}
    merged = grouped(buckets, [name for name in key if name not in same], rules)
    constants: dict[str, object] = {**same, **empty}
    return pl.DataFrame(
        [
            constant(name, constants[name], schema[name], merged.height)
            if name in constants
            else merged[name]
            for name in names
        ]
    )


def bucket_schema() -> dict[str, pl.DataType]:
    """Return the columns of a bucket while it is added up."""
    return {
        "source": pl.UInt32(),
        "after_line": pl.Int64(),
        "origin": pl.UInt32(),
        **dict.fromkeys(RANK_TAGS, pl.Int32()),
        "slot": pl.Int64(),
        "first_line": pl.Int64(),
        "last_line": pl.Int64(),
        "first_at": pl.Datetime("us"),
        "last_at": pl.Datetime("us"),
        "usage_max": pl.Float64(),
        "running_max": pl.Int64(),
        "queue_max": pl.Int64(),
        "tokens_last": pl.Int64(),
        "usage_last": pl.Float64(),
        "running_last": pl.Int64(),
        "queue_last": pl.Int64(),
        **dict.fromkeys(FIRSTS, pl.Int64()),
        **dict.fromkeys(_FIRST_TIMES, pl.Datetime("us")),
        **dict.fromkeys(SUMS, pl.Int64()),
    }
