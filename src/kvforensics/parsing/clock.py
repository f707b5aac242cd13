"""From the time that a program printed, in a zone that nobody wrote down, to UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from kvforensics.columns import in_calendar
from kvforensics.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])([0-9]{1,2}):?([0-9]{2})?")
_STEP_BACK = timedelta(minutes=10)  # ranks overtake each other by less; the end of summer time is an hour


def zone(name: str) -> tzinfo:
    """Return the zone of an IANA name or an offset such as +02:00. Raises UsageError for anything else."""
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        shift = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        if shift < timedelta(hours=24):
            return timezone(-shift if offset[1] == "-" else shift)
    try:
        return UTC if name in ("UTC", "Z") else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        hint = "an IANA name such as Europe/Berlin, or an offset such as +02:00"
        raise UsageError(f"unknown time zone {name!r}", hint=hint) from error


class Clock:
    """Turns one source's printed times into UTC.

    Where summer time ends an hour comes twice: its times are taken for the first one until they step back.
    A time that the zone skips is null.
    """

    def __init__(self, tz: str) -> None:
        self._zone = zone(tz)
        self._fixed = self._zone.utcoffset(None)
        self._last: datetime | None = None  # the last local time inside a repeated hour
        self._fold = 0

    @property
    def is_even(self) -> bool:
        """Whether no hour comes twice or never."""
        return self._fixed is not None

    @property
    def is_between(self) -> bool:
        """Whether no hour that comes twice is open."""
        return self._last is None and not self._fold

    def utc(self, local: datetime) -> datetime | None:
        """Return a printed time in UTC, naive. Call in the order of the lines."""
        if self._fixed is not None:
            try:
                return local - self._fixed
            except OverflowError:
                return None
        try:
            early, late = self._at(local, 0), self._at(local, 1)
        except (OverflowError, ValueError):
            return None
        if early > late:  # the zone skips it
            return None
        if early == late:
            self._last, self._fold = None, 0
            return early
        if self._last is not None and local < self._last - _STEP_BACK:
            self._fold = 1
        self._last = local
        return late if self._fold else early

    def both(self, local: datetime) -> set[datetime]:
        """Return every instant, naive UTC, that a printed time may stand for."""
        if self._fixed is not None:
            alone = self.utc(local)
            return set() if alone is None else {alone}
        try:
            return {self._at(local, 0), self._at(local, 1)}
        except (OverflowError, ValueError):
            return set()

    def utc_of(self, local: pl.Series) -> pl.Series:
        """Return printed times in UTC, in the order of the lines. Nulls stay."""
        if self._fixed is not None:
            return in_calendar(local - self._fixed) if self._fixed else local
        early, late = (in_calendar(self._zoned(local, which)) for which in ("earliest", "latest"))
        twice = (early != late).fill_null(value=False)
        if not twice.any():
            if local.drop_nulls().len():
                self._last, self._fold = None, 0
            return early
        return pl.Series(local.name, list(self._one_by_one(local)), dtype=pl.Datetime("us"))

    def _one_by_one(self, local: Iterable[datetime | None]) -> Iterable[datetime | None]:
        return (None if time is None else self.utc(time) for time in local)

    def _zoned(self, local: pl.Series, which: str) -> pl.Series:
        zoned = local.dt.replace_time_zone(str(self._zone), ambiguous=which, non_existent="null")  # type: ignore[arg-type]
        return zoned.dt.convert_time_zone("UTC").dt.replace_time_zone(None)

    def _at(self, local: datetime, fold: int) -> datetime:
        return local.replace(tzinfo=self._zone, fold=fold).astimezone(UTC).replace(tzinfo=None)
