"""Read one input for a catalogue: all of it, or from where an earlier reading of it ended.

What is read is the same either way. Reading goes on only where nothing that stood before the end has a say in
what follows: an uncompressed local file (`plain`, `docker-json`, `cri` without another carrier inside) of at
least 256 KiB that ended with a line end, with no message half written, no traceback open and no choice still
to be made (order, nesting). Every other input that grew is read anew: journals, syslog (the year of a record
follows from what was before), compressed files, archives, objects in stores.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec import Struct

from kvforensics.carriers import detection
from kvforensics.carriers.bytestream import raw_chunks
from kvforensics.carriers.opening import HEAD_BYTES, OpenSource, open_stream
from kvforensics.carriers.zones import fixed_offset
from kvforensics.intake import MOST_EVENTS, Floods, Intake, take_in
from kvforensics.options import Options
from kvforensics.parsing import Parser
from kvforensics.scan import store
from kvforensics.scan.marks import Marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.carriers import History
    from kvforensics.records import Source
    from kvforensics.scan.manifest import Span

CONTINUED = frozenset({"plain", "docker-json", "cri"})
MOST_SHAPES = 1000  # unknown ones, beyond which a grown input is read anew
_MAGIC_BYTES = 16
_CHUNK_BYTES = 1 << 20


class Taken(Struct):
    """What one input gave."""

    intake: Intake
    marks: pl.DataFrame | None
    spans: tuple[Span, ...]
    resume: dict[str, Any] | None  # what `go_on` needs; None where a grown input must be read anew


class _Bytes(Struct):
    """The bytes of an input up to a size, remembering how they began and ended."""

    chunks: Iterable[bytes]
    left: int | None
    first: bytes = b""
    last: bytes = b""

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.chunks:
            piece = chunk if self.left is None else chunk[: self.left]
            if not piece:
                return
            if len(self.first) < _MAGIC_BYTES:
                self.first = (self.first + piece)[:_MAGIC_BYTES]
            self.last = piece[-1:]
            if self.left is not None:
                self.left -= len(piece)
            yield piece


def read(path: str, options: Options, size: int | None = None, history: History | None = None) -> Taken:
    """Read an input, of a file that may be growing its first `size` bytes.

    What `history` has seen in other inputs is left out; there are no marks then. Raises InputError where
    nothing of the input can be read.
    """
    intake = Intake()
    chunks, known = raw_chunks(path)
    raw = _Bytes(chunks, size)
    opened = open_stream(raw, known, path, options, intake.origins, 0)
    intake.sources.append(opened.source)
    marks, parser = Marks(intake.origins, opened.source), Parser(0, opened.source, intake.origins, options.tz)
    floods = Floods(intake.origins)
    if history is None:
        return _taken(opened, raw, intake, marks, parser, floods, may_go_on=size is not None)
    fresh = history.fresh(opened, opened.source, intake.origins)
    take_in(fresh, parser, floods, intake, threads=_has_cores())
    intake.add(parser.close(), floods)
    intake.events += floods.close()
    return Taken(intake, None, (), None)


def go_on(
    path: str, options: Options, size: int, folder: Path, key: str, spans: tuple[Span, ...]
) -> Taken | None:
    """Read what came after the part of a file that a catalogue has as `key`, and return the whole.

    None where it must be read anew. Raises OSError.
    """
    rest = store.rest_of(folder, key)
    state, before = rest["extra"].get("go_on"), store.read_marks(folder, key)
    if state is None or before is None:
        return None
    intake = store.read(folder, key, path)
    with Path(path).open("rb") as stream:
        stream.seek(state["offset"])
        chunks = iter(lambda: stream.read(_CHUNK_BYTES), b"")
        raw = _Bytes(chunks, size - state["offset"])
        opened = open_stream(raw, size, path, options, intake.origins, 0)
        if not _is_text(opened, raw):
            return None  # the first bytes look like something else than the lines that they are
        _continue(opened, intake.sources[0])
        intake.sources = [opened.source]
        if state["closed"]:
            del intake.events[-state["closed"] :]
        intake.samples.resume(0, state["after"])
        marks = Marks(intake.origins, opened.source)
        marks.resume(before, spans, state["marks"])
        parser = Parser(0, opened.source, intake.origins, options.tz)
        parser.resume(intake.shapes)
        floods = Floods(intake.origins)
        floods.resume(_floods(state["floods"]))
        return _taken(opened, raw, intake, marks, parser, floods, may_go_on=True)


def options_of(told: str) -> Options:
    """Return the options that `options_text` wrote, after whatever stands before them."""
    tz, carrier, units, hosts, since, until = json.loads(told[told.index("[") :])
    start, end = (None if at is None else datetime.fromisoformat(at) for at in (since, until))
    return Options(tuple(units), tuple(hosts), start, end, tz, carrier)


def options_text(options: Options) -> str:
    """Return the options that decide what reading an input gives, for its key."""
    return json.dumps(
        [
            options.tz,
            options.carrier,
            list(options.units),
            list(options.hosts),
            *(None if at is None else at.isoformat() for at in (options.since, options.until)),
        ]
    )


def _taken(
    opened: OpenSource,
    raw: _Bytes,
    intake: Intake,
    marks: Marks,
    parser: Parser,
    floods: Floods,
    *,
    may_go_on: bool,
) -> Taken:
    take_in(marks.through(opened), parser, floods, intake, threads=_has_cores())
    intake.add(parser.close(), floods)
    after, sign = intake.samples.standing()
    counts = floods.counts()
    closing = floods.close()
    intake.events += closing
    resume = None
    if may_go_on and sign == 1 and _may_go_on(opened, raw, intake, parser):
        resume = {
            "offset": opened.source.bytes,
            "closed": len(closing),
            "after": after,
            "floods": _plain_floods(counts),
            "marks": marks.standing(),
        }
    return Taken(intake, marks.frame(), marks.spans(), resume)


def _has_cores() -> bool:
    """Whether this worker has more than one core to itself."""
    return pl.thread_pool_size() > 1


def _may_go_on(opened: OpenSource, raw: _Bytes, intake: Intake, parser: Parser) -> bool:
    source = opened.source
    return (
        source.carrier in CONTINUED
        and not source.layers
        and source.bytes >= HEAD_BYTES
        and raw.last == b"\n"
        and _is_text(opened, raw)
        and not opened.context.continuing.held
        and opened.loss.reason is None
        and parser.is_between
        and fixed_offset(opened.context.options.tz) is not None
        and len(intake.events) <= MOST_EVENTS // 2
        and len(intake.shapes) <= MOST_SHAPES
    )


def _is_text(opened: OpenSource, raw: _Bytes) -> bool:
    """Whether the bytes were taken as they are: not decompressed, not recoded."""
    return opened.blocks.head.data[:_MAGIC_BYTES] == raw.first


def _continue(opened: OpenSource, earlier: Source) -> None:
    source = opened.source
    read_so_far = source.bytes
    for name in source.__struct_fields__:
        if name != "path":
            setattr(source, name, getattr(earlier, name))
    source.bytes += read_so_far
    opened.carrier = detection.by_name(source.carrier)
    opened.context.continuing.resumed = True
    opened.blocks.start_at(earlier.lines + 1)


def _plain_floods(counts: Iterable[tuple[Any, Iterable[Any], Iterable[Any]]]) -> list[Any]:
    return [
        [name, kinds, [[key, store.event_row(event), number] for key, event, number in held]]
        for name, kinds, held in counts
    ]


def _floods(rows: Iterable[Any]) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    for name, kinds, held in rows:
        yield (
            _tupled(name),
            [(_tupled(key), count) for key, count in kinds],
            [(_tupled(key), store.event_of(row), number) for key, row, number in held],
        )


def _tupled(value: Any) -> Any:
    return tuple(_tupled(each) for each in value) if isinstance(value, list) else value
