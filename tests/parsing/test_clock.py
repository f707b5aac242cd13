"""Printed times in UTC."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import pytest

from kvforensics.errors import UsageError
from kvforensics.parsing.clock import Clock, zone


def times(*texts: str) -> list[datetime]:
    return [datetime.fromisoformat(text) for text in texts]


AUTUMN = times(
    "2026-10-25 01:59",
    "2026-10-25 02:10",
    "2026-10-25 02:50",
    "2026-10-25 02:49",
    "2026-10-25 02:05",
    "2026-10-25 02:55",
    "2026-10-25 03:01",
)
IN_UTC = times(
    "2026-10-24 23:59",
    "2026-10-25 00:10",
    "2026-10-25 00:50",
    "2026-10-25 00:49",
    "2026-10-25 01:05",
    "2026-10-25 01:55",
    "2026-10-25 02:01",
)


def test_the_hour_that_comes_twice_is_told_by_order() -> None:
    assert [Clock("Europe/Berlin").utc(AUTUMN[0])] == IN_UTC[:1]
    clock = Clock("Europe/Berlin")
    assert [clock.utc(time) for time in AUTUMN] == IN_UTC
    series = pl.Series(AUTUMN, dtype=pl.Datetime("us"))
    assert Clock("Europe/Berlin").utc_of(series).to_list() == IN_UTC


@pytest.mark.parametrize("cut", range(len(AUTUMN) + 1))
def test_blocks_do_not_change_that(cut: int) -> None:
    clock = Clock("Europe/Berlin")
    parts = [pl.Series(part, dtype=pl.Datetime("us")) for part in (AUTUMN[:cut], [None], AUTUMN[cut:])]
    found = [time for part in parts for time in clock.utc_of(part).to_list()]
    assert [time for time in found if time is not None] == IN_UTC


def test_an_hour_that_the_zone_skips_is_null() -> None:
    skipped = times("2026-03-29 02:30")
    assert Clock("Europe/Berlin").utc(skipped[0]) is None
    assert Clock("Europe/Berlin").utc_of(pl.Series(skipped, dtype=pl.Datetime("us"))).to_list() == [None]


@pytest.mark.parametrize(
    ("name", "hours"), [("UTC", 0), ("+02:00", -2), ("-0530", 5.5), ("UTC+1", -1), ("Asia/Tokyo", -9)]
)
def test_zones_by_name_and_by_offset(name: str, hours: float) -> None:
    at = datetime(2026, 5, 12, 10, 11, 12)
    assert Clock(name).utc(at) == at + timedelta(hours=hours)
    assert Clock(name).utc_of(pl.Series([at, None], dtype=pl.Datetime("us"))).to_list() == [
        at + timedelta(hours=hours),
        None,
    ]
    assert at + timedelta(hours=hours) in Clock(name).both(at)


@pytest.mark.parametrize("name", ["Mars/Base", "+99:00", "", "../etc/passwd", "/etc/localtime"])
def test_no_zone(name: str) -> None:
    with pytest.raises(UsageError, match="time zone"):
        zone(name)


def test_times_at_the_ends_of_the_calendar_are_null_and_no_error() -> None:
    for name in ("+02:00", "-02:00", "Europe/Berlin", "America/New_York"):
        for text in ("0001-01-01 00:00:00", "9999-12-31 23:59:59"):
            Clock(name).utc(datetime.fromisoformat(text))


@pytest.mark.parametrize("name", ["+02:00", "-02:00", "Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("text", ["0001-01-01 00:00:00", "9999-12-31 23:59:59"])
def test_there_columns_say_what_single_times_say(name: str, text: str) -> None:
    local = datetime.fromisoformat(text)
    column = Clock(name).utc_of(pl.Series([local, datetime(2026, 1, 1)], dtype=pl.Datetime("us")))
    assert column.to_list() == [Clock(name).utc(local), Clock(name).utc(datetime(2026, 1, 1))]
    assert Clock(name).both(local) == {Clock(name).utc(local)} - {None}
