"""Entries of an export on their way into a frame, and the fast way to read most of them.

The entries of one process differ in cursor, times and message; what stands around the message is the same
text from entry to entry. That text is parsed once and remembered, so that an entry costs a few searches.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from kvforensics.carriers.blocks import LINE_BYTES
from kvforensics.carriers.journal_fields import ABSENT, KEY_FIELDS, NO_MESSAGE, RARE_FIELDS

if TYPE_CHECKING:
    from kvforensics.carriers.export_bytes import ByteReader

_HEAD = re.compile(
    rb"__CURSOR=([^\n]*)\n__REALTIME_TIMESTAMP=([0-9]*)\n__MONOTONIC_TIMESTAMP=([0-9]*)"
    rb"(?:\n__SEQNUM=[0-9]*\n__SEQNUM_ID=[0-9a-f]*)?(?=\n)"
)
_END = re.compile(rb"\n\n")  # faster than bytes.find here
_MESSAGE = b"\nMESSAGE="
_RARE = frozenset(RARE_FIELDS)
_OWN_VALUE = frozenset({"MESSAGE", "__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP"})
_REMEMBERED = 4096  # texts; a native client may write fields that differ in every entry


class Surroundings(NamedTuple):
    """The fields of an entry but those that differ, and what they are needed for."""

    row: dict[str, Any]
    key: tuple[Any, ...]
    rare: bool
    source_at: Any
    lines: int = 0  # physical lines that they take

    @classmethod
    def of(cls, row: dict[str, Any], lines: int = 0) -> Surroundings:
        """Look at the fields once."""
        get = row.get
        key = tuple([get(field, ABSENT) for field in KEY_FIELDS])
        return cls(row, key, not _RARE.isdisjoint(row), get("_SOURCE_REALTIME_TIMESTAMP", ABSENT), lines)


class ExportBatch:
    """Entries for `journal_entries.EntryReader`."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.damage: dict[int, str] = {}
        self._around: list[Surroundings] = []
        self._values: dict[str, list[Any]] = {field: [] for field in sorted(_OWN_VALUE)}

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, field: str) -> list[Any]:
        """Return the values of one field."""
        if field == "_SOURCE_REALTIME_TIMESTAMP":
            return [around.source_at for around in self._around]
        return self._values[field]

    def keys(self) -> list[tuple[Any, ...]]:
        """Return the values of `KEY_FIELDS`."""
        return [around.key for around in self._around]

    def rare(self) -> list[int]:
        """Return the places of the entries that have one of `RARE_FIELDS`."""
        return [place for place, around in enumerate(self._around) if around.rare]

    def value(self, place: int, field: str) -> Any:
        """Return one value."""
        return self._around[place].row.get(field, ABSENT)

    def add(self, line: int, row: dict[str, Any], damage: str | None) -> None:
        """Add an entry that was read field by field."""
        if damage is not None:
            self.damage[len(self.lines)] = damage
        self.lines.append(line)
        self._around.append(Surroundings.of(row))
        for field, values in self._values.items():
            values.append(row.get(field, NO_MESSAGE if field == "MESSAGE" else ABSENT))

    def take(self, source: ByteReader, known: dict[bytes, Surroundings], limit: int) -> None:
        """Read entries of plain text lines out of what `source` holds, up to one that is anything else."""
        data, at, line = source.data, source.at, source.line
        cursors, messages = self._values["__CURSOR"], self._values["MESSAGE"]
        stored, monos = self._values["__REALTIME_TIMESTAMP"], self._values["__MONOTONIC_TIMESTAMP"]
        while len(self.lines) < limit:
            head = _HEAD.match(data, at)
            ending = None if head is None else _END.search(data, head.end())
            if head is None or ending is None or ending.start() - at > LINE_BYTES:
                break
            end = ending.start()
            begin = data.find(_MESSAGE, head.end(), end)
            stop = data.find(b"\n", begin + 1, end)
            stop = end if stop < 0 else stop
            text = data[head.end() : begin] + data[stop:end]
            around = known.get(text) if begin > 0 else None
            if around is None:
                around = _parsed(text) if begin > 0 else None
                if around is None:
                    break
                if len(known) >= _REMEMBERED:
                    known.clear()
                known[text] = around
            try:
                message = data[begin + len(_MESSAGE) : stop].decode()
                cursor, realtime, mono = (value.decode() for value in head.groups())
            except UnicodeDecodeError:
                break
            self.lines.append(line)
            self._around.append(around)
            messages.append(message)
            cursors.append(cursor)
            stored.append(realtime)
            monos.append(mono)
            line += around.lines + data.count(b"\n", at, head.end()) + 3
            at = end + 2
        source.at, source.line = at, line


def _parsed(text: bytes) -> Surroundings | None:
    """Read text lines with names that differ; None for anything else."""
    try:
        fields = [line.split("=", 1) for line in text.decode().split("\n")[1:]]
        row = dict(fields)
    except ValueError:  # no `=`, or not UTF-8
        return None
    if len(row) != len(fields) or not _OWN_VALUE.isdisjoint(row):
        return None
    return Surroundings.of(row, text.count(b"\n"))
