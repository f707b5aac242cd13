"""From the fields of journal entries to a record frame: what export, JSON and verbose have in common.

Facts: systemd.journal-fields(7) and the sources of systemd 252. A carrier hands over one tuple an entry, its
values in the order of `FIELDS`; a value is text, bytes, a list (a field that occurs several times, or a byte
array of JSON), None (lost: `journalctl -o json` without `-a`) or `ABSENT`.
"""

from __future__ import annotations

import json
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.carriers.frames import MORE_CERTAIN, MORE_MAYBE, MORE_NO, MORE_OPEN, record_frame
from kvforensics.records import Origin
from kvforensics.redaction import redact_argv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvforensics.carriers.carrier import Context

ABSENT: Any = ""  # of every field but MESSAGE, where emptiness and absence differ
NO_MESSAGE: Any = False

_ORIGIN_FIELDS = (
    "_HOSTNAME",
    "_BOOT_ID",
    "_STREAM_ID",
    "_PID",
    "SYSLOG_PID",
    "SYSLOG_IDENTIFIER",
    "_COMM",
    "_CMDLINE",
    "_TRANSPORT",
    "PRIORITY",
    "_SYSTEMD_UNIT",
    "_SYSTEMD_USER_UNIT",
    "_SYSTEMD_INVOCATION_ID",
    "UNIT",
    "USER_UNIT",
    "OBJECT_SYSTEMD_UNIT",
    "OBJECT_SYSTEMD_USER_UNIT",
    "COREDUMP_UNIT",
    "INVOCATION_ID",
    "USER_INVOCATION_ID",
    "CONTAINER_NAME",
    "CONTAINER_ID",
)
EXTRA_FIELDS = (
    "MESSAGE_ID",
    "JOB_ID",
    "JOB_TYPE",
    "JOB_RESULT",
    "EXIT_CODE",
    "EXIT_STATUS",
    "COMMAND",
    "EXECUTABLE",
    "UNIT_RESULT",
    "N_RESTARTS",
    "N_DROPPED",
    "CONFIG_FILE",
    "CONFIG_LINE",
    "CPU_USAGE_NSEC",
    "COREDUMP_SIGNAL",
    "COREDUMP_SIGNAL_NAME",
    "COREDUMP_PID",
)
_NAMED_IN_EXTRA = ("UNIT", "USER_UNIT", "OBJECT_SYSTEMD_UNIT", "INVOCATION_ID", "USER_INVOCATION_ID")
FIELDS = (
    "MESSAGE",
    "__CURSOR",
    "__REALTIME_TIMESTAMP",
    "_SOURCE_REALTIME_TIMESTAMP",
    "__MONOTONIC_TIMESTAMP",
    "_LINE_BREAK",
    "CONTAINER_PARTIAL_ID",
    "CONTAINER_PARTIAL_LAST",
    *_ORIGIN_FIELDS,
    *EXTRA_FIELDS,
)
_AT = {name: place for place, name in enumerate(FIELDS)}
_ORIGIN_SLICE = slice(_AT[_ORIGIN_FIELDS[0]], _AT[_ORIGIN_FIELDS[-1]] + 1)
_origin_key = itemgetter(_ORIGIN_SLICE)
_message_id = itemgetter(_AT["MESSAGE_ID"])
_unit_named = itemgetter(_AT["UNIT"])
_user_unit_named = itemgetter(_AT["USER_UNIT"])

_OWN = ("systemd", "systemd-journald", "systemd-oomd", "systemd-coredump", "systemd-logind")
_SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"
_LAST_INSTANT = 1 << 55  # systemd's own bound of a valid time, in microseconds
_MORE = {"line-max": MORE_CERTAIN, "pid-change": MORE_MAYBE}


class EntryReader:
    """Turns entries into frames; remembers origins, because a source has few of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[tuple[Any, ...], int] = {}

    def frame(
        self, lines: Sequence[int], rows: Sequence[tuple[Any, ...]], damage: dict[int, str] | None = None
    ) -> pl.DataFrame:
        """Return the records of entries. `damage` names the damage of rows that the carrier met itself."""
        columns = dict(zip(FIELDS, zip(*rows, strict=True), strict=True))
        made: dict[str, Any] = {"line": lines, "origin": self._origins(rows)}
        kinds: dict[int, str] = {}
        made["message"], raw = _messages(columns["MESSAGE"], kinds)
        made["cursor"] = _text(columns["__CURSOR"])
        shown = _instant(columns["_SOURCE_REALTIME_TIMESTAMP"])
        stored = _instant(columns["__REALTIME_TIMESTAMP"])
        made["at"] = shown.zip_with(shown.is_not_null(), stored)
        made["mono"] = _instant(columns["__MONOTONIC_TIMESTAMP"])
        made["extra"] = self._extras(rows, kinds)
        kinds |= damage or {}
        if kinds:
            made["damage"] = [kinds.get(row) for row in range(len(rows))]
        if raw:
            made["_raw"] = [raw.get(row) for row in range(len(rows))]
        made |= _pieces(columns)
        return record_frame(self._context, made)

    def _origins(self, rows: Sequence[tuple[Any, ...]]) -> list[int]:
        known = self._known
        numbers: list[int] = []
        for key in map(_origin_key, rows):
            try:
                numbers.append(known[key])
            except (KeyError, TypeError):  # new, or with a list in it
                flat = tuple(map(plain, key))
                number = known.get(flat)
                if number is None:
                    number = known[flat] = self._context.origins.intern(_origin(flat))
                numbers.append(number)
        return numbers

    def _extras(self, rows: Sequence[tuple[Any, ...]], kinds: dict[int, str]) -> list[str | None] | None:
        extras: dict[int, str] = {}
        for place, row in enumerate(rows):
            if not (_message_id(row) or _unit_named(row) or _user_unit_named(row)) or not _is_own(row):
                continue
            extras[place] = _extra(row)
            if plain(_message_id(row)) == _SUPPRESSED:
                kinds[place] = "rate_limited"
        return [extras.get(place) for place in range(len(rows))] if extras else None


def plain(value: Any) -> str:
    """Return a field's value as one text: the first of several, bytes decoded."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list) and value:
        as_bytes = _byte_array(value)
        return plain(value[0]) if as_bytes is None else as_bytes.decode(errors="replace")
    return ""


