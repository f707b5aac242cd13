"""What the charts draw, as plain rows and columns: bands, steps, marks and thinned samples."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kvforensics.load import load, pressure
from kvforensics.memory_parts import memory_parts
from kvforensics.report import story
from kvforensics.report.html.chart import CONTEXT, FIRST_ROW, MARKS, POOL, ROWS
from kvforensics.verdicts.verdict import NOT_ABOUT_MEMORY

if TYPE_CHECKING:
    import polars as pl

    from kvforensics.analysis import Analysis, Service

MOST_POINTS = 40_000  # samples in the page, for zooming
STATIC_POINTS = 900  # samples in the picture without script
MOST_PRESSURE = 200  # markers of one kind of retraction or refusal; neighbours share one beyond
GAP_MS = 120_000  # without a server for longer, a line does not lead to the next launch
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIGURES = ("usage", "running", "queue")
_FINDING_MARKS = {
    "oom_at_load": "out of memory",
    "oom_at_sizing": "out of memory",
    "oom_at_graph_capture": "out of memory",
    "oom_at_runtime": "out of memory",
    "not_enough_memory": "out of memory",
    "watchdog_timeout": "crash",
    "scheduler_crash": "crash",
}
_PRESSURE_MARKS = {
    "retraction": ("retraction", "{} retracted: the pool was full"),
    "pool": ("refused", "{} refused: longer than the pool"),
    "context": ("refused", "{} refused: longer than the context length"),
}


def chart_data(service: dict[str, Any], drawn: Service, analysis: Analysis) -> dict[str, Any] | None:
    """Return the data of one service's main chart, or None where no launch has a time.

    `service` is the contract's service, `drawn` the same as objects. Times are milliseconds since 1970.
    """
    launches = [_band(launch) for launch in service["launches"] if launch["started_at"]]
    if not launches:
        return None
    for band, after in pairwise(launches):
        band["b"] = min(max(band["b"], band["a"] + 1), max(after["a"], band["a"] + 1))
    samples = _samples(load(analysis, drawn.id))
    ends = [band["b"] for band in launches] + samples["t"][-1:]
    first, last = min(band["a"] for band in launches), max(ends)
    margin = max((last - first) // 100, 30_000)
    return {
        "t0": first - margin,
        "t1": last + margin,
        "launches": launches,
        "steps": [*_steps(launches, POOL, "pool_tokens"), *_steps(launches, CONTEXT, "context_tokens")],
        "marks": sorted([*_marks(service), *_pressure(drawn, analysis)], key=lambda mark: mark["t"]),
        "samples": samples,
        "has_load": bool(samples["t"]),
        "top_tokens": _top([band[name] for band in launches for name in ("pool_tokens", "context_tokens")]),
        "top_requests": _top([*samples["running"], *samples["queue"]]),
    }


def _top(figures: list[int | None]) -> int:
    """Return where an axis ends: at the largest figure, and at one where there is none."""
    return max([1, *(figure for figure in figures if figure is not None)])


def kinds(data: dict[str, Any]) -> list[str]:
    """Return the kinds of markers that a chart has, in the order of MARKS."""
    return [kind for kind in MARKS if any(mark["kind"] == kind for mark in data["marks"])]


def page_data(data: dict[str, Any]) -> dict[str, Any]:
    """Return what a page's script needs to fill the window of a chart; steps follow from the launches."""
    return {
        "launches": data["launches"],
        "marks": data["marks"],
        "samples": packed(data["samples"]),
        "gap": GAP_MS,
    }


