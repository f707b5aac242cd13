"""The shape of a line that nobody understood: what varies from line to line is replaced by its sort.

Shapes are counted, each with its first place. Their number is bounded whatever the input holds; what
comes beyond is counted under one shape.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvforensics.events import ShapeCount
from kvforensics.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable

OTHER = "<other>"
NO_MESSAGE = "<no message>"
LONGEST = 240  # characters of a line that make its shape
MAX_SHAPES = 10_000

_SORTS = re.compile(
    r"""
      (?P<uuid>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)
    | (?P<url>\b[a-z][a-z0-9+]{1,15}://[^\s'"<>,;)\]}]+)
    | (?P<address>\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?::[0-9]+)?\b)
    | (?P<path>(?<![\w<./-])(?:/|~/|\./|\.\./)[\w.+@%~=-]+(?:/[\w.+@%~=-]*)*)
    | (?P<hex>\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{6,}\b)
    | (?P<n>[0-9]+(?:[.,:][0-9]+)*)
    | (?P<control>[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+)
    """,
    re.VERBOSE,
)


def shape_of(text: str) -> str:
    """Return the shape of a line: numbers, hexadecimals, paths, addresses and UUIDs by their sort."""
    cut = redact(text[: 2 * LONGEST])
    # A word of letters alone has no part that varies, and most words are.
    shape = " ".join(word if word.isalpha() else _SORTS.sub(_sort, word) for word in cut.split(" "))
    if len(shape) > LONGEST or len(text) > 2 * LONGEST:
        shape = shape[:LONGEST] + "…"
    return shape.strip() or "<blank>"


def _sort(match: re.Match[str]) -> str:
    return f"<{match.lastgroup}>"


class Shapes:
    """The shapes of one source. Once `MAX_SHAPES` are known, new ones count as `<other>`."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._known: set[str] = set()

    def resume(self, known: Iterable[str]) -> None:
        """Know these shapes already."""
        self._known.update(known)

    def count(self, into: dict[str, ShapeCount], shape: str, line: int, times: int = 1) -> None:
        """Count a shape in a block's table."""
        if shape not in self._known:
            if len(self._known) < MAX_SHAPES:
                self._known.add(shape)
            else:
                shape = OTHER
        known = into.get(shape)
        if known is None:
            into[shape] = ShapeCount(shape, times, self._source, line)
        else:
            known.count += times
            known.first_line = min(known.first_line, line)


def merged(blocks: Iterable[dict[str, ShapeCount]]) -> dict[str, ShapeCount]:
    """Add up tables of shapes; the first place is the first block's."""
    found: dict[str, ShapeCount] = {}
    for block in blocks:
        for shape, one in block.items():
            known = found.get(shape)
            if known is None:
                found[shape] = ShapeCount(shape, one.count, one.source, one.first_line)
            else:
                known.count += one.count
    return found
