"""How launches end."""

import pytest

from tests.launches.log import UNIT, Log, ends, only

JOURNAL = {"host": "n1", "unit": UNIT, "ident": "python3", "boot": "b"}


def journal() -> Log:
    log = Log("x", **JOURNAL, invocation="i1")
    return log.systemd("unit_started", invocation="i1", job_type="start").start(pids=100)


def kernel(log: Log, pid: int, process: str = "python3") -> Log:
    nobody = {"unit": None, "invocation": None, "pid": None, "ident": "kernel"}
    return log.write("kernel_oom_kill", origin=nobody, pid=pid, process=process)


def test_a_log_that_just_ends_is_running():
    launch = only(Log().start()).launches[0]
    assert (launch.end, launch.ended_at) == ("running", None)


def test_a_start_that_has_not_got_ready_yet_is_running():
    assert ends(only(Log().start(ready=False))) == ["running"]


def test_another_launch_follows_and_nothing_tells():
    history = only(Log().start().start())
    assert ends(history) == ["unknown", "running"]
    assert history.launches[0].ended_at is None
    assert history.launches[1].downtime_s is None


@pytest.mark.parametrize("kind", ["sigterm", "graceful_exit"])
def test_only_a_sigterm_shows(kind):
    launch = only(Log().start().write(kind)).launches[0]
    assert launch.end == "stopped"
    assert launch.ended_at == launch.last_at


def test_a_sigterm_to_the_group_is_a_stop_though_a_child_died_of_it():
    log = Log().start().write("sigterm").write("subprocess_died", exit_code=-15).write("sigquit")
    assert ends(only(log)) == ["stopped"]


def test_a_child_that_a_sigterm_ended_is_a_stop_even_without_the_line():
    assert ends(only(Log().start().write("subprocess_died", exit_code=-15))) == ["stopped"]


def test_a_killed_child_is_killed():
    log = Log().start().write("subprocess_died", exit_code=-9).write("sigquit")
    assert ends(only(log)) == ["killed"]


@pytest.mark.parametrize("code", [-11, -6, 1])
def test_a_child_that_died_by_itself_is_a_crash(code):
    assert ends(only(Log().start().write("subprocess_died", exit_code=code))) == ["crashed"]


def test_a_scheduler_exception_is_a_crash():
    log = (
        Log()
        .start()
        .write("exception_begin", rank=0, phase="Scheduler")
        .write("exception", type="ValueError", message="x")
    )
    assert ends(only(log)) == ["crashed"]


def test_an_exception_that_the_server_survives_is_no_end():
    log = Log().start().write("exception_begin", phase="TokenizerManager")
    log.write("decode", after=60, rank=0, usage=0.2)
    assert ends(only(log)) == ["running"]


def test_a_request_that_raised_is_no_end():
    assert ends(only(Log().start().write("exception", type="ValueError", message="bad request"))) == [
        "running"
    ]


def test_a_watchdog_is_a_crash_and_a_soft_one_is_not():
    assert ends(only(Log().start().write("watchdog_timeout", timeout_s=300, soft=False))) == ["crashed"]
    assert ends(only(Log().start().write("watchdog_timeout", timeout_s=300, soft=True))) == ["running"]


def test_a_gpu_that_ran_out_of_memory():
    log = (
        Log()
        .start()
        .write("exception_begin", rank=0, phase="Scheduler")
        .write("oom_cuda", rank=0, tried_gib=2.0)
    )
    assert ends(only(log.write("sigquit"))) == ["oom"]


def test_a_gpu_oom_that_the_server_survives_is_no_end():
    log = Log().start().write("oom_cuda", rank=0, tried_gib=2.0).write("decode", after=60, rank=0, usage=0.2)
    assert ends(only(log)) == ["running"]


def test_the_kernels_killer_by_pid():
    log = kernel(journal(), 101).systemd("unit_main_exited", invocation="i1", code="killed", status="9/KILL")
    history = only(log)
    assert ends(history) == ["oom"]
    assert "kernel_oom_kill" in [event.kind for event in history.launches[0].events]
    assert "kernel_oom_kill" not in [event.kind for event in history.trail]


