"""Launches, changes and findings as tables: CSV for a spreadsheet, Parquet for everything else."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.report.inert import inert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.report.plain import JSON

_FORMULA = ("=", "+", "-", "@")
_TIME = pl.Datetime("us", "UTC")
SCHEMAS: dict[str, dict[str, Any]] = {
    "launches": {
        "service": pl.String,
        "launch": pl.String,
        "started_at": _TIME,
        "ready_at": _TIME,
        "ended_at": _TIME,
        "end": pl.String,
        "version_from": pl.String,
        "version_to": pl.String,
        "pool_tokens": pl.Int64,
        "context_len": pl.Int64,
        "max_running_requests": pl.Int64,
        "longest_prompt_tokens": pl.Int64,
        "free_gib": pl.Float64,
        "before_load_gib": pl.Float64,
        "after_load_gib": pl.Float64,
        "after_pool_gib": pl.Float64,
        "bytes_per_token": pl.Int64,
        "rejected_too_long": pl.Int64,
        "retractions": pl.Int64,
        "peak_token_usage": pl.Float64,
        "peak_running": pl.Int64,
        "peak_queue": pl.Int64,
        "downtime_s": pl.Float64,
        "config": pl.String,  # JSON object
    },
    "changes": {
        "service": pl.String,
        "from": pl.String,
        "to": pl.String,
        "setting": pl.String,
        "before": pl.String,  # JSON value
        "after": pl.String,  # JSON value
        "requested": pl.String,  # JSON value
        "verdict": pl.String,
        "reason_code": pl.String,
        "reason": pl.String,
        "advice": pl.String,
        "attribution": pl.String,
        "pool_before": pl.Float64,
        "pool_after": pl.Float64,
        "pool_outcome": pl.String,
        "path": pl.String,
        "line": pl.Int64,
    },
    "findings": {
        "service": pl.String,
        "id": pl.String,
        "severity": pl.String,
        "launch": pl.String,
        "at": _TIME,
        "title": pl.String,
        "detail": pl.String,
        "fix": pl.String,
        "path": pl.String,
        "line": pl.Int64,
    },
}


def table(document: JSON, name: str) -> pl.DataFrame:
    """Return `launches`, `changes` or `findings` of a timeline document; columns as `SCHEMAS` says."""
    rows = {"launches": _launches, "changes": _changes, "findings": _findings}[name]
    return pl.DataFrame(list(rows(document)), schema=SCHEMAS[name], orient="row")


def csv(frame: pl.DataFrame) -> str:
    """Return a table as CSV: no cell is a spreadsheet's formula, no character steers a terminal.

    A cell that a spreadsheet would take for a formula starts with an apostrophe.
    """
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    safe = frame.with_columns(pl.col(name).map_elements(_cell, return_dtype=pl.String) for name in texts)
    return safe.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")


def _cell(text: str) -> str:
    shown = inert(text)
    return f"'{shown}" if text.lstrip().startswith(_FORMULA) or text[:1] in ("\t", "\r") else shown


def _launches(document: JSON) -> Iterator[tuple[Any, ...]]:
    for service in document["services"]:
        for each in service["launches"]:
            flat = each | each["memory"] | each["requests"]
            flat["service"], flat["launch"] = service["id"], each["id"]
            flat["version_from"], flat["version_to"] = each["version"]["from"], each["version"]["to"]
            flat["config"] = json.dumps(each["config"], sort_keys=True)
            for name in ("started_at", "ready_at", "ended_at"):
                flat[name] = _time(each[name])
            yield tuple(flat[name] for name in SCHEMAS["launches"])


def _changes(document: JSON) -> Iterator[tuple[Any, ...]]:
    for service in document["services"]:
        for each in service["changes"]:
            pool = each["effects"]["pool_tokens"]
            flat = each | {
                name: json.dumps(each[name], sort_keys=True) for name in ("before", "after", "requested")
            }
            flat |= {"service": service["id"], **_first(each["evidence"])}
            flat |= {f"pool_{name}": pool[name] for name in ("before", "after", "outcome")}
            yield tuple(flat[name] for name in SCHEMAS["changes"])


def _findings(document: JSON) -> Iterator[tuple[Any, ...]]:
    for service in document["services"]:
        for each in service["findings"]:
            flat = each | {"service": service["id"], "at": _time(each["at"]), **_first(each["evidence"])}
            yield tuple(flat[name] for name in SCHEMAS["findings"])


def _first(evidence: list[JSON]) -> dict[str, Any]:
    return (
        {"path": evidence[0]["path"], "line": evidence[0]["line"]}
        if evidence
        else {"path": None, "line": None}
    )


def _time(at: str | None) -> datetime | None:
    return None if at is None else datetime.fromisoformat(at)
