"""How many buckets a pile will hold once it is merged."""

import polars as pl
import pytest

from kvforensics.samples.pile import distinct


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [1, 1, 2], "b": [5, 5, 5]},
        {"a": [None, 1, None, 2], "b": [1, 1, 1, 1]},
        {"a": [None, None], "b": [None, 3]},
        {"a": [-(1 << 62), 0, 1 << 40, 0], "b": [None, 7, 7, 7]},
        {"a": [-(1 << 62), 1 << 62, 3, 3], "b": [-(1 << 62), 1 << 62, 3, 4]},
        {name: [0, 1 << 31, 1 << 30, 0] for name in "abc"},
        {"a": [4, 4], "b": [4, 4]},
    ],
)
def test_as_many_as_differ(columns):
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64))
    expected = len(set(frame.iter_rows()))
    assert distinct([frame], list(columns)) == expected
    assert distinct([frame[:1], frame[1:], frame], list(columns)) == expected
