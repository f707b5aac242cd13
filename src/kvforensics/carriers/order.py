"""Output that came newest first (`journalctl -r`, `logcli`, cloud exports) is turned round."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.carriers.continuing import Continuing

SAMPLE_RECORDS = 1000  # that decide on the direction
MEMORY_BYTES = 64 << 20  # of a reversed source; more goes to temporary files
_DESCENTS_PER_ASCENT = 4
_FEWEST_DESCENTS = 2
_YEAR_END_DAYS = 180


def in_time_order(
    frames: Iterable[pl.DataFrame], continuing: Continuing | None = None
) -> Iterator[pl.DataFrame]:
    """Yield frames as they come, or all of them backwards when their times descend.

    A step of the clock, a DST change and times that jitter do not count as descending: at least two steps
    must go back, and four times as many as go forward. Within the machine's monotonic clock the same rule.
    """
    source = iter(frames)
    held: list[pl.DataFrame] = []
    seen = 0
    for frame in source:
        held.append(frame)
        seen += frame.height
        if seen >= SAMPLE_RECORDS:
            break
    descends = bool(held) and _descends(pl.concat(held, how="diagonal")[:SAMPLE_RECORDS])
    if continuing is not None and (descends or seen < SAMPLE_RECORDS):
        continuing.wait()
    if descends:
        yield from _backwards(held, source)
        return
    yield from held
    yield from source


def _descends(sample: pl.DataFrame) -> bool:
    clock = "mono" if sample["mono"].drop_nulls().len() > sample.height // 2 else None
    names = [clock] if clock else [name for name in ("at", "_wall", "_local") if name in sample.columns]
    for name in names:
        steps = sample[name].drop_nulls().to_physical().diff().drop_nulls()
        if name == "_wall":  # without a year, December to January is one step forward
            half = _YEAR_END_DAYS * 86_400_000_000
            steps = steps.filter(steps.abs() < half)
        back, forward = int((steps < 0).sum()), int((steps > 0).sum())
        if back >= _FEWEST_DESCENTS and back > _DESCENTS_PER_ASCENT * forward:
            return True
    return False


def _backwards(held: list[pl.DataFrame], rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    with tempfile.TemporaryDirectory(prefix="kvforensics-") as name:
        folder = Path(name)
        kept: list[pl.DataFrame | Path] = []
        size = 0
        for frame in _chained(held, rest):
            size += int(frame.estimated_size())
            if size <= MEMORY_BYTES:
                kept.append(frame)
                continue
            file = folder / f"{len(kept)}.arrow"
            frame.write_ipc(file, compression="zstd")
            kept.append(file)
        while kept:
            last = kept.pop()
            frame = last if isinstance(last, pl.DataFrame) else pl.read_ipc(last)
            yield frame.reverse()


def _chained(held: list[pl.DataFrame], rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield from held
    held.clear()
    yield from rest
