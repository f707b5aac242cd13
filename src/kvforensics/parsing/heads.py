"""Prefixes by column: where the time stands at a fixed place, what follows it occurs again and again.

Lines of one moment stand together, so a time is tested and read once for each run of equal ones; the rest
of a prefix is read once for every text that occurs.
"""

from __future__ import annotations

from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from msgspec import Struct

from kvforensics.columns import constant
from kvforensics.events import NO_RANKS, RANK_TAGS
from kvforensics.parsing.native import Beginning
from kvforensics.parsing.terminals import escaped

if TYPE_CHECKING:
    from kvforensics.parsing.prefix import Form, Head, Prefixes

_REMEMBERED = 50_000
_SHORT = 12  # bytes of a text that polars keeps beside its length: such texts are compared at once
_FIRST = datetime(1, 1, 1)  # noqa: DTZ001 - Python has no year 0
_STAMP = "%Y-%m-%d %H:%M:%S"


class Times(NamedTuple):
    """The times that lines print: one a run of lines with the same, local, whole seconds, null for none."""

    local: pl.Series
    run: pl.Series  # of each line, its place in `local`

    def of_lines(self) -> pl.Series:
        """Return the time of each line."""
        return self.local.gather(self.run)


class Heads(NamedTuple):
    """What stands before the bodies of a block's lines.

    `lines` holds the lines whose beginning is understood: `row`, `headed` (there is a prefix), `body`, and
    those of the rank tags that any line names. A line that begins like a prefix and is none is left out.
    """

    lines: pl.DataFrame
    times: Times
    fraction_us: pl.Series | None  # of every line; None where no prefix says any


class _Tails(Struct, frozen=True):
    """What the known texts behind the time of one form say, by their place in `dtype`."""

    dtype: pl.Enum
    understood: pl.Series
    tags: dict[str, pl.Series]  # of the tags that any names
    fraction_us: pl.Series | None

    @classmethod
    def of(cls, heads: dict[str, Head | None]) -> _Tails:
        found = list(heads.values())
        ranks = [NO_RANKS if head is None else head.ranks for head in found]
        named = zip(RANK_TAGS, zip(*ranks, strict=True), strict=False)
        tags = {tag: values for tag, values in named if any(value is not None for value in values)}
        micros = [h.inner_at.microsecond if h is not None and h.inner_at is not None else 0 for h in found]
        return cls(
            pl.Enum(list(heads)),
            pl.Series([head is not None for head in found], dtype=pl.Boolean),
            {tag: pl.Series(tag, values, dtype=pl.Int32) for tag, values in tags.items()},
            pl.Series(micros, dtype=pl.Int64) if any(micros) else None,
        )

    def places(self, tails: pl.Series) -> pl.Series:
        """Return the place of each text, null for an unknown one."""
        return tails.cast(self.dtype, strict=False).to_physical().cast(pl.UInt32)


class Known(NamedTuple):
    """What is known of prefixes, for the scanner: a tail's number is its place in the tables, 0 for none."""

    beginnings: tuple[Beginning, ...]
    tags: dict[str, pl.Series]
    fraction_us: pl.Series | None

    @classmethod
    def of(cls, tails: dict[Form, _Tails], patterns: dict[Form, str]) -> Known:
        """Put together what is known of each form."""
        beginnings, size = [], 1 + sum(len(one.understood) for one in tails.values())
        tags: dict[str, pl.Series] = {}
        fraction, at = pl.repeat(0, size, dtype=pl.Int64, eager=True), 1
        for form, one in tails.items():
            names = tuple(name.encode() for name in one.dtype.categories)
            beginnings.append(Beginning(form, patterns[form], names, bytes(map(int, one.understood))))
            places = pl.int_range(at, at + len(names), eager=True)
            for tag, ranks in one.tags.items():
                table = tags.get(tag, pl.repeat(None, size, dtype=pl.Int32, eager=True).alias(tag))
                tags[tag] = table.scatter(places, ranks)
            if one.fraction_us is not None:
                fraction = fraction.scatter(places, one.fraction_us)
            at += len(names)
        return cls(tuple(beginnings), tags, fraction if (fraction != 0).any() else None)


