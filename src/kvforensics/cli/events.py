"""`kvforensics events`."""

import sys
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from kvforensics.cli import options as opt
from kvforensics.cli.inputs import options_of
from kvforensics.cli.product import product
from kvforensics.cli.progress import Progress
from kvforensics.cli.warn import warn
from kvforensics.errors import UsageError

if TYPE_CHECKING:
    from kvforensics.options import Options


class Table(StrEnum):
    """How events are written."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


def events(
    files: opt.Files,
    format: Annotated[
        Table | None, typer.Option("--format", help="Without it the ending of --output decides, else jsonl.")
    ] = None,
    output: opt.Output = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only this kind of event; may be given again."),
    ] = None,
    unit: opt.Unit = None,
    host: opt.Host = None,
    since: opt.Since = None,
    until: opt.Until = None,
    tz: opt.Tz = "UTC",
    carrier: opt.AsCarrier = None,
) -> None:
    """Write every event as a row: JSON lines, CSV, Parquet.

    \b
    Examples:
      kvforensics events sglang.export | jq 'select(.kind == "decode")'
      kvforensics events sglang.export --kind decode --kind prefill -o runtime.parquet
      kvforensics events sglang.export --format csv -o events.csv
    """
    table = _table(format, output)
    progress = Progress()
    options = options_of(
        unit=unit, host=host, since=since, until=until, tz=tz, carrier=carrier, progress=progress
    )
    try:
        with product(output) as stream:
            _write(_batches(files, options, set(kind or ())), table, stream)
    finally:
        progress.close()


def _table(chosen: Table | None, output: str | None) -> Table:
    if chosen is None:
        ending = (output or "").rpartition(".")[2].lower()
        chosen = Table(ending) if ending in {t.value for t in Table} else Table.JSONL
    if chosen is Table.PARQUET and output in {None, "-"} and sys.stdout.isatty():
        raise UsageError("Parquet is no text for a terminal", hint="name a file: -o events.parquet")
    return chosen


def _batches(files: list[str], options: "Options", kinds: set[str]) -> Iterator[list[dict[str, Any]]]:
    from kvforensics.report.event_rows import rows
    from kvforensics.selection import keeps
    from kvforensics.survey import batches

    for batch in batches(files, options, lambda error: warn(str(error))):
        wanted = (row for row in rows(*batch) if not kinds or row["kind"] in kinds)
        yield [row for row in wanted if keeps(options, row["unit"], row["host"], row["at"])]


def _write(batches: Iterator[list[dict[str, Any]]], table: Table, stream: IO[bytes]) -> None:
    from kvforensics.report import event_rows

    first = next(batches, [])  # an input that cannot be read ends the run before a header is written
    batches = chain([first], batches)
    if table is Table.PARQUET:
        event_rows.write_parquet(map(event_rows.frame, batches), stream)
    elif table is Table.CSV:
        for number, batch in enumerate(batches):
            stream.write(event_rows.csv(event_rows.frame(batch), header=number == 0).encode())
    else:
        for batch in batches:
            stream.write("".join(map(event_rows.json_line, batch)).encode())
