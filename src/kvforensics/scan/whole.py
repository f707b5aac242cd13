"""From the contents of a catalogue to an analysis: what `analyse` says of the same inputs read at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
from msgspec.structs import replace

from kvforensics import assembly, selection
from kvforensics.analysis import Coverage, Damaged, Shape
from kvforensics.errors import UsageError
from kvforensics.events import ShapeCount
from kvforensics.intake import Intake
from kvforensics.options import Options
from kvforensics.records import Place, Source
from kvforensics.scan import store
from kvforensics.scan.manifest import DONE
from kvforensics.scan.plan import walk_order
from kvforensics.scan.together import reading_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kvforensics.analysis import Analysis
    from kvforensics.records import Origins
    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.manifest import Entry

NO_HOST = "-"
COVERAGE = "coverage.json"


def analysis(catalogue: Catalogue, options: Options | None = None, service: str | None = None) -> Analysis:
    """Return one analysis of everything in a catalogue, or of one service of it.

    With `service` (its id, unit or host) only the inputs of hosts that share inputs with it are loaded; the
    sources and the coverage are of the whole catalogue nevertheless. Raises like `analysis.analyse`.
    """
    try:
        return _analysis(catalogue, options or Options(), service)
    except FileNotFoundError as error:
        raise UsageError(
            "the catalogue changed while it was read, or files of it are gone",
            where=str(error.filename or catalogue.folder),
            hint="try again when no scan is running; kvforensics scan puts back what is missing",
        ) from error


def _analysis(catalogue: Catalogue, wanted: Options, service: str | None) -> Analysis:
    entries = everything(catalogue)
    if service is None:
        return assembly.analysis_of(intake_of(catalogue, entries), wanted)
    near = _near(catalogue, entries, service)
    found = assembly.analysis_of(intake_of(catalogue, entries, near), wanted)
    chosen = selection.service(found, service)
    return replace(found, services=(chosen,), coverage=_coverage(catalogue, entries))


def everything(catalogue: Catalogue) -> list[Entry]:
    """Return all entries, the failed ones too, in the order in which a walk through folders meets them."""
    return sorted(catalogue.manifest.entries.values(), key=lambda entry: walk_order(entry.path))


def groups(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Split entries into groups that share no host; inputs without any host are one group."""
    leader: dict[str, str] = {}

    def find(host: str) -> str:
        while leader.setdefault(host, host) != host:
            host = leader[host]
        return host

    known = [entry for entry in entries if entry.status == DONE]
    for entry in known:
        first, *rest = hosts_of(entry)
        for host in rest:
            leader[find(host)] = find(first)
    found: dict[str, list[Entry]] = {}
    for entry in known:
        found.setdefault(find(hosts_of(entry)[0]), []).append(entry)
    return list(found.values())


def hosts_of(entry: Entry) -> list[str]:
    """Return the hosts of an entry, NO_HOST where nobody says who wrote."""
    return sorted({NO_HOST if host is None else host for host in entry.hosts}) or [NO_HOST]


def intake_of(catalogue: Catalogue, entries: Sequence[Entry], some: Iterable[Entry] | None = None) -> Intake:
    """Return the contents of inputs as if they had been read in one run, in the order of `entries`.

    With `some` only theirs are loaded, but all are sources.
    """
    place = {entry.path: number for number, entry in enumerate(entries)}
    merged = Intake()
    merged.sources = [_source(entry) for entry in entries]
    loaded = entries if some is None else some
    for entry in reading_order(entry for entry in loaded if entry.status == DONE):
        if entry.piece is not None:
            _add(merged, store.read(catalogue.folder, entry.piece, entry.path), place[entry.path])
    return merged


def coverage_text(coverage: Coverage) -> str:
    """Return a coverage as JSON, to be kept in the catalogue; damage follows from the sources."""
    shapes = [[each.shape, each.count, each.first.path, each.first.line] for each in coverage.unknown_shapes]
    counts = [coverage.records, coverage.understood, coverage.unknown]
    return json.dumps({"counts": counts, "shapes": shapes}, ensure_ascii=True)


def count_coverage(catalogue: Catalogue, entries: Sequence[Entry]) -> Coverage:
    """Return the coverage of all inputs, without their events."""
    counted = Intake()
    counted.sources = [_source(entry) for entry in entries]
    place = {entry.path: number for number, entry in enumerate(entries)}
    for entry in reading_order(entry for entry in entries if entry.status == DONE):
        counted.records += entry.counts["records"]
        counted.understood += entry.counts["understood"]
        counted.unknown += entry.counts["unknown"]
        if entry.counts["unknown"] and entry.piece is not None:
            for row in store.rest_of(catalogue.folder, entry.piece)["shapes"]:
                counted.count_shape(replace(ShapeCount(**row), source=place[entry.path]))
    return assembly.coverage(counted)


def _coverage(catalogue: Catalogue, entries: Sequence[Entry]) -> Coverage:
    """Return the coverage that the last reduce kept, where it is of these entries, else count it."""
    try:
        kept = json.loads((catalogue.folder / COVERAGE).read_bytes())
    except (OSError, ValueError):
        return count_coverage(catalogue, entries)
    done = [entry.counts for entry in entries if entry.status == DONE]
    counts = [sum(each[name] for each in done) for name in ("records", "understood", "unknown")]
    if counts != kept["counts"]:
        return count_coverage(catalogue, entries)
    quiet = Intake()
    quiet.sources = [_source(entry) for entry in entries]
    damaged: tuple[Damaged, ...] = assembly.coverage(quiet).damaged
    shapes = tuple(Shape(shape, count, Place(path, line)) for shape, count, path, line in kept["shapes"])
    return Coverage(counts[0], counts[1], counts[2], shapes, damaged)


def _near(catalogue: Catalogue, entries: Sequence[Entry], service: str) -> list[Entry]:
    """Return the entries of the group that holds a service; all where the table of launches does not tell."""
    try:
        launches = pl.read_parquet(
            f"{catalogue.table('launches')}/**/*.parquet",
            hive_partitioning=True,
            hive_schema={"host": pl.String},
            columns=["service", "unit", "host"],
        )
    except (OSError, pl.exceptions.PolarsError):
        return list(entries)
    short = pl.col("unit").str.strip_suffix(".service")
    named = (pl.col("service") == service) | (pl.col("unit") == service) | (short == service)
    hosts = set(launches.filter(named | (pl.col("host") == service))["host"].fill_null(NO_HOST))
    if not hosts:
        return list(entries)
    return [
        entry
        for group in groups(entries)
        if hosts & {h for e in group for h in hosts_of(e)}
        for entry in group
    ]


def _source(entry: Entry) -> Source:
    if entry.status == DONE:
        return store.source_of(entry.source, entry.path)
    source = Source(entry.path)
    source.add_damage("unreadable", 1)
    return source


def _add(merged: Intake, piece: Intake, index: int) -> None:
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
