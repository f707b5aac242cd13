"""What was read, how much of it was understood, what was damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.report.inert import inert
from kvforensics.report.terminal.figures import clock, count, plural

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis
    from kvforensics.records import Source
    from kvforensics.report.terminal.page import Page

_FEW = 3
_LONGEST_SHAPE = 120


def draw_coverage(analysis: Analysis, page: Page, *, most: int | None = _FEW) -> None:
    """Draw the sources, the share understood, at most `most` unknown shapes (None: all), all damage."""
    bare, coverage = page.text(), analysis.coverage
    for source in analysis.sources:
        when = ""
        if source.first_at and source.last_at:
            when = f"  {clock(source.first_at)} … {clock(source.last_at, source.first_at)}"
        carrier = " in ".join((*reversed(source.layers), source.carrier))
        page.prose(
            page.text(
                ("read ", "dim"), source.path,
                (f"  {carrier}  {plural(source.records, 'record')}{_again(source)}{when}", "dim"),
            ),
            rail=bare, hang=5,
        )  # fmt: skip
    style = "dim" if not coverage.unknown else "yellow"
    said = f"understood {count(coverage.understood)} of {plural(coverage.records, 'record')}"
    if coverage.unknown:
        said += f"; {count(coverage.unknown)} not, of {plural(len(coverage.unknown_shapes), 'shape')}"
    page.prose(page.text((said, style)), rail=bare)
    shapes = coverage.unknown_shapes[:most]
    for shape in shapes:
        first = f"{shape.first.path}:{shape.first.line}"
        said = f"{count(shape.count)} × {inert(shape.shape, min(_LONGEST_SHAPE, page.width - 12))}"
        page.prose(page.text(said, (f"  first {first}", "dim")), rail=bare, indent=2, hang=2)
    if len(shapes) < len(coverage.unknown_shapes):
        more = len(coverage.unknown_shapes) - len(shapes)
        page.prose(page.text((f"… and {more} more: kvforensics coverage", "dim")), rail=bare, indent=2)
    for damage in coverage.damaged:
        first = f"{damage.first.path}:{damage.first.line}"
        said = f"damaged: {count(damage.count)} {damage.kind}"
        page.prose(page.text((said, "yellow"), (f"  first {first}", "dim")), rail=bare)


def _again(source: Source) -> str:
    return f" ({count(source.repeated)} given before)" if source.repeated else ""
