from datetime import timedelta

import pytest
from tests.build import START, event, launch

from kvforensics.records import Place

SED = "/usr/bin/sed -i 's/--context-length 32768/--context-length 200000/' /etc/systemd/system/sglang.service"
MINUTE = timedelta(minutes=1)


def sudo(command, minutes, line=5):
    return event("sudo_command", at=START + minutes * MINUTE, line=line, user="eve", command=command)


RESTART = sudo("/usr/bin/systemctl restart sglang", 52, line=7)
RELOAD = sudo("/usr/bin/systemctl daemon-reload", 51, line=6)


def test_the_next_start_has_the_old_value(found):
    result = found(launch(), launch(hour=1), trail=[sudo(SED, 50), RESTART])
    (one,) = result["stale_unit"]
    assert (one.severity, one.launch) == ("warning", "L2")
    assert Place("log.txt", 5) in one.evidence
    assert "daemon-reload" in one.fix


def test_with_a_reload_the_fix_is_another(found):
    (one,) = found(launch(), launch(hour=1), trail=[sudo(SED, 50), RELOAD, RESTART])["stale_unit"]
    assert "systemctl cat" in one.fix


def test_the_edit_arrived(found):
    assert "stale_unit" not in found(launch(), launch(hour=1, context=200000), trail=[sudo(SED, 50), RESTART])


def test_an_edit_without_a_start_after_it(found):
    assert "stale_unit" not in found(launch(), trail=[sudo(SED, 50)])


def test_only_the_first_start_after_it(found):
    result = found(launch(), launch(hour=1), launch(hour=2), trail=[sudo(SED, 50), RESTART])
    assert [one.launch for one in result["stale_unit"]] == ["L2"]


def test_systemd_says_it_itself(found):
    line = event("unit_file_changed", line=33)
    (one,) = found(launch(), launch(hour=1, events=(line,)))["stale_unit"]
    assert (one.launch, one.evidence) == ("L2", (Place("log.txt", 33),))
    assert "stale_unit" not in found(launch(end="restarted", events=(line,)), launch(hour=1))


VIM = "/usr/bin/vim /etc/systemd/system/sglang.service"


def test_an_editor_hides_what_it_wrote(found):
    (one,) = found(launch(), launch(hour=1), trail=[sudo(VIM, 50), RESTART])["stale_unit"]
    assert (one.severity, one.launch) == ("info", "L2")


def test_an_editor_followed_by_a_reload_or_a_change(found):
    assert "stale_unit" not in found(launch(), launch(hour=1), trail=[sudo(VIM, 50), RELOAD, RESTART])
    assert "stale_unit" not in found(launch(), launch(hour=1, context=65536), trail=[sudo(VIM, 50), RESTART])


def test_a_second_edit_replaces_the_first(found):
    back = SED.replace("32768/--context-length 200000", "200000/--context-length 32768")
    assert "stale_unit" not in found(launch(), launch(hour=1), trail=[sudo(SED, 50), sudo(back, 51, line=8)])


def test_another_unit_s_file(found):
    other = SED.replace("sglang.service", "vllm.service")
    assert "stale_unit" not in found(launch(), launch(hour=1), trail=[sudo(other, 50), RESTART])


def test_a_third_value_is_somebody_else_s(found):
    result = found(launch(), launch(hour=1, context=65536), trail=[sudo(SED, 50), RESTART])
    assert "stale_unit" not in result


@pytest.mark.parametrize("command", ["", "/usr/bin/sed -i", "sed -i 's/x/y' /etc", "\0" * 100, "s/" * 5000])
def test_hostile_commands(found, command):
    assert "stale_unit" not in found(launch(), launch(hour=1), trail=[sudo(command, 50)])
