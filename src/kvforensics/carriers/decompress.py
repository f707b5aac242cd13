"""Decompress a byte stream by its magic, push-style: every decodable byte of a damaged file is used."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

OUTPUT_BYTES = 1 << 20  # of one step, so that a bomb never fills memory
INPUT_BYTES = 4096  # of one step: a decompressor that meets an error drops what the step gave
BOMB_BYTES = 256 << 20  # output from which the ratio is looked at
BOMB_RATIO = 500  # logs reach about 100
WINDOW_LOG = 28  # 256 MiB: `zstd --long` takes 128, `xz -9` 65; a header may ask for any amount
LAYERS = 3  # a .gz inside a .gz is read; deeper nesting is left as it is
HEAD_BYTES = 6


class Decompressor(Protocol):
    """What bz2, lzma and zstd share."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What was given after the member's end."""
        ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return up to `max_length` bytes; input that is left is kept for the next call."""
        ...


class _Gzip:
    """zlib's decompressor in the form of the others: it keeps the input that it did not take."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _zstd() -> Decompressor:
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})


def _xz() -> Decompressor:
    return lzma.LZMADecompressor(memlimit=1 << WINDOW_LOG)


_MAGICS: tuple[tuple[bytes, Callable[[], Decompressor]], ...] = (
    (b"\x1f\x8b", _Gzip),
    (b"\x28\xb5\x2f\xfd", _zstd),
    *((bytes((0x50 + number, 0x2A, 0x4D, 0x18)), _zstd) for number in range(16)),  # skippable frames first
    (b"\xfd7zXZ\x00", _xz),
    (b"BZh", bz2.BZ2Decompressor),
)
_ERRORS = (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError, zstd.ZstdError)


class Loss(Struct):
    """Set when a stream ended before its end: `truncated`, `corrupt` or `decompression bomb`."""

    reason: str | None = None


def is_compressed(head: bytes) -> bool:
    """Tell whether bytes begin as a compressed stream does; six of them are enough."""
    return any(head.startswith(magic) for magic, _ in _MAGICS)


def decompressed(stream: Iterable[bytes], loss: Loss) -> Iterator[bytes]:
    """Yield the plain bytes of a stream that may be compressed, several members and layers deep.

    A stream that is cut off or broken yields all that could be decoded, and `loss.reason` says so.
    """
    for _ in range(LAYERS):
        head, stream = _peek(stream)
        make = next((make for magic, make in _MAGICS if head.startswith(magic)), None)
        if make is None:
            break
        stream = _Members(make, loss).plain(stream)
    yield from stream


def _peek(stream: Iterable[bytes]) -> tuple[bytes, Iterable[bytes]]:
    source = iter(stream)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    return head[:HEAD_BYTES], _chain(head, source)


def _chain(head: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from rest


def _sliced(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Cut a stream at multiples of `INPUT_BYTES`: what is lost at an error must not depend on the reads."""
    rest = b""
    for chunk in stream:
        data = rest + chunk
        whole = len(data) - len(data) % INPUT_BYTES
        for at in range(0, whole, INPUT_BYTES):
            yield data[at : at + INPUT_BYTES]
        rest = data[whole:]
    if rest:
        yield rest


class _Members:
    """The members of one compressed stream, one after another."""

    def __init__(self, make: Callable[[], Decompressor], loss: Loss) -> None:
        self._make = make
        self._loss = loss
        self._member: Decompressor | None = None
        self._taken = self._given = 0

    def plain(self, stream: Iterable[bytes]) -> Iterator[bytes]:
        """Yield what the members hold, in pieces of at most `OUTPUT_BYTES`."""
        for chunk in _sliced(stream):
            self._taken += len(chunk)
            yield from self._feed(chunk)
            if self._loss.reason is not None:
                return
        if self._member is not None:
            self._loss.reason = "truncated"

    def _feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._member is None:
                data = data.lstrip(b"\0")  # padding between members
                if not data:
                    return
                self._member = self._make()
            try:
                out = self._member.decompress(data, OUTPUT_BYTES)
            except _ERRORS:
                self._loss.reason = "corrupt"
                return
            if out:
                yield out
            self._given += len(out)
            if self._given > BOMB_BYTES and self._given > BOMB_RATIO * self._taken:
                self._loss.reason = "decompression bomb"
                return
            data = b""
            if self._member.eof:
                data = self._member.unused_data
                self._member = None
            elif len(out) < OUTPUT_BYTES:
                return
