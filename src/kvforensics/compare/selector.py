"""A selector names one side of a comparison: a launch, a service, a host, a file, or a period."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.errors import UsageError
from kvforensics.timewords import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from kvforensics.analysis import Analysis, Service
    from kvforensics.launches import Launch

PERIOD = ".."
LAUNCH = "#"


class Part(Struct, frozen=True):
    """The launches of one service that a selector means, and the time to which its samples are cut."""

    service: Service
    launches: tuple[Launch, ...]
    since: datetime | None = None  # naive UTC, inclusive
    until: datetime | None = None  # naive UTC, exclusive


def select(analysis: Analysis, selector: str, *, now: datetime, local: tzinfo) -> tuple[Part, ...]:
    """Return what a selector means in an analysis.

    `L2` or `SERVICE#L2` is a launch, `A..B` a period in the words of --since, everything else a service id,
    a unit, a host or an input's path. Raises UsageError where nothing matches.
    """
    found = tuple(_matches(analysis, selector, now, local))
    if not found:
        known = ", ".join(service.id for service in analysis.services[:10])
        raise UsageError(
            f"{selector!r} selects nothing",
            hint=f"name a launch (L2), a service ({known}), a host, a file, or a period (A..B)",
        )
    return found


def _matches(analysis: Analysis, selector: str, now: datetime, local: tzinfo) -> Iterator[Part]:
    if PERIOD in selector and not any(source.path == selector for source in analysis.sources):
        yield from _period(analysis, selector, now, local)
        return
    name, _, launch = selector.rpartition(LAUNCH)
    for service in analysis.services:
        mine = tuple(each for each in service.launches if each.id.lower() == launch.lower())
        if mine and (not name or name in _names(service)):
            yield Part(service, mine)
    if name:
        return
    for service in analysis.services:
        if selector in _names(service):
            yield Part(service, service.launches)
        elif mine := tuple(each for each in service.launches if _stands_in(each, selector)):
            yield Part(service, mine)


def _period(analysis: Analysis, selector: str, now: datetime, local: tzinfo) -> Iterator[Part]:
    first, _, last = selector.partition(PERIOD)
    since = parse(first, now=now, local=local) if first.strip() else None
    until = parse(last, now=now, local=local) if last.strip() else None
    if since is not None and until is not None and until <= since:
        raise UsageError(f"the period {selector!r} ends before it begins")
    for service in analysis.services:
        mine = tuple(each for each in service.launches if _overlaps(each, since, until))
        if mine:
            yield Part(service, mine, since, until)


def _overlaps(launch: Launch, since: datetime | None, until: datetime | None) -> bool:
    start, end = launch.started_at, launch.ended_at or launch.last_at or launch.started_at
    if start is None or end is None:
        return False
    return (until is None or start < until) and (since is None or end >= since)


def _names(service: Service) -> set[str | None]:
    unit = service.unit or ""
    return {service.id, service.host, service.unit, unit.removesuffix(".service") or None}


def _stands_in(launch: Launch, path: str) -> bool:
    return any(place.path == path for place in launch.evidence.values())
