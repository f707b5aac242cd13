"""OpenMetrics text with timestamps: pool, context and load, for back-filling a Prometheus."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kvforensics.analysis import Analysis, Service
    from kvforensics.launches import Launch

_STEP_S = 300  # a gauge that does not change is repeated this often: Prometheus forgets it after five minutes
_MOST_STEPS = 50_000  # of one launch and gauge
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_GAUGES = {
    "kvforensics_pool_tokens": ("Tokens that the KV pool holds.", "pool_tokens"),
    "kvforensics_context_tokens": ("Context length as the engine reports it.", "context_len"),
    "kvforensics_max_running_requests": ("Requests that may run at once.", "max_running_requests"),
    "kvforensics_free_memory_gibibytes": ("Free GPU memory once ready, in GiB.", "free_gib"),
}
_LOADS = {
    "kvforensics_token_usage_ratio": ("Share of the pool in use, the largest of its time.", "usage_max"),
    "kvforensics_running_requests": ("Running requests, the most of their time.", "running_max"),
    "kvforensics_queued_requests": ("Queued requests, the most of their time.", "queue_max"),
}


def openmetrics(analysis: Analysis) -> str:
    """Return an OpenMetrics exposition; times in seconds since 1970, ascending within each series."""
    lines: list[str] = []
    for name, (text, field) in _GAUGES.items():
        _head(lines, name, text)
        for service in analysis.services:
            for launch in service.launches:
                labels = _labels(service.id, launch.id)
                lines += [f"{name}{labels} {value} {at}" for at, value in _steps(launch, field)]
    for name, (text, column) in _LOADS.items():
        _head(lines, name, text)
        for service in analysis.services:
            lines += _loads(name, service, column, analysis)
    return "\n".join([*lines, "# EOF", ""])


def _head(lines: list[str], name: str, text: str) -> None:
    lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge"]


def _steps(launch: Launch, field: str) -> Iterator[tuple[str, Any]]:
    value, start = getattr(launch, field), launch.ready_at
    end = launch.ended_at or launch.last_at
    if value is None or start is None or end is None or end < start:
        return
    first, last = (start - _EPOCH).total_seconds(), (end - _EPOCH).total_seconds()
    step = max(_STEP_S, (last - first) / _MOST_STEPS)
    for number in range(int((last - first) // step) + 1):
        yield f"{first + number * step:.3f}", value
    if (last - first) % step:
        yield f"{last:.3f}", value


def _loads(name: str, service: Service, column: str, analysis: Analysis) -> Iterator[str]:
    if analysis.samples is None:
        return
    import polars as pl  # noqa: PLC0415 - heavy, and only samples need it

    rows = (
        analysis.samples.filter(service=service.id)
        .drop_nulls(["launch", "slot_at", column])
        .group_by("launch", "dp", "slot_at")
        .agg(pl.col(column).max())
        .sort("launch", "dp", "slot_at", nulls_last=False)
    )
    for launch, rank, at, value in rows.iter_rows():
        more = {} if rank is None else {"dp_rank": str(rank)}
        yield f"{name}{_labels(service.id, launch, more)} {value} {(at - _EPOCH).total_seconds():.3f}"


def _labels(service: str, launch: str, more: Mapping[str, str] | None = None) -> str:
    pairs = {"service": service, "launch": launch, **(more or {})}
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in pairs.items()) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
