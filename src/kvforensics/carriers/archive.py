"""Archives: the files in a tar (compressed as well) or zip are inputs of their own, `archive.tar!member`.

Told by content, not by name. A tar is read as a stream, never unpacked to disk. Who reads its members in the
order in which they are listed passes through it once: the stream waits behind the member read last.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING, TypeAlias

from kvforensics.carriers.decompress import BOMB_BYTES, BOMB_RATIO, Loss, decompressed
from kvforensics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHUNK_BYTES = 1 << 20
MOST_MEMBERS = 100_000
SEPARATOR = "!"
_TAR_BLOCK = 512
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_TarFiles: TypeAlias = "Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]"
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError)

_waiting: dict[str, _TarFiles] = {}  # the tar that was read last, behind the member that was read last


def members(path: str) -> list[str] | None:
    """Return `path!member` of all files in an archive, None when the file is no archive.

    Of a damaged archive, those that stand before the damage.
    """
    kind = _kind(path)
    if kind == "zip":
        try:
            with zipfile.ZipFile(path) as archive:
                names = [info.filename for info in archive.infolist()[:MOST_MEMBERS] if not info.is_dir()]
        except (OSError, *_BROKEN):
            return []
    elif kind == "tar":
        names = list(_tar_names(path))
    else:
        return None
    return [f"{path}{SEPARATOR}{name}" for name in dict.fromkeys(names)]


def is_archive(path: str) -> bool:
    """Tell whether a file is a tar or zip file."""
    return _kind(path) is not None


def split_member(path: str) -> tuple[str, str] | None:
    """Return the archive and the member that `archive!member` names, None where no such file exists."""
    if SEPARATOR not in path or os.path.exists(path):  # noqa: PTH110 - as it was typed
        return None
    at = path.find(SEPARATOR)
    while at > 0:
        if _is_file(path[:at]) and _kind(path[:at]) is not None:
            return path[:at], path[at + 1 :]
        at = path.find(SEPARATOR, at + 1)
    return None


def member_chunks(archive: str, member: str) -> tuple[Iterator[bytes], int]:
    """Return the bytes of a member in pieces, and its size.

    Raises InputError when there is no such member or it is encrypted; what breaks later is an OSError.
    """
    if _kind(archive) == "zip":
        return _zip_chunks(archive, member)
    return _tar_chunks(archive, member)


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False


def _kind(path: str) -> str | None:
    """Tell what a file is by its first block, decompressed where it is compressed."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            head = file.read(_TAR_BLOCK)
            if head.startswith(_ZIP_MAGICS):
                return "zip"
            file.seek(0)
            head = b""
            for chunk in decompressed(_file_chunks(file, 1 << 16), Loss()):
                head += chunk
                if len(head) >= _TAR_BLOCK:
                    break
    except OSError:
        return None
    return "tar" if _is_tar_header(head[:_TAR_BLOCK]) else None


def _is_tar_header(block: bytes) -> bool:
    if len(block) < _TAR_BLOCK:
        return False
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _file_chunks(file: io.BufferedReader, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    while chunk := file.read(size):
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


def _tar_files(archive: str) -> _TarFiles:
    """Yield the regular files of a tar in their order; each is read before the next is asked for."""
    with open(archive, "rb") as file:  # noqa: PTH123
        stream = _Stream(decompressed(_file_chunks(file), Loss()))
        with tarfile.open(fileobj=stream, mode="r|", errorlevel=0) as tar:
            for count, info in enumerate(tar):
                tar.members = []  # type: ignore[attr-defined]  # or it keeps them all
                if count >= MOST_MEMBERS:
                    return
                if info.isreg():
                    yield tar, info


def _tar_names(archive: str) -> Iterator[str]:
    try:
        for _, info in _tar_files(archive):
            yield info.name
    except (OSError, *_BROKEN):
        return


def _tar_chunks(archive: str, member: str) -> tuple[Iterator[bytes], int]:
    try:
        for files in (_waiting.pop(archive, None), _tar_files(archive)):
            for tar, info in files or ():
                if info.name == member:
                    return _copied(archive, files, tar, info), info.size
    except (OSError, *_BROKEN) as error:
        raise InputError(f"the archive is damaged: {error}", where=archive) from error
    raise InputError("there is no such member", where=f"{archive}{SEPARATOR}{member}")


def _copied(
    archive: str, files: _TarFiles | None, tar: tarfile.TarFile, info: tarfile.TarInfo
) -> Iterator[bytes]:
    assert files is not None
    try:
        yield from _sparse(tar, info) if info.issparse() else _contiguous(tar, info)
    except _BROKEN as error:
        raise OSError(str(error)) from error
    _waiting.clear()
    _waiting[archive] = files


def _contiguous(tar: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[bytes]:
    """Read a member past `extractfile`, which gives nothing of the last piece of a tar that is cut off."""
    assert tar.fileobj is not None
    tar.fileobj.seek(info.offset_data)
    left = info.size
    while left:
        wanted = min(CHUNK_BYTES, left)
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


def _zip_chunks(archive: str, member: str) -> tuple[Iterator[bytes], int]:
    try:
        opened = zipfile.ZipFile(archive)
        info = opened.getinfo(member)
    except KeyError as error:
        raise InputError("there is no such member", where=f"{archive}{SEPARATOR}{member}") from error
    except (OSError, *_BROKEN) as error:
        raise InputError(f"the archive is damaged: {error}", where=archive) from error
    if info.flag_bits & 1:
        opened.close()
        raise InputError("is encrypted", where=f"{archive}{SEPARATOR}{member}")
    return _unzipped(opened, info), info.file_size


def _unzipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    given = 0
    try:
        with archive, archive.open(info) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk
                given += len(chunk)
                if given > BOMB_BYTES and given > BOMB_RATIO * max(info.compress_size, 1):
                    raise OSError("decompression bomb")
    except _BROKEN as error:
        raise OSError(str(error)) from error
