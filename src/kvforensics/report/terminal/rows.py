"""Rows of any table as aligned text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.report.inert import inert

if TYPE_CHECKING:
    import polars as pl

_WIDEST = 60


def text(frame: pl.DataFrame) -> str:
    """Return a table with a line for its columns and one for each row; numbers stand to the right."""
    cells = [[inert("" if cell is None else str(cell), _WIDEST) for cell in row] for row in frame.iter_rows()]
    heads = [inert(name, _WIDEST) for name in frame.columns]
    widths = [max(len(cell) for cell in column) for column in zip(heads, *cells, strict=True)]
    right = [dtype.is_numeric() for dtype in frame.dtypes]
    lines = []
    for row in [heads, *cells]:
        padded = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        )
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines) + "\n"
