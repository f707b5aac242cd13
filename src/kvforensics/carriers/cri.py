"""CRI log files of containerd, CRI-O and podman: `TIME STREAM P|F TEXT`.

The runtime breaks long lines: containerd after 16 KiB, CRI-O and podman (conmon) after 8,192 bytes. All
pieces but the last carry the tag P, and lines of the other stream may stand between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kvforensics.carriers.frames import MORE_CERTAIN, MORE_NO, record_frame
from kvforensics.carriers.prefixed import (
    STAMP,
    compiled,
    origin_numbers,
    peel,
    peeled_messages,
    raw_messages,
    share,
    utc,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head

_HEAD = rf"^(?P<time>{STAMP}) (?P<stream>stdout|stderr) (?P<tag>[PF](?::[^ ]*)?)"
_PATTERN = rf"{_HEAD}(?: (?P<message>.*))?$"
_LINE = compiled(rf"{_HEAD}(?: |$)")
_BYTES = compiled(rf"{_HEAD} ")


class Cri:
    """One record a line; a P line is a piece that its stream's next line continues."""

    name = "cri"

    def score(self, head: Head) -> float:
        """Return the share of lines with a time, a stream and a tag."""
        return share(head.lines, _LINE)

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the lines; a line of another form keeps its whole text and has no time."""
        for block in blocks:
            lines = block.text()
            parts = peel(lines, _PATTERN)
            known = parts["tag"].is_not_null()
            parts = parts.with_columns(pl.when(known).then(pl.col("message").fill_null("")).alias("message"))
            partial = parts["tag"].str.starts_with("P").fill_null(value=False)
            yield record_frame(
                context,
                {
                    "line": block.numbers(),
                    "at": utc(parts["time"]),
                    "origin": origin_numbers(context.origins, {"stream": parts["stream"]}),
                    "message": peeled_messages(parts, lines),
                    "damage": block.damage(),
                    "_more": pl.select(pl.when(partial).then(MORE_CERTAIN).otherwise(MORE_NO)).to_series(),
                    "_raw": raw_messages(block, _BYTES),
                },
            )
