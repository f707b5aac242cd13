"""Old inputs leave a catalogue."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kvforensics.errors import UsageError

if TYPE_CHECKING:
    from kvforensics.scan.catalogue import Catalogue

_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_AGE = re.compile(r"([0-9]+)\s*([dwmy])[a-z]*", re.IGNORECASE)


def retain(catalogue: Catalogue, age_days: int, now: datetime) -> int:
    """Forget inputs whose last record is older than that many days; return how many.

    Inputs without any time are kept: nothing says that they are old. One that is still there and is named by
    a later scan is read again, and forgotten again.
    """
    oldest = now - timedelta(days=age_days)
    old = [entry for entry in catalogue.manifest.done() if (at := _last(entry.source)) and at < oldest]
    for entry in old:
        catalogue.manifest.drop(entry.path)
    return len(old)


def days(age: str) -> int:
    """Return an age in days. Raises UsageError for a strange one."""
    match = _AGE.fullmatch(age.strip())
    if match is None:
        raise UsageError(f"{age!r} is no age", hint="write it as 400d, 60w, 18m or 2y")
    return int(match.group(1)) * _DAYS[match.group(2).lower()]


def _last(source: dict[str, Any]) -> datetime | None:
    at = source.get("last_at")
    return None if at is None else datetime.fromisoformat(at).replace(tzinfo=UTC)
