"""From what the user named to the inputs that are read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from kvforensics.carriers.archive import members
from kvforensics.carriers.journal_files import is_journal_folder, is_part_of_folder
from kvforensics.carriers.spool import STDIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def expand(paths: Iterable[str], known: Callable[[str], list[str] | None] | None = None) -> list[str]:
    """Replace each directory by the files under it, sorted, and each archive by its members.

    A file named twice is taken once. A folder of journal files is one input, and so is standard input unless
    it is an archive. Paths stay as the user typed them. Only regular files are taken out of a directory (a
    FIFO or a device must be named to be read), and no directory is entered through a symbolic link. `known`
    may give what a file stands for without opening it.
    """
    seen: set[tuple[int, int]] = set()
    found: list[str] = []
    for path in paths:
        for file in _files(path):
            identity = _identity(file)
            if identity is not None and identity in seen:
                continue
            if identity is not None:
                seen.add(identity)
            held = known(file) if known is not None else None
            found += held or (members(file) if file == STDIN or _is_regular(file) else None) or [file]
    return found


def _files(path: str) -> Iterator[str]:
    if path == "-" or not os.path.isdir(path):  # noqa: PTH112 - the path must stay as it was typed
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        if is_journal_folder(folder, names):
            yield folder
        for name in sorted(names):
            file = os.path.join(folder, name)  # noqa: PTH118
            if _is_regular(file) and not is_part_of_folder(file):
                yield file


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells files and folders apart, None for standard input, pipes and what is not there."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return None
    return status.st_dev, status.st_ino
