"""Items: rare events, stretches of scheduler lines, and runs of other records, in one order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kvforensics.events import NO_RANKS, RANK_TAGS, Event, Ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    import polars as pl


class Item(Struct, eq=False):
    """One thing in a source. Exactly one of `event` and `hot` is set, or none for a run of records."""

    source: int
    line: int
    origin: int
    at: datetime | None
    last_line: int
    last_at: datetime | None
    event: Event | None = None
    hot: Mapping[str, Any] | None = None  # a row of Samples.stretches()
    run: Mapping[str, Any] | None = None  # a row of Samples.records()
    ranks: Ranks = NO_RANKS
    group: int | None = None  # process group, see processes.py

    @property
    def kind(self) -> str:
        """The event's kind, or `hot`, or `run`."""
        if self.event is not None:
            return self.event.kind
        return "run" if self.hot is None else "hot"

    @property
    def mono(self) -> int | None:
        """Monotonic clock of an event in microseconds."""
        return None if self.event is None else self.event.mono

    @property
    def after_line(self) -> int:
        """The boundary that a stretch or run follows."""
        row = self.hot or self.run
        return self.line if row is None else int(row["after_line"])


def by_source(
    events: Iterable[Event], stretches: pl.DataFrame | None, records: pl.DataFrame | None
) -> dict[int, list[Item]]:
    """Return the items of each source in the order in which it was read.

    That is the order of lines, or the reverse of it where the input was printed newest first.
    """
    told = list(events)
    signs = _directions(told, stretches, records)
    found: dict[int, list[tuple[int, int, Item]]] = {}
    for event in told:
        item = Item(event.source, event.line, event.origin, event.at, event.line, event.at, event)
        item.ranks = event.ranks
        found.setdefault(item.source, []).append((signs.get(event.source, 1) * event.line, 0, item))
    for row in () if stretches is None else stretches.iter_rows(named=True):
        item = _of_row(row)
        item.hot = row
        item.ranks = Ranks(**{tag: row[tag] for tag in RANK_TAGS})
        found.setdefault(item.source, []).append((row["first_line"], 1, item))
    for row in () if records is None else records.iter_rows(named=True):
        item = _of_row(row)
        item.run = row
        found.setdefault(item.source, []).append((row["first_line"], 2, item))
    return {
        source: [item for _, _, item in sorted(rows, key=lambda row: row[:2])]
        for source, rows in sorted(found.items())
    }


def _of_row(row: Mapping[str, Any]) -> Item:
    first, last = abs(row["first_line"]), abs(row["last_line"])
    return Item(row["source"], first, row["origin"], row["first_at"], last, row["last_at"])


def _directions(events: list[Event], *frames: pl.DataFrame | None) -> dict[int, int]:
    """Return -1 for each source whose lines were read backwards."""
    spans: dict[int, tuple[int, int]] = {}
    for event in events:
        first, _ = spans.get(event.source, (event.line, event.line))
        spans[event.source] = (first, event.line)
    signs = {source: -1 if last < first else 1 for source, (first, last) in spans.items()}
    for frame in frames:
        if frame is not None:
            for source, first in frame.select("source", "first_line").iter_rows():
                signs[source] = -1 if first < 0 else 1
    return signs
