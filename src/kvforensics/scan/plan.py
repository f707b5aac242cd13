"""What there is to scan: inputs by path, with what tells cheaply whether one changed."""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatch
from glob import glob, has_magic
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.carriers import expand
from kvforensics.carriers.archive import holder
from kvforensics.carriers.journal_files import LIVE
from kvforensics.carriers.remote import is_remote, list_remote
from kvforensics.carriers.spool import STDIN
from kvforensics.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.scan.manifest import Manifest


class Item(Struct, frozen=True):
    """One input to scan. `stamp` is its modification time or entity tag; None where neither is known."""

    path: str
    size: int
    stamp: str | None
    error: str | None = None  # why it cannot be listed


def plan(
    inputs: Iterable[str], *, exclude: Iterable[str] = (), manifest: Manifest | None = None
) -> list[Item]:
    """Return the inputs that files, folders, patterns and URLs mean, in the order in which they are read.

    `exclude` holds patterns of paths, or of their names, to leave out. What the manifest has is not opened to
    see whether it is an archive. Raises UsageError where nothing is left; a URL that cannot be listed is an
    item with an error.
    """
    patterns = tuple(exclude)
    found: dict[str, Item] = {}
    for item in _items(inputs, _Known(manifest)):
        name = item.path.rpartition("/")[2]
        if not any(fnmatch(item.path, pattern) or fnmatch(name, pattern) for pattern in patterns):
            found.setdefault(item.path, item)
    if not found:
        raise UsageError("nothing to scan was found", hint="name files, folders, patterns or URLs")
    return sorted(found.values(), key=lambda item: walk_order(item.path))


def shard(items: Iterable[Item], number: int, count: int) -> list[Item]:
    """Return the items of shard `number` of `count` (counted from 1): the same for everybody."""
    if not 1 <= number <= count:
        raise UsageError(
            f"there is no shard {number} of {count}", hint="shards are counted from 1: --shard 1/4"
        )
    return [item for item in items if _bucket(item.path) % count == number - 1]


def walk_order(path: str) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts paths as a walk through folders meets them: files before folders."""
    *folders, name = path.split("/")
    return (*((1, folder) for folder in folders), (0, name))


def _bucket(path: str) -> int:
    return int.from_bytes(blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest())


class _Known:
    """What the manifest knows of files that are no archives: they need not be opened to be told from one."""

    def __init__(self, manifest: Manifest | None) -> None:
        self._entries = manifest.entries if manifest is not None else {}

    def inputs(self, file: str) -> list[str] | None:
        """Return the input that a file stands for, None where it is new or has changed."""
        entry = self._entries.get(file)
        if entry is None:
            return None
        try:
            status = Path(file).stat()
        except OSError:
            return None
        return [file] if (entry.size, entry.stamp) == (status.st_size, f"{status.st_mtime_ns}") else None


def _items(inputs: Iterable[str], known: _Known) -> Iterator[Item]:
    for named in inputs:
        if is_remote(named):
            try:
                yield from (Item(path, size, stamp) for path, size, stamp in list_remote(named))
            except InputError as error:
                yield Item(named, 0, None, error.message)
            continue
        if named == STDIN:
            item_of(named)  # says that it cannot be scanned
        paths = (
            sorted(glob(named, recursive=True))  # noqa: PTH207 - paths stay as they were typed
            if has_magic(named) and not os.path.lexists(named)
            else [named]
        )
        for path in expand(paths, known.inputs):
            yield item_of(path)


def item_of(path: str) -> Item:
    """Return a local input as it is now; with an error where it is not there."""
    if path == STDIN or path.startswith(LIVE):
        raise UsageError(
            "standard input and the live journal cannot be scanned",
            hint="use kvforensics timeline, or scan /var/log/journal",
        )
    try:
        status = Path(path).stat()
    except OSError:
        archive = holder(path)
        if archive == path:
            return Item(path, 0, None)
        try:
            status = Path(archive).stat()
        except OSError as error:
            return Item(path, 0, None, error.strerror or str(error))
    if stat.S_ISDIR(status.st_mode):
        return _journal_folder(path)
    if not stat.S_ISREG(status.st_mode):
        return Item(path, 0, None, "is no file; scan reads files, timeline reads pipes")
    return Item(path, status.st_size, f"{status.st_mtime_ns}")


def _journal_folder(path: str) -> Item:
    """Return a folder of journal files, which is one input; its own time does not change with theirs."""
    found = []
    for file in sorted(Path(path).iterdir()):
        try:
            status = file.stat()
        except OSError:
            continue
        found.append((file.name, status.st_size, status.st_mtime_ns))
    stamp = blake2b(repr(found).encode(errors="surrogateescape"), digest_size=16).hexdigest()
    return Item(path, sum(size for _, size, _ in found), stamp)
