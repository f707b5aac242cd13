"""What the scheduler lines of a launch add up to, each request counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.launches.launch import Requests

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from datetime import datetime

    from kvforensics.records import Place


def requests(stretches: Iterable[Mapping[str, Any]], place: Callable[[int, int], Place]) -> Requests:
    """Add up a launch's stretches (rows of `Samples.stretches()`); `place` takes a source and a line.

    The ranks of one DP group print about the same requests, so the largest figure over them counts; DP
    groups serve different ones and are added. A refusal is printed by the engine and again by the HTTP
    front, so the larger figure of the two counts, gate by gate.
    """
    rows = list(stretches)
    pool, context = refused(rows)
    return Requests(
        rejected_too_long=pool + context,
        retractions=once(rows, "retracted"),
        peak_token_usage=_peak(rows, "usage_max"),
        peak_running=_peak(rows, "running_max"),
        peak_queue=_peak(rows, "queue_max"),
        refused_by_pool=pool,
        refused_by_context=context,
        first_retraction=_first(rows, "first_retraction", place),
        first_refused_by_pool=_first(rows, "first_refused_pool", place),
        first_refused_by_context=_first(rows, "first_refused_context", place),
        first_retraction_at=_first_at(rows, "first_retraction"),
        first_refused_by_pool_at=_first_at(rows, "first_refused_pool"),
        first_refused_by_context_at=_first_at(rows, "first_refused_context"),
    )


def refused(rows: Collection[Mapping[str, Any]]) -> tuple[int, int]:
    """Return the requests that were refused by the pool and by the context; rows of sample buckets do too."""
    pool = max(once(rows, "refused_pool"), _total(rows, "refused_pool_front"))
    return pool, max(once(rows, "refused_context"), _total(rows, "refused_context_front"))


def once(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    """Return a sum in which what several ranks print about one request counts once."""
    groups: dict[int | None, dict[tuple[int | None, ...], int]] = {}
    for row in rows:
        rank = tuple(row[tag] for tag in ("pp", "attn_cp", "moe_dp", "tp", "ep"))
        group = groups.setdefault(row["dp"], {})
        group[rank] = group.get(rank, 0) + row[name]
    return sum(max(ranks.values()) for ranks in groups.values())


def _total(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(row[name] for row in rows)


def _peak(rows: Iterable[Mapping[str, Any]], name: str) -> Any:
    return max((row[name] for row in rows if row[name] is not None), default=None)


def _first(rows: Iterable[Mapping[str, Any]], name: str, place: Callable[[int, int], Place]) -> Place | None:
    found = next((row for row in rows if row[name] is not None), None)
    return None if found is None else place(found["source"], abs(found[name]))


def _first_at(rows: list[Mapping[str, Any]], name: str) -> datetime | None:
    """Return the time of the line that `_first` gives."""
    found = next((row for row in rows if row[name] is not None), None)
    return None if found is None else found[f"{name}_at"]
