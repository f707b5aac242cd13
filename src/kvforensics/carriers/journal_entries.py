"""From the entries of a journal to a record frame: what export, JSON and verbose have in common.

Most entries are a service's own lines, which differ in few fields; what systemd, containers and split lines
add is looked at only where one of `RARE_FIELDS` is there. Facts: the sources of systemd 252.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from kvforensics.carriers.frames import MORE_CERTAIN, MORE_MAYBE, MORE_NO, MORE_OPEN, record_frame
from kvforensics.carriers.journal_fields import (
    DETAIL_FIELDS,
    EXTRA_FIELDS,
    FIELDS_IN_EXTRA,
    KEY_FIELDS,
    NO_MESSAGE,
    RARE_FIELDS,
    byte_array,
    plain,
)
from kvforensics.records import Origin
from kvforensics.redaction import redact_argv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvforensics.carriers.carrier import Context
    from kvforensics.carriers.journal_fields import Entries

_ORIGIN_FIELDS = (*KEY_FIELDS, *RARE_FIELDS, *DETAIL_FIELDS)
_LOOKED_AT = (*_ORIGIN_FIELDS, *EXTRA_FIELDS)

_IDENT, _PID = KEY_FIELDS.index("SYSLOG_IDENTIFIER"), KEY_FIELDS.index("_PID")
_OWN = ("systemd", "systemd-journald", "systemd-oomd", "systemd-coredump", "systemd-logind")
_SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"
_LAST_INSTANT = 1 << 55  # systemd's own bound of a valid time, in microseconds
_MORE = {"line-max": MORE_CERTAIN, "pid-change": MORE_MAYBE}


class EntryReader:
    """Turns entries into frames; remembers origins, because a source has few of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._common: dict[tuple[Any, ...], int] = {}
        self._rare: dict[tuple[str, ...], int] = {}

    def frame(
        self, lines: Sequence[int] | pl.Series, entries: Entries, damage: dict[int, str]
    ) -> pl.DataFrame:
        """Return the records of entries. `damage` names the damage of entries that the carrier met itself."""
        kinds: dict[int, str] = {}
        message, raw = _messages(entries.column("MESSAGE"), kinds)
        shown = _instant(entries.column("_SOURCE_REALTIME_TIMESTAMP"))
        stored = _instant(entries.column("__REALTIME_TIMESTAMP"))
        made: dict[str, Any] = {
            "line": lines,
            "message": message,
            "cursor": _text(entries.column("__CURSOR")),
            "at": shown.zip_with(shown.is_not_null(), stored),
            "mono": _instant(entries.column("__MONOTONIC_TIMESTAMP")),
            **self._rarities(entries, kinds),
        }
        kinds |= damage
        if kinds:
            made["damage"] = _sparse(kinds, len(entries))
        if raw:
            made["_raw"] = _sparse(raw, len(entries))
        return record_frame(self._context, made)

    def _rarities(self, entries: Entries, kinds: dict[int, str]) -> dict[str, Any]:
        """Return the origins, and what only few entries have: `extra`, `_more`, `_key`."""
        rare = set(entries.rare())
        origins = self._origins(entries.keys(), rare)
        extras: dict[int, str] = {}
        pieces: dict[int, tuple[int, str | None]] = {}
        for place in sorted(rare):
            row = {field: plain(entries.value(place, field)) for field in _LOOKED_AT}
            origins[place] = self._rare_origin(row)
            if _is_own(row):
                extras[place] = _extra(row)
                if row["MESSAGE_ID"] == _SUPPRESSED:
                    kinds[place] = "rate_limited"
            if row["_LINE_BREAK"] or row["CONTAINER_PARTIAL_ID"]:
                pieces[place] = _piece(row)
        found: dict[str, Any] = {"origin": origins}
        if extras:
            found["extra"] = _sparse(extras, len(entries))
        if pieces:
            found["_more"] = [
                pieces[place][0] if place in pieces else MORE_NO for place in range(len(entries))
            ]
            found["_key"] = _sparse({place: key for place, (_, key) in pieces.items()}, len(entries))
        return found

    def _origins(self, keys: list[tuple[Any, ...]], rare: set[int]) -> list[int]:
        """Return the origins of the common entries; those of the rare ones are filled in later.

        An entry without identifier or process needs fields that are not in its key: it is added to `rare`.
        """
        known = self._common
        try:
            numbers = list(map(known.get, keys))
        except TypeError:  # a list in a key
            keys = [tuple(map(plain, key)) for key in keys]
            numbers = list(map(known.get, keys))
        if None in numbers:
            for place, number in enumerate(numbers):
                if number is None and place not in rare:
                    numbers[place] = self._common_origin(keys[place])
                    if numbers[place] is None:
                        rare.add(place)
        return cast("list[int]", numbers)

    def _common_origin(self, key: tuple[Any, ...]) -> int | None:
        if key not in self._common:
            if not (key[_IDENT] and key[_PID]):
                return None
            row = dict.fromkeys(_LOOKED_AT, "") | dict(zip(KEY_FIELDS, map(plain, key), strict=True))
            self._common[key] = self._context.origins.intern(_origin(row))
        return self._common[key]

    def _rare_origin(self, row: dict[str, str]) -> int:
        key = tuple([row[field] for field in _ORIGIN_FIELDS])
        if key not in self._rare:
            self._rare[key] = self._context.origins.intern(_origin(row))
        return self._rare[key]


