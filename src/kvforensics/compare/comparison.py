"""Two sides of a comparison: figures, settings that differ, and which of them could explain the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec import Struct

from kvforensics.changes import diff
from kvforensics.events import RANK_TAGS
from kvforensics.knowledge.knobs import FIGURES as MEMORY_FIGURES
from kvforensics.knowledge.knobs import knob
from kvforensics.launches.requests import once, refused
from kvforensics.load import load

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis
    from kvforensics.compare.selector import Part
    from kvforensics.launches import Launch

_ENDED_BADLY = ("crashed", "killed", "oom", "failed_start")
_SECONDS = 3600.0
_REFUSALS = ("refused_pool", "refused_context", "refused_pool_front", "refused_context_front")
_TOLD = (*RANK_TAGS, "retracted", *_REFUSALS)


class Side(Struct, frozen=True):
    """One side: its launches and figures; None where the log does not tell. Means are over samples."""

    selector: str
    services: tuple[str, ...]
    launches: int
    failed: int  # launches that never got ready or died
    shown: Launch | None  # the last launch with a pool: its settings and pools stand for the side
    version: str | None
    hours: float | None  # of serving that the samples cover
    pool_tokens: int | None
    context_len: int | None
    longest_prompt_tokens: int | None
    max_running_requests: int | None
    free_gib: float | None
    usage_mean: float | None
    usage_max: float | None
    running_mean: float | None
    running_max: int | None
    queue_mean: float | None
    queue_max: int | None
    gen_tokens_per_s_mean: float | None
    cached_share: float | None  # of prompt tokens, found in the prefix cache
    retracted_per_hour: float | None
    refused_per_hour: float | None


class Difference(Struct, frozen=True):
    """One setting that differs between the sides."""

    setting: str
    left: Any
    right: Any
    explains: tuple[str, ...]  # figures that differ and of which this setting is an input
    why: str | None


class Comparison(Struct, frozen=True):
    """Both sides, what differs between them, and what is not comparable."""

    left: Side
    right: Side
    differences: tuple[Difference, ...]
    caution: str | None  # why an explanation would be a guess, where it would


FIGURES = (
    "version", "launches", "failed", "hours", "pool_tokens", "context_len", "longest_prompt_tokens",
    "max_running_requests", "free_gib", "usage_mean", "usage_max", "running_mean", "running_max",
    "queue_mean", "queue_max", "gen_tokens_per_s_mean", "cached_share", "retracted_per_hour",
    "refused_per_hour",
)  # fmt: skip


def compare(
    analysis: Analysis, left: tuple[Part, ...], right: tuple[Part, ...], names: tuple[str, str]
) -> Comparison:
    """Compare two selections of one analysis."""
    sides = side(analysis, left, names[0]), side(analysis, right, names[1])
    return Comparison(*sides, differences=_differences(*sides), caution=_caution(*sides))


def side(analysis: Analysis, parts: tuple[Part, ...], selector: str) -> Side:
    """Return the figures of one selection."""
    launches = [launch for part in parts for launch in part.launches]
    shown = next((launch for launch in reversed(launches) if launch.pool_tokens is not None), None)
    last = shown or (launches[-1] if launches else None)
    return Side(
        selector=selector,
        services=tuple(part.service.id for part in parts),
        launches=len(launches),
        failed=sum(launch.end in _ENDED_BADLY for launch in launches),
        shown=last,
        version=_version(last),
        pool_tokens=shown.pool_tokens if shown else None,
        context_len=shown.context_len if shown else None,
        longest_prompt_tokens=shown.longest_prompt_tokens if shown else None,
        max_running_requests=shown.max_running_requests if shown else None,
        free_gib=shown.free_gib if shown else None,
        **_load(analysis, parts),
    )


def _version(launch: Launch | None) -> str | None:
    if launch is None or launch.version.oldest is None:
        return None
    oldest, newest = launch.version.oldest, launch.version.newest
    return oldest if oldest == newest else f"{oldest}–{newest or '?'}"


_LOAD = (
    "hours", "usage_mean", "usage_max", "running_mean", "running_max", "queue_mean", "queue_max",
    "gen_tokens_per_s_mean", "cached_share", "retracted_per_hour", "refused_per_hour",
)  # fmt: skip


def _load(analysis: Analysis, parts: tuple[Part, ...]) -> dict[str, Any]:
    """Return what the samples of a selection add up to."""
    frames = [] if analysis.samples is None else [_rows(analysis.samples, part) for part in parts]
    rows = pl.concat(frames) if frames else None
    if rows is None or rows.is_empty():
        return dict.fromkeys(_LOAD)
    busy = pl.concat([_within(load(analysis, part.service.id), part, "slot_at", "slot_at") for part in parts])
    totals = busy.select(
        usage_mean=pl.col("usage").mean().round(4),
        usage_max=pl.col("usage").max(),
        running_mean=pl.col("running").mean().round(2),
        running_max=pl.col("running").max(),
        queue_mean=pl.col("queue").mean().round(2),
        queue_max=pl.col("queue").max(),
    ).row(0, named=True)
    hours = _hours(rows)
    new, cached = (int(rows[name].sum()) for name in ("new_tokens", "cached_tokens"))
    told = rows.select(*_TOLD).to_dicts()
    retracted, turned_away = once(told, "retracted"), sum(refused(told))
    return {
        **totals,
        "hours": None if hours is None else round(hours, 3),
        "gen_tokens_per_s_mean": _generated(rows),
        "cached_share": round(cached / (new + cached), 4) if new + cached else None,
        "retracted_per_hour": round(retracted / hours, 3) if hours else None,
        "refused_per_hour": round(turned_away / hours, 3) if hours else None,
    }


def _generated(rows: pl.DataFrame) -> float | None:
    """Return generated tokens a second: ranks of a data-parallel group say the same, groups are added."""
    by_bucket = (
        rows.drop_nulls(["gen_tps", "slot_at"])
        .group_by("service", "launch", "slot_at", "dp")
        .agg(pl.col("gen_tps").mean())
        .group_by("service", "launch", "slot_at")
        .agg(pl.col("gen_tps").sum())
    )
    found = by_bucket.sort("service", "launch", "slot_at")["gen_tps"].mean()
    return round(found, 2) if isinstance(found, float) else None


def _rows(samples: pl.DataFrame, part: Part) -> pl.DataFrame:
    return _within(samples.filter(service=part.service.id), part, "first_at", "last_at")


def _within(rows: pl.DataFrame, part: Part, first: str, last: str) -> pl.DataFrame:
    """Return the rows of a part's launches that touch its time."""
    mine = rows.filter(pl.col("launch").is_in([each.id for each in part.launches]))
    if part.since is not None:
        mine = mine.filter(pl.col(last) >= part.since)
    if part.until is not None:
        mine = mine.filter(pl.col(first) < part.until)
    return mine


