"""What an input is, by its content: enough to know it again under another name, or grown."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from pathlib import Path

EDGE = 64 << 10  # bytes hashed at each end


class Fingerprint(Struct, frozen=True):
    """Size and hashes of the first and last bytes. Two inputs with equal ones are taken for the same."""

    size: int
    head: str
    tail: str

    def key(self, reading: str) -> str:
        """Return the name of what reading this content in a certain way (`reading`) gives."""
        return _hash(f"{self.size}:{self.head}:{self.tail}:{reading}".encode())


def fingerprint(path: Path) -> Fingerprint:
    """Return the fingerprint of a file. Raises OSError."""
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        head = stream.read(min(EDGE, size))
        stream.seek(max(0, size - EDGE))
        tail = stream.read(EDGE)
    return Fingerprint(size, _hash(head), _hash(tail))


def begins_with(path: Path, older: Fingerprint) -> bool:
    """Tell whether a file still begins with what was seen before: the older head, and the older end."""
    with path.open("rb") as stream:
        if stream.seek(0, 2) < older.size:
            return False
        stream.seek(0)
        if _hash(stream.read(min(EDGE, older.size))) != older.head:
            return False
        stream.seek(max(0, older.size - EDGE))
        return _hash(stream.read(min(EDGE, older.size))) == older.tail


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
