"""The lines that no layout reads, one by one: rare events, foreign lines, continuations, the unknown."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from msgspec import Struct, field

from kvforensics.events import NO_RANKS, RANK_TAGS, Event, ShapeCount
from kvforensics.parsing.journal_fields import journal_fields
from kvforensics.parsing.kinds import Kinds, Known, Writer
from kvforensics.parsing.prefix import Head, Prefixes
from kvforensics.parsing.segments import Segment, lines, segments
from kvforensics.parsing.shapes import NO_MESSAGE, Shapes, shape_of
from kvforensics.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvforensics.parsing.clock import Clock
    from kvforensics.records import Origins

LONGEST_TEXT = 4_096  # characters of a line that are kept as evidence
INHERITED = frozenset({"phase", "process"})  # what the first line of a traceback says of its last one
MAX_FOLLOWING = 1_024  # lines without a prefix that may belong to one that opened a block


class Row(NamedTuple):
    """One left-over record. `inner` is the block's time of the row, UTC, whole seconds."""

    row: int
    line: int
    at: datetime | None
    mono: int | None
    origin: int
    message: str | None
    cursor: str | None
    extra: str | None
    inner: datetime | None


class Opened(Struct):
    """A line after which lines without a prefix belong to it."""

    row: int
    at: datetime | None
    head: Head
    fields: dict[str, Any]
    following: int = 0


class Read(Struct):
    """What the left-over lines of a block said."""

    events: list[Event] = field(default_factory=list)
    hot: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    understood: int = 0
    unknown: int = 0
    shapes: dict[str, ShapeCount] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)
    at: list[datetime | None] = field(default_factory=list)
    ours: list[bool] = field(default_factory=list)
    silent: Counter[str] = field(default_factory=Counter)  # kinds that tell nothing, how often


class _Headed:
    """The rows of a block with a prefix that layouts read; asked for only where a block of lines is open."""

    def __init__(self, headed: pl.Series, origins: pl.Series) -> None:
        self._headed, self._origins = headed, origins
        self._found: dict[int, pl.Series] = {}

    @cached_property
    def _all(self) -> tuple[pl.Series, pl.Series]:
        rows = (self._headed > 0).arg_true()
        return rows.cast(pl.Int64), self._origins.gather(rows)

    def of(self, origin: int) -> pl.Series:
        """Return those of one origin, in order."""
        if origin not in self._found:
            rows, origins = self._all
            self._found[origin] = rows.filter(origins == origin)
        return self._found[origin]


