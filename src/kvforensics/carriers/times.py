"""The times that a carrier leaves incomplete: without a year, without a zone.

A year is told from the dates in SGLang's own prefixes (`[2026-05-20 14:03:11 TP0]`), which stand at most a
day or two from the carrier's time; between them from the order of the records, where a step back of months is
a new year. Before the first date, backwards from it. Else from a `Journal begins at …` line. Else the time
stays unknown: the file system's dates are not used, so the same bytes always say the same.
"""

from __future__ import annotations

from calendar import isleap
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct, field

from kvforensics.carriers.zones import LocalClock
from kvforensics.columns import constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.carriers.carrier import Context

HELD_RECORDS = 250_000  # that wait for the first date
REFERENCE_YEAR = 2000  # of `_wall`: a leap year
_DAY_US = 86_400_000_000
_NEW_YEAR_US = 180 * _DAY_US  # a step back of more is a new year
_OLD_YEAR_US = 350 * _DAY_US  # a step forward of more is the clock set back over New Year
_NEAR_DAYS = 2  # between the carrier's time and the date in the message
_FIRST_LOOK = 256  # messages that are looked at before more are
_FEW_RUNS = 100  # of days in one frame: with more, all messages are looked at together
_INNER_DATE = r"\[(20[0-9]{2}-[0-9]{2}-[0-9]{2})[ T]"


class Bounds(Struct):
    """The local times of a `Journal begins at …, ends at …` line; both None without such a line."""

    begins: datetime | None = None
    ends: datetime | None = None


def with_times(frames: Iterable[pl.DataFrame], context: Context) -> Iterator[pl.DataFrame]:
    """Yield frames in which `_wall` and `_local` have become `at`. Expects the order of time."""
    clock = LocalClock(context.options.tz)
    for frame in _dated(frames, context):
        if "_local" in frame.columns:
            utc = clock.utc(frame["_local"]).alias("at")
            yield frame.with_columns(frame["at"].zip_with(frame["at"].is_not_null(), utc)).drop("_local")
        else:
            yield frame


def _dated(frames: Iterable[pl.DataFrame], context: Context) -> Iterator[pl.DataFrame]:
    years = _Years(context.bounds)
    for frame in frames:
        if "_wall" in frame.columns or years.held:
            context.continuing.wait()  # which year it is follows from what was before
            yield from years.feed(frame)
        else:
            yield frame
    yield from years.close()


