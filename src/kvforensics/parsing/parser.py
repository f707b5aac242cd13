"""The parser of one source: record frames in, event blocks out.

Known layouts read whole columns first; what they leave over is read line by line through the same
grammars. Neither the order of the lines nor the places where blocks are cut change what is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from kvforensics import compiled
from kvforensics.columns import constant, is_one, without
from kvforensics.events import BURST_GAP_US, SEEN_SCHEMA, EventBlock
from kvforensics.parsing import native
from kvforensics.parsing.clock import Clock
from kvforensics.parsing.columnar import Columnar, Part, Parted, apply, redacted
from kvforensics.parsing.heads import HeadReader, Times
from kvforensics.parsing.kinds import KNOWN, kinds
from kvforensics.parsing.leftovers import Leftovers
from kvforensics.parsing.prefix import prefixes
from kvforensics.parsing.segments import plain_series
from kvforensics.records import Source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from kvforensics.events import Event
    from kvforensics.parsing.heads import Heads, Known
    from kvforensics.parsing.layouts import Layout
    from kvforensics.parsing.native import Scanned
    from kvforensics.records import Origins, Thinned


class Prepared(NamedTuple):
    """A block of records so far as it can be read without knowing what came before it."""

    frame: pl.DataFrame
    tried: Sequence[Layout]
    times: Times
    fraction_us: pl.Series | None
    scanned: list[Part]  # what the scanner read
    parted: Parted  # what the expressions read of the rest
    left: pl.Series  # rows that the scanner left, in order
    headed: pl.Series  # of each row: 1 where the scanner read it and it has a prefix, else 0


class Parser:
    """Turns the record frames of one source, in their order, into event blocks.

    `feed` reads a block; so do `prepare`, which threads may call for several blocks at once, and `finish`,
    which wants them in their order.
    """

    def __init__(
        self,
        source_index: int,
        source: Source,
        origins: Origins,
        tz: str = "UTC",
        alike: Collection[str] = (),
    ) -> None:
        """Of `alike` kinds `thinned` leaves out lines that say no more than others."""
        self._index = source_index
        self._alike = alike
        self._source = source
        self._begun = False  # whether any record was read
        self._lines = Source(source.path)  # what the lines tell of the source; it has it from `close` on
        self._clock = Clock(tz)
        self._heads = HeadReader(prefixes())
        self._columnar = Columnar(source_index, kinds())
        self._leftovers = Leftovers(source_index, origins, kinds(), prefixes(), self._clock)

    def feed(self, frame: pl.DataFrame) -> EventBlock:
        """Read one block of records (`records.RECORD_SCHEMA`)."""
        return self.finish(self.prepare(frame))

    @property
    def may_thin(self) -> bool:
        """Whether lines may be left out: only the scanner tells which, by layouts that this source has."""
        wanted = bool(self._alike) and compiled.module() is not None
        return wanted and self._begun and self._clock.is_even and self.knows_layouts

    def thinned(self, lines: tuple[bytes, ...] | pl.Series, /) -> Thinned | None:
        """Return what is left of one writer's lines without those that say no more than others.

        They have no times but those that they print. None: all of them are wanted. Any thread may ask.
        """
        known = self._heads.known
        if known.fraction_us is not None:
            return None

        def may_go(layout: Layout) -> bool:
            return layout.kind in self._alike or layout.kind.startswith(KNOWN)

        return native.thin(lines, known.beginnings, self._columnar.active, may_go, BURST_GAP_US)

    def thinned_frame(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Return what is left of a frame of records (`LEFT_SCHEMA` too), likewise."""
        height = frame.height
        nothing = min(frame["at"].null_count(), frame["extra"].null_count())
        if not height or nothing < height or not is_one(frame["origin"]):
            return None
        found = self.thinned(frame["message"])
        if found is None:
            return None
        # texts of their own, which do not hold on to the block's bytes
        texts = pl.Series("message", found.texts.to_list(), dtype=pl.String)
        left = (found.left_out.alias("left_out"), found.left_headed.alias("left_headed"))
        return frame[found.rows].with_columns(texts, *left)

    def prepare(self, frame: pl.DataFrame) -> Prepared:
        """Read what layouts read of a block (`records.RECORD_SCHEMA`, and what `thinned` adds)."""
        tried = tuple(self._columnar.active)
        texts, own = frame["message"], frame["extra"].is_null()
        if not own.all():  # systemd's own records are no lines of a server
            texts = texts.zip_with(own, pl.Series([None], dtype=pl.String))
        known = self._heads.known
        scanned = native.scan(texts, known.beginnings, tried)  # None also where texts are not plain
        plain = texts if scanned is not None else plain_series(texts)
        if plain is not texts:
            texts, scanned = plain, native.scan(plain, known.beginnings, tried)
        if scanned is None:
            rows = pl.int_range(frame.height, dtype=pl.UInt32, eager=True)
            heads = self._heads.read(rows, texts)
            none = constant("headed", 0, pl.Int64(), frame.height)
            parted = apply(heads.lines, tried)
            return Prepared(frame, tried, heads.times, heads.fraction_us, [], parted, rows, none)
        heads = self._heads.read(scanned.left, texts.gather(scanned.left))
        parts = [Part(layout, redacted(_with_tags(lines, known))) for layout, lines in scanned.taken]
        run, headed = scanned.lines
        fraction, parted = _fractions(scanned, known, heads), apply(heads.lines, tried)
        return Prepared(
            frame, tried, Times(scanned.local, run), fraction, parts, parted, scanned.left, headed
        )

    def finish(self, prepared: Prepared) -> EventBlock:
        """Read the rest of the next block, line by line."""
        frame = prepared.frame
        if not frame.height:
            return EventBlock()
        self._begun = True
        late = self._columnar.complete(prepared.parted, prepared.tried, prepared.scanned)
        left, headed = _without_late(prepared, late)
        inner = self._inner(prepared)
        at = _with_fraction(inner, prepared).clone()
        base = pl.DataFrame([frame["line"], at.alias("at"), frame["origin"]])
        hot = self._columnar.hot([*prepared.scanned, *late], base)
        rest = frame[left].with_columns(left.alias("row"), inner.gather(left).alias("inner"))
        read = self._leftovers.read(rest, headed, frame["origin"])
        self._columnar.note(read.silent)
        ours = headed
        if read.rows:
            at = at.scatter(read.rows, pl.Series(read.at, dtype=pl.Datetime("us")))
            ours = headed.clone().scatter(read.rows, pl.Series(read.ours, dtype=pl.Boolean).cast(pl.Int64))
        records, left_out = constant("records", 1, pl.Int64(), frame.height), 0
        if "left_out" in frame.columns:
            records, ours = records + frame["left_out"], ours + frame["left_headed"]
            left_out = int(frame["left_out"].sum())
        self._note_times(at, frame["at"])
        self._note_damage(read.events, frame)
        columns = {
            "source": frame["source"],
            "line": frame["line"],
            "at": at,
            "origin": frame["origin"],
            "records": records,
            "ours": ours,
        }
        return EventBlock(
            rare=read.events,
            hot=self._joined(hot, read.hot),
            records=frame.height + left_out,
            understood=frame.height - len(left) + read.understood + left_out,
            unknown=read.unknown,
            shapes=read.shapes,
            seen=pl.DataFrame(columns, schema=SEEN_SCHEMA),
        )

    def close(self) -> EventBlock:
        """Let the source say what its lines told of it. Nothing is held back, so the block is empty."""
        source, lines = self._source, self._lines
        if source.time_basis != "carrier" and lines.time_basis != "none":
            source.time_basis = lines.time_basis
        source.first_at = min(
            (at for at in (source.first_at, lines.first_at) if at is not None), default=None
        )
        source.last_at = max((at for at in (source.last_at, lines.last_at) if at is not None), default=None)
        for damage in lines.damaged.values():
            source.add_damage(damage.kind, damage.first_line, damage.count)
        self._lines = Source(source.path)
        return EventBlock()

    @property
    def knows_layouts(self) -> bool:
        """Whether any layout is known yet; until then nothing is won by preparing blocks ahead."""
        return bool(self._columnar.active)

    @property
    def is_between(self) -> bool:
        """Whether nothing read so far has a say in how the next line is read."""
        return self._clock.is_between and self._leftovers.is_between

    def resume(self, shapes: Iterable[str]) -> None:
        """Go on with a source of which these shapes were counted, as far as `is_between` was true."""
        self._leftovers.resume(shapes)

    def _inner(self, prepared: Prepared) -> pl.Series:
        """Return the time of each record in UTC: the carrier's, else the one that its line prints."""
        carried, times = prepared.frame["at"], prepared.times
        missing = carried.null_count()
        if not missing:
            return carried
        if missing == len(carried):
            return times._replace(local=self._clock.utc_of(times.local)).of_lines()
        timed = carried.is_not_null()
        return carried.zip_with(timed, self._clock.utc_of(times.of_lines().set(timed, None)))

    def _joined(
        self, columnar: dict[str, pl.DataFrame], single: dict[str, list[dict[str, object]]]
    ) -> dict[str, pl.DataFrame]:
        """Return the hot frames of both ways, in the order of the lines."""
        frames = dict(columnar)
        for kind, rows in single.items():
            part = self._columnar.completed(kind, self._columnar.frame_of(kind, rows))
            known = frames.get(kind)
            joined = part if known is None else pl.concat([known, part])
            frames[kind] = joined.sort("row", maintain_order=True)
        return {kind: without(frame, "row") for kind, frame in sorted(frames.items())}

    def _note_damage(self, events: Iterable[Event], frame: pl.DataFrame) -> None:
        """Note where a settings line was cut, and where the journal dropped messages."""
        for event in events:
            if event.kind == "server_args" and event.fields.get("truncated"):
                self._lines.add_damage("truncated_repr", event.line)
            elif event.kind == "suppressed":
                carrier = frame.filter(pl.col("line") == event.line)["damage"]
                if "rate_limited" not in carrier:
                    self._lines.add_damage("rate_limited", event.line)

    def _note_times(self, at: pl.Series, carried: pl.Series) -> None:
        """Note when the source began and ended, up to the first record whose time the carrier tells."""
        lines = self._lines
        if lines.time_basis == "carrier" or carried.null_count() < len(carried):
            lines.time_basis = "carrier"
            return
        first: Any = at.min()
        last: Any = at.max()
        if first is not None:
            lines.time_basis = "inner"
            lines.first_at = first if lines.first_at is None else min(lines.first_at, first)
            lines.last_at = last if lines.last_at is None else max(lines.last_at, last)


