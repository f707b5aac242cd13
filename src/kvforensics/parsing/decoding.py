"""A layout as polars expressions: the slots of every text of its make, cut and typed at once.

The expressions are right only for texts that match `Layout.regex`; they look at nothing twice. Slots are
cut by one separator that the constants hold and no slot can, which is several times faster than a regular
expression with groups; that one remains for layouts without such a separator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from kvforensics.parsing.grammar import BOOLEANS, FLOATS, INTEGERS, TIMES
from kvforensics.parsing.layouts import Slot
from kvforensics.parsing.terminals import escaped, holds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kvforensics.parsing.grammar import Grammar
    from kvforensics.parsing.layouts import Layout

Items = list[str | Slot]


def dtype_of(terminal: str) -> pl.DataType:
    """Return the type of a column by the name of its terminal; a tag's terminal is empty."""
    if terminal in INTEGERS:
        return pl.Int64()
    if terminal in FLOATS:
        return pl.Float64()
    if terminal in BOOLEANS:
        return pl.Boolean()
    return pl.Datetime("us") if terminal in TIMES else pl.String()


def schema_of(grammar: Grammar, kind: str) -> pl.Schema:
    """Return the columns of a kind with their types, in the order in which the grammar names them."""
    return pl.Schema({column: dtype_of(terminal) for column, terminal in grammar.columns[kind].items()})


def decode(layout: Layout, texts: pl.Series) -> pl.DataFrame:
    """Return the columns of a layout, over texts that match its `regex`.

    A number that its type does not hold comes out null or infinite: such a text is left to Lark.
    """
    items = list(layout.items)
    text = pl.col("text")
    if isinstance(items[0], str):
        text, items = text.str.slice(len(items[0])), items[1:]
    frame = texts.alias("text").to_frame()
    cut = _best_cut(items) if len(items) > 1 and layout.has_columns else None
    if cut is not None:
        # The parts are made once and then looked at: polars would split anew for every column.
        frame = frame.select(text.str.splitn(cut.separator, len(cut.parts)).alias("text"))
        frame = frame["text"].struct.rename_fields([str(n) for n in range(len(cut.parts))]).struct.unnest()
        slots = [slot for n, part in enumerate(cut.parts) for slot in _cut(pl.col(str(n)), part)]
    else:
        slots = list(_cut(text, items))
    columns = [pl.lit(value).alias(column) for column, value in layout.constants]
    columns += [_typed(slot.terminal, piece).alias(str(slot.column)) for slot, piece in slots]
    # `select` alone would make one row of constants; beside a column they are as many as there are texts.
    named = [column for column, _ in layout.constants] + [str(slot.column) for slot, _ in slots]
    return frame.with_columns(columns).select(named) if columns else frame.select()


def _typed(terminal: str, piece: pl.Expr) -> pl.Expr:
    if terminal in BOOLEANS:
        return piece == "True"
    if terminal in TIMES:
        return piece.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    dtype = dtype_of(terminal)
    return piece if dtype == pl.String() else piece.cast(dtype, strict=False)


def _cut(text: pl.Expr, items: Items) -> Iterator[tuple[Slot, pl.Expr]]:
    """Yield the slots that are columns, each with an expression for its text."""
    if not any(isinstance(item, Slot) and item.column for item in items):
        return
    if isinstance(items[0], str):
        text, items = text.str.slice(len(items[0])), items[1:]
    if isinstance(items[-1], str):
        text, items = text.str.strip_suffix(items[-1]), items[:-1]
    first = items[0]
    assert isinstance(first, Slot)
    if len(items) == 1:
        yield first, text
    elif first.width is not None:
        if first.column:
            yield first, text.str.head(first.width)
        yield from _cut(text.str.slice(first.width), items[1:])
    else:
        cut = _best_cut(items)
        if cut is None:
            yield from _by_groups(text, items)
            return
        parts = text.str.splitn(cut.separator, len(cut.parts))
        for number, part in enumerate(cut.parts):
            if part:
                yield from _cut(parts.struct[number], part)


def _by_groups(text: pl.Expr, items: Items) -> Iterator[tuple[Slot, pl.Expr]]:
    pattern = "".join(
        escaped(item) if isinstance(item, str) else f"({item.pattern})" if item.column else item.pattern
        for item in items
    )
    groups = text.str.extract_groups(f"^{pattern}$")
    named = [item for item in items if isinstance(item, Slot) and item.column]
    for number, slot in enumerate(named):
        yield slot, groups.struct[number]


@dataclass(frozen=True, slots=True)
class _Cut:
    """A separator, and the items that stand between its occurrences."""

    separator: str
    parts: list[Items]


def _best_cut(items: Items) -> _Cut | None:
    """Return the separator that takes most constants apart; the last slot may hold it, no other may."""
    before = [item for item in items[:-1] if isinstance(item, Slot)]
    barred = frozenset[str]().union(*(slot.characters for slot in before))
    best: tuple[int, int, int] | None = None
    cut: _Cut | None = None
    for separator in sorted(_separators([item for item in items if isinstance(item, str)])):
        if any(holds(barred, char) for char in separator) or not _last_is_safe(items, separator):
            continue
        parts = _parts(items, separator)
        widest = max(sum(isinstance(item, Slot) for item in part) for part in parts)
        rank = (-widest, -len(parts), len(separator))
        if len(parts) > 1 and (best is None or rank > best):
            best, cut = rank, _Cut(separator, parts)
    return cut


def _separators(constants: Sequence[str]) -> set[str]:
    return {c[at : at + size] for c in constants for size in (1, 2) for at in range(len(c) - size + 1)}


def _last_is_safe(items: Items, separator: str) -> bool:
    """Tell whether the separator cannot begin in the constant before a last slot and end in that slot."""
    before, last = items[-2:]
    if isinstance(last, str) or isinstance(before, Slot):
        return True
    return not (len(separator) > 1 and before.endswith(separator[:-1]))


def _parts(items: Items, separator: str) -> list[Items]:
    parts: list[Items] = [[]]
    for item in items:
        if isinstance(item, Slot):
            parts[-1].append(item)
            continue
        pieces = item.split(separator)
        for number, piece in enumerate(pieces):
            if number:
                parts.append([])
            if piece:
                parts[-1].append(piece)
    return parts
