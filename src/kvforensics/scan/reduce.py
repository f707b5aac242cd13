"""From the contents of a catalogue to launches, changes and findings: the reduce over all inputs.

Hosts that share no input are reduced apart, each group by a worker, so that memory is bounded by the largest
of such groups. The result depends on what was scanned, never on the order, the pieces or the machines in
which it was.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl

from kvforensics.assembly import analysis_of
from kvforensics.errors import NoLaunchError
from kvforensics.options import Options
from kvforensics.report import tables, timeline_json
from kvforensics.report.plain import plain
from kvforensics.scan.atomic import write_bytes, write_parquet
from kvforensics.scan.catalogue import Catalogue
from kvforensics.scan.engine import Here
from kvforensics.scan.manifest import DONE
from kvforensics.scan.together import settle
from kvforensics.scan.whole import (
    COVERAGE,
    NO_HOST,
    count_coverage,
    coverage_text,
    everything,
    groups,
    intake_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kvforensics.analysis import Analysis
    from kvforensics.events import Event
    from kvforensics.scan.engine import Engine
    from kvforensics.scan.manifest import Entry

SOURCES = {
    "path": pl.String,
    "input": pl.String,  # name of its files in events/ and runtime/
    "status": pl.String,  # done | failed
    "error": pl.String,  # why it failed
    "carrier": pl.String,
    "bytes": pl.Int64,
    "lines": pl.Int64,
    "records": pl.Int64,
    "repeated": pl.Int64,  # records that another input gave too; they are counted once
    "understood": pl.Int64,
    "unknown": pl.Int64,
    "first_at": pl.Datetime("us", "UTC"),
    "last_at": pl.Datetime("us", "UTC"),
    "damage": pl.String,  # kinds, joined by a blank
}
OWNER = {"host": pl.String, "unit": pl.String}
FEW_GROUPS = 8  # are reduced in this process
EDITOR = {"edited_by": pl.String}  # who last used sudo between the two starts


def reduce(catalogue: Catalogue, engine: Engine) -> dict[str, int]:
    """Settle what overlaps and write the tables of a catalogue anew; return their numbers of rows.

    A group of hosts that cannot be judged does not stop the others: its error is raised at the end.
    """
    settle(catalogue, engine)
    entries = everything(catalogue)
    counts, written, failure = _reduced(catalogue, engine, groups(entries))
    for name in tables.SCHEMAS:
        if not counts[name]:
            empty = catalogue.table(name) / f"host={NO_HOST}" / "part-0.parquet"
            write_parquet(pl.DataFrame(schema=_schema(name)).drop("host"), empty)
            written.add(str(empty))
        if failure is None:
            _remove_others(catalogue.table(name), written)
    sources = sources_table(catalogue)
    counts["sources"] = len(sources)
    write_parquet(sources, catalogue.table("sources") / "sources.parquet")
    write_bytes(coverage_text(count_coverage(catalogue, entries)).encode(), catalogue.folder / COVERAGE)
    catalogue.manifest.pack()
    catalogue.collect()
    if failure is not None:
        raise failure
    return counts


def reduce_group(folder: str, group: tuple[int, Sequence[Entry]]) -> tuple[dict[str, int], set[str]]:
    """Write what one group of hosts gives to every table; return the rows and the files. Runs in a worker.

    No other group has a launch of these hosts, so their files are this one's alone.
    """
    place = Path(folder)
    try:
        analysis = analysis_of(intake_of(Catalogue(place), group[1]), Options())
    except NoLaunchError:
        return {}, set()
    document = timeline_json.timeline(analysis)
    owners = pl.DataFrame(
        [(service["id"], service["host"], service["unit"]) for service in document["services"]],
        schema={"service": pl.String, **OWNER},
        orient="row",
    )
    counts: dict[str, int] = {}
    written: set[str] = set()
    for name in tables.SCHEMAS:
        table = tables.table(document, name).join(owners, on="service", how="left", maintain_order="left")
        table = _with_editors(table, analysis) if name == "changes" else table
        counts[name] = table.height
        written |= _write(table, name, place)
    return counts, written


def _reduced(
    catalogue: Catalogue, engine: Engine, grouped: Sequence[Sequence[Entry]]
) -> tuple[dict[str, int], set[str], Exception | None]:
    """Reduce each group; return the tables' numbers of rows, their files, and the first error."""
    counts = dict.fromkeys(tables.SCHEMAS, 0)
    written: set[str] = set()
    failure: Exception | None = None
    chosen = engine if len(grouped) >= FEW_GROUPS else Here()
    work = partial(reduce_group, str(catalogue.folder))
    for _, done, error in chosen.run(work, enumerate(grouped)):
        failure = failure or error
        rows, files = done if done is not None else ({}, set())
        written |= files
        for name, count in rows.items():
            counts[name] += count
    return counts, written, failure


