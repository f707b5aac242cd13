"""Archives and journal files that are no files of their own: inside of an archive, or on standard input.

They cannot be read as a stream (a zip's list stands at its end, journalctl wants a file) or are read twice.
So they are copied to a temporary file under the name by which they go: `outer.tar!inner.zip`, or `-`.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from kvforensics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_BYTES = 4 << 30  # of one
KEPT_BYTES = 2 << 30  # of all that can be copied again; the oldest go first
STDIN = "-"
_CHUNK_BYTES = 1 << 20


class _Spool(NamedTuple):
    file: str
    size: int


class _Begun(NamedTuple):
    stream: IO[bytes]  # whose first bytes were looked at
    head: bytes


_kept: dict[str, _Spool] = {}
_folder: list[tempfile.TemporaryDirectory[str]] = []
_begun: list[_Begun] = []
_numbers = iter(range(1 << 62))


def file_of(name: str) -> str:
    """Return the file that holds what goes by this name: a copy, or the file of that name itself."""
    spool = _kept.get(name)
    return name if spool is None else spool.file


def is_kept(name: str) -> bool:
    """Tell whether there is a copy of what goes by this name."""
    return name in _kept


def keep(name: str, chunks: Iterable[bytes]) -> None:
    """Copy bytes to a file. Raises InputError where they are too many or the disk is full."""
    forget(name)
    if not _folder:
        _folder.append(tempfile.TemporaryDirectory(prefix="kvforensics-"))
    file = Path(_folder[0].name) / str(next(_numbers))
    size = 0
    try:
        with file.open("wb") as out:
            for chunk in chunks:
                size += len(chunk)
                if size > MOST_BYTES:
                    break
                out.write(chunk)
    except OSError as error:
        file.unlink(missing_ok=True)
        raise InputError(error.strerror or str(error), where=name) from error
    if size > MOST_BYTES:
        file.unlink()
        raise InputError(
            f"holds more than {MOST_BYTES} bytes and is no file of its own",
            where=name,
            hint="unpack the archive around it, or save it to a file",
        )
    _kept[name] = _Spool(str(file), size)
    _make_room(name)


def forget(name: str) -> None:
    """Remove the copy of what goes by this name."""
    spool = _kept.pop(name, None)
    if spool is not None:
        Path(spool.file).unlink(missing_ok=True)


def _make_room(newest: str) -> None:
    again = [name for name in _kept if name not in (STDIN, newest)]
    while again and sum(_kept[name].size for name in (*again, newest)) > KEPT_BYTES:
        forget(again.pop(0))


def stdin_head(size: int) -> bytes:
    """Return the first bytes of standard input, which are given once more to who reads it."""
    stream = sys.stdin.buffer
    if not _begun or _begun[0].stream is not stream:
        forget(STDIN)
        _begun[:] = [_Begun(stream, b"")]
    head = _begun[0].head
    while len(head) < size and (chunk := _read(stream)):
        head += chunk
    _begun[:] = [_Begun(stream, head)]
    return head


def stdin_chunks() -> Iterator[bytes]:
    """Yield standard input from its first byte on."""
    stream = sys.stdin.buffer
    head = _begun[0].head if _begun and _begun[0].stream is stream else b""
    _begun[:] = [_Begun(stream, b"")]
    rest = iter(lambda: _read(stream), b"")
    return chain((head,), rest) if head else rest


def _read(stream: IO[bytes]) -> bytes:
    read = getattr(stream, "read1", stream.read)
    chunk: bytes = read(_CHUNK_BYTES)
    return chunk
