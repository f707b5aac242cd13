"""Whatever a log holds: the parser never fails, counts every record once, and lets no secret out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvforensics.parsing import Parser
from kvforensics.parsing.kinds import samples
from kvforensics.records import RECORD_SCHEMA, Origin, Origins, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

# A longer run: KVFORENSICS_EXAMPLES=100000 pytest tests/property
EXAMPLES = int(os.environ.get("KVFORENSICS_EXAMPLES", "150"))
SECRET = "hunter2-very-secret"
GRAMMARS = ("scheduler", "startup", "adjust", "trouble", "systemd", "foreign", "prefix")
PIECES = [
    *(
        "[2026-05-12 10:11:12 TP0] ",
        "[2026-10-25 02:30:00] ",
        "[18:39:03 TP0] ",
        "(Engine pid=5) ",
        "[rank0]:",
        "it/s]",
    ),
    *(
        "\n",
        "\r",
        "\x1b[31m",
        "\x1b]8;;",
        "\x00",
        "\u2028",
        "\ufeff",
        "\U0001f600",
        "é",
        "٣",
        "9" * 25,
        "-",
        "'",
        '"',
    ),
    *(
        "server_args=ServerArgs(",
        "server_args={'",
        "Traceback (most recent call last):\n",
        "  File ",
        "ValueError: ",
    ),
    *("{", "}", "[", "]", "(", ")", "<", ">", ": ", ", ", "=", "\\", "/", "%s", "None", "inf", "nan"),
]
EXTRAS = [
    None,
    None,
    None,
    "",
    "{",
    "[1]",
    '{"MESSAGE_ID": "39f53479d3a045ac8e11786248231fbf", "UNIT": "a.service"}',
]
ORIGINS = [
    Origin(),
    Origin(ident="python3", pid=5),
    Origin(ident="systemd", pid=1),
    Origin(ident="sudo"),
    Origin(container="c"),
]


@st.composite
def messages(draw: st.DrawFn) -> str | None:
    parts = draw(
        st.lists(
            st.one_of(
                st.sampled_from(PIECES),
                st.sampled_from([line for name in GRAMMARS for line in samples(name)]),
                st.text(max_size=20),
                st.just(f" api_key='{SECRET}' "),
            ),
            max_size=5,
        )
    )
    text = "".join(parts)
    cut = draw(st.integers(0, len(text)))
    rest = text if SECRET in text else text[cut:]  # what a secret is called must not be cut off
    return draw(st.sampled_from([text, text, text[:cut], rest, None]))


def frame(rows: Sequence[tuple[str | None, int, str | None]]) -> pl.DataFrame:
    data: dict[str, list[object]] = {name: [None] * len(rows) for name in RECORD_SCHEMA}
    data["source"], data["line"] = [0] * len(rows), list(range(1, len(rows) + 1))
    data["message"], data["origin"], data["extra"] = map(list, zip(*rows, strict=True))
    return pl.DataFrame(data, schema=RECORD_SCHEMA)


ROWS = st.lists(
    st.tuples(messages(), st.integers(0, len(ORIGINS) - 1), st.sampled_from(EXTRAS)), min_size=1, max_size=12
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(ROWS, st.sampled_from(["UTC", "Europe/Berlin", "-05:30"]))
def test_any_records_are_read_and_counted(rows: list[tuple[str | None, int, str | None]], tz: str) -> None:
    table = Origins()
    for origin in ORIGINS:
        table.intern(origin)
    block = Parser(0, Source("x"), table, tz).feed(frame(rows))
    assert block.records == len(rows) == block.understood + block.unknown
    assert sum(shape.count for shape in block.shapes.values()) == block.unknown
    assert block.seen is not None
    assert block.seen["line"].to_list() == list(range(1, len(rows) + 1))
    assert [event.line for event in block.rare] == sorted(event.line for event in block.rare)
    said = [repr(block.rare), repr(block.shapes), *(repr(hot.to_dicts()) for hot in block.hot.values())]
    assert all(SECRET not in text for text in said)
