"""JSON of parts of an analysis: its launches, two launches side by side, its coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.report import timeline_json
from kvforensics.report.plain import JSON, plain
from kvforensics.sizing.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvforensics.analysis import Analysis, Service
    from kvforensics.launches import Launch
    from kvforensics.verdicts.verdict import Verdict


def launches(analysis: Analysis) -> JSON:
    """Return the launches of each service (schema `kvforensics.launches/1`)."""
    return {
        "schema": "kvforensics.launches/1",
        "services": [
            {
                "id": plain(service.id),
                "host": plain(service.host),
                "unit": plain(service.unit),
                "launches": [_launch(service, each) for each in service.launches],
            }
            for service in analysis.services
        ],
    }


def diff(service: Service, older: Launch, newer: Launch, verdicts: Sequence[Verdict]) -> JSON:
    """Return two launches, every setting whose effective value differs, and the judged changes."""
    return {
        "schema": "kvforensics.diff/1",
        "service": plain(service.id),
        "from": _launch(service, older),
        "to": _launch(service, newer),
        "settings": [
            {"setting": name, "before": plain(before), "after": plain(after)}
            for name, before, after in settings_that_differ(older, newer)
        ],
        "changes": [timeline_json.change(verdict) for verdict in verdicts],
    }


def coverage(analysis: Analysis) -> JSON:
    """Return the sources and how much of them was understood (schema `kvforensics.coverage/1`)."""
    return {
        "schema": "kvforensics.coverage/1",
        "sources": [timeline_json.source(each) for each in analysis.sources],
        "coverage": timeline_json.coverage(analysis.coverage),
    }


def settings_that_differ(older: Launch, newer: Launch) -> list[tuple[str, object, object]]:
    """Return (setting, before, after) for every setting that differs, None where a launch has none."""
    before, after = older.config.values, newer.config.values
    return [
        (name, before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _launch(service: Service, launch: Launch) -> JSON:
    return timeline_json.launch(launch, service.budgets.get(launch.id, Budget()))
