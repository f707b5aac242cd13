"""The report page: one file that opens offline, made from the timeline document and the samples.

Every word of a log passes the template engine's escaping; data for scripts goes through `tojson`, which
escapes what could close a script. The chart library's JavaScript comes out of the installed vl-convert.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from kvforensics.report import story, timeline_json
from kvforensics.report.evidence import Evidence
from kvforensics.report.html import chart, drawing, series
from kvforensics.report.html.folding import findings_by_id, settings_by_value
from kvforensics.report.inert import inert_values
from kvforensics.report.span import duration, span
from kvforensics.verdicts.verdict import NO_OPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment

    from kvforensics.analysis import Analysis, Service


def html(analysis: Analysis, release: str) -> str:
    """Return the report as one HTML page. Raises MissingExtraError without the `report` extra."""
    drawing.require()
    document = timeline_json.timeline(analysis)
    parts = [
        _part(number, service, drawn, analysis)
        for number, (service, drawn) in enumerate(
            zip(document["services"], analysis.services, strict=True), 1
        )
    ]
    charts = [
        {"number": part["number"], "spec": part["chart"], **part["data"]} for part in parts if part["chart"]
    ]
    engine = environment()
    engine.globals["evidence"] = Evidence(analysis)
    template = engine.get_template("page.html.j2")
    return template.render(
        doc=document,
        parts=parts,
        title=_title(document),
        charts=charts,
        bundle=drawing.bundle() if charts else "",
        css=asset("page.css"),
        js=asset("page.js"),
        marks=chart.MARKS,
        colors=chart.COLORS,
        memory_colors=chart.PARTS,
        release=release,
    )


def _part(number: int, service: dict[str, Any], drawn: Service, analysis: Analysis) -> dict[str, Any]:
    data = inert_values(series.chart_data(service, drawn, analysis))
    bars = inert_values(series.memory_bars(service, drawn))
    told = story.tell(service)
    return {
        "number": number,
        "service": service,
        "story": told,
        "idle": story.without_effect(service),
        "verdicts": sorted({change["verdict"] for change in service["changes"]}),
        "findings": findings_by_id(service["findings"]),
        "settings": settings_by_value(service["launches"]),
        "to_ready": {each["id"]: span(each["started_at"], each["ready_at"]) for each in service["launches"]},
        "downtime": {each["id"]: duration(each["downtime_s"]) for each in service["launches"]},
        "chart": _page_chart(data) if data else None,
        "data": series.page_data(data) if data else None,
        "has_load": bool(data and data["has_load"]),
        "kinds": series.kinds(data) if data else [],
        "svg": _picture(data, f"chart{number}") if data else "",
        "memory": {row["launch"]: row for row in bars if row["order"] == 0},
        "memory_svg": _memory(bars, f"memory{number}") if bars else "",
        "alt": " ".join(told),
    }


def _page_chart(data: dict[str, Any]) -> dict[str, Any]:
    """Return the chart without data: the page's script hands it what is in the window."""
    empty: dict[str, Any] = {name: [] for name in ("launches", "steps", "marks", "samples")}
    return drawing.compiled(chart.specification(data | empty, legends=False, kinds=series.kinds(data)))


def _memory(bars: list[dict[str, Any]], name: str) -> str:
    return drawing.inline_svg(chart.memory_specification(bars, legends=False), name)


def _picture(data: dict[str, Any], name: str) -> str:
    few = data | {"samples": series.thin(data["samples"])}
    return drawing.inline_svg(chart.specification(few, legends=True, kinds=series.kinds(data)), name)


def _title(document: dict[str, Any]) -> str:
    idle = sum(len(story.without_effect(service)) for service in document["services"])
    what = f"{idle} edit{'s' if idle != 1 else ''} without effect" if idle else "launches and KV pools"
    names = ", ".join(service["id"] for service in document["services"][:2])
    more = len(document["services"]) - 2
    return f"{names}{f' and {more} more' if more > 0 else ''}: {what}"


def environment() -> Environment:
    """Return the template engine, escaping on, with the words that templates use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only documents need it

    engine = Environment(
        loader=PackageLoader("kvforensics.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if hasattr(value, "__html__") else inert_values(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.globals.update(
        number=story.number,
        value=story.value,
        minute=story.minute,
        second=lambda at: "–" if at is None else at[:19].replace("T", " "),
        words=lambda name: name.replace("_", " "),
        version=_version,
        no_ops=NO_OPS,
    )
    return engine


def _version(version: Mapping[str, str | None]) -> str:
    if version["from"] is None and version["to"] is None:
        return "–"
    if version["from"] == version["to"]:
        return str(version["from"])
    return f"{version['from'] or '?'}–{version['to'] or '?'}"


@cache
def asset(name: str) -> str:
    """Return a style sheet or script of the templates."""
    return (files("kvforensics.report.html") / "templates" / name).read_text("utf-8")
