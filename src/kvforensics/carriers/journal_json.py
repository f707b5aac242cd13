"""`journalctl -o json`, `json-seq`, `json-sse` and `json-pretty`, with and without `-a`, coloured or not.

Without `-a` journalctl writes null for a field of 4,096 bytes and more (name and `=` included): it is just
the `server_args=` line that is lost. What is not UTF-8 or holds control characters comes as an array of byte
values, a field that occurs several times as an array.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from kvforensics.carriers.blocks import is_utf8
from kvforensics.carriers.journal_entries import EntryReader
from kvforensics.carriers.journal_fields import (
    ABSENT,
    FIELDS,
    KEY_FIELDS,
    NO_MESSAGE,
    RARE_FIELDS,
    VALUE_FIELDS,
    FieldEntries,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from kvforensics.carriers.blocks import Block, Blocks
    from kvforensics.carriers.carrier import Context, Head

_ATTRIBUTES = {field: f"f{place}" for place, field in enumerate(FIELDS)}


def _decoder(*fields: str) -> msgspec.json.Decoder[Any]:
    entry = msgspec.defstruct(
        "Entry",
        [
            (_ATTRIBUTES[field], str | list[Any] | None, NO_MESSAGE if field == "MESSAGE" else ABSENT)
            for field in fields
        ],
        rename={_ATTRIBUTES[field]: field for field in fields},
        gc=False,
    )
    return msgspec.json.Decoder(entry)


_SHORT_DECODER = _decoder(*VALUE_FIELDS, *KEY_FIELDS, *RARE_FIELDS)  # most have these, or they tell of more
_DECODER = _decoder(*FIELDS)
_ANY_DECODER = msgspec.json.Decoder()
_MANY = 4  # one in so many is worth reading all entries whole
_key = attrgetter(*(_ATTRIBUTES[field] for field in KEY_FIELDS))
_rare = attrgetter(*(_ATTRIBUTES[field] for field in RARE_FIELDS))
_message = attrgetter(_ATTRIBUTES["MESSAGE"])
_place = attrgetter(*(_ATTRIBUTES[field] for field in ("MESSAGE", "__CURSOR", "__REALTIME_TIMESTAMP")))
_all = attrgetter(*_ATTRIBUTES.values())
_DEFAULTS = (NO_MESSAGE, *(ABSENT for _ in FIELDS[1:]))
_NOWHERE = (NO_MESSAGE, ABSENT, ABSENT)
_NOTHING_RARE = (ABSENT,) * len(RARE_FIELDS)

_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_OBJECT = re.compile(rb'\{\s*"')  # not the labels that logcli puts in front
_KEYS = (b'"__REALTIME_TIMESTAMP":', b'"__CURSOR":', b'"_BOOT_ID":')
_SHIPPED = re.compile(rb'"(?:source_type|message|log|line)" ?:')  # a shipper's own envelope
_PRETTY = re.compile(rb'[ \t]+"[A-Z_][A-Z0-9_]*" ?: ?|[{}\]]|[ \t]+(?:[\]}],?|[\[0-9"]|null)')
_NEXT_FIELD = re.compile(rb', ?"')
_SALVAGE_TRIES = 64
_LONGEST_OBJECT = 200_000  # lines: a byte array has one a byte

_Found = tuple[int, dict[str, Any], str | None]  # line, fields, damage


class JournalJson:
    """One entry a line, or an object over many lines; `line` is the line on which the object begins."""

    name = "journal-json"

    def score(self, head: Head) -> float:
        """Count lines that are an object with journald's own addresses, or parts of a pretty one."""
        lines = [_bare(line) for line in head.lines]
        if lines[0:1] == [b"{"] or sum(line == b"{" for line in lines) > 1:
            pretty = sum(1 for line in head.lines if _PRETTY.match(line))
            return pretty / len(lines) if any(_is_address(line) for line in lines) else 0.0
        known = sum(1 for line in lines if _OBJECT.match(line) and _is_address(line))
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


class _Decoded:
    """Entries as a decoder gives them; one read in short is read whole when a value of it is asked for."""

    def __init__(self, rows: list[Any], block: Block, *, whole: bool) -> None:
        self._rows, self._block, self._whole = rows, block, whole
        self._messages = list(map(_message, rows))
        self._rare = list(compress(range(len(rows)), map(_NOTHING_RARE.__ne__, map(_rare, rows))))
        self._asked: tuple[int, dict[str, Any]] = (-1, {})  # the place asked for last, and its fields

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, field: str) -> list[Any]:
        if field == "MESSAGE":
            return self._messages
        return list(map(attrgetter(_ATTRIBUTES[field]), self._rows))

    def keys(self) -> list[tuple[Any, ...]]:
        return list(map(_key, self._rows))

    def rare(self) -> list[int]:
        return self._rare

    def value(self, place: int, field: str) -> Any:
        if self._whole:
            return getattr(self._rows[place], _ATTRIBUTES[field])
        if self._asked[0] != place:
            self._asked = place, _entry(_bare(self._lines[place]))[0]
        return self._asked[1].get(field, ABSENT)

    @cached_property
    def _lines(self) -> list[bytes]:
        return list(self._block.each())


