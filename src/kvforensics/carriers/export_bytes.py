"""Bytes read on demand, line by line or by count, with the number of the physical line at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.carriers.blocks import LINE_BYTES, cut_text

if TYPE_CHECKING:
    from collections.abc import Iterator


class ByteReader:
    """Bytes to read from, filled on demand; `line` is the physical line at `at`."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.data = b""
        self.at = 0
        self.line = 1
        self.cut = False  # whether the line read last was too long

    def fill(self) -> bool:
        """Get more bytes; false at the end of the input."""
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        self.data = self.data[self.at :] + chunk
        self.at = 0
        return True

    def advance(self, end: int) -> None:
        """Go on to a place in `data`, counting the lines between."""
        self.line += self.data.count(b"\n", self.at, end)
        self.at = end

    def read_line(self) -> tuple[bytes, bool]:
        """Return the next line without its end and whether it had one; of a long line only the beginning."""
        start = 0
        while (end := self.data.find(b"\n", self.at + start)) < 0:
            start = len(self.data) - self.at
            if start > LINE_BYTES:
                return self._long_line(), True
            if not self.fill():
                text = self.data[self.at :]
                self.at = len(self.data)
                return text, False
        text = cut_text(self.data[self.at : end], LINE_BYTES)
        self.cut = end - self.at > LINE_BYTES
        self.advance(end + 1)
        return text, True

    def read_exactly(self, size: int) -> bytes:
        """Return that many bytes, fewer at the end of the input; of many only the first mebibyte is kept."""
        kept: list[bytes] = []
        room, left = LINE_BYTES, size
        while left:
            if self.at == len(self.data) and not self.fill():
                break
            piece = self.data[self.at : self.at + left]
            self.advance(self.at + len(piece))
            left -= len(piece)
            if room:
                kept.append(piece[:room])
                room -= len(kept[-1])
        return b"".join(kept)

    def _long_line(self) -> bytes:
        text = cut_text(self.data[self.at :], LINE_BYTES)
        self.cut = True
        while (end := self.data.find(b"\n", self.at)) < 0:
            self.at = len(self.data)
            if not self.fill():
                return text
        self.advance(end + 1)
        return text
