"""From what the user named to the inputs that are read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def expand(paths: Iterable[str]) -> list[str]:
    """Replace each directory by the files under it, sorted; a file named twice is taken once.

    Paths stay as the user typed them. Only regular files are taken out of a directory (a FIFO or a device
    must be named to be read), and no directory is entered through a symbolic link.
    """
    seen: set[tuple[int, int]] = set()
    found: list[str] = []
    for path in paths:
        for file in _files(path):
            identity = _identity(file)
            if identity is None or identity not in seen:
                found.append(file)
                if identity is not None:
                    seen.add(identity)
    return found


def _files(path: str) -> Iterator[str]:
    if path == "-" or not os.path.isdir(path):  # noqa: PTH112 - the path must stay as it was typed
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = os.path.join(folder, name)  # noqa: PTH118
            if _identity(file) is not None:
                yield file


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_dev, status.st_ino
