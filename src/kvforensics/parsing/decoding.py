"""A layout as polars expressions: the slots of every text of its make, cut and typed at once.

The expressions are right only for texts that match `Layout.regex`; they look at nothing twice. Slots are
cut by one separator that the constants hold and no slot can, which is several times faster than a regular
expression with groups; that one remains for layouts without such a separator.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct

from kvforensics.parsing.layouts import Slot
from kvforensics.parsing.terminals import escaped, holds
from kvforensics.parsing.values import BOOLEANS, FLOATS, INTEGERS, TIMES, UNSIGNED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kvforensics.parsing.grammar import Grammar
    from kvforensics.parsing.layouts import Layout

Items = list[str | Slot]
_FITS = " fits"  # no column of a grammar can have this name


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
    frame, slots = _pieces(layout, texts)
    columns = [pl.lit(value).alias(column) for column, value in layout.constants]
    columns += [_typed(slot.terminal, piece).alias(str(slot.column)) for slot, piece in slots]
    # `select` alone would make one row of constants; beside a column they are as many as there are texts.
    named = [column for column, _ in layout.constants] + [str(slot.column) for slot, _ in slots]
    return frame.with_columns(columns).select(named) if columns else frame.select()


def decode_fitting(layout: Layout, texts: pl.Series) -> tuple[pl.DataFrame, pl.Series | None]:
    """Return the columns of a layout over any texts, and which of them fit it (None: all do).

    As `Layout.mask` and then `decode` would say, but that a text with a number beyond its type does not fit.
    Where one separator parts the slots each part is looked at by itself, which costs less than an
    expression over the whole text.
    """
    cut = _plan(layout)
    if cut is None or layout.rivals or layout.barred:
        fits = texts.to_frame("text").select(layout.mask(pl.col("text"))).to_series()
        read = decode(layout, texts if fits.all() else texts.filter(fits))
    else:
        read, fits = _decode_parts(layout, cut, texts)
    bad = _out_of_range(read)
    if bad is not None:
        fits = fits.scatter(fits.arg_true().filter(bad), values=False)
        read = read.filter(~bad)
    return read, None if fits.all() else fits


def _decode_parts(layout: Layout, cut: _Cut, texts: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    lead = layout.items[0] if isinstance(layout.items[0], str) else ""
    checks = [pl.lit(texts.str.starts_with(lead))] if lead else []
    columns = [pl.lit(value).alias(column) for column, value in layout.constants]
    for number, part in enumerate(cut.parts):
        text = pl.col(str(number))
        checks += _checks(text, part)
        columns += [_unsigned(slot, piece).alias(str(slot.column)) for slot, piece in _cut(text, part)]
    read = _parted(texts, lead, cut).select(*columns, pl.all_horizontal(checks).alias(_FITS))
    fits = read[_FITS].fill_null(value=False)
    read = read.drop(_FITS)
    return (read if fits.all() else read.filter(fits)), fits


def _checks(part: pl.Expr, items: Items) -> list[pl.Expr]:
    """Return what a part must pass, but for the cast of an unsigned number."""
    slot = next((item for item in items if isinstance(item, Slot)), None)
    if slot is None:
        return [part == "".join(str(item) for item in items)]
    at = items.index(slot)
    before, after = "".join(map(str, items[:at])), "".join(map(str, items[at + 1 :]))
    if slot.terminal in BOOLEANS:
        return [(part == f"{before}True{after}") | (part == f"{before}False{after}")]
    if slot.terminal in UNSIGNED and slot.column and not after:
        # A cast to an unsigned number takes digits, one plus sign before them, and nothing else.
        return [*([part.str.starts_with(before)] if before else []), ~part.str.starts_with(f"{before}+")]
    return [part.str.contains(f"^{escaped(before)}{slot.pattern}{escaped(after)}$")]


def _unsigned(slot: Slot, piece: pl.Expr) -> pl.Expr:
    if slot.terminal not in UNSIGNED:
        return _typed(slot.terminal, piece)
    return piece.cast(pl.UInt64, strict=False).cast(pl.Int64, strict=False)


def _out_of_range(read: pl.DataFrame) -> pl.Series | None:
    """Return which rows hold a number that its type does not, or None when none does."""
    wrong = [column.is_null() for column in read if column.dtype == pl.Int64 and column.null_count()]
    floats = (column.is_infinite() for column in read if column.dtype == pl.Float64)
    wrong += [infinite for infinite in floats if infinite.any()]
    return pl.select(pl.any_horizontal(wrong)).to_series() if wrong else None


def _parted(texts: pl.Series, lead: str, cut: _Cut) -> pl.DataFrame:
    """Return the parts of the texts as columns "0", "1" …; made once, since polars would split for each."""
    parts = texts.str.slice(len(lead)) if lead else texts
    struct = parts.str.splitn(cut.separator, len(cut.parts)).struct
    return struct.rename_fields([str(n) for n in range(len(cut.parts))]).struct.unnest()


def _pieces(layout: Layout, texts: pl.Series) -> tuple[pl.DataFrame, list[tuple[Slot, pl.Expr]]]:
    """Return a frame, and for each slot that is a column the expression that cuts it out of that frame."""
    items = list(layout.items)
    lead = items[0] if isinstance(items[0], str) else ""
    if lead:
        items = items[1:]
    cut = _best_cut(items) if len(items) > 1 and layout.has_columns else None
    if cut is not None:
        slots = [slot for n, part in enumerate(cut.parts) for slot in _cut(pl.col(str(n)), part)]
        return _parted(texts, lead, cut), slots
    return texts.to_frame("text"), list(_cut(pl.col("text").str.slice(len(lead)), items))


@lru_cache(maxsize=1024)
def _plan(layout: Layout) -> _Cut | None:
    """Return how to part the texts of a layout so that every part holds one slot at most, if that can be."""
    items = list(layout.items)
    items = items[1:] if isinstance(items[0], str) else items
    cut = _best_cut(items) if len(items) > 1 and layout.has_columns else None
    if cut is None or any(sum(isinstance(item, Slot) for item in part) > 1 for part in cut.parts):
        return None
    return cut


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


class _Cut(Struct, frozen=True):
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
