"""Drives the stages: inputs, launches, budgets, verdicts, findings; and picks what the options ask for."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec.structs import replace

from kvforensics import config_sources, findings, launches, verdicts
from kvforensics.analysis import Analysis, Coverage, Damaged, Service, Shape
from kvforensics.errors import InputError, NoLaunchError, UsageError
from kvforensics.intake import Intake, read
from kvforensics.options import Options
from kvforensics.records import Place
from kvforensics.sizing import reconcile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from kvforensics.config_sources import ConfigSource
    from kvforensics.events import Event
    from kvforensics.knowledge import VersionRange
    from kvforensics.launches import Launch, ServiceHistory

MOST_SHAPES_SHOWN = 500


def assemble(paths: Iterable[str], options: Options | None = None) -> Analysis:
    """Do what `analysis.analyse` says."""
    wanted = options or Options()
    whole = replace(wanted, since=None, until=None)  # a launch is judged whole, whatever part is asked for
    return analysis_of(read(paths, whole), wanted)


def analysis_of(intake: Intake, wanted: Options) -> Analysis:
    """Judge what was read, by this run or by a scan.

    Raises NoLaunchError where nothing that was asked for is in it.
    """
    histories = launches.build(intake.sources, intake.origins, intake.events, intake.samples, _handed(wanted))
    if not histories:
        of = " of the unit or host asked for" if wanted.units or wanted.hosts else ""
        raise NoLaunchError(
            f"the inputs hold no SGLang launch{of}", hint="`kvforensics coverage` shows what they hold"
        )
    chosen = [history for history in histories if _is_wanted(history, wanted)]
    if not chosen:
        known = ", ".join(history.id for history in histories[:10])
        raise NoLaunchError("no SGLang launch is of the unit or host asked for", hint=f"there are: {known}")
    services = [_judged(history, intake, wanted) for history in chosen]
    services = [service for service in services if service.launches]
    if not services:
        raise NoLaunchError("no SGLang launch ran in the time asked for")
    return Analysis(
        sources=tuple(intake.sources),
        coverage=coverage(intake),
        services=tuple(services),
        origins=intake.origins,
        samples=_samples(intake, chosen, wanted),
    )


def _handed(options: Options) -> Callable[[VersionRange, str | None], ConfigSource | None] | None:
    """Return what reads the file of `--config` as a release would; UsageError where it cannot be read."""
    path = options.config
    if path is None:
        return None
    try:
        config_sources.load(path)
    except InputError as error:
        raise UsageError(f"--config: {error.message}", where=error.where, hint=error.hint) from error
    return cache(lambda version, name: config_sources.load(path, version, name))


def coverage(intake: Intake) -> Coverage:
    """Return how much was understood. Shapes stand by count, then by themselves; damage by kind."""
    paths = [source.path for source in intake.sources]
    shapes = sorted(intake.shapes.values(), key=lambda shape: (-shape.count, shape.shape))
    damage: dict[str, Damaged] = {}
    for source in intake.sources:
        for kind, found in source.damaged.items():
            known = damage.get(kind)
            first = Place(source.path, found.first_line) if known is None else known.first
            damage[kind] = Damaged(kind, found.count + (0 if known is None else known.count), first)
    return Coverage(
        records=intake.records,
        understood=intake.understood,
        unknown=intake.unknown,
        unknown_shapes=tuple(
            Shape(shape.shape, shape.count, Place(paths[shape.source], shape.first_line))
            for shape in shapes[:MOST_SHAPES_SHOWN]
        ),
        damaged=tuple(found for _, found in sorted(damage.items())),
    )


def _judged(history: ServiceHistory, intake: Intake, options: Options) -> Service:
    """Judge a service over its whole history, then keep the part that was asked for."""
    budgets = {launch.id: reconcile(launch) for launch in history.launches}
    judged = tuple(verdicts.judge(history, budgets))
    found = tuple(findings.find(history, budgets, judged, intake.sources))
    service = Service(
        id=history.id,
        host=history.host,
        unit=history.unit,
        launches=history.launches,
        budgets=budgets,
        verdicts=judged,
        findings=found,
        trail=history.trail,
    )
    return service if options.since is None and options.until is None else _within(service, options)


def _within(service: Service, options: Options) -> Service:
    """Keep the launches that ran in the time asked for, whole, and what is said of them."""
    kept = tuple(launch for launch in service.launches if _ran(launch, options.since, options.until))
    ids = {launch.id for launch in kept}
    return replace(
        service,
        launches=kept,
        budgets={name: budget for name, budget in service.budgets.items() if name in ids},
        verdicts=tuple(v for v in service.verdicts if {v.change.from_launch, v.change.to_launch} <= ids),
        findings=tuple(f for f in service.findings if f.launch in ids or f.launch is None),
        trail=tuple(event for event in service.trail if _is_in(event, options.since, options.until)),
    )


def _ran(launch: Launch, since: datetime | None, until: datetime | None) -> bool:
    first = launch.started_at or launch.ready_at
    last = launch.ended_at or launch.last_at or first
    return (until is None or first is None or first <= until) and (
        since is None or last is None or last >= since
    )


def _is_in(event: Event, since: datetime | None, until: datetime | None) -> bool:
    at = event.at
    return at is None or ((since is None or at >= since) and (until is None or at <= until))


def _is_wanted(history: ServiceHistory, options: Options) -> bool:
    unit, host = history.unit or "", history.host or ""
    names = (unit, unit.removesuffix(".service"), history.id)
    return _matches(names, options.units) and _matches((host,), options.hosts)


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _samples(intake: Intake, histories: Sequence[ServiceHistory], options: Options) -> pl.DataFrame:
    """Return the sample buckets with the service and the launch that they belong to."""
    owners: dict[str, list[Any]] = {"source": [], "after_line": [], "origin": [], "service": [], "launch": []}
    for history in histories:
        for source, after_line, origin, launch in history.stretches:
            for name, value in zip(owners, (source, after_line, origin, history.id, launch), strict=True):
                owners[name].append(value)
    schema: Mapping[str, pl.DataType] = {
        "source": pl.UInt32(),
        "after_line": pl.Int64(),
        "origin": pl.UInt32(),
        "service": pl.String(),
        "launch": pl.String(),
    }
    owned = pl.DataFrame(owners, schema=schema).unique(
        ["source", "after_line", "origin"], maintain_order=True
    )
    frame = intake.samples.frame().join(
        owned, on=["source", "after_line", "origin"], how="inner", maintain_order="left"
    )
    if options.since is not None:
        frame = frame.filter(pl.col("last_at").is_null() | (pl.col("last_at") >= options.since))
    if options.until is not None:
        frame = frame.filter(pl.col("first_at").is_null() | (pl.col("first_at") <= options.until))
    return frame
