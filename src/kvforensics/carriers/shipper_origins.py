"""Who wrote an entry, as far as a shipper's object names it.

Shippers name the same things differently, and sites rename them again. So names are looked up in one flat
view of the object, in the order of how surely each means what it says.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

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

_DEPTH = 4
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
_CACHED_BYTES = 4096
_PASSING = frozenset(
    {
        *("textPayload", "line", "log", "message", "MESSAGE", "@message", "msg", "body", "_line"),
        *("timeUnixNano", "timestamp", "@timestamp", "time", "date", "ts", "observedTimeUnixNano"),
        *("receiveTimestamp", "ingestionTime", "insertId", "eventId", "id", "offset", "split"),
        *(
            "__CURSOR",
            "__REALTIME_TIMESTAMP",
            "__MONOTONIC_TIMESTAMP",
            "_SOURCE_REALTIME_TIMESTAMP",
            "__SEQNUM",
        ),
    }
)  # what differs from entry to entry and names nobody


def origin_of(found: Mapping[str, Any]) -> Origin:
    """Return the origin that an object names. What stays the same from entry to entry is looked at once."""
    lasting = _lasting(found)
    try:
        encoded = msgspec.json.encode(lasting)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError, OverflowError):
        return _origin(_flattened(lasting))
    if len(encoded) > _CACHED_BYTES:
        return _origin(_flattened(lasting))
    return _decoded_origin(encoded)


def origin_of_labels(labels: str) -> Origin:
    """Return the origin that Loki's label set names, written `{host="gpu01", pod="x"}`."""
    return _origin(_flattened({name: _unquoted(value) for name, value in _LABEL.findall(labels)}))


def _lasting(found: Mapping[str, Any]) -> dict[str, Any]:
    lasting = {name: value for name, value in found.items() if name not in _PASSING}
    for name in ("jsonPayload", "body"):
        inner = found.get(name)
        if isinstance(inner, dict):
            lasting[name] = {key: value for key, value in inner.items() if key not in _PASSING}
    return lasting


@lru_cache(maxsize=4096)
def _decoded_origin(encoded: bytes) -> Origin:
    return _origin(_flattened(msgspec.json.decode(encoded)))


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


def _unquoted(value: str) -> str:
    return value.replace('\\"', '"').replace("\\\\", "\\")
