from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.config_sources import Edit, edits_from_sudo

UNIT = "/etc/systemd/system/sglang-k26.service"


def one(command: str) -> Edit:
    (found,) = edits_from_sudo(command)
    return found


@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        (f"/usr/bin/sed -i 's/--context-length 32768/--context-length 200000/' {UNIT}", 32768, 200000),
        (f"/usr/bin/sed -i s/--context-length 32768/--context-length 200000/ {UNIT}", 32768, 200000),
        (f"/usr/bin/sed -i s/--context-length=32768/--context-length=200000/g {UNIT}", 32768, 200000),
        (f"/usr/bin/sed -i.bak 's|--context-length 32768|--context-length 200000|' {UNIT}", 32768, 200000),
        (f"/usr/bin/sed --in-place -e 's,--context-len 32768,--context-len 200000,' {UNIT}", 32768, 200000),
        (rf"/usr/bin/sed -i 's/\-\-context\-length 32768/--context-length 200000/' {UNIT}", 32768, 200000),
        (rf"/usr/bin/sed -Ei 's#(--context-length) [0-9]+#\1 200000#' {UNIT}", None, 200000),
        (rf"/usr/bin/sed -i 's/\(--context-length\) [0-9]*/\1 200000/' {UNIT}", None, 200000),
        (f"/usr/bin/sed -i 's/--context-length [0-9]*/--context-length 200000/' {UNIT}", None, 200000),
        (
            f"/usr/bin/sed -i '/ExecStart/s/--context-length 32768/--context-length 200000/' {UNIT}",
            32768,
            200000,
        ),
        ("/usr/bin/sed -i s/CONTEXT_LENGTH=32768/CONTEXT_LENGTH=200000/ /etc/sglang/k26.env", 32768, 200000),
        (f"/usr/bin/perl -pi -e 's/--context-length 32768/--context-length 200000/' {UNIT}", 32768, 200000),
    ],
)
def test_substitutions(command, before, after):
    found = one(command)
    assert found.action == "edit"
    assert dict(found.before).get("context_length") == before
    assert dict(found.after) == {"context_length": after}
    assert found.known
    assert found.path == command.split()[-1]
    assert found.unit == ("sglang-k26.service" if found.path == UNIT else None)


def test_a_flag_taken_away():
    found = one(f"/usr/bin/sed -i 's/ --max-total-tokens 30000//' {UNIT}")
    assert (dict(found.before), dict(found.after)) == ({"max_total_tokens": 30000}, {})


def test_a_flag_added_to_what_was_found():
    found = one(f"/usr/bin/sed -i 's/--tp 8/& --context-length 4096/' {UNIT}")
    assert dict(found.after) == {"tp_size": 8, "context_length": 4096}


def test_a_bare_number_tells_no_setting():
    found = one(f"/usr/bin/sed -i s/32768/200000/ {UNIT}")
    assert (found.before, found.after, found.known) == ((), (), False)


def test_sed_that_only_prints():
    assert edits_from_sudo(f"/usr/bin/sed s/--tp 4/--tp 8/ {UNIT}") == []
    assert edits_from_sudo(f"/usr/bin/sed -n /ExecStart/p {UNIT}") == []


@pytest.mark.parametrize(
    ("command", "path", "unit"),
    [
        (f"/usr/bin/tee {UNIT}.d/override.conf", f"{UNIT}.d/override.conf", "sglang-k26.service"),
        (f"/usr/bin/vim {UNIT}", UNIT, "sglang-k26.service"),
        (f"/usr/bin/nano -w {UNIT}", UNIT, "sglang-k26.service"),
        ("sudoedit /etc/sglang/k26.env", "/etc/sglang/k26.env", None),
        ("/bin/true -- /etc/sglang/k26.env", "/etc/sglang/k26.env", None),
        (f"/usr/bin/cp /home/u/new.service {UNIT}", UNIT, "sglang-k26.service"),
        ("/usr/bin/mv /tmp/a.service /etc/systemd/system/", "/etc/systemd/system/a.service", "a.service"),
        (f"/usr/bin/install -m 644 a.service {UNIT}", UNIT, "sglang-k26.service"),
        (f"/usr/bin/rm -f {UNIT}.d/override.conf", f"{UNIT}.d/override.conf", "sglang-k26.service"),
        (f"/usr/bin/env EDITOR=vi nano {UNIT}", UNIT, "sglang-k26.service"),
    ],
)  # fmt: skip
def test_edits_whose_content_is_not_shown(command, path, unit):
    assert one(command) == Edit("edit", unit, path, known=False)


