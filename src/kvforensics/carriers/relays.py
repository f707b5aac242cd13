"""What a relay passed on: rsyslog's file holds the journal's records, each stamped anew.

Such a record is the same as one of the journal when host, process and text agree and the times differ by no
more than a relay takes. Each of the journal's stands for one of the relay's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

LAG_S = 2
LAG_US = LAG_S * 1_000_000
_LOOKED_AT = 64  # records of one text that are tried: ranks that say the same at once


class _Twin(NamedTuple):
    at: int
    pid: int | None
    place: tuple[int, int]  # chunk, and row in it


class Relay:
    """Pairs the records of one input with those of another, block by block."""

    def __init__(self) -> None:
        self._taken: dict[tuple[int, int], int] = {}  # places that were paired, and their times

    def agreeing(self, marks: pl.DataFrame, chunks: Iterable[tuple[int, pl.DataFrame]]) -> pl.Series:
        """Tell which records the other input holds too; its chunks near in time come with numbers."""
        found = [False] * marks.height
        asked = _known(marks)
        first, last = marks["at"].min(), marks["at"].max()
        if not asked.height or not isinstance(first, int) or not isinstance(last, int):
            return pl.Series(found, dtype=pl.Boolean)
        twins: dict[tuple[int, int], list[_Twin]] = {}
        for number, chunk in chunks:
            near = _known(chunk).filter(pl.col("at").is_between(first - LAG_US, last + LAG_US))
            near = near.join(asked, on=["host", "text"], how="semi", maintain_order="left")
            for row, at, host, text, pid in near.iter_rows():
                twins.setdefault((host, text), []).append(_Twin(at, pid, (number, row)))
        held = pl.DataFrame(list(twins), schema={"host": pl.UInt64, "text": pl.UInt64}, orient="row")
        begins = dict.fromkeys(twins, 0)
        for row, at, host, text, pid in asked.join(
            held, on=["host", "text"], how="semi", maintain_order="left"
        ).iter_rows():
            own = twins[host, text]
            begin = begins[host, text]
            while begin < len(own) and (own[begin].at < at - LAG_US or own[begin].place in self._taken):
                begin += 1
            begins[host, text] = begin
            found[row] = self._take(own[begin : begin + _LOOKED_AT], at, pid)
        self._taken = {place: at for place, at in self._taken.items() if at >= last - 2 * LAG_US}
        return pl.Series(found, dtype=pl.Boolean)

    def _take(self, own: list[_Twin], at: int, pid: int | None) -> bool:
        for twin in own:
            if twin.at > at + LAG_US:
                break
            same = pid is None or twin.pid is None or pid == twin.pid
            if same and abs(twin.at - at) <= LAG_US and twin.place not in self._taken:
                self._taken[twin.place] = twin.at
                return True
        return False


def _known(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the records whose time and host are known: row, time, host, text, pid."""
    rows = marks.with_row_index("row").select("row", "at", "host", "text", "pid")
    return rows.filter(pl.col("at").is_not_null() & pl.col("host").is_not_null())
