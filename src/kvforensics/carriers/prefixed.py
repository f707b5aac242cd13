"""Lines that begin with a prefix: one regular expression takes a whole block of them apart at once.

The patterns are written for Python's `re` and polars' Rust engine alike: named groups, no look-around,
`[0-9]` for digits.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kvforensics.carriers.blocks import Block
    from kvforensics.records import Origins

ANSI = r"(?:\x1b\[[0-9;]*m)"
STAMP = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)  # RFC 3339 with a zone, up to nanoseconds

_MOST_ORIGINS = 100_000  # a hostile input may name a new one on each line; those above share one
_NAME_CHARACTERS = 256


def compiled(pattern: str) -> re.Pattern[bytes]:
    """Compile a pattern of this package for the bytes of a head; `.` matches all but a line end."""
    return re.compile(pattern.encode())


def share(lines: Iterable[bytes], *patterns: re.Pattern[bytes]) -> float:
    """Return which part of the lines (0 to 1) begins with any of the patterns."""
    hits = total = 0
    for line in lines:
        total += 1
        hits += any(pattern.match(line) for pattern in patterns)
    return hits / total if total else 0.0


def peel(lines: pl.Series, pattern: str) -> pl.DataFrame:
    """Return the named groups of a pattern as columns, all null where a line does not match."""
    groups = pl.col("text").str.extract_groups(pattern).alias("groups")
    return lines.alias("text").to_frame().select(groups).unnest("groups")


def utc(stamps: pl.Series) -> pl.Series:
    """Turn RFC 3339 stamps into naive UTC; null where the text is no moment (a 31st of June)."""
    times = stamps.str.strptime(pl.Datetime("us", "UTC"), "%+", strict=False)
    return times.dt.replace_time_zone(None).alias("at")


def peeled_messages(parts: pl.DataFrame, lines: pl.Series) -> pl.Series:
    """Return the `message` group, and the whole line where the pattern did not match."""
    return pl.select(pl.coalesce(parts["message"], lines.alias("text"))).to_series().alias("message")


def raw_messages(block: Block, prefix: re.Pattern[bytes]) -> list[bytes | None] | None:
    """Return what follows the prefix in lines that are not UTF-8 (a piece may hold half a character)."""
    invalid = block.invalid()
    if not invalid:
        return None
    lines = block.data.removesuffix(b"\n").split(b"\n")
    raw: list[bytes | None] = [None] * len(lines)
    for row in invalid:
        raw[row] = prefix.sub(b"", lines[row].removesuffix(b"\r"), count=1)
    return raw


def origin_numbers(origins: Origins, fields: Mapping[str, pl.Series]) -> pl.Series:
    """Intern one origin a row; `fields` maps names of `Origin` to series, what is missing is unknown."""
    rows = pl.DataFrame(dict(fields))
    distinct = rows.unique(maintain_order=True)
    numbers = [
        origins.intern(_origin(values) if len(origins) < _MOST_ORIGINS else Origin())
        for values in distinct.iter_rows(named=True)
    ]
    known = distinct.with_columns(pl.Series("origin", numbers, dtype=pl.UInt32))
    joined = rows.join(known, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["origin"]


def _origin(values: Mapping[str, str | int | None]) -> Origin:
    return Origin(
        **{
            name: value[:_NAME_CHARACTERS] if isinstance(value, str) else value
            for name, value in values.items()
        }  # type: ignore[arg-type]
    )
