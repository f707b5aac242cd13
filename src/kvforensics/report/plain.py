"""Python values as strict JSON: the same value gives the same bytes, whatever it was in a log."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

_LONGEST_INT = 4096  # bits; Python refuses to write much longer ones in decimal
JSON = Any  # what `plain` gives: None, bool, int, float, str, and lists and dicts of these


def plain(value: Any) -> JSON:
    """Return `value` as JSON can say it.

    `inf` and `nan` become strings, sets sorted lists, tuples lists, times ISO 8601 in UTC, keys strings,
    lone surrogates U+FFFD, structs objects of their fields, and every other object its repr.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _LONGEST_INT else hex(value)
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, Mapping):
        return {_whole(k) if isinstance(k, str) else str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((plain(v) for v in value), key=_order)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, Struct):
        return plain(asdict(value))
    return _whole(repr(value))


def instant(at: datetime | None) -> str | None:
    """Return a naive UTC time as `2026-05-20T14:03:00.000000Z`."""
    return None if at is None else at.isoformat(timespec="microseconds") + "Z"


def dumps(document: JSON) -> str:
    """Return `document` as JSON with sorted keys, ASCII only, ending in a newline."""
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _order(value: JSON) -> tuple[str, str]:
    return type(value).__name__, json.dumps(value, sort_keys=True)
