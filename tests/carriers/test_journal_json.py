from __future__ import annotations

import json
from datetime import datetime

import pytest

from kvforensics.carriers import journal_json

REAL = 1_796_062_994_000_000


def entry(number, message=None, **fields):
    return {
        "__CURSOR": f"s=a;i={number:x}",
        "__REALTIME_TIMESTAMP": str(REAL + number),
        "__MONOTONIC_TIMESTAMP": str(1000 + number),
        "_HOSTNAME": "k26-node1",
        "SYSLOG_IDENTIFIER": "python3",
        "_PID": "71",
        **({} if message is None else {"MESSAGE": message}),
        **fields,
    }


def as_lines(*entries, form="json"):
    if form == "json-pretty":
        return "".join(pretty(one) for one in entries).encode()
    before, after = {"json": ("", "\n"), "json-seq": ("\x1e", "\n"), "json-sse": ("data: ", "\n\n")}[form]
    return "".join(before + json.dumps(one) + after for one in entries).encode()


def pretty(one):
    lines = []
    for name, value in one.items():
        if isinstance(value, list):
            items = ",\n".join(f"\t\t{json.dumps(item)}" for item in value)
            lines.append(f'\t"{name}" : [\n{items}\n\t]')
        else:
            lines.append(f'\t"{name}" : {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


FORMS = ("json", "json-seq", "json-sse", "json-pretty")
LINES_OF_FIRST = {"json": [1, 2, 3], "json-seq": [1, 2, 3], "json-sse": [1, 3, 5], "json-pretty": [1, 10, 19]}


@pytest.mark.parametrize("form", FORMS)
def test_forms(read, form):
    data = as_lines(entry(1, "one"), entry(2, 'quo"te\\ \u2028 é'), entry(3, "three\nlines\n"), form=form)
    found = read(data)
    assert found.source.carrier == "journal-json"
    assert found.messages() == ["one", 'quo"te\\ \u2028 é', "three\nlines\n"]
    assert found.lines() == LINES_OF_FIRST[form]
    assert found.frame["at"][0] == datetime(2026, 11, 30, 18, 23, 14, 1)
    assert found.frame["mono"].to_list() == [1001, 1002, 1003]
    assert (found.of(0).host, found.of(0).ident, found.of(0).pid) == ("k26-node1", "python3", 71)


def test_what_jq_makes_of_it(read):
    entries = [entry(1, "one"), entry(2, list(b"\x1b[31mtwo")), entry(3, "three")]
    found = read("".join(json.dumps(one, indent=2) + "\n" for one in entries).encode())
    assert found.source.carrier == "journal-json"
    assert found.messages() == ["one", "\x1b[31mtwo", "three"]


@pytest.mark.parametrize("form", FORMS)
def test_values_that_are_not_text(read, form):
    red = list(b"\x1b[31mred\x1b[0m")
    entries = [
        entry(1, red),
        entry(2, list(b"\xff\xfe")),
        entry(3, ["two", "values"]),
        entry(4, [red, list(b"b")]),
        {**entry(5), "MESSAGE": None},
        entry(6),
        entry(7, []),
        entry(8, "text", _PID=["8", "9"]),
    ]
    found = read(as_lines(*entries, form=form))
    assert found.messages() == [
        "\x1b[31mred\x1b[0m",
        "\ufffd\ufffd",
        "two\nvalues",
        "\x1b[31mred\x1b[0m\nb",
        None,
        None,
        "",
        "text",
    ]
    assert found.frame["damage"].to_list() == [
        None,
        "message_binary",
        None,
        None,
        "message_null",
        None,
        None,
        None,
    ]
    assert found.of(7).pid == 8


def test_a_null_message_leaves_the_command_line(read):
    command = "/usr/bin/python3 -m sglang.launch_server --context-length 200000 --admin-api-key secret12345"
    found = read(as_lines({**entry(1), "MESSAGE": None, "_CMDLINE": command}))
    assert "--context-length 200000" in found.of(0).cmdline
    assert "secret12345" not in found.of(0).cmdline
    assert found.damage() == {"message_null": (1, 1)}


def test_the_limit_of_journalctl_is_journalctls(read):
    found = read(as_lines(entry(1, "x" * 4087), {**entry(2), "MESSAGE": None}))
    assert [message and len(message) for message in found.messages()] == [4087, None]


def test_colours(read):
    plain = as_lines(entry(1, "one"), entry(2, list(b"\x1b[31mtwo")))
    coloured = plain.replace(b'"_PID"', b'"\x1b[0;32m_PID\x1b[0m"').replace(
        b'"MESSAGE"', b'"\x1b[1mMESSAGE\x1b[0m"'
    )
    found = read(coloured)
    assert found.source.carrier == "journal-json"
    assert found.messages() == ["one", "\x1b[31mtwo"]
    assert found.of(0).pid == 71


def test_one_broken_line_costs_nothing_else(read):
    lines = as_lines(*(entry(number, f"message {number}") for number in range(10))).split(b"\n")
    lines[4] = lines[4][:-20]
    lines[7] = b"-- No entries --"
    found = read(b"\n".join(lines))
    assert found.messages()[:4] == [f"message {number}" for number in range(4)]
    assert found.messages()[5:7] == ["message 5", "message 6"]
    assert found.messages()[7] == "-- No entries --"
    assert found.lines() == list(range(1, 11))
    assert found.damage() == {"truncated_file": (1, 5)}


@pytest.mark.parametrize("form", ["json", "json-seq", "json-sse"])
def test_a_torn_end_gives_its_complete_fields(read, form):
    first = {"MESSAGE": 'keep, "this"', **entry(2)}
    data = as_lines(entry(1, "one"), first, form=form).rstrip(b"\n")
    for cut in range(1, 12):
        found = read(data[:-cut])
        assert found.messages() == ["one", 'keep, "this"']
        assert found.frame["damage"].to_list() == [None, "truncated_file"]
        assert found.frame["cursor"][1] == "s=a;i=2"


def test_a_torn_pretty_object(read):
    data = as_lines(entry(1, "one"), {"MESSAGE": "two", **entry(2)}, entry(3, "three"), form="json-pretty")
    cut = data.index(b'"_PID"', data.index(b"two"))
    after = data.index(b"{\n", cut)
    found = read(data[:cut] + data[after:])
    assert found.messages() == ["one", "two", "three"]
    assert found.damage() == {"truncated_file": (1, 10)}
    assert read(data[:cut]).messages() == ["one", "two"]


def test_a_pretty_object_without_end_is_bounded(read, monkeypatch):
    monkeypatch.setattr(journal_json, "_LONGEST_OBJECT", 50)
    long = pretty({"MESSAGE": "kept", **entry(2), "NOTE": list(range(200))})
    found = read((pretty(entry(1, "one")) + long + pretty(entry(3, "three"))).encode())
    assert found.messages() == ["one", "kept", "three"]
    assert found.damage() == {"too_long_line": (1, 10)}


def test_bytes_that_are_not_utf8(read):
    data = as_lines(entry(1, "one"), entry(2, "b?d"), entry(3, "three")).replace(b"?", b"\xff")
    found = read(data)
    assert found.messages() == ["one", "b\ufffdd", "three"]
    assert found.damage() == {"invalid_utf8": (1, 2)}


def test_a_control_character_that_nobody_escaped(read):
    data = as_lines(entry(1, "a"), entry(2, "b@c"), entry(3, "d")).replace(b"@", b"\r")
    found = read(data)
    assert found.messages() == ["a", "b\rc", "d"]
    assert found.damage() == {}


@pytest.mark.parametrize("form", ["json", "json-seq"])
@pytest.mark.parametrize("lines", [1, 3])
def test_a_separator_within_an_entry_is_text(read, form, lines):
    data = as_lines(entry(1, "a"), entry(2, "b@c", _BOOT_ID="0@1"), entry(3, "d"), form=form)
    pieces = data.replace(b"@", b"\x1e").splitlines(keepends=True)
    found = read(pieces if lines == 1 else b"".join(pieces), block_bytes=1)
    assert found.messages() == ["a", "b\x1ec", "d"]
    assert found.of(1).boot == "0\x1e1"


@pytest.mark.parametrize("begin", [b"\x1e\x1e", b" \x1e", b"\x1e\t"])
def test_more_than_a_separator_in_front(read, begin):
    data = as_lines(entry(1, "a"), entry(2, "b"), form="json-seq").replace(b"\x1e", begin)
    assert read(data).messages() == ["a", "b"]


def test_an_entry_is_numbered_by_its_own_line(read):
    first, second, third, fourth = as_lines(*(entry(n, f"{n}", _COMM="x") for n in range(1, 5))).splitlines()
    pieces = [first + b"\n", second + third + b"\n", b"\n", fourth + b"\n"]
    for data in (pieces, b"".join(pieces)):  # as many entries as lines
        found = read(data, block_bytes=1)
        assert found.messages() == ["1", "2", "4"]
        assert found.lines() == [1, 2, 4]
        assert found.damage() == {"truncated_file": (1, 2)}


def test_half_a_surrogate_pair(read):
    data = as_lines(entry(1, "one"), entry(2, "X")).replace(b'"X"', b'"\\ud83d!"')
    found = read(data)
    assert found.messages() == ["one", "?!"]


def test_values_of_other_types(read):
    found = read(as_lines(entry(1, 5), entry(2, "x", _PID=72), entry(3, {"a": 1}), entry(4, True)))
    assert found.messages() == ["5", "x", '{"a": 1}', "true"]
    assert found.of(1).pid == 72


@pytest.mark.parametrize(
    "nested", [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000]
)
def test_deep_nesting_does_not_overflow(read, nested):
    bad = as_lines(entry(1, "one")).replace(b'"one"', b'"one", "NOTE": ' + nested)
    found = read(bad + as_lines(entry(2, "two")))
    assert found.messages()[-1] == "two"
    assert found.frame.height == 2


def test_other_objects_are_messages_as_they_stand(read):
    data = as_lines(*(entry(number, "x") for number in range(5))) + b'{"level": "info"}\n[1, 2]\n"text"\n5\n'
    assert read(data).messages()[5:] == ['{"level": "info"}', "[1, 2]", '"text"', "5"]


def test_a_line_above_the_cap(read):
    data = as_lines(
        entry(1, "one"), {"MESSAGE": "keep", **entry(2), "NOTE": "x" * (3 << 20)}, entry(3, "three")
    )
    found = read(data)
    assert found.messages() == ["one", "keep", "three"]
    assert found.damage() == {"too_long_line": (1, 2)}


def test_newest_first(read):
    data = as_lines(*(entry(number, f"message {number}") for number in range(9, 0, -1)))
    found = read(data)
    assert found.messages() == [f"message {number}" for number in range(1, 10)]
    assert found.lines() == list(range(9, 0, -1))


def test_a_shippers_envelope_is_not_journalctls(read):
    vector = {"message": "text", "source_type": "journald", "__REALTIME_TIMESTAMP": "1", "host": "h"}
    assert read(as_lines(*[vector] * 5)).source.carrier != "journal-json"


def test_line_break_pieces_are_joined(read):
    stream = {"_STREAM_ID": "f00", "_SYSTEMD_UNIT": "sglang.service"}
    entries = [
        entry(1, "server_args=Serv", _LINE_BREAK="line-max", **stream),
        entry(2, "another process", _PID="72", _STREAM_ID="f00"),
        entry(3, "erArgs(a=1, ", _LINE_BREAK="line-max", **stream),
        entry(4, "b=2)", **stream),
        entry(5, "next", **stream),
    ]
    found = read(as_lines(*entries))
    assert found.messages() == ["server_args=ServerArgs(a=1, b=2)", "another process", "next"]
    assert found.lines() == [1, 2, 5]
    assert found.damage() == {}


def test_a_character_cut_by_line_max_is_mended(read):
    data = "x▊y".encode()
    stream = {"_STREAM_ID": "f00"}
    found = read(
        as_lines(
            entry(1, list(data[:2]), _LINE_BREAK="line-max", **stream), entry(2, list(data[2:]), **stream)
        )
    )
    assert found.messages() == ["x▊y"]
    assert found.damage() == {}


def test_pieces_that_never_end_are_said(read):
    found = read(as_lines(entry(1, "half", _LINE_BREAK="line-max"), entry(2, "other", _PID="72")))
    assert found.messages() == ["half", "other"]
    assert found.damage() == {"split_lost": (1, 1)}


def test_a_null_piece_makes_the_whole_null(read):
    entries = [{**entry(1), "MESSAGE": None, "_LINE_BREAK": "line-max"}, entry(2, "tail)")]
    found = read(as_lines(*entries))
    assert found.messages() == [None]
    assert found.damage() == {"message_null": (1, 1)}


def test_pid_change_joins_only_what_goes_on(read):
    half = entry(1, "half a ", _LINE_BREAK="pid-change")
    bar = entry(3, "\r 0%|", _LINE_BREAK="pid-change", _PID="73")
    found = read(
        as_lines(half, entry(2, "other", _PID="72"), bar, entry(4, "line"), entry(5, "\r 9%|", _PID="73"))
    )
    assert found.messages() == ["half a line", "other", "\r 0%|", "\r 9%|"]
    assert found.damage() == {}


def test_nul_and_eof_breaks_are_whole(read):
    found = read(as_lines(entry(1, "a", _LINE_BREAK="nul"), entry(2, "b", _LINE_BREAK="eof"), entry(3, "c")))
    assert found.messages() == ["a", "b", "c"]


OF_SYSTEMD = {
    "UNIT": "sglang.service",
    "MESSAGE_ID": "39f53479d3a045ac8e11786248231fbf",
    "SYSLOG_IDENTIFIER": "systemd",
    "_PID": "1",
    "_TRANSPORT": "journal",
    "INVOCATION_ID": "ab" * 16,
    "JOB_RESULT": "done",
}


@pytest.mark.parametrize("every", [1, 2, 9])  # of so many entries one says more than others
@pytest.mark.parametrize(
    "more", [OF_SYSTEMD, OF_SYSTEMD | {"PRIORITY": 6}, {"SYSLOG_IDENTIFIER": "", "_COMM": "sglang"}]
)
@pytest.mark.parametrize("form", ["json", "json-seq"])
def test_what_few_entries_say_is_read_however_few_they_are(read, monkeypatch, every, more, form):
    entries = [entry(n, f"line {n}", **(more if n % every == 0 else {})) for n in range(60)]
    found = read(as_lines(*entries, form=form), block_bytes=4000)
    monkeypatch.setattr(journal_json, "_decoded", lambda _block, **_: None)  # one after the other
    slowly = read(as_lines(*entries, form=form), block_bytes=4000)
    assert found.rows() == slowly.rows()
    if "UNIT" in more:
        assert '"JOB_RESULT":"done"' in found.frame["extra"][0]
        assert found.of(0)[:2] == ("k26-node1", "sglang.service")
    else:
        assert found.of(0).ident == "sglang"
