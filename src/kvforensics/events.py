"""The event: one typed fact read out of a record by a grammar.

Rare kinds (start-up, trouble, systemd) become `Event` objects; the kinds a scheduler writes by the
million (`grammars/scheduler.lark`) stay polars frames, one a kind, whose columns are `BASE_SCHEMA`
plus the columns that the grammar names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

BURST_GAP_US = 5_000_000  # records further apart than this are not one burst
RANK_TAGS = ("dp", "pp", "attn_cp", "moe_dp", "tp", "ep")

BASE_SCHEMA = pl.Schema(
    {
        "source": pl.UInt32(),
        "line": pl.Int64(),
        "at": pl.Datetime("us"),  # UTC: the carrier's time, else the inner one through --tz
        "origin": pl.UInt32(),
        **dict.fromkeys(RANK_TAGS, pl.Int32()),
    }
)

SEEN_SCHEMA = pl.Schema(
    {
        "source": pl.UInt32(),
        "line": pl.Int64(),
        "at": pl.Datetime("us"),  # as in BASE_SCHEMA; null where neither carrier nor line has a time
        "origin": pl.UInt32(),
        "records": pl.Int64(),  # it, and those left out before it since they say no more than others
        "ours": pl.Int64(),  # those surely SGLang's: a prefix with a rank, or before a line that it prints
    }
)


class Ranks(NamedTuple):
    """The rank tags of a prefix; None where the tag is not printed."""

    dp: int | None = None
    pp: int | None = None
    attn_cp: int | None = None
    moe_dp: int | None = None
    tp: int | None = None
    ep: int | None = None


NO_RANKS = Ranks()


class Event(Struct, frozen=True):
    """One rare fact. `fields` holds what the grammar's columns say, with units in their names."""

    kind: str
    fields: Mapping[str, Any]
    source: int
    line: int
    origin: int
    at: datetime | None = None  # naive UTC
    inner_at: datetime | None = None  # the time SGLang printed, zone unknown
    mono: int | None = None
    cursor: str | None = None
    ranks: Ranks = NO_RANKS
    text: str | None = None  # the line itself (redacted, at most 4,096 characters), for evidence


class ShapeCount(Struct):
    """An unknown line shape: how often, and where first."""

    shape: str
    count: int
    source: int
    first_line: int


class EventBlock(Struct):
    """What one block of records said: rare events in line order, hot frames by kind, coverage."""

    rare: list[Event] = field(default_factory=list)
    hot: dict[str, pl.DataFrame] = field(default_factory=dict)
    records: int = 0
    understood: int = 0
    unknown: int = 0
    shapes: dict[str, ShapeCount] = field(default_factory=dict)
    # The records of the block, one a row (SEEN_SCHEMA), so that launches know their first and last
    # record and a server that logs nothing else is not overlooked. None: the driver makes do without.
    seen: pl.DataFrame | None = None
