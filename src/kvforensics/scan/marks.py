"""What is kept of an input's records to tell whether another input holds them too.

Of a small input every record has a mark; of a large one its first and last `EDGE` records have one, where a
rotated series is cut, and of those between every sixteenth by the hash of its text, so that copies keep the
same ones. That is about a byte a record. `spans` says from when to when each host and container wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.carriers.fingerprints import BASES, SECOND_US, Fingerprints

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kvforensics.records import Origins, Source
    from kvforensics.scan.manifest import Span

EDGE = 4096
SAMPLED = 16
WEAK_PROOF = 4  # agreeing records from which two inputs are compared, where one proves little
_WHO = ("host", "container", "pid", "cursor")
_SPAN_KEY = ["host", "container"]


class Marks:
    """Takes the record frames of one input, in order, and lets them through."""

    def __init__(self, origins: Origins, source: Source) -> None:
        self._prints = Fingerprints(origins, source)
        self._kept: pl.DataFrame | None = None
        self._spans: pl.DataFrame | None = None
        self._rows = 0

    def through(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the frames, remembering their marks."""
        for frame in frames:
            if frame.height:
                self._take(self._prints.of(frame))
            yield frame

    def frame(self) -> pl.DataFrame | None:
        """Return the marks; None where there was no record."""
        return self._kept

    def spans(self) -> tuple[Span, ...]:
        """Return host, container, clock, first and last second of each that wrote."""
        if self._spans is None:
            return ()
        rows: list[Span] = []
        for row in self._spans.sort(*_SPAN_KEY, nulls_last=False).iter_rows(named=True):
            rows += [
                (row["host"], row["container"], basis, row[f"{basis}_first"], row[f"{basis}_last"])
                for basis in BASES
                if row[f"{basis}_first"] is not None
            ]
        return tuple(rows)

    def standing(self) -> dict[str, Any]:
        """Return what `resume` needs beside the marks and the spans."""
        return {"rows": self._rows, "last": self._prints.standing()}

    def resume(self, kept: pl.DataFrame, spans: Sequence[Span], standing: dict[str, Any]) -> None:
        """Go on from an earlier reading of the same input."""
        self._kept, self._rows = kept, standing["rows"]
        self._prints.resume(standing["last"])
        self._spans = _span_frame(spans)

    def _take(self, prints: pl.DataFrame) -> None:
        place = pl.int_range(self._rows, self._rows + prints.height, dtype=pl.Int64, eager=True)
        self._rows += prints.height
        new = prints.with_columns(place.alias("place"))
        both = new if self._kept is None else pl.concat([self._kept, new])
        self._kept = both.filter(
            (pl.col("place") < EDGE)
            | (pl.col("place") >= self._rows - EDGE)
            | (pl.col("text") % SAMPLED == 0)
        )
        spans = prints.group_by(_SPAN_KEY).agg(
            *((pl.col(b).min() // SECOND_US).alias(f"{b}_first") for b in BASES),
            *((pl.col(b).max() // SECOND_US).alias(f"{b}_last") for b in BASES),
        )
        if self._spans is not None:
            spans = pl.concat([self._spans, spans.select(self._spans.columns)])
        self._spans = spans.group_by(_SPAN_KEY).agg(
            *(pl.col(f"{b}_first").min() for b in BASES), *(pl.col(f"{b}_last").max() for b in BASES)
        )


def touching(spans: Sequence[Sequence[Span]]) -> list[list[int]]:
    """Group inputs that may hold the same records: at the same time, by hosts and containers that agree.

    Returns the places of the inputs, groups of one left out.
    """
    joined = Sets(len(spans))
    for basis in BASES:
        rows = [
            (first, last, host, container, place)
            for place, input_ in enumerate(spans)
            for host, container, clock, first, last in input_
            if clock == basis
        ]
        rows.sort(key=lambda row: row[:2])
        active: dict[int | None, list[tuple[int, int | None, int]]] = {}
        for first, last, host, container, place in rows:
            for name in list(active) if host is None else [host, None]:
                alive = [row for row in active.get(name, ()) if row[0] >= first]
                if name in active:
                    active[name] = alive
                for _, other, there in alive:
                    if container is None or other is None or container == other:
                        joined.join(place, there)
            active.setdefault(host, []).append((last, container, place))
    return joined.groups()


def sharing(marks: Sequence[pl.DataFrame | None]) -> list[list[int]]:
    """Group inputs that hold the same records, as far as their marks tell; groups of one are left out.

    It is a little generous: what is grouped is then read together, which decides record by record.
    """
    joined = Sets(len(marks))
    frames = [
        frame.with_columns(pl.lit(place, dtype=pl.UInt32).alias("input"))
        for place, frame in enumerate(marks)
        if frame is not None
    ]
    if len(frames) < 2:  # noqa: PLR2004 - nothing to compare
        return []
    rows = pl.concat(frames).filter(~pl.col("blob"))
    for basis in BASES:
        keyed = (
            rows.filter(pl.col(basis).is_not_null())
            .select("input", "text", *_WHO, exact=pl.col(basis), second=pl.col(basis) // SECOND_US)
            .unique()
        )
        sizes = dict(keyed.group_by("input").agg(pl.struct("second", "text").n_unique()).iter_rows())
        pairs = keyed.join(keyed, on=["second", "text"], suffix="_b").filter(
            pl.col("input") < pl.col("input_b"), *(_agree(name) for name in _WHO)
        )
        known = pl.any_horizontal(
            *(
                pl.col(name).is_not_null() & pl.col(f"{name}_b").is_not_null()
                for name in _WHO
                if name != "pid"
            )
        )
        fine = (pl.col("exact") % SECOND_US != 0) if basis != "inner" else pl.lit(value=False)
        same = pl.col("exact") // 1000 == pl.col("exact_b") // 1000
        found = pairs.group_by("input", "input_b").agg(
            pl.struct("second", "text").n_unique().alias("count"), (known | (fine & same)).any().alias("sure")
        )
        for one, other, count, sure in found.iter_rows():
            if sure or count >= WEAK_PROOF or count >= min(sizes[one], sizes[other]):
                joined.join(one, other)
    return joined.groups()


class Sets:
    """Numbers that are joined into sets."""

    def __init__(self, count: int) -> None:
        self._leader = list(range(count))

    def join(self, one: int, other: int) -> None:
        """Put two numbers into one set."""
        first, second = self._find(one), self._find(other)
        self._leader[max(first, second)] = min(first, second)

    def groups(self) -> list[list[int]]:
        """Return the sets of more than one number, each and all in order."""
        found: dict[int, list[int]] = {}
        for number in range(len(self._leader)):
            found.setdefault(self._find(number), []).append(number)
        return [group for group in found.values() if len(group) > 1]

    def _find(self, number: int) -> int:
        while self._leader[number] != number:
            self._leader[number] = number = self._leader[self._leader[number]]
        return number


def _agree(name: str) -> pl.Expr:
    return pl.col(name).is_null() | pl.col(f"{name}_b").is_null() | (pl.col(name) == pl.col(f"{name}_b"))


def _span_frame(spans: Sequence[Span]) -> pl.DataFrame:
    rows: dict[tuple[int | None, int | None], dict[str, int]] = {}
    for host, container, basis, first, last in spans:
        row = rows.setdefault((host, container), {})
        row[f"{basis}_first"], row[f"{basis}_last"] = first, last
    names = [f"{basis}_{edge}" for edge in ("first", "last") for basis in BASES]
    table = [(*who, *(row.get(name) for name in names)) for who, row in rows.items()]
    schema = {"host": pl.UInt64, "container": pl.UInt64, **dict.fromkeys(names, pl.Int64)}
    return pl.DataFrame(table, schema=schema, orient="row")
