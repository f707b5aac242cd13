"""Grafana annotations: launches as regions, changes and findings as points, for the annotations API."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kvforensics.report.plain import dumps

if TYPE_CHECKING:
    from kvforensics.report.plain import JSON


def grafana(document: JSON) -> str:
    """Return a JSON list of annotations with `time` and `timeEnd` in milliseconds since 1970."""
    notes: list[dict[str, Any]] = []
    for service in document["services"]:
        tags = ["kvforensics", f"service:{service['id']}"]
        starts = {launch["id"]: launch["started_at"] for launch in service["launches"]}
        for launch in service["launches"]:
            figures = f"pool {launch['pool_tokens']}, context {launch['context_len']}"
            text = f"{launch['id']}: {figures}, {launch['end']}"
            note(
                notes, launch["started_at"], text, [*tags, "launch"], launch["ended_at"] or launch["last_at"]
            )
        for change in service["changes"]:
            edit = f"{change['setting']}: {change['before']} → {change['after']}"
            text = f"{edit} ({change['verdict']}). {change['reason']}"
            note(notes, starts.get(change["to"]), text, [*tags, "change", change["verdict"]])
        for finding in service["findings"]:
            text = f"{finding['title']}. {finding['detail']}"
            at = finding["at"] or starts.get(finding["launch"])
            note(notes, at, text, [*tags, "finding", finding["severity"], finding["id"]])
    return dumps(sorted(notes, key=lambda each: (each["time"], each["text"])))


def note(
    notes: list[dict[str, Any]], at: str | None, text: str, tags: list[str], until: str | None = None
) -> None:
    """Append an annotation, unless its time is unknown."""
    if at is None:
        return
    region = {} if until is None or until <= at else {"timeEnd": milliseconds(until)}
    notes.append({"time": milliseconds(at), "text": _inert(text), "tags": tags, **region})


def milliseconds(at: str) -> int:
    """Return an ISO time of the contract as milliseconds since 1970, exactly."""
    delta = datetime.fromisoformat(at) - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86400 + delta.seconds) * 1000 + delta.microseconds // 1000


def _inert(text: str) -> str:
    """Return text that stays text: Grafana shows annotations as HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
