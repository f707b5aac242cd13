"""The lines of a block read once over their bytes, by the same layouts, where the scanner could be built.

It takes a line only where the expressions of the columnar way would say the same, and leaves them the
others. It is never needed: without it the expressions read all lines.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from kvforensics import compiled
from kvforensics.compiled import table
from kvforensics.parsing.layouts import Slot
from kvforensics.parsing.terminals import holds
from kvforensics.records import Thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvforensics.parsing.layouts import Layout
    from kvforensics.parsing.prefix import Form

MAX_ROWS = 1 << 31
MOST_LAYOUTS = 64
_RUN = re.compile(r"\(\?:\[(?:[^\[\]\\]|\\[\]\[\\^-])+\]\+\)")
_DIGITS, _DECIMAL, _TRUTH = "(?:[0-9]+)", r"(?:-?[0-9]+\.[0-9]+)", "(?:True|False)"
_NUMBERS = {_DIGITS: (b"i", "INT"), _DECIMAL: (b"f", "FLOAT"), _TRUTH: (b"b", "BOOL")}
_MASK = re.compile(r"\[0-9\]\{([0-9])\}|([^\\\[\](){}.*+?|^$])")

Program = tuple[bytes, tuple[bytes, ...], bytes]


class Beginning(NamedTuple):
    """A form of prefix: its texts behind the time, and which of them are prefixes."""

    form: Form
    pattern: str  # of its time
    tails: tuple[bytes, ...]
    understood: bytes


class Taken(NamedTuple):
    """The lines of one layout: `row`, `tail` (its place, 0 for no prefix), its columns."""

    layout: Layout
    lines: pl.DataFrame


class Scanned(NamedTuple):
    """What was read of some lines."""

    taken: list[Taken]
    left: pl.Series  # rows
    local: pl.Series  # times, one a run of lines; the first is null
    lines: pl.DataFrame  # of each line its `run`, and `headed`: 1 where it was read and has a prefix, else 0


def scan(texts: pl.Series, beginnings: Sequence[Beginning], layouts: Sequence[Layout]) -> Scanned | None:
    """Read lines; None where only the expressions can."""
    asked = _asked(beginnings, layouts) if len(texts) < MAX_ROWS else None
    found = None if asked is None else compiled.module().scan(texts.__arrow_c_stream__(None), *asked.programs)
    if asked is None or found is None:
        return None
    parts, left, local, lines = found
    taken = [_taken(asked.layouts[place], made) for place, made in parts]
    return Scanned(
        taken, table(left, ["row"])["row"], table(local, ["at"])["at"], table(lines, ["run", "headed"])
    )


def thin(
    lines: tuple[bytes, ...] | pl.Series,
    beginnings: Sequence[Beginning],
    layouts: Sequence[Layout],
    may: Callable[[Layout], bool],
    gap_us: int,
) -> Thinned | None:
    """Return what is left of lines where those of some layouts may go that say no more than others.

    What is kept tells the greatest values, the first and the last line of each layout and prefix between any
    two lines that no layout reads, where printed times go back, and where they leave a gap. None: keep all.
    The lines are a column, or bytes that are cut anywhere.
    """
    asked = _asked(beginnings, layouts)
    if asked is None:
        return None
    words = bytes(map(may, asked.layouts))
    given = lines.__arrow_c_stream__(None) if isinstance(lines, pl.Series) else lines
    found = compiled.module().thin(given, *asked.programs, words, gap_us)
    if found is None:
        return None
    told, texts, height = found
    rows, left_out, headed = table(told, ["row", "left_out", "left_headed"])
    kept = lines.gather(rows) if isinstance(lines, pl.Series) else compiled.column(texts)
    return Thinned(kept, rows, left_out, headed, height)


class _Asked(NamedTuple):
    """What the scanner is to look for."""

    layouts: list[Layout]
    programs: tuple[tuple[Any, ...], tuple[Program, ...]]  # of beginnings, of layouts


def _asked(beginnings: Sequence[Beginning], layouts: Sequence[Layout]) -> _Asked | None:
    """Return the programs of the scanner; None where it cannot read such lines."""
    forms = tuple(map(_form, beginnings))
    programs = [(layout, program) for layout in layouts if (program := _program(layout)) is not None]
    programs = programs[:MOST_LAYOUTS]
    if compiled.module() is None or not programs or None in forms:
        return None
    return _Asked([layout for layout, _ in programs], (forms, tuple(program for _, program in programs)))


def _taken(layout: Layout, made: tuple[Any, Any]) -> Taken:
    slots = [item for item in layout.items if isinstance(item, Slot) and item.column]
    lines = table(made, ["row", "tail", *(str(slot.column) for slot in slots)])
    told = [pl.col(str(slot.column)).cast(pl.Boolean) for slot in slots if slot.terminal == "BOOL"]
    told += [pl.lit(value).alias(column) for column, value in layout.constants]
    return Taken(layout, lines.with_columns(told) if told else lines)


@lru_cache(maxsize=1024)
def _program(layout: Layout) -> Program | None:
    """Return a layout as the scanner reads it, or None where a slot needs more than it knows."""
    if layout.rivals or layout.barred or not layout.lead:
        return None
    items = [_item(item) for item in layout.items]
    if any(item is None for item in items):
        return None
    known = [item for item in items if item is not None]
    return (
        b"".join(kind for kind, _, _ in known),
        tuple(text for _, text, _ in known),
        bytes(c for _, _, c in known),
    )


def _item(item: str | Slot) -> tuple[bytes, bytes, bool] | None:
    if isinstance(item, str):
        return b"c", item.encode(), False
    kind, terminal = _NUMBERS.get(item.pattern, (b"", ""))
    if kind and (item.column is None or item.terminal == terminal):
        return kind, b"", item.column is not None
    if item.column is None and item.width is None and _RUN.fullmatch(item.pattern):
        table = bytes(holds(item.characters, chr(min(byte, 0x80))) for byte in range(256))
        return b"s", table, False
    return None


def _form(beginning: Beginning) -> tuple[Any, ...] | None:
    mask = _mask(beginning.pattern)
    if mask is None or len(mask) != beginning.form.width:
        return None
    form = beginning.form
    stamped = form.column == "stamp"
    return form.lead.encode(), mask, form.close.encode(), stamped, beginning.tails, beginning.understood


@lru_cache(maxsize=64)
def _mask(pattern: str) -> bytes | None:
    """Return a pattern of digits at fixed places with a 0 for each digit, or None for any other pattern."""
    bare = pattern.replace("(?:", "").replace(")", "")
    mask, at = "", 0
    while at < len(bare):
        found = _MASK.match(bare, at)
        if found is None or found[2] == "0":
            return None
        mask += "0" * int(found[1]) if found[1] else found[2]
        at = found.end()
    return mask.encode()
