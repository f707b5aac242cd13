"""Timesketch JSON lines: one event a line with `message`, `datetime` and `timestamp_desc`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.report.plain import JSON


def timesketch(document: JSON) -> str:
    """Return the timeline document as JSON lines in time order; what has no time is left out there."""
    rows = sorted(_rows(document), key=lambda row: (row["datetime"], row["message"]))
    return "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)


def _rows(document: JSON) -> Iterator[dict[str, Any]]:
    for service in document["services"]:
        base = {"service": service["id"], "host": service["host"], "data_type": "kvforensics:timeline"}
        starts = {launch["id"]: launch["started_at"] for launch in service["launches"]}
        for launch in service["launches"]:
            yield from _launch(base, launch)
        for change in service["changes"]:
            yield from _row(
                base,
                starts.get(change["to"]),
                "Setting Changed",
                f"{change['setting']}: {change['before']} -> {change['after']}: {change['verdict']}",
                change["evidence"],
                launch=change["to"],
                tag=[change["verdict"]],
            )
        for finding in service["findings"]:
            yield from _row(
                base,
                finding["at"] or starts.get(finding["launch"]),
                "Finding",
                f"{finding['severity']}: {finding['title']}: {finding['detail']}",
                finding["evidence"],
                launch=finding["launch"],
                tag=[finding["id"], finding["severity"]],
            )
        for event in service["trail"]:
            yield from _row(base, event["at"], "Logged", event["text"] or event["kind"], [event["evidence"]])


def _launch(base: dict[str, Any], launch: JSON) -> Iterator[dict[str, Any]]:
    figures = f"pool {launch['pool_tokens']}, context {launch['context_len']}"
    evidence = [place for place in launch["evidence"].values() if place]
    for at, what, message in (
        (launch["started_at"], "Launch Started", f"{launch['id']} started"),
        (launch["ready_at"], "Launch Ready", f"{launch['id']} ready: {figures}"),
        (launch["ended_at"], "Launch Ended", f"{launch['id']} ended: {launch['end']}"),
    ):
        yield from _row(base, at, what, message, evidence, launch=launch["id"])


def _row(
    base: dict[str, Any], at: str | None, what: str, message: str, evidence: list[JSON], **more: Any
) -> Iterator[dict[str, Any]]:
    if at is None:
        return
    first = evidence[0] if evidence else None
    where = f"{first['path']}:{first['line']}" if first else None
    yield base | {"datetime": at, "timestamp_desc": what, "message": message, "evidence": where} | more