def _sparse(values: dict[int, Any], length: int) -> list[Any]:
    found: list[Any] = [None] * length
    for place, value in values.items():
        found[place] = value
    return found


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
        data = byte_array(value)
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


def _piece(row: dict[str, str]) -> tuple[int, str | None]:
    if row["CONTAINER_PARTIAL_ID"]:
        more = MORE_NO if row["CONTAINER_PARTIAL_LAST"] == "true" else MORE_OPEN
        return more, f"partial {row['CONTAINER_PARTIAL_ID']}"
    return _MORE.get(row["_LINE_BREAK"], MORE_NO), None


def _is_own(row: dict[str, str]) -> bool:
    """Whether systemd or one of its services wrote the record (a service's own words prove nothing)."""
    if row["_TRANSPORT"] in {"stdout", "syslog", "kernel"}:
        return False
    about = row["MESSAGE_ID"] or row["UNIT"] or row["USER_UNIT"]
    return bool(about) and (
        row["_PID"] == "1" or row["SYSLOG_IDENTIFIER"] in _OWN or bool(row["UNIT"] and row["MESSAGE_ID"])
    )


def _extra(row: dict[str, str]) -> str:
    values = {field: row[field] for field in FIELDS_IN_EXTRA if row[field]}
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False)


def _origin(row: dict[str, str]) -> Origin:
    fields = {field: value or None for field, value in row.items()}
    host, boot = fields["_HOSTNAME"], fields["_BOOT_ID"]
    container = fields["CONTAINER_NAME"] or fields["CONTAINER_ID"]
    if container is not None:  # dockerd and conmon speak for it: unit, process and invocation are theirs
        stream = {"3": "stderr", "6": "stdout"}.get(row["PRIORITY"])
        return Origin(host, None, container, fields["SYSLOG_IDENTIFIER"], stream=stream, boot=boot)
    ident = fields["SYSLOG_IDENTIFIER"] or fields["_COMM"]
    unit = fields["_SYSTEMD_USER_UNIT"] or fields["_SYSTEMD_UNIT"]
    invocation = fields["_SYSTEMD_INVOCATION_ID"]
    about = fields["UNIT"] or fields["USER_UNIT"]
    if about is None and ident in _OWN:
        about = fields["OBJECT_SYSTEMD_UNIT"] or fields["OBJECT_SYSTEMD_USER_UNIT"] or fields["COREDUMP_UNIT"]
    if about is not None and row["_TRANSPORT"] not in {"stdout", "syslog"}:
        unit = about
        invocation = fields["INVOCATION_ID"] or fields["USER_INVOCATION_ID"]
    command = fields["_CMDLINE"]
    return Origin(
        host=host,
        unit=unit,
        ident=ident,
        pid=_pid(fields["_PID"] or fields["SYSLOG_PID"]),
        invocation=invocation,
        stream=fields["_STREAM_ID"],
        boot=boot,
        cmdline=redact_argv(command) if command else None,
    )


def _pid(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 10 else None  # noqa: PLR2004
