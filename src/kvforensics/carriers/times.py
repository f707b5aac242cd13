"""The times that a carrier leaves incomplete: without a year, without a zone.

A year is told from the dates in SGLang's own prefixes (`[2026-05-20 14:03:11 TP0]`), which stand at most a
day or two from the carrier's time; between them from the order of the records, where a step back of months is
a new year. Before the first date, backwards from it. Else from a `Journal begins at …` line. Else the time
stays unknown: the file system's dates are not used, so the same bytes always say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import polars as pl

from kvforensics.carriers.zones import LocalClock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.carriers.carrier import Context

HELD_RECORDS = 250_000  # that wait for the first date
REFERENCE_YEAR = 2000  # of `_wall`: a leap year
_DAY_US = 86_400_000_000
_NEW_YEAR_US = 180 * _DAY_US  # a step back of more is a new year
_OLD_YEAR_US = 350 * _DAY_US  # a step forward of more is the clock set back over New Year
_NEAR_US = 2 * _DAY_US  # between the carrier's time and the date in the message
_INNER_DATE = r"\[(20[0-9]{2}-[0-9]{2}-[0-9]{2})[ T]"


@dataclass(slots=True)
class Bounds:
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
            yield from years.feed(frame)
        else:
            yield frame
    yield from years.close()


@dataclass(slots=True)
class _Years:
    """Counts years: `turn` is the number of New Years since the first record, `base` the year of turn 0."""

    bounds: Bounds
    held: list[pl.DataFrame] = field(default_factory=list)
    rows: int = 0
    last: int | None = None
    turn: int = 0
    base: int | None = None
    given_up: bool = False

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
                yield _with_year(frame, pl.Series([base], dtype=pl.Int64).new_from_index(0, frame.height))
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
        """Return the year of turn 0 as each record's own date says it, null without a date."""
        inner = frame["message"].str.extract(_INNER_DATE, 1).str.to_date("%Y-%m-%d", strict=False)
        if inner.null_count() == len(inner):
            return pl.Series([None], dtype=pl.Int64).new_from_index(0, len(inner))
        year = inner.dt.year().cast(pl.Int64)
        day_us = _in_reference_year(inner.cast(pl.Datetime("us")), year)
        ahead = frame["_wall"].to_physical() - day_us
        shift = (ahead < -_NEW_YEAR_US).cast(pl.Int64) - (ahead > _NEW_YEAR_US).cast(pl.Int64)
        apart = (ahead + shift * (366 * _DAY_US)).abs()
        return (year + shift - frame["_turn"]).zip_with(apart <= _NEAR_US, pl.Series([None], dtype=pl.Int64))

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
            if begins - timedelta(days=1) <= _moved(wall, year) <= ends + timedelta(days=1)
        ]
        return years[0] - turn if len(years) == 1 else None


def _moved(wall: datetime, year: int) -> datetime:
    try:
        return wall.replace(year=year)
    except ValueError:  # the 29th of February
        return wall.replace(year=year, day=28)


def _days(year: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the microseconds from the reference year to each year, and those of a leap day that it lacks."""
    begin = pl.select(pl.datetime(year, 1, 1, time_unit="us")).to_series().to_physical()
    reference = int(pl.Series([datetime(REFERENCE_YEAR, 1, 1)]).to_physical()[0])  # noqa: DTZ001
    leap = pl.select(pl.datetime(year, 1, 1).dt.is_leap_year()).to_series()
    return begin - reference, (~leap).cast(pl.Int64) * _DAY_US


def _in_reference_year(times: pl.Series, year: pl.Series) -> pl.Series:
    moved, missing = _days(year)
    after = (times.dt.month() > 2).cast(pl.Int64)  # noqa: PLR2004 - February
    return times.to_physical() - moved + after * missing


def _with_year(frame: pl.DataFrame, base: pl.Series) -> pl.DataFrame:
    year = base + frame["_turn"]
    moved, missing = _days(year)
    after = (frame["_wall"].dt.month() > 2).cast(pl.Int64)  # noqa: PLR2004
    local = (frame["_wall"].to_physical() + moved - after * missing).cast(pl.Datetime("us")).alias("_local")
    if "_local" in frame.columns:
        local = frame["_local"].zip_with(frame["_local"].is_not_null(), local).alias("_local")
    return frame.drop("_wall", "_turn").with_columns(local)
