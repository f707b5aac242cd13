"""The published columns of a catalogue: what other tools find when they open its Parquet files."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from kvforensics.report import tables
from kvforensics.samples import Samples
from kvforensics.scan.catalogue import SCHEMA
from kvforensics.scan.reduce import EDITOR, OWNER, SOURCES
from kvforensics.scan.store import EVENT_COLUMNS, ORIGIN_COLUMNS, SLOT_AT

PARTITION = {"runtime": "month", **dict.fromkeys(tables.SCHEMAS, "host")}  # a column that the folders tell
FILES = {
    "events": "events/*.parquet",
    "runtime": "runtime/month=*/*.parquet",
    "launches": "launches/host=*/*.parquet",
    "changes": "changes/host=*/*.parquet",
    "findings": "findings/host=*/*.parquet",
    "sources": "sources/*.parquet",
}
_ABOUT = {
    "events": "one row a rare event: start-ups, pools, ends, trouble, systemd, edits; one file an input",
    "runtime": "scheduler lines summed up in time buckets; one file an input and month",
    "launches": "one row a start of a server, as in the timeline",
    "changes": "one row a setting that differs between two launches in a row, with its verdict",
    "findings": "one row a finding",
    "sources": "one row an input, read or failed",
}
_MEANING = {
    "input": "name of the input's files; join with sources.input for its path",
    "line": "physical line of the decompressed text, from 1",
    "at": "UTC",
    "inner_at": "time that SGLang printed, zone unknown",
    "mono": "microseconds of the machine's monotonic clock",
    "fields": "JSON object; names as in docs/architecture.md",
    "text": "the line, secrets redacted",
    "origin": "number of the writer within the input",
    "source": "always 0: the input's place within its own file",
    "after_line": "line of the last rare event before the bucket, which never spans one; very negative: none",
    "slot": "number of the bucket: microseconds since 1970 over its width",
    SLOT_AT: "start of the bucket, UTC",
    "gen_tps_sum": "sum of the decode lines' tokens a second",
    "gen_tps_lines": "decode lines that told it; the mean is gen_tps_sum / gen_tps_lines",
    "prefills": "prefill lines",
    "decodes": "decode lines",
    "retractions": "lines about a retraction",
    "retracted": "requests retracted",
    "month": "YYYY-MM of the bucket; unknown without a time",
    "host": "machine; null (in a folder name: -) where nobody says",
    "service": "id of the service, as in the timeline",
    "config": "JSON object of the effective settings",
    "status": "done | failed",
    "error": "why it failed",
    "repeated": "records that another input gave too",
    "edited_by": "who last used sudo between the two starts",
    "damage": "kinds of damage, joined by a blank",
    "first_at": "UTC",
    "last_at": "UTC",
}


def columns() -> dict[str, dict[str, Any]]:
    """Return the columns of every dataset with their polars types; partition columns last."""
    buckets = dict(Samples().parts()[0].schema)
    runtime = {**buckets, **ORIGIN_COLUMNS, "input": pl.String(), SLOT_AT: pl.Datetime("us")}
    found: dict[str, dict[str, Any]] = {"events": dict(EVENT_COLUMNS), "runtime": runtime}
    for name, schema in tables.SCHEMAS.items():
        found[name] = {**schema, "unit": OWNER["unit"]}
    found["changes"] |= EDITOR
    found["sources"] = dict(SOURCES)
    for name, partition in PARTITION.items():
        found[name][partition] = pl.String()
    return found


def schema() -> str:
    """Return the datasets, their files, and their columns with type and meaning as JSON."""
    datasets = {
        name: {
            "about": _ABOUT[name],
            "files": FILES[name],
            "partitioned_by": PARTITION.get(name),
            "columns": [
                {
                    "name": column,
                    "type": str(pl.Series([], dtype=dtype).dtype),
                    "meaning": _MEANING.get(column),
                }
                for column, dtype in typed.items()
            ],
        }
        for name, typed in columns().items()
    }
    return json.dumps({"schema": SCHEMA, "datasets": datasets}, indent=2) + "\n"