class HeadReader:
    """Reads the prefixes of blocks. Several threads may use one."""

    def __init__(self, prefixes: Prefixes) -> None:
        self._prefixes = prefixes
        self._forms = prefixes.forms
        self._width = max(len(form.lead) + form.width for form in self._forms)
        self._ends = sorted({(form.lead, form.close) for form in self._forms})
        regex = prefixes.grammar.regex
        self._patterns = {form: regex(form.column) for form in self._forms}
        self._tests = {form: f"^{escaped(form.lead)}(?:{regex(form.column)})" for form in self._forms}
        self._tails = {form: _Tails.of({}) for form in self._forms}
        self._read: dict[Form, dict[str, Head | None]] = {form: {} for form in self._forms}
        self._reading = Lock()
        self.known = Known.of(self._tails, self._patterns)

    def read(self, rows: pl.Series, texts: pl.Series) -> Heads:
        """Read the beginnings of lines; `rows` are their places in the block."""
        run, firsts = _runs(texts, self._width)
        head, body, headed = self._parted(texts, run, firsts)
        rest, known = headed, ~headed
        tags: dict[str, pl.Series] = {}
        fraction: pl.Series | None = None
        times = Times(constant("", None, pl.Datetime("us"), len(firsts)), run)
        for form in self._forms:
            valid = firsts.str.contains(self._tests[form])
            if form.column == "stamp":
                times = Times(_stamps(firsts, form, valid), run)
            fits = valid.gather(run) & rest
            if not fits.any():
                continue
            rest &= ~fits
            tail = head.str.slice(len(form.lead) + form.width)
            tail = tail if fits.all() else tail.zip_with(fits, pl.Series([None], dtype=pl.String))
            said, place = self._said(form, tail, head)
            known |= said.understood.gather(place).fill_null(value=False)
            for tag, ranks in said.tags.items():
                tags[tag] = _either(tags.get(tag), ranks.gather(place))
            if said.fraction_us is not None:
                fraction = _either(fraction, said.fraction_us.gather(place))
            if not rest.any():
                break
        lines = pl.DataFrame([rows.alias("row"), headed.alias("headed"), body.alias("body"), *tags.values()])
        return Heads(lines if known.all() else lines.filter(known), times, fraction)

    def _parted(
        self, texts: pl.Series, run: pl.Series, firsts: pl.Series
    ) -> tuple[pl.Series, pl.Series, pl.Series]:
        """Return prefixes without their last constant, bodies, and which lines have a prefix."""
        head, body, headed = texts, texts, pl.repeat(value=False, n=len(texts), eager=True)
        for lead, close in self._ends:
            first, rest = texts.str.splitn(close, 2).struct.unnest()
            ends = firsts.str.starts_with(lead).gather(run) & rest.is_not_null() & ~headed
            if ends.all():
                return first, rest, ends
            head, body = first.zip_with(ends, head), rest.zip_with(ends, body)
            headed |= ends
        return head, body, headed

    def _said(self, form: Form, tails: pl.Series, heads: pl.Series) -> tuple[_Tails, pl.Series]:
        """Return what texts behind the time say, and each one's place there."""
        said = self._tails[form]
        place = said.places(tails)
        unknown = place.is_null() & tails.is_not_null()
        if unknown.any():
            examples = (
                pl.DataFrame({"tail": tails, "head": heads}).drop_nulls("tail").unique("tail", keep="any")
            )
            with self._reading:
                said = self._learnt(form, examples)
            place = said.places(tails)
        return said, place

    def _learnt(self, form: Form, examples: pl.DataFrame) -> _Tails:
        read = self._read[form]
        if len(read) + examples.height > _REMEMBERED:
            read.clear()
        for tail, head in examples.iter_rows():
            if tail not in read:
                read[tail] = self._prefixes.head(head + form.close)
        self._tails[form] = _Tails.of(read)
        self.known = Known.of(self._tails, self._patterns)
        return self._tails[form]


def _runs(texts: pl.Series, width: int) -> tuple[pl.Series, pl.Series]:
    """Return each line's run of lines with an equal beginning, and the first line of each run."""
    differs = pl.repeat(value=False, n=len(texts), eager=True)
    for at in range(0, width, _SHORT):
        piece = texts.str.slice(at, min(_SHORT, width - at))
        differs |= piece.ne_missing(piece.shift())
    if len(differs):
        differs = differs.scatter(0, values=True)
    return differs.cum_sum().cast(pl.UInt32) - 1, texts.filter(differs)


def _stamps(firsts: pl.Series, form: Form, valid: pl.Series) -> pl.Series:
    local = firsts.str.slice(len(form.lead), form.width)
    times = local.str.to_datetime(_STAMP, time_unit="us", strict=False)
    return times.set((~valid | (times < _FIRST)).fill_null(value=True), None)


def _either(first: pl.Series | None, second: pl.Series) -> pl.Series:
    return second if first is None else first.zip_with(first.is_not_null(), second)
