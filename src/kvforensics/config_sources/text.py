"""The text of a config file as a person handed it in."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

from kvforensics.errors import InputError

SIZE_LIMIT = 4 * 2**20  # bytes; no config file is larger
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)")


def read(path: str) -> str:
    """Return a file's text (`-` is standard input): no colours, no hyperlinks, no byte order mark.

    Raises InputError where it cannot be read or is larger than any config file is.
    """
    try:
        if path == "-":
            raw = _standard_input()
        else:
            file = Path(path)
            if not file.is_file():
                reason = "is a directory" if file.is_dir() else "no such file"
                raise InputError(reason, where=path, hint="name a unit file, YAML or JSON file")
            with file.open("rb") as stream:
                raw = stream.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", where=path) from error
    if len(raw) > SIZE_LIMIT:
        raise InputError(f"is larger than {SIZE_LIMIT // 2**20} MiB", where=path, hint="is it a log?")
    return clean(raw.decode("utf-8-sig", errors="replace"))


@cache
def _standard_input() -> bytes:
    """Return what standard input held; it can be read but once, and is asked for by every release."""
    return sys.stdin.buffer.read(SIZE_LIMIT + 1)


def clean(text: str) -> str:
    """Return the text without terminal colours, hyperlinks and NUL bytes."""
    return _COLOURS.sub("", text).replace("\x00", "")