def test_the_kernels_killer_by_name_and_time():
    log = kernel(Log("x", host="n1", unit=UNIT, invocation="i1").start(), 4711).write("sigquit")
    assert ends(only(log)) == ["oom"]


def test_the_kernels_killer_of_somebody_else():
    history = only(kernel(journal(), 4711, "postgres"))
    assert ends(history) == ["running"]


def test_systemds_word_about_the_killer():
    log = (
        journal()
        .systemd("unit_oom_killed", invocation="i1")
        .systemd("unit_failed", invocation="i1", result="oom-kill")
    )
    assert ends(only(log.systemd("unit_restart_scheduled", invocation="i1", counter=1))) == ["oom"]


@pytest.mark.parametrize(
    ("code", "status", "end"),
    [
        ("killed", "9/KILL", "killed"),
        ("killed", "9", "killed"),
        ("exited", "137", "killed"),
        ("killed", "11/SEGV", "crashed"),
        ("dumped", "6/ABRT", "crashed"),
        ("exited", "1/FAILURE", "crashed"),
        ("exited", 3, "crashed"),
        ("exited", "0/SUCCESS", "stopped"),
        ("exited", "143/n/a", "stopped"),
        ("killed", "15/TERM", "stopped"),
    ],
)
def test_systemds_word_about_the_main_process(code, status, end):
    log = journal().systemd("unit_main_exited", invocation="i1", code=code, status=status)
    launch = only(log).launches[0]
    assert launch.end == end
    assert launch.ended_at == launch.events[-1].at


def test_a_crash_stays_a_crash_whatever_restarts_it():
    log = journal().systemd("unit_main_exited", invocation="i1", code="exited", status="1/FAILURE")
    log.systemd("unit_failed", invocation="i1", result="exit-code").systemd(
        "unit_restart_scheduled", invocation="i1", counter=1
    )
    log.systemd("unit_started", invocation="i2").start(invocation="i2")
    assert ends(only(log)) == ["crashed", "running"]


def test_what_a_stop_kills_is_stopped():
    log = journal().systemd("unit_stopping", invocation="i1", job_type="stop")
    log.systemd("unit_timed_out", invocation="i1").systemd("unit_killing", invocation="i1", signal="SIGKILL")
    log.systemd("unit_main_exited", invocation="i1", code="killed", status="9/KILL")
    log.systemd("unit_failed", invocation="i1", result="timeout")
    assert ends(only(log)) == ["stopped"]


def test_a_restart_by_job_type():
    log = journal().systemd("unit_stopping", invocation="i1", job_type="stop", job_id="182")
    log.systemd("unit_stopped", invocation="i1", job_type="restart", job_id="182", after=60)
    log.systemd("unit_started", invocation="i2", job_type="start", job_id="182").start(invocation="i2")
    assert ends(only(log)) == ["restarted", "running"]


def test_a_restart_by_one_job():
    log = journal().systemd("unit_stopped", invocation="i1", job_id="7")
    log.systemd("unit_started", invocation="i2", job_id="7", after=30).start(invocation="i2")
    assert ends(only(log)) == ["restarted", "running"]


def test_a_stop_and_a_start_of_two_jobs():
    log = journal().systemd("unit_stopped", invocation="i1", job_type="stop", job_id="7")
    log.systemd("unit_started", invocation="i2", job_id="8", after=1).start(invocation="i2")
    assert ends(only(log)) == ["stopped", "running"]


def test_a_restart_in_text_is_a_start_right_after_the_stop():
    log = Log("x", host="n1", ident="python3").systemd("unit_started").start()
    log.systemd("unit_stopping").write("sigterm").systemd("unit_stopped", after=5).systemd(
        "unit_started", after=1
    ).start()
    assert ends(only(log)) == ["restarted", "running"]


def test_a_start_long_after_the_stop_is_none():
    log = Log("x", host="n1", ident="python3").systemd("unit_started").start()
    log.systemd("unit_stopping").systemd("unit_stopped").systemd("unit_started", after=240).start()
    assert ends(only(log)) == ["stopped", "running"]


