"""`journalctl -o export`: a binary-safe streaming reader.

The format (systemd's JOURNAL_EXPORT_FORMATS): `NAME=value` lines, or `NAME`, a 64-bit little-endian length,
that many bytes and a line end; an empty line ends the entry. The bytes of a field may hold anything, an
empty line too, so nothing is ever split at one without looking at the fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvforensics.carriers.blocks import LINE_BYTES, cut_text, is_utf8
from kvforensics.carriers.journal_entries import FIELDS, EntryReader, FieldEntries

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head

_FRAME_ENTRIES = 16_384
_Found = tuple[int, dict[str, Any], str | None]  # line, fields, damage
_LARGEST_FIELD = 768 << 20  # journald's own limit; a larger length is no length
_FIRST_FIELD = b"__CURSOR="
_NEEDED = {field.encode(): field for field in FIELDS}
_NAME = re.compile(rb"[A-Z_][A-Z0-9_]{0,63}")
_FIELD_LINE = re.compile(rb"[A-Z_][A-Z0-9_]{0,63}=")
_KNOWN_TIME = re.compile(rb"__REALTIME_TIMESTAMP=[0-9]+$")


class JournalExport:
    """Entries become records; `line` is the physical line of an entry's first field."""

    name = "journal-export"

    def score(self, head: Head) -> float:
        """Count fields, when an entry's cursor or time is among them."""
        lines = head.lines
        if not any(line.startswith(_FIRST_FIELD) or _KNOWN_TIME.match(line) for line in lines):
            return 0.0
        fields = sum(1 for line in lines if _FIELD_LINE.match(line))
        if lines[0].startswith((_FIRST_FIELD, b"__REALTIME_TIMESTAMP=")):
            return max(0.9, fields / len(lines))
        return fields / len(lines)

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield frames of up to 16,384 entries."""
        entries = EntryReader(context)
        batch = _Batch()
        for line, row, damage in _Parser(_Bytes(blocks.chunks())).entries():
            batch.add(line, row, damage)
            if len(batch.rows) >= _FRAME_ENTRIES:
                yield entries.frame(batch.lines, FieldEntries(batch.rows), batch.damage)
                batch = _Batch()
        if batch.rows:
            yield entries.frame(batch.lines, FieldEntries(batch.rows), batch.damage)


@dataclass(slots=True)
class _Batch:
    lines: list[int] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    damage: dict[int, str] = field(default_factory=dict)

    def add(self, line: int, row: dict[str, Any], damage: str | None) -> None:
        if damage is not None:
            self.damage[len(self.rows)] = damage
        self.lines.append(line)
        self.rows.append(row)


class _Bytes:
    """Bytes to read from, filled on demand; `line` is the physical line at `at`."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.data = b""
        self.at = 0
        self.line = 1
        self.cut = False  # whether the line read last was too long

    def fill(self) -> bool:
        """Get more bytes; false at the end of the input."""
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        self.data = self.data[self.at :] + chunk
        self.at = 0
        return True

    def advance(self, end: int) -> None:
        """Go on to a place in `data`, counting the lines between."""
        self.line += self.data.count(b"\n", self.at, end)
        self.at = end

    def read_line(self) -> tuple[bytes, bool]:
        """Return the next line without its end and whether it had one; of a long line only the beginning."""
        start = 0
        while (end := self.data.find(b"\n", self.at + start)) < 0:
            start = len(self.data) - self.at
            if start > LINE_BYTES:
                return self._long_line(), True
            if not self.fill():
                text = self.data[self.at :]
                self.at = len(self.data)
                return text, False
        text = cut_text(self.data[self.at : end], LINE_BYTES)
        self.cut = end - self.at > LINE_BYTES
        self.advance(end + 1)
        return text, True

    def read_exactly(self, size: int) -> bytes:
        """Return that many bytes, fewer at the end of the input; of many only the first mebibyte is kept."""
        kept: list[bytes] = []
        room, left = LINE_BYTES, size
        while left:
            if self.at == len(self.data) and not self.fill():
                break
            piece = self.data[self.at : self.at + left]
            self.advance(self.at + len(piece))
            left -= len(piece)
            if room:
                kept.append(piece[:room])
                room -= len(kept[-1])
        return b"".join(kept)

    def _long_line(self) -> bytes:
        text = cut_text(self.data[self.at :], LINE_BYTES)
        self.cut = True
        while (end := self.data.find(b"\n", self.at)) < 0:
            self.at = len(self.data)
            if not self.fill():
                return text
        self.advance(end + 1)
        return text


