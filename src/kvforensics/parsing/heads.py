"""Prefixes by column: where the time stands at a fixed place, what follows it occurs again and again.

So the time is tested for all lines at once, and the rest of each prefix is read once for every text that
occurs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kvforensics.events import RANK_TAGS, Ranks
from kvforensics.parsing.terminals import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvforensics.parsing.prefix import Form, Prefixes

_REMEMBERED = 50_000


class Tail(NamedTuple):
    """What stands behind the time of a prefix."""

    fraction_us: int
    ranks: Ranks


_Tails = tuple[pl.Series, dict[str, Tail]]  # of one form: what follows the time, what each text of it says


@dataclass
class Heads:
    """Reads the prefixes of blocks."""

    prefixes: Prefixes
    _tails: dict[tuple[str, str], Tail | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._forms = self.prefixes.forms
        grammar = self.prefixes.grammar
        self._tests = {
            form.column: f"^{escaped(form.lead)}(?:{grammar.regex(form.column)})" for form in self._forms
        }

    def cut(self, work: pl.DataFrame) -> pl.DataFrame:
        """Return the lines whose beginning is understood, with what it says.

        Takes `text` and `timed` and gives `headed` (there is a prefix), `body` and the rank tags instead;
        adds fractions of a second to `at` where it is the line's own. A line that begins like a prefix and
        is none is left out.
        """
        text = pl.col("text")
        ends = sorted({(form.lead, form.close) for form in self._forms})
        head = pl.coalesce(
            pl.when(text.str.starts_with(lead)).then(text.str.find(close, literal=True) + len(close))
            for lead, close in ends
        )
        headed = work.with_columns(head=head)
        rest = headed["head"].is_not_null()
        known, tails = ~rest, list[_Tails]()
        for form in self._forms:
            if not rest.any():
                break
            tail, occurring = self._tails_of(form, headed, rest)
            said = {text: found for text, found in occurring.items() if found is not None}
            named = tail.is_not_null()
            rest &= ~named
            known |= named if len(said) == len(occurring) else tail.is_in(list(said)).fill_null(value=False)
            tails.append((tail.alias(f"tail{len(tails)}"), said))
        body = text.str.slice(pl.col("head"))
        cut = headed.select(
            "row",
            "line",
            "at",
            "timed",
            "origin",
            headed=pl.col("head").is_not_null(),
            body=body
            if headed["head"].null_count() == 0
            else pl.when(pl.col("head").is_null()).then(text).otherwise(body),
        ).with_columns(tail for tail, _ in tails)
        cut = cut.with_columns(**_said(tails)).drop("timed", *(tail.name for tail, _ in tails))
        return cut if known.all() else cut.filter(known)

    def _tails_of(
        self, form: Form, headed: pl.DataFrame, rest: pl.Series
    ) -> tuple[pl.Series, dict[str, Tail | None]]:
        """Return what follows the time in the prefixes of one form (else null), and what each of it says."""
        fits = headed["text"].str.contains(self._tests[form.column]) & rest
        start = len(form.lead) + form.width
        cut = pl.col("text").str.slice(start, pl.col("head") - start)
        tail = headed.select(cut if fits.all() else pl.when(fits).then(cut)).to_series()
        occurring = tail.drop_nulls().unique().to_list()
        if len(self._tails) >= _REMEMBERED:
            self._tails.clear()
        missing = [text for text in occurring if (form.column, text) not in self._tails]
        if missing:
            self._read(form, headed.select("text", "head", tail=tail).filter(tail.is_in(missing)))
        return tail, {text: self._tails[form.column, text] for text in occurring}

    def _read(self, form: Form, examples: pl.DataFrame) -> None:
        for text, end, tail in examples.unique("tail", keep="any").iter_rows():
            head = self.prefixes.head(text[:end])
            micros = head.inner_at.microsecond if head is not None and head.inner_at is not None else 0
            self._tails[form.column, tail] = Tail(micros, head.ranks) if head is not None else None


def _said(tails: list[_Tails]) -> dict[str, pl.Expr]:
    """Return the rank tags that tails say, and the time with the fraction that they say."""
    columns = {}
    for place, tag in enumerate(RANK_TAGS):
        values = [{text: found.ranks[place] for text, found in said.items()} for _, said in tails]
        columns[tag] = _mapped(tails, values, pl.Int32())
    fractions = [{text: found.fraction_us for text, found in said.items()} for _, said in tails]
    if any(map(any, (each.values() for each in fractions))):
        fraction = _mapped(tails, fractions, pl.Int64()).fill_null(0)
        own = pl.when(pl.col("timed")).then(0).otherwise(fraction)
        columns["at"] = pl.col("at") + pl.duration(microseconds=own)
    return columns


def _mapped(tails: list[_Tails], values: Sequence[Mapping[str, int | None]], dtype: pl.DataType) -> pl.Expr:
    found = [
        pl.col(tail.name).replace_strict(list(each), list(each.values()), default=None, return_dtype=dtype)
        for (tail, _), each in zip(tails, values, strict=True)
        if any(value is not None for value in each.values())
    ]
    return pl.coalesce(found) if found else pl.lit(None, dtype=dtype)
