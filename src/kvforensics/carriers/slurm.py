"""Output of `srun --label`: `TASK: TEXT`, the task right-aligned to the widest one.

srun breaks lines after 1,024 bytes and labels each piece as if it were a line; the pieces of one task are
joined raw. A line of exactly 1,024 bytes is followed by an empty piece, so the length alone tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kvforensics.carriers.blocks import is_utf8
from kvforensics.carriers.frames import MORE_NO, MORE_RAW, record_frame
from kvforensics.carriers.prefixed import (
    compiled,
    origin_numbers,
    peel,
    peeled_messages,
    raw_messages,
    share,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Block, Blocks
    from kvforensics.carriers.carrier import Context, Head

PIECE_BYTES = 1024

_PATTERN = r"^ *(?P<task>[0-9]{1,7}): (?P<message>.*)$"
_LABELLED = compiled(r"^ *[0-9]{1,7}: ")
_NOISE = compiled(r"^(?:srun: |slurmstepd[-:])")


class Slurm:
    """One record a labelled line; Slurm's own lines carry no label and keep their text."""

    name = "slurm"

    def score(self, head: Head) -> float:
        """Return the share of labelled lines, Slurm's own ones beside them; 0 without any label."""
        if not share(head.lines, _LABELLED):
            return 0.0
        return share(head.lines, _LABELLED, _NOISE)

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the lines; pieces of one task are keyed by its number. There is no time."""
        for block in blocks:
            lines = block.text()
            parts = peel(lines, _PATTERN)
            full = _full_pieces(block, parts)
            yield record_frame(
                context,
                {
                    "line": block.numbers(),
                    "origin": origin_numbers(context.origins, {"ident": "task " + parts["task"]}),
                    "message": peeled_messages(parts, lines),
                    "damage": block.damage(),
                    "_more": pl.select(pl.when(full).then(MORE_RAW).otherwise(MORE_NO)).to_series(),
                    "_key": parts["task"],
                    "_raw": _raw(block),
                },
            )


def _full_pieces(block: Block, parts: pl.DataFrame) -> pl.Series:
    """Tell which labelled lines hold 1,024 bytes; where text and bytes may differ, by the bytes."""
    sizes = parts["message"].str.len_bytes()
    if not is_utf8(block.data) or b"\r\n" in block.data:
        sizes = pl.Series([_size(line) for line in block.data.removesuffix(b"\n").split(b"\n")])
    return (sizes == PIECE_BYTES) & parts["task"].is_not_null()


def _raw(block: Block) -> list[bytes | None] | None:
    """Return the bytes of pieces that are no text of their own: half a character, or a CR before the cut."""
    raw = raw_messages(block, _LABELLED)
    if b"\r\n" not in block.data:
        return raw
    lines = block.data.removesuffix(b"\n").split(b"\n")
    raw = raw or [None] * len(lines)
    for row, line in enumerate(lines):
        piece = _LABELLED.sub(b"", line, count=1)
        if len(piece) == PIECE_BYTES and piece.endswith(b"\r"):
            raw[row] = piece
    return raw


def _size(line: bytes) -> int:
    size = len(_LABELLED.sub(b"", line, count=1))
    return size - 1 if size == PIECE_BYTES + 1 and line.endswith(b"\r") else size