class Leftovers:
    """Reads the left-over lines of one source, block after block."""

    def __init__(self, source: int, origins: Origins, kinds: Kinds, prefixes: Prefixes, clock: Clock) -> None:
        self._source = source
        self._origins = origins
        self._kinds = kinds
        self._prefixes = prefixes
        self._clock = clock
        self._shapes = Shapes(source)
        self._open: dict[int, Opened] = {}  # by origin
        self._writers: dict[int, Writer] = {}
        self._headed: _Headed  # of the block that is being read

    @property
    def is_between(self) -> bool:
        """Whether no block is open that the next line may belong to."""
        return not self._open

    def resume(self, shapes: Iterable[str]) -> None:
        """Know these shapes already."""
        self._shapes.resume(shapes)

    def read(self, rows: pl.DataFrame, headed: pl.Series, origins: pl.Series) -> Read:
        """Read the left-over rows of a block; `headed` is not 0 where a row has a prefix and was read."""
        read = Read()
        self._headed = _Headed(headed, origins)
        for values in rows.select(Row._fields).iter_rows():
            self._record(Row(*values), read)
        self._pass_on()
        return read

    def _record(self, row: Row, read: Read) -> None:
        at, ours, shape, understood = row.at, False, None, False
        writer = self._writer(row)
        if row.message is None:
            known = self._by_fields(row, None)
            understood = known is not None
            if known is not None:
                self._emit(row, Segment(None, "", known), Head(), row.at, read)
            shape = NO_MESSAGE
        for segment in self._segments(row.message or "", writer):
            head = self._prefixes.head(segment.head) if segment.head is not None else None
            known = self._by_fields(row, segment.known) if row.extra is not None else segment.known
            opened = self._block(row, headed=head is not None)
            time = row.at or self._time(row, head) or (opened.at if opened is not None else None)
            at = at or time
            ours = ours or _is_ours(head, known)
            if known is not None:
                understood = True
                if opened is not None:
                    known, head = _inherited(known, opened), head or opened.head
                self._emit(row, segment._replace(known=known), head or Head(), time, read)
            elif opened is not None:
                understood = True
                opened.following += 1
            elif shape is None:
                shape = shape_of(segment.body)
        self._count(row, at, ours, None if understood else shape, read)

    def _count(self, row: Row, at: datetime | None, ours: bool, shape: str | None, read: Read) -> None:
        read.rows.append(row.row)
        read.at.append(at)
        read.ours.append(ours)
        if shape is None:
            read.understood += 1
        else:
            read.unknown += 1
            self._shapes.count(read.shapes, shape, row.line)

    def _segments(self, message: str, writer: Writer) -> list[Segment]:
        def known(body: str, bare: bool) -> Known | None:
            return self._kinds.read(body, writer if bare else Writer.SERVER)

        return [s for line in lines(message) for s in segments(line, self._prefixes, known)]

    def _emit(self, row: Row, segment: Segment, head: Head, at: datetime | None, read: Read) -> None:
        known = segment.known
        assert known is not None
        if known.opens and row.origin not in self._open:
            self._open[row.origin] = Opened(row.row, at, head, dict(known.fields))
        if known.tells_nothing:
            read.silent[known.kind] += 1
            return
        if known.is_hot:
            base = {"row": row.row, "line": row.line, "at": at, "origin": row.origin}
            ranks = dict(zip(RANK_TAGS, head.ranks, strict=True))
            read.hot.setdefault(known.kind, []).append({**base, **ranks, **known.fields})
            return
        text = redact(((segment.head or "") + segment.body)[: 2 * LONGEST_TEXT])[:LONGEST_TEXT]
        read.events.append(
            Event(
                kind=known.kind,
                fields=known.fields,
                source=self._source,
                line=row.line,
                origin=row.origin,
                at=at,
                inner_at=head.inner_at,
                mono=row.mono,
                cursor=row.cursor,
                ranks=head.ranks,
                text=text or None,
            )
        )

    def _block(self, row: Row, *, headed: bool) -> Opened | None:
        """Return the block that this line belongs to, closing one that ended before it."""
        opened = self._open.get(row.origin)
        if opened is None:
            return None
        rows = self._headed.of(row.origin)
        passed = rows.search_sorted(row.row, "right") > rows.search_sorted(opened.row, "right")
        if headed or passed or opened.following >= MAX_FOLLOWING:
            del self._open[row.origin]
            return None
        return opened

    def _pass_on(self) -> None:
        """Keep open blocks for the next frame, but for those after which a line with a prefix came."""
        for origin, opened in list(self._open.items()):
            rows = self._headed.of(origin)
            if len(rows) and rows[-1] > opened.row:
                del self._open[origin]
            else:
                opened.row = -1

    def _time(self, row: Row, head: Head | None) -> datetime | None:
        """Return the line's own time in UTC. The block's pass has settled which of two equal hours it is."""
        if head is None or head.inner_at is None:
            return None
        if row.inner is not None:
            exact = row.inner + timedelta(microseconds=head.inner_at.microsecond)
            if exact in self._clock.both(head.inner_at):
                return exact
        return self._clock.utc(head.inner_at)

    def _writer(self, row: Row) -> Writer:
        if row.extra is not None:
            return Writer.SYSTEM
        known = self._writers.get(row.origin)
        if known is None:
            known = self._writers[row.origin] = Writer.of(self._origins[row.origin].ident)
        return known

    def _by_fields(self, row: Row, known: Known | None) -> Known | None:
        """Complete what the text said with what the journal's fields say; they name the kind without it."""
        if row.extra is None:
            return known
        kind, fields = journal_fields(row.extra)
        if known is None and kind is None:
            return None
        said = known if known is not None else self._kinds.system(str(kind))
        return said._replace(fields={**fields, **{k: v for k, v in said.fields.items() if v is not None}})


def _is_ours(head: Head | None, known: Known | None) -> bool:
    """Whether a line is surely SGLang's: its prefix names a rank, or stands before something that it says.

    The prefix alone is the format of many programs, and so is a traceback.
    """
    return head is not None and (head.ranks != NO_RANKS or (known is not None and known.is_ours))


def _inherited(known: Known, opened: Opened) -> Known:
    missing = {n: v for n, v in opened.fields.items() if n in INHERITED and n not in known.fields}
    return known._replace(fields={**known.fields, **missing}) if missing else known
