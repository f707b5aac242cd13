"""One JSON object of a log, read as leniently as honesty allows."""

from __future__ import annotations

import json
from typing import Any

import msgspec

_DECODER = msgspec.json.Decoder(dict[str, Any])
_ANY = msgspec.json.Decoder()


def decode_object(data: bytes) -> dict[str, Any] | None:
    """Return the object, or None where the bytes are none.

    Bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD; control characters in a
    string and numbers that no float holds are accepted.
    """
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        found = _printable(json.loads(data.decode(errors="replace"), strict=False))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def decode_values(data: bytes) -> list[dict[str, Any]]:
    """Return the objects of an entry: one, those of an array, or none where it is neither."""
    if not data.lstrip().startswith(b"["):
        found = decode_object(data)
        return [] if found is None else [found]
    try:
        values = _ANY.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return []
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_printable(name): _printable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return value
