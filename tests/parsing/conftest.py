"""What the tests of parsing share: sample lines, frames of records, parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import settings

from kvforensics.parsing import Parser
from kvforensics.parsing.sources import folder
from kvforensics.records import RECORD_SCHEMA, Origin, Origins, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvforensics.events import EventBlock


# No test is timed: the machine may be busy.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def sample_lines(name: str) -> list[str]:
    text = (folder() / "samples" / f"{name}.txt").read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("# ")]


def frame(
    messages: Sequence[str | None], *, first_line: int = 1, **columns: Sequence[object]
) -> pl.DataFrame:
    """Return a record frame; `columns` override single columns of the schema."""
    height = len(messages)
    data: dict[str, object] = {name: [None] * height for name in RECORD_SCHEMA}
    data |= {
        "source": [0] * height,
        "origin": [0] * height,
        "line": list(range(first_line, first_line + height)),
        "message": list(messages),
    }
    data |= columns
    return pl.DataFrame(data, schema=RECORD_SCHEMA)


def origins(*given: Origin) -> Origins:
    table = Origins()
    for origin in given or (Origin(),):
        table.intern(origin)
    return table


@pytest.fixture
def parse() -> Callable[..., EventBlock]:
    """Parse messages as one block of one source."""

    def run(
        *messages: str | None, tz: str = "UTC", origin: Origin | None = None, **columns: Sequence[object]
    ) -> EventBlock:
        table = origins(*([origin] if origin else []))
        return Parser(0, Source("test.log"), table, tz).feed(frame(messages, **columns))

    return run