class _Reader:
    def __init__(self, entries: EntryReader) -> None:
        self._entries = entries
        self._open: list[bytes] = []  # lines of a pretty object that has not ended
        self._open_line = 0
        self._whole = False  # whether many entries of the last block had to be read whole

    def feed(self, block: Block) -> Iterator[pl.DataFrame]:
        entries = None if block.long or self._open else _decoded(block, whole=self._whole)
        if entries is not None:
            self._whole = _MANY * len(entries.rare()) > len(entries)
            yield self._entries.frame(block.numbers(), entries, {})
        else:
            yield from self._frame(self._slow_rows(block))

    def close(self) -> Iterator[pl.DataFrame]:
        if self._open:
            yield from self._frame([(self._open_line, *_entry(b"".join(self._open)))])

    def _frame(self, found: list[_Found]) -> Iterator[pl.DataFrame]:
        if found:
            damage = {place: kind for place, (_, _, kind) in enumerate(found) if kind is not None}
            rows = FieldEntries([row for _, row, _ in found])
            yield self._entries.frame([line for line, _, _ in found], rows, damage)

    def _slow_rows(self, block: Block) -> list[_Found]:
        found: list[_Found] = []
        long = set(block.long)
        for place, raw in enumerate(block.data.removesuffix(b"\n").split(b"\n")):
            number, line = block.line + place, _bare(raw)
            if place in long:
                found.append((number, _entry(line)[0], "too_long_line"))
            elif self._open:
                done = self._continue(line, number)
                if done is not None:
                    found.append(done)
            elif line == b"{":
                self._open, self._open_line = [line], number
            elif line:
                found.append((number, *_entry(line)))
        return found

    def _continue(self, line: bytes, number: int) -> _Found | None:
        """Take a line of a pretty object; return the object when the line ends it."""
        if line == b"{":  # the object before was cut off
            torn = (self._open_line, *_entry(b"".join(self._open)))
            self._open, self._open_line = [line], number
            return torn
        if len(self._open) < _LONGEST_OBJECT:
            self._open.append(line)
        if line != b"}":
            return None
        lines, self._open = self._open, []
        fields, kind = _entry(b"".join(lines))
        return self._open_line, fields, kind if len(lines) < _LONGEST_OBJECT else "too_long_line"


def _decoded(block: Block, *, whole: bool) -> _Decoded | None:
    """Decode a block in which each line is an entry; None when it is anything else."""
    lines: Iterable[bytes] = block.each()
    if b"\x1e" in block:
        lines = (line.removeprefix(b"\x1e") for line in lines)
    try:  # `decode_lines` would take two objects in a line, and one over two lines
        rows = list(map((_DECODER if whole else _SHORT_DECODER).decode, lines))
    except (msgspec.MsgspecError, RecursionError):
        return None
    block.counted(len(rows))
    entries = _Decoded(rows, block, whole=whole)
    if NO_MESSAGE in entries.column("MESSAGE") and _NOWHERE in map(_place, rows):
        return None
    return entries


def _entry(line: bytes) -> tuple[dict[str, Any], str | None]:
    """Read one object and its damage; what is broken gives its complete fields, what is no entry its text."""
    try:
        row = _DECODER.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        fields = _fields(line)
        kind = None if is_utf8(line) else "invalid_utf8"
    else:  # bad bytes in a field that nobody needs are no damage
        values = zip(FIELDS, _all(row), _DEFAULTS, strict=True)
        fields, kind = {field: value for field, value, default in values if value is not default}, None
    if fields is None:
        return _torn(line)
    if not any(field in fields for field in ("MESSAGE", "__CURSOR", "__REALTIME_TIMESTAMP")):
        return {"MESSAGE": line.decode(errors="replace")}, None if is_utf8(line) else "invalid_utf8"
    return {field: _known_type(fields[field]) for field in FIELDS if field in fields}, kind


def _fields(line: bytes) -> dict[str, Any] | None:
    """Decode an object; leniently where it is not UTF-8 or holds control characters or half a pair."""
    try:
        fields = _ANY_DECODER.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        try:
            text = line.decode(errors="replace")
            fields = json.loads(text, strict=False) if line.startswith(b"{") else None
        except (ValueError, RecursionError):
            return None
    return fields if isinstance(fields, dict) else None


def _known_type(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if value is None or isinstance(value, list):
        return value
    return json.dumps(value)


def _torn(line: bytes) -> tuple[dict[str, Any], str | None]:
    """Read the complete fields of an object that is cut off; no object at all is a message of its own."""
    text = {"MESSAGE": line.decode(errors="replace")}
    if not line.startswith(b'{"'):
        return text, None if is_utf8(line) else "invalid_utf8"
    ends = [match.start() for match in _NEXT_FIELD.finditer(line)][-_SALVAGE_TRIES:]
    for end in reversed(ends):
        try:
            fields = _ANY_DECODER.decode(line[:end] + b"}")
        except (msgspec.MsgspecError, RecursionError):
            continue
        known = {field: _known_type(fields[field]) for field in FIELDS if field in fields}
        return known or text, "truncated_file"
    return text, "truncated_file"
