"""Where one start ends and the next begins."""

import pytest

from kvforensics.events import Ranks
from tests.launches.log import START, UNIT, Log, ends, histories, only

JOURNAL = {"host": "n1", "unit": UNIT, "ident": "python3", "boot": "b"}


def test_one_start_is_one_launch():
    history = only(Log().start())
    assert [launch.id for launch in history.launches] == ["L1"]
    assert history.launches[0].config.source == "server_args"
    assert history.launches[0].complete_start


def test_a_new_config_is_a_new_launch():
    assert len(only(Log().start().start()).launches) == 2


def test_the_engine_prints_its_config_twice():
    log = Log()
    values = {"context_length": 4096}
    log.write("server_args", values=values, form="repr").write("server_args", values=values, form="repr")
    log.write("load_begin", avail_gib=90.0).write("summary", pool_tokens=10, context_len=4096)
    assert len(only(log).launches) == 1


def test_two_equal_configs_with_a_start_between_are_two_launches():
    log = Log().start(ready=False).start(ready=False)
    assert len(only(log).launches) == 2


def test_two_different_configs_in_a_row_are_two_launches():
    log = (
        Log()
        .write("server_args", values={"a": 1}, form="repr")
        .write("server_args", values={"a": 2}, form="repr")
    )
    assert len(only(log).launches) == 2


def test_the_nodes_of_one_server_in_one_file_are_one_launch():
    log = Log()
    for node in (0, 1):
        log.write("server_args", values={"tp_size": 16, "node_rank": node, "random_seed": node}, form="repr")
    log.write("load_begin", rank=0, avail_gib=90.0).write("load_begin", rank=8, avail_gib=89.0)
    history = only(log)
    assert len(history.launches) == 1
    assert history.launches[0].config.values["node_rank"] == 0
    assert history.launches[0].memory.before_load_gib == 89.0


@pytest.mark.parametrize("kind", ["load_begin", "init_begin"])
def test_a_load_after_readiness_is_a_new_launch(kind):
    log = Log().start().write(kind, rank=0, after=60, avail_gib=94.0)
    assert len(only(log).launches) == 2


def test_a_draft_load_before_readiness_is_none():
    assert len(only(Log().start(draft=True)).launches) == 1


def test_a_rank_out_of_order_never_splits_a_launch():
    log = Log().start(ranks=2)
    log.now = START  # the line was written before readiness and arrives after it
    log.write("load_begin", rank=Ranks(tp=7), avail_gib=93.0)
    history = only(log)
    assert len(history.launches) == 1
    assert history.launches[0].memory.before_load_gib == 93.0


def test_a_rank_ahead_of_the_config_belongs_to_it():
    log = Log().write("init_begin", rank=3).start()
    assert len(only(log).launches) == 1


def test_a_rotated_head_is_a_launch_of_which_nothing_is_known():
    log = (
        Log().write("decode", rank=0, usage=0.5, running=3).write("sigterm", after=600).start(config={"x": 1})
    )
    head, second = only(log).launches
    assert (head.config.source, head.complete_start, head.pool_tokens) == ("none", False, None)
    assert head.end == "stopped"
    assert second.complete_start


def test_a_head_of_start_lines_long_before_the_config_is_another_launch():
    log = Log().write("pool_end", rank=0, avail_gib=3.0).write("note", after=600).start()
    assert len(only(log).launches) == 2


def test_a_log_without_events_is_a_launch_without_claims():
    log = Log()
    log.write("note")
    events = histories(log)
    assert events == []  # an ordinary line is nobody's


def test_lines_of_sglang_alone_are_a_launch():
    log = Log().write("other_line")
    found = only(log)
    assert len(found.launches) == 1
    launch = found.launches[0]
    assert (launch.end, launch.config.source, launch.complete_start) == ("running", "none", False)


def test_a_start_that_dies_before_its_config():
    log = Log(at=None)
    log.write("exception", type="ValueError", message="context_length (300000) is greater than")
    log.write("context_rejected", asked=300000, derived=262144)
    launch = only(log).launches[0]
    assert (launch.end, launch.config.source, launch.complete_start) == ("failed_start", "none", True)
    assert [event.kind for event in launch.events] == ["exception", "context_rejected"]


def test_a_start_that_dies_before_its_config_follows_a_stopped_one():
    log = Log().start().write("sigterm").write("sigquit")
    log.write("exception", after=100, type="ValueError", message="x").write(
        "context_rejected", asked=1, derived=0
    )
    log.start()
    assert ends(only(log)) == ["stopped", "failed_start", "running"]


def test_a_usage_error_is_a_failed_start():
    log = (
        Log().start().write("sigterm").write("usage_error", after=60, message="unrecognized arguments: --foo")
    )
    assert ends(only(log)) == ["stopped", "failed_start"]


def test_invocations_tell_launches_apart():
    log = Log("x", **JOURNAL)
    log.systemd("unit_started", invocation="i1").start(invocation="i1")
    log.systemd("unit_started", invocation="i2").start(invocation="i2")
    log.write("sigterm", origin={"invocation": "i1"})  # late, of the first
    first, second = only(log).launches
    assert first.end == "stopped"
    assert [event.kind for event in second.events][-1] == "ready"


def test_a_dead_process_without_invocation_keeps_its_launch():
    log = Log("x", **JOURNAL)
    log.systemd("unit_started", invocation="i1").start(invocation="i1", pids=100)
    log.systemd("unit_started", invocation="i2").start(invocation="i2", pids=200, ready=False)
    log.write("sigquit", origin={"pid": 100})
    first, second = only(log).launches
    assert first.end == "crashed"
    assert second.end == "running"