def _byte_array(value: list[Any]) -> bytes | None:
    if value and all(type(item) is int and 0 <= item <= 255 for item in value):  # noqa: PLR2004
        return bytes(value)
    return None


def _messages(values: Sequence[Any], kinds: dict[int, str]) -> tuple[pl.Series, dict[int, bytes]]:
    """Return the messages, and the bytes of those that are not UTF-8; note their damage."""
    raw: dict[int, bytes] = {}
    if set(map(type, values)) <= {str}:
        return pl.Series("message", values, dtype=pl.String), raw
    texts: list[str | None] = []
    for place, value in enumerate(values):
        if isinstance(value, str):
            texts.append(value)
        elif value is None:
            texts.append(None)
            kinds[place] = "message_null"
        elif value is NO_MESSAGE:
            texts.append(None)
        else:
            data = _message_bytes(value)
            text = data.decode(errors="replace")
            if "\ufffd" in text and text.encode() != data:
                kinds[place] = "message_binary"
                raw[place] = data
            texts.append(text)
    return pl.Series("message", texts, dtype=pl.String), raw


def _message_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode(errors="replace")
    if isinstance(value, list):
        data = _byte_array(value)
        return b"\n".join(map(_message_bytes, value)) if data is None else data
    return b""


def _text(values: Sequence[Any]) -> pl.Series:
    if set(map(type, values)) <= {str}:
        texts = pl.Series(values, dtype=pl.String)
    else:
        texts = pl.Series(map(plain, values), dtype=pl.String)
    return texts.set(texts == "", None)


def _instant(values: Sequence[Any]) -> pl.Series:
    """Return microseconds; null where a value is absent or not one of systemd's valid times."""
    texts = values if set(map(type, values)) <= {str} else list(map(plain, values))
    numbers = pl.Series(texts, dtype=pl.String).cast(pl.Int64, strict=False)
    return numbers.set((numbers < 0) | (numbers >= _LAST_INSTANT), None)


def _pieces(columns: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
    breaks, partials = columns["_LINE_BREAK"], columns["CONTAINER_PARTIAL_ID"]
    if not any(breaks) and not any(partials):
        return {}
    more: list[int] = []
    keys: list[str | None] = []
    for line_break, partial, last in zip(breaks, partials, columns["CONTAINER_PARTIAL_LAST"], strict=True):
        if partial:
            keys.append(f"partial {plain(partial)}")
            more.append(MORE_NO if plain(last) == "true" else MORE_OPEN)
        else:
            keys.append(None)
            more.append(_MORE.get(plain(line_break), MORE_NO))
    return {"_more": more, "_key": keys}


def _is_own(row: tuple[Any, ...]) -> bool:
    """Whether systemd or one of its services wrote the record (a service's own words prove nothing)."""
    ident, pid = plain(row[_AT["SYSLOG_IDENTIFIER"]]), plain(row[_AT["_PID"]])
    transport = plain(row[_AT["_TRANSPORT"]])
    if transport in {"stdout", "syslog", "kernel"}:
        return False
    return pid == "1" or ident in _OWN or bool(row[_AT["UNIT"]] and row[_AT["MESSAGE_ID"]])


def _extra(row: tuple[Any, ...]) -> str:
    names = chain(EXTRA_FIELDS, _NAMED_IN_EXTRA)
    values = {name: plain(row[_AT[name]]) for name in names if row[_AT[name]] not in (ABSENT, None)}
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False)


def _origin(key: tuple[str, ...]) -> Origin:
    field: Callable[[str], str | None] = lambda name: fields[name] or None  # noqa: E731
    fields = dict(zip(_ORIGIN_FIELDS, key, strict=True))
    host, boot = field("_HOSTNAME"), field("_BOOT_ID")
    container = field("CONTAINER_NAME") or field("CONTAINER_ID")
    if container is not None:  # dockerd and conmon speak for it: unit, process and invocation are theirs
        stream = {"3": "stderr", "6": "stdout"}.get(fields["PRIORITY"])
        return Origin(host, None, container, field("SYSLOG_IDENTIFIER"), stream=stream, boot=boot)
    ident = field("SYSLOG_IDENTIFIER") or field("_COMM")
    unit = field("_SYSTEMD_USER_UNIT") or field("_SYSTEMD_UNIT")
    invocation = field("_SYSTEMD_INVOCATION_ID")
    about = field("UNIT") or field("USER_UNIT")
    if about is None and ident in _OWN:
        about = field("OBJECT_SYSTEMD_UNIT") or field("OBJECT_SYSTEMD_USER_UNIT") or field("COREDUMP_UNIT")
    if about is not None and fields["_TRANSPORT"] not in {"stdout", "syslog"}:
        unit = about
        invocation = field("INVOCATION_ID") or field("USER_INVOCATION_ID")
    command = field("_CMDLINE")
    return Origin(
        host=host,
        unit=unit,
        ident=ident,
        pid=_pid(field("_PID") or field("SYSLOG_PID")),
        invocation=invocation,
        stream=field("_STREAM_ID"),
        boot=boot,
        cmdline=redact_argv(command) if command else None,
    )


def _pid(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 10 else None  # noqa: PLR2004
