"""From local times to UTC, and what the abbreviation of a zone says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Literal
from zoneinfo import ZoneInfo

import polars as pl

from kvforensics.errors import UsageError

_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})?")
_STEP_BACK = timedelta(seconds=60)  # less is jitter between processes, not the end of summer time
_HOURS = {
    "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "MET": 1, "MEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "TRT": 3,
    "EAT": 3, "CAT": 2, "SAST": 2, "WAT": 1, "PKT": 5, "WIB": 7, "WITA": 8, "WIT": 9, "HKT": 8, "JST": 9,
    "KST": 9, "AWST": 8, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13, "EST": -5, "EDT": -4, "CDT": -5,
    "MDT": -6, "PDT": -7, "PST": -8, "AKST": -9, "AKDT": -8, "HST": -10, "ADT": -3, "NDT": -2.5, "NST": -3.5,
}  # fmt: skip  # unknown to it: IST, CST, BST, MST, AST and others that several zones share


@cache
def fixed_offset(zone: str) -> timedelta | None:
    """Return the offset of `UTC`, `+02:00`, `-03` or `+0530`; None for anything else."""
    if zone.upper() in {"UTC", "GMT", "Z"}:
        return timedelta(0)
    match = _OFFSET.fullmatch(zone)
    if match is None:
        return None
    offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    if offset >= timedelta(days=1):
        return None
    return -offset if match[1] == "-" else offset


def check_zone(zone: str) -> None:
    """Raise UsageError when this is neither an IANA name nor an offset."""
    if fixed_offset(zone) is not None:
        return
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(
            f"there is no time zone {zone!r}", hint="say for example Europe/Berlin or +02:00"
        ) from error


@cache
def abbreviation_offset(abbreviation: str, zone: str) -> timedelta | None:
    """Return what an abbreviation such as CEST stands for, None when it may stand for several offsets.

    The zone that the user named (IANA or an offset) decides first where it uses that abbreviation itself.
    """
    offset = fixed_offset(abbreviation)
    if offset is not None:
        return offset
    if fixed_offset(zone) is None:
        for day in range(0, 366, 14):
            instant = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)).astimezone(ZoneInfo(zone))
            if instant.tzname() == abbreviation:
                return instant.utcoffset()
    hours = _HOURS.get(abbreviation)
    return None if hours is None else timedelta(hours=hours)


class LocalClock:
    """Turns local times, in the order of the input, into UTC.

    The hour that a change of the clock repeats is taken for the first one until the times step back in it.
    An hour that a change leaves out is read with the offset before the change.
    """

    def __init__(self, zone: str) -> None:
        self._zone = zone
        self._offset = fixed_offset(zone)
        self._latest: datetime | None = None  # within the repeated hours seen last
        self._second = False

    def utc(self, local: pl.Series) -> pl.Series:
        """Return UTC times for local ones (both naive); null stays null."""
        if self._offset is not None:
            return local - self._offset
        first, second = self._as_zone(local, "earliest"), self._as_zone(local, "latest")
        left_out = local.is_not_null() & first.is_null()
        if left_out.any():
            day = timedelta(days=1)
            first = first.zip_with(~left_out, self._as_zone(local - day, "earliest") + day)
        repeated = (first != second).fill_null(value=False) & ~left_out
        if not repeated.any():
            return first
        later = self._second_time(local, repeated)
        return first.zip_with(~later, second)

    def _as_zone(self, local: pl.Series, ambiguous: Literal["earliest", "latest"]) -> pl.Series:
        zoned = local.dt.replace_time_zone(self._zone, ambiguous=ambiguous, non_existent="null")
        return zoned.dt.convert_time_zone("UTC").dt.replace_time_zone(None)

    def _second_time(self, local: pl.Series, repeated: pl.Series) -> pl.Series:
        later = [False] * len(local)
        for place in repeated.arg_true():
            now: datetime = local[place]
            if self._latest is None or abs(now - self._latest) > timedelta(hours=12):
                self._latest, self._second = now, False
            elif self._latest - now > _STEP_BACK:
                self._second = True
            self._latest = max(self._latest, now)
            later[place] = self._second
        return pl.Series(later, dtype=pl.Boolean)
