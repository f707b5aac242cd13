"""Which part of an analysis a reader wants: the services, the two launches, what matters."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kvforensics.errors import NoLaunchError, UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from kvforensics.analysis import Analysis, Service
    from kvforensics.launches import Launch
    from kvforensics.options import Options
    from kvforensics.verdicts.verdict import Verdict


def important(analysis: Analysis) -> Analysis:
    """Return the analysis without notes, without settings that are not about memory, without the trail."""
    return replace(
        analysis,
        services=tuple(
            replace(
                service,
                verdicts=tuple(v for v in service.verdicts if v.is_about_memory),
                findings=tuple(f for f in service.findings if f.severity != "info"),
                trail=(),
            )
            for service in analysis.services
        ),
    )


def keeps(options: Options, unit: str | None, host: str | None, at: datetime | None) -> bool:
    """Tell whether an event of this unit, host and time is one that the options ask for."""
    names = {unit or "", (unit or "").removesuffix(".service")}
    return (
        (not options.units or any(fnmatchcase(name, glob) for name in names for glob in options.units))
        and (not options.hosts or any(fnmatchcase(host or "", glob) for glob in options.hosts))
        and (at is None or options.since is None or at >= options.since)
        and (at is None or options.until is None or at <= options.until)
    )


def service(analysis: Analysis, name: str | None) -> Service:
    """Return the service called `name`: its id, its unit or its host; the only one where `name` is None."""
    if not analysis.services:
        raise NoLaunchError("the inputs hold no SGLang launch")
    if name is None:
        if len(analysis.services) == 1:
            return analysis.services[0]
        raise UsageError(
            "the inputs hold several services", hint=f"choose one with --service: {_ids(analysis)}"
        )
    exact = [s for s in analysis.services if s.id == name]
    near = [s for s in analysis.services if name in {s.unit, s.host, (s.unit or "").removesuffix(".service")}]
    for found in (exact, near):
        if len(found) == 1:
            return found[0]
    raise UsageError(
        f"{name!r} is {'several services' if near else 'no service of these inputs'}",
        hint=f"choose one of: {_ids(analysis)}",
    )


def launch(service: Service, name: str) -> Launch:
    """Return the launch called `name`, such as `L2`."""
    for one in service.launches:
        if one.id.lower() == name.lower():
            return one
    known = ", ".join(one.id for one in service.launches[:20])
    raise UsageError(f"{name!r} is no launch of {service.id}", hint=f"it has {known}")


def pair(service: Service, older: str | None, newer: str | None) -> tuple[Launch, Launch]:
    """Return the two launches to compare: by default the last two, in order of time."""
    if len(service.launches) < 2:  # noqa: PLR2004 - a pair
        raise UsageError(f"{service.id} has one launch; there is nothing to compare it with")
    position = {one.id: number for number, one in enumerate(service.launches)}
    last = launch(service, newer) if newer else None
    if older:
        first = launch(service, older)
    elif last is not None:
        first = service.launches[max(0, position[last.id] - 1)]
    else:
        first = service.launches[-2]
    if last is None:
        last = (
            service.launches[-1]
            if older is None
            else service.launches[min(position[first.id] + 1, len(position) - 1)]
        )
    if position[first.id] >= position[last.id]:
        raise UsageError(
            f"{first.id} is not before {last.id}", hint="--from is the older launch, --to the newer one"
        )
    return first, last


def verdicts(service: Service, older: Launch, newer: Launch) -> tuple[Verdict, ...]:
    """Return the judged changes from one launch to another, judged anew where others lie between them."""
    position = [one.id for one in service.launches]
    if position.index(newer.id) - position.index(older.id) == 1:
        return tuple(v for v in service.verdicts if v.change.to_launch == newer.id)
    from kvforensics.launches.history import ServiceHistory  # noqa: PLC0415 - only this rare path needs the judge
    from kvforensics.verdicts import judge  # noqa: PLC0415

    history = ServiceHistory(service.id, service.host, service.unit, (older, newer))
    return tuple(judge(history, service.budgets))


def _ids(analysis: Analysis) -> str:
    return ", ".join(s.id for s in analysis.services[:20])
