"""Decompress a byte stream by its magic, push-style: every decodable byte of a damaged file is used."""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

OUTPUT_BYTES = 1 << 20  # of one step, so that a bomb never fills memory
BOMB_BYTES = 256 << 20  # output from which the ratio is looked at
BOMB_RATIO = 500  # logs reach about 100
LAYERS = 3  # a .gz inside a .gz is read; deeper nesting is left as it is
HEAD_BYTES = 6


class Decompressor(Protocol):
    """What zlib, bz2, lzma and zstd share."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Zlib:
    """zlib's decompressor with the interface of the others: it hands back what it did not take."""

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
    limit = zstd.DecompressionParameter.window_log_max
    return zstd.ZstdDecompressor(options={limit: min(limit.bounds()[1], 31)})


_MAGICS: tuple[tuple[bytes, Callable[[], Decompressor]], ...] = (
    (b"\x1f\x8b", _Zlib),
    (b"\x28\xb5\x2f\xfd", _zstd),
    (b"\xfd7zXZ\x00", lzma.LZMADecompressor),
    (b"BZh", bz2.BZ2Decompressor),
)
_ERRORS = (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError, zstd.ZstdError)


@dataclass(slots=True)
class Loss:
    """Set when a stream ended before its end: what happened, in a few words."""

    reason: str | None = None


def decompressed(stream: Iterable[bytes], loss: Loss) -> Iterator[bytes]:
    """Yield the plain bytes of a stream that may be compressed, several members and layers deep.

    A stream that is cut off or broken yields all that could be decoded, and `loss.reason` says so.
    """
    for _ in range(LAYERS):
        head, stream = _peek(stream)
        make = next((make for magic, make in _MAGICS if head.startswith(magic)), None)
        if make is None:
            break
        stream = _members(stream, make, loss)
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


def _members(stream: Iterable[bytes], make: Callable[[], Decompressor], loss: Loss) -> Iterator[bytes]:
    member: Decompressor | None = None
    taken = given = 0
    for chunk in stream:
        data = chunk
        taken += len(data)
        while data or (member is not None and not member.eof):
            if member is None:
                data = data.lstrip(b"\0")  # padding between members
                if not data:
                    break
                member = make()
            try:
                out = member.decompress(data, OUTPUT_BYTES)
            except _ERRORS:
                loss.reason = loss.reason or "corrupt"
                return
            data = b""
            if out:
                given += len(out)
                yield out
            if given > BOMB_BYTES and given > BOMB_RATIO * taken:
                loss.reason = loss.reason or "decompression bomb"
                return
            if member.eof:
                data = member.unused_data
                member = None
            elif len(out) < OUTPUT_BYTES:
                break
    if member is not None:
        loss.reason = loss.reason or "truncated"
