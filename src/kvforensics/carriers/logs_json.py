"""JSON of shippers and clouds: lines, arrays, wrapped or printed over many lines."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.carriers.carrier import HEAD_LINES
from kvforensics.carriers.frames import record_frame
from kvforensics.carriers.journal_entries import EntryReader
from kvforensics.carriers.journal_fields import FieldEntries
from kvforensics.carriers.json_elements import ELEMENT_BYTES, Elements
from kvforensics.carriers.json_line import decode_values
from kvforensics.carriers.shippers import Entry, entries, is_shippers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head

LONG_HEAD = 64 << 10  # a single line of this size is cut: an array or a batch that cannot be decoded yet
_LONG_SCORE = 0.9
_SHIPPED = re.compile(
    rb'\s*\{\s*"(?:resourceLogs|streams|status|events|messageType|owner)"|\s*\[?\s*\{[^\n]{0,4096}?'
    rb'"(?:textPayload|jsonPayload|message|line|log|@message)"\s*:'
)
_TIMED = re.compile(rb'"(?:timeUnixNano|timestamp|@timestamp|time|date|values)"\s*:')


class LogsJson:
    """One record an entry. Journal fields inside of an entry are read as the journal's own."""

    name = "logs-json"

    def score(self, head: Head) -> float:
        """Return the share of the head's JSON entries that are a shipper's."""
        if not any(line.lstrip().startswith((b"{", b"[")) for line in head.lines):
            return 0.0
        lines = head.data.split(b"\n")
        if len(lines) == 1 and len(head.data) >= LONG_HEAD:
            return _LONG_SCORE if _SHIPPED.match(head.data) and _TIMED.search(head.data) else 0.0
        total = hits = 0
        for _, element in islice(Elements().feed(enumerate(lines, 1)), HEAD_LINES):
            total += 1
            hits += any(is_shippers(found) for found in decode_values(element))
        return hits / total if total else 0.0

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the entries; what is no entry becomes a record with its own text."""
        blocks.line_bytes = ELEMENT_BYTES
        elements = Elements()
        reader = EntryReader(context)
        for block in blocks:
            long = {block.line + row for row in block.long}
            lines = enumerate(block.data.removesuffix(b"\n").split(b"\n"), block.line)
            found = _entries(elements.feed(lines), long)
            if found:
                yield _frame(found, reader, context)
        found = _entries(elements.close(), set())
        if found:
            yield _frame(found, reader, context)


def _entries(elements: Iterator[tuple[int, bytes]], long: set[int]) -> list[tuple[int, Entry]]:
    made: list[tuple[int, Entry]] = []
    for line, data in elements:
        values = decode_values(data)
        before = len(made)
        made.extend((line, entry) for value in values for entry in entries(value))
        if len(made) == before and data.strip():
            text = data.decode(errors="replace").removesuffix("\r")
            broken = not values and data.lstrip().startswith((b"{", b"["))
            damage = "too_long_line" if line in long else "split_lost" if broken else None
            made.append((line, Entry(None, text[: 1 << 20], damage=damage)))
    return made


def _frame(found: list[tuple[int, Entry]], reader: EntryReader, context: Context) -> pl.DataFrame:
    """Build the frame of entries, those with journal fields by the journal's own reader, in their order."""
    own = [(row, line, entry) for row, (line, entry) in enumerate(found) if entry.journal is None]
    journal = [(row, line, entry) for row, (line, entry) in enumerate(found) if entry.journal is not None]
    frames: list[pl.DataFrame] = []
    if own:
        frames.append(_own_frame(own, context))
    if journal:
        rows: list[dict[str, Any]] = [entry.journal for _, _, entry in journal if entry.journal is not None]
        frame = reader.frame([line for _, line, _ in journal], FieldEntries(rows), {})
        frames.append(frame.with_columns(pl.Series("_row", [row for row, _, _ in journal], dtype=pl.Int64)))
    if len(frames) == 1:
        return frames[0].drop("_row")
    return pl.concat(frames, how="diagonal").sort("_row").drop("_row")


def _own_frame(own: list[tuple[int, int, Entry]], context: Context) -> pl.DataFrame:
    origins = [context.origins.intern(entry.origin) for _, _, entry in own]
    keys = [entry.key or f"origin {number}" for number, (_, _, entry) in zip(origins, own, strict=True)]
    frame = record_frame(
        context,
        {
            "line": [line for _, line, _ in own],
            "at": pl.Series([entry.at_us for _, _, entry in own], dtype=pl.Int64),
            "message": [entry.message for _, _, entry in own],
            "origin": origins,
            "damage": [entry.damage for _, _, entry in own],
            "_more": [entry.more for _, _, entry in own],
            "_key": keys,
        },
    )
    return frame.with_columns(pl.Series("_row", [row for row, _, _ in own], dtype=pl.Int64))
