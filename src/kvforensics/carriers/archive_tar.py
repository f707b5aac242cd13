"""Tar files, compressed or not, read as a stream: nothing is unpacked.

Who reads the members in the order in which they are listed passes through the file once: the stream waits
behind the member read last.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from functools import partial
from typing import IO, TYPE_CHECKING, TypeAlias

from kvforensics.carriers import spool
from kvforensics.carriers.decompress import Loss, decompressed
from kvforensics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 512
MOST_MEMBERS = 100_000
_MOST_WAITING = 4
_BROKEN = (tarfile.TarError, EOFError, zlib.error)
_Files: TypeAlias = "Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]"

_waiting: dict[str, _Files] = {}  # the files that were read last, behind the member that was read last


def is_header(block: bytes) -> bool:
    """Tell whether a block begins a tar file."""
    if len(block) < HEAD_BYTES:
        return False
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def file_chunks(file: IO[bytes], size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces."""
    while chunk := file.read(size):
        yield chunk


def listed(archive: str) -> Iterator[tuple[str, Callable[[], Iterator[bytes]]]]:
    """Yield the name of each regular file, and a way to read it before the next; raise what breaks."""
    for tar, info in _files(archive):
        yield info.name, partial(_contiguous, tar, info, HEAD_BYTES)


def chunks(archive: str, member: str) -> tuple[Iterator[bytes], int]:
    """Return the bytes of a member in pieces, and its size.

    Raises InputError when there is no such member; what breaks later is an OSError.
    """
    try:
        for files in (_waiting.pop(archive, None), _files(archive)):
            for tar, info in files or ():
                if info.name == member:
                    return _copied(archive, files, tar, info), info.size
    except (OSError, *_BROKEN) as error:
        raise InputError(f"the archive is damaged: {error}", where=archive) from error
    raise InputError("there is no such member", where=f"{archive}!{member}")


def _copied(
    archive: str, files: _Files | None, tar: tarfile.TarFile, info: tarfile.TarInfo
) -> Iterator[bytes]:
    assert files is not None
    try:
        yield from _sparse(tar, info) if info.issparse() else _contiguous(tar, info)
    except _BROKEN as error:
        raise OSError(str(error)) from error
    while len(_waiting) >= _MOST_WAITING:
        _waiting.pop(next(iter(_waiting)))
    _waiting[archive] = files


def _contiguous(tar: tarfile.TarFile, info: tarfile.TarInfo, first: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Read a member past `extractfile`, which gives nothing of the last piece of a tar that is cut off."""
    assert tar.fileobj is not None
    tar.fileobj.seek(info.offset_data)
    left = info.size
    while left:
        wanted = min(first if left == info.size else CHUNK_BYTES, left)
        chunk = tar.fileobj.read(wanted)
        if chunk:
            yield chunk
        if len(chunk) < wanted:
            raise OSError("unexpected end of data")
        left -= wanted


def _sparse(tar: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[bytes]:
    file = tar.extractfile(info)
    assert file is not None
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


class _Stream(io.RawIOBase):
    """Bytes that come in pieces, as the file that `tarfile` wants."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; tarfile asks again when it wants more."""
        if not self._held:
            self._held = next(self._chunks, b"")
        out, self._held = (self._held, b"") if size < 0 else (self._held[:size], self._held[size:])
        return out


def _files(archive: str) -> _Files:
    """Yield the regular files of a tar in their order; each is read before the next is asked for."""
    with open(spool.file_of(archive), "rb") as file:  # noqa: PTH123
        stream = _Stream(decompressed(file_chunks(file), Loss()))
        with tarfile.open(fileobj=stream, mode="r|", errorlevel=0) as tar:
            for count, info in enumerate(tar):
                tar.members = []  # type: ignore[attr-defined]  # or it keeps them all
                if count >= MOST_MEMBERS:
                    return
                if info.isreg():
                    yield tar, info
