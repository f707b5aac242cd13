"""What one input held, as files that other tools can open: rare events, scheduler samples, and the rest.

`events/KEY.parquet` has one row a rare event, `runtime/KEY.parquet` one a sample bucket; both carry their
origin in plain columns. `pieces/KEY.parquet` is for the reduce alone: where records stood. What is written
is read back as an `Intake` of one source that is equal to the one written.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.events import RANK_TAGS, Event, Ranks, ShapeCount
from kvforensics.intake import Intake
from kvforensics.records import Damage, Origin, Origins, Source
from kvforensics.report.plain import plain
from kvforensics.scan.atomic import write_parquet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DATASETS = ("events", "runtime", "pieces")
_ORIGIN = {
    "host": pl.String(),
    "unit": pl.String(),
    "container": pl.String(),
    "ident": pl.String(),
    "pid": pl.Int64(),
    "invocation": pl.String(),
    "stream": pl.String(),
    "boot": pl.String(),
    "cmdline": pl.String(),
}
EVENT_COLUMNS: dict[str, Any] = {
    "path": pl.String(),
    "line": pl.Int64(),
    "at": pl.Datetime("us"),
    "inner_at": pl.Datetime("us"),
    "mono": pl.Int64(),
    "cursor": pl.String(),
    "kind": pl.String(),
    "fields": pl.String(),  # JSON object
    "text": pl.String(),
    **dict.fromkeys(RANK_TAGS, pl.Int32()),
    "origin": pl.UInt32(),  # number of the origin within this input
    **_ORIGIN,
}


def write(intake: Intake, folder: Path, key: str) -> dict[str, Any]:
    """Write an intake of one source under `folder`; return the rest of it, as JSON, for the manifest."""
    source = intake.sources[0]
    origins = _origins(intake.origins)
    write_parquet(_events(intake, source, origins), folder / "events" / f"{key}.parquet")
    buckets, records, width_us = intake.samples.parts()
    runtime = buckets.with_columns(pl.lit(source.path).alias("path")).join(
        origins, on="origin", how="left", maintain_order="left"
    )
    write_parquet(runtime, folder / "runtime" / f"{key}.parquet")
    write_parquet(records, folder / "pieces" / f"{key}.parquet")
    return {
        "source": plain(asdict(source)),
        "origins": [list(intake.origins[number]) for number in range(len(intake.origins))],
        "width_us": width_us,
        "records": intake.records,
        "understood": intake.understood,
        "unknown": intake.unknown,
        "shapes": [asdict(shape) for shape in intake.shapes.values()],
    }


def read(folder: Path, key: str, rest: Mapping[str, Any], path: str) -> Intake:
    """Return what `write` wrote; `path` is the name under which the input is known now."""
    intake = Intake()
    intake.sources.append(_source(rest["source"], path))
    for row in rest["origins"]:
        intake.origins.intern(Origin(*row))
    intake.events += [_event(row) for row in _load(folder, "events", key).iter_rows(named=True)]
    buckets = _load(folder, "runtime", key).drop("path", *_ORIGIN)
    intake.samples.restore(buckets, _load(folder, "pieces", key), rest["width_us"])
    intake.records, intake.understood, intake.unknown = rest["records"], rest["understood"], rest["unknown"]
    for shape in rest["shapes"]:
        intake.shapes[shape["shape"]] = ShapeCount(**shape)
    return intake


def _load(folder: Path, dataset: str, key: str) -> pl.DataFrame:
    return pl.read_parquet(folder / dataset / f"{key}.parquet")


def _origins(origins: Origins) -> pl.DataFrame:
    rows = [(number, *origins[number]) for number in range(len(origins))]
    return pl.DataFrame(rows, schema={"origin": pl.UInt32(), **_ORIGIN}, orient="row")


def _events(intake: Intake, source: Source, origins: pl.DataFrame) -> pl.DataFrame:
    rows = [
        (
            source.path,
            event.line,
            event.at,
            event.inner_at,
            event.mono,
            event.cursor,
            event.kind,
            json.dumps(plain(event.fields), ensure_ascii=False),
            event.text,
            *event.ranks,
            event.origin,
        )
        for event in intake.events
    ]
    schema = {name: dtype for name, dtype in EVENT_COLUMNS.items() if name not in _ORIGIN}
    return pl.DataFrame(rows, schema=schema, orient="row").join(
        origins, on="origin", how="left", maintain_order="left"
    )


def _event(row: Mapping[str, Any]) -> Event:
    return Event(
        kind=row["kind"],
        fields=json.loads(row["fields"]),
        source=0,
        line=row["line"],
        origin=row["origin"],
        at=row["at"],
        inner_at=row["inner_at"],
        mono=row["mono"],
        cursor=row["cursor"],
        ranks=Ranks(*(row[tag] for tag in RANK_TAGS)),
        text=row["text"],
    )


def _source(row: Mapping[str, Any], path: str) -> Source:
    times = {name: _time(row[name]) for name in ("first_at", "last_at")}
    damaged = {kind: Damage(**damage) for kind, damage in row["damaged"].items()}
    return Source(**{**row, **times, "path": path, "layers": tuple(row["layers"]), "damaged": damaged})


def _time(at: str | None) -> datetime | None:
    return None if at is None else datetime.fromisoformat(at).replace(tzinfo=None)
