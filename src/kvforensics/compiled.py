"""The compiled module of `scanner/*.c`, where it could be built.

It is never needed: what it does can be done without, only slower.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROGRAM = 9  # what this version asks of it; a module that was built for another version is not used
WANTED = "KVFORENSICS_NATIVE"  # environment: 0 does without
FIRST = "_first"  # the column of first rows
_RULES = {"first": "f", "last": "l", "min": "n", "max": "x", "sum": "s", "len": "c"}
_WIDE = (pl.Int64(), pl.Float64(), pl.Datetime("us"))


def module() -> Any:
    """Return the module, or None where there is none or the user does not want it."""
    return _module() if os.environ.get(WANTED, "1") != "0" else None


@cache
def _module() -> Any:
    try:
        from kvforensics import _scan  # noqa: PLC0415 - it may not have been built
    except ImportError:
        return None
    return _scan if PROGRAM == _scan.PROGRAM else None


class _Exported:
    """A column on its way to polars."""

    def __init__(self, capsules: tuple[Any, Any]) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        return self._capsules


def table(capsules: tuple[Any, Any], names: Sequence[str]) -> pl.DataFrame:
    """Return a table that the module made, its columns named."""
    made = pl.Series(_Exported(capsules)).struct.unnest()
    made.columns = names
    return made


def lines(pieces: tuple[bytes, ...]) -> pl.Series | None:
    r"""Return the lines of bytes that are cut anywhere, without their line ends (`\n` or `\r\n`).

    None where they are not UTF-8, and where there is no module.
    """
    scanner = module()
    found = None if scanner is None else scanner.lines(pieces)
    return None if found is None else column(found)


def column(capsules: tuple[Any, Any]) -> pl.Series:
    """Return a column that the module made."""
    return pl.Series(_Exported(capsules))


def beginnings(texts: pl.Series) -> list[str | None]:
    """Return the first two characters of texts, each pair once, or rather their first two bytes (ASCII)."""
    scanner = module()
    found = None if scanner is None else scanner.beginnings(texts.__arrow_c_stream__(None))
    if found is None:
        return texts.str.head(2).unique().to_list()
    return [found[at : at + 2].decode("latin-1").rstrip("\0") for at in range(0, len(found), 2)]


def are_printable(texts: pl.Series) -> bool:
    """Tell whether all texts are of printable ASCII alone; false also where only a slower look could tell."""
    scanner = module()
    return scanner is not None and bool(scanner.are_printable(texts.__arrow_c_stream__(None)))


def group(
    rows: pl.DataFrame, key: Sequence[str], orders: Sequence[str], wanted: Mapping[str, tuple[str, str, int]]
) -> pl.DataFrame:
    """Return what is told of each group that agrees in a key (`samples.grouping`); `FIRST`: its first row.

    `wanted`, by its name: a rule, its column, the place in `orders` of the column that tells first and last.
    """

    def stream(name: str) -> Any:
        return _wide(rows[name]).__arrow_c_stream__(None)

    told = [(_RULES[rule], stream(name) if name else None, order) for rule, name, order in wanted.values()]
    made = module().group(rows.height, tuple(map(stream, key)), tuple(map(stream, orders)), tuple(told))
    return table(made, [FIRST, *wanted])


def _wide(column: pl.Series) -> pl.Series:
    return column if column.dtype in _WIDE else column.cast(pl.Int64)
