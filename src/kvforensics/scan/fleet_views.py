"""The fleet as JSON, Markdown, HTML and text."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from kvforensics.report.inert import inert
from kvforensics.report.plain import dumps, plain
from kvforensics.report.terminal.rows import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvforensics.scan.fleet import Section

SCHEMA = "kvforensics.fleet/1"
_MOST_ROWS = 50
_LONGEST = 2000  # characters of a cell


def as_json(sections: Sequence[Section]) -> str:
    """Return all rows of all sections."""
    return dumps({"schema": SCHEMA, **{each.name: plain(each.rows.to_dicts()) for each in sections}})


def as_text(sections: Sequence[Section], catalogue: str) -> str:
    """Return the sections that have rows; the last line says how a row leads to its timeline."""
    parts = []
    for each in sections:
        if each.rows.is_empty():
            continue
        more = f"… and {len(each.rows) - _MOST_ROWS:,} more\n" if len(each.rows) > _MOST_ROWS else ""
        parts.append(f"{each.title}\n{text(each.rows.head(_MOST_ROWS))}{more}")
    quiet = [each.title.lower() for each in sections if each.rows.is_empty()]
    if quiet:
        parts.append(f"Nothing to tell: {', '.join(quiet)}.\n")
    parts.append(f"More of a service: kvforensics timeline --catalog {catalogue} --service SERVICE\n")
    return "\n".join(parts)


def as_markdown(sections: Sequence[Section], catalogue: str) -> str:
    """Return the sections as GitHub's tables."""
    from kvforensics.report.markdown.escape import escape  # noqa: PLC0415

    lines = ["# Fleet", ""]
    for each in sections:
        lines += [f"## {each.title}", ""]
        if each.rows.is_empty():
            lines += ["Nothing to tell.", ""]
            continue
        lines += [f"| {' | '.join(_head(name) for name in each.rows.columns)} |"]
        lines += [f"|{'---|' * len(each.rows.columns)}"]
        lines += [f"| {' | '.join(escape(_cell(cell)) for cell in row)} |" for row in each.rows.iter_rows()]
        lines.append("")
    lines.append(f"More of a service: `kvforensics timeline --catalog {catalogue} --service SERVICE`")
    return "\n".join(lines) + "\n"


def as_html(sections: Sequence[Section], catalogue: str, release: str) -> str:
    """Return one HTML page that opens offline."""
    from kvforensics.report.html.page import asset, environment  # noqa: PLC0415

    parts = [
        {
            "title": each.title,
            "heads": [_head(name) for name in each.rows.columns],
            "numeric": [dtype.is_numeric() for dtype in each.rows.dtypes],
            "rows": [[inert(_cell(cell), _LONGEST) for cell in row] for row in each.rows.iter_rows()],
        }
        for each in sections
    ]
    template = environment().get_template("fleet.html.j2")
    return template.render(parts=parts, catalogue=inert(catalogue), css=asset("page.css"), release=release)


def _head(name: str) -> str:
    return name.replace("_", " ")


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(plain(value))
