"""What a carrier is: one way in which log lines were transported, told by content and read into records.

A carrier is one module with one class that follows `Carrier`, and one line in `registry.CARRIERS`.
It turns blocks of bytes into record frames and does nothing else: rejoining, order, years, filters and
counting are stages that every carrier shares (`opening.OpenSource`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from kvforensics.carriers.continuing import Continuing
from kvforensics.carriers.times import Bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.options import Options
    from kvforensics.records import Origins, Source, Thinner

HEAD_LINES = 200
HEAD_ROWS = 4 * HEAD_LINES  # the empty ones among them
HEAD_LINE_BYTES = 8192


class Head(Struct, frozen=True):
    """The beginning of a decompressed source, for detection.

    `lines` are its first 200 non-empty lines without line ends, each cut at 8 KiB; `data` the bytes
    that they came from (whole lines unless one line is longer than the head).
    """

    data: bytes
    lines: tuple[bytes, ...]

    @classmethod
    def of(cls, data: bytes) -> Head:
        """Take the head of decompressed bytes that start at the beginning of a source."""
        lines: list[bytes] = []
        for line in data.split(b"\n", HEAD_ROWS):
            stripped = line[:HEAD_LINE_BYTES].rstrip(b"\r")
            if stripped.strip():
                lines.append(stripped)
            if len(lines) == HEAD_LINES:
                break
        return cls(data, tuple(lines))


class Context(Struct, frozen=True):
    """What a carrier needs beside the bytes. `source` is where damage without a record is counted."""

    index: int  # of the source in the run
    source: Source
    options: Options
    origins: Origins
    bounds: Bounds = field(default_factory=Bounds)  # of the whole journal, where a line tells them
    continuing: Continuing = field(default_factory=Continuing)
    thinner: Thinner | None = None  # who may leave out lines of plain text


class Carrier(Protocol):
    """One kind of transport."""

    @property
    def name(self) -> str:
        """The contract's name: journal-export, docker-json, plain …."""
        ...

    def score(self, head: Head) -> float:
        """Return the share (0 to 1) of the head's lines that are this carrier's, 0 for "surely not".

        The carrier with the highest score reads the source; on a tie the one that stands first in
        `registry.CARRIERS`. Continuation lines of the carrier's own records count as its lines.
        """
        ...

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield record frames made with `frames.record_frame`, in the order of the input.

        The result may not depend on where the blocks were cut. It must hold bounded memory, keep every
        line (what is not understood becomes a record with its raw text), and never raise on content.
        """
        ...
