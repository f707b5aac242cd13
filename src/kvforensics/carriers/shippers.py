"""What a shipper's JSON object says: the message, its time, and who wrote it.

Loki (`logcli -o jsonl`), Fluent Bit, Vector, Filebeat, OpenTelemetry (OTLP JSON), CloudWatch and Google Cloud
name the same things differently, and sites rename them again. So names are looked up in one flat view of the
object, in the order of how surely each means what it says.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kvforensics.carriers.epoch import epoch_us
from kvforensics.carriers.frames import MORE_CERTAIN, MORE_MAYBE, MORE_NO
from kvforensics.carriers.journal_fields import FIELDS
from kvforensics.carriers.shipper_origins import origin_of
from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MESSAGE_NAMES = ("textPayload", "line", "log", "message", "MESSAGE", "@message", "msg", "body", "_line")
TIME_NAMES = (
    "timeUnixNano",
    "timestamp",
    "@timestamp",
    "time",
    "date",
    "ts",
    "__REALTIME_TIMESTAMP",
    "observedTimeUnixNano",
    "receiveTimestamp",
)
_JOURNAL_NAMES = {name.strip("_").lower(): name for name in FIELDS}
_JOURNAL_MARKS = {"systemd_unit", "boot_id", "systemd_invocation_id", "syslog_identifier"}
_PIECE_BYTES = 16_384  # docker's and containerd's
_DEPTH = 4


class Entry(NamedTuple):
    """One log entry of a shipper. `journal` are the fields of a journal entry."""

    at_us: int | None  # microseconds of the epoch
    message: str | None
    origin: Origin = Origin()
    damage: str | None = None
    more: int = MORE_NO
    key: str | None = None
    journal: dict[str, Any] | None = None


def entries(found: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield the entries of one object; nothing for an object that is no shipper's."""
    if isinstance(found.get("resourceLogs"), list):
        yield from _otlp(found)
        return
    for name in ("events", "logEvents"):
        if isinstance(found.get(name), list):
            shared = {key: found[key] for key in ("logStream", "logStreamName") if key in found}
            for event in _dicts(found[name]):
                yield from entries({**shared, **event})
            return
    streams = found.get("streams") or _at(found, "data", "result")
    if isinstance(streams, list):
        yield from _loki_streams(streams)
        return
    hit = found.get("_source")
    if isinstance(hit, dict):
        found = hit
    entry = _entry(found)
    if entry is not None:
        yield entry


def is_shippers(found: Mapping[str, Any]) -> bool:
    """Tell whether an object looks like a shipper's, and not like docker's or journalctl's own."""
    if "log" in found and found.keys() <= {"log", "stream", "time", "attrs"}:
        return False
    own = {"message", "source_type", "@timestamp", "timestamp", "date", "line", "log"}
    if "__REALTIME_TIMESTAMP" in found and not own & found.keys():
        return False
    return next(entries(found), None) is not None


class _Shape(NamedTuple):
    """What the names of an object promise."""

    journal: bool
    times: tuple[str, ...]
    messages: tuple[str, ...]
    known: bool  # a shipper's even without a time


@lru_cache(maxsize=4096)
def _shape(names: tuple[str, ...]) -> _Shape:
    plain = {name.strip("_").lower() for name in names}
    return _Shape(
        bool(plain & _JOURNAL_MARKS) and "message" in plain,
        tuple(name for name in TIME_NAMES if name in names),
        tuple(name for name in MESSAGE_NAMES if name in names),
        not {"kubernetes", "labels", "stream", "resource"}.isdisjoint(names),
    )


def _entry(found: Mapping[str, Any]) -> Entry | None:
    spoken = found
    for name in ("body", "jsonPayload"):
        inner = found.get(name)
        if isinstance(inner, dict):
            spoken = {**inner, **{key: value for key, value in spoken.items() if key != name}}
    shape = _shape(tuple(spoken))
    at = next((at for name in shape.times if (at := epoch_us(spoken[name])) is not None), None)
    if shape.journal:
        return Entry(at, None, journal=_journal_fields(spoken, at, origin_of(found).host))
    said = next((spoken[name] for name in shape.messages if _is_text(spoken[name])), None)
    if said is None and not any(spoken[name] is None for name in shape.messages):
        return None
    if at is None and not shape.known:
        return None
    message, damage = _text(said)
    more, key = _piece(spoken, message)
    if message is not None:
        message = message.removesuffix("\n").removesuffix("\r")
    return Entry(at, message, origin_of(found), damage, more, key)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and bool(value))


