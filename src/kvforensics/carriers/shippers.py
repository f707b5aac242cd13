"""What a shipper's JSON object says: the message, its time, and who wrote it.

Loki (`logcli -o jsonl`), Fluent Bit, Vector, Filebeat, OpenTelemetry (OTLP JSON), CloudWatch and Google Cloud
name the same things differently, and sites rename them again. So names are looked up in one flat view of the
object, in the order of how surely each means what it says.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kvforensics.carriers.frames import MORE_CERTAIN, MORE_MAYBE, MORE_NO
from kvforensics.carriers.journal_entries import FIELDS
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
_HOSTS = (
    "hostname",
    "host_name",
    "host_hostname",
    "host",
    "kubernetes_host",
    "pod_node_name",
    "kubernetes_pod_node_name",
    "k8s_node_name",
    "node_name",
    "nodename",
    "compute_googleapis_com_resource_name",
    "node",
    "instance_id",
)
_UNITS = ("systemd_unit", "unit", "journal_systemd_unit")
_PODS = ("pod_name", "kubernetes_pod_name", "k8s_pod_name", "pod")
_CONTAINERS = (
    "container_name",
    "kubernetes_container_name",
    "k8s_container_name",
    "container",
    "compose_service",
    "logstreamname",
    "log_stream",
    "logstream",
    "container_id",
)
_IDENTS = ("syslog_identifier", "comm", "appname", "programname", "app_name", "log_syslog_appname")
_PIDS = ("pid", "process_pid", "syslog_pid", "procid")
_STREAMS = ("stream", "log_iostream")
_OPEN = {"labels", "resource", "attributes", "jsonPayload", "docker"}  # their names are taken as their own

_JOURNAL_NAMES = {name.strip("_").lower(): name for name in FIELDS}
_JOURNAL_MARKS = {"systemd_unit", "boot_id", "systemd_invocation_id", "syslog_identifier"}
_PIECE_BYTES = 16_384  # docker's and containerd's
_DEPTH = 4
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
_SECONDS, _MILLIS, _MICROS = 1e11, 1e14, 1e17  # below each an epoch number counts this unit


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


def _entry(found: Mapping[str, Any]) -> Entry | None:
    flat = _flattened(found)
    body = found.get("body")
    if isinstance(body, dict):
        found = {**found, **body}
    payload = found.get("jsonPayload")
    spoken = {**payload, **found} if isinstance(payload, dict) else found
    names = {name.strip("_").lower(): name for name in spoken}
    at = next((at for name in TIME_NAMES if (at := epoch_us(spoken.get(name))) is not None), None)
    if names.keys() & _JOURNAL_MARKS and "message" in names:
        return Entry(at, None, journal=_journal_fields(spoken, at, flat))
    name = next((name for name in MESSAGE_NAMES if _is_text(spoken.get(name))), None)
    if name is None:
        name = next((name for name in MESSAGE_NAMES if name in spoken and spoken[name] is None), None)
    if name is None or (at is None and not {"kubernetes", "labels", "stream", "resource"} & found.keys()):
        return None
    message, damage = _text(spoken[name])
    more, key = _piece(found, flat, message)
    if message is not None:
        message = message.removesuffix("\n").removesuffix("\r")
    return Entry(at, message, _origin(flat), damage, more, key)


def _flattened(found: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, str | int]:
    flat: dict[str, str | int] = {}
    for name, value in found.items():
        plain = name.strip("_").lower().replace(".", "_").replace("-", "_").replace("/", "_")
        if isinstance(value, dict):
            if depth < _DEPTH:
                inner = _flattened(value, prefix if name in _OPEN else f"{prefix}{plain}_", depth + 1)
                flat = {**inner, **flat}
        elif isinstance(value, (str, int)) and not isinstance(value, bool):
            flat[prefix + plain] = value
    return flat


def _origin(flat: Mapping[str, str | int]) -> Origin:
    container = _named(flat, _CONTAINERS)
    pod = _named(flat, _PODS)
    if container is not None and container.count("/") >= 2 and "logstream" in "".join(flat):  # noqa: PLR2004
        container = container.rsplit("/", 1)[0]  # CloudWatch: prefix/container/task, a new task each start
    if pod is not None:
        container = f"{pod}/{container}" if container is not None else pod
    pid = _named(flat, _PIDS)
    return Origin(
        host=_named(flat, _HOSTS),
        unit=_named(flat, _UNITS),
        container=container.removeprefix("/") if container else None,
        ident=_named(flat, _IDENTS),
        pid=int(pid) if pid and pid.isascii() and pid.isdigit() and len(pid) <= 10 else None,  # noqa: PLR2004
        stream=_named(flat, _STREAMS),
    )


def _named(flat: Mapping[str, str | int], names: tuple[str, ...]) -> str | None:
    return next((str(flat[name])[:256] for name in names if flat.get(name) not in (None, "")), None)


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


def _piece(
    found: Mapping[str, Any], flat: Mapping[str, str | int], message: str | None
) -> tuple[int, str | None]:
    """Tell whether an entry is a piece: Google splits entries, CRI tags them, docker cuts at 16 KiB."""
    split = found.get("split")
    if isinstance(split, dict) and isinstance(split.get("index"), int):
        total = split.get("totalSplits")
        last = isinstance(total, int) and split["index"] >= total - 1
        return (MORE_NO if last else MORE_CERTAIN), f"split {split.get('uid')}"
    if flat.get("p") in ("P", "F") or flat.get("logtag") in ("P", "F"):
        return (MORE_CERTAIN if "P" in (flat.get("p"), flat.get("logtag")) else MORE_NO), None
    if message is not None and len(message) >= _PIECE_BYTES // 4 and not message.endswith("\n"):
        return (MORE_MAYBE if len(message.encode()) == _PIECE_BYTES else MORE_NO), None
    return MORE_NO, None


def _journal_fields(
    found: Mapping[str, Any], at: int | None, flat: Mapping[str, str | int]
) -> dict[str, Any]:
    """Return the journal's fields under the names that the journal gives them."""
    fields: dict[str, Any] = {}
    for name, value in found.items():
        field = name if name in FIELDS else _JOURNAL_NAMES.get(name.strip("_").lower())
        if field == "MESSAGE" or (field is not None and isinstance(value, (str, list, int, float))):
            fields[field] = str(value) if isinstance(value, (int, float)) else value
    if not isinstance(fields.get("MESSAGE"), (str, list)):
        fields["MESSAGE"] = None
    if not fields.get("__REALTIME_TIMESTAMP") and at is not None:
        fields["__REALTIME_TIMESTAMP"] = str(at)
    host = _named(flat, _HOSTS)
    if not fields.get("_HOSTNAME") and host is not None:
        fields["_HOSTNAME"] = host
    return fields


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


