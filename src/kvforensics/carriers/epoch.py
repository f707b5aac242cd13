"""Moments as shippers write them: ISO 8601, or a number since the epoch in whatever unit."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

_SECONDS, _MILLIS, _MICROS = 1e11, 1e14, 1e17  # below each an epoch number counts this unit
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_US = 1 << 55
_LAST_NS = _LAST_US * 1000


def epoch_us(value: Any) -> int | None:
    """Return microseconds of the epoch: from ISO 8601 (UTC where no zone is given), or from an epoch number.

    The unit of a number (seconds, milli-, micro- or nanoseconds) follows from its size.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        number = _number(value)
        if number is None:
            return _iso_us(value)
        value = number
    if not isinstance(value, (int, float)) or not 0 < value < _LAST_NS:
        return None
    if value < _SECONDS:
        us = round(value * 1e6) if isinstance(value, float) else value * 1_000_000
    elif value < _MILLIS:
        us = round(value * 1e3) if isinstance(value, float) else value * 1000
    elif value < _MICROS:
        us = int(value)
    else:
        us = int(value) // 1000
    return us if us < _LAST_US else None


def _number(text: str) -> int | float | None:
    if len(text) > 30 or not text.isascii():  # noqa: PLR2004
        return None
    try:
        return int(text) if text.isdigit() else float(text) if text.replace(".", "", 1).isdigit() else None
    except ValueError:
        return None


def _iso_us(text: str) -> int | None:
    if len(text) > 40:  # noqa: PLR2004
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    try:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None
    since = moment - _EPOCH
    return (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds
