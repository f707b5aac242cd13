"""The moments of an incident: what a reader of the log would have seen happen, in order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.load import pressure
from kvforensics.records import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from kvforensics.analysis import Analysis, Service
    from kvforensics.launches import Launch
    from kvforensics.verdicts.verdict import Verdict


_PRESSURE = {
    "retraction": ("retraction", "{} retracted: the pool was full"),
    "pool": ("refusal", "{} refused: longer than the pool"),
    "context": ("refusal", "{} refused: longer than the context length"),
}
_TOLD_BY_PRESSURE = ("retractions", "request_too_long_for_pool", "request_too_long_for_context")


class Moment(Struct, frozen=True):
    """One thing that happened. `kind`: start, change, ready, end, finding, trail, retraction or refusal."""

    at: datetime
    service: str
    kind: str
    text: str
    severity: str = "info"  # info | warning | error
    place: Place | None = None


def moments(analysis: Analysis, start: datetime | None = None, end: datetime | None = None) -> list[Moment]:
    """Return all moments between two times (naive UTC, inclusive) in order of time."""
    found = [
        moment
        for service in analysis.services
        for moment in _of(service, analysis)
        if (start is None or moment.at >= start) and (end is None or moment.at <= end)
    ]
    return sorted(found, key=lambda moment: (moment.at, moment.service))


def _of(service: Service, analysis: Analysis) -> Iterator[Moment]:
    by_launch: dict[str, list[Verdict]] = {}
    for verdict in service.verdicts:
        by_launch.setdefault(verdict.change.to_launch, []).append(verdict)
    for event in service.trail:
        if event.at is not None:
            text = (event.text or event.kind.replace("_", " ")).strip()
            where = _place(analysis, event.source, event.line, event.cursor)
            yield Moment(event.at, service.id, "trail", text, place=where)
    for launch in service.launches:
        yield from _life(service, launch, by_launch.get(launch.id, []))
    yield from _findings(service)
    yield from _pressure(service, analysis)


def _life(service: Service, launch: Launch, verdicts: list[Verdict]) -> Iterator[Moment]:
    told = launch.evidence
    if launch.started_at is not None:
        yield Moment(launch.started_at, service.id, "start", f"{launch.id} starts", place=told.get("config"))
        for verdict in verdicts:
            yield _changed(service, launch.started_at, verdict)
    if launch.ready_at is not None:
        text = f"{launch.id} is ready{_figures(launch.pool_tokens, launch.context_len)}"
        yield Moment(launch.ready_at, service.id, "ready", text, place=told.get("pool_tokens"))
    if launch.ended_at is not None and launch.end != "running":
        bad = launch.end in ("crashed", "killed", "oom", "failed_start")
        text = f"{launch.id} ends: {launch.end.replace('_', ' ')}"
        yield Moment(launch.ended_at, service.id, "end", text, "error" if bad else "info")


def _findings(service: Service) -> Iterator[Moment]:
    starts = {launch.id: launch.started_at for launch in service.launches}
    for finding in service.findings:
        if finding.id in _TOLD_BY_PRESSURE:
            continue  # each of them is a moment of its own
        at = finding.at or starts.get(finding.launch or "")
        if at is not None:
            text = f"{finding.title}. {finding.detail}"
            where = finding.evidence[0] if finding.evidence else None
            yield Moment(at, service.id, "finding", text, finding.severity, where)


def _changed(service: Service, at: datetime, verdict: Verdict) -> Moment:
    change = verdict.change
    text = f"{change.setting}: {change.before} → {change.after} ({verdict.verdict.replace('_', ' ')})"
    place = change.evidence[0] if change.evidence else None
    return Moment(at, service.id, "change", text, "warning" if verdict.is_idle else "info", place)


def _pressure(service: Service, analysis: Analysis) -> Iterator[Moment]:
    """Give retractions and refusals, a moment for each bucket that has any."""
    for row in pressure(analysis, service.id).iter_rows(named=True):
        kind, text = _PRESSURE[row["kind"]]
        count = row["requests"]
        told = text.format(f"{count:,} request{'' if count == 1 else 's'}")
        yield Moment(
            row["at"], service.id, kind, told, "warning", _place(analysis, row["source"], row["line"])
        )


def _place(analysis: Analysis, source: int, line: int, cursor: str | None = None) -> Place:
    return Place(analysis.sources[source].path, line, cursor)


def _figures(pool: int | None, context: int | None) -> str:
    told = [f"{name} {figure:,}" for name, figure in (("pool", pool), ("context", context)) if figure]
    return f": {', '.join(told)}" if told else ""
