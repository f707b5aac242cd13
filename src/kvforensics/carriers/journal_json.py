"""`journalctl -o json`, `json-seq`, `json-sse` and `json-pretty`, with and without `-a`, coloured or not.

Without `-a` journalctl writes null for a field of 4,096 bytes and more (name and `=` included): it is just
the `server_args=` line that is lost. What is not UTF-8 or holds control characters comes as an array of byte
values, a field that occurs several times as an array.
"""

from __future__ import annotations

import json
import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from kvforensics.carriers.blocks import is_utf8
from kvforensics.carriers.journal_entries import ABSENT, FIELDS, NO_MESSAGE, EntryReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from kvforensics.carriers.blocks import Block, Blocks
    from kvforensics.carriers.carrier import Context, Head

_Value = str | list[Any] | None
_ATTRIBUTES = tuple(f"f{place}" for place in range(len(FIELDS)))
_DEFAULTS = (NO_MESSAGE, *(ABSENT for _ in FIELDS[1:]))
_Entry = msgspec.defstruct(
    "_Entry",
    [(name, _Value, default) for name, default in zip(_ATTRIBUTES, _DEFAULTS, strict=True)],
    rename=dict(zip(_ATTRIBUTES, FIELDS, strict=True)),
    gc=False,
)
_DECODER = msgspec.json.Decoder(_Entry)
_row = attrgetter(*_ATTRIBUTES)

_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_KEYS = (b'"__REALTIME_TIMESTAMP":', b'"__CURSOR":', b'"_BOOT_ID":')
_SHIPPED = re.compile(rb'"(?:source_type|message|log|line)" ?:')  # a shipper's own envelope
_PRETTY = re.compile(rb'\t"[A-Z_][A-Z0-9_]*" ?: ?|[{}\]]|\t[\]}],?|\t\t?[\[0-9"]|\tnull')
_SALVAGE_TRIES = 64


