"""`kvforensics query`."""

from enum import StrEnum
from typing import Annotated

import typer

from kvforensics.cli import options as opt
from kvforensics.cli.product import product, write_text
from kvforensics.cli.scan import Catalog


class Rows(StrEnum):
    """How rows are written."""

    TEXT = "text"
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", show_default=False, help="A query in DuckDB's SQL.")],
    catalog: Catalog,
    format: Annotated[Rows, typer.Option("--format", help="text, csv, jsonl or parquet.")] = Rows.TEXT,
    output: opt.Output = None,
) -> None:
    """Ask a catalogue in SQL.

    Its tables are events, runtime, launches, changes, findings and sources.

    \b
    Examples:
      kvforensics query "SELECT service, count(*) FROM launches GROUP BY 1" --catalog kv
      kvforensics query "FROM changes WHERE verdict = 'no_op_for_pool'" --catalog kv --format csv
    """
    from kvforensics.report import tables
    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.query import query as run

    frame = run(Catalogue(catalog), sql)
    match format:
        case Rows.CSV:
            write_text(tables.csv(frame), output)
        case Rows.JSONL:
            write_text(frame.write_ndjson(), output)
        case Rows.PARQUET:
            with product(output) as stream:
                frame.write_parquet(stream)
        case Rows.TEXT:
            from kvforensics.report.terminal.rows import text

            write_text(text(frame), output)
