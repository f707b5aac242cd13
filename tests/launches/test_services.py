"""Which service a line belongs to."""

from tests.launches.log import UNIT, Log, histories, only


def test_two_hosts_are_two_services():
    a, b = Log("a", host="n1", unit=UNIT).start(), Log("b", host="n2", unit=UNIT).start()
    assert [history.id for history in histories(a, b)] == [f"n1/{UNIT}", f"n2/{UNIT}"]


def test_two_units_of_one_host_in_one_input_are_two_services():
    log = Log("x", host="n1")
    for name in ("a.service", "b.service"):
        log.write("server_args", origin={"unit": name, "invocation": name}, values={"x": name}, form="repr")
    for name in ("a.service", "b.service"):
        log.write("load_begin", rank=0, origin={"unit": name, "invocation": name}, avail_gib=1.0)
    found = histories(log)
    assert [history.id for history in found] == ["n1/a.service", "n1/b.service"]
    assert [history.launches[0].config.values["x"] for history in found] == ["a.service", "b.service"]
    assert all(history.launches[0].memory.before_load_gib == 1.0 for history in found)


def test_two_servers_interleaved_in_text_are_told_apart_by_pid_and_unit():
    log = Log("x", host="n1", ident="python3")
    log.systemd("unit_started", unit="sglang-a.service")
    log.write("server_args", origin={"pid": 100}, values={"x": "a"}, form="repr")
    log.systemd("unit_started", unit="sglang-b.service")
    log.write("server_args", origin={"pid": 200}, values={"x": "b"}, form="repr")
    for pid, gib in ((101, 1.0), (201, 2.0)):
        log.write("load_begin", rank=0, origin={"pid": pid}, avail_gib=gib)
    found = histories(log)
    assert [history.id for history in found] == ["n1/sglang-a.service", "n1/sglang-b.service"]
    assert [history.launches[0].memory.before_load_gib for history in found] == [1.0, 2.0]


def test_servers_beside_one_another_need_no_telling_name():
    log = Log("x", host="n1", ident="python3")
    for name, pid in (("llm-a.service", 100), ("llm-b.service", 200)):
        log.systemd("unit_started", unit=name).start(pids=pid, ranks=1)
    for pid in (101, 201):
        log.write("decode", rank=0, origin={"pid": pid}, usage=pid / 1000)
    found = histories(log)
    assert [history.id for history in found] == ["n1/llm-a.service", "n1/llm-b.service"]
    assert [history.launches[0].requests.peak_token_usage for history in found] == [0.101, 0.201]


def test_two_units_started_at_once_speak_in_the_order_of_their_starts():
    log = Log("x", host="n1", ident="python3")
    log.systemd("unit_started", unit="sglang-a.service").systemd(
        "unit_started", unit="sglang-b.service", after=0
    )
    for pid in (100, 200):
        log.write("server_args", origin={"pid": pid}, values={"x": pid}, form="repr")
    assert [(h.unit, h.launches[0].config.values["x"]) for h in histories(log)] == [
        ("sglang-a.service", 100),
        ("sglang-b.service", 200),
    ]


def test_another_units_start_between_the_own_one_and_the_first_word_does_not_matter():
    log = Log("x", host="n1", ident="python3")
    for pid in (100, 200, 300):
        log.systemd("unit_started", unit="llm.service").systemd("unit_started", unit=f"job-{pid}.service")
        log.start(pids=pid, ranks=1)
    assert [(history.unit, len(history.launches)) for history in histories(log)] == [("llm.service", 3)]


def test_the_unit_of_short_text_is_the_one_that_systemd_started():
    log = Log("x", host="n1", ident="python3")
    log.systemd("unit_started", unit="nginx.service").systemd("unit_started").start(pids=100)
    log.systemd("unit_stopped", unit="nginx.service")
    history = only(log)
    assert (history.id, history.unit) == (f"n1/{UNIT}", UNIT)


def test_text_without_any_unit_is_named_by_its_file():
    log = Log("old/syslog", host="n1", ident="python3").start()
    history = only(log)
    assert (history.id, history.host, history.unit) == ("old/syslog", "n1", None)


def test_two_hosts_in_one_file_without_units_have_different_ids():
    log = Log("x", ident="python3").start(host="n1").start(host="n2")
    assert [history.id for history in histories(log)] == ["x:n1/python3", "x:n2/python3"]


def test_a_container():
    history = only(Log("x", host="n1", container="sglang-1").start())
    assert (history.id, history.host, history.unit) == ("n1/sglang-1", "n1", "sglang-1")
    assert only(Log("x", container="sglang-1").start()).id == "x"


def test_the_docker_daemons_unit_is_not_the_containers():
    origin = {"host": "n1", "unit": "docker.service"}
    log = Log("x", **origin).start(container="a").start(container="b")
    assert [history.id for history in histories(log)] == ["n1/a", "n1/b"]


def test_plain_files_are_one_service_named_by_the_first_in_time():
    late = Log("a.log").write("note", after=86400).start(config={"context_length": 65536})
    early = Log("b.log").start()
    history = only(late, early)
    assert history.id == "b.log"
    assert [launch.context_len for launch in history.launches] == [32768, 65536]
    assert history.sources == (0, 1)


def test_other_programs_are_no_service():
    log = Log("x", host="n1").write(
        "exception", origin={"unit": "web.service"}, type="ValueError", message="x"
    )
    log.systemd("unit_started", unit="web.service").write(
        "kernel_oom_kill", origin={"ident": "kernel"}, pid=1
    )
    assert histories(log) == []


def test_a_server_that_only_ever_failed_is_known_by_its_name():
    log = Log("x", host="n1", unit="sglang.service")
    log.systemd("unit_started", unit="sglang.service").write(
        "exception", type="ImportError", message="no module"
    )
    log.systemd("unit_main_exited", unit="sglang.service", code="exited", status="1")
    assert only(log).launches[0].end == "failed_start"


def test_a_login_session_is_no_unit():
    log = Log("x", host="n1", unit="session-4.scope", ident="python3").start()
    assert only(log).unit is None


def test_systemd_247_names_only_the_description():
    log = Log("x", host="n1", unit=UNIT).start()
    log.systemd("unit_stopped", unit=None, description="SGLang Kimi K2.6")
    log.systemd("unit_stopped", unit=None, description="Some other daemon")
    launch = only(log).launches[0]
    assert launch.end == "stopped"
    assert [event.fields["description"] for event in launch.events if event.kind == "unit_stopped"] == [
        "SGLang Kimi K2.6"
    ]


def test_the_engines_invocation_is_not_the_containers():
    docker = {
        "host": "n1",
        "unit": "docker.service",
        "invocation": "dockerd",
        "container": "sglang",
        "pid": 900,
    }
    log = Log("x", **docker).start(ready=False).write("sigquit").start().write("sigterm").start()
    assert [launch.end for launch in only(log).launches] == ["failed_start", "stopped", "running"]


def test_a_container_that_a_unit_of_its_own_runs_is_the_units():
    log = Log("x", host="n1", unit=UNIT, container="systemd-sglang", invocation="i1")
    log.systemd("unit_started", invocation="i1").start().systemd("unit_deactivated", invocation="i1")
    history = only(log)
    assert (history.id, history.launches[0].end) == (f"n1/{UNIT}", "stopped")
