"""journalctl's short family (`short`, `-precise`, `-iso`, `-full`, `-unix`, `-monotonic`, `with-unit` …) and
rsyslog's traditional file, which has the same bytes.

A record is `TIME [HOST] IDENT[PID]: MESSAGE`. Further lines of a message are indented by the byte length of
that prefix. A block is matched one stamp form after another, the form of the lines before first, so that a
file of one form costs one pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.carriers.frames import MORE_MAYBE, MORE_NO, record_frame
from kvforensics.carriers.journal_stamps import STAMPS, Stamp
from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Block, Blocks
    from kvforensics.carriers.carrier import Context, Head

_STRICT = r"([^:]+):(?: |$)"
_LENIENT = r"(.+?):(?: |$)"
_RECORD = re.compile(
    "(?:" + "|".join(stamp.pattern.replace(r"\p{L}", r"[^\W\d_]") for stamp in STAMPS) + ") "
    r"(?:[A-Za-z0-9_.:-]+ )?[^\s:\[\]\"{}]+(?::[^\s:\[\]\"{}]+)*(?:\[[0-9]+\])?:(?: |$)"
)
_RFC3339 = re.compile(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{6}[+-][0-9]{2}:[0-9]{2} ")
_RSYSLOG = re.compile(r" sudo: |#0[0-3][0-7]| rsyslogd(?:\[[0-9]+\])?: | CRON\[")
_JOURNALCTL = re.compile(
    r"^-- (?:Boot|Reboot|Journal begins|Logs begin|No entries)|^░░ "
    r"| sudo\[[0-9]+\]: |: \[[0-9.]+[BKMG] blob data\]$"
)

_HEAD = re.compile(r"(?:(?P<host>[^ ]+) )?(?P<ident>.*?)(?:\[(?P<pid>[0-9]{1,10})\])?", re.DOTALL)
_UNIT = re.compile(r"(?:.*/)?([^/]+\.(?:service|scope|slice|socket|mount|timer|target|path|swap|device))")
_BOOT = re.compile(r"-- Boot ([0-9a-f]{32}) --")
_BEGINS = re.compile(
    r"-- (?:Journal begins|Logs begin) at \S+ ([0-9-]{10} [0-9:]{8}) \S+, "
    r"ends? at \S+ ([0-9-]{10} [0-9:]{8}) \S+\. --"
)
_NO_RECORD = r"^(?:--(?: |$)|░░)"
_BLOB = r"^\[[0-9.]+[BKMGTPE] blob data\]$"
_ESCAPED = re.compile(r"#(0[0-3][0-7]|177)")
_SUPPRESSED = r"^Suppressed [0-9]+ messages from "
_LINK = r"\x1b\]8;;[^\x07\x1b]*(?:\x07|\x1b\\)((?s).*?)\x1b\]8;;(?:\x07|\x1b\\)"
_MORE_LINK = r"^\x1b\]8;;[^\x07\x1b]*(?:\x07|\x1b\\)\[🡕\]\x1b\]8;;(?:\x07|\x1b\\) ?"
_WRAPPED = r"^((?:\x1b\[0;[0-9;]*m)+)((?s).*)\x1b\[0m$"
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
            if _RECORD.match(line):
                weight = shared if _RFC3339.match(line) else 1.0
                found += weight
            elif line.startswith(("        ", "░░", "-- ")):
                found += weight
        return found / len(lines) if lines else 0.0

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield a frame a block; the last record of a block waits for lines that may belong to it."""
        reader = _Reader(context, hostless=_is_hostless(blocks.head))
        for block in blocks:
            yield from reader.feed(_lines(block))
        yield from reader.close()


def _lines(block: Block) -> pl.DataFrame:
    """Return the lines of a block: `line`, `text`, `damage`."""
    damage = block.damage()
    text = block.text().alias("text")
    if damage is None:
        damage = pl.Series("damage", [None], dtype=pl.String).new_from_index(0, len(text))
    return pl.DataFrame([block.numbers(), text, damage])


def _is_hostless(head: Head) -> bool:
    """Whether the records have no host (`--no-hostname`): most have a single word before the colon."""
    texts = pl.Series("text", [line.decode(errors="replace") for line in head.lines], dtype=pl.String)
    heads = _Matcher().match(texts)["head"].drop_nulls()
    return int(heads.str.contains(" ", literal=True).sum()) * 2 < len(heads)


