from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from kvforensics.report.terminal.figures import clock, count, gib, plural, setting, share, span


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0s"), (59.4, "59s"), (59.6, "1m 00s"), (244, "4m 04s"), (3599.6, "1h 00m"), (3780, "1h 03m"),
     (90000, "1d 1h"), (-5, "-5s"), (None, "?")],
)  # fmt: skip
def test_spans_have_two_units_at_most(seconds, said):
    assert span(seconds) == said
    if seconds is not None:
        assert span(timedelta(seconds=seconds)) == said


def test_what_the_log_does_not_say_is_a_question_mark():
    assert {count(None), gib(None), share(None), clock(None), span(None)} == {"?"}


def test_figures():
    assert (count(101134), gib(9.868), share(0.927)) == ("101,134", "9.87 GiB", "93 %")
    assert (plural(1, "launch", "launches"), plural(3, "launch", "launches"), plural(2, "edit")) == (
        "1 launch",
        "3 launches",
        "2 edits",
    )


def test_a_clock_beside_a_time_of_the_same_day_leaves_the_date_out():
    at = datetime(2026, 5, 20, 14, 3)
    assert clock(at, at) == "14:03:00"
    assert clock(at, at - timedelta(days=1)) == clock(at) == "2026-05-20 14:03:00"


@pytest.mark.parametrize(
    ("value", "said"),
    [("auto", "auto"), ("", "''"), (None, "None"), (0.85, "0.85"), (float("inf"), "inf"), ([1, 2], "[1, 2]"),
     ("\x1b[31m", r"\x1b[31m"), ("x" * 200, "x" * 59 + "…")],
)  # fmt: skip
def test_settings_are_said_as_one_types_them(value, said):
    assert setting(value) == said
