"""A catalogue: a folder of Parquet datasets and a manifest, safe against every interruption.

Nothing is changed in place. Content is written under the name of what it is, the manifest entry last, the
compacted tables by renaming a finished folder. So a catalogue opens after a kill at any moment, and what is
missing is read again.
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
from kvforensics.scan.atomic import sweep, write_json
from kvforensics.scan.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

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
                if self.folder.exists() and any(self.folder.iterdir()):
                    raise UsageError(
                        "the folder holds something else than a catalogue",
                        where=str(folder),
                        hint="name an empty or a new folder with --catalog",
                    )
                self.folder.mkdir(parents=True, exist_ok=True)
                write_json({"schema": SCHEMA}, marker)
            else:
                raise UsageError(
                    "there is no catalogue", where=str(folder), hint="make one with kvforensics scan"
                )
        except OSError as error:
            raise UsageError(f"cannot use the catalogue: {error.strerror}", where=str(folder)) from error

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest as it was when it was first asked for."""
        return Manifest(self.folder / "manifest")

    @contextmanager
    def lock(self, *, shared: bool = False, wait: bool = True) -> Iterator[None]:
        """Hold the catalogue alone, or with other shards.

        Raises UsageError when another scan holds it and `wait` is false.
        """
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
            try:
                fcntl.flock(handle, mode)
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise
                raise UsageError(
                    "another scan is working on this catalogue",
                    where=str(self.folder),
                    hint="wait for it to end, or leave out --no-wait",
                ) from error
            yield
        finally:
            os.close(handle)

    def table(self, name: str) -> Path:
        """Return the folder of a compacted table, or of a dataset."""
        return self.folder / name

    def has(self, key: str) -> bool:
        """Tell whether the content with this key is there whole."""
        return all((self.folder / dataset / f"{key}.parquet").exists() for dataset in store.DATASETS)

    def collect(self) -> int:
        """Remove content that no entry names, and what interrupted writers left; return how many files."""
        live = {entry.key for entry in self.manifest.done()}
        dead = [
            file
            for dataset in store.DATASETS
            for file in (self.folder / dataset).glob("*.parquet")
            if file.stem not in live
        ]
        for file in dead:
            file.unlink(missing_ok=True)
        return len(dead) + sweep(self.folder)

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
