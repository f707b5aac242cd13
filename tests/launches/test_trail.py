"""What happened around the launches."""

import pytest

from tests.launches.log import UNIT, Log, histories, only

SED = "/usr/bin/sed -i 's/32768/200000/' /etc/systemd/system/{}"


def sudo(log: Log, command: str) -> Log:
    return log.write(
        "sudo_command", origin={"ident": "sudo", "unit": "session-4.scope"}, command=command, user="eve"
    )


@pytest.mark.parametrize(
    "command",
    [
        SED.format(UNIT),
        "/usr/bin/systemctl daemon-reload",
        "/usr/bin/systemctl restart sglang-k26",
        "/usr/bin/tee /etc/sglang/k26.env",
    ],
)
def test_what_names_the_server_is_on_its_trail(command):
    history = only(sudo(Log("x", host="n1", unit=UNIT).start(), command))
    assert [event.fields["command"] for event in history.trail] == [command]
    assert all(event.kind != "sudo_command" for event in history.launches[0].events)


@pytest.mark.parametrize(
    "command", [SED.format("nginx.service"), "/usr/bin/apt update", "/usr/bin/systemctl restart nginx"]
)
def test_what_does_not_is_not(command):
    assert only(sudo(Log("x", host="n1", unit=UNIT).start(), command)).trail == ()


def test_another_host_is_not_concerned():
    log = Log("x", unit=UNIT).start(host="n1").start(host="n2")
    sudo(log, SED.format(UNIT))
    log.lines[-1] = (*log.lines[-1][:2], log.lines[-1][2]._replace(host="n2"), *log.lines[-1][3:])
    assert [len(history.trail) for history in histories(log)] == [0, 1]


def test_a_reload_concerns_every_service_of_the_host():
    log = (
        Log("x", host="n1")
        .start(unit="a.service")
        .start(unit="b.service")
        .systemd("unit_reloading", unit=None)
    )
    assert [[event.kind for event in history.trail] for history in histories(log)] == [["unit_reloading"]] * 2


def test_a_stop_whose_start_is_not_in_the_log():
    log = Log("x", host="n1", unit=UNIT).systemd("unit_stopped").systemd("unit_started").start()
    history = only(log)
    assert [event.kind for event in history.trail] == ["unit_stopped"]
    assert len(history.launches) == 1


def test_lost_messages_of_the_unit_belong_to_the_launch():
    log = Log("x", host="n1", unit=UNIT, invocation="i").systemd("unit_started", invocation="i").start()
    journald = {"unit": "systemd-journald.service", "ident": "systemd-journald", "invocation": "j"}
    log.write("suppressed", origin=journald, count=425, unit_name=UNIT)
    history = only(log)
    assert history.launches[0].events[-1].kind == "suppressed"
