"""A launch that stands in the log twice is counted once; what only looks like it is not."""

import copy
from datetime import timedelta

import pytest

from tests.launches.log import Log, only


def again(log: Log, first: int, last: int | None = None) -> Log:
    """The log, and lines of it once more, at their own times."""
    both = copy.copy(log)
    both.lines = [*log.lines, *log.lines[first:last]]
    return both


def two_launches() -> Log:
    log = Log().start()
    log.write("decode", running=1, tokens=100, usage=0.1, after=5)
    log.write("retraction", retracted=2, after=5)
    log.write("sigterm", after=60)
    log.start(config={"context_length": 200_000}, tokens=5000)
    return log.write("retraction", retracted=3, after=5)


def test_a_log_twice():
    log = two_launches()
    once, twice = only(log), only(again(log, 0))
    assert [(x.id, x.started_at, x.end, x.requests.retractions) for x in twice.launches] == [
        (x.id, x.started_at, x.end, x.requests.retractions) for x in once.launches
    ]
    second = next(n for n, (kind, *_) in enumerate(log.lines) if n and kind == "server_args")
    lines = len(log.lines)
    assert [(name, event.line) for name, event in twice.copies] == [
        ("L1", lines + 1),
        ("L2", lines + 1 + second),
    ]
    assert once.copies == ()


def test_an_export_appended_to_an_older_one():
    """The first one ends while the last launch starts; the second has all of it."""
    log = two_launches()
    older = copy.copy(log)
    older.lines = [*log.lines[:-3], *log.lines]
    found = only(older)
    assert [launch.requests.retractions for launch in found.launches] == [2, 3]
    assert found.launches[-1].pool_tokens == 5000
    assert [name for name, _ in found.copies] == ["L1", "L2"]


@pytest.mark.parametrize("change", ["later", "other settings"])
def test_the_same_start_at_another_time_or_with_other_settings(change):
    log = Log().start().write("sigterm")
    other = copy.copy(log)
    other.lines = [
        (
            kind,
            {**fields, "x": 1} if change == "other settings" else fields,
            who,
            at + timedelta(seconds=3600 if change == "later" else 0),
            ranks,
            mono,
        )
        for kind, fields, who, at, ranks, mono in log.lines
    ]
    both = copy.copy(log)
    both.lines = [*log.lines, *other.lines]
    assert len(only(both).launches) == 2
    assert only(both).copies == ()
