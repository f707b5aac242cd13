"""Rows that agree in a key, added up: by the scanner's `group` where it could be built, else by polars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from kvforensics import compiled
from kvforensics.columns import is_one

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_ROW = "_row"


class Rule(NamedTuple):
    """What is told of a group: `first`, `last`, `min`, `max`, `sum` of a column without nulls, or `len`.

    The first and the last row are those with the least and the greatest value in `order`, by default the
    order of the rows.
    """

    name: str
    column: str = ""
    order: str | None = None


def grouped(rows: pl.DataFrame, key: Sequence[str], rules: Mapping[str, Rule]) -> pl.DataFrame:
    """Return a row for each group that agrees in columns of whole numbers, in the order of first rows.

    The columns of rules are whole numbers, times, or floats, of which no sum is taken.
    """
    if compiled.module() is None:
        return _by_expressions(rows, key, rules)
    orders = list(dict.fromkeys(rule.order for rule in rules.values() if rule.order))
    wanted = {
        name: (rule.name, rule.column, orders.index(rule.order) if rule.order else -1)
        for name, rule in rules.items()
    }
    found = compiled.group(rows, key, orders, wanted)
    firsts = found.drop_in_place(compiled.FIRST)
    return pl.DataFrame([*(rows[name].gather(firsts) for name in key), *found.get_columns()])


def _by_expressions(rows: pl.DataFrame, key: Sequence[str], rules: Mapping[str, Rule]) -> pl.DataFrame:
    rows = _sorted(rows.with_row_index(_ROW), rules)
    wanted = {name: _expression(rows, rule) for name, rule in rules.items()}
    wanted = {name: pl.col(name).first() for name in key} | wanted | {_ROW: pl.col(_ROW).min()}
    packed = packed_key([rows[name] for name in key if not is_one(rows[name])])
    if packed is None:
        return rows.select(**wanted).drop(_ROW)
    keyed = rows.hstack([packed.alias("_key")])
    return keyed.group_by("_key", maintain_order=True).agg(**wanted).sort(_ROW).drop("_key", _ROW)


def _sorted(rows: pl.DataFrame, rules: Mapping[str, Rule]) -> pl.DataFrame:
    """Return rows in the order that most rules ask for, where no rule asks for the one they are in."""
    orders = [rule.order for rule in rules.values() if rule.name in ("first", "last")]
    most = max(orders, key=orders.count, default=None)
    if most is None or None in orders or rows[most].is_sorted():
        return rows
    return rows.sort(most, maintain_order=True)


def _expression(rows: pl.DataFrame, rule: Rule) -> pl.Expr:
    if rule.name == "len":
        return pl.len().cast(pl.Int64)
    column = pl.col(rule.column)
    if rows[rule.column].dtype.is_integer():
        column = column.cast(pl.Int64)
    if rule.name in ("first", "last"):
        if rule.order is not None and not rows[rule.order].is_sorted():
            column = column.sort_by(rule.order, maintain_order=True)
        if rows[rule.column].null_count():
            column = column.drop_nulls()
    made: pl.Expr = getattr(column, rule.name)()
    return made


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
