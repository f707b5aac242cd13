"""The manifest: one small JSON file an input, written last; an input without one was never read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from kvforensics.scan.atomic import write_json
from kvforensics.scan.fingerprint import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DONE, FAILED = "done", "failed"


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of one input."""

    path: str  # as it was named when it was last seen
    status: str  # done | failed
    key: str | None = None  # of the files that hold its content; None where it failed
    size: int = 0
    stamp: str | None = None  # modification time or entity tag, to skip what is unchanged without opening it
    print: Fingerprint | None = None
    error: str | None = None
    rest: dict[str, Any] = field(default_factory=dict)  # see store.write


class Manifest:
    """The entries of a catalogue, by path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.entries: dict[str, Entry] = {}
        for file in sorted(folder.glob("*.json")):
            entry = _read(file)
            if entry is not None:
                self.entries[entry.path] = entry

    def put(self, entry: Entry) -> None:
        """Commit an entry: after this the input counts as seen."""
        write_json(asdict(entry), self._file(entry.path))
        self.entries[entry.path] = entry

    def drop(self, path: str) -> None:
        """Forget an input; its files stay until `Catalogue.collect`."""
        self._file(path).unlink(missing_ok=True)
        self.entries.pop(path, None)

    def done(self) -> Iterator[Entry]:
        """Give the entries whose content is in the catalogue, by path."""
        return (entry for _, entry in sorted(self.entries.items()) if entry.status == DONE)

    def failed(self) -> Iterator[Entry]:
        """Give the entries of inputs that could not be read, by path."""
        return (entry for _, entry in sorted(self.entries.items()) if entry.status == FAILED)

    def by_key(self) -> dict[str, Entry]:
        """Return the done entries by the key of their content."""
        return {entry.key: entry for entry in self.done() if entry.key is not None}

    def _file(self, path: str) -> Path:
        from hashlib import blake2b  # noqa: PLC0415

        name = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        return self._folder / f"{name}.json"


def _read(file: Path) -> Entry | None:
    try:
        row = json.loads(file.read_text("utf-8"))
        known = row.get("print")
        return Entry(**{**row, "print": Fingerprint(**known) if known else None})
    except (OSError, ValueError, TypeError):
        return None
