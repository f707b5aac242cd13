"""From the contents of a catalogue to launches, changes and findings: the reduce over all inputs.

Hosts that share no input are reduced apart, so that memory is bounded by the largest of such groups. The
result depends on what was scanned, never on the order, the pieces or the machines in which it was.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import polars as pl

from kvforensics.assembly import analysis_of
from kvforensics.errors import NoLaunchError
from kvforensics.intake import Intake
from kvforensics.options import Options
from kvforensics.report import tables, timeline_json
from kvforensics.scan import store
from kvforensics.scan.atomic import PART, write_parquet
from kvforensics.scan.plan import walk_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from kvforensics.analysis import Analysis
    from kvforensics.records import Origins
    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.manifest import Entry

SOURCES = {
    "path": pl.String,
    "status": pl.String,
    "error": pl.String,
    "carrier": pl.String,
    "bytes": pl.Int64,
    "lines": pl.Int64,
    "records": pl.Int64,
    "understood": pl.Int64,
    "unknown": pl.Int64,
    "first_at": pl.String,
    "last_at": pl.String,
    "damage": pl.String,  # kinds, joined by a blank
    "key": pl.String,
}
_NO_HOST = "-"


def reduce(catalogue: Catalogue) -> dict[str, int]:
    """Write the tables of a catalogue anew; return their numbers of rows."""
    rows: dict[str, list[pl.DataFrame]] = {name: [] for name in tables.SCHEMAS}
    for analysis in analyses(catalogue):
        document = timeline_json.timeline(analysis)
        for name, frames in rows.items():
            hosts = [service["host"] for service in document["services"]]
            ids = [service["id"] for service in document["services"]]
            owners = pl.DataFrame(
                {"service": ids, "host": hosts}, schema={"service": pl.String, "host": pl.String}
            )
            frames.append(
                tables.table(document, name).join(owners, on="service", how="left", maintain_order="left")
            )
    counts = {}
    for name, frames in rows.items():
        schema = {**tables.SCHEMAS[name], "host": pl.String}
        table = pl.concat(frames) if frames else pl.DataFrame(schema=schema)
        counts[name] = len(table)
        _partition(table, catalogue.table(name))
    sources = sources_table(catalogue)
    counts["sources"] = len(sources)
    write_parquet(sources, catalogue.table("sources") / "sources.parquet")
    return counts


def analyses(catalogue: Catalogue, options: Options | None = None) -> Iterator[Analysis]:
    """Give an analysis for each group of hosts that share inputs, in the order of their first input."""
    for entries in groups(catalogue.manifest.done()):
        try:
            yield analysis_of(intake_of(catalogue, entries), options or Options())
        except NoLaunchError:
            continue


def whole(catalogue: Catalogue, options: Options | None = None) -> Analysis:
    """Return one analysis of everything: what `analyse` says of the same inputs read at once."""
    entries = sorted(catalogue.manifest.done(), key=lambda entry: walk_order(entry.path))
    return analysis_of(intake_of(catalogue, entries), options or Options())


def intake_of(catalogue: Catalogue, entries: Iterable[Entry]) -> Intake:
    """Return the contents of several inputs as if they had been read in one run, in this order."""
    merged = Intake()
    for entry in entries:
        if entry.key is not None:
            _add(merged, store.read(catalogue.folder, entry.key, entry.rest, entry.path))
    return merged


def groups(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Split entries into groups that share no host; inputs without any host are one group."""
    leader: dict[str, str] = {}

    def find(host: str) -> str:
        while leader.setdefault(host, host) != host:
            host = leader[host]
        return host

    known = sorted(entries, key=lambda entry: walk_order(entry.path))
    for entry in known:
        first, *rest = _hosts(entry)
        for host in rest:
            leader[find(host)] = find(first)
    found: dict[str, list[Entry]] = {}
    for entry in known:
        found.setdefault(find(_hosts(entry)[0]), []).append(entry)
    return list(found.values())


def sources_table(catalogue: Catalogue) -> pl.DataFrame:
    """Return one row an input of the catalogue, the failed ones with their reason; columns as SOURCES."""
    rows = []
    for entry in sorted(catalogue.manifest.entries.values(), key=lambda entry: walk_order(entry.path)):
        source = entry.rest.get("source", {})
        rows.append(
            (
                entry.path,
                entry.status,
                entry.error,
                source.get("carrier"),
                source.get("bytes"),
                source.get("lines"),
                *(entry.rest.get(name) for name in ("records", "understood", "unknown")),
                source.get("first_at"),
                source.get("last_at"),
                " ".join(sorted(source.get("damaged", {}))),
                entry.key,
            )
        )
    return pl.DataFrame(rows, schema=SOURCES, orient="row")


def _hosts(entry: Entry) -> list[str]:
    hosts = sorted({row[0] for row in entry.rest.get("origins", ()) if row[0] is not None})
    return hosts or [_NO_HOST]


def _add(merged: Intake, piece: Intake) -> None:
    index = len(merged.sources)
    merged.sources += piece.sources
    numbers = _interned(merged.origins, piece.origins)
    merged.events += [replace(each, source=index, origin=numbers[each.origin]) for each in piece.events]
    buckets, records, width_us = piece.samples.parts()
    merged.samples.restore(
        _renumbered(buckets, index, numbers), _renumbered(records, index, numbers), width_us
    )
    merged.records += piece.records
    merged.understood += piece.understood
    merged.unknown += piece.unknown
    for shape in piece.shapes.values():
        merged.count_shape(replace(shape, source=index))


def _interned(origins: Origins, others: Origins) -> list[int]:
    return [origins.intern(others[number]) for number in range(len(others))]


def _renumbered(frame: pl.DataFrame, index: int, numbers: Sequence[int]) -> pl.DataFrame:
    table = pl.DataFrame(
        {"origin": range(len(numbers)), "_new": numbers}, schema={"origin": pl.UInt32, "_new": pl.UInt32}
    )
    renamed = frame.join(table, on="origin", how="left", maintain_order="left")
    return renamed.with_columns(origin=pl.col("_new"), source=pl.lit(index, dtype=pl.UInt32)).select(
        frame.columns
    )


def _partition(table: pl.DataFrame, target: Path) -> None:
    """Replace a table's folder by a new one, a file a host; readers see the old one or the new one."""
    fresh = target.with_name(f".{target.name}.{uuid4().hex}{PART}")
    old = target.with_name(f".{target.name}.{uuid4().hex}.old{PART}")
    fresh.mkdir(parents=True)
    named = table.with_columns(pl.col("host").fill_null(_NO_HOST))
    for (host,), rows in named.group_by("host", maintain_order=True):
        write_parquet(rows.drop("host"), fresh / f"host={_folder(str(host))}" / "part-0.parquet")
    if named.is_empty():
        write_parquet(named.drop("host"), fresh / f"host={_NO_HOST}" / "part-0.parquet")
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _folder(host: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415

    return quote(host, safe="-._")
