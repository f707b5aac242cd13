"""The columnar way: the lines of a block that known layouts read, all lines of one layout at once.

What no layout reads is left over: it goes line by line through the same grammars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from msgspec import Struct, field

from kvforensics.columns import constant
from kvforensics.events import BASE_SCHEMA
from kvforensics.parsing.decoding import decode_fitting, schema_of
from kvforensics.parsing.kinds import HOT, KNOWN, Kinds, Writer
from kvforensics.redaction import redact_series

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kvforensics.parsing.layouts import Layout

MAX_ACTIVE = 24  # layouts tried on every line
_OFTEN = 256  # lines of a block
_IDLE = 16  # blocks after which a layout without hits is no longer tried
_KEY = 12  # characters that tell most leads apart; polars compares so short texts at once


class Part(NamedTuple):
    """The lines of one layout in a block: `row`, `headed`, the rank tags that are named, its columns."""

    layout: Layout
    lines: pl.DataFrame


class Parted(NamedTuple):
    """What layouts read of some lines, and what they left."""

    parts: list[Part]
    left: pl.DataFrame

    def __add__(self, later: Parted) -> Parted:  # type: ignore[override]
        return Parted(self.parts + later.parts, later.left)


def apply(lines: pl.DataFrame, layouts: Sequence[Layout]) -> Parted:
    """Read lines (`Heads.lines`) by layouts. Any thread may, for any block."""
    parts: list[Part] = []
    keys = lines["body"].str.head(_KEY)
    left = pl.repeat(value=True, n=lines.height, eager=True)
    for lead, alike in _by_lead(layouts).items():
        key = lead[:_KEY]
        begins = keys == key if len(key) == _KEY else keys.str.starts_with(key)
        places = begins.arg_true()
        for layout in alike:
            if not len(places):
                break
            bodies = lines["body"].gather(places)
            read, fits = decode_fitting(layout, bodies)
            mine = places if fits is None else places.filter(fits)
            places = places.clear() if fits is None else places.filter(~fits)
            if len(mine):
                left = left.scatter(mine, values=False)
                parts.append(Part(layout, lines.drop("body")[mine].hstack(redacted(read))))
    return Parted(parts, lines if not parts else lines.filter(left))


class Columnar(Struct, dict=True):
    """Knows the layouts of one source, block after block."""

    source: int
    kinds: Kinds
    active: list[Layout] = field(default_factory=list)
    _idle: dict[Layout, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        grammar = self.kinds.grammars[HOT]
        self._schemas = {kind: schema_of(grammar, kind) for kind in grammar.kinds}
        base = {"row": pl.UInt32(), **BASE_SCHEMA}
        self._wanted = {kind: {**base, **schema} for kind, schema in self._schemas.items()}
        self._needles = sorted({needle for needles in grammar.needles.values() for needle in needles})
        self.active = list(self.kinds.hot_layouts[-MAX_ACTIVE:])
        self._idle = dict.fromkeys(self.active, 1)  # what has a hit stays before what may have one

    def activate(self, layout: Layout) -> None:
        """Try this layout on every line from now on."""
        if layout not in self._idle:
            self.active = [*self.active, layout]  # other threads may be reading the old list
        self._idle[layout] = 0

    def note(self, silent: Mapping[str, int]) -> None:
        """Take over the kinds that tell nothing and yet were read line by line often in the last block."""
        for kind, times in silent.items():
            if times >= _OFTEN:
                for layout in self.kinds.layouts_of(kind):
                    self.activate(layout)

    def complete(self, parted: Parted, tried: Sequence[Layout], scanned: Iterable[Part]) -> list[Part]:
        """Return all that expressions read of a block, by layouts not yet `tried` too, and by fresh ones.

        `scanned` is what was read of the block before them.
        """
        missing = [layout for layout in self.active if layout not in tried]
        if missing:
            parted += apply(parted.left, missing)
        fresh = self._learn(parted.left)
        if fresh:
            parted += apply(parted.left, fresh)
        for part in (*scanned, *parted.parts):
            self.activate(part.layout)
        self._retire()
        return parted.parts

    def hot(self, parts: Sequence[Part], base: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Return the parts as frames by kind; `base` has line, at and origin of every row of the block.

        A frame has `row`, BASE_SCHEMA and the kind's columns.
        """
        frames: dict[str, list[pl.DataFrame]] = {}
        for layout, lines in parts:
            if not layout.kind.startswith(KNOWN):
                rows = lines["row"]
                placed = lines.hstack([column[rows] for column in base])
                frames.setdefault(layout.kind, []).append(self.completed(layout.kind, placed))
        joined = {}
        for kind, found in frames.items():
            joined[kind] = found[0] if len(found) == 1 else pl.concat(found).sort("row", maintain_order=True)
        return joined

    def completed(self, kind: str, part: pl.DataFrame) -> pl.DataFrame:
        """Return a part with every column of its kind; what its lines do not name is null."""
        told = {column.name: column for column in part}

        def column(name: str, dtype: pl.DataType) -> pl.Series:
            value = self.source if name == "source" else None
            return told[name] if name in told else constant(name, value, dtype, part.height)

        return pl.DataFrame([column(*item) for item in self._wanted[kind].items()])

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
        ordered = sorted(self.active, key=lambda layout: self._idle[layout])
        self.active = [layout for layout in ordered[:MAX_ACTIVE] if self._idle[layout] <= _IDLE]
        self._idle = {layout: self._idle[layout] for layout in self.active}


def _by_lead(layouts: Iterable[Layout]) -> dict[str, list[Layout]]:
    found: dict[str, list[Layout]] = {}
    for layout in layouts:
        found.setdefault(layout.lead, []).append(layout)
    return found


def redacted(columns: pl.DataFrame) -> pl.DataFrame:
    """Return columns with the secrets in their texts hidden."""
    texts = [name for name, dtype in columns.schema.items() if dtype == pl.String()]
    return (
        columns.with_columns(redact_series(columns[name]).alias(name) for name in texts) if texts else columns
    )
