"""What is kept of a record to know it again when another input holds it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct

from kvforensics import compiled
from kvforensics.carriers.prefixed import ANSI
from kvforensics.columns import constant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.records import Origin, Origins, Source

SECOND_US = 1_000_000
_PRECISIONS = (SECOND_US, 1000)
BASES = ("at", "mono", "inner")  # clocks: the carrier's, the machine's monotonic one, SGLang's own prefix
_PRECISION_OF = {"mono": 1, "inner": SECOND_US}
_WHO = ("host", "container", "pid")
_STAMP = r"\[(20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})"
_ESCAPES = rf"{ANSI}|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
_UNPRINTABLE = r"[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{fffd}]"
_RELAYS = ("syslog", "journal-short")
_JOURNALS = ("journal-export", "journal-json", "journal-verbose")
_LONG = 7500  # characters that are compared: syslog cuts a message at 8 KiB
_ANY_BLOB = pl.lit(0, dtype=pl.UInt64)


class Knowledge(Struct, frozen=True):
    """What an input tells of its records."""

    bases: tuple[str, ...]  # of BASES, the first is the one that orders it
    precision: int  # of the carrier's times, in microseconds
    who: tuple[str, ...]
    cursors: bool
    blobs: bool  # what cannot be printed is shown as `[84B blob data]`
    carrier: str = ""

    def common(self, other: Knowledge) -> Common | None:
        """Return what both tell; None where no clock is common."""
        basis = next((basis for basis in BASES if basis in self.bases and basis in other.bases), None)
        if basis is None:
            return None
        who = tuple(name for name in self.who if name in other.who)
        precision = max(self.precision, other.precision) if basis == "at" else _PRECISION_OF[basis]
        cursors, blobs = self.cursors and other.cursors, self.blobs or other.blobs
        relayed = basis == "at" and {"host", "pid"} <= set(who) and self._is_relay_of(other)
        return Common(basis, precision, who, cursors, blobs, relayed)

    def _is_relay_of(self, other: Knowledge) -> bool:
        """Whether this is text that syslog may have written, and the other a journal."""
        return self.carrier in _RELAYS and other.carrier in _JOURNALS


class Common(Struct, frozen=True):
    """What two inputs both tell, by which their records are compared."""

    basis: str
    precision: int
    who: tuple[str, ...]
    cursors: bool
    blobs: bool
    relayed: bool = False  # the records may have been stamped anew: `relays`

    @property
    def is_weak(self) -> bool:
        """Whether one agreeing record proves little: every boot of a machine begins with the same lines."""
        if self.basis == "mono":
            return not self.cursors
        return not self.cursors and self.precision == SECOND_US and self.who in ((), ("pid",))

    def agreeing(self, marks: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
        """Tell which records the others hold too, the n-th of equal ones being the n-th there."""
        if self.cursors:
            return marks["cursor"].is_in(others["cursor"].drop_nulls().implode()).fill_null(value=False)
        ours, theirs = self._rough(marks), self._rough(others)
        mine = ours.is_in(theirs.implode()).fill_null(value=False)
        found = pl.repeat(value=False, n=marks.height, dtype=pl.Boolean, eager=True)
        if not mine.any():
            return found
        near = others.filter(theirs.is_in(ours.filter(mine).implode()).fill_null(value=False))
        agrees = self._keyed(marks.filter(mine)).join(
            self._keyed(near).unique().with_columns(pl.lit(value=True).alias("agrees")),
            on=["time", "text", *self.who, "nth"],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )["agrees"]
        return found.scatter(mine.arg_true(), agrees.fill_null(value=False))

    def _rough(self, marks: pl.DataFrame) -> pl.Series:
        """Return a number that is the same where time and text are; hardly any other record has it.

        Most records are in no other input, which it tells several times as fast as all that is known of them.
        Null where there is no time.
        """
        time = (pl.col(self.basis) // self.precision).hash()
        rough = pl.when(pl.col(self.basis).is_not_null()).then(time ^ self._text())
        return marks.select(rough)[:, 0]

    def _text(self) -> pl.Expr:
        return pl.when("blob").then(_ANY_BLOB).otherwise("text") if self.blobs else pl.col("text")

    def _keyed(self, marks: pl.DataFrame) -> pl.DataFrame:
        time = (pl.col(self.basis) // self.precision).alias("time")
        same = ["time", "text", *self.who]
        nth = pl.int_range(pl.len(), dtype=pl.UInt32).over(same).alias("nth")
        return marks.with_columns(time, self._text().alias("text")).select(*same, nth)


class Fingerprints:
    """Makes the fingerprints of one input's records, frame after frame."""

    def __init__(self, origins: Origins, source: Source) -> None:
        self._origins = origins
        self._source = source
        self._last: dict[str, int | None] = {}

    def of(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the clocks of BASES in microseconds, and hashes of text, cursor, host, container and pid.

        A record without a time stands at the time of the record before.
        """
        numbers = frame["origin"].unique().drop_nulls()
        who = pl.DataFrame(
            {
                "origin": numbers,
                **{
                    name: pl.Series([_print(_who(self._origins[n], name)) for n in numbers], dtype=pl.UInt64)
                    for name in _WHO
                },
            }
        )
        messages = frame["message"]
        plain = compiled.are_printable(messages)
        texts = _cut(messages.str.strip_chars_end() if plain else _printed(messages))
        blob = (frame["damage"] == "blob_data").fill_null(value=False)
        if not plain:
            blob |= texts.str.contains(_UNPRINTABLE)
        nothing = constant("cursor", None, pl.UInt64(), frame.height)
        marks = pl.DataFrame(
            {
                "origin": frame["origin"],
                **self._times(frame),
                "text": texts.hash(),
                "blob": blob.fill_null(value=False),
                "cursor": frame["cursor"].hash().zip_with(frame["cursor"].is_not_null(), nothing),
            }
        )
        return marks.join(who, on="origin", how="left", maintain_order="left").drop("origin")

    def knowledge(self, marks: pl.DataFrame) -> Knowledge:
        """Return what the first fingerprints show of the input."""
        bases = tuple(basis for basis in BASES if marks[basis].null_count() < marks.height)
        at = marks["at"].drop_nulls()
        precision = next((size for size in _PRECISIONS if not (at % size != 0).any()), 1)
        who = tuple(name for name in _WHO if marks[name].null_count() < marks.height)
        cursors = marks["cursor"].null_count() == 0
        blobs = self._source.carrier in ("journal-short", "journal-verbose")
        return Knowledge(bases, precision, who, cursors, blobs, self._source.carrier)

    def standing(self) -> dict[str, int | None]:
        """Return the last time of each clock, for `resume`."""
        return dict(self._last)

    def resume(self, last: Mapping[str, int | None]) -> None:
        """Go on with an input of which the first part was printed elsewhere."""
        self._last = dict(last)

    def _times(self, frame: pl.DataFrame) -> dict[str, pl.Series]:
        inner = _inner_times(frame["message"])
        return {
            "at": self._filled("at", frame["at"].to_physical()),
            "mono": self._filled("mono", frame["mono"]),
            "inner": self._filled("inner", inner.to_physical()),
        }

    def _filled(self, basis: str, times: pl.Series) -> pl.Series:
        last = self._last.get(basis)
        if last is None:
            last = next(iter(times.drop_nulls().head(1)), None)
        filled = pl.concat([pl.Series([last], dtype=pl.Int64), times.alias("")]).forward_fill()[1:]
        self._last[basis] = filled[-1]
        return filled.alias(basis)


def _inner_times(messages: pl.Series) -> pl.Series:
    """Return the first time that each message prints; most begin with one."""
    begins = messages.str.starts_with("[20").fill_null(value=False)
    stamps = messages.str.slice(1, 19).zip_with(begins, pl.Series([None], dtype=pl.String))
    times = stamps.str.strptime(pl.Datetime("us"), "%Y-%m-%d %H:%M:%S", strict=False)
    rest = times.is_null().arg_true()
    if not len(rest):
        return times
    within = messages.gather(rest).str.extract(_STAMP)
    return times.scatter(rest, within.str.strptime(pl.Datetime("us"), "%Y-%m-%d %H:%M:%S", strict=False))


def _printed(messages: pl.Series) -> pl.Series:
    """Return messages as journalctl prints them: without escapes, tabs, blanks at the end."""
    texts = messages.str.replace_all(_ESCAPES, "").str.replace_all("\t", " " * 8, literal=True)
    return texts.str.strip_chars_end()


def _cut(texts: pl.Series) -> pl.Series:
    longest = texts.str.len_bytes().max()
    return texts.str.head(_LONG) if isinstance(longest, int) and longest > _LONG else texts


def _who(origin: Origin, name: str) -> str | int | None:
    """Return what an origin says; of a host its first label, as syslog may add the domain."""
    value: str | int | None = getattr(origin, name)
    if name == "host" and isinstance(value, str) and not value[:1].isdigit():
        return value.partition(".")[0] or value
    return value


def _print(value: str | int | None) -> int | None:
    return None if value is None else int(pl.Series([str(value)]).hash()[0])