def _schema(name: str) -> dict[str, Any]:
    return {**tables.SCHEMAS[name], **OWNER, **(EDITOR if name == "changes" else {})}


def sources_table(catalogue: Catalogue) -> pl.DataFrame:
    """Return one row an input of the catalogue, the failed ones with their reason; columns as SOURCES."""
    rows = [_row(entry) for entry in everything(catalogue)]
    texts: dict[str, Any] = {
        name: pl.String if name.endswith("_at") else dtype for name, dtype in SOURCES.items()
    }
    frame = pl.DataFrame(rows, schema=texts, orient="row")
    times = (
        pl.col(name).str.to_datetime(time_unit="us", time_zone="UTC") for name in ("first_at", "last_at")
    )
    return frame.with_columns(*times)


def _with_editors(changes: pl.DataFrame, analysis: Analysis) -> pl.DataFrame:
    rows = [
        (service.id, newer.id, _editor(service.trail, older.started_at, newer.started_at))
        for service in analysis.services
        for older, newer in pairwise(service.launches)
    ]
    schema = {"service": pl.String, "to": pl.String, **EDITOR}
    editors = pl.DataFrame(rows, schema=schema, orient="row")
    return changes.join(editors, on=["service", "to"], how="left", maintain_order="left")


def _editor(trail: Sequence[Event], since: datetime | None, until: datetime | None) -> str | None:
    if since is None or until is None:
        return None
    users = [
        str(event.fields["user"])
        for event in trail
        if event.kind == "sudo_command"
        and event.fields.get("user")
        and event.at
        and since <= event.at <= until
    ]
    return users[-1] if users else None


def _row(entry: Entry) -> tuple[object, ...]:
    source, counts = entry.source, entry.counts
    damage = sorted(source.get("damaged", {})) if entry.status == DONE else ["unreadable"]
    return (
        plain(entry.path),
        entry.piece,
        entry.status,
        plain(entry.error),
        source.get("carrier"),
        source.get("bytes"),
        source.get("lines"),
        counts.get("records"),
        source.get("repeated"),
        counts.get("understood"),
        counts.get("unknown"),
        source.get("first_at"),
        source.get("last_at"),
        " ".join(damage),
    )


def _write(table: pl.DataFrame, name: str, folder: Path) -> set[str]:
    """Write rows of a table as one file a host, each replaced whole; return the files."""
    written: set[str] = set()
    for part in table.partition_by("host", maintain_order=True):
        host = part["host"][0]
        where = NO_HOST if host is None else quote(host, safe="-._")
        file = folder / name / f"host={where}" / "part-0.parquet"
        write_parquet(part.drop("host"), file)
        written.add(str(file))
    return written


def _remove_others(target: Path, written: set[str]) -> None:
    """Remove a table's files of hosts that are gone."""
    for file in target.glob("host=*/*.parquet"):
        if str(file) not in written:
            file.unlink(missing_ok=True)
            if not any(file.parent.iterdir()):
                file.parent.rmdir()