def epoch_us(value: Any) -> int | None:
    """Return microseconds of the epoch: from ISO 8601 (UTC where no zone is given), or from an epoch number.

    The unit of a number (seconds, milli-, micro- or nanoseconds) follows from its size.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        number = _number(value)
        if number is None:
            return _iso_us(value)
        value = number
    if not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        return None
    if value < _SECONDS:
        us = round(value * 1e6) if isinstance(value, float) else value * 1_000_000
    elif value < _MILLIS:
        us = round(value * 1e3) if isinstance(value, float) else value * 1000
    elif value < _MICROS:
        us = int(value)
    else:
        us = int(value) // 1000
    return us if us < 1 << 55 else None


def _number(text: str) -> int | float | None:
    if len(text) > 30 or not text.isascii():  # noqa: PLR2004
        return None
    try:
        return int(text) if text.isdigit() else float(text) if text.replace(".", "", 1).isdigit() else None
    except ValueError:
        return None


def _iso_us(text: str) -> int | None:
    if len(text) > 40:  # noqa: PLR2004
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    try:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds


def origin_of_labels(labels: str) -> Origin:
    """Return the origin that Loki's label set names, written `{host="gpu01", pod="x"}`."""
    return _origin(_flattened({name: _unquoted(value) for name, value in _LABEL.findall(labels)}))


def _unquoted(value: str) -> str:
    return value.replace('\\"', '"').replace("\\\\", "\\")
