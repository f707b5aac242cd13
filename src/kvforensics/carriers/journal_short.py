"""journalctl's short family and rsyslog's traditional file, which has the same bytes.

The family: `short`, `short-precise`, `-iso`, `-iso-precise`, `-full`, `-unix`, `-monotonic`, `-delta`,
`with-unit`, each with `--no-hostname`, `-r`, `-x`, `-a`, colours and localised months. A record is
`TIME [HOST] IDENT[PID]: MESSAGE`; further lines of a message are indented by the byte length of that prefix.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec import Struct, field

from kvforensics.carriers.frames import MORE_MAYBE, record_frame
from kvforensics.carriers.journal_prefix import Matcher, is_hostless, is_record, origin_of
from kvforensics.carriers.journal_stamps import STAMPS
from kvforensics.carriers.journal_text import below, program_text, text_damage, with_below
from kvforensics.columns import constant
from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Block, Blocks
    from kvforensics.carriers.carrier import Context, Head

_RFC3339 = re.compile(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{6}[+-][0-9]{2}:[0-9]{2} ")
_RSYSLOG = re.compile(r" sudo: |#0[0-3][0-7]| rsyslogd(?:\[[0-9]+\])?: | CRON\[")
_JOURNALCTL = re.compile(
    r"^-- (?:Boot|Reboot|Journal begins|Logs begin|No entries)|^░░ "
    r"| sudo\[[0-9]+\]: |: \[[0-9.]+[BKMG] blob data\]$"
)
_BOOT = re.compile(r"-- Boot ([0-9a-f]{32}) --")
_BEGINS = re.compile(
    r"-- (?:Journal begins|Logs begin) at \S+ ([0-9-]{10} [0-9:]{8}) \S+, "
    r"ends? at \S+ ([0-9-]{10} [0-9:]{8}) \S+\. --"
)
_NO_RECORD = r"^(?:--(?: |$)|░░)"
# LineMax=2K and 48K, docker's driver 16 KiB; journald takes a trailing space away
_PIECE_BYTES = (2047, 2048, 16_384, 49_151, 49_152)
_TIMES = {"at": pl.Datetime("us"), "_wall": pl.Datetime("us"), "mono": pl.Int64()}
_CARRIED_BYTES = 32 << 20  # of a record and the lines below it that wait for the next block


class JournalShort:
    """One record a line, and the indented lines below it."""

    name = "journal-short"

    def score(self, head: Head) -> float:
        """Count records and indented lines.

        RFC 3339 with microseconds is rsyslog's form as well as that of `short-iso-precise` since systemd 254:
        such lines count half unless something in the head is journalctl's alone, a tenth if it is rsyslog's.
        """
        lines = [line.decode(errors="replace") for line in head.lines]
        journalctl = any(_JOURNALCTL.search(line) for line in lines)
        rsyslog = any(_RSYSLOG.search(line) for line in lines)
        shared = 1.0 if journalctl else 0.1 if rsyslog else 0.5
        found = 0.0
        weight = 0.0  # of the record above
        for line in lines:
            if is_record(line):
                weight = shared if _RFC3339.match(line) else 1.0
                found += weight
            elif line.startswith(("        ", "░░", "-- ")):
                found += weight
        return found / len(lines) if lines else 0.0

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield a frame a block; the last record of a block waits for lines that may belong to it."""
        matcher = Matcher()
        reader = _Reader(context, matcher, hostless=is_hostless(blocks.head, matcher))
        for block in blocks:
            yield from reader.feed(_lines(block))
        yield from reader.close()


def _lines(block: Block) -> pl.DataFrame:
    """Return the lines of a block: `line`, `text`, `damage`."""
    damage = block.damage()
    text = block.text().alias("text")
    if damage is None:
        damage = constant("damage", None, pl.String(), len(text))
    return pl.DataFrame([block.numbers(), text, damage])


