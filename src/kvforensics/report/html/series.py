"""What the charts draw, as plain rows and columns: bands, steps, marks and thinned samples."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kvforensics.report import story

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis, Service

MOST_POINTS = 40_000  # samples in the page, for zooming
STATIC_POINTS = 900  # samples in the picture without script
_MOST_MARKS = 400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FINDING_MARKS = {
    "retractions": "retraction",
    "request_too_long_for_pool": "refused",
    "request_too_long_for_context": "refused",
    "oom_at_load": "out of memory",
    "oom_at_sizing": "out of memory",
    "oom_at_graph_capture": "out of memory",
    "oom_at_runtime": "out of memory",
    "not_enough_memory": "out of memory",
    "watchdog_timeout": "crash",
    "scheduler_crash": "crash",
}


def chart_data(service: dict[str, Any], drawn: Service, analysis: Analysis) -> dict[str, Any] | None:
    """Return the data of one service's main chart, or None where no launch has a time.

    `service` is the contract's service, `drawn` the same as objects. Times are milliseconds since 1970.
    """
    launches = [_band(launch) for launch in service["launches"] if launch["started_at"]]
    if not launches:
        return None
    for band, after in zip(launches, [*launches[1:], None], strict=True):
        if after is not None:
            band["b"] = min(max(band["b"], band["a"] + 1), max(after["a"], band["a"] + 1))
    samples = _samples(drawn, analysis)
    ends = [band["b"] for band in launches] + samples["t"][-1:]
    first, last = launches[0]["a"], max(ends)
    margin = max((last - first) // 100, 30_000)
    return {
        "t0": first - margin,
        "t1": last + margin,
        "launches": launches,
        "steps": [row for band in launches for row in _steps(band)],
        "marks": _marks(service),
        "samples": samples,
    }


def columns(samples: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the samples thinned to what a page carries, peaks kept, column by column."""
    return _thin(samples, MOST_POINTS)


def thin(samples: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return few samples as rows, peaks kept, for a picture that nobody zooms."""
    few = _thin(samples, STATIC_POINTS)
    return [dict(zip(few, row, strict=True)) for row in zip(*few.values(), strict=True)]


def memory_bars(service: dict[str, Any], drawn: Service) -> list[dict[str, Any]]:
    """Return the parts of a GPU's memory of each launch whose log tells them; rows for a stacked bar."""
    rows: list[dict[str, Any]] = []
    for launch in service["launches"]:
        before, after = launch["memory"]["before_load_gib"], launch["memory"]["after_load_gib"]
        pools, free = (
            drawn.budgets[launch["id"]].pools_gib if launch["id"] in drawn.budgets else None,
            launch["free_gib"],
        )
        if None in (before, after, pools, free):
            continue
        parts = {
            "weights": before - after,
            "KV pools": pools,
            "graphs and buffers": after - pools - free,
            "free": free,
        }
        rows += [
            {"launch": launch["id"], "part": part, "order": order, "gib": round(max(gib, 0.0), 2)}
            for order, (part, gib) in enumerate(parts.items())
        ]
    return rows


def milliseconds(at: str) -> int:
    """Return a time of the contract as milliseconds since 1970."""
    delta = datetime.fromisoformat(at) - _EPOCH
    return (delta.days * 86400 + delta.seconds) * 1000 + delta.microseconds // 1000


def _band(launch: dict[str, Any]) -> dict[str, Any]:
    start = milliseconds(launch["started_at"])
    end = milliseconds(launch["ended_at"] or launch["last_at"] or launch["started_at"])
    ready = milliseconds(launch["ready_at"]) if launch["ready_at"] else end
    evidence = launch["evidence"].get("pool_tokens") or launch["evidence"].get("config")
    return {
        "a": start,
        "b": max(end, start),
        "r": ready,
        "failed": launch["end"] == "failed_start",
        "launch": launch["id"],
        "started": launch["started_at"][:19].replace("T", " "),
        "ready": launch["ready_at"][:19].replace("T", " ") if launch["ready_at"] else "never",
        "end": launch["end"].replace("_", " "),
        "version": launch["version"]["from"] or "?",
        "pool": story.number(launch["pool_tokens"]),
        "context": story.number(launch["context_len"]),
        "headroom": "–" if launch["free_gib"] is None else f"{launch['free_gib']} GiB",
        "where": f"{evidence['path']}:{evidence['line']}" if evidence else "",
        "pool_tokens": launch["pool_tokens"],
        "context_tokens": launch["context_len"],
    }


def _steps(band: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"t": t, "tokens": band[name], "what": what, "launch": band["launch"]}
        for what, name in (("KV pool", "pool_tokens"), ("context length", "context_tokens"))
        if band[name] is not None
        for t in (band["a"], band["b"])
    ]


