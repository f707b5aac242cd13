"""`kvforensics report`."""

from typing import Annotated

import typer

from kvforensics import __version__
from kvforensics.cli import options as opt
from kvforensics.cli.inputs import read
from kvforensics.cli.product import product
from kvforensics.cli.show import require_launch
from kvforensics.errors import UsageError
from kvforensics.report.outputs import TABLES, Kind, Writer, kind_of, require, table_of
from kvforensics.timewords import zone


def report(
    files: opt.FilesOrLive = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write there; may be given again; the ending is the format.",
        ),
    ] = None,
    format: Annotated[
        Kind | None,
        typer.Option("--format", help="The format, whatever the ending; needed on standard output."),
    ] = None,
    redact: Annotated[
        str | None,
        typer.Option(
            "--redact",
            metavar="KINDS",
            help="Other names for hosts,paths,ips,users,models; secrets never show.",
        ),
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", help="launches, changes or findings, for CSV and Parquet.")
    ] = None,
    local_tz: Annotated[
        str | None,
        typer.Option(
            "--local-tz", metavar="ZONE", help="Second clock of the Markdown timeline; --tz by default."
        ),
    ] = None,
    service: opt.Service = None,
    unit: opt.Unit = None,
    host: opt.Host = None,
    since: opt.Since = None,
    until: opt.Until = None,
    tz: opt.Tz = "UTC",
    carrier: opt.AsCarrier = None,
    config: opt.Config = None,
    catalog: opt.FromCatalog = None,
) -> None:
    """Write postmortem reports, several documents in one run.

    \b
    Examples:
      kvforensics report sglang.export -o incident.html -o incident.md -o incident.json
      kvforensics report sglang.export -o incident.html --redact hosts,ips,users,models
      kvforensics report old/ -o changes.csv -o launches.parquet -o findings.sarif
      kvforensics report sglang.export --format openmetrics > pool.om
      kvforensics report --catalog kv --service gpu01/sglang.service -o gpu01.html

    \b
    Endings: .html .md .json .csv .parquet .jsonl (Timesketch) .grafana.json .sarif .om (OpenMetrics)
    .svg .png. A CSV or Parquet file holds the table that its name says: launches, changes, findings.
    """
    if table is not None and table not in TABLES:
        raise UsageError(f"no table is called {table}", hint=f"there are {', '.join(TABLES)}")
    targets = output or ["-"]
    if format is None and "-" in targets:
        raise UsageError(
            "standard output has no ending", hint="name the format with --format, or a file with -o"
        )
    kinds = [format or kind_of(target) for target in targets]
    require(kinds)
    if local_tz is not None:
        zone(local_tz)
    wanted = kinds_to_hide(redact)
    analysis = read(
        files,
        catalog=catalog,
        service=service if catalog is not None else None,
        unit=unit,
        host=host,
        since=since,
        until=until,
        tz=tz,
        carrier=carrier,
        config=config,
    )
    require_launch(analysis)
    if wanted:
        from kvforensics.sharing import share

        analysis = share(analysis, wanted)
    writer = Writer(analysis, release=__version__, local=local_tz or tz, service=service)
    for target, kind in zip(targets, kinds, strict=True):
        made = writer.make(kind, table or table_of(target))
        with product(target) as stream:
            stream.write(made)


def kinds_to_hide(words: str | None) -> tuple[str, ...]:
    """Return the kinds of names that `--redact` lists. Raises UsageError for an unknown one."""
    if words is None:
        return ()
    from kvforensics.sharing import KINDS

    kinds = tuple(kind.strip() for kind in words.split(",") if kind.strip())
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise UsageError(
            f"nothing to redact is called {', '.join(unknown)}", hint=f"known: {', '.join(KINDS)}"
        )
    return kinds
