"""Plain text: what a server or `tee` wrote, `journalctl -o cat`, anything that no other carrier knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.carriers.frames import record_frame, repeated
from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Block, Blocks
    from kvforensics.carriers.carrier import Context, Head
    from kvforensics.records import Thinned


class Plain:
    """One record a line, no time and no origin of its own."""

    name = "plain"

    def score(self, head: Head) -> float:
        """Any text is plain text, but a carrier that knows a fifth of the lines knows better."""
        return 0.2 if head.lines else 0.001

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Every line is a record, the empty ones too; who knows better may leave some out."""
        origin = context.origins.intern(Origin())
        thinner = None if context.source.layers else context.thinner
        if thinner is None:
            for block in blocks:
                yield _frame(block, None, context, origin)
            return
        for block, found in blocks.thinned(thinner):
            yield _frame(block, found, context, origin)


def _frame(block: Block, thinned: Thinned | None, context: Context, origin: int) -> pl.DataFrame:
    if thinned is None:
        text = block.text()  # first: it counts the lines by the way
        lines: dict[str, Any] = {"line": block.numbers(), "message": text, "damage": block.damage()}
    else:
        lines = {
            "line": thinned.rows.cast(pl.Int64) + block.line,
            "message": thinned.texts,
            "left_out": thinned.left_out,
            "left_headed": thinned.left_headed,
        }
    return record_frame(context, {"origin": repeated(origin, len(lines["line"])), **lines})
