from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from kvforensics.carriers import times
from kvforensics.carriers.months import month
from kvforensics.carriers.zones import LocalClock
from kvforensics.errors import UsageError

PREFIX = "k26-node1 python3[71]: "


def text(*lines):
    return "".join(f"{stamp} {PREFIX}{message}\n" for stamp, message in lines).encode()


def years(found):
    return [at and at.year for at in found.frame["at"]]


def test_a_year_from_a_date_that_comes_later(read):
    data = text(("Nov 30 18:00:00", "Started"), ("Nov 30 18:00:01", "[2026-11-30 18:00:01 TP0] x"))
    assert years(read(data)) == [2026, 2026]


def test_no_year_anywhere(read):
    found = read(text(("Nov 30 18:00:00", "Started"), ("Nov 30 18:00:01", "line")))
    assert years(found) == [None, None]
    assert (found.source.time_basis, found.source.first_at) == ("none", None)


def test_the_files_own_date_is_not_used(read, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(text(("Nov 30 18:00:00", "Started")))
    assert years(read(path)) == [None]


@pytest.mark.parametrize("runs", [3, 300])
def test_hosts_whose_clocks_are_days_apart(read, runs):
    day = (
        ("Nov 30 18:00:00", "[2026-11-30 18:00:00 TP0] x"),
        ("Dec 05 18:00:00", "[2026-12-05 18:00:00 TP0] y"),
    )
    assert years(read(text(*day * runs))) == [2026] * 2 * runs


def test_lines_without_time_before_the_first(read):
    data = b"no time\n" + text(("Nov 30 18:00:00", "a"), ("Nov 30 18:00:01", "[2026-11-30 18:00:01 TP0] x"))
    assert years(read(data)) == [None, 2026, 2026]


def test_a_date_in_a_line_of_no_record_is_no_anchor(read):
    data = text(*(("Nov 30 18:00:00", "a"),) * 5) + b"something [2026-11-30 18:00:01 TP0] else\n"
    for block_bytes in (1, None):
        assert years(read(data, block_bytes=block_bytes)) == [None] * 6


def test_a_date_inside_a_message(read):
    data = text(("Nov 30 18:00:00", "\r 9%|x[2026-11-30 19:00:00 TP6] Capture"), ("Nov 30 18:00:01", "y"))
    assert years(read(data)) == [2026, 2026]


@pytest.mark.parametrize("inner", ["2026-12-01 07:00:00", "2026-11-29 20:00:00"])
def test_the_server_may_be_in_another_zone(read, inner):
    assert years(read(text(("Nov 30 18:00:00", f"[{inner} TP0] x")))) == [2026]


@pytest.mark.parametrize(
    ("stamp", "inner", "year"),
    [("Dec 31 23:00:00", "2027-01-01 01:00:00", 2026), ("Jan 01 01:00:00", "2026-12-31 20:00:00", 2027)],
)
def test_zones_over_new_year(read, stamp, inner, year):
    assert years(read(text((stamp, f"[{inner} TP0] x")))) == [year]


def test_a_date_that_does_not_fit_is_no_anchor(read):
    data = text(
        ("Nov 30 18:00:00", "[2019-03-04 00:00:00] quoted"), ("Nov 30 18:00:01", "[2026-99-99 00:00:00] x")
    )
    assert years(read(data)) == [None, None]


def test_across_new_year(read):
    data = text(
        ("Dec 30 10:00:00", "a"),
        ("Dec 31 23:59:58", "[2025-12-31 23:59:58 TP0] b"),
        ("Jan 01 00:00:01", "c"),
        ("Jan 02 00:00:01", "d"),
        ("Dec 31 23:59:59", "the clock set back"),
    )
    assert years(read(data)) == [2025, 2025, 2026, 2026, 2025]
    back = text(
        ("Dec 31 23:59:58", "[2025-12-31 23:59:58 TP0] b"),
        ("Jan 01 00:00:30", "c"),
        ("Dec 31 23:59:00", "the clock set back"),
    )
    assert years(read(back)) == [2025, 2026, 2025]


def test_years_before_the_first_date(read):
    data = text(
        ("Nov 30 10:00:00", "a"), ("Feb 01 10:00:00", "b"), ("Mar 01 10:00:00", "[2026-03-01 10:00:00] c")
    )
    assert years(read(data)) == [2025, 2026, 2026]


def test_a_gap_of_years_is_seen_at_the_next_date(read):
    data = text(
        ("Nov 30 10:00:00", "[2022-11-30 10:00:00] a"),
        ("Dec 01 10:00:00", "[2025-12-01 10:00:00] b"),
        ("Dec 02 10:00:00", "c"),
    )
    assert years(read(data)) == [2022, 2025, 2025]


def test_small_steps_back_are_no_new_year(read):
    data = text(
        ("Nov 30 10:00:00", "[2026-11-30 10:00:00] a"), ("Nov 30 09:00:00", "b"), ("Aug 30 09:00:00", "c")
    )
    assert years(read(data)) == [2026, 2026, 2026]


def test_the_29th_of_february(read):
    found = read(text(("Feb 29 10:00:00", "[2024-02-29 10:00:00] a"), ("Mar 01 10:00:00", "b")))
    assert found.frame["at"].to_list() == [datetime(2024, 2, 29, 10), datetime(2024, 3, 1, 10)]


@pytest.mark.parametrize("year", [2023, 2024, 2025, 2026])
def test_every_day_of_a_year(read, year):
    day = datetime(year, 1, 1, 12)
    lines, expected = [(f"{day:%b %d} 11:00:00", f"[{day:%Y-%m-%d} 12:00:00] x")], [day - timedelta(hours=1)]
    while day.year == year:
        lines.append((f"{day:%b %d %H:%M:%S}", "x"))
        expected.append(day)
        day += timedelta(days=1)
    assert read(text(*lines)).frame["at"].to_list() == expected


def test_a_journal_begins_line(read):
    head = b"-- Journal begins at Mon 2026-11-30 18:26:46 UTC, ends at Tue 2026-12-01 18:27:29 UTC. --\n"
    assert years(read(head + text(("Nov 30 18:26:46", "a"), ("Dec 01 18:27:29", "b")))) == [2026, 2026]
    wide = b"-- Logs begin at Mon 2024-11-30 18:26:46 UTC, end at Tue 2026-12-01 18:27:29 UTC. --\n"
    assert years(read(wide + text(("Nov 30 18:26:46", "a")))) == [None]
    assert years(read(wide + text(("Nov 30 18:26:46", "[2025-11-30 18:26:46] a")))) == [2025]


def test_records_that_wait_too_long_have_no_year(read, monkeypatch):
    monkeypatch.setattr(times, "HELD_RECORDS", 10)
    early = [("Nov 30 10:00:00", f"{number}") for number in range(20)]
    data = text(*early, ("Nov 30 10:00:01", "[2026-11-30 10:00:01] x"), ("Nov 30 10:00:02", "y"))
    for block_bytes in (50, 300, None):
        assert years(read(data, block_bytes=block_bytes)) == [None] * 20 + [2026] * 2


def test_tz_is_an_iana_name_or_an_offset(read):
    data = text(("Nov 30 18:00:00", "[2026-11-30 18:00:00 TP0] x"))
    for zone, hour in (
        ("UTC", 18),
        ("Europe/Berlin", 17),
        ("+02:00", 16),
        ("-0530", 23),
        ("America/New_York", 23),
    ):
        assert read(data, tz=zone).frame["at"][0].hour == hour
    with pytest.raises(UsageError):
        read(data, tz="CEST?")


def local(*clock):
    import polars as pl

    return pl.Series([datetime(2026, *fields) for fields in clock], dtype=pl.Datetime("us"))


def test_the_repeated_hour_in_pieces():
    times_of_day = [
        (10, 25, 1, 59),
        (10, 25, 2, 0),
        (10, 25, 2, 59),
        (10, 25, 2, 0),
        (10, 25, 2, 59),
        (10, 25, 3, 0),
    ]
    expected = [(24, 23, 59), (25, 0, 0), (25, 0, 59), (25, 1, 0), (25, 1, 59), (25, 2, 0)]
    clock = LocalClock("Europe/Berlin")
    one_by_one = [clock.utc(local(time))[0] for time in times_of_day]
    together = LocalClock("Europe/Berlin").utc(local(*times_of_day)).to_list()
    assert one_by_one == together == [datetime(2026, 10, day, hour, minute) for day, hour, minute in expected]


def test_jitter_is_no_end_of_summer_time():
    found = LocalClock("Europe/Berlin").utc(local((10, 25, 2, 10, 5), (10, 25, 2, 10, 1), (10, 25, 2, 11)))
    assert [time.hour for time in found] == [0, 0, 0]


def test_the_hour_that_is_left_out():
    found = LocalClock("Europe/Berlin").utc(local((3, 29, 1, 59), (3, 29, 2, 30), (3, 29, 3, 0)))
    assert [(time.hour, time.minute) for time in found] == [(0, 59), (1, 30), (1, 0)]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("Mai", 5),
        ("MAI", 5),
        ("märz", None),
        ("Mär", 3),
        ("déc.", 12),
        ("12月", 12),
        ("13月", None),
        ("0月", None),
        ("xyz", None),
        ("", None),
    ],
)
def test_months(name, number):
    assert month(name) == number


OUTSIDE = ["0001-01-01T00:00:00+02:00", "9999-12-31T23:59:59-05:00"]
INSIDE = ["0001-01-01T02:00:00+02:00", "9999-12-31T18:59:59-05:00"]


@pytest.mark.parametrize(
    "line",
    [
        "{} stdout F x",
        "{} h sglang[3]: x",
        "<14>1 {} h sglang 3 - - x",
        '{{"log":"x\\n","stream":"stdout","time":"{}"}}',
    ],
)
def test_a_time_that_its_offset_moves_out_of_the_calendar_is_none(read, line):
    found = read("".join(line.format(stamp) + "\n" for stamp in [*OUTSIDE, *INSIDE]).encode())
    assert found.source.carrier != "plain"
    assert found.frame["at"].to_list()[:2] == [None, None]
    assert found.frame["at"].dt.year().to_list()[2:] == [1, 9999]
    assert found.source.first_at == datetime(1, 1, 1)
