"""How figures are written for a person: tokens, memory, times, durations, settings."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from kvforensics.report.inert import inert
from kvforensics.report.plain import plain

UNKNOWN = "?"
_LONGEST_VALUE = 60
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def count(number: int | None) -> str:
    """`101,134`; `?` where the log does not say."""
    return UNKNOWN if number is None else f"{number:,}"


def gib(size: float | None) -> str:
    """`9.87 GiB`."""
    return UNKNOWN if size is None else f"{size:.2f} GiB"


def share(part: float | None) -> str:
    """`93 %` for 0.93."""
    return UNKNOWN if part is None else f"{part * 100:.0f} %"


def clock(at: datetime | None, beside: datetime | None = None) -> str:
    """`2026-05-20 14:03:00`, or the time alone where `beside` is of the same day."""
    if at is None:
        return UNKNOWN
    same_day = beside is not None and beside.date() == at.date()
    return f"{at:%H:%M:%S}" if same_day else f"{at:%Y-%m-%d %H:%M:%S}"


def span(length: timedelta | float | None) -> str:
    """`4m 04s`, `1h 03m`, `12d 4h`: two units at most."""
    if length is None:
        return UNKNOWN
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if seconds < 0:
        return "-" + span(-seconds)
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m {whole % _MINUTE:02d}s"
    if whole < _DAY:
        return f"{whole // _HOUR}h {whole % _HOUR // _MINUTE:02d}m"
    return f"{whole // _DAY}d {whole % _DAY // _HOUR}h"


def setting(value: Any) -> str:
    """Return a setting's value as one would type it, cut where it is long."""
    if isinstance(value, str):
        return inert(value, _LONGEST_VALUE) if value else "''"
    return inert(str(plain(value)), _LONGEST_VALUE)


def plural(number: int, one: str, many: str | None = None) -> str:
    """`1 launch`, `3 launches`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
