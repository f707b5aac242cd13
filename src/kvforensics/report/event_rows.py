"""Events as rows for other tools: JSON lines, CSV, Parquet (schema `kvforensics.events/1`)."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from kvforensics.events import BASE_SCHEMA, RANK_TAGS
from kvforensics.report.inert import inert
from kvforensics.report.plain import JSON, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.events import Event, EventBlock
    from kvforensics.records import Origins, Source

ROW_SCHEMA = pl.Schema(
    {
        "kind": pl.String(),
        "at": pl.Datetime("us"),  # UTC
        "path": pl.String(),
        "line": pl.Int64(),
        "cursor": pl.String(),
        "host": pl.String(),
        "unit": pl.String(),  # systemd unit or container
        "pid": pl.Int64(),
        **dict.fromkeys(RANK_TAGS, pl.Int32()),
        "fields": pl.String(),  # a JSON object
        "text": pl.String(),
    }
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rows(block: EventBlock, sources: list[Source], origins: Origins) -> Iterator[dict[str, Any]]:
    """Yield the events of a block in the order of their lines, one row each (`fields` still an object)."""
    found = [(event.source, event.line, _rare(event)) for event in block.rare]
    for kind, frame in block.hot.items():
        found += [(row["source"], row["line"], _hot(kind, row)) for row in frame.iter_rows(named=True)]
    for source, _, (origin, row) in sorted(found, key=lambda item: item[:2]):
        who = origins[origin]
        yield row | {
            "path": sources[source].path,
            "host": who.host,
            "unit": who.unit or who.container,
            "pid": who.pid,
        }


def json_line(row: dict[str, Any]) -> str:
    """Return a row as one line of strict JSON: rank tags that are not printed are left out."""
    said: JSON = {
        name: plain(value) for name, value in row.items() if value is not None or name not in RANK_TAGS
    }
    return json.dumps(said, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return rows as a frame of ROW_SCHEMA, the fields as JSON text."""
    flat = [
        row | {"fields": json.dumps(plain(row["fields"]), sort_keys=True, allow_nan=False)} for row in rows
    ]
    return pl.DataFrame(flat, schema=ROW_SCHEMA)


def csv(frame: pl.DataFrame, *, header: bool) -> str:
    """Return a frame as CSV: no cell is a spreadsheet's formula, no character steers a terminal."""
    columns = [name for name, kind in ROW_SCHEMA.items() if kind == pl.String() and name != "fields"]
    safe = frame.with_columns(pl.col(name).map_elements(_cell, return_dtype=pl.String()) for name in columns)
    return safe.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")).write_csv(
        include_header=header
    )


def write_parquet(frames: Iterable[pl.DataFrame], stream: IO[bytes]) -> None:
    """Write frames of ROW_SCHEMA as one Parquet file, a row group each, without holding them all."""

    def feed(*_: Any) -> Iterator[pl.DataFrame]:
        yield from frames

    register_io_source(feed, schema=ROW_SCHEMA).sink_parquet(stream)


def _cell(text: str) -> str:
    shown = inert(text)
    return f"'{shown}" if text.startswith(_FORMULA) else shown


def _rare(event: Event) -> tuple[int, dict[str, Any]]:
    row = {
        "kind": event.kind,
        "at": event.at,
        "line": event.line,
        "cursor": event.cursor,
        "fields": dict(event.fields),
        "text": event.text,
        **event.ranks._asdict(),
    }
    return event.origin, row


def _hot(kind: str, row: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    fields = {name: value for name, value in row.items() if name not in BASE_SCHEMA and value is not None}
    base = {name: row[name] for name in ("at", "line", *RANK_TAGS)}
    return row["origin"], {"kind": kind, "cursor": None, "fields": fields, "text": None, **base}