def _text(value: Any) -> tuple[str | None, str | None]:
    """Return a message and its damage; a list holds bytes as numbers, or a field that came several times."""
    if value is None:
        return None, "message_null"
    if isinstance(value, str):
        return value, None
    if all(type(item) is int and 0 <= item <= 255 for item in value):  # noqa: PLR2004 - bytes
        text = bytes(value).decode(errors="replace")
        return text, "message_binary" if "\ufffd" in text else None
    return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in value), None


def _piece(found: Mapping[str, Any], message: str | None) -> tuple[int, str | None]:
    """Tell whether an entry is a piece: Google splits entries, CRI tags them, docker cuts at 16 KiB."""
    split = found.get("split")
    if isinstance(split, dict) and isinstance(split.get("index"), int):
        total = split.get("totalSplits")
        last = isinstance(total, int) and split["index"] >= total - 1
        return (MORE_NO if last else MORE_CERTAIN), f"split {split.get('uid')}"
    tag = found.get("_p", found.get("logtag"))
    if tag in ("P", "F"):
        return (MORE_CERTAIN if tag == "P" else MORE_NO), None
    if message is not None and len(message) >= _PIECE_BYTES // 4 and not message.endswith("\n"):
        return (MORE_MAYBE if len(message.encode()) == _PIECE_BYTES else MORE_NO), None
    return MORE_NO, None


def _journal_fields(found: Mapping[str, Any], at: int | None, host: str | None) -> dict[str, Any]:
    """Return the journal's fields under the names that the journal gives them."""
    fields: dict[str, Any] = {}
    for name, value in found.items():
        field = _journal_name(name)
        if field == "MESSAGE" or (field is not None and isinstance(value, (str, list, int, float))):
            fields[field] = str(value) if isinstance(value, (int, float)) else value
    if not isinstance(fields.get("MESSAGE"), (str, list)):
        fields["MESSAGE"] = None
    if not fields.get("__REALTIME_TIMESTAMP") and at is not None:
        fields["__REALTIME_TIMESTAMP"] = str(at)
    if not fields.get("_HOSTNAME") and host is not None:
        fields["_HOSTNAME"] = host
    return fields


@lru_cache(maxsize=4096)
def _journal_name(name: str) -> str | None:
    return name if name in FIELDS else _JOURNAL_NAMES.get(name.strip("_").lower())


def _otlp(found: Mapping[str, Any]) -> Iterator[Entry]:
    for resource in _dicts(found["resourceLogs"]):
        about = _attributes(_at(resource, "resource", "attributes"))
        for scope in _dicts(resource.get("scopeLogs") or resource.get("instrumentationLibraryLogs")):
            for record in _dicts(scope.get("logRecords")):
                own = _attributes(record.get("attributes"))
                plain = {name: value for name, value in record.items() if name not in ("attributes", "body")}
                entry = _entry({**about, **own, **plain, "body": _any_value(record.get("body"))})
                if entry is not None:
                    yield entry


def _attributes(pairs: Any) -> dict[str, Any]:
    return {
        pair["key"]: _any_value(pair.get("value"))
        for pair in _dicts(pairs)
        if isinstance(pair.get("key"), str)
    }


def _any_value(value: Any, depth: int = 0) -> Any:
    """Return what an OTLP AnyValue holds."""
    if not isinstance(value, dict) or depth > _DEPTH:
        return value if isinstance(value, str) else None
    for name in ("stringValue", "boolValue", "doubleValue"):
        if name in value:
            return value[name]
    if "intValue" in value:
        text = str(value["intValue"])
        return int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else text  # noqa: PLR2004 - 64 bits
    if "kvlistValue" in value:
        pairs = _dicts(_at(value, "kvlistValue", "values"))
        return {str(pair.get("key")): _any_value(pair.get("value"), depth + 1) for pair in pairs}
    if "arrayValue" in value:
        return [_any_value(item, depth + 1) for item in _dicts(_at(value, "arrayValue", "values"))]
    return None


def _loki_streams(streams: list[Any]) -> Iterator[Entry]:
    for stream in _dicts(streams):
        labels = stream.get("stream")
        for pair in stream.get("values") or ():
            if isinstance(pair, list) and len(pair) >= 2 and isinstance(pair[1], str):  # noqa: PLR2004
                entry = _entry({"timestamp": pair[0], "line": pair[1], "labels": labels or {}})
                if entry is not None:
                    yield entry


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _at(found: Any, *names: str) -> Any:
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found
