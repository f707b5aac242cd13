"""Open one input and read it, whatever it is, into record frames."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kvforensics.carriers import detection
from kvforensics.carriers.accounting import accounted
from kvforensics.carriers.blocks import Blocks
from kvforensics.carriers.bytestream import raw_chunks, utf8
from kvforensics.carriers.carrier import Carrier, Context, Head
from kvforensics.carriers.decompress import Loss, decompressed
from kvforensics.carriers.journal_files import is_journal
from kvforensics.carriers.log_paths import with_container
from kvforensics.carriers.nesting import unnested
from kvforensics.carriers.order import in_time_order
from kvforensics.carriers.rejoin import rejoined
from kvforensics.carriers.times import with_times
from kvforensics.carriers.zones import check_zone
from kvforensics.errors import InputError
from kvforensics.records import Origins, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from kvforensics.options import Options
    from kvforensics.records import Thinner

HEAD_BYTES = 256 << 10
UNREADABLE = "unreadable"


class OpenSource(Struct):
    """An input whose carrier is known. Iterate once for its record frames; `source` counts while you do."""

    source: Source
    carrier: Carrier
    context: Context
    blocks: Blocks
    loss: Loss  # what was missing at the end of the bytes

    def thin_by(self, thinner: Thinner) -> None:
        """Let lines of plain text be left out that say no more than others."""
        self.context = replace(self.context, thinner=thinner)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yield frames of `RECORD_SCHEMA`."""
        frames = self.carrier.read(self.blocks, self.context)
        if not self.context.continuing.resumed:
            frames = in_time_order(frames, self.context.continuing)
        timed = with_times(frames, self.context)
        frames = rejoined(timed, self.context)
        if self.context.options.carrier != "plain":  # who asks for plain text gets it as it stands
            frames = unnested(frames, self.context)
        yield from accounted(with_container(frames, self.context), self.context)
        if self.loss.reason is not None:
            kind = "unreadable" if self.loss.reason == UNREADABLE else "truncated_file"
            self.source.add_damage(kind, max(self.source.lines, 1))


def open_source(path: str, options: Options, origins: Origins, index: int) -> OpenSource:
    """Open a file, `-` for standard input, or a member of an archive, and detect its carrier by content.

    Raises InputError when nothing of it can be read, UsageError for an unknown `options.carrier`.
    What goes wrong later (the file is cut off or a disk fails) is damage of the source, no exception.
    """
    raw, size = raw_chunks(path, (options.since, options.until))
    return open_stream(raw, size, path, options, origins, index)


def carrier_of(path: str, options: Options) -> str | None:
    """Return the name of an input's carrier without reading on; None for what can be read only once."""
    if path == "-" or is_journal(path) or _is_pipe(path):
        return None
    quiet = replace(options, progress=None, warn=None)
    try:
        return open_source(path, quiet, Origins(), 0).carrier.name
    except InputError:
        return None


def _is_pipe(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False  # a member of an archive, or not there at all


def open_stream(
    raw: Iterable[bytes], size: int | None, path: str, options: Options, origins: Origins, index: int
) -> OpenSource:
    """Open bytes that come from somewhere else under the name `path`; `size` is for the progress, if known.

    Raises like `open_source`.
    """
    forced = detection.by_name(options.carrier) if options.carrier else None
    check_zone(options.tz)
    source = Source(path)
    context = Context(index, source, options, origins)
    loss = Loss()
    stream = _plain_bytes(raw, size, context, loss)
    try:
        head, stream = _take_head(stream)
    except OSError as error:
        raise InputError(error.strerror or str(error), where=path) from error
    start = Head.of(head)
    carrier = forced or detection.detect(start)
    source.carrier = carrier.name
    return OpenSource(source, carrier, context, Blocks(stream, source, start), loss)


def _plain_bytes(raw: Iterable[bytes], size: int | None, context: Context, loss: Loss) -> Iterator[bytes]:
    begun = False
    try:
        for chunk in utf8(decompressed(_counted(raw, size, context), loss)):
            begun = True
            yield chunk
    except OSError:
        if not begun:
            raise
        loss.reason = UNREADABLE


def _counted(raw: Iterable[bytes], size: int | None, context: Context) -> Iterator[bytes]:
    source, progress = context.source, context.options.progress
    for chunk in raw:
        source.bytes += len(chunk)
        if progress is not None:
            progress(source.path, source.bytes, size)
        yield chunk


def _take_head(stream: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    held: list[bytes] = []
    size = 0
    for chunk in stream:
        held.append(chunk)
        size += len(chunk)
        if size >= HEAD_BYTES:
            break
    return b"".join(held)[:HEAD_BYTES], _again(held, stream)


def _again(held: list[bytes], rest: Iterator[bytes]) -> Iterator[bytes]:
    yield from held
    yield from rest