class _Matcher:
    """Cuts lines into stamp, head (`HOST IDENT[PID]`) and message, the form that matched last tried first."""

    def __init__(self) -> None:
        self._forms = list(range(len(STAMPS)))

    def match(self, text: pl.Series) -> pl.DataFrame:
        """Return `form` (index into STAMPS), `stamp`, `head` of each line, null where none matches."""
        first = self._forms[0]
        groups = _groups(text, STAMPS[first], _STRICT)
        stamp, head = groups["1"], groups["2"]
        form = pl.Series([first], dtype=pl.Int8).new_from_index(0, len(text))
        missing = stamp.is_null()
        for number in list(self._forms):
            places = (missing & ~text.str.starts_with("         ")).arg_true()
            if not len(places):
                break
            groups = _groups(text.gather(places), STAMPS[number], _LENIENT)
            hits = groups["1"].is_not_null()
            if not hits.any():
                continue
            found = places.filter(hits)
            stamp = stamp.scatter(found, groups["1"].filter(hits))
            head = head.scatter(found, groups["2"].filter(hits))
            form = form.scatter(found, number)
            missing = stamp.is_null()
            if number != first and len(found) * 2 > len(text):
                self._forms.remove(number)
                self._forms.insert(0, number)
        form = form.zip_with(~missing, pl.Series([None], dtype=pl.Int8))
        return pl.DataFrame([form.alias("form"), stamp.alias("stamp"), head.alias("head")])


def _groups(text: pl.Series, stamp: Stamp, rest: str) -> pl.DataFrame:
    return text.str.extract_groups(f"^({stamp.pattern}) {rest}").struct.unnest()


@dataclass(slots=True)
class _Reader:
    context: Context
    hostless: bool
    matcher: _Matcher = field(default_factory=_Matcher)
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
        boots = None
        text, damage = lines["text"], lines["damage"]
        width = matched["stamp"].str.len_chars() + matched["head"].str.len_chars() + 3
        message = text.to_frame("text").select(
            pl.when(marks).then(pl.col("text").str.slice(width)).otherwise(pl.col("text")).alias("message")
        )["message"]
        keep = pl.Series([True], dtype=pl.Boolean).new_from_index(0, lines.height)
        if not marks.all():
            below = _below(lines, matched, marks)
            notes = text.str.contains(_NO_RECORD) & ~marks
            boots = self._notes(text, notes)
            message, damage = _with_below(message, damage, marks, below)
            keep = marks | ~(notes | below["is_below"])
        made: dict[str, Any] = {
            "line": lines["line"],
            "message": _program_text(message, matched["form"]),
            "origin": self._numbers(matched["head"], boots),
            **self._times(matched),
        }
        made["message"], made["damage"] = _damage(made["message"], damage, marks)
        sizes = made["message"].str.len_bytes()
        if sizes.max() in _PIECE_BYTES or sizes.is_in(_PIECE_BYTES).any():
            made["_more"] = sizes.is_in(_PIECE_BYTES).cast(pl.Int8).fill_null(0) * (MORE_MAYBE - MORE_NO)
        frame = record_frame(self.context, made)
        return frame if keep.all() else frame.filter(keep)

    def _notes(self, text: pl.Series, notes: pl.Series) -> pl.Series | None:
        """Take what journalctl's own lines say; return the boot of each line if any is known."""
        boots: dict[int, str] = {}
        for place in notes.arg_true():
            note: str = text[place]
            boot = _BOOT.fullmatch(note)
            if boot is not None:
                boots[place] = boot[1]
            elif note.startswith("-- "):
                self._begins(note)
        if not boots:
            return None
        known: list[str | None] = [None] * len(text)
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
            origin = Origin() if head is None else _parsed(head, boot, hostless=self.hostless)
            number = self.origins[head or "", boot] = self.context.origins.intern(origin)
        return number

    def _times(self, matched: pl.DataFrame) -> dict[str, pl.Series]:
        forms = matched["form"].drop_nulls().unique()
        zone = self.context.options.tz
        if len(forms) == 1:
            return STAMPS[forms[0]].read(matched["stamp"], zone)
        columns: dict[str, pl.Series] = {}
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


