"""The formats of `kvforensics report`: each a name, the endings that mean it, and what makes it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from kvforensics.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kvforensics.analysis import Analysis
    from kvforensics.report.plain import JSON


class Kind(StrEnum):
    """The formats by their names."""

    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    TIMESKETCH = "timesketch"
    GRAFANA = "grafana"
    SARIF = "sarif"
    OPENMETRICS = "openmetrics"
    SVG = "svg"
    PNG = "png"


TABLES = ("launches", "changes", "findings")
_ENDINGS = {
    ".html": Kind.HTML,
    ".htm": Kind.HTML,
    ".md": Kind.MARKDOWN,
    ".markdown": Kind.MARKDOWN,
    ".grafana.json": Kind.GRAFANA,
    ".sarif.json": Kind.SARIF,
    ".sarif": Kind.SARIF,
    ".json": Kind.JSON,
    ".csv": Kind.CSV,
    ".parquet": Kind.PARQUET,
    ".jsonl": Kind.TIMESKETCH,
    ".om": Kind.OPENMETRICS,
    ".prom": Kind.OPENMETRICS,
    ".openmetrics": Kind.OPENMETRICS,
    ".svg": Kind.SVG,
    ".png": Kind.PNG,
}


def kind_of(path: str) -> Kind:
    """Return the format that a file's ending means. Raises UsageError for an unknown one."""
    name = PurePath(path).name.lower()
    for ending in sorted(_ENDINGS, key=len, reverse=True):
        if name.endswith(ending):
            return _ENDINGS[ending]
    raise UsageError(
        "the ending does not say which format is meant",
        where=path,
        hint=f"name it with --format, or end the file in {', '.join(dict.fromkeys(_ENDINGS))}",
    )


def require(kinds: Iterable[Kind]) -> None:
    """Raise MissingExtraError, before anything is read, where a format needs what is not installed."""
    if any(kind in (Kind.HTML, Kind.SVG, Kind.PNG) for kind in kinds):
        from kvforensics.report.html import drawing  # noqa: PLC0415

        drawing.require()


def table_of(path: str) -> str:
    """Return which table a CSV or Parquet file is to hold, by its name; changes where the name says none."""
    stem = PurePath(path).name.lower()
    return next((name for name in TABLES if name in stem), "changes")


@dataclass
class Writer:
    """Makes documents of one analysis; what several of them need is made once."""

    analysis: Analysis
    release: str
    local: str = "UTC"  # IANA zone of the second clock of the Markdown timeline
    service: str | None = None  # whose chart a picture shows; the first by default

    @cached_property
    def document(self) -> JSON:
        """The timeline document."""
        from kvforensics.report import timeline_json  # noqa: PLC0415

        return timeline_json.timeline(self.analysis)

    def make(self, kind: Kind, table: str = "changes") -> bytes:
        """Return one document as bytes; `table` is one of TABLES, for CSV and Parquet."""
        makers: dict[Kind, Callable[[], str | bytes]] = {
            Kind.HTML: self._html,
            Kind.MARKDOWN: self._markdown,
            Kind.JSON: self._json,
            Kind.CSV: lambda: self._csv(table),
            Kind.PARQUET: lambda: self._parquet(table),
            Kind.TIMESKETCH: self._timesketch,
            Kind.GRAFANA: self._grafana,
            Kind.SARIF: self._sarif,
            Kind.OPENMETRICS: self._openmetrics,
            Kind.SVG: self._svg,
            Kind.PNG: self._png,
        }
        made = makers[kind]()
        return made.encode() if isinstance(made, str) else made

    def _html(self) -> str:
        from kvforensics.report.html import html  # noqa: PLC0415

        return html(self.analysis, self.release)

    def _markdown(self) -> str:
        from kvforensics.report.markdown import markdown  # noqa: PLC0415

        return markdown(self.analysis, local=self.local)

    def _json(self) -> str:
        from kvforensics.report.plain import dumps  # noqa: PLC0415

        return dumps(self.document)

    def _csv(self, table: str) -> str:
        from kvforensics.report import tables  # noqa: PLC0415

        return tables.csv(tables.table(self.document, table))

    def _parquet(self, table: str) -> bytes:
        from io import BytesIO  # noqa: PLC0415

        from kvforensics.report import tables  # noqa: PLC0415

        made = BytesIO()
        tables.table(self.document, table).write_parquet(made)
        return made.getvalue()

    def _timesketch(self) -> str:
        from kvforensics.report.timesketch import timesketch  # noqa: PLC0415

        return timesketch(self.document)

    def _grafana(self) -> str:
        from kvforensics.report.grafana import grafana  # noqa: PLC0415

        return grafana(self.document)

    def _sarif(self) -> str:
        from kvforensics.report.sarif import sarif  # noqa: PLC0415

        return sarif(self.document, self.release)

    def _openmetrics(self) -> str:
        from kvforensics.report.openmetrics import openmetrics  # noqa: PLC0415

        return openmetrics(self.analysis)

    def _svg(self) -> str:
        from kvforensics.report import picture  # noqa: PLC0415

        return picture.svg(self.analysis, self.service)

    def _png(self) -> bytes:
        from kvforensics.report import picture  # noqa: PLC0415

        return picture.png(self.analysis, self.service)
