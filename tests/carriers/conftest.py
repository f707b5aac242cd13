from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest

from kvforensics.carriers import open_source
from kvforensics.carriers.opening import open_stream
from kvforensics.options import Options
from kvforensics.records import RECORD_SCHEMA, Origin, Origins, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SAMPLES = Path(__file__).parents[1] / "samples"


class Read(NamedTuple):
    """All that was read of one source."""

    frame: pl.DataFrame
    origins: Origins
    source: Source

    def messages(self) -> list[str | None]:
        return self.frame["message"].to_list()

    def lines(self) -> list[int]:
        return self.frame["line"].to_list()

    def of(self, row: int) -> Origin:
        return self.origins[self.frame["origin"][row]]

    def values(self, name: str) -> set[Any]:
        """Return the distinct known values of one part of the origins of the records."""
        values = {getattr(self.origins[number], name) for number in self.frame["origin"].unique()}
        return values - {None}

    def damage(self) -> dict[str, tuple[int, int]]:
        return {kind: (damage.count, damage.first_line) for kind, damage in self.source.damaged.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return the records with their origins spelled out."""
        return [{**row, "origin": self.origins[row["origin"]]} for row in self.frame.iter_rows(named=True)]


def _read(data: bytes | Path | str | Sequence[bytes], block_bytes: int | None = None, **options: Any) -> Read:
    origins = Origins()
    wanted = Options(**options)
    if isinstance(data, (Path, str)):
        opened = open_source(str(data), wanted, origins, 0)
    else:
        pieces = [data] if isinstance(data, bytes) else list(data)
        opened = open_stream(pieces, None, "input", wanted, origins, 0)
    if block_bytes is not None:
        opened.blocks.block_bytes = block_bytes
    frames = list(opened)
    assert all(frame.schema == RECORD_SCHEMA for frame in frames)
    frame = pl.concat(frames) if frames else pl.DataFrame(schema=RECORD_SCHEMA)
    return Read(frame, origins, opened.source)


@pytest.fixture(scope="session")
def read() -> Callable[..., Read]:
    """Read bytes, a list of pieces of bytes, or a path."""
    return _read


@pytest.fixture(scope="session")
def samples() -> Path:
    return SAMPLES