def _parsed(head: str, boot: str | None, *, hostless: bool) -> Origin:
    match = _HEAD.fullmatch(head)
    assert match is not None, "the pattern takes any text"
    host, ident, pid = match["host"], match["ident"], match["pid"]
    if host is not None and (hostless or not ident):
        ident, host = f"{host} {ident}".strip(), None
    number = int(pid) if pid else None
    unit = _UNIT.fullmatch(ident)
    if unit is None:
        return Origin(host=host, ident=ident or None, pid=number, boot=boot)
    if unit[1] == "init.scope" and number == 1:
        return Origin(host=host, ident="systemd", pid=1, boot=boot)
    return Origin(host=host, unit=unit[1], pid=number, boot=boot)


def _below(lines: pl.DataFrame, matched: pl.DataFrame, marks: pl.Series) -> pl.DataFrame:
    """Say of each line whether it belongs to the record above it (`is_below`), and its text without indent."""
    stamp, head = matched["stamp"].str.len_bytes(), matched["head"].str.len_bytes()
    width = (stamp.cast(pl.Int64) + head.cast(pl.Int64) + 3).forward_fill()
    places = (~marks & width.is_not_null() & lines["text"].str.starts_with(" ")).arg_true()
    columns = {"text": lines["text"].gather(places), "width": width.gather(places), "place": places}
    candidates = pl.DataFrame(columns)
    indent = pl.col("text").str.slice(0, pl.col("width"))
    is_below = (indent.str.len_bytes() == pl.col("width")) & (indent.str.strip_chars(" ") == "")
    found = candidates.filter(is_below).with_columns(pl.col("text").str.slice(pl.col("width")))
    empty = pl.Series("text", [None], dtype=pl.String).new_from_index(0, lines.height)
    text = empty.scatter(found["place"], found["text"])
    return pl.DataFrame([text.is_not_null().alias("is_below"), text])


def _with_below(
    message: pl.Series, damage: pl.Series, marks: pl.Series, below: pl.DataFrame
) -> tuple[pl.Series, pl.Series]:
    """Return messages with the lines below joined to them, and damage likewise."""
    if not below["is_below"].any():
        return message, damage
    rows = pl.DataFrame([marks.cum_sum().alias("record"), _uncoloured(below["text"]).alias("text"), damage])
    rows = rows.filter(below["is_below"])
    groups = rows.group_by("record", maintain_order=True).agg(
        pl.col("text").str.join("\n"), pl.col("damage").drop_nulls().first()
    )
    records = marks.arg_true().gather(groups["record"] - 1)
    first = _uncoloured(message.gather(records))
    joined = pl.select(pl.concat_str([first, groups["text"]], separator="\n")).to_series()
    above = damage.gather(records)
    return (
        message.scatter(records, joined),
        damage.scatter(records, above.zip_with(above.is_not_null(), groups["damage"])),
    )


def _program_text(message: pl.Series, form: pl.Series) -> pl.Series:
    """Take journalctl's colours off, and rsyslog's escapes."""
    message = _uncoloured(message)
    places = (message.str.contains("#0", literal=True) & (form == 0)).arg_true()
    if len(places):
        texts = [_ESCAPED.sub(lambda match: chr(int(match[1], 8)), message[place]) for place in places]
        message = message.scatter(places, pl.Series(texts, dtype=pl.String))
    return message


def _uncoloured(text: pl.Series) -> pl.Series:
    """Take off the colours and links that journalctl put around a message for a terminal."""
    linked = text.str.contains("\x1b]8;;", literal=True).fill_null(value=False).arg_true()
    if len(linked):
        bare = text.gather(linked).str.replace_all(_MORE_LINK, "").str.replace_all(_LINK, "$1")
        text = text.scatter(linked, bare)
    places = text.str.contains("\x1b[0m", literal=True).fill_null(value=False).arg_true()
    if not len(places):
        return text
    inner = text.gather(places)
    bare = inner.str.extract(_WRAPPED, 2).str.replace_all("\x1b\\[0;[0-9;]*m", "")
    return text.scatter(places, bare.zip_with(bare.is_not_null(), inner))


def _damage(message: pl.Series, damage: pl.Series, marks: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Find the messages that journalctl replaced, and journald's word that it dropped some."""
    blobs = message.str.ends_with(" blob data]") & message.str.contains(_BLOB) & marks
    if blobs.any():
        damage = damage.set(blobs, "blob_data")
        message = message.set(blobs, None)
    suppressed = message.str.contains(_SUPPRESSED).fill_null(value=False) & marks
    if suppressed.any():
        damage = damage.set(suppressed, "rate_limited")
    return message, damage
