from __future__ import annotations

import json
from datetime import datetime

import pytest

HEAD = "__CURSOR=s=a;i={0:x}\n__REALTIME_TIMESTAMP={1}\n__MONOTONIC_TIMESTAMP={2}\n_BOOT_ID=b0\n"
REAL = 1_796_062_994_000_000


def entry(number, message=None, *fields, **named):
    """Return one entry as journalctl writes it; bytes values are length-prefixed."""
    text = HEAD.format(number, REAL + number, 1000 + number).encode()
    pairs = [*fields, *named.items()] + ([("MESSAGE", message)] if message is not None else [])
    for name, value in pairs:
        if isinstance(value, bytes):
            text += name.encode() + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"
        else:
            text += f"{name}={value}\n".encode()
    return text + b"\n"


def test_values_may_hold_anything(read):
    values = [
        b"a\n\n\nb",
        b"",
        b"\x00\x01",
        b"=",
        b"__CURSOR=s=x\n__REALTIME_TIMESTAMP=5\n\n",
        "a = b = c",
        "é 漢",
    ]
    data = b"".join(entry(number, value) for number, value in enumerate(values))
    found = read(data)
    assert found.source.carrier == "journal-export"
    assert found.messages() == [value.decode() if isinstance(value, bytes) else value for value in values]
    starts, line = [], 1
    for number, value in enumerate(values):
        starts.append(line)
        line += entry(number, value).count(b"\n")
    assert found.lines() == starts
    assert found.source.lines == data.count(b"\n")


def test_values_that_are_not_utf8(read):
    found = read(entry(1, b"red \xff\xfe") + entry(2, "fine"))
    assert found.messages() == ["red \ufffd\ufffd", "fine"]
    assert found.damage() == {"message_binary": (1, 1)}


def test_a_replacement_character_that_was_written_is_no_damage(read):
    assert read(entry(1, "was \ufffd there".encode())).damage() == {}


def test_times_and_cursor(read):
    found = read(entry(7, "one") + entry(8, "two", _SOURCE_REALTIME_TIMESTAMP=str(REAL - 500)))
    assert found.frame["at"].to_list() == [
        datetime(2026, 11, 30, 18, 23, 14, 7),
        datetime(2026, 11, 30, 18, 23, 13, 999_500),
    ]
    assert found.frame["mono"].to_list() == [1007, 1008]
    assert found.frame["cursor"].to_list() == ["s=a;i=7", "s=a;i=8"]


@pytest.mark.parametrize("value", ["-5", "99999999999999999999", "9" * 18, "x", ""])
def test_times_that_cannot_be(read, value):
    data = f"__CURSOR=s=a\n__REALTIME_TIMESTAMP={value}\n_PID=7\nMESSAGE=text\n\n".encode()
    found = read(data)
    assert (found.messages(), found.frame["at"].to_list()) == (["text"], [None])
    assert found.source.time_basis == "none"


def test_a_field_that_comes_twice(read):
    found = read(entry(1, "text", ("TAG", "a"), ("TAG", "b"), ("_PID", "7"), ("_PID", "8")))
    assert found.of(0).pid == 7
    found = read(entry(1, "one", ("MESSAGE", b"t\nwo")))
    assert found.messages() == ["t\nwo\none"]


def test_an_entry_without_message_is_a_record_without_damage(read):
    found = read(entry(1, None, NOTE="x") + entry(2, ""))
    assert (found.messages(), found.damage()) == ([None, ""], {})


def test_a_torn_end(read):
    whole = entry(1, "first") + entry(2, "second")
    for cut in range(len(entry(1, "first")) + 1, len(whole) - 1):
        found = read(whole[:cut])
        assert found.messages()[0] == "first"
        assert found.frame.height == 2
        torn = found.messages()[1]
        assert torn is None or "second".startswith(torn)
        if whole[cut - 1 : cut] != b"\n":
            assert found.damage() == {"truncated_file": (1, 7)}
    assert read(whole[:-1]).damage() == {}
    assert read(whole[:-1]).messages() == ["first", "second"]


def test_torn_in_a_binary_field(read):
    whole = entry(1, "first") + entry(2, b"several\nlines")
    found = read(whole[:-9])
    assert found.messages() == ["first", "several\n"[: len("several\nlines") - 7]]
    assert found.damage() == {"truncated_file": (1, 7)}


