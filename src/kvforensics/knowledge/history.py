"""Every setting over the releases: when it existed, its type, its default, its other flags."""

from __future__ import annotations

import ast
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kvforensics.knowledge.data import settings_json
from kvforensics.knowledge.releases import listed, members, releases

if TYPE_CHECKING:
    from kvforensics.knowledge.releases import Version


class Unknown(Enum):
    """The one value that stands for "not known", where None is a value of its own."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN


class Span(Struct, frozen=True):
    """Releases `since` … `until` (both inclusive) in which a setting had one type and default."""

    since: str
    until: str
    type: str  # as the annotation is written
    default: Any  # UNKNOWN where the setting is required


@cache
def history(name: str) -> tuple[Span, ...]:
    """Return the spans of a setting, oldest first; empty for a name that no release knows."""
    rows = settings_json()["settings"].get(name, ())
    return tuple(Span(row["from"], row["to"], row["type"], _literal(row["default"])) for row in rows)


def _literal(text: str) -> Any:
    return UNKNOWN if text == "<required>" else ast.literal_eval(text)


@cache
def _places() -> dict[str, int]:
    return {name: place for place, name in enumerate(releases())}


def span_at(name: str, release: str) -> Span | None:
    """Return what a setting was in a release (a listed one stands for those after it), or None."""
    known = listed(release)
    if known is None:
        return None
    place = _places()[known]
    for span in history(name):
        if _places()[span.since] <= place <= _places()[span.until]:
            return span
    return None


@cache
def fields(release: str) -> frozenset[str]:
    """Return the settings that a release has; empty for one older than all that were read."""
    known = listed(release)
    return frozenset() if known is None else _fields()[_places()[known]]


@cache
def _fields() -> tuple[frozenset[str], ...]:
    """Return the settings of each release, of all at once: a launch is compared with every one."""
    places, found = _places(), [set[str]() for _ in releases()]
    for name, rows in settings_json()["settings"].items():
        for row in rows:
            for names in found[places[row["from"]] : places[row["to"]] + 1]:
                names.add(name)
    return tuple(map(frozenset, found))


@cache
def all_names() -> frozenset[str]:
    """Return the settings of any release."""
    return frozenset(settings_json()["settings"])


def spans(name: str, version: Version) -> tuple[Span | None, ...]:
    """Return the setting's span in each release that `version` may be; None where it lacks it."""
    return tuple(span_at(name, release) for release in members(version))


def default(name: str, version: Version = None) -> Any:
    """Return a setting's default.

    UNKNOWN where the setting is required or the releases that `version` may be differ over it.
    Releases that lack the setting do not count, unless all do.
    """
    known = [span.default for span in spans(name, version) if span is not None]
    if not known or any(type(value) is not type(known[0]) or value != known[0] for value in known):
        return UNKNOWN
    return known[0]


@cache
def flag_aliases(release: str) -> dict[str, str]:
    """Return the flags of a release whose name is not the setting's: flag to setting."""
    known = listed(release)
    if known is None:
        return {}
    place = _places()[known]
    return {
        flag: row["setting"]
        for flag, rows in settings_json()["flag_aliases"].items()
        for row in rows
        if _places()[row["from"]] <= place <= _places()[row["to"]]
    }
