"""The columns of a sample bucket: how a scheduler line becomes one, and how buckets are added up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.columns import constant
from kvforensics.events import BASE_SCHEMA, RANK_TAGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CLIENT_ERROR, SERVER_ERROR = 400, 500  # HTTP statuses from here on

LOAD = ("decode", "prefill")  # the kinds that have the columns of `*_max` and `*_last`
STRETCH = ["source", "after_line", "origin", *RANK_TAGS]
USAGES = ("usage", "full_usage", "swa_usage", "mamba_usage")
_LAST_OF = (*USAGES, "running", "queue", "tokens", "gen_tps", "status", "at")
SUMS = (
    "prefills",
    "decodes",
    "new_tokens",
    "cached_tokens",
    "gen_tps_sum",
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
        gen_tps_sum=tps.fill_null(0.0),
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
    if not buckets.height:
        return buckets.select([name for name in schema if name in key or name not in (*STRETCH, "slot")])
    same = {name for name in key if is_one(buckets[name])}
    empty = {name for name in buckets.columns if buckets[name].null_count() == buckets.height}
    empty |= {name for name in SUMS if is_one(buckets[name]) and not buckets[name][0]}
    rows = pl.DataFrame(
        [column for column in buckets if column.name not in empty and column.name not in same]
    )
    if not rows["last_line"].is_sorted():
        rows = rows.rechunk().sort("last_line", maintain_order=True)
    first_at = pl.col("first_at")
    if not rows["first_line"].is_sorted():  # buckets of load and of other lines lie across each other
        first_at = first_at.sort_by("first_line")
    rules = {
        "first_line": pl.col("first_line").min(),
        "last_line": pl.col("last_line").max(),
        "first_at": (first_at.drop_nulls() if buckets["first_at"].null_count() else first_at).first(),
        "last_at": _known(buckets, "last_at").last(),
        **{name: pl.col(name).max() for name in _MAXIMA},
        **{name: pl.col(name).min() for name in (*FIRSTS, *_FIRST_TIMES)},
        **{name: _known(buckets, name).last() for name in _LASTS},
        **{name: pl.col(name).sum() for name in SUMS},
    }
    wanted = {name: rule for name, rule in rules.items() if name not in empty}
    merged = grouped(rows, [name for name in key if name not in same], wanted)
    constants: dict[str, object] = {name: 0 if name in SUMS else None for name in rules if name in empty}
    constants |= {name: buckets[name][0] for name in same}
    return merged.with_columns(
        pl.lit(value, dtype=schema[name]).alias(name) for name, value in constants.items()
    ).select([name for name in schema if name in key or name in rules])


def grouped(rows: pl.DataFrame, key: Sequence[str], rules: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Return a row for each group that agrees in columns of whole numbers, in the order of first rows."""
    packed = packed_key([rows[name] for name in key])
    if packed is None:
        return rows.select(**rules)
    keyed = rows.hstack([packed.alias("_key")])
    firsts = {name: pl.col(name).first() for name in key}
    return keyed.group_by("_key", maintain_order=True).agg(**firsts, **rules)


def packed_key(columns: Sequence[pl.Series]) -> pl.Series | None:
    """Return one column that differs where any of some columns of whole numbers does; None for none.

    Rows are told apart by one number several times as fast as by several.
    """
    packed: pl.Series | None = None
    size = 1
    for column in columns:
        places, spread = _places(column.cast(pl.Int64))
        if size * spread >= 1 << 62:
            return pl.DataFrame([one.alias(str(at)) for at, one in enumerate(columns)]).to_struct()
        packed = places if packed is None else packed + places * size
        size *= spread
    return packed


def _places(column: pl.Series) -> tuple[pl.Series, int]:
    """Return whole numbers from 0 on that differ where a column's values do, and how many there may be."""
    ends: tuple[Any, Any] = (column.min(), column.max())
    least: int = ends[0]
    spread: int = ends[1] - least + 2
    if spread > 1 << 32:
        column, least = column.rank("dense").cast(pl.Int64), 1
        spread = column.n_unique() + 2
    if not column.null_count():
        return column - least, spread
    return column.fill_null(least - 1) - (least - 1), spread


def is_one(column: pl.Series) -> bool:
    """Whether a column holds one value in all its rows."""
    if column.null_count():
        return column.null_count() == len(column)
    return bool(column.min() == column.max())


def _known(rows: pl.DataFrame, name: str) -> pl.Expr:
    return pl.col(name).drop_nulls() if rows[name].null_count() else pl.col(name)


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
        **{name: pl.Float64() if name == "gen_tps_sum" else pl.Int64() for name in SUMS},
    }
