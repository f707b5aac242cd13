from __future__ import annotations

from datetime import datetime

import pytest

from kvforensics import selection
from kvforensics.analysis import Analysis, Coverage, Service
from kvforensics.errors import NoLaunchError, UsageError
from kvforensics.launches import Config, Launch
from kvforensics.options import Options
from kvforensics.records import Origins


def service(name: str, host: str | None = None, unit: str | None = None, launches: int = 3) -> Service:
    return Service(name, host, unit, tuple(Launch(f"L{n}", Config()) for n in range(1, launches + 1)))


def analysis(*services: Service) -> Analysis:
    return Analysis((), Coverage(0, 0, 0), services, Origins())


ONE = service("n1/a.service", "n1", "a.service")
TWO = service("n2/a.service", "n2", "a.service")


def test_the_only_service_needs_no_name():
    assert selection.service(analysis(ONE), None) is ONE


@pytest.mark.parametrize("name", ["n1/a.service", "n1"])
def test_a_service_is_named_by_id_or_host(name):
    assert selection.service(analysis(ONE, TWO), name) is ONE


@pytest.mark.parametrize("name", ["a.service", "a"])
def test_a_service_is_named_by_unit_where_that_tells(name):
    assert selection.service(analysis(ONE, service("x")), name) is ONE
    with pytest.raises(UsageError, match="several"):
        selection.service(analysis(ONE, TWO), name)


def test_what_is_no_service_is_said_with_those_that_are():
    with pytest.raises(UsageError) as refused:
        selection.service(analysis(ONE, TWO), "nosuch")
    assert "n1/a.service" in refused.value.hint
    with pytest.raises(UsageError):
        selection.service(analysis(ONE, TWO), None)
    with pytest.raises(NoLaunchError):
        selection.service(analysis(), None)


@pytest.mark.parametrize(
    ("words", "ids"),
    [((None, None), ("L2", "L3")), (("L1", None), ("L1", "L2")), ((None, "L2"), ("L1", "L2")),
     (("L1", "L3"), ("L1", "L3")), (("l1", "l2"), ("L1", "L2"))],
)  # fmt: skip
def test_a_pair(words, ids):
    older, newer = selection.pair(ONE, *words)
    assert (older.id, newer.id) == ids


@pytest.mark.parametrize(
    "words", [("L3", "L1"), ("L2", "L2"), ("L3", None), (None, "L1"), ("L9", None), (None, "x")]
)
def test_no_pair(words):
    with pytest.raises(UsageError):
        selection.pair(ONE, *words)
    with pytest.raises(UsageError, match="one launch"):
        selection.pair(service("x", launches=1), None, None)


T = datetime(2026, 5, 20, 12)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (Options(), True),
        (Options(units=("a",)), True),
        (Options(units=("a.service",)), True),
        (Options(units=("b*", "a*")), True),
        (Options(units=("b",)), False),
        (Options(hosts=("n?",)), True),
        (Options(hosts=("m1",)), False),
        (Options(since=T, until=T), True),
        (Options(since=datetime(2026, 5, 20, 13)), False),
        (Options(until=datetime(2026, 5, 20, 11)), False),
    ],
)
def test_events_are_kept_by_unit_host_and_time(options, kept):
    assert selection.keeps(options, "a.service", "n1", T) is kept


def test_an_event_without_a_time_is_kept():
    assert selection.keeps(Options(since=T), None, None, None)
