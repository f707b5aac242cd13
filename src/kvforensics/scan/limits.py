"""How many workers fit into the memory that a scan may take."""

from __future__ import annotations

import re

from kvforensics.errors import UsageError

WORKER_BYTES = 500 << 20  # what one worker takes at most, measured on large inputs (docs/scale.md)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)


def workers_within(max_memory: str | None, wanted: int) -> int:
    """Return how many of the wanted workers may run; at least one. Raises UsageError for a strange size."""
    if max_memory is None:
        return wanted
    return max(1, min(wanted, size(max_memory) // WORKER_BYTES))


def size(text: str) -> int:
    """Return a size such as `2G` or `900M` in bytes (powers of 1024)."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is no size", hint="write it as 2G or 900M")
    return int(float(match.group(1)) * _UNITS[match.group(2).lower()])
