"""JSON in a file, one object after the other: a line each, an array of them, or printed over many lines.

Exports wrap their entries: `[…]` of gcloud, `{"events": […]}` of the AWS CLI. Each entry comes out with the
line on which it begins, and nothing but the current one is held.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ELEMENT_BYTES = 32 << 20  # of a longer entry nothing can be told; its lines are given back one by one

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[{}\[\]]')  # possessive: no memory for a string without end
_WRAPPER = re.compile(rb'^\s*"(?:events|logEvents|entries|hits|logs|data|result)"\s*:\s*[\[{]\s*$')
_OTHER = re.compile(rb'^\s*"[^"\\]*"\s*:\s*[\[{]\s*$')  # what a wrapper holds beside its entries
_FRAME = re.compile(rb'^[\s\[\]{},]*$|^\s*"[A-Za-z_@]+"\s*:')  # what stands between the entries of a wrapper


class Elements:
    """Cuts lines into entries. Feed the lines in order, then `close`."""

    def __init__(self) -> None:
        self._held: list[tuple[int, bytes]] = []
        self._size = 0
        self._depth = 0
        self._wrapped = False
        self._beside = 0  # depth within what a wrapper holds beside its entries

    def feed(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Yield (line number, bytes) of each entry; what is no entry comes as the line that it is."""
        for number, line in lines:
            if self._held:
                yield from self._continue(number, line)
                continue
            text = line.strip()
            if self._beside:
                self._beside += _depth(line)
            elif self._wrapped and _OTHER.match(line) and not _WRAPPER.match(line):
                self._beside = 1
            elif text == b"{":
                self._held = [(number, line)]
                self._size, self._depth = len(line), 1
            elif text in (b"[", b"]", b"],", b"", b","):
                self._wrapped = text == b"[" or self._wrapped
            elif self._wrapped and not text.startswith(b"{") and _FRAME.match(text):
                continue
            else:
                yield number, text.rstrip(b",") if self._wrapped or text.startswith((b"{", b"[")) else line

    def close(self) -> Iterator[tuple[int, bytes]]:
        """Yield what never ended."""
        held, self._held = self._held, []
        yield from held

    def _continue(self, number: int, line: bytes) -> Iterator[tuple[int, bytes]]:
        if self._depth == 1 and len(self._held) == 1 and _WRAPPER.match(line):
            self._held, self._wrapped = [], True
            return
        self._held.append((number, line))
        self._size += len(line)
        self._depth += _depth(line)
        if self._depth <= 0:
            first = self._held[0][0]
            whole = b"\n".join(part for _, part in self._held).strip().rstrip(b",")
            self._held = []
            yield first, whole
        elif self._size > ELEMENT_BYTES:
            yield from self.close()


def _depth(line: bytes) -> int:
    """Return how much deeper the end of a line is than its begin."""
    depth = 0
    for token in _TOKEN.finditer(line):
        mark = token.group()
        depth += (mark in (b"{", b"[")) - (mark in (b"}", b"]"))
    return depth
