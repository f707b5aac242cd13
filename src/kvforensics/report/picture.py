"""The main chart as SVG or PNG, drawn without a browser from the page's own specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.errors import MissingExtraError, UsageError
from kvforensics.report import timeline_json
from kvforensics.report.html import chart, series

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis

_SCALE = 2.0  # pixels of the PNG for one of the specification


def svg(analysis: Analysis, service: str | None = None) -> str:
    """Return the chart of a service (the first by default) as SVG."""
    return str(_converter().vegalite_to_svg(_specification(analysis, service), vl_version="6.4"))


def png(analysis: Analysis, service: str | None = None) -> bytes:
    """Return the chart of a service (the first by default) as PNG."""
    made = _converter().vegalite_to_png(_specification(analysis, service), vl_version="6.4", scale=_SCALE)
    return bytes(made)


def _specification(analysis: Analysis, wanted: str | None) -> dict[str, Any]:
    document = timeline_json.timeline(analysis)
    for service, drawn in zip(document["services"], analysis.services, strict=True):
        if wanted in (None, drawn.id):
            data = series.chart_data(service, drawn, analysis)
            if data is None:
                raise UsageError(f"{drawn.id} has no launch with a time, so there is nothing to draw")
            return chart.specification(data | {"samples": series.thin(data["samples"])})
    known = ", ".join(each.id for each in analysis.services)
    raise UsageError(f"no service is called {wanted}", hint=f"there are: {known}")


def _converter() -> Any:
    try:
        import vl_convert  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            "pictures need vl-convert-python", hint="install the extra: pip install 'kvforensics[report]'"
        ) from error
    return vl_convert
