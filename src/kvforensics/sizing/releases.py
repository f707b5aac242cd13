"""Releases as numbers, and whether a launch's possible releases lie inside a span."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvforensics.launches import VersionRange

_RELEASE = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})(?:\.?post([0-9]{1,6}))?", re.ASCII)


def release(text: str) -> tuple[int, int, int, int] | None:
    """Return (major, minor, patch, post) of `0.4.9.post6`; local and release-candidate tails are ignored."""
    found = _RELEASE.match(text)
    if found is None:
        return None
    major, minor, patch, post = found.groups()
    return int(major), int(minor), int(patch), int(post or 0)


def within(version: VersionRange, since: str | None, until: str | None) -> bool | None:
    """Return whether every release of the range lies in `since`..`until`, None where some may.

    Both ends count, and `until="0.5.6"` takes 0.5.6's post releases in. An unknown end of the range
    reaches as far as releases go.
    """
    first = _low(since)
    last = _high(until)
    oldest = (release(version.oldest) if version.oldest else None) or (0, 0, 0, 0)
    newest = (release(version.newest) if version.newest else None) or _FAR
    if newest < first or oldest > last:
        return False
    if oldest >= first and newest <= last:
        return True
    return None


_FAR = (10**9, 0, 0, 0)


def _low(since: str | None) -> tuple[int, int, int, int]:
    return (release(since) if since else None) or (0, 0, 0, 0)


def _high(until: str | None) -> tuple[int, int, int, int]:
    end = release(until) if until else None
    if end is None:
        return _FAR
    return end if end[3] else (end[0], end[1], end[2], 10**9)