class JournalJson:
    """One entry a line, or an object over many lines; `line` is the line on which the object begins."""

    name = "journal-json"

    def score(self, head: Head) -> float:
        """Count lines that are an object with journald's own addresses, or parts of a pretty one."""
        lines = [_bare(line) for line in head.lines]
        if lines[0:1] == [b"{"] or sum(line == b"{" for line in lines) > 1:
            pretty = sum(1 for line in head.lines if _PRETTY.match(line))
            return pretty / len(lines) if any(_is_address(line) for line in lines) else 0.0
        known = sum(1 for line in lines if line.startswith(b"{") and _is_address(line))
        return known / len(lines) if lines else 0.0

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield a frame a block."""
        reader = _Reader(EntryReader(context))
        for block in blocks:
            yield from reader.feed(block)
        yield from reader.close()


def _is_address(line: bytes) -> bool:
    return any(key in line or key[:-1] + b" :" in line for key in _KEYS) and not _SHIPPED.search(line)


def _bare(line: bytes) -> bytes:
    """Return a line without colours, without what json-seq and json-sse put in front."""
    if b"\x1b[" in line:
        line = _COLOUR.sub(b"", line)
    return line.lstrip(b"\x1e \t\r").removeprefix(b"data: ").strip()


class _Reader:
    def __init__(self, entries: EntryReader) -> None:
        self._entries = entries
        self._open: list[bytes] = []  # lines of a pretty object that has not ended
        self._open_line = 0

    def feed(self, block: Block) -> Iterator[pl.DataFrame]:
        if not block.long and not self._open:
            rows = _fast_rows(block.data)
            if rows:
                yield self._entries.frame(range(block.line, block.line + len(rows)), rows)
                return
        yield from self._frame(self._slow_rows(block))

    def close(self) -> Iterator[pl.DataFrame]:
        if self._open:
            yield from self._frame([(self._open_line, *_entry(b"".join(self._open)))])

    def _frame(self, found: list[tuple[int, tuple[Any, ...], str | None]]) -> Iterator[pl.DataFrame]:
        if found:
            damage = {place: kind for place, (_, _, kind) in enumerate(found) if kind is not None}
            yield self._entries.frame([line for line, _, _ in found], [row for _, row, _ in found], damage)

    def _slow_rows(self, block: Block) -> list[tuple[int, tuple[Any, ...], str | None]]:
        found: list[tuple[int, tuple[Any, ...], str | None]] = []
        long = set(block.long)
        for place, raw in enumerate(block.data.removesuffix(b"\n").split(b"\n")):
            number, line = block.line + place, _bare(raw)
            if place in long:
                row, _ = _entry(line)
                found.append((number, row, "too_long_line"))
            elif self._open:
                done = self._continue(line, number)
                if done is not None:
                    found.append(done)
            elif line == b"{":
                self._open, self._open_line = [line], number
            elif line:
                found.append((number, *_entry(line)))
        return found

    def _continue(self, line: bytes, number: int) -> tuple[int, tuple[Any, ...], str | None] | None:
        """Take a line of a pretty object; return the object when the line ends it."""
        if line == b"{":  # the object before was cut off
            torn = (self._open_line, *_entry(b"".join(self._open)))
            self._open, self._open_line = [line], number
            return torn
        self._open.append(line)
        if line != b"}" and len(self._open) < _LONGEST_OBJECT:
            return None
        whole = (self._open_line, *_entry(b"".join(self._open)))
        self._open = []
        return whole


_LONGEST_OBJECT = 200_000  # lines: a byte array has one a byte


def _fast_rows(data: bytes) -> list[tuple[Any, ...]] | None:
    """Decode a block in which each line is an object; None when it is anything else."""
    if b"\x1e" in data:
        data = data.replace(b"\x1e", b"")
    if b"\n\n" in data or data.startswith((b"\n", b"{\n")) or b"\n{\n" in data:
        return None
    try:
        rows = list(map(_row, _DECODER.decode_lines(data)))
    except (msgspec.MsgspecError, RecursionError):
        return None
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if len(rows) != lines or any(row[0] is NO_MESSAGE and not row[1] for row in rows):
        return None
    return rows


def _entry(line: bytes) -> tuple[tuple[Any, ...], str | None]:
    """Read one object; what is broken gives its complete fields, what is no entry its text."""
    try:
        row: tuple[Any, ...] | None = _row(_DECODER.decode(line))
    except (msgspec.MsgspecError, RecursionError):
        row = _lenient(line)
    if row is None:
        return _torn(line)
    if row[0] is NO_MESSAGE and not any(row[1:]):
        return (line.decode(errors="replace"), *_DEFAULTS[1:]), None if is_utf8(line) else "invalid_utf8"
    return row, None if is_utf8(line) else "invalid_utf8"


def _lenient(line: bytes) -> tuple[Any, ...] | None:
    """Read an object whose values have other types than journalctl's, or hold half a surrogate pair."""
    if not line.startswith(b"{"):
        return None
    try:
        fields = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    values = (fields.get(name, default) for name, default in zip(FIELDS, _DEFAULTS, strict=True))
    return tuple(map(_known_type, values))


def _known_type(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if value is None or value is NO_MESSAGE or isinstance(value, list):
        return value
    return json.dumps(value)


def _torn(line: bytes) -> tuple[tuple[Any, ...], str | None]:
    """Read the complete fields of an object that is cut off; no object at all is a message of its own."""
    text = (line.decode(errors="replace"), *_DEFAULTS[1:])
    if not line.startswith(b'{"'):
        return text, None if is_utf8(line) else "invalid_utf8"
    end = len(line)
    for _ in range(_SALVAGE_TRIES):
        end = line.rfind(b',"', 0, end)
        if end < 0:
            break
        try:
            row = _row(_DECODER.decode(line[:end] + b"}"))
        except (msgspec.MsgspecError, RecursionError):
            continue
        return row, "truncated_file"
    return text, "truncated_file"
