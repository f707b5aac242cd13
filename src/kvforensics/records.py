"""The record: one message out of a carrier, and what the carrier knows of its origin.

A record frame holds a block of records as polars columns. What changes slowly (host, unit, process,
invocation) is interned in an `Origins` table and named by number, so that a block of ten million
lines carries one small integer for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import polars as pl
from msgspec import Struct, field

if TYPE_CHECKING:
    from datetime import datetime

RECORD_SCHEMA = pl.Schema(
    {
        "source": pl.UInt32(),  # index into the run's sources
        "line": pl.Int64(),  # 1-based physical line on which the record starts, decompressed text
        "at": pl.Datetime("us"),  # carrier's time in UTC, null where the carrier has none
        "mono": pl.Int64(),  # microseconds of the machine's monotonic clock, or null
        "origin": pl.UInt32(),  # index into Origins
        "message": pl.String(),  # as the program wrote it; null where the carrier lost it (see damage)
        "cursor": pl.String(),  # journal cursor, or null
        "extra": pl.String(),  # JSON object of the journal fields of systemd's own records, or null
        "damage": pl.String(),  # kind of damage (contract: coverage.damaged), or null
    }
)

LEFT_SCHEMA = pl.Schema(  # which a frame has beside the others where lines of it were left out
    {
        "left_out": pl.Int64(),  # records left out before this one
        "left_headed": pl.Int64(),  # those of them with a prefix
    }
)


class Thinned(NamedTuple):
    """What is left of some lines once those are left out that say no more than others."""

    texts: pl.Series
    rows: pl.Series  # their places
    left_out: pl.Series  # lines left out before each
    left_headed: pl.Series  # those of them with a prefix
    height: int  # of all lines


class Thinner(Protocol):
    """Whoever knows which lines of plain text say no more than others."""

    @property
    def may_thin(self) -> bool:
        """Whether enough is known by now."""
        ...

    def thinned(self, pieces: tuple[bytes, ...], /) -> Thinned | None:
        """Return what is left of whole lines, cut anywhere; None: all of them. Any thread may ask."""
        ...


class Origin(NamedTuple):
    """Who wrote a record, as far as the carrier tells. Everything may be unknown."""

    host: str | None = None
    unit: str | None = None  # systemd unit (user units: the user unit's name)
    container: str | None = None  # container, pod/container or compose service
    ident: str | None = None  # syslog identifier, e.g. python3, systemd, sudo, kernel
    pid: int | None = None  # writing process, not the main one
    invocation: str | None = None  # systemd invocation id: one per start of the unit
    stream: str | None = None  # journal stream id, or stdout/stderr of a container
    boot: str | None = None  # boot id of the machine
    cmdline: str | None = None  # the process's command line, secrets already redacted


class Origins:
    """Interned origins: `intern` gives the number of an origin, indexing gives it back."""

    def __init__(self) -> None:
        self._ids: dict[Origin, int] = {}
        self._all: list[Origin] = []

    def intern(self, origin: Origin) -> int:
        """Return the number of this origin, new or known."""
        known = self._ids.get(origin)
        if known is None:
            known = self._ids[origin] = len(self._all)
            self._all.append(origin)
        return known

    def __getitem__(self, number: int) -> Origin:
        return self._all[number]

    def __len__(self) -> int:
        return len(self._all)


class Place(Struct, frozen=True):
    """Where a fact stands in the input."""

    path: str  # as the user typed it; a member of an archive is archive.tar!member
    line: int  # 1-based physical line in the decompressed text
    cursor: str | None = None  # journal cursor


class Source(Struct):
    """One input and what was counted while it was read; counters grow, the rest is fixed on opening."""

    path: str
    carrier: str = "plain"
    layers: tuple[str, ...] = ()  # carriers nested inside the outermost one
    bytes: int = 0
    lines: int = 0
    records: int = 0
    repeated: int = 0  # of those, records that another input had given already; they are counted once
    first_at: datetime | None = None
    last_at: datetime | None = None
    time_basis: str = "none"  # carrier | inner | none
    damaged: dict[str, Damage] = field(default_factory=dict)

    def add_damage(self, kind: str, line: int, count: int = 1) -> None:
        """Count damage of one kind, keeping the first place."""
        known = self.damaged.get(kind)
        if known is None:
            self.damaged[kind] = Damage(kind, count, line)
        else:
            known.count += count
            known.first_line = min(known.first_line, line)


class Damage(Struct):
    """How often one kind of damage was met in a source, and where first."""

    kind: str
    count: int
    first_line: int