def _hours(rows: pl.DataFrame) -> float | None:
    """Return the hours between the first and last sample of each launch, added up."""
    spans = rows.group_by("service", "launch").agg(
        (pl.col("last_at").max() - pl.col("first_at").min()).dt.total_microseconds().alias("us")
    )
    total = spans["us"].sum()
    return float(total) / 1e6 / _SECONDS if total else None


def _differences(left: Side, right: Side) -> tuple[Difference, ...]:
    if left.shown is None or right.shown is None or left.shown is right.shown:
        return ()
    moved = [
        figure
        for figure in MEMORY_FIGURES
        if None not in (getattr(left, figure), getattr(right, figure))
        and getattr(left, figure) != getattr(right, figure)
    ]
    found = []
    for change in diff(left.shown, right.shown):
        known = knob(change.setting)
        explains = tuple(figure for figure in moved if known is not None and figure in known.affects)
        why = known.why if known is not None and explains else None
        found.append(Difference(change.setting, change.before, change.after, explains, why))
    return tuple(sorted(found, key=lambda each: (not each.explains, each.setting)))


def _caution(left: Side, right: Side) -> str | None:
    """Return why the settings alone would not explain a difference."""
    one, other = left.shown, right.shown
    if one is None or other is None:
        return "One side logged no launch with a pool, so nothing can be explained."
    if "none" in (one.config.source, other.config.source):
        return "The settings of one side are not in the log."
    if left.version != right.version:
        return "The releases differ: the same settings may give different pools."
    before = one.memory.before_load_gib, other.memory.before_load_gib
    if None not in before and abs(before[0] - before[1]) > 0.05 * max(before):  # type: ignore[operator, type-var]
        return (
            f"Free memory before loading differs ({before[0]} and {before[1]} GiB), which moves the pool too."
        )
    return None
