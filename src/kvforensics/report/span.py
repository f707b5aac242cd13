"""Lengths of time as a person reads them."""

from __future__ import annotations

from datetime import datetime

_DAY, _HOUR, _MINUTE = 86400, 3600, 60


def duration(seconds: float | None) -> str:
    """Return a length of time as `4 min 3 s`, or a dash where it is unknown."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def span(start: str | None, end: str | None) -> str:
    """Return the time between two times of the contract as `duration` says it, or a dash."""
    if start is None or end is None:
        return duration(None)
    return duration((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
