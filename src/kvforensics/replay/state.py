"""The state of a service at a moment: one look-up in an index over the analysis, never a rescan."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import polars as pl

    from kvforensics.analysis import Service
    from kvforensics.launches import Launch

_Figures = tuple[float | None, int | None, int | None]  # token usage, running, queue
READY, STARTING, DOWN, UNSEEN = "ready", "starting", "down", "unseen"


class State(Struct, frozen=True):
    """What was known at `at` (naive UTC), from lines logged until then. Unknown figures are None."""

    at: datetime
    service: str
    phase: str  # unseen (before the first record) | starting | ready | down (ended, nothing started yet)
    launch: str | None = None
    since: datetime | None = None  # start of the launch
    ready_at: datetime | None = None
    end: str | None = None  # how the launch ended, once it has
    changed: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # against the launch before
    apart: tuple[str, ...] = ()  # of these, settings that are no matter of memory
    pool_tokens: int | None = None
    context_len: int | None = None
    max_running_requests: int | None = None
    free_gib: float | None = None
    token_usage: float | None = None  # of the last samples: the largest over ranks
    running: int | None = None  # of the last samples: over DP ranks together
    queue: int | None = None
    sampled_at: datetime | None = None


class StateIndex:
    """Launches and samples of one service in order of time; `at` is two binary searches."""

    def __init__(self, service: Service, samples: pl.DataFrame | None) -> None:
        self._service = service.id
        timed = [(launch.started_at, launch) for launch in service.launches if launch.started_at is not None]
        timed.sort(key=lambda pair: pair[0])
        self._launches = [launch for _, launch in timed]
        self._starts = [start for start, _ in timed]
        self._told = [_told_at(launch) for launch in self._launches]
        self._changed: dict[str, dict[str, tuple[Any, Any]]] = {}
        self._apart: dict[str, list[str]] = {}
        for verdict in service.verdicts:
            change = verdict.change
            self._changed.setdefault(change.to_launch, {})[change.setting] = (change.before, change.after)
            if not verdict.is_about_memory:
                self._apart.setdefault(change.to_launch, []).append(change.setting)
        self._load = _Load(service.id, samples)

    def at(self, at: datetime) -> State:
        """Return the state at a moment (naive UTC)."""
        place = bisect_right(self._starts, at) - 1
        if place < 0:
            return State(at=at, service=self._service, phase=UNSEEN)
        launch, told = self._launches[place], self._told[place]
        known = told is not None and told <= at
        load = self._load.at(launch.id, at)
        return State(
            at=at,
            service=self._service,
            phase=_phase(launch, at),
            launch=launch.id,
            since=launch.started_at,
            ready_at=launch.ready_at if launch.ready_at and launch.ready_at <= at else None,
            end=launch.end if launch.ended_at and launch.ended_at <= at else None,
            changed=self._changed.get(launch.id, {}),
            apart=tuple(self._apart.get(launch.id, ())),
            pool_tokens=launch.pool_tokens if known else None,
            context_len=launch.context_len if known else None,
            max_running_requests=launch.max_running_requests if known else None,
            free_gib=launch.free_gib if known else None,
            **load,
        )


class _Load:
    """The last load figures of each launch and data-parallel group, by time."""

    def __init__(self, service: str, samples: pl.DataFrame | None) -> None:
        self._rows: dict[str, dict[int | None, tuple[list[datetime], list[_Figures]]]] = {}
        if samples is None:
            return
        figures = ["usage_last", "running_last", "queue_last"]
        mine = samples.filter(service=service).drop_nulls(["launch", "last_at"]).sort("last_at", "last_line")
        for launch, at, group, *figure in mine.select("launch", "last_at", "dp", *figures).iter_rows():
            if figure == [None, None, None]:
                continue
            times, values = self._rows.setdefault(launch, {}).setdefault(group, ([], []))
            before = values[-1] if values else (None, None, None)
            usage, running, queue = map(_kept, figure, before)
            times.append(at)
            values.append((usage, running, queue))

    def at(self, launch: str, at: datetime) -> dict[str, Any]:
        """Return token_usage, running, queue and sampled_at from each group's last sample until `at`."""
        told = []
        for times, values in self._rows.get(launch, {}).values():
            place = bisect_right(times, at) - 1
            if place >= 0:
                told.append((times[place], *values[place]))
        usages = [usage for _, usage, _, _ in told if usage is not None]
        running = [count for _, _, count, _ in told if count is not None]
        queue = [count for _, _, _, count in told if count is not None]
        return {
            "token_usage": max(usages, default=None),
            "running": sum(running) if running else None,
            "queue": sum(queue) if queue else None,
            "sampled_at": max((time for time, *_ in told), default=None),
        }


def _kept(new: Any, old: Any) -> Any:
    return old if new is None else new


def _phase(launch: Launch, at: datetime) -> str:
    if launch.ended_at is not None and launch.ended_at <= at:
        return DOWN
    if launch.ready_at is not None and launch.ready_at <= at:
        return READY
    return STARTING if launch.complete_start else READY


def _told_at(launch: Launch) -> datetime | None:
    """Return when the log told the pool: the summary line's time, else readiness."""
    times: Sequence[datetime] = [e.at for e in launch.events if e.kind == "summary" and e.at is not None]
    return min(times) if times else launch.ready_at
