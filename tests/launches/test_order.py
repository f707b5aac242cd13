"""One order over several inputs."""

from datetime import timedelta

import pytest

from kvforensics.launches.order import natural
from tests.launches.log import START, UNIT, Log, ends, only


def facts(history):
    """Return what may not depend on how the input was cut or named."""
    return [
        (
            launch.id, launch.started_at, launch.ready_at, launch.ended_at, launch.last_at, launch.end,
            launch.config.values, launch.pool_tokens, launch.memory, launch.downtime_s, launch.requests.retractions,
            [(pool.role, pool.tokens, pool.ranks) for pool in launch.pools], [event.kind for event in launch.events],
        )
        for launch in history.launches
    ]  # fmt: skip


def incident(**origin) -> Log:
    log = Log("a.log", **origin).write("note").start(draft=True)
    log.write("decode", rank=0, usage=0.5, running=3).write("retraction", rank=0, retracted=2)
    log.write("note", after=30).write("sigterm").write("graceful_exit")
    log.write("note", after=40).start(config={"context_length": 200000}, draft=True)
    log.write("too_long", rank=0, gate="pool_input", input_tokens=5, limit_tokens=4)
    return log.write("exception_begin", phase="Scheduler", rank=0).write("sigquit")


def cut(log: Log, at: int) -> tuple[Log, Log]:
    first, second = Log("a.log"), Log("b.log")
    first.lines, second.lines = log.lines[:at], log.lines[at:]
    return first, second


@pytest.mark.parametrize("at", range(1, 60))
def test_a_cut_at_any_line_changes_nothing(at):
    log = incident()
    if at >= len(log.lines):
        pytest.skip("the log is shorter")
    whole = facts(only(log))
    first, second = cut(log, at)
    assert facts(only(first, second)) == whole
    assert facts(only(second, first)) == whole


@pytest.mark.parametrize("at", range(5, 60, 7))
def test_a_cut_of_a_journal_changes_nothing(at):
    log = incident(host="n1", unit=UNIT, invocation="i1")
    whole = facts(only(log))
    first, second = cut(log, min(at, len(log.lines) - 1))
    assert facts(only(second, first)) == whole


def test_a_clock_that_steps_back_does_not_reorder_an_input():
    log = Log().start()
    log.now = START - timedelta(hours=1)
    log.write("sigterm").start(config={"context_length": 65536})
    history = only(log)
    assert ends(history) == ["stopped", "running"]
    assert [launch.context_len for launch in history.launches] == [32768, 65536]


def test_the_monotonic_clock_decides_between_inputs_of_one_boot():
    where = {"host": "n1", "unit": UNIT, "boot": "b"}
    first, second = Log("a", at=START, **where), Log("b", at=START - timedelta(hours=1), **where)
    first.write("server_args", values={"x": 1}, form="repr", mono=1).write("sigterm", mono=2)
    second.write("server_args", values={"x": 2}, form="repr", mono=3).write(
        "load_begin", mono=4, avail_gib=1.0
    )
    for logs in ((first, second), (second, first)):
        assert [launch.config.values["x"] for launch in only(*logs).launches] == [1, 2]


def test_an_input_that_was_printed_newest_first():
    log = incident()
    count = len(log.lines)
    whole = facts(only(log))
    flipped = only(log, flip=count)
    assert facts(flipped) == whole


def test_inputs_without_time_stand_behind_the_path_before_theirs():
    first, last = Log("s02.log").start(), Log("s30.log")
    last.now += timedelta(days=1)
    last.start(config={"x": 1})
    timeless = Log("s17.log", at=None)
    timeless.write("exception", type="ValueError", message="x").write("context_rejected", asked=2, derived=1)
    for logs in ((first, timeless, last), (timeless, last, first)):
        assert ends(only(*logs)) == ["unknown", "failed_start", "running"]


def test_numbers_in_paths_sort_as_numbers():
    assert sorted(["log.10", "log.2", "log"], key=natural) == ["log", "log.2", "log.10"]