@pytest.mark.parametrize(
    ("command", "action", "unit"),
    [
        ("/usr/bin/systemctl restart sglang-k26", "restart", "sglang-k26.service"),
        ("/usr/bin/systemctl --no-block restart sglang-k26.service", "restart", "sglang-k26.service"),
        ("/usr/bin/systemctl try-restart x", "restart", "x.service"),
        ("/usr/bin/systemctl stop x", "stop", "x.service"),
        ("/usr/bin/systemctl start x", "start", "x.service"),
        ("/usr/bin/systemctl kill -s KILL x", "kill", "x.service"),
        ("/usr/bin/systemctl daemon-reload", "daemon_reload", None),
        ("/usr/bin/systemctl enable --now x", "enable", "x.service"),
        ("/usr/sbin/service x restart", "restart", "x.service"),
        ("/usr/bin/docker restart sglang", "restart", "sglang"),
        ("/usr/bin/docker compose restart", "restart", None),
    ],
)
def test_service_commands(command, action, unit):
    found = one(command) if "kill" not in command else edits_from_sudo(command)[-1]
    assert (found.action, found.unit) == (action, unit)


def test_systemctl_edit():
    assert one("/usr/bin/systemctl edit --full sglang-k26") == Edit("edit", "sglang-k26.service", known=False)
    assert one("/usr/bin/systemctl set-property x MemoryHigh=1G").action == "edit"


def test_two_units():
    assert [e.unit for e in edits_from_sudo("/usr/bin/systemctl restart a b.service")] == [
        "a.service",
        "b.service",
    ]


@pytest.mark.parametrize(
    "command",
    [
        f"/usr/bin/bash -c 'sed -i \"s|--tp 4|--tp 8|\" {UNIT} && systemctl daemon-reload; systemctl restart sglang-k26'",
        f"/usr/bin/bash -c sed -i s/--tp 4/--tp 8/ {UNIT} && systemctl daemon-reload; systemctl restart sglang-k26",
        f"/bin/sh -ec 'sed -i s/--tp\\ 4/--tp\\ 8/ {UNIT}\nsystemctl daemon-reload\nsystemctl restart sglang-k26'",
    ],
)
def test_scripts(command):
    found = edits_from_sudo(command)
    assert [e.action for e in found] == ["edit", "daemon_reload", "restart"]
    assert dict(found[0].after) == {"tp_size": 8}
    assert found[2].unit == "sglang-k26.service"


def test_a_redirection():
    found = edits_from_sudo(
        "/bin/sh -c 'echo ExecStart=sglang serve --tp 8 > /etc/systemd/system/x.service.d/o.conf'"
    )
    assert [(e.action, e.unit, dict(e.after), e.known) for e in found] == [
        ("edit", "x.service", {"tp_size": 8}, True)
    ]


@pytest.mark.parametrize(
    "command", ["/bin/bash --login", "/usr/bin/su -", "/bin/bash", "/usr/bin/su -c true root"]
)
def test_shells_that_hide_what_follows(command):
    assert [e.action for e in edits_from_sudo(command)] in (["opaque"], [])


@pytest.mark.parametrize(
    "command",
    [
        "",
        "/usr/bin/apt-get update",
        f"/usr/bin/cat {UNIT}",
        "/usr/bin/systemctl status sglang-k26",
        "/usr/bin/systemctl",
        "/usr/bin/journalctl -u sglang-k26",
        '/usr/bin/bash -c echo hello "a b"; true',
        "/usr/bin/docker ps",
        "/usr/bin/cp a b",
        "'",
    ],
)
def test_what_edits_nothing(command):
    assert edits_from_sudo(command) == []


@given(st.text(max_size=80))
def test_any_command(text):
    edits_from_sudo(text)
    edits_from_sudo(f"/usr/bin/sed -i {text} {UNIT}")
    edits_from_sudo(f"/usr/bin/bash -c {text}")