def test_two_torn_files_glued_together(read):
    first = entry(1, "one") + entry(2, "two", _PID="7").partition(b"MESSAGE")[0]
    found = read(first + entry(3, "three"))
    assert found.messages() == ["one", None, "three"]
    assert found.damage() == {"truncated_file": (1, 7)}


def test_garbage_costs_its_entry_only(read):
    garbage = entry(2, "two").replace(b"_BOOT_ID", b"\x01\x02 garbage\n_BOOT_ID")
    found = read(entry(1, "one") + garbage + entry(3, "three") + entry(4, "four"))
    assert found.messages()[0] == "one"
    assert found.messages()[-2:] == ["three", "four"]
    assert found.damage().keys() == {"truncated_file"}


@pytest.mark.parametrize("size", [1 << 62, (1 << 64) - 1, 800 << 20])
def test_a_length_that_is_no_length(read, size):
    bad = entry(2, "x").removesuffix(b"\n") + b"NOTE\n" + size.to_bytes(8, "little") + b"abc\n\n"
    found = read(entry(1, "one") + bad + entry(3, "three"))
    assert found.messages() == ["one", "x", "three"]
    assert found.damage().keys() == {"truncated_file"}


def test_a_huge_field_keeps_its_beginning(read):
    huge = b"\x1b" + b"x" * (3 << 20)
    found = read(entry(1, "one") + entry(2, huge) + entry(3, "three"))
    assert [len(message) for message in found.messages()] == [3, 1 << 20, 5]
    assert found.damage() == {"too_long_line": (1, 7)}
    found = read(entry(1, "x" * (3 << 20)) + entry(2, "two"))
    assert [len(message) for message in found.messages()] == [(1 << 20) - 8, 3]


def test_systemds_own_records(read):
    fields = {
        "_PID": "1",
        "SYSLOG_IDENTIFIER": "systemd",
        "_TRANSPORT": "journal",
        "_SYSTEMD_UNIT": "init.scope",
        "UNIT": "sglang-k26.service",
        "INVOCATION_ID": "8a28ea75",
        "MESSAGE_ID": "39f53479d3a045ac8e11786248231fbf",
        "JOB_ID": "182",
        "JOB_TYPE": "start",
        "JOB_RESULT": "done",
    }
    found = read(entry(1, "Started sglang-k26.service - SGLang.", **fields))
    origin = found.of(0)
    assert (origin.unit, origin.invocation, origin.ident, origin.pid) == (
        "sglang-k26.service",
        "8a28ea75",
        "systemd",
        1,
    )
    extra = json.loads(found.frame["extra"][0])
    assert extra["JOB_TYPE"] == "start"
    assert extra["MESSAGE_ID"] == fields["MESSAGE_ID"]
    assert extra["UNIT"] == "sglang-k26.service"
    assert ": " not in found.frame["extra"][0]


def test_a_user_managers_records(read):
    common = {"SYSLOG_IDENTIFIER": "systemd", "_PID": "136", "_SYSTEMD_UNIT": "user@1000.service"}
    own = {
        "USER_UNIT": "sglang.service",
        "USER_INVOCATION_ID": "77",
        "MESSAGE_ID": "39f5",
        "_TRANSPORT": "journal",
    }
    line = {"_SYSTEMD_UNIT": "user@1000.service", "_SYSTEMD_USER_UNIT": "sglang.service", "_PID": "148"}
    found = read(entry(1, "Started", **common, **own) + entry(2, "line", SYSLOG_IDENTIFIER="python3", **line))
    assert [(found.of(row).unit, found.of(row).invocation) for row in (0, 1)] == [
        ("sglang.service", "77"),
        ("sglang.service", None),
    ]
    assert found.frame["extra"].null_count() == 1


def test_a_service_cannot_speak_for_systemd(read):
    lie = {
        "_TRANSPORT": "stdout",
        "SYSLOG_IDENTIFIER": "systemd",
        "_PID": "99",
        "_SYSTEMD_UNIT": "evil.service",
        "UNIT": "sglang-k26.service",
        "MESSAGE_ID": "39f53479d3a045ac8e11786248231fbf",
    }
    found = read(entry(1, "Started sglang-k26.service", **lie))
    assert found.of(0).unit == "evil.service"
    assert found.frame["extra"].to_list() == [None]