class _Years(Struct):
    """Counts years: `turn` is the number of New Years since the first record, `base` the year of turn 0."""

    bounds: Bounds
    held: list[pl.DataFrame] = field(default_factory=list)
    rows: int = 0
    last: int | None = None
    turn: int = 0
    base: int | None = None
    given_up: bool = False
    day: date | None = None  # of the last record, in the reference year
    anchored: bool = False  # whether a date was found in the run of that day

    def feed(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        if "_wall" not in frame.columns:
            self.held.append(frame)
            return
        turned = self._with_turns(frame)
        bases = self._bases(turned)
        first = bases.is_not_null().arg_max() if bases.null_count() < len(bases) else None
        if self.base is None and first is not None:
            if self.rows + first <= HELD_RECORDS and not self.given_up:
                self.base = bases[first]
                yield from self._release(self.base)
            else:
                yield from self._release(None)
        if self.base is None and first is None:
            self.rows += frame.height
            self.held.append(turned)
            if self.rows > HELD_RECORDS:
                self.given_up = True
                yield from self._release(self._from_bounds())
            return
        self.rows += frame.height
        known = pl.concat([pl.Series([self.base], dtype=pl.Int64), bases]).forward_fill()
        self.base = known[-1]
        yield _with_year(turned, known[1:])

    def close(self) -> Iterator[pl.DataFrame]:
        yield from self._release(self._from_bounds())

    def _release(self, base: int | None) -> Iterator[pl.DataFrame]:
        for frame in self.held:
            if "_turn" in frame.columns:
                yield _with_year(frame, constant("", base, pl.Int64(), frame.height))
            else:
                yield frame
        self.held.clear()

    def _with_turns(self, frame: pl.DataFrame) -> pl.DataFrame:
        wall = frame["_wall"].to_physical().forward_fill()
        before = pl.concat([pl.Series([self.last], dtype=pl.Int64), wall])
        steps = before.forward_fill().diff()[1:].fill_null(0)
        turns = (steps < -_NEW_YEAR_US).cast(pl.Int64) - (steps > _OLD_YEAR_US).cast(pl.Int64)
        turn = turns.cum_sum() + self.turn
        self.turn = turn[-1]
        if wall[-1] is not None:
            self.last = wall[-1]
        return frame.with_columns(turn.alias("_turn"))

    def _bases(self, frame: pl.DataFrame) -> pl.Series:
        """Return the year of turn 0 as the records' own dates say it, null elsewhere.

        The first date that fits decides for a run of records of one day.
        """
        bases = pl.Series("base", [None], dtype=pl.Int64).new_from_index(0, frame.height)
        days = frame["_wall"].dt.date().forward_fill()
        begins = days.ne_missing(days.shift()).arg_true().to_list()
        messages, found = frame["message"], dict[int, int]()
        if frame["_wall"].null_count():  # lines that are no record of this carrier
            nothing = pl.Series([None], dtype=pl.String)
            messages = messages.zip_with(frame["_wall"].is_not_null(), nothing)
        many = _inner_dates(messages).to_list() if len(begins) > _FEW_RUNS else None
        for begin, end in pairwise([*begins, frame.height]):
            day: date | None = days[begin]
            if day is None or (day == self.day and self.anchored):
                continue
            self.day, self.anchored = day, False
            dates = _bit_by_bit(messages[begin:end]) if many is None else many[begin:end]
            place, base = _first_base(dates, day, frame["_turn"][begin])
            if base is not None:
                found[begin + place], self.anchored = base, True
        return bases.scatter(list(found), list(found.values())) if found else bases

    def _from_bounds(self) -> int | None:
        first = next((frame for frame in self.held if "_turn" in frame.columns), None)
        begins, ends = self.bounds.begins, self.bounds.ends
        if first is None or begins is None or ends is None:
            return None
        walls = first.filter(pl.col("_wall").is_not_null())
        if not walls.height:
            return None
        wall, turn = walls["_wall"][0], walls["_turn"][0]
        years = [
            year
            for year in range(begins.year - 1, ends.year + 2)
            if begins.date() <= _moved(wall.date(), year) <= ends.date()
        ]
        return years[0] - turn if len(years) == 1 else None


def _inner_dates(message: pl.Series) -> pl.Series:
    begins = message.str.starts_with("[20").fill_null(value=False)
    dates = message.str.slice(1, 10).zip_with(begins, pl.Series([None], dtype=pl.String))
    within = (~begins & message.str.contains("[20", literal=True).fill_null(value=False)).arg_true()
    return dates.scatter(within, message.gather(within).str.extract(_INNER_DATE, 1)) if len(within) else dates


def _bit_by_bit(messages: pl.Series) -> Iterator[str | None]:
    """Yield the date in each message; most often one of the first is enough."""
    begin, size = 0, _FIRST_LOOK
    while begin < len(messages):
        yield from _inner_dates(messages[begin : begin + size])
        begin, size = begin + size, size * 8


def _first_base(dates: Iterable[str | None], day: date, turn: int) -> tuple[int, int | None]:
    """Return the first date that says the year of turn 0, by its place, and that year."""
    for place, inner in enumerate(dates):
        base = _base(inner, day, turn) if inner is not None else None
        if base is not None:
            return place, base
    return 0, None


def _base(inner: str, day: date, turn: int) -> int | None:
    """Return the year of turn 0 when a message of this date came on this day (of the reference year)."""
    try:
        told = date.fromisoformat(inner)
    except ValueError:
        return None
    for year in (told.year, told.year - 1, told.year + 1):
        if abs((_moved(day, year) - told).days) <= _NEAR_DAYS:
            return year - turn
    return None


def _moved(day: date, year: int) -> date:
    try:
        return day.replace(year=year)
    except ValueError:  # the 29th of February
        return day.replace(year=year, day=28)


def _with_year(frame: pl.DataFrame, base: pl.Series) -> pl.DataFrame:
    """Put the times into their years. A 29th of February where there is none is the day after the 28th."""
    year = base + frame["_turn"]
    wall = frame["_wall"]
    local = pl.Series("_local", [None], dtype=pl.Datetime("us")).new_from_index(0, frame.height)
    march = datetime(REFERENCE_YEAR, 3, 1)  # noqa: DTZ001
    for number in year.drop_nulls().unique():
        moved = wall + (datetime(number, 1, 1) - datetime(REFERENCE_YEAR, 1, 1))  # noqa: DTZ001
        if not isleap(number):
            moved = moved.zip_with(wall < march, moved - timedelta(days=1))
        local = moved.zip_with(year == number, local)
    if "_local" in frame.columns:
        local = frame["_local"].zip_with(frame["_local"].is_not_null(), local)
    return frame.drop("_wall", "_turn").with_columns(local.alias("_local"))