class _Parser:
    """One entry after another; what breaks the format costs its entry and is said."""

    def __init__(self, source: _Bytes) -> None:
        self._source = source
        self._cursor: bytes | None = None  # the first line of the next entry, read while this one was torn

    def entries(self) -> Iterator[_Found]:
        """Yield an entry's first line number, its fields and its damage."""
        source = self._source
        while True:
            self._skip_empty_lines()
            if self._cursor is None:
                end = source.data.find(b"\n\n", source.at)
                if end < 0 and len(source.data) - source.at < LINE_BYTES and source.fill():
                    continue
                row = (
                    _text_entry(source.data[source.at : end]) if 0 <= end - source.at <= LINE_BYTES else None
                )
                if row is not None:
                    line = source.line
                    source.advance(end + 2)
                    yield line, row, None
                    continue
            entry = self._entry()
            if entry is None:
                return
            yield entry

    def _skip_empty_lines(self) -> None:
        source = self._source
        while source.data.startswith((b"\n", b"\r\n"), source.at):
            source.advance(source.data.find(b"\n", source.at) + 1)

    def _entry(self) -> _Found | None:
        """Read field by field; None at the end of the input."""
        source, fields = self._source, _Fields()
        line = source.line - (self._cursor is not None)
        while True:
            if self._cursor is not None:
                text, whole, self._cursor = self._cursor, True, None
            else:
                text, whole = source.read_line()
                if source.cut:
                    fields.damage = "too_long_line"
            if not text and not whole:
                return (line, fields.row, fields.damage) if fields.any else None
            if not text:
                if fields.any:
                    return line, fields.row, fields.damage
                continue
            if text.startswith(_FIRST_FIELD) and "__CURSOR" in fields.row:  # the entry before lost its end
                self._cursor = text
                return line, fields.row, "truncated_file"
            if not self._field(text, fields, whole=whole):
                self._resume()
                return line, fields.row, "truncated_file"

    def _field(self, text: bytes, fields: _Fields, *, whole: bool) -> bool:
        """Take one field; false when the format is broken here or the input ends in it."""
        name, sign, value = text.partition(b"=")
        if sign:
            fields.add(name, value)
            return whole
        if not whole or _NAME.fullmatch(name) is None:
            return False
        header = self._source.read_exactly(8)
        size = int.from_bytes(header, "little")
        if len(header) < 8 or size > _LARGEST_FIELD:  # noqa: PLR2004
            return False
        value = self._source.read_exactly(size)
        fields.add(name, value)
        if len(value) < min(size, LINE_BYTES):
            return False
        if size > LINE_BYTES:
            fields.damage = "too_long_line"
        return self._source.read_exactly(1) == b"\n"

    def _resume(self) -> None:
        """Go on at the next line that begins an entry."""
        while True:
            text, whole = self._source.read_line()
            if text.startswith(_FIRST_FIELD):
                self._cursor = text
                return
            if not whole:
                return


class _Fields:
    """The needed fields of one entry; a field that comes twice becomes a list."""

    def __init__(self) -> None:
        self.row: dict[str, Any] = {}
        self.any = False
        self.damage: str | None = None

    def add(self, name: bytes, data: bytes) -> None:
        self.any = True
        field = _NEEDED.get(name)
        if field is None:
            return
        value = data.decode() if is_utf8(data) else data
        known = self.row.get(field)
        if known is None:
            self.row[field] = value
        elif isinstance(known, list):
            known.append(value)
        else:
            self.row[field] = [known, value]


def _text_entry(data: bytes) -> dict[str, Any] | None:
    """Read an entry that holds nothing but text lines with names that differ; None for any other."""
    try:
        lines = data.decode().split("\n")
        row = dict([line.split("=", 1) for line in lines])
    except ValueError:  # no `=`, or not UTF-8
        return None
    return row if len(row) == len(lines) else None
