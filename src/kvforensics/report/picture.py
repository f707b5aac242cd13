"""The main chart as SVG or PNG, drawn without a browser from the page's own specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.errors import UsageError
from kvforensics.report import timeline_json
from kvforensics.report.html import chart, drawing, series
from kvforensics.selection import service as service_called

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis


def svg(analysis: Analysis, service: str | None = None) -> str:
    """Return the chart of a service (the first by default) as SVG."""
    return drawing.svg(_specification(analysis, service))


def png(analysis: Analysis, service: str | None = None) -> bytes:
    """Return the chart of a service (the first by default) as PNG."""
    return drawing.png(_specification(analysis, service))


def _specification(analysis: Analysis, wanted: str | None) -> dict[str, Any]:
    drawn = analysis.services[0] if wanted is None else service_called(analysis, wanted)
    document = timeline_json.timeline(analysis)
    service = document["services"][analysis.services.index(drawn)]
    data = series.chart_data(service, drawn, analysis)
    if data is None:
        raise UsageError(f"{drawn.id} has no launch with a time, so there is nothing to draw")
    few = data | {"samples": series.thin(data["samples"])}
    return chart.specification(few, legends=True, kinds=series.kinds(data))
