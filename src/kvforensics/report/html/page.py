"""The report page: one file that opens offline, made from the timeline document and the samples.

Every word of a log passes the template engine's escaping; data for scripts goes through `tojson`, which
escapes what could close a script. The chart library's JavaScript comes out of the installed vl-convert.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from kvforensics.errors import MissingExtraError
from kvforensics.report import story, timeline_json
from kvforensics.report.html import chart, series
from kvforensics.report.span import duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment

    from kvforensics.analysis import Analysis, Service


def html(analysis: Analysis, release: str) -> str:
    """Return the report as one HTML page. Raises MissingExtraError without the `report` extra."""
    document = timeline_json.timeline(analysis)
    parts = [
        _part(number, service, drawn, analysis)
        for number, (service, drawn) in enumerate(
            zip(document["services"], analysis.services, strict=True), 1
        )
    ]
    charts = [
        {"number": number, "spec": part["chart"], "samples": part["samples"]}
        for number, part in enumerate(parts, 1)
        if part["chart"]
    ]
    engine = environment()
    engine.globals["evidence"] = _Evidence(analysis, engine)
    template = engine.get_template("page.html.j2")
    return template.render(
        doc=document,
        parts=parts,
        title=_title(document),
        charts=charts,
        any_chart=bool(charts),
        bundle=_bundle() if charts else "",
        css=asset("page.css"),
        js=asset("page.js"),
        release=release,
    )


def _part(number: int, service: dict[str, Any], drawn: Service, analysis: Analysis) -> dict[str, Any]:
    data = series.chart_data(service, drawn, analysis)
    bars = series.memory_bars(service, drawn)
    return {
        "number": number,
        "service": service,
        "story": story.tell(service),
        "verdicts": sorted({change["verdict"] for change in service["changes"]}),
        "to_ready": {each["id"]: _span(each["started_at"], each["ready_at"]) for each in service["launches"]},
        "downtime": {each["id"]: duration(each["downtime_s"]) for each in service["launches"]},
        "chart": chart.specification(data | {"samples": []}) if data else None,
        "samples": series.columns(data["samples"]) if data else None,
        "svg": _svg(chart.specification(data | {"samples": series.thin(data["samples"])})) if data else "",
        "memory_svg": _svg(chart.memory_specification(bars)) if bars else "",
        "alt": " ".join(story.tell(service)),
    }


def _title(document: dict[str, Any]) -> str:
    idle = sum(len(story.without_effect(service)) for service in document["services"])
    what = f"{idle} edit{'s' if idle != 1 else ''} without effect" if idle else "launches and KV pools"
    names = ", ".join(service["id"] for service in document["services"][:2])
    return f"{names}: {what}"


class _Evidence:
    """A line of the log with its place, rendered for the page."""

    def __init__(self, analysis: Analysis, engine: Environment) -> None:
        self._texts = {
            (analysis.sources[event.source].path, event.line): event.text
            for service in analysis.services
            for event in [*service.trail, *(e for launch in service.launches for e in launch.events)]
            if event.text
        }
        self._template = engine.from_string(
            '<p class="place"><code>{{ path }}:{{ line }}</code></p>'
            "{% if text %}<pre>{{ text }}</pre>{% endif %}"
        )

    def __call__(self, place: Mapping[str, Any]) -> object:
        from markupsafe import Markup  # noqa: PLC0415 - comes with the optional template engine

        text = self._texts.get((place["path"], place["line"]))
        return Markup(self._template.render(path=place["path"], line=place["line"], text=_shorten(text)))  # noqa: S704


def _shorten(text: str | None, limit: int = 320) -> str | None:
    return text if text is None or len(text) <= limit else f"{text[:limit]} … ({len(text):,} characters)"


def _span(start: str | None, end: str | None) -> str:
    from datetime import datetime  # noqa: PLC0415

    if start is None or end is None:
        return "–"
    return duration((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())


def environment() -> Environment:
    """Return the template engine, escaping on, with the words that templates use."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415
    except ImportError as error:
        raise _missing("jinja2") from error
    engine = Environment(
        loader=PackageLoader("kvforensics.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    engine.globals.update(
        number=story.number,
        value=story.value,
        minute=story.minute,
        second=lambda at: "–" if at is None else at[:19].replace("T", " "),
        words=lambda name: name.replace("_", " "),
        version=_version,
        no_ops=story.NO_OPS,
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


@cache
def _bundle() -> str:
    try:
        import vl_convert  # noqa: PLC0415
    except ImportError as error:
        raise _missing("vl-convert-python") from error
    bundle = str(vl_convert.javascript_bundle(vl_version="6.4"))  # type: ignore[call-arg]
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _svg(specification: dict[str, Any]) -> str:
    try:
        import vl_convert  # noqa: PLC0415
    except ImportError as error:
        raise _missing("vl-convert-python") from error
    return str(vl_convert.vegalite_to_svg(specification, vl_version="6.4"))


def _missing(package: str) -> MissingExtraError:
    return MissingExtraError(
        f"the HTML report needs {package}", hint="install the extra: pip install 'kvforensics[report]'"
    )