def test_journald_says_that_it_dropped_messages(read):
    fields = {
        "_PID": "412",
        "SYSLOG_IDENTIFIER": "systemd-journald",
        "_TRANSPORT": "driver",
        "_SYSTEMD_UNIT": "systemd-journald.service",
        "MESSAGE_ID": "a596d6fe7bfa4994828e72309e95d61e",
        "OBJECT_SYSTEMD_UNIT": "sglang-k26.service",
        "N_DROPPED": "425",
    }
    found = read(entry(1, "Suppressed 425 messages from sglang-k26.service", **fields))
    assert found.of(0).unit == "sglang-k26.service"
    assert found.damage() == {"rate_limited": (1, 1)}
    assert json.loads(found.frame["extra"][0])["N_DROPPED"] == "425"


def test_the_docker_journald_driver(read):
    container = {
        "_COMM": "dockerd",
        "_PID": "555",
        "_SYSTEMD_UNIT": "docker.service",
        "_SYSTEMD_INVOCATION_ID": "dd",
        "CONTAINER_NAME": "sglang-k26",
        "CONTAINER_ID": "66e657f48147",
        "SYSLOG_IDENTIFIER": "66e657f48147",
        "_HOSTNAME": "k26-node1",
    }

    def piece(number, text, last, **more):
        partial = {
            "CONTAINER_PARTIAL_ID": "ab12",
            "CONTAINER_PARTIAL_ORDINAL": str(number),
            "CONTAINER_PARTIAL_LAST": last,
        }
        return entry(number, text, PRIORITY="3", **container, **partial, **more)

    other = entry(9, "between", PRIORITY="6", **container)
    more = {"CONTAINER_PARTIAL_MESSAGE": "true"}
    data = piece(1, "server_args=Serv", "false", **more) + other
    data += piece(2, "erArgs(context_", "false", **more) + piece(3, "length=200000)", "true")
    found = read(data)
    assert found.messages() == ["server_args=ServerArgs(context_length=200000)", "between"]
    assert [found.of(row).stream for row in (0, 1)] == ["stderr", "stdout"]
    origin = found.of(0)
    assert (origin.host, origin.container, origin.unit, origin.pid, origin.invocation, origin.cmdline) == (
        "k26-node1",
        "sglang-k26",
        None,
        None,
        None,
        None,
    )
    # the last line of a container that died without a line end stays open for ever: nothing is lost
    found = read(piece(1, "no line end", "false", **more))
    assert (found.messages(), found.damage()) == (["no line end"], {})


def test_secrets_of_a_command_line_do_not_come_out(read):
    command = "/usr/bin/python3 -m sglang.launch_server --api-key sk-verysecret12345 --context-length 32768"
    found = read(entry(1, "text", _PID="71", SYSLOG_IDENTIFIER="python3", _CMDLINE=command))
    cmdline = found.of(0).cmdline
    assert "verysecret" not in cmdline
    assert "--context-length 32768" in cmdline


def test_lines_that_end_in_crlf(read):
    data = (entry(1, "one") + entry(2, "two", _PID="7") + entry(3, "three")).replace(b"\n", b"\r\n")
    found = read(data)
    assert found.source.carrier == "journal-export"
    assert found.messages() == ["one", "two", "three"]
    assert (found.of(1).pid, found.damage()) == (7, {})


def test_order_of_fields_and_unknown_fields_do_not_matter(read):
    data = b"MESSAGE=text\n_PID=7\n__CURSOR=s=a\n__REALTIME_TIMESTAMP=1796062994000000\n__X=1\nLOWER_1=2\n\n"
    found = read(data, carrier="journal-export")
    assert (found.messages(), found.of(0).pid) == (["text"], 7)


def test_many_entries_come_in_several_frames(read):
    data = b"".join(entry(number, f"message {number}") for number in range(40_000))
    found = read([data[at : at + 70_001] for at in range(0, len(data), 70_001)])
    assert found.messages() == [f"message {number}" for number in range(40_000)]
    assert found.lines() == list(range(1, 40_000 * 6, 6))
