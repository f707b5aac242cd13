"""`kvforensics scan` and `kvforensics reduce`."""

import os
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kvforensics.cli import options as opt
from kvforensics.cli.inputs import options_of
from kvforensics.errors import NothingReadableError, UsageError

if TYPE_CHECKING:
    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.engine import Engine

_SOME_FAILED = 6


class ProgressStyle(StrEnum):
    """How progress is told on standard error."""

    AUTO = "auto"
    RICH = "rich"
    PLAIN = "plain"
    JSON = "json"
    NONE = "none"


Catalog = Annotated[
    str,
    typer.Option("--catalog", metavar="DIR", help="The catalogue's folder; it is made where it is missing."),
]


def scan(
    inputs: Annotated[
        list[str], typer.Argument(metavar="PATH|GLOB|URL...", show_default=False, help="What to scan.")
    ],
    catalog: Catalog,
    engine: Annotated[
        str, typer.Option("--engine", help="local, ray, or ray=ADDRESS of a running cluster.")
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Processes of the local engine; one a core by default."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard", metavar="I/N", help="Only part I of N; run kvforensics reduce after all of them."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="GLOB", help="Leave these paths out; may be given again."),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Read inputs again that failed and have not changed.")
    ] = False,
    max_memory: Annotated[
        str | None,
        typer.Option(
            "--max-memory", metavar="SIZE", help="Fewer workers where they would need more: 2G, 900M …"
        ),
    ] = None,
    retention: Annotated[
        str | None,
        typer.Option("--retention", metavar="AGE", help="Drop inputs whose last record is older: 400d, 2y …"),
    ] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Fail when another scan holds the catalogue instead of waiting.")
    ] = False,
    progress: Annotated[
        ProgressStyle,
        typer.Option("--progress", help="rich on a terminal, else plain lines; json, or none."),
    ] = ProgressStyle.AUTO,
    unit: opt.Unit = None,
    host: opt.Host = None,
    since: opt.Since = None,
    until: opt.Until = None,
    tz: opt.Tz = "UTC",
    carrier: opt.AsCarrier = None,
) -> None:
    """Read many logs into a catalogue; only what is new is read.

    \b
    Examples:
      kvforensics scan /var/log/sglang --catalog ~/kv
      kvforensics scan 's3://logs/2026/*.zst' --catalog kv --workers 8
      kvforensics scan /mnt/logs --catalog /shared/kv --shard 3/40      # one job of a Slurm array
      kvforensics scan /mnt/logs --catalog /shared/kv --engine ray=auto

    Ends with exit code 6 where some inputs failed; they are in the table `sources` with their reason.
    What is not there any more stays in the catalogue. --since, --until, --unit and --host leave records
    out before they are stored; other words than at the last scan read everything anew.
    """
    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.plan import plan
    from kvforensics.scan.plan import shard as part_of
    from kvforensics.scan.retention import days
    from kvforensics.scan.telling import Teller
    from kvforensics.scan.work import scan as read_all

    part = _shard(shard) if shard is not None else None
    options = options_of(unit=unit, host=host, since=since, until=until, tz=tz, carrier=carrier)
    oldest = days(retention) if retention is not None else None
    held = Catalogue(catalog, create=True)
    with held.lock(shared=part is not None, wait=not no_wait, told=lambda: _waits(catalog)):
        items = plan(inputs, exclude=exclude or (), manifest=held.manifest)
        if part is not None:
            items = part_of(items, *part)
        chosen = _engine(engine, workers, max_memory, len(items))
        teller = Teller(items, progress.value)
        try:
            outcome = read_all(items, held, chosen, options, retry_failed=retry_failed, progress=teller)
        finally:
            teller.close()
        if oldest is not None:
            from kvforensics.scan.retention import retain

            retain(held, oldest, datetime.now(UTC))
        if part is None:
            _reduce(held, chosen, progress)
    teller.finish(outcome)
    if outcome.nothing_read:
        raise NothingReadableError(
            "no input could be read",
            where=outcome.failures[0][0],
            hint="the reasons are in the table sources",
        )
    if outcome.failed:
        raise typer.Exit(_SOME_FAILED)


def reduce(
    catalog: Catalog,
    engine: Annotated[
        str, typer.Option("--engine", help="local, ray, or ray=ADDRESS: for inputs that overlap.")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes of the local engine.")
    ] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Fail when a scan holds the catalogue.")] = False,
) -> None:
    """Make the tables of a catalogue, after all shards have ended.

    \b
    Examples:
      kvforensics reduce --catalog /shared/kv      # after all shards have ended

    Inputs that hold the same records are read once more, together. Exit code 6 where inputs have failed.
    """
    from kvforensics.scan.catalogue import Catalogue

    held = Catalogue(catalog)
    with held.lock(wait=not no_wait, told=lambda: _waits(catalog)):
        _reduce(held, _engine(engine, workers, None, os.cpu_count() or 1), ProgressStyle.AUTO)
        if any(held.manifest.failed()):
            raise typer.Exit(_SOME_FAILED)


def _waits(folder: str) -> None:
    typer.echo(f"{folder}: another scan is working on this catalogue; waiting for it to end", err=True)


def _reduce(held: "Catalogue", engine: "Engine", progress: ProgressStyle) -> None:
    from kvforensics.scan.reduce import reduce as make_tables
    from kvforensics.scan.together import is_gone

    counts = make_tables(held, engine)
    done = list(held.manifest.done())
    gone = sum(is_gone(entry) for entry in done)
    cut = sum(bool({"truncated_file", "unreadable"} & entry.source["damaged"].keys()) for entry in done)
    if progress in {ProgressStyle.JSON, ProgressStyle.NONE}:
        return
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    typer.echo(f"{held.folder}: {told}", err=True)
    if cut:
        typer.echo(
            f"{cut:,} of the sources could be read in part only; see damage in the table sources", err=True
        )
    if gone:
        typer.echo(f"{gone:,} of the sources are not there any more; what they held is kept", err=True)


def _shard(text: str) -> tuple[int, int]:
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal()):
        raise UsageError(f"{text!r} is no shard", hint="write it as 3/40")
    return int(number), int(count)


def _engine(name: str, workers: int | None, max_memory: str | None, items: int) -> "Engine":
    kind, _, address = name.partition("=")
    if kind == "ray":
        from kvforensics.scan.engines.ray import Ray

        return Ray(address or None)
    if kind != "local" or address:
        raise UsageError(f"no engine is called {name}", hint="there are local, ray and ray=ADDRESS")
    from kvforensics.scan.engine import Local
    from kvforensics.scan.limits import workers_within

    wanted = min(workers or os.cpu_count() or 1, max(1, items))
    return Local(workers_within(max_memory, wanted))