def test_a_restart_by_sudo():
    log = Log("x", host="n1", ident="python3").systemd("unit_started").start()
    log.write(
        "sudo_command", origin={"ident": "sudo"}, command="/usr/bin/systemctl restart sglang-k26", user="eve"
    )
    log.systemd("unit_stopping").systemd("unit_stopped", after=8).systemd("unit_started", after=9).start()
    history = only(log)
    assert ends(history) == ["restarted", "running"]
    assert [event.kind for event in history.trail] == ["sudo_command"]


def test_a_restart_by_sudo_of_which_nothing_else_is_in_the_log():
    log = Log("x", host="n1", unit=UNIT).start()
    log.write(
        "sudo_command", origin={"ident": "sudo", "unit": None}, command="systemctl restart sglang-k26"
    ).start()
    assert ends(only(log)) == ["restarted", "running"]


def test_a_restart_of_something_else_says_nothing():
    log = Log("x", host="n1", unit=UNIT).start()
    log.write(
        "sudo_command", origin={"ident": "sudo", "unit": None}, command="systemctl restart docker"
    ).start()
    assert ends(only(log)) == ["unknown", "running"]


def test_systemds_restart_job_after_a_clean_end():
    log = (
        journal()
        .systemd("unit_deactivated", invocation="i1")
        .systemd("unit_restart_scheduled", invocation="i1", counter=1)
    )
    assert ends(only(log)) == ["restarted"]


@pytest.mark.parametrize(
    "last",
    [
        {"kind": "not_enough_memory"},
        {"kind": "oom_cuda", "tried_gib": 2.0},
        {"kind": "sigterm"},
        {"kind": "subprocess_died", "exit_code": -9},
    ],
)
def test_whatever_ends_a_launch_before_readiness_is_a_failed_start(last):
    assert ends(only(Log().start(ready=False).write(**last))) == ["failed_start"]


def test_a_launch_that_another_follows_before_it_was_ready_is_a_failed_start():
    assert ends(only(Log().start(ready=False).start())) == ["failed_start", "running"]


def test_a_server_that_served_without_the_line_of_readiness_is_no_failed_start():
    log = Log().start(ready=False).write("decode", rank=0, usage=0.2).start()
    assert ends(only(log)) == ["unknown", "running"]


def test_a_server_whose_log_level_hides_readiness_is_no_failed_start():
    log = Log().start(ready=False, config={"log_level": "warning"}).start(config={"x": 1})
    assert ends(only(log))[0] == "unknown"


def test_a_worker_node_never_says_that_it_is_ready():
    log = Log().start(ready=False, config={"node_rank": 1}).write("sigterm")
    assert ends(only(log)) == ["stopped"]


def test_the_head_of_a_rotated_log_is_no_failed_start():
    assert ends(only(Log().write("decode", rank=0, usage=0.1).write("sigterm"))) == ["stopped"]


def test_a_shell_says_killed():
    assert ends(only(Log().start().write("killed"))) == ["killed"]


@pytest.mark.parametrize(("code", "end"), [(137, "killed"), (143, "stopped"), (0, "stopped"), (1, "crashed")])
def test_a_containers_exit_code(code, end):
    assert ends(only(Log().start().write("container_exited", container="sglang-1", exit_code=code))) == [end]


@pytest.mark.parametrize(
    ("kind", "how", "end"),
    [
        ("task_ended", "Killed", "killed"),
        ("task_ended", "Out Of Memory", "oom"),
        ("task_ended", "Terminated", "stopped"),
        ("job_cancelled", None, "stopped"),
        ("task_oom_killed", None, "oom"),
    ],
)
def test_slurms_word(kind, how, end):
    assert ends(only(Log().start().write(kind, how=how))) == [end]


def test_a_signal_of_which_only_the_units_result_is_known():
    assert ends(only(journal().systemd("unit_failed", invocation="i1", result="signal"))) == ["crashed"]


def test_a_stop_whose_unit_failed_by_the_stops_signal():
    log = (
        journal()
        .systemd("unit_stopping", invocation="i1")
        .systemd("unit_failed", invocation="i1", result="signal")
    )
    assert ends(only(log)) == ["stopped"]
