"""From the shared options to an analysis."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kvforensics.cli.options import Carrier
from kvforensics.cli.progress import Progress
from kvforensics.cli.warn import warn
from kvforensics.errors import NothingReadableError, UsageError
from kvforensics.timewords import parse, zone

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis
    from kvforensics.options import Options


def options_of(
    *,
    unit: Sequence[str] | None = None,
    host: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str = "UTC",
    carrier: Carrier | None = None,
    config: str | None = None,
    load: bool = True,
    progress: Progress | None = None,
    told: Callable[[str], None] | None = None,
) -> "Options":
    """Return the options of a run; words of time count from now."""
    from kvforensics.options import Options

    local, now = zone(tz), datetime.now(UTC)
    start = parse(since, now=now, local=local) if since is not None else None
    end = parse(until, now=now, local=local) if until is not None else None
    if start is not None and end is not None and start > end:
        raise UsageError("--since is later than --until", hint=f"they mean {start} and {end} UTC")
    return Options(
        units=tuple(unit or ()),
        hosts=tuple(host or ()),
        since=start,
        until=end,
        tz=tz,
        carrier=carrier.value if carrier is not None else None,
        config=config,
        load=load,
        progress=progress,
        warn=told,
    )


def read(
    files: Sequence[str] | None,
    *,
    live: Sequence[str] | None = None,
    catalog: str | None = None,
    service: str | None = None,
    unit: Sequence[str] | None = None,
    host: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str = "UTC",
    carrier: Carrier | None = None,
    config: str | None = None,
    coverage_only: bool = False,
    load: bool = True,
) -> "Analysis":
    """Analyse the inputs, with progress on standard error where it takes long.

    `live` are units whose journal on this machine is read, `catalog` is a folder into which a scan has read
    everything before. With `service` the analysis holds that one alone. With `coverage_only` the inputs need
    not hold a launch, and the analysis holds no service. Without `load` it knows what the scheduler lines
    of a launch add up to, but not when they came.
    """
    progress, warnings = Progress(), list[str]()
    options = options_of(
        unit=unit,
        host=host,
        since=since,
        until=until,
        tz=tz,
        carrier=carrier,
        config=config,
        load=load,
        progress=progress,
        told=warnings.append,
    )
    try:
        if catalog is not None:
            if files or live:
                raise UsageError("logs and a catalogue are named", hint="leave out one of the two")
            return _scanned(catalog, options, service)
        return _read(_paths(files, live), options, service, coverage_only=coverage_only)
    except NothingReadableError:
        if len(warnings) == 1:
            warnings.clear()  # the error says the same
        raise
    finally:
        progress.close()
        for warning in warnings:
            warn(warning)


def _read(paths: list[str], options: "Options", service: str | None, *, coverage_only: bool) -> "Analysis":
    if coverage_only:
        from kvforensics.survey import survey

        return survey(paths, options)
    from msgspec.structs import replace

    from kvforensics import selection
    from kvforensics.analysis import analyse

    found = analyse(paths, options)
    return found if service is None else replace(found, services=(selection.service(found, service),))


def _scanned(catalog: str, options: "Options", service: str | None) -> "Analysis":
    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.whole import analysis

    return analysis(Catalogue(catalog), options, service)


def _paths(files: Sequence[str] | None, live: Sequence[str] | None) -> list[str]:
    from kvforensics.carriers.journal_files import LIVE

    paths = [*(files or ()), *(LIVE + unit for unit in live or ())]
    if not paths:
        raise UsageError("no input is named", hint="name FILE..., - for standard input, or --live UNIT")
    return paths
