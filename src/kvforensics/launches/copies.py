"""A launch that stands in the log twice is one launch: `cat a a`, an export appended to an older one.

All that one of them says, at its times, the other says too, and no line of one stands among the other's.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from kvforensics.events import Event
    from kvforensics.launches.start import Start

FEWEST = 8  # dated lines that must agree: no other start says the same within the same seconds
_Fact: TypeAlias = "tuple[str, datetime, str | None]"


class Copy(NamedTuple):
    """A start that was left out."""

    of: Start
    first: Event


class _Known(NamedTuple):
    start: Start
    facts: Counter[_Fact]


def without_copies(starts: Iterable[Start]) -> tuple[list[Start], list[Copy]]:
    """Return the starts without copies, and the copies. Of two, the one that says more stays."""
    known: list[_Known] = []
    by_fact: dict[_Fact, int] = {}
    copies: list[Copy] = []
    for start in starts:
        own = _Known(start, _facts(start))
        place = _twin(own, known, by_fact)
        if place is None:
            place = len(known)
            known.append(own)
        else:
            if sum(own.facts.values()) > sum(known[place].facts.values()):
                own, known[place] = known[place], own
                copies = [copy._replace(of=start) if copy.of is own.start else copy for copy in copies]
            copies.append(Copy(known[place].start, next(_dated(own.start))))
        for fact in known[place].facts:
            by_fact.setdefault(fact, place)
    return [each.start for each in known], copies


def _twin(own: _Known, known: list[_Known], by_fact: dict[_Fact, int]) -> int | None:
    places = Counter(by_fact[fact] for fact in own.facts if fact in by_fact)
    for place, _ in places.most_common(1):
        other = known[place]
        less = min(own.facts.total(), other.facts.total())
        if less >= FEWEST and (own.facts & other.facts).total() == less and _is_apart(own, other):
            return place
    return None


def _is_apart(own: _Known, other: _Known) -> bool:
    """Tell whether no line of one stands among those of the other."""
    first, last = _ends(own.start)
    begin, end = _ends(other.start)
    return last < begin or end < first


def _ends(start: Start) -> tuple[tuple[int, int], tuple[int, int]]:
    places = [(event.source, event.line) for event in _dated(start)]
    return min(places), max(places)


def _facts(start: Start) -> Counter[_Fact]:
    return Counter((event.kind, at, event.text) for event in _dated(start) if (at := _at(event)) is not None)


def _dated(start: Start) -> Iterator[Event]:
    return (item.event for item in start.items if item.event is not None and _at(item.event) is not None)


def _at(event: Event) -> datetime | None:
    return event.inner_at or event.at
