"""SGLang's releases: their order, and ranges of them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.knowledge.data import settings_json

if TYPE_CHECKING:
    from collections.abc import Iterable

_RELEASE = re.compile(
    r"v?([0-9]{1,6})\.([0-9]{1,6})(?:\.([0-9]{1,6}))?"
    r"(?:\.?(rc|a|b|dev|post)([0-9]{0,9}))?(?:\.dev[0-9]*)?(?:[+-][0-9A-Za-z.-]*)?",
    re.ASCII,
)
_PHASES = {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}


class VersionRange(Struct, frozen=True):
    """The SGLang releases that could have printed a launch, both inclusive, and what told.

    None means unbounded, so that `VersionRange()` is every release.
    """

    oldest: str | None = None
    newest: str | None = None
    basis: str | None = None

    @property
    def exact(self) -> str | None:
        """The one release of this range, or None where it holds several."""
        return self.oldest if self.oldest is not None and self.oldest == self.newest else None


Version = VersionRange | str | None


def releases() -> tuple[str, ...]:
    """Return the releases whose source was read, oldest first."""
    return tuple(settings_json()["versions"])


@cache
def release_key(release: str) -> tuple[int, ...] | None:
    """Return a key that sorts releases, or None for text that names none.

    Release candidates sort before their release, post releases after it; local parts do not count.
    """
    match = _RELEASE.fullmatch(release.strip())
    if match is None:
        return None
    major, minor, patch, phase, number = match.groups()
    return int(major), int(minor), int(patch or 0), _PHASES[phase], int(number or 0)


def as_range(version: Version) -> VersionRange:
    """Return a range for a release, a range or nothing known (every release)."""
    if isinstance(version, VersionRange):
        return version
    return VersionRange(version, version) if version else VersionRange()


def within(version: Version, since: str | None, until: str | None) -> bool | None:
    """Tell whether every release of `version` is in since … until (both inclusive).

    True or False where that is certain, None where the range reaches over an edge or is unknown.
    """
    span = as_range(version)
    low = release_key(span.oldest) if span.oldest else None
    high = release_key(span.newest) if span.newest else None
    first = release_key(since) if since else None
    last = _end_of(until) if until else None
    if (first and high and high < first) or (last and low and low > last):
        return False
    begins = first is None or (low is not None and low >= first)
    ends = last is None or (high is not None and high <= last)
    return True if begins and ends else None


def _end_of(release: str) -> tuple[int, ...] | None:
    """Return the key of the last post release of a release: what `until` includes."""
    key = release_key(release)
    if key is None:
        return None
    return key if key[3] > 0 else (*key[:3], _PHASES["post"], 999_999_999)


@cache
def listed(release: str) -> str | None:
    """Return the listed release that stands for this one: the nearest not newer, or None if all are."""
    key = release_key(release)
    if key is None:
        return None
    older = [name for name in releases() if (release_key(name) or ()) <= key]
    return older[-1] if older else None


def members(version: Version) -> tuple[str, ...]:
    """Return the listed releases that a version or range stands for; every one where nothing is known."""
    span = as_range(version)
    names = releases()
    low = listed(span.oldest) if span.oldest else names[0]
    high = listed(span.newest) if span.newest else names[-1]
    start = names.index(low) if low else 0
    stop = names.index(high) + 1 if high else len(names)
    return names[start:stop] or names[start : start + 1]


def spanning(names: Iterable[str], basis: str) -> VersionRange | None:
    """Return the range from the oldest to the newest of some listed releases, or None of none."""
    order = {name: place for place, name in enumerate(releases())}
    found = sorted((name for name in names if name in order), key=order.__getitem__)
    return VersionRange(found[0], found[-1], basis) if found else None
