from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import pytest

from kvforensics.carriers import order
from kvforensics.carriers.carrier import Context
from kvforensics.carriers.frames import record_frame
from kvforensics.carriers.order import in_time_order
from kvforensics.options import Options
from kvforensics.records import Origins, Source

BEGIN = datetime(2026, 11, 30, 18)


def frames_of(seconds, step, column="at"):
    context = Context(0, Source("input"), Options(), Origins())
    values = [None if second is None else BEGIN + timedelta(seconds=second) for second in seconds]
    if column == "mono":
        values = seconds
    numbers = list(range(1, len(seconds) + 1))
    return [
        record_frame(
            context,
            {
                "line": numbers[at : at + step],
                "message": [str(number) for number in numbers[at : at + step]],
                column: values[at : at + step],
            },
        )
        for at in range(0, len(seconds), step)
    ]


def lines(seconds, step=7, column="at"):
    found = list(in_time_order(frames_of(seconds, step, column)))
    return pl.concat(found)["line"].to_list() if found else []


@pytest.mark.parametrize("column", ["at", "_wall", "_local", "mono"])
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_newest_first_is_turned_round(column, step):
    assert lines(list(range(20, 0, -1)), step, column) == list(range(20, 0, -1))
    assert lines(list(range(20)), step, column) == list(range(1, 21))


@pytest.mark.parametrize(
    "seconds",
    [
        [],
        [5],
        [5, 4],  # a step back is a step back
        [1, 2, 3, 2, 3, 4],
        [3599, 3600, 1, 2, 3600],  # the hour that comes twice
        [1, 1, 1, 1],
        [5, 4, 5, 4, 5, 4, 5, 4],  # jitter
        [None, None, None],
    ],
)
def test_other_orders_stay(seconds):
    assert lines(seconds) == list(range(1, len(seconds) + 1))


def test_times_that_are_missing_do_not_matter():
    assert lines([9, None, 8, None, 7, 6]) == [6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("step", [1, 100, 5000])
def test_the_same_records_decide_however_the_frames_are_cut(monkeypatch, step):
    monkeypatch.setattr(order, "SAMPLE_RECORDS", 10)
    descending_later = list(range(10)) + list(range(1000, 0, -1))
    assert lines(descending_later, step) == list(range(1, 1011))
    ascending_later = list(range(100, 90, -1)) + list(range(50))
    assert lines(ascending_later, step) == list(range(60, 0, -1))


def test_large_sources_go_to_temporary_files(monkeypatch, tmp_path):
    monkeypatch.setattr(order, "MEMORY_BYTES", 500)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = []
    for frame in in_time_order(frames_of(list(range(300, 0, -1)), 10)):
        found += frame["line"].to_list()
        assert found[-1] == 1 or list(tmp_path.rglob("*.arrow"))
    assert found == list(range(300, 0, -1))
    assert list(tmp_path.iterdir()) == []


def test_december_after_january_is_newest_first(read):
    stamps = ["Jan 01 00:00:02", "Jan 01 00:00:01", "Dec 31 23:59:59", "Dec 31 23:59:58", "Dec 31 23:59:57"]
    text = "".join(f"{stamp} k26-node1 python3[71]: x\n" for stamp in stamps[:-1])
    text += f"{stamps[-1]} k26-node1 python3[71]: [2025-12-31 23:59:57 TP0] y\n"
    found = read(text.encode())
    assert [at.year for at in found.frame["at"]] == [2025, 2025, 2025, 2026, 2026]
