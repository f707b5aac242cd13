"""The manifest: what became of each input. An input without an entry was never read.

An entry is committed as a small JSON file of its own, so that many processes can commit at once, and is the
last thing written of its input. `pack` puts all of them into one file of JSON lines (10^5 small files are
slow to open); an entry beside it is newer than the one in it.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from kvforensics.scan.atomic import write_bytes
from kvforensics.scan.fingerprint import Fingerprint  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DONE, FAILED, GONE = "done", "failed", "gone"
PACKED = "packed.jsonl"
Span = tuple[
    int | None, int | None, str, int, int
]  # hashes of host and container, clock, first and last second


class Entry(Struct, frozen=True):
    """What became of one input."""

    path: str  # as it was named when it was last seen
    status: str  # done | failed | gone (a word to `pack` that the input was forgotten)
    key: str | None = None  # of its content and the way in which it was read; None where that failed
    piece: str | None = None  # name of the files that hold what it gave, see store.py
    size: int = 0
    stamp: str | None = None  # modification time or entity tag, to skip what is unchanged without opening it
    print: Fingerprint | None = None
    reading: str = ""  # the options with which it was read, see reading.py
    error: str | None = None
    source: dict[str, Any] = field(default_factory=dict)  # what was counted: the columns of records.Source
    counts: dict[str, int] = field(default_factory=dict)  # records, understood, unknown
    months: tuple[str, ...] = ()  # of its scheduler samples
    hosts: tuple[str | None, ...] = ()  # that wrote something which matters
    spans: tuple[Span, ...] = ()  # from when to when it has records, see marks.py


class Manifest:
    """The entries of a catalogue, by path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.entries: dict[str, Entry] = {}
        # who packs writes the one file before it removes the others: so these are read first
        loose = [_read(file) for file in sorted(folder.glob("*.json"))]
        for entry in _packed(folder / PACKED):
            self.entries[entry.path] = entry
        for newer in loose:
            if newer is not None:
                self._take(newer)

    def put(self, entry: Entry) -> None:
        """Commit an entry: after this the input counts as seen."""
        write_bytes(_encoded(entry), self._file(entry.path))
        self._take(entry)

    def drop(self, path: str) -> None:
        """Forget an input; its files stay until `Catalogue.collect`."""
        self.put(Entry(path, GONE))

    def pack(self) -> None:
        """Put all entries into one file; the same entries give the same bytes."""
        lines = [_encoded(entry) for _, entry in sorted(self.entries.items())]
        write_bytes(b"".join(line + b"\n" for line in lines), self._folder / PACKED)
        for file in self._folder.glob("*.json"):
            file.unlink(missing_ok=True)

    def done(self) -> Iterator[Entry]:
        """Give the entries whose content is in the catalogue, by path."""
        return (entry for _, entry in sorted(self.entries.items()) if entry.status == DONE)

    def failed(self) -> Iterator[Entry]:
        """Give the entries of inputs that could not be read, by path."""
        return (entry for _, entry in sorted(self.entries.items()) if entry.status == FAILED)

    def _take(self, entry: Entry) -> None:
        if entry.status == GONE:
            self.entries.pop(entry.path, None)
        else:
            self.entries[entry.path] = entry

    def _file(self, path: str) -> Path:
        name = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        return self._folder / f"{name}.json"


def _packed(file: Path) -> Iterator[Entry]:
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        entry = _decoded(line)
        if entry is not None:
            yield entry


def _read(file: Path) -> Entry | None:
    try:
        return _decoded(file.read_bytes())
    except FileNotFoundError:  # another process has packed it
        return None


def _encoded(entry: Entry) -> bytes:
    try:
        return msgspec.json.encode(entry)
    except UnicodeEncodeError:  # a path that is not UTF-8
        return json.dumps(msgspec.to_builtins(entry), ensure_ascii=True).encode()


def _decoded(line: bytes) -> Entry | None:
    try:
        return msgspec.json.decode(line, type=Entry)
    except msgspec.MsgspecError:
        pass
    try:
        return msgspec.convert(json.loads(line), Entry)
    except (ValueError, msgspec.MsgspecError):
        return None
