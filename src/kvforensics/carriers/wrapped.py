"""Text that was wrapped by hand or by an editor: the `server_args=` line of a paste is many lines.

Told by that very line: it does not close, no line is longer than a column, and what follows does not begin a
record. Cut at exactly the column, the pieces are joined as they are; cut between words, with the blank that
the wrapping took.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kvforensics.carriers.blocks import LINE_BYTES
from kvforensics.carriers.frames import record_frame
from kvforensics.columns import constant
from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head

_COLUMNS = range(40, 401)
# Below that of any envelope around each of the pieces, which must come off first; above that of a carrier
# that stood around the whole lines.
_AT_COLUMN, _AT_WORDS = 0.94, 0.5
_BEGINS = re.compile(
    r"(?:\x1b\[[0-9;]*m)*(?:"
    r"\[(?:20[0-9]{2}-[0-9]{2}-[0-9]{2}|[0-9]{2}:[0-9]{2}:[0-9]{2}[ \]]|pod/|rank[0-9])"
    r"|(?:INFO|WARNING|ERROR)(?:\x1b\[[0-9;]*m)*:|Traceback |  File \""
    r"|[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} "
    r"|(?:<[0-9]{1,3}>1 |[A-Z][a-z]{2} )?20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"|[a-z0-9][a-z0-9_.-]* +\| |\(\S+ pid=[0-9]+"
    r")"
)
_SETTINGS = "server_args="
_CLOSED = re.compile(r"[)}]\s*$")


class _Wrapping(NamedTuple):
    column: int
    at_words: bool

    def goes_on(self, line: str, following: str) -> bool:
        """Tell whether the second line is the rest of the first."""
        if not following.strip() or _BEGINS.match(following):
            return False
        if len(line) == self.column:
            return True
        word = following.split(" ", 1)[0]
        return self.at_words and len(line) + 1 + len(word) > self.column


class Wrapped:
    """One record for the lines that were one."""

    name = "wrapped"

    def score(self, head: Head) -> float:
        """Tell wrapped text by a `server_args=` line that goes on below."""
        wrapping = _wrapping(head)
        if wrapping is None:
            return 0.0
        return _AT_WORDS if wrapping.at_words else _AT_COLUMN

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the joined lines; the last one of a block waits for the next block."""
        wrapping = _wrapping(blocks.head) or _Wrapping(0, at_words=False)
        origin = context.origins.intern(Origin())
        joiner = _Joiner(wrapping)
        for block in blocks:
            yield _frame(joiner.feed(zip(block.numbers(), block.text(), strict=True)), origin, context)
        yield _frame(joiner.close(), origin, context)


class _Joiner:
    def __init__(self, wrapping: _Wrapping) -> None:
        self._wrapping = wrapping
        self._number = 0
        self._parts: list[str] = []
        self._last = ""
        self._size = 0

    def feed(self, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        for number, line in lines:
            if self._parts and self._size < LINE_BYTES and self._wrapping.goes_on(self._last, line):
                self._parts.append(f" {line}" if self._wrapping.at_words else line)
                self._size += len(line)
            else:
                yield from self.close()
                self._number, self._parts, self._size = number, [line], len(line)
            self._last = line

    def close(self) -> Iterator[tuple[int, str]]:
        if self._parts:
            yield self._number, "".join(self._parts)
            self._parts = []


def _wrapping(head: Head) -> _Wrapping | None:
    lines = [line.decode(errors="replace") for line in head.lines]
    column = max(map(len, lines), default=0)
    if column not in _COLUMNS:
        return None
    for line, following in pairwise(lines):
        if _SETTINGS not in line + following or _SETTINGS in following or _CLOSED.search(line):
            continue
        for at_words in (False, True):
            wrapping = _Wrapping(column, at_words)
            if wrapping.goes_on(line, following) and (at_words or len(following) == column):
                return wrapping
    return None


def _frame(records: Iterator[tuple[int, str]], origin: int, context: Context) -> pl.DataFrame:
    made = list(records)
    return record_frame(
        context,
        {
            "line": [number for number, _ in made],
            "message": [text for _, text in made],
            "origin": constant("origin", origin, pl.UInt32(), len(made)),
        },
    )
