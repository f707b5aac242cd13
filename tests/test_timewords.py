from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.errors import UsageError
from kvforensics.timewords import parse, zone

NOW = datetime(2026, 5, 20, 14, 30, 15, 250000, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("2026-05-20 14:03:00", "2026-05-20T14:03:00"),
        ("2026-05-20 14:03", "2026-05-20T14:03:00"),
        ("2026-05-20T14:03:00Z", "2026-05-20T14:03:00"),
        ("2026-05-20 14:03:00.5", "2026-05-20T14:03:00.5"),
        ("2026-05-20 14:03:00.123456789", "2026-05-20T14:03:00.123456"),
        ("2026-05-20 14:03:00 UTC", "2026-05-20T14:03:00"),
        ("2026-05-20 14:03:00 Europe/Berlin", "2026-05-20T12:03:00"),
        ("2026-05-20T14:03:00+02:00", "2026-05-20T12:03:00"),
        ("2026-05-20 14:03:00 +0200", "2026-05-20T12:03:00"),
        ("Wed 2026-05-20 14:03:00 UTC", "2026-05-20T14:03:00"),
        ("2026-05-20", "2026-05-20T00:00:00"),
        ("2026-5-2", "2026-05-02T00:00:00"),
        ("14:03:07", "2026-05-20T14:03:07"),
        ("9:05", "2026-05-20T09:05:00"),
        ("now", "2026-05-20T14:30:15.25"),
        ("today", "2026-05-20T00:00:00"),
        ("yesterday", "2026-05-19T00:00:00"),
        ("Tomorrow", "2026-05-21T00:00:00"),
        ("-2h", "2026-05-20T12:30:15.25"),
        ("-1h 30min", "2026-05-20T13:00:15.25"),
        ("+90", "2026-05-20T14:31:45.25"),
        ("3 days ago", "2026-05-17T14:30:15.25"),
        ("1.5 h ago", "2026-05-20T13:00:15.25"),
        ("1h30m ago", "2026-05-20T13:00:15.25"),
        ("5min left", "2026-05-20T14:35:15.25"),
        ("-1M", "2026-04-20T04:00:15.25"),
        ("@1779285780", "2026-05-20T14:03:00"),
        ("@1779285780.5", "2026-05-20T14:03:00.5"),
        ("  2026-05-20  ", "2026-05-20T00:00:00"),
    ],
)
def test_the_words_of_journalctl(words, moment):
    assert parse(words, now=NOW) == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("2026-05-20 14:03:00", "2026-05-20T12:03:00"),
        ("2026-05-20 14:03:00 UTC", "2026-05-20T14:03:00"),
        ("today", "2026-05-19T22:00:00"),
        ("today UTC", "2026-05-20T00:00:00"),
        ("14:03", "2026-05-20T12:03:00"),
        ("2026-12-24", "2026-12-23T23:00:00"),
        ("-1h", "2026-05-20T13:30:15.25"),
    ],
)
def test_words_without_a_zone_are_local(words, moment):
    assert parse(words, now=NOW, local=BERLIN) == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    "words",
    ["", "soon", "2026-13-01", "2026-05-20 25:00", "Mon 2026-05-20", "-", "-2parsecs", "@", "2026-05-20 Mars/Base",
     "20.5.2026", "ago", "1 ago ago", "-99999999999y", "@1e99", "14:03 14:03"],
)  # fmt: skip
def test_other_words_are_refused_with_an_example(words):
    with pytest.raises(UsageError) as refused:
        parse(words, now=NOW)
    assert refused.value.exit_code == 2
    assert refused.value.hint


@given(st.text())
def test_any_words_are_a_time_or_a_usage_error(words):
    with suppress(UsageError):
        assert parse(words, now=NOW).tzinfo is None


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)))
def test_what_is_written_in_utc_is_read_back(moment):
    assert parse(f"{moment:%Y-%m-%d %H:%M:%S}.{moment:%f} UTC", now=NOW, local=BERLIN) == moment


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("UTC", UTC),
        ("utc", UTC),
        ("+02:00", timezone(timedelta(hours=2))),
        ("-0330", timezone(timedelta(hours=-3.5))),
        ("Europe/Berlin", BERLIN),
    ],
)
def test_zones(name, meant):
    assert zone(name) == meant


@pytest.mark.parametrize("name", ["", "Mars/Base", "+25:00", "../etc/passwd", "Europe", "\x00"])
def test_no_zones(name):
    with pytest.raises(UsageError):
        zone(name)