def _without_late(prepared: Prepared, late: Sequence[Part]) -> tuple[pl.Series, pl.Series]:
    """Return which rows are left once the expressions have read some, and which of all rows have a prefix."""
    left, headed = prepared.left, prepared.headed
    if not late:
        return left, headed
    open_, headed = pl.repeat(value=True, n=len(headed), eager=True), headed.clone()
    for part in late:
        open_ = open_.scatter(part.lines["row"], values=False)
        headed = headed.scatter(part.lines["row"], part.lines["headed"].cast(pl.Int64))
    return left.filter(open_.gather(left)), headed


def _with_fraction(inner: pl.Series, prepared: Prepared) -> pl.Series:
    """Return the times with the fractions of a second that lines print, where the time is the line's own."""
    if prepared.fraction_us is None:
        return inner
    fraction = prepared.fraction_us.fill_null(0).set(prepared.frame["at"].is_not_null(), 0)
    return inner + fraction.cast(pl.Duration("us"))


def _with_tags(lines: pl.DataFrame, known: Known) -> pl.DataFrame:
    """Return lines that were scanned with what their prefixes say."""
    tail = lines["tail"]
    tags = [table[tail].alias(tag) for tag, table in known.tags.items()]
    own = [column for column in lines if column.name != "tail"]
    return pl.DataFrame([*own, (tail > 0).alias("headed"), *tags])


def _fractions(scanned: Scanned, known: Known, heads: Heads) -> pl.Series | None:
    if known.fraction_us is None and heads.fraction_us is None:
        return None
    fraction = pl.repeat(0, scanned.lines.height, dtype=pl.Int64, eager=True)
    if heads.fraction_us is not None:
        fraction = fraction.scatter(scanned.left, heads.fraction_us.fill_null(0))
    if known.fraction_us is not None:
        for _, lines in scanned.taken:
            fraction = fraction.scatter(lines["row"], known.fraction_us.gather(lines["tail"]))
    return fraction
