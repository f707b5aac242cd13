"""`journalctl -o verbose`: a line with time and cursor, then `    NAME=value` lines.

Further lines of a value are indented by four spaces and the length of `NAME=`. The cursor holds the exact
UTC time (`t=`) and the monotonic clock (`m=`) in hexadecimal, so the zone of the reader does not matter. What
is not printable is replaced by `[85B blob data]`, as in the short family.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kvforensics.carriers.blocks import LINE_BYTES, is_utf8
from kvforensics.carriers.journal_entries import EntryReader
from kvforensics.carriers.journal_fields import FIELDS, FieldEntries

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head

_HEADER = re.compile(
    rb"\S{1,12} [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}(?:\.[0-9]+)? \S+ \[(s=[0-9a-f]+;[0-9a-fistxmb=;]+)\]"
)
_NAME = re.compile(rb"[A-Z_][A-Z0-9_]{0,63}")
_CURSOR_PART = re.compile(rb"(?:^|;)([mt])=([0-9a-f]{1,15})(?=;|$)")
_BLOB = re.compile(rb"\[[0-9.]+[BKMGTPE] blob data\]")
_NOTE = re.compile(rb"-- .*|\xe2\x96\x91\xe2\x96\x91.*")
_NEEDED = {name.encode(): name for name in FIELDS}
_CLOCKS = {b"t": "__REALTIME_TIMESTAMP", b"m": "__MONOTONIC_TIMESTAMP"}
_FRAME_ENTRIES = 16_384


class JournalVerbose:
    """Entries become records; `line` is the line with the cursor."""

    name = "journal-verbose"

    def score(self, head: Head) -> float:
        """Count headers and fields, when there is a header at all."""
        if not any(_HEADER.match(line) for line in head.lines):
            return 0.0
        known = [line for line in head.lines if line.startswith(b"    ") or _HEADER.match(line)]
        return len(known) / len(head.lines)

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield frames of up to 16,384 entries."""
        reader, batch = EntryReader(context), _Batch()
        for block in blocks:
            long = set(block.long)
            for place, line in enumerate(block.data.removesuffix(b"\n").split(b"\n")):
                batch.take(line.removesuffix(b"\r"), block.line + place, cut=place in long)
                if len(batch.rows) >= _FRAME_ENTRIES:
                    yield reader.frame(batch.lines, FieldEntries(batch.rows), batch.damage)
                    batch.clear()
        batch.end()
        if batch.rows:
            yield reader.frame(batch.lines, FieldEntries(batch.rows), batch.damage)


class _Batch:
    """Whole entries, and the one that is being read."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.rows: list[dict[str, Any]] = []
        self.damage: dict[int, str] = {}
        self._row: dict[str, Any] | None = None
        self._line = 0
        self._kind: str | None = None
        self._field: str | None = None  # whose value may go on
        self._indent = b""
        self._parts: list[bytes] = []
        self._size = 0  # of the parts

    def clear(self) -> None:
        """Forget the whole entries; the open one stays."""
        self.lines, self.rows, self.damage = [], [], {}

    def take(self, line: bytes, number: int, *, cut: bool) -> None:
        """Take one physical line; `cut` says that it was too long."""
        if self._indent and line.startswith(self._indent):
            self._go_on(line[len(self._indent) :])
            return
        indented = line.startswith(b"    ")
        header = None if indented else _HEADER.fullmatch(line)
        if header is not None:
            self.end()
            self._begin(header[1], number)
            return
        name, sign, value = line[4:].partition(b"=")
        if not indented or not sign or self._row is None or _NAME.fullmatch(name) is None:
            self._other(line, number, cut=cut)
            return
        self._end_field()
        self._indent = b" " * (5 + len(name))
        self._field, self._parts, self._size = _NEEDED.get(name), [value], len(value)
        if cut and self._field is not None:
            self._kind = "too_long_line"

    def _go_on(self, line: bytes) -> None:
        """Take a further line of a value, as long as the value is no longer than a line may be."""
        if self._size + len(line) < LINE_BYTES:
            self._parts.append(line)
            self._size += len(line) + 1
        elif self._field == "MESSAGE":
            self._kind = "too_long_line"

    def end(self) -> None:
        """End the open entry, if there is one."""
        if self._row is not None:
            self._end_field()
            self._add(self._line, self._row, self._kind)
            self._row, self._kind = None, None

    def _begin(self, cursor: bytes, number: int) -> None:
        self._line = number
        clocks = {_CLOCKS[name]: str(int(digits, 16)) for name, digits in _CURSOR_PART.findall(cursor)}
        self._row = {"__CURSOR": cursor.decode(), **clocks}

    def _end_field(self) -> None:
        if self._field is not None and self._row is not None:
            value = self._parts[0] if len(self._parts) == 1 else b"\n".join(self._parts)
            if not value.endswith(b" blob data]") or _BLOB.fullmatch(value) is None:
                self._row[self._field] = value.decode() if is_utf8(value) else value
            elif self._field == "MESSAGE":
                self._kind = "blob_data"
        self._field, self._parts, self._indent = None, [], b""

    def _other(self, line: bytes, number: int, *, cut: bool) -> None:
        """Take a line that is no part of an entry: journalctl's notes are nothing, the rest is a record."""
        if not line.strip() or _NOTE.fullmatch(line):
            return
        self.end()
        kind = "too_long_line" if cut else None if is_utf8(line) else "invalid_utf8"
        self._add(number, {"MESSAGE": line.decode(errors="replace")}, kind)

    def _add(self, line: int, row: dict[str, Any], kind: str | None) -> None:
        if kind is not None:
            self.damage[len(self.rows)] = kind
        self.lines.append(line)
        self.rows.append(row)
