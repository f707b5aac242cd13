"""Decompressed bytes cut into blocks of whole lines, in bounded memory whatever the input is."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct, field

from kvforensics import compiled
from kvforensics.carriers.ahead import ahead, side_by_side
from kvforensics.carriers.carrier import Head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kvforensics.records import Source, Thinned, Thinner

BLOCK_BYTES = 16 << 20
FIRST_BYTES = 1 << 20  # of the first block: little is enough to learn from, so the others need not wait
LINE_BYTES = 1 << 20  # of a longer line only this much is kept


class Block:
    r"""Whole lines; the last of them ends with a line end, but for the last block of a source without one.

    Lines end at ``\n`` and nowhere else. `long` are the indices in this block of lines that were cut.
    """

    __slots__ = ("_height", "_joined", "_lines", "_pieces", "_valid", "line", "long")

    def __init__(self, pieces: tuple[bytes, ...], line: int, long: tuple[int, ...] = ()) -> None:
        """Make a block of its bytes, cut anywhere, and the 1-based number of its first line."""
        self._pieces, self.line, self.long = pieces, line, long
        self._joined: bytes | None = None
        self._lines: pl.Series | None = None
        self._valid = False  # whether it is known to be UTF-8
        self._height: int | None = None

    @property
    def _led(self) -> bytes:
        """The bytes of the lines, led by one line end."""
        if self._joined is None:
            self._joined = _led(self._pieces)
        return self._joined

    @property
    def data(self) -> bytes:
        """The bytes of the lines."""
        return self._led[1:]

    def __contains__(self, part: bytes) -> bool:
        """Tell whether some bytes are anywhere in the lines."""
        return part in self._led if len(part) > 1 else any(part in piece for piece in self._pieces)

    def each(self) -> BytesIO:
        """Return the lines with their line ends, one after the other; the block itself is not copied."""
        stream = BytesIO(self._led)
        stream.seek(1)
        return stream

    def counted(self, lines: int) -> None:
        """Take over the number of lines from whoever has read them all."""
        self._height = lines

    @property
    def height(self) -> int:
        """Number of lines."""
        if self._height is None:
            self._height = _count_lines(self._pieces) if self._lines is None else len(self._lines)
        return self._height

    def text(self) -> pl.Series:
        r"""Return the lines as text without their line ends (``\n`` or ``\r\n``); bad bytes become U+FFFD."""
        if self._lines is None:
            self._lines, self._valid = _lines_of(self._pieces)
        return self._lines

    def numbers(self) -> pl.Series:
        """Return the line numbers of the lines."""
        return pl.int_range(self.line, self.line + self.height, dtype=pl.Int64, eager=True).alias("line")

    def invalid(self) -> list[int]:
        """Return the indices of the lines that are not valid UTF-8."""
        if self._valid or is_utf8(self._led):
            return []
        return [number for number, line in enumerate(self.data.split(b"\n")) if not is_utf8(line)]

    def damage(self) -> pl.Series | None:
        """Return each line's damage (`invalid_utf8`, `too_long_line` or null), None when no line has any."""
        bad = dict.fromkeys(self.invalid(), "invalid_utf8") | dict.fromkeys(self.long, "too_long_line")
        if not bad:
            return None
        kinds: list[str | None] = [None] * self.height
        for number, kind in bad.items():
            kinds[number] = kind
        return pl.Series("damage", kinds, dtype=pl.String)


def _lines_of(pieces: tuple[bytes, ...]) -> tuple[pl.Series, bool]:
    r"""Return lines, each without a ``\r`` at its end, and whether all is UTF-8; what is not is replaced."""
    lines = compiled.lines(pieces)
    if lines is not None:
        return lines, True
    led = _led(pieces)
    if len(led) == 1:
        return pl.Series("line", [], dtype=pl.String), True
    try:
        return pl.read_lines(led)["line"][1:], True
    except pl.exceptions.ComputeError:
        return pl.read_lines(led.decode(errors="replace").encode())["line"][1:], False


def _led(pieces: tuple[bytes, ...]) -> bytes:
    """Return the bytes of lines, led by a line end: polars would decompress what begins like gzip or zstd."""
    return b"".join((b"\n", *pieces))


def _count_lines(pieces: tuple[bytes, ...]) -> int:
    """Return the number of lines, one without a line end at the end included."""
    last = next((piece for piece in reversed(pieces) if piece), b"\n")
    return sum(piece.count(b"\n") for piece in pieces) + (not last.endswith(b"\n"))