def _marks(service: dict[str, Any]) -> list[dict[str, Any]]:
    starts: dict[str | None, str | None] = {each["id"]: each["started_at"] for each in service["launches"]}
    idle = {id(change) for change in story.without_effect(service)}
    marks = []
    for change in service["changes"]:
        start = starts.get(change["to"])
        if change["reason_code"] == "not_a_memory_setting" or start is None:
            continue
        what = f"{story.edit(change)} ({change['verdict']})"
        kind = "edit without effect" if id(change) in idle else "change"
        marks.append(_mark(kind, start, what, change["evidence"]))
    for finding in service["findings"]:
        at = finding["at"] or starts.get(finding["launch"])
        sort = _FINDING_MARKS.get(finding["id"])
        if at and sort:
            marks.append(_mark(sort, at, finding["title"], finding["evidence"]))
    return marks[:_MOST_MARKS]


def _mark(kind: str, at: str, what: str, evidence: list[dict[str, Any]]) -> dict[str, Any]:
    where = f"{evidence[0]['path']}:{evidence[0]['line']}" if evidence else ""
    return {
        "t": milliseconds(at),
        "kind": kind,
        "at": at[:19].replace("T", " "),
        "what": what,
        "where": where,
    }


def _samples(drawn: Service, analysis: Analysis) -> dict[str, list[Any]]:
    import polars as pl  # noqa: PLC0415

    names = ("t", "usage", "running", "queue", "launch")
    if analysis.samples is None:
        return {name: [] for name in names}
    rows = (
        analysis.samples.filter((pl.col("service") == drawn.id) & pl.col("launch").is_not_null())
        .filter(pl.any_horizontal(pl.col("usage_max", "running_max", "queue_max").is_not_null()))
        .group_by("launch", "slot_at", maintain_order=True)
        .agg(pl.col("usage_max").max(), pl.col("running_max").sum(), pl.col("queue_max").sum())
        .sort("slot_at", maintain_order=True)
    )
    return {
        "t": rows["slot_at"].dt.epoch("ms").to_list(),
        "usage": rows["usage_max"].round(3).to_list(),
        "running": rows["running_max"].to_list(),
        "queue": rows["queue_max"].to_list(),
        "launch": rows["launch"].to_list(),
    }


def _thin(samples: dict[str, list[Any]], most: int) -> dict[str, list[Any]]:
    """Keep the largest value of each figure in every run of neighbours; a run never spans two launches."""
    count = len(samples["t"])
    step = -(-count // most)
    if step <= 1:
        return samples
    few: dict[str, list[Any]] = {name: [] for name in samples}
    start = 0
    while start < count:
        end = start + 1
        while end < min(start + step, count) and samples["launch"][end] == samples["launch"][start]:
            end += 1
        few["t"].append(samples["t"][start])
        few["launch"].append(samples["launch"][start])
        for name in ("usage", "running", "queue"):
            few[name].append(max((v for v in samples[name][start:end] if v is not None), default=None))
        start = end
    return few
