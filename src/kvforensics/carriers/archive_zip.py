"""Zip files: members by name, none of them unpacked to disk."""

from __future__ import annotations

import zipfile
import zlib
from functools import partial
from typing import TYPE_CHECKING

from kvforensics.carriers import spool
from kvforensics.carriers.decompress import BOMB_BYTES, BOMB_RATIO
from kvforensics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 512
MOST_MEMBERS = 100_000
MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_BROKEN = (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError)


def listed(archive: str) -> Iterator[tuple[str, Callable[[], Iterator[bytes]]]]:
    """Yield the name of each file, and a way to read it before the next; raise what breaks."""
    with zipfile.ZipFile(spool.file_of(archive)) as opened:
        for info in opened.infolist()[:MOST_MEMBERS]:
            if not info.is_dir():
                yield info.filename, partial(_inflated, opened, info, HEAD_BYTES)


def chunks(archive: str, member: str) -> tuple[Iterator[bytes], int]:
    """Return the bytes of a member in pieces, and its size.

    Raises InputError when there is no such member or it is encrypted; what breaks later is an OSError.
    """
    try:
        opened = zipfile.ZipFile(spool.file_of(archive))
        info = opened.getinfo(member)
    except KeyError as error:
        raise InputError("there is no such member", where=f"{archive}!{member}") from error
    except (OSError, *_BROKEN) as error:
        raise InputError(f"the archive is damaged: {error}", where=archive) from error
    if info.flag_bits & 1:
        opened.close()
        raise InputError("is encrypted", where=f"{archive}!{member}")
    return _unzipped(opened, info), info.file_size


def _unzipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        with archive:
            yield from _inflated(archive, info)
    except _BROKEN as error:
        raise OSError(str(error)) from error


def _inflated(archive: zipfile.ZipFile, info: zipfile.ZipInfo, first: int = CHUNK_BYTES) -> Iterator[bytes]:
    given = 0
    with archive.open(info) as file:
        while chunk := file.read(CHUNK_BYTES if given else first):
            yield chunk
            given += len(chunk)
            if given > BOMB_BYTES and given > BOMB_RATIO * max(info.compress_size, 1):
                raise OSError("decompression bomb")
