"""The columnar way: the lines of a block that known layouts read, all lines of one layout at once.

What no layout reads is left over: it goes line by line through the same grammars.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kvforensics.events import BASE_SCHEMA, RANK_TAGS
from kvforensics.parsing.decoding import decode_fitting, schema_of
from kvforensics.parsing.heads import Heads
from kvforensics.parsing.kinds import HOT, KNOWN, Kinds, Writer
from kvforensics.redaction import redact_series

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kvforensics.parsing.layouts import Layout
    from kvforensics.parsing.prefix import Prefixes

MAX_ACTIVE = 24  # layouts tried on every line
_OFTEN = 256  # lines of a block
_IDLE = 16  # blocks after which a layout without hits is no longer tried

WORK_SCHEMA = pl.Schema(
    {
        "row": pl.UInt32(),  # place in the block
        "line": pl.Int64(),
        "at": pl.Datetime("us"),  # UTC, whole seconds where it comes from the line
        "timed": pl.Boolean(),  # the carrier gave the time
        "origin": pl.UInt32(),
        "text": pl.String(),
    }
)


class Hot(NamedTuple):
    """What the layouts read of a block."""

    frames: dict[str, pl.DataFrame]  # by kind: `row`, BASE_SCHEMA, the kind's columns
    taken: pl.DataFrame  # row, at, headed of every line that was read, known lines too


@dataclass
class Columnar:
    """Applies layouts to blocks of one source."""

    source: int
    kinds: Kinds
    prefixes: Prefixes
    active: list[Layout] = field(default_factory=list)
    _idle: dict[Layout, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._heads = Heads(self.prefixes)
        grammar = self.kinds.grammars[HOT]
        self._schemas = {kind: schema_of(grammar, kind) for kind in grammar.kinds}
        self._needles = sorted({needle for needles in grammar.needles.values() for needle in needles})
        for layout in self.kinds.hot_layouts[-MAX_ACTIVE:]:
            self.activate(layout)

    def activate(self, layout: Layout) -> None:
        """Try this layout on every line from now on."""
        if layout not in self._idle:
            self.active.append(layout)
        self._idle[layout] = 0

    def note(self, silent: Mapping[str, int]) -> None:
        """Take over the kinds that tell nothing and yet were read line by line often in the last block."""
        for kind, times in silent.items():
            if times >= _OFTEN:
                for layout in self.kinds.layouts_of(kind):
                    self.activate(layout)

    def read(self, work: pl.DataFrame) -> Hot:
        """Return what known layouts read of a block (`WORK_SCHEMA`), learning those that are missing."""
        cut = self._heads.cut(work)
        parts, taken = self._apply(cut, self.active)
        rest = _without(cut, taken)
        fresh = self._learn(rest)
        if fresh:
            more, also = self._apply(rest, fresh)
            parts, taken = parts + more, taken + also
        self._retire()
        return Hot(self._frames(parts), pl.concat(taken) if taken else _nothing_taken())

    def _apply(
        self, cut: pl.DataFrame, layouts: list[Layout]
    ) -> tuple[list[tuple[Layout, pl.DataFrame]], list[pl.DataFrame]]:
        """Return the lines that these layouts read, by layout, and which rows they were."""
        parts: list[tuple[Layout, pl.DataFrame]] = []
        taken: list[pl.DataFrame] = []
        for lead, alike in _by_lead(layouts).items():
            rows = cut.filter(pl.col("body").str.starts_with(lead))
            for layout in alike:
                if not rows.height:
                    break
                read, fits = decode_fitting(layout, rows["body"])
                mine = rows if fits is None else rows.filter(fits)
                rows = rows.clear() if fits is None else rows.filter(~fits)
                if not mine.height:
                    continue
                self._idle[layout] = 0
                taken.append(mine.select("row", "at", "headed"))
                if not layout.kind.startswith(KNOWN):
                    base = mine.select("row", "line", "at", "origin", *RANK_TAGS)
                    parts.append((layout, base.hstack(_redacted(read))))
        return parts, taken

    def _frames(self, parts: list[tuple[Layout, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
        frames: dict[str, list[pl.DataFrame]] = {}
        for layout, part in parts:
            frames.setdefault(layout.kind, []).append(self.complete(layout.kind, part))
        joined = {}
        for kind, found in frames.items():
            joined[kind] = found[0] if len(found) == 1 else pl.concat(found).sort("row", maintain_order=True)
        return joined

    def complete(self, kind: str, part: pl.DataFrame) -> pl.DataFrame:
        """Return a part with every column of its kind; what its lines do not name is null."""
        present = set(part.columns)
        columns = (
            pl.col(name) if name in present else pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in self._schemas[kind].items()
        )
        source = pl.lit(self.source, dtype=pl.UInt32).alias("source")
        base = (name for name in BASE_SCHEMA.names() if name != "source")
        return part.select("row", source, *base, *columns)

    def frame_of(self, kind: str, rows: list[dict[str, object]]) -> pl.DataFrame:
        """Return lines of a kind that were read one by one as a part like the columnar ones."""
        base = {name: dtype for name, dtype in BASE_SCHEMA.items() if name != "source"}
        schema = {"row": pl.UInt32(), **base, **self._schemas[kind]}
        columns = {name: [row.get(name) for row in rows] for name in schema}
        return pl.DataFrame(columns, schema=schema)

    def _learn(self, rest: pl.DataFrame) -> list[Layout]:
        """Return layouts for the left-over lines of hot kinds: Lark reads one line of each make."""
        fresh: list[Layout] = []
        bodies = rest.filter(pl.col("body").str.contains_any(self._needles))["body"]
        for body in bodies.unique(maintain_order=True):
            if any(layout.fields(body) is not None for layout in fresh):
                continue
            if self.kinds.read(body, Writer.SERVER) is None:
                continue
            layout = self.kinds.layout_of(body)
            if layout is not None and layout not in self._idle:
                self.activate(layout)
                fresh.append(layout)
        return fresh

    def _retire(self) -> None:
        """Forget layouts that hit nothing for long, the longest idle first."""
        for layout in self.active:
            self._idle[layout] += 1
        self.active.sort(key=lambda layout: self._idle[layout])
        for layout in self.active[MAX_ACTIVE:]:
            del self._idle[layout]
        del self.active[MAX_ACTIVE:]
        while self.active and self._idle[self.active[-1]] > _IDLE:
            del self._idle[self.active.pop()]


def _by_lead(layouts: Iterable[Layout]) -> dict[str, list[Layout]]:
    found: dict[str, list[Layout]] = {}
    for layout in layouts:
        found.setdefault(layout.lead, []).append(layout)
    return found


def _without(cut: pl.DataFrame, taken: list[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows that were not taken."""
    if not taken:
        return cut
    free = pl.repeat(value=True, n=int(cut["row"][-1]) + 1, eager=True)
    for part in taken:
        free.scatter(part["row"], values=False)
    return cut.filter(free.gather(cut["row"]))


def _nothing_taken() -> pl.DataFrame:
    return pl.DataFrame(schema={"row": pl.UInt32(), "at": pl.Datetime("us"), "headed": pl.Boolean()})


def _redacted(columns: pl.DataFrame) -> pl.DataFrame:
    texts = [name for name, dtype in columns.schema.items() if dtype == pl.String()]
    return (
        columns.with_columns(redact_series(columns[name]).alias(name) for name in texts) if texts else columns
    )
