"""Archives: the files in a tar (compressed as well) or zip are inputs of their own, `archive.tar!member`.

Told by content, not by name. An archive in an archive, `outer.tar!inner.zip!member`, or on standard input,
`-!member`, is copied to a temporary file first (`spool`); nothing else is written to disk.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from itertools import chain
from typing import IO, TYPE_CHECKING

from kvforensics.carriers import archive_tar, archive_zip, spool
from kvforensics.carriers.archive_tar import HEAD_BYTES, MOST_MEMBERS
from kvforensics.carriers.decompress import Loss, decompressed, is_compressed
from kvforensics.carriers.journal_files import MAGIC, journal_chunks
from kvforensics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 3  # archives within each other
SEPARATOR = "!"
_PACKED_BYTES = 1 << 20  # compressed: bzip2 gives nothing before its first block is whole
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError)


def members(path: str, depth: int = 1) -> list[str] | None:
    """Return `path!member` of all files in an archive, None when the file is no archive.

    Of a damaged archive, those that stand before the damage. An archive in it gives its own members; so does
    one on standard input, `-`.
    """
    if path == spool.STDIN:
        _take_stdin()
    kind = _kind(path)
    if kind is None:
        return None
    found: dict[str, None] = {}
    try:
        for name, chunks in archive_zip.listed(path) if kind == "zip" else archive_tar.listed(path):
            if len(found) >= MOST_MEMBERS:
                break
            member = f"{path}{SEPARATOR}{name}"
            inside = members(member, depth + 1) if depth < DEEPEST and _take(member, chunks()) else None
            found.update(dict.fromkeys(inside or [member]))
    except (OSError, *_BROKEN):
        pass
    return list(found)


def is_archive(path: str) -> bool:
    """Tell whether a file is a tar or zip file."""
    return _kind(path) is not None


def split_member(path: str) -> tuple[str, str] | None:
    """Return the archive and the member that `archive!member` names, None where no such file exists."""
    if SEPARATOR not in path or os.path.exists(path):  # noqa: PTH110 - as it was typed
        return None
    files = (name for name in _prefixes(path) if _is_file(spool.file_of(name)))
    archive = next((name for name in files if _kind(name) is not None), None)
    if archive is None:
        return None
    member = path[len(archive) + 1 :]
    for _ in range(1, DEEPEST):
        inner = next((name for name in _prefixes(member) if _is_inner(archive, name)), None)
        if inner is None:
            break
        archive, member = f"{archive}{SEPARATOR}{inner}", member[len(inner) + 1 :]
    return archive, member


def holder(path: str) -> str:
    """Return the file that an input is a member of, or that it is itself. Nothing is opened."""
    if SEPARATOR not in path or os.path.exists(path):  # noqa: PTH110 - as it was typed
        return path
    return next(filter(_is_file, _prefixes(path)), path)


def contents(path: str, archive: str, member: str) -> tuple[Iterator[bytes], int | None]:
    """Return the bytes of a member as `member_chunks` does, those of a journal file through journalctl.

    Raises InputError for an archive as well: it is one that is empty, broken, or too deep inside of others.
    """
    chunks, size = member_chunks(archive, member)
    try:
        head = next(chunks, b"")
    except OSError as error:
        raise InputError(error.strerror or str(error), where=path) from error
    chunks = chain((head,), chunks)
    if head.startswith(MAGIC):
        spool.keep(path, _readable(chunks))
        return journal_chunks(spool.file_of(path), path), None
    if _kind_of(head) is not None:
        raise InputError("is an archive that is empty, broken, too large or too deep in others", where=path)
    return chunks, size


def member_chunks(archive: str, member: str) -> tuple[Iterator[bytes], int]:
    """Return the bytes of a member in pieces, and its size.

    Raises InputError when there is no such member or it is encrypted; what breaks later is an OSError.
    """
    if _kind(archive) == "zip":
        return archive_zip.chunks(archive, member)
    return archive_tar.chunks(archive, member)


def _prefixes(path: str) -> Iterator[str]:
    at = path.find(SEPARATOR)
    while at > 0:
        yield path[:at]
        at = path.find(SEPARATOR, at + 1)


def _is_inner(archive: str, member: str) -> bool:
    """Tell whether a member is an archive, and copy it if it has not been."""
    name = f"{archive}{SEPARATOR}{member}"
    if spool.is_kept(name):
        return True
    try:
        chunks, _ = member_chunks(archive, member)
    except InputError:
        return False
    return _take(name, chunks)


def _take_stdin() -> None:
    try:
        head = spool.stdin_head(HEAD_BYTES)
        if is_compressed(head):
            head = spool.stdin_head(_PACKED_BYTES)
    except OSError:
        return  # told when it is read
    if not spool.is_kept(spool.STDIN) and _kind_of(head) is not None:
        spool.keep(spool.STDIN, spool.stdin_chunks())


def _take(name: str, chunks: Iterator[bytes]) -> bool:
    """Copy what is an archive, and tell whether that was done."""
    head, wanted = b"", HEAD_BYTES
    chunks = _readable(chunks)
    for chunk in chunks:
        head += chunk
        wanted = _PACKED_BYTES if is_compressed(head) else HEAD_BYTES
        if len(head) >= wanted:
            break
    if _kind_of(head) is None:
        return False
    try:
        spool.keep(name, chain((head,), chunks))
    except InputError:  # too large: told when it is read
        return False
    return True


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False


def _kind(path: str) -> str | None:
    """Tell what a file is by its first block, decompressed where it is compressed."""
    try:
        with open(spool.file_of(path), "rb") as file:  # noqa: PTH123
            return _kind_of(file.read(HEAD_BYTES), file)
    except (OSError, ValueError):
        return None


def _kind_of(head: bytes, rest: IO[bytes] | None = None) -> str | None:
    if head.startswith(archive_zip.MAGICS):
        return "zip"
    block = b""
    for chunk in decompressed(chain((head,), archive_tar.file_chunks(rest, 1 << 16) if rest else ()), Loss()):
        block += chunk
        if len(block) >= HEAD_BYTES:
            break
    return "tar" if archive_tar.is_header(block[:HEAD_BYTES]) else None


def _readable(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what can be read: of a damaged archive, what stands before the damage is used."""
    try:
        yield from chunks
    except (OSError, *_BROKEN):
        return
