"""Plain text: what a server or `tee` wrote, `journalctl -o cat`, anything that no other carrier knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.carriers.frames import record_frame, repeated
from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head


class Plain:
    """One record a line, no time and no origin of its own."""

    name = "plain"

    def score(self, head: Head) -> float:
        """Any text is plain text, but a carrier that knows a fifth of the lines knows better."""
        return 0.2 if head.lines else 0.001

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Every line is a record, the empty ones too."""
        origin = context.origins.intern(Origin())
        for block in blocks:
            lines = block.text()
            yield record_frame(
                context,
                {
                    "line": block.numbers(),
                    "message": lines,
                    "origin": repeated(origin, len(lines)),
                    "damage": block.damage(),
                },
            )
