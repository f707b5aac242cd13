"""From the shared options to an analysis."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kvforensics.cli.options import Carrier
from kvforensics.cli.progress import Progress
from kvforensics.cli.warn import warn
from kvforensics.errors import NothingReadableError, UsageError
from kvforensics.options import Options
from kvforensics.timewords import parse, zone

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis


def options_of(
    *,
    unit: Sequence[str] | None = None,
    host: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str = "UTC",
    carrier: Carrier | None = None,
    config: str | None = None,
    progress: Progress | None = None,
    told: Callable[[str], None] | None = None,
) -> Options:
    """Return the options of a run; words of time count from now."""
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
        progress=progress,
        warn=told,
    )


def read(
    files: Sequence[str],
    *,
    unit: Sequence[str] | None = None,
    host: Sequence[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str = "UTC",
    carrier: Carrier | None = None,
    config: str | None = None,
    coverage_only: bool = False,
) -> "Analysis":
    """Analyse the inputs, with progress on standard error where it takes long.

    With `coverage_only` the inputs need not hold a launch, and the analysis holds no service.
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
        progress=progress,
        told=warnings.append,
    )
    if coverage_only:
        from kvforensics.survey import survey as look
    else:
        from kvforensics.analysis import analyse as look

    try:
        return look(list(files), options)
    except NothingReadableError:
        if len(warnings) == 1:
            warnings.clear()  # the error says the same
        raise
    finally:
        progress.close()
        for warning in warnings:
            warn(warning)
