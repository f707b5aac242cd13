"""What one input held, as files that other tools can open: rare events, scheduler samples, and the rest.

`events/NAME.parquet` has one row a rare event, `runtime/month=YYYY-MM/NAME.parquet` one a sample bucket; both
carry their origin in plain columns, and `input` is the NAME, by which `sources` tells the path.
`pieces/NAME.parquet` is for the reduce alone: where records stood, and in its metadata everything else. It is
written last: with it the content is whole. What is written is read back as an `Intake` of one source that is
equal to the one written. `marks/KEY.parquet` is for telling inputs apart that hold the same records.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.events import RANK_TAGS, Event, Ranks, ShapeCount
from kvforensics.intake import Intake
from kvforensics.records import Damage, Origin, Origins, Source
from kvforensics.report.plain import plain
from kvforensics.scan.atomic import write_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

PUBLIC = ("events", "runtime")
DATASETS = ("events", "runtime", "pieces", "marks")
NO_MONTH = "unknown"  # of samples without a time; pandas cannot read Hive's null partition
ORIGIN_COLUMNS: dict[str, Any] = {
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
    "input": pl.String(),
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
    **ORIGIN_COLUMNS,
}
_REST = "kvforensics"  # name of the metadata
SLOT_AT = "slot_at"


def write(intake: Intake, folder: Path, name: str, extra: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Write an intake of one source under `folder` as `name`; return the months of its samples.

    `extra` is kept with it, see `rest_of`.
    """
    origins = _origins(intake.origins)
    write_parquet(_events(intake.events, name, origins), folder / "events" / f"{name}.parquet")
    buckets, records, width_us = intake.samples.parts()
    # how they were merged shows in the order of the rows, but nothing may depend on that
    buckets = buckets.sort("first_line", "last_line", "origin", *RANK_TAGS, "slot", nulls_last=False)
    records = records.sort("first_line", "origin")
    runtime = buckets.join(origins, on="origin", how="left", maintain_order="left").with_columns(
        pl.lit(name).alias("input"),
        (pl.col("slot") * width_us).cast(pl.Datetime("us")).alias(SLOT_AT),
    )
    month = runtime[SLOT_AT].dt.strftime("%Y-%m").fill_null(NO_MONTH).alias("month")
    months = sorted(month.unique())
    for each in months:
        file = folder / "runtime" / f"month={each}" / f"{name}.parquet"
        write_parquet(runtime.filter(month == each), file)
    rest = {
        "source": plain(intake.sources[0]),
        "origins": [list(intake.origins[number]) for number in range(len(intake.origins))],
        "width_us": width_us,
        "months": months,
        "records": intake.records,
        "understood": intake.understood,
        "unknown": intake.unknown,
        "shapes": [plain(shape) for shape in intake.shapes.values()],
        "extra": extra or {},
    }
    write_parquet(records, _piece(folder, name), {_REST: json.dumps(rest, sort_keys=True)})
    return tuple(months)


def read(folder: Path, name: str, path: str) -> Intake:
    """Return what `write` wrote; `path` is the name under which the input is known now."""
    intake, rest = Intake(), rest_of(folder, name)
    intake.sources.append(source_of(rest["source"], path))
    for row in rest["origins"]:
        intake.origins.intern(Origin(*row))
    events = pl.read_parquet(folder / "events" / f"{name}.parquet")
    intake.events += [_event(row) for row in events.iter_rows(named=True)]
    files = [folder / "runtime" / f"month={month}" / f"{name}.parquet" for month in rest["months"]]
    frames = [pl.read_parquet(file, hive_partitioning=False) for file in files]
    records = pl.read_parquet(_piece(folder, name))
    buckets = pl.concat(frames) if frames else intake.samples.parts()[0]
    intake.samples.restore(buckets, records, rest["width_us"])
    intake.records, intake.understood, intake.unknown = rest["records"], rest["understood"], rest["unknown"]
    for shape in rest["shapes"]:
        intake.shapes[shape["shape"]] = ShapeCount(**shape)
    return intake


def rest_of(folder: Path, name: str) -> dict[str, Any]:
    """Return what stands in a piece's metadata: source, origins, counts, shapes, `extra`."""
    metadata = pl.read_parquet_metadata(_piece(folder, name))
    rest: dict[str, Any] = json.loads(metadata[_REST])
    return rest


def is_whole(folder: Path, name: str, months: Iterable[str] | None = None) -> bool:
    """Tell whether everything that `write` writes is there. The months are looked up where not given."""
    if not (_piece(folder, name).exists() and (folder / "events" / f"{name}.parquet").exists()):
        return False
    known = rest_of(folder, name)["months"] if months is None else months
    return all((folder / "runtime" / f"month={month}" / f"{name}.parquet").exists() for month in known)


def write_marks(marks: pl.DataFrame | None, folder: Path, key: str) -> None:
    """Write the marks of an input; an empty file where it has no record."""
    write_parquet(
        marks if marks is not None else pl.DataFrame({"place": []}), folder / "marks" / f"{key}.parquet"
    )


def read_marks(folder: Path, key: str) -> pl.DataFrame | None:
    """Return the marks of an input; None where it has none."""
    try:
        marks = pl.read_parquet(folder / "marks" / f"{key}.parquet")
    except FileNotFoundError:
        return None
    return marks if marks.height else None


def event_row(event: Event) -> list[Any]:
    """Return an event as JSON can say it."""
    return [
        event.line,
        *(None if at is None else at.isoformat() for at in (event.at, event.inner_at)),
        event.mono,
        event.cursor,
        event.kind,
        plain(event.fields),
        event.text,
        list(event.ranks),
        event.origin,
    ]


def event_of(row: Sequence[Any]) -> Event:
    """Return the event that `event_row` wrote."""
    line, at, inner_at, mono, cursor, kind, fields, text, ranks, origin = row
    times = [None if time is None else datetime.fromisoformat(time) for time in (at, inner_at)]
    return Event(
        kind,
        fields,
        0,
        line,
        origin,
        times[0],
        times[1],
        mono=mono,
        cursor=cursor,
        ranks=Ranks(*ranks),
        text=text,
    )


def source_of(row: Mapping[str, Any], path: str) -> Source:
    """Return a source as it was counted, under the name `path`."""
    times = {name: _time(row[name]) for name in ("first_at", "last_at")}
    damaged = {kind: Damage(**damage) for kind, damage in row["damaged"].items()}
    return Source(**{**row, **times, "path": path, "layers": tuple(row["layers"]), "damaged": damaged})


def _piece(folder: Path, name: str) -> Path:
    return folder / "pieces" / f"{name}.parquet"


def _origins(origins: Origins) -> pl.DataFrame:
    rows = [(number, *origins[number]) for number in range(len(origins))]
    return pl.DataFrame(rows, schema={"origin": pl.UInt32(), **ORIGIN_COLUMNS}, orient="row")


def _events(events: Iterable[Event], name: str, origins: pl.DataFrame) -> pl.DataFrame:
    rows = [
        (
            name,
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
        for event in events
    ]
    schema = {name: dtype for name, dtype in EVENT_COLUMNS.items() if name not in ORIGIN_COLUMNS}
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


def _time(at: str | None) -> datetime | None:
    return None if at is None else datetime.fromisoformat(at).replace(tzinfo=None)
