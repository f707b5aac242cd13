"""The raw bytes of an input: a file, standard input, a FIFO. Text in UTF-16 becomes UTF-8, a BOM goes."""

from __future__ import annotations

import codecs
import os
import stat
from typing import TYPE_CHECKING

from kvforensics.carriers import spool
from kvforensics.carriers.archive import contents, is_archive, split_member
from kvforensics.carriers.journal_files import MAGIC, is_journal, journal_chunks
from kvforensics.carriers.remote import is_remote, open_remote
from kvforensics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kvforensics.carriers.journal_files import Span

CHUNK_BYTES = 1 << 20
_BOMS = (
    (codecs.BOM_UTF8, None),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def raw_chunks(path: str, asked: Span = (None, None)) -> tuple[Iterator[bytes], int | None]:
    """Open an input and return its bytes in pieces, and its size where it has one.

    `-` is standard input, a URL an object in a store, `journal://UNIT` this machine's journal, and
    `archive!member` a file in an archive. Of a journal, what is not of the time `asked` for may be left out.
    Raises InputError when it cannot be opened or is no file.
    """
    if path == spool.STDIN:
        return _standard_input(), None
    if is_remote(path):
        return open_remote(path)
    if is_journal(path):
        return journal_chunks(path, asked=asked), None
    found = split_member(path)
    if found is not None:
        return contents(path, *found)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise InputError(_reason(error), where=path) from error
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        os.close(descriptor)
        raise InputError("is a directory", where=path)
    if stat.S_ISREG(status.st_mode) and is_archive(path):
        os.close(descriptor)
        raise InputError("is an archive without a readable file in it", where=path)
    size = status.st_size if stat.S_ISREG(status.st_mode) else None
    return _descriptor_pieces(descriptor), size


def _standard_input() -> Iterator[bytes]:
    if spool.stdin_head(len(MAGIC)).startswith(MAGIC):
        spool.keep(spool.STDIN, spool.stdin_chunks())
        return journal_chunks(spool.file_of(spool.STDIN), spool.STDIN)
    if is_archive(spool.STDIN):
        raise InputError("is an archive without a readable file in it", where=spool.STDIN)
    return spool.stdin_chunks()


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _descriptor_pieces(descriptor: int) -> Iterator[bytes]:
    try:
        yield from _pieces(lambda size: os.read(descriptor, size))
    finally:
        os.close(descriptor)


def _pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while chunk := read(CHUNK_BYTES):
        yield chunk


def utf8(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Pass bytes through as UTF-8: a byte order mark is dropped, UTF-16 and UTF-32 with one are recoded."""
    source = iter(stream)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= 4:  # noqa: PLR2004 - the longest byte order mark
            break
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            head = head[len(bom) :]
            if encoding is not None:
                yield from _recoded(head, source, encoding)
                return
            break
    if head:
        yield head
    yield from source


def _recoded(head: bytes, rest: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    yield decoder.decode(head).encode(errors="replace")
    for chunk in rest:
        yield decoder.decode(chunk).encode(errors="replace")
    yield decoder.decode(b"", final=True).encode(errors="replace")