class _Reader(Struct):
    context: Context
    matcher: Matcher
    hostless: bool
    carried: pl.DataFrame | None = None
    boot: str | None = None
    origins: dict[tuple[str, str | None], int] = field(default_factory=dict)

    def feed(self, lines: pl.DataFrame) -> Iterator[pl.DataFrame]:
        if self.carried is not None:
            lines = pl.concat([self.carried, lines])
        matched = self.matcher.match(lines["text"])
        marks = matched["form"].is_not_null()
        last = lines.height - 1 - int(marks.reverse().arg_max() or 0) if marks.any() else lines.height
        self.carried = lines[last:] if last < lines.height else None
        if self.carried is not None and _bytes(self.carried["text"]) > _CARRIED_BYTES:
            self.carried, last = None, lines.height
        if last:
            yield self._frame(lines[:last], matched[:last])

    def close(self) -> Iterator[pl.DataFrame]:
        if self.carried is not None:
            yield self._frame(self.carried, self.matcher.match(self.carried["text"]))

    def _frame(self, lines: pl.DataFrame, matched: pl.DataFrame) -> pl.DataFrame:
        marks = matched["form"].is_not_null()
        text, damage = lines["text"], lines["damage"]
        boots = None
        width = matched["stamp"].str.len_chars() + matched["head"].str.len_chars() + 3
        message = text.to_frame("text").select(
            pl.when(marks).then(pl.col("text").str.slice(width)).otherwise(pl.col("text")).alias("message")
        )["message"]
        keep = pl.Series([True], dtype=pl.Boolean).new_from_index(0, lines.height)
        if not marks.all():
            further = below(lines, matched, marks)
            notes = text.str.contains(_NO_RECORD) & ~marks
            boots = self._notes(lines, notes)
            message, damage = with_below(message, damage, marks, further)
            keep = marks | ~(notes | further["is_below"])
        made: dict[str, Any] = {
            "line": lines["line"],
            "message": program_text(message, matched["stamp"]),
            "origin": self._numbers(matched["head"], boots),
            **self._times(matched),
        }
        made["message"], made["damage"] = text_damage(made["message"], damage, marks)
        sizes = made["message"].str.len_bytes()
        if sizes.max() in _PIECE_BYTES or sizes.is_in(_PIECE_BYTES).any():
            made["_more"] = sizes.is_in(_PIECE_BYTES).cast(pl.Int8).fill_null(0) * MORE_MAYBE
        frame = record_frame(self.context, made)
        return frame if keep.all() else frame.filter(keep)

    def _notes(self, lines: pl.DataFrame, notes: pl.Series) -> pl.Series | None:
        """Take what journalctl's own lines say; return the boot of each line if any is known."""
        boots: dict[int, str] = {}
        for place in notes.arg_true():
            note: str = lines["text"][place]
            boot = _BOOT.fullmatch(note)
            if boot is not None:
                boots[place] = boot[1]
            elif note == "-- Reboot --":  # up to systemd 246: another boot, whose id is not told
                boots[place] = f"after line {lines['line'][place]}"
            elif note.startswith("-- "):
                self._begins(note)
        if not boots:
            return None
        known: list[str | None] = [None] * lines.height
        known[0] = self.boot
        for place, name in boots.items():
            known[place] = name
        filled = pl.Series("boot", known, dtype=pl.String).forward_fill()
        self.boot = filled[-1]
        return filled

    def _begins(self, note: str) -> None:
        match = _BEGINS.fullmatch(note)
        if match is None or self.context.bounds.begins is not None:
            return
        try:
            begins, ends = map(datetime.fromisoformat, match.groups())
        except ValueError:
            return
        self.context.bounds.begins, self.context.bounds.ends = begins, ends

    def _numbers(self, heads: pl.Series, boots: pl.Series | None) -> pl.Series:
        """Return the origin's number of each line."""
        if boots is None:
            names = heads.unique()
            numbers = pl.Series([self._origin(name, self.boot) for name in names], dtype=pl.UInt32)
            return _replaced(heads, names, numbers)
        both = pl.DataFrame([heads.alias("head"), boots.alias("boot")])
        known = both.unique()
        found = [self._origin(head, boot) for head, boot in known.iter_rows()]
        known = known.with_columns(pl.Series("origin", found, dtype=pl.UInt32))
        joined = both.join(known, on=["head", "boot"], how="left", nulls_equal=True, maintain_order="left")
        return joined["origin"]

    def _origin(self, head: str | None, boot: str | None) -> int:
        number = self.origins.get((head or "", boot))
        if number is None:
            origin = Origin() if head is None else origin_of(head, boot, hostless=self.hostless)
            number = self.origins[head or "", boot] = self.context.origins.intern(origin)
        return number

    def _times(self, matched: pl.DataFrame) -> dict[str, pl.Series]:
        forms = matched["form"].drop_nulls().unique()
        zone = self.context.options.tz
        columns: dict[str, pl.Series] = {}
        if len(forms) == 1:
            columns |= STAMPS[forms[0]].read(matched["stamp"], zone)
            forms = forms.clear()
        for form in forms:
            places = (matched["form"] == form).arg_true()
            for name, values in STAMPS[form].read(matched["stamp"].gather(places), zone).items():
                empty = pl.Series(name, [None], dtype=_TIMES[name]).new_from_index(0, matched.height)
                columns[name] = columns.get(name, empty).scatter(places, values)
        return columns


def _bytes(text: pl.Series) -> int:
    return int(text.str.len_bytes().cast(pl.Int64).sum())


def _replaced(heads: pl.Series, names: pl.Series, numbers: pl.Series) -> pl.Series:
    known = pl.DataFrame([names.alias("head"), numbers.alias("origin")]).filter(pl.col("head").is_not_null())
    unknown = numbers.filter(names.is_null())
    default = unknown[0] if len(unknown) else None
    return heads.replace_strict(known["head"], known["origin"], default=default, return_dtype=pl.UInt32)