def is_utf8(data: bytes) -> bool:
    """Tell whether bytes are valid UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Blocks(Struct):
    """The blocks of one source, to be iterated once.

    Iterate for `Block`s; a carrier whose records are not lines takes `chunks()` instead. Either way the
    source's lines are counted.
    """

    stream: Iterable[bytes]  # decompressed bytes in pieces of any size, from the beginning
    source: Source
    head: Head = field(default_factory=lambda: Head.of(b""))
    block_bytes: int = BLOCK_BYTES
    line_bytes: int = LINE_BYTES
    _line: int = 1

    def start_at(self, line: int) -> None:
        """Give the next line this number; for bytes that go on where others ended."""
        self._line = line

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed bytes as they come, cut anywhere."""
        last = b"\n"
        for chunk in self.stream:
            if chunk:
                self.source.lines += chunk.count(b"\n")
                last = chunk[-1:]
                yield chunk
        self.source.lines += last != b"\n"

    def __iter__(self) -> Iterator[Block]:
        """Yield blocks of whole lines of about `block_bytes`."""
        for pieces, long in ahead(self._cuts()):
            yield from self._block(pieces, long)

    def thinned(self, thinner: Thinner) -> Iterator[tuple[Block, Thinned | None]]:
        """Yield the blocks, and what is left of each once lines that say no more than others are left out."""

        def thin(given: tuple[tuple[bytes, ...], tuple[int, ...]]) -> Thinned | None:
            pieces, long = given
            return None if long else thinner.thinned(pieces)

        for (pieces, long), found in side_by_side(ahead(self._cuts()), thin, lambda: thinner.may_thin):
            for block in self._block(pieces, long):
                if found is not None:
                    block.counted(found.height)
                yield block, found

    def _cuts(self) -> Iterator[tuple[tuple[bytes, ...], tuple[int, ...]]]:
        """Yield the bytes of blocks in pieces, and which of their lines were cut."""
        held: list[bytes] = []
        size, enough = 0, min(FIRST_BYTES, self.block_bytes)
        skipping = cut_first = False
        for piece in self.stream:
            chunk = piece
            if skipping:
                end = chunk.find(b"\n")
                if end < 0:
                    continue
                chunk = chunk[end:]
                skipping = False
            held.append(chunk)
            size += len(chunk)
            if size < enough:
                continue
            enough = self.block_bytes
            rest = _after_last_line(held)
            if held:
                yield cut(held, self.line_bytes, cut_first=cut_first)
                cut_first = False
            if len(rest) > self.line_bytes:
                rest = cut_text(rest, self.line_bytes)
                skipping = cut_first = True
            held, size = [rest], len(rest)
        if size:
            yield cut(held, self.line_bytes, cut_first=cut_first)

    def _block(self, pieces: tuple[bytes, ...], long: tuple[int, ...]) -> Iterator[Block]:
        block = Block(pieces, self._line, long)
        yield block
        self._line += block.height
        self.source.lines += block.height


def cut(
    pieces: Sequence[bytes], line_bytes: int, *, cut_first: bool = False
) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
    """Cut lines that are too long; return the pieces and which lines were cut; `cut_first`: the first was."""
    long: tuple[int, ...] = ()
    if not _are_short(pieces, line_bytes):
        led, long = _cut_long_lines(_led(tuple(pieces)), line_bytes)
        pieces = (led[1:],)
    return tuple(pieces), (0, *long) if cut_first and 0 not in long else long


def _are_short(pieces: Sequence[bytes], line_bytes: int) -> bool:
    """Tell whether surely no line is longer: none that lies in one piece is, where no piece is."""
    open_ = 0  # bytes since the last line end
    for piece in pieces:
        end = piece.find(b"\n")
        if len(piece) > line_bytes or open_ + (end if end >= 0 else len(piece)) > line_bytes:
            return False
        open_ = len(piece) - 1 - piece.rfind(b"\n") if end >= 0 else open_ + len(piece)
    return True


def _after_last_line(pieces: list[bytes]) -> bytes:
    """Take what follows the last line end off the end of the pieces."""
    rest: list[bytes] = []
    while pieces:
        last = pieces.pop()
        end = last.rfind(b"\n") + 1
        rest.append(last[end:])
        if end:
            pieces.append(last[:end])
            break
    return b"".join(reversed(rest))


def cut_text(data: bytes, length: int) -> bytes:
    """Return the first bytes, at most `length`, not ending inside a UTF-8 character."""
    if len(data) <= length:
        return data
    end = length
    while end > length - 4 and end > 0 and data[end] & 0xC0 == 0x80:  # noqa: PLR2004 - 10xxxxxx goes on
        end -= 1
    return data[:end]


def _cut_long_lines(led: bytes, length: int) -> tuple[bytes, tuple[int, ...]]:
    """Cut lines longer than `length`. Each covers a multiple of it, so only those places are looked at."""
    spans: list[tuple[int, int]] = []
    for position in range(1, len(led), length):
        if spans and position < spans[-1][1]:
            continue
        start = led.rfind(b"\n", 0, position) + 1
        end = led.find(b"\n", position)
        end = len(led) if end < 0 else end
        if end - start > length:
            spans.append((start, end))
    if not spans:
        return led, ()
    pieces: list[bytes] = []
    long: list[int] = []
    done, lines = 0, -1
    for start, end in spans:
        between = led[done:start]
        lines += between.count(b"\n")
        long.append(lines)
        pieces += [between, cut_text(led[start:end], length)]
        done = end
    return b"".join([*pieces, led[done:]]), tuple(long)
