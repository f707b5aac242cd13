"""`journalctl -o export`: a binary-safe streaming reader.

The format (systemd's JOURNAL_EXPORT_FORMATS): `NAME=value` lines, or `NAME`, a 64-bit little-endian length,
that many bytes and a line end; an empty line ends the entry. The bytes of a field may hold anything, an
empty line too, so nothing is ever split at one without looking at the fields.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kvforensics.carriers.blocks import LINE_BYTES, is_utf8
from kvforensics.carriers.export_batch import ExportBatch, Surroundings
from kvforensics.carriers.export_bytes import ByteReader
from kvforensics.carriers.journal_entries import EntryReader
from kvforensics.carriers.journal_fields import FIELDS

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
_EMPTY_LINES = re.compile(rb"[\r\n]*\n")
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
        for batch in _Parser(ByteReader(blocks.chunks())).batches():
            yield entries.frame(batch.lines, batch, batch.damage)


class _Parser:
    """One entry after another; what breaks the format costs its entry and is said."""

    def __init__(self, source: ByteReader) -> None:
        self._source = source
        self._cursor: bytes | None = None  # the first line of the next entry, read while this one was torn
        self._known: dict[bytes, Surroundings] = {}

    def batches(self) -> Iterator[ExportBatch]:
        """Yield up to 16,384 entries at a time, in the order of the input."""
        source, batch = self._source, ExportBatch()
        while True:
            self._skip_empty_lines()
            if self._cursor is None:
                batch.take(source, self._known, _FRAME_ENTRIES)
                whole = source.data.find(b"\n\n", source.at) >= 0
                if not whole and len(source.data) - source.at < LINE_BYTES and source.fill():
                    continue
            if len(batch) < _FRAME_ENTRIES:
                entry = self._entry()
                if entry is None:
                    break
                batch.add(*entry)
            if len(batch) >= _FRAME_ENTRIES:
                yield batch
                batch = ExportBatch()
        if len(batch):
            yield batch

    def _skip_empty_lines(self) -> None:
        empty = _EMPTY_LINES.match(self._source.data, self._source.at)
        if empty is not None:
            self._source.advance(empty.end())

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
            fields.crlf = fields.crlf or (text.startswith(_FIRST_FIELD) and text.endswith(b"\r"))
            if fields.crlf:  # the export went through a machine that ends its lines so
                text = text.removesuffix(b"\r")
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
        self.crlf = False
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