def test_a_unit_that_is_started_and_says_nothing_is_a_launch():
    log = Log("x", **JOURNAL).systemd("unit_started", invocation="i1").start(invocation="i1")
    log.systemd("unit_main_exited", invocation="i1", code="exited", status="1/FAILURE")
    log.systemd("unit_started", invocation="i2").systemd(
        "unit_main_exited", invocation="i2", code="exited", status="1"
    )
    assert ends(only(log)) == ["crashed", "failed_start"]


def test_starting_and_started_are_one_start():
    log = Log("x", **JOURNAL).systemd("unit_starting").systemd("unit_started").start()
    assert len(only(log).launches) == 1


def test_text_units_start_launches():
    log = Log("x", host="n1", ident="python3")
    log.systemd("unit_started").start().systemd("unit_started").start()
    history = only(log)
    assert (history.id, history.unit, history.host) == (f"n1/{UNIT}", UNIT, "n1")
    assert len(history.launches) == 2


def test_a_jump_of_pids_is_a_new_launch():
    log = Log("x", host="n1", ident="python3")
    log.start(pids=100)
    log.write("decode", rank=0, origin={"pid": 101}, usage=0.1)
    log.write("decode", rank=0, origin={"pid": 301}, usage=0.9)
    first, second = only(log).launches
    assert first.requests.peak_token_usage == 0.1
    assert (second.requests.peak_token_usage, second.config.source) == (0.9, "none")


def test_two_servers_at_once_in_one_stream_of_one_host_are_kept_apart_by_pid():
    log = Log("x", host="n1", ident="python3")
    log.write("server_args", origin={"pid": 100}, values={"a": 1}, form="repr")
    log.write("server_args", origin={"pid": 200}, values={"a": 2}, form="repr")
    log.write("load_begin", rank=0, origin={"pid": 101}, avail_gib=10.0)
    log.write("load_begin", rank=0, origin={"pid": 201}, avail_gib=20.0)
    assert [launch.memory.before_load_gib for launch in only(log).launches] == [10.0, 20.0]


def test_lines_long_after_systemd_said_gone_are_another_launch():
    log = Log("x", host="n1", unit=UNIT).systemd("unit_started").start().systemd("unit_deactivated")
    log.write("decode", after=3600, rank=0, usage=0.3)
    assert len(only(log).launches) == 2


def test_started_at_is_the_earliest_record():
    log = Log()
    log.write("note").write("note", after=2)
    log.start()
    log.write("sigterm").write("note", after=60)
    log.start()
    first, second = only(log).launches
    assert (first.started_at - START).total_seconds() == 1
    # the note follows the stop after a minute and stands right before the next config
    assert second.started_at == second.events[0].at.replace() - (second.events[0].at - second.started_at)
    assert (second.events[0].at - second.started_at).total_seconds() == 1


def test_started_at_holds_systemds_own_record():
    log = Log("x", **JOURNAL).systemd("unit_started", invocation="i1").write("note", after=9)
    log.start(invocation="i1")
    assert (only(log).launches[0].started_at - START).total_seconds() == 1


def test_downtime_runs_from_the_end_before_to_readiness():
    log = Log("x", **JOURNAL)
    log.systemd("unit_started", invocation="i1").start(invocation="i1")
    log.systemd("unit_main_exited", invocation="i1", code="killed", status="9/KILL")
    log.systemd("unit_started", invocation="i2", after=10).start(invocation="i2")
    first, second = only(log).launches
    assert first.downtime_s is None
    assert second.downtime_s == (second.ready_at - first.ended_at).total_seconds()


@pytest.mark.parametrize("blocks", [1, 2, 5, 40])
def test_blocks_do_not_matter(blocks):
    log = Log().start(draft=True).write("decode", rank=0, usage=0.5).write("sigterm", after=40).start()
    whole = only(log)
    assert only(log, blocks=blocks) == whole


@pytest.mark.parametrize("origin", [{}, {"host": "n1", "ident": "python3"}])
def test_what_a_start_says_before_its_settings_is_its_own(origin):
    log = Log(**origin)
    log.write("adjust__page_size", origin={"pid": 100}, value=64).start(pids=100)
    log.write("sigterm", origin={"pid": 100})
    log.write("adjust__mem_fraction_static", origin={"pid": 200}, value=0.8).start(pids=200)
    if not origin:
        for number, line in enumerate(log.lines):
            log.lines[number] = (*line[:2], line[2]._replace(pid=None), *line[3:])
    first, second = only(log).launches
    assert [event.kind for event in first.events if event.kind.startswith("adjust__")] == [
        "adjust__page_size"
    ]
    assert second.events[0].kind == "adjust__mem_fraction_static"
    assert second.started_at == second.events[0].at
    assert first.events[-1].kind == "sigterm"


def test_a_change_while_a_start_goes_on_stays_with_it():
    log = Log().start(ready=False).write("adjust__chunked_prefill_size", value=-1).write("ready")
    (launch,) = only(log).launches
    assert "adjust__chunked_prefill_size" in [event.kind for event in launch.events]


def test_another_engine_under_the_same_unit_is_named():
    log = Log("x", **JOURNAL).systemd("unit_started", invocation="i1").start(invocation="i1")
    log.systemd("unit_started", invocation="i2").write(
        "other_engine", origin={"invocation": "i2"}, engine="vLLM"
    )
    assert [launch.engine for launch in only(log).launches] == ["sglang", "vllm"]