def packed(samples: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the samples as few bytes, thinned to what a page carries, peaks kept.

    `t` holds seconds, each less the one before; `usage` thousandths; `launch` runs of [name, length].
    """
    few = _thin(samples, MOST_POINTS)
    seconds = [t // 1000 for t in few["t"]]
    runs: list[list[Any]] = []
    for name in few["launch"]:
        if runs and runs[-1][0] == name:
            runs[-1][1] += 1
        else:
            runs.append([name, 1])
    return {
        "t": [b - a for a, b in pairwise([0, *seconds])],
        "usage": [None if each is None else round(each * 1000) for each in few["usage"]],
        "running": few["running"],
        "queue": few["queue"],
        "launch": runs,
    }


def thin(samples: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return few samples as rows, peaks kept, for a picture that nobody zooms; an empty row ends a launch."""
    few = _thin(samples, STATIC_POINTS)
    rows: list[dict[str, Any]] = []
    previous = None
    for t, launch, *figures in zip(few["t"], few["launch"], *(few[name] for name in _FIGURES), strict=True):
        if previous is not None and launch != previous:
            rows.append({"t": rows[-1]["t"], **dict.fromkeys(_FIGURES)})
        rows.append({"t": t, **dict(zip(_FIGURES, figures, strict=True))})
        previous = launch
    return rows


def memory_bars(service: dict[str, Any], drawn: Service) -> list[dict[str, Any]]:
    """Return the parts of a GPU's memory of each launch whose log tells them; rows for a stacked bar."""
    rows: list[dict[str, Any]] = []
    for told, launch in zip(service["launches"], drawn.launches, strict=True):
        found = memory_parts(launch, drawn.budgets.get(launch.id))
        if found is None:
            continue
        parts = {
            "weights": found.weights_gib,
            "KV pools": found.pools_gib,
            "graphs and buffers": found.graphs_gib,
            "free": found.free_gib,
        }
        tip = {"launch": told["id"], **{part: f"{gib} GiB" for part, gib in parts.items()}}
        rows += [
            {
                "launch": told["id"],
                "part": part,
                "order": order,
                "gib": gib,
                "limit": found.limit_gib if order == 0 else None,
                "tip": tip,
            }
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
        "r": max(ready, start),
        "failed": launch["end"] == "failed_start",
        "launch": launch["id"],
        "end": launch["end"].replace("_", " "),
        "version": launch["version"]["from"] or "?",
        "free_gib": launch["free_gib"],
        "where": place(evidence),
        "pool_tokens": launch["pool_tokens"],
        "context_tokens": launch["context_len"],
    }


def _steps(bands: list[dict[str, Any]], what: str, field: str) -> list[dict[str, Any]]:
    """Give a row where each launch begins and where it ends; a gap, or no figure, breaks the line."""
    rows: list[dict[str, Any]] = []
    for band in bands:
        if rows and band["a"] - rows[-1]["t"] > GAP_MS:
            rows.append({"t": rows[-1]["t"], "tokens": None, "what": what})
        rows += [{"t": at, "tokens": band[field], "what": what} for at in (band["a"], band["b"])]
    return rows


def _marks(service: dict[str, Any]) -> list[dict[str, Any]]:
    """Give one marker for all changes of a launch of a kind, and one for each failure."""
    starts: dict[str | None, str | None] = {each["id"]: each["started_at"] for each in service["launches"]}
    idle = {id(change) for change in story.without_effect(service)}
    changes: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for change in service["changes"]:
        if change["reason_code"] != NOT_ABOUT_MEMORY and starts.get(change["to"]):
            kind = "edit without effect" if id(change) in idle else "change"
            changes.setdefault((change["to"], kind), []).append(change)
    marks = []
    for (launch, kind), found in changes.items():
        what = "; ".join(f"{story.edit(change)} ({change['verdict'].replace('_', ' ')})" for change in found)
        marks.append(_mark(kind, str(starts[launch]), what, place(next(iter(found[0]["evidence"]), None))))
    for finding in service["findings"]:
        at = finding["at"] or starts.get(finding["launch"])
        sort = _FINDING_MARKS.get(finding["id"])
        if at and sort:
            marks.append(_mark(sort, at, finding["title"], place(next(iter(finding["evidence"]), None))))
    return marks


def _pressure(drawn: Service, analysis: Analysis) -> list[dict[str, Any]]:
    """Give markers of retractions and refusals; where there are many, neighbours share one."""
    marks = []
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for row in pressure(analysis, drawn.id).iter_rows(named=True):
        by_kind.setdefault(row["kind"], []).append(row)
    for kind, rows in by_kind.items():
        step = -(-len(rows) // MOST_PRESSURE)
        for number in range(0, len(rows), step):
            few = rows[number : number + step]
            count = sum(row["requests"] for row in few)
            sort, text = _PRESSURE_MARKS[kind]
            what = text.format(f"{count:,} request{'' if count == 1 else 's'}")
            where = f"{analysis.sources[few[0]['source']].path}:{few[0]['line']}"
            marks.append(_mark(sort, f"{few[0]['at'].isoformat(timespec='microseconds')}Z", what, where))
    return marks


def _mark(kind: str, at: str, what: str, where: str) -> dict[str, Any]:
    tip = {"UTC": at[:19].replace("T", " "), "what": what, "log": where}
    return {"t": milliseconds(at), "kind": kind, "row": ROWS.get(kind, FIRST_ROW), "tip": tip}


def place(evidence: dict[str, Any] | None) -> str:
    """Return where a fact stands as `path:line`."""
    return f"{evidence['path']}:{evidence['line']}" if evidence else ""


def _samples(rows: pl.DataFrame) -> dict[str, list[Any]]:
    return {
        "t": rows["slot_at"].dt.epoch("ms").to_list(),
        "usage": rows["usage"].round(3).to_list(),
        "running": rows["running"].to_list(),
        "queue": rows["queue"].to_list(),
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
        for name in _FIGURES:
            few[name].append(max((v for v in samples[name][start:end] if v is not None), default=None))
        start = end
    return few
