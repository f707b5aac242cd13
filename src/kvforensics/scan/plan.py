"""What there is to scan: inputs by path, with what tells cheaply whether one changed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import glob, has_magic
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from kvforensics.carriers import expand
from kvforensics.carriers.remote import is_remote, list_remote
from kvforensics.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MEMBER = "!"  # between an archive and its member


@dataclass(frozen=True, slots=True)
class Item:
    """One input to scan. `stamp` is its modification time or entity tag; None where neither is known."""

    path: str
    size: int
    stamp: str | None


def plan(inputs: Iterable[str], *, exclude: Iterable[str] = ()) -> list[Item]:
    """Return the inputs that files, folders, patterns and URLs mean, in the order in which they are read.

    `exclude` holds patterns of paths to leave out. Raises UsageError where nothing is left.
    """
    patterns = tuple(exclude)
    found: dict[str, Item] = {}
    for item in _items(inputs):
        if not any(fnmatch(item.path, pattern) for pattern in patterns):
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


def _items(inputs: Iterable[str]) -> Iterator[Item]:
    for named in inputs:
        if is_remote(named):
            yield from (Item(path, size, stamp) for path, size, stamp in list_remote(named))
            continue
        paths = (
            sorted(glob(named, recursive=True))  # noqa: PTH207 - paths stay as they were typed
            if has_magic(named) and not os.path.lexists(named)
            else [named]
        )
        for path in expand(paths):
            yield _local(path)


def _local(path: str) -> Item:
    if path == "-":
        raise UsageError("standard input cannot be scanned", hint="use kvforensics timeline -")
    try:
        status = Path(path).stat()
    except OSError:
        archive, bang, _ = path.rpartition(MEMBER)
        if not bang:
            return Item(path, 0, None)
        try:
            status = Path(archive).stat()
        except OSError as error:
            raise InputError(error.strerror or str(error), where=path) from error
    return Item(path, status.st_size, f"{status.st_mtime_ns}")
