"""The parser of one source: record frames in, event blocks out.

Known layouts read whole columns first; what they leave over is read line by line through the same
grammars. Neither the order of the lines nor the places where blocks are cut change what is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kvforensics.events import SEEN_SCHEMA, EventBlock
from kvforensics.parsing.clock import Clock
from kvforensics.parsing.columnar import WORK_SCHEMA, Columnar
from kvforensics.parsing.kinds import kinds
from kvforensics.parsing.leftovers import Leftovers
from kvforensics.parsing.prefix import prefixes
from kvforensics.parsing.segments import plain_series

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvforensics.events import Event
    from kvforensics.records import Origins, Source


class Parser:
    """Turns the record frames of one source, in their order, into event blocks."""

    def __init__(self, source_index: int, source: Source, origins: Origins, tz: str = "UTC") -> None:
        self._index = source_index
        self._source = source
        self._clock = Clock(tz)
        self._columnar = Columnar(source_index, kinds(), prefixes())
        self._leftovers = Leftovers(source_index, origins, kinds(), prefixes(), self._clock)
        self._stamp = next(form for form in prefixes().forms if form.column == "stamp")

    def feed(self, frame: pl.DataFrame) -> EventBlock:
        """Read one block of records (`records.RECORD_SCHEMA`)."""
        if not frame.height:
            return EventBlock()
        work = self._work(frame)
        own = frame["extra"].is_null()  # systemd's own records are no lines of a server
        hot = self._columnar.read(work if own.all() else work.filter(own))
        at = work["at"].clone()
        at.scatter(hot.taken["row"], hot.taken["at"])
        left = pl.repeat(value=True, n=frame.height, eager=True)
        left.scatter(hot.taken["row"], values=False)
        rows = frame.with_columns(work["row"], inner=work["at"]).filter(left)
        read = self._leftovers.read(rows, hot.taken, work)
        self._columnar.note(read.silent)
        at.scatter(read.rows, pl.Series(read.at, dtype=pl.Datetime("us")))
        ours = pl.repeat(value=False, n=frame.height, eager=True)
        ours.scatter(hot.taken["row"], hot.taken["headed"])
        ours.scatter(read.rows, pl.Series(read.ours, dtype=pl.Boolean))
        seen = frame.select("source", "line", "origin").with_columns(at=at, ours=ours)
        self._note_times(at, frame["at"])
        self._note_damage(read.events, frame)
        return EventBlock(
            rare=read.events,
            hot=self._joined(hot.frames, read.hot),
            records=frame.height,
            understood=hot.taken.height + read.understood,
            unknown=read.unknown,
            shapes=read.shapes,
            seen=seen.select(SEEN_SCHEMA.names()),
        )

    def close(self) -> EventBlock:
        """Return what was still held back: nothing, since every line is read by itself."""
        return EventBlock()

    @property
    def is_between(self) -> bool:
        """Whether nothing read so far has a say in how the next line is read."""
        return self._clock.is_between and self._leftovers.is_between

    def resume(self, shapes: Iterable[str]) -> None:
        """Go on with a source of which these shapes were counted, as far as `is_between` was true."""
        self._leftovers.resume(shapes)

    def _work(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the block with its times filled from the lines where the carrier has none."""
        at, text = frame["at"], plain_series(frame["message"])
        timed = at.is_not_null()
        if not timed.all():
            start, width = len(self._stamp.lead), self._stamp.width
            local = text.str.slice(start, width)
            local = local.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
            local = local.set(timed, None) if timed.any() else local
            inner = self._clock.utc_of(local)
            at = at.zip_with(timed, inner) if timed.any() else inner
        rows = pl.int_range(frame.height, dtype=pl.UInt32, eager=True)
        return pl.DataFrame(
            [
                rows.alias("row"),
                frame["line"],
                at.alias("at"),
                timed.alias("timed"),
                frame["origin"],
                text.alias("text"),
            ],
            schema=WORK_SCHEMA,
        )

    def _joined(
        self, columnar: dict[str, pl.DataFrame], single: dict[str, list[dict[str, object]]]
    ) -> dict[str, pl.DataFrame]:
        """Return the hot frames of both ways, in the order of the lines."""
        frames = dict(columnar)
        for kind, rows in single.items():
            part = self._columnar.complete(kind, self._columnar.frame_of(kind, rows))
            known = frames.get(kind)
            joined = part if known is None else pl.concat([known, part])
            frames[kind] = joined.sort("row", maintain_order=True)
        return {kind: frame.drop("row") for kind, frame in sorted(frames.items())}

    def _note_damage(self, events: Iterable[Event], frame: pl.DataFrame) -> None:
        """Let the source say where a settings line was cut, and where the journal dropped messages."""
        for event in events:
            if event.kind == "server_args" and event.fields.get("truncated"):
                self._source.add_damage("truncated_repr", event.line)
            elif event.kind == "suppressed":
                carrier = frame.filter(pl.col("line") == event.line)["damage"]
                if "rate_limited" not in carrier:
                    self._source.add_damage("rate_limited", event.line)

    def _note_times(self, at: pl.Series, carried: pl.Series) -> None:
        """Let the source say when it began and ended where only its lines tell."""
        if self._source.time_basis == "carrier" or carried.null_count() < len(carried):
            return
        first, last = at.min(), at.max()
        if first is None or last is None:
            return
        known_first, known_last = self._source.first_at, self._source.last_at
        self._source.time_basis = "inner"
        self._source.first_at = first if known_first is None else min(known_first, first)  # type: ignore[assignment]
        self._source.last_at = last if known_last is None else max(known_last, last)  # type: ignore[assignment]
