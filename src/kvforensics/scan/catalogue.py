"""A catalogue: a folder of Parquet datasets and a manifest, safe against every interruption.

Nothing is changed in place. Content is written under the name of what it is, the manifest entry last, the
tables file by file. So a catalogue opens after a kill at any moment, and what is missing is read again.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kvforensics.errors import UsageError
from kvforensics.scan import store
from kvforensics.scan.atomic import CatalogueWriteError, sweep, write_bytes
from kvforensics.scan.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kvforensics.scan.manifest import Entry

SCHEMA = "kvforensics.catalogue/1"
TABLES = ("launches", "changes", "findings", "sources")


class Catalogue:
    """An open catalogue. Raises UsageError for a folder that is something else, or cannot be written."""

    def __init__(self, folder: str | Path, *, create: bool = False) -> None:
        self.folder = Path(folder)
        marker = self.folder / "catalogue.json"
        try:
            if marker.exists():
                self._check(marker)
            elif create:
                self._create(marker)
            else:
                raise UsageError(
                    "there is no catalogue", where=str(folder), hint="make one with kvforensics scan"
                )
        except CatalogueWriteError:
            raise
        except OSError as error:
            raise UsageError(f"cannot use the catalogue: {error.strerror}", where=str(folder)) from error

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest as it was when it was first asked for."""
        return Manifest(self.folder / "manifest")

    @contextmanager
    def lock(
        self, *, shared: bool = False, wait: bool = True, told: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """Hold the catalogue alone, or with other shards; `told` is called before waiting for another scan.

        Raises UsageError when another scan holds it and `wait` is false.
        """
        try:
            handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise CatalogueWriteError.of(error, str(self.folder)) from error
        mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            try:
                fcntl.flock(handle, mode | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise CatalogueWriteError.of(error, str(self.folder)) from error
                if not wait:
                    raise UsageError(
                        "another scan is working on this catalogue",
                        where=str(self.folder),
                        hint="wait for it to end, or leave out --no-wait",
                    ) from error
                if told is not None:
                    told()
                fcntl.flock(handle, mode)
            self.__dict__.pop("manifest", None)  # the other scan has written to it
            yield
        finally:
            os.close(handle)

    def table(self, name: str) -> Path:
        """Return the folder of a compacted table, or of a dataset."""
        return self.folder / name

    def has(self, entry: Entry) -> bool:
        """Tell whether what an entry says is there whole."""
        if entry.piece is None or not (self.folder / "marks" / f"{entry.key}.parquet").exists():
            return False
        return store.is_whole(self.folder, entry.piece, entry.months)

    def collect(self) -> int:
        """Remove content that no entry names, and what interrupted writers left; return how many files."""
        entries = list(self.manifest.done())
        pieces, keys = {entry.piece for entry in entries}, {entry.key for entry in entries}
        months = {(entry.piece, month) for entry in entries for month in entry.months}
        dead = [
            *(file for file in self._files("events/*.parquet") if file.stem not in pieces),
            *(file for file in self._files("pieces/*.parquet") if file.stem not in pieces),
            *(file for file in self._files("marks/*.parquet") if file.stem not in keys),
            *(
                file
                for file in self._files("runtime/month=*/*.parquet")
                if (file.stem, file.parent.name.removeprefix("month=")) not in months
            ),
        ]
        for file in dead:
            file.unlink(missing_ok=True)
        for folder in self._files("runtime/month=*"):
            if not any(folder.iterdir()):
                folder.rmdir()
        return len(dead) + sweep(self.folder)

    def _files(self, pattern: str) -> list[Path]:
        return list(self.folder.glob(pattern))

    def _create(self, marker: Path) -> None:
        """Make a catalogue in a new or an empty folder; what a killed scan left there begins with a dot."""
        if self.folder.exists() and any(not each.name.startswith(".") for each in self.folder.iterdir()):
            raise UsageError(
                "the folder holds something else than a catalogue",
                where=str(self.folder),
                hint="name an empty or a new folder with --catalog",
            )
        write_bytes(json.dumps({"schema": SCHEMA}).encode() + b"\n", marker)

    def _check(self, marker: Path) -> None:
        try:
            schema = json.loads(marker.read_text("utf-8")).get("schema")
        except ValueError:
            schema = None
        if schema != SCHEMA:
            raise UsageError(
                f"the catalogue is of another kind ({schema})",
                where=str(self.folder),
                hint="scan into a new folder",
            )
