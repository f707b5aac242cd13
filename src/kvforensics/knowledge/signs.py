"""What the form of a line says about the release that printed it."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kvforensics.knowledge.data import arguments, toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kvforensics.events import Event


_LINES = 8  # that are remembered


class Sign(Struct, frozen=True):
    """One entry of versions.toml; the file's head explains each field."""

    id: str
    kind: str
    since: str | None = None
    until: str | None = None
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    text: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    ends: str = ""

    def is_in(self, event: Event) -> bool:
        """Tell whether an event shows it."""
        if self.kind not in ("any", event.kind):
            return False
        fields = event.fields
        if (
            (self.has and any(fields.get(name) is None for name in self.has))
            or (self.lacks and any(fields.get(name) is not None for name in self.lacks))
            or (self.where and any(fields.get(name) != value for name, value in self.where.items()))
        ):
            return False
        return not self._looks_at_text or (event.text is not None and self.is_in_line(event.text))

    def is_in_line(self, line: str) -> bool:
        """Tell whether the text of a line shows it."""
        return (
            (not self.prefix or _tags_in_order(self.prefix, line))
            and line.endswith(self.ends)
            and (not self.text or _in_order(self.text, line))
            and not (self.without and any(piece in line for piece in self.without))
        )

    @property
    def _looks_at_text(self) -> bool:
        return bool(self.text or self.without or self.prefix or self.ends)


@cache
def signs() -> tuple[Sign, ...]:
    """Return all signs in the order of the file."""
    return tuple(Sign(**arguments(row)) for row in toml("versions")["sign"])


def signs_in(events: Iterable[Event], lines: Iterable[str] = ()) -> tuple[Sign, ...]:
    """Return the signs that events and the texts of scheduler lines show, in the order of the file."""
    found: set[str] = set()
    for event in events:
        found.update(sign.id for sign in _by_kind(event.kind) if sign.id not in found and sign.is_in(event))
    for line in lines:
        found.update(sign.id for sign in _by_kind("line") if sign.id not in found and sign.is_in_line(line))
    return tuple(sign for sign in signs() if sign.id in found)


@cache
def _by_kind(kind: str) -> tuple[Sign, ...]:
    return tuple(sign for sign in signs() if sign.kind in ("any", kind))


def _in_order(pieces: Iterable[str], line: str) -> bool:
    start = 0
    for piece in pieces:
        place = line.find(piece, start)
        if place < 0:
            return False
        start = place + len(piece)
    return True


def _tags_in_order(tags: Iterable[str], line: str) -> bool:
    """Tell whether rank tags follow one another inside one bracketed prefix of the line."""
    for words in _tags(line):
        places = [words.index(tag) if tag in words else -1 for tag in tags]
        if min(places) >= 0 and places == sorted(places):
            return True
    return False


@lru_cache(_LINES)
def _tags(line: str) -> list[list[str]]:
    """Return the words with a number inside each pair of brackets, without it: every sign asks for them."""
    parts = (part.partition("]") for part in line.split("[")[1:])
    return [
        [word.rstrip("0123456789") for word in inside.split(" ") if word[-1:].isdigit()]
        for inside, bracket, _ in parts
        if bracket
    ]
