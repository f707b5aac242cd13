from __future__ import annotations

from datetime import datetime, timedelta

HEADER = "Mon 2026-11-30 {0}:23:14.000007 {1} [s=a0;i={2:x};b=b0;m=3e9;t=644a5a9ef7487;x=9]\n"
FIELDS = (
    "    _HOSTNAME=k26-node1\n    _PID=71\n    SYSLOG_IDENTIFIER=python3\n    _SYSTEMD_UNIT=sglang.service\n"
)


def entry(number, message, hour=18, zone="UTC"):
    head, *rest = message.split("\n")
    lines = "".join(f"{' ' * 12}{line}\n" for line in rest)
    return HEADER.format(hour, zone, number) + FIELDS + f"    MESSAGE={head}\n" + lines


def test_entries(read):
    found = read((entry(1, "one") + entry(2, "a=b = c") + entry(3, "")).encode())
    assert found.source.carrier == "journal-verbose"
    assert found.messages() == ["one", "a=b = c", ""]
    assert found.lines() == [1, 7, 13]
    assert found.frame["cursor"][1] == "s=a0;i=2;b=b0;m=3e9;t=644a5a9ef7487;x=9"
    assert found.frame["mono"][0] == 0x3E9
    origin = found.of(0)
    assert (origin.host, origin.unit, origin.ident, origin.pid) == (
        "k26-node1",
        "sglang.service",
        "python3",
        71,
    )


def test_the_time_is_the_cursors_whatever_zone_was_printed(read):
    found = read((entry(1, "one") + entry(2, "two", 19, "CET") + entry(3, "three", 23, "IST")).encode())
    exact = datetime(1970, 1, 1) + timedelta(microseconds=0x644A5A9EF7487)
    assert set(found.frame["at"]) == {exact}


def test_values_of_several_lines(read):
    message = "Traceback:\n  File\n\n    MESSAGE=no field\nMon 2026-11-30 18:23:14 UTC [s=1;x=2]\nError"
    found = read((entry(1, message) + entry(2, "next")).encode())
    assert found.messages() == [message, "next"]


def test_blob_data_and_journalctls_own_lines(read):
    boot = "-- Boot c25d6b27eea54a7086373de33c2eb0f5 --\n"
    text = boot + entry(1, "[10.9K blob data]") + boot + "░░ Subject\n" + entry(2, "said [10.9K blob data]")
    found = read(text.encode())
    assert found.messages() == [None, "said [10.9K blob data]"]
    assert found.damage() == {"blob_data": (1, 2)}


def test_bad_bytes_torn_ends_and_strangers(read):
    bad = entry(1, "b?d").encode().replace(b"?", b"\xff")
    found = read(bad + b"a stranger\n" + entry(2, "two").encode()[:-3])
    assert found.messages() == ["b\ufffdd", "a stranger", "t"]
    assert found.damage() == {"message_binary": (1, 1)}
    assert read((entry(1, "one") + HEADER.format(18, "UTC", 2) + FIELDS).encode()).messages() == ["one", None]


def test_a_value_of_very_many_lines_is_bounded(read):
    found = read((entry(1, "x" + "\nline" * 300_000) + entry(2, "next")).encode())
    assert found.messages()[1] == "next"
    assert found.messages()[0].startswith("x\nline\nline")
    assert 1_000_000 < len(found.messages()[0]) <= 1 << 20
    assert found.damage() == {"too_long_line": (1, 1)}


def test_crlf(read):
    found = read(entry(1, "one").replace("\n", "\r\n").encode() * 2)
    assert found.messages() == ["one", "one"]
