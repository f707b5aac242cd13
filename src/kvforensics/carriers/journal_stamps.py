"""The time stamps of journalctl's short family, as columns.

Each form has a pattern whose first group is the stamp, and a reader that turns the stamps of a block into the
columns `at` (UTC), `_local` (no zone), `_wall` (no year) or `mono`. Seen with systemd 247, 252 and 257.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct

from kvforensics.carriers.months import month
from kvforensics.carriers.zones import abbreviation_offset, fixed_offset

if TYPE_CHECKING:
    from collections.abc import Callable

_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_SECOND = len("2026-11-30T18:23:14")
_LAST_SECOND = 1 << 35  # about systemd's bound of a valid time


class Stamp(Struct, frozen=True):
    """One form of time stamp; `pattern` stands at the beginning of a line, without the space that follows."""

    name: str
    pattern: str
    read: Callable[[pl.Series, str], dict[str, pl.Series]]  # stamps and the user's zone to columns


def _short(stamps: pl.Series, _zone: str) -> dict[str, pl.Series]:
    wall = ("2000 " + stamps).str.to_datetime("%Y %b %d %H:%M:%S%.f", strict=False, time_unit="us")
    if wall.null_count():
        wall = wall.zip_with(wall.is_not_null(), _localised(stamps))
    return {"_wall": wall}


def _localised(stamps: pl.Series) -> pl.Series:
    parts = stamps.to_frame("stamp").select(
        pl.col("stamp").str.extract(r"^\s*(\S+)", 1).alias("month"),
        pl.col("stamp").str.extract(r"^\s*\S+\s+(.*)$", 1).alias("rest"),
    )
    names = parts["month"].drop_nulls().unique()
    numbers = pl.Series([month(name) for name in names], dtype=pl.Int64).cast(pl.String)
    parts = parts.with_columns(pl.col("month").replace_strict(names, numbers, default=None))
    text = parts.select("2000 " + pl.col("month") + " " + pl.col("rest")).to_series()
    return text.str.to_datetime("%Y %m %d %H:%M:%S%.f", strict=False, time_unit="us")


def _full(stamps: pl.Series, zone: str) -> dict[str, pl.Series]:
    parts = stamps.to_frame("stamp").select(
        pl.col("stamp").str.extract(rf"({_DATE} {_CLOCK}(?:\.[0-9]+)?)", 1).alias("local"),
        pl.col("stamp").str.extract(r" ([^ ]+)$", 1).alias("zone"),
    )
    local = parts["local"].str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")

    def offsets(names: pl.Series) -> pl.Series:
        return pl.Series([abbreviation_offset(name, zone) for name in names], dtype=pl.Duration("us"))

    return {"at": local - _mapped(parts["zone"], offsets)}


def _iso(stamps: pl.Series, _zone: str) -> dict[str, pl.Series]:
    return {"at": _mapped(stamps.str.head(_SECOND), _seconds) - _mapped(stamps.str.slice(_SECOND), _offsets)}


def _iso_precise(stamps: pl.Series, _zone: str) -> dict[str, pl.Series]:
    at = _mapped(stamps.str.head(_SECOND), _seconds) - _mapped(stamps.str.slice(_SECOND + 7), _offsets)
    fraction = stamps.str.slice(_SECOND + 1, 6).cast(pl.Int64, strict=False)
    return {"at": at + fraction.cast(pl.Duration("us"))}


def _seconds(texts: pl.Series) -> pl.Series:
    return texts.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="us")


def _offsets(texts: pl.Series) -> pl.Series:
    return pl.Series([fixed_offset(text) for text in texts], dtype=pl.Duration("us"))


def _mapped(texts: pl.Series, read: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Read each distinct text once."""
    distinct = texts.drop_nulls().unique()
    values = read(distinct)
    return texts.replace_strict(distinct, values, default=None, return_dtype=values.dtype)


def _unix(stamps: pl.Series, _zone: str) -> dict[str, pl.Series]:
    return {"at": _microseconds(stamps).cast(pl.Datetime("us"))}


def _monotonic(stamps: pl.Series, _zone: str) -> dict[str, pl.Series]:
    return {"mono": _microseconds(stamps.str.extract(r"([0-9]+\.[0-9]{6})", 1))}


def _microseconds(seconds: pl.Series) -> pl.Series:
    parts = seconds.str.split_exact(".", 1).struct.unnest()
    whole = parts["field_0"].cast(pl.Int64, strict=False)
    whole = whole.set((whole < 0) | (whole >= _LAST_SECOND), None)
    return whole * 1_000_000 + parts["field_1"].cast(pl.Int64, strict=False)


_MONTH = r"\p{L}{2,7}\.?|[0-9]{1,2}[月월]"
TRADITIONAL = rf"[A-Z][a-z]{{2}} [ 0-9][0-9] {_CLOCK}"
STAMPS: tuple[Stamp, ...] = (
    Stamp("short", TRADITIONAL, _short),
    Stamp("short-precise", TRADITIONAL + r"\.[0-9]{6}", _short),
    Stamp("short-iso", rf"{_DATE}T{_CLOCK}[+-][0-9]{{2}}:?[0-9]{{2}}", _iso),
    Stamp("short-iso-precise", rf"{_DATE}T{_CLOCK}\.[0-9]{{6}}[+-][0-9]{{2}}:?[0-9]{{2}}", _iso_precise),
    Stamp("short-full", rf"[^\s0-9\[]{{1,6}} {_DATE} {_CLOCK}(?:\.[0-9]{{6}})? [A-Za-z0-9+-]{{1,6}}", _full),
    Stamp("short-unix", r"[0-9]{9,11}\.[0-9]{6}", _unix),
    Stamp("short-monotonic", r"\[ *[0-9]+\.[0-9]{6}\]", _monotonic),
    Stamp("short-delta", r"\[ *[0-9]+\.[0-9]{6} +(?:<[ 0-9.*]+>)?\]", _monotonic),
    Stamp("short, localised", rf" ?(?:{_MONTH}) +[0-9]{{1,2}} {_CLOCK}(?:\.[0-9]{{6}})?", _short),
)
