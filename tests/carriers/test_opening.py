from __future__ import annotations

import gzip
from datetime import datetime

import pytest

from kvforensics.carriers.opening import open_stream
from kvforensics.errors import InputError, UsageError
from kvforensics.options import Options
from kvforensics.records import Origins

SHORT = b"Nov 30 18:00:0%d k26-node1 python3[71]: [2026-11-30 18:00:0%d TP0] message\n"


def test_an_empty_file_is_plain_with_nothing(read):
    found = read(b"")
    source = found.source
    assert (source.carrier, source.bytes, source.lines, source.records) == ("plain", 0, 0, 0)
    assert (source.first_at, source.last_at, source.time_basis, source.damaged) == (None, None, "none", {})


def test_a_binary_file_is_read_as_text(read):
    found = read(bytes(range(256)) * 50)
    assert found.source.carrier == "plain"
    assert found.damage().keys() == {"invalid_utf8"}


def test_counters(read):
    data = b"".join(SHORT % (number, number) for number in range(5)) + b"no newline at the end"
    source = read(data).source
    assert (source.carrier, source.bytes, source.lines, source.records) == ("journal-short", len(data), 6, 6)
    assert source.first_at == datetime(2026, 11, 30, 18)
    assert source.last_at == datetime(2026, 11, 30, 18, 0, 4)
    assert source.time_basis == "carrier"


def test_bytes_are_those_of_the_input_and_lines_those_of_the_text(read):
    text = b"".join(SHORT % (number, number) for number in range(5))
    data = gzip.compress(text)
    source = read(data).source
    assert (source.bytes, source.lines, source.carrier) == (len(data), 5, "journal-short")


def test_a_truncated_file_is_damaged_where_it_ends(read):
    data = gzip.compress(b"".join(b"%d %d\n" % (number, number * 7919 % 9973) for number in range(5000)))
    found = read(data[: len(data) // 2])
    assert found.frame.height > 1000
    assert found.damage() == {"truncated_file": (1, found.source.lines)}


def test_a_compressed_file_of_which_nothing_is_readable(read):
    found = read(b"\x1f\x8b" + b"\xaa" * 100)
    assert (found.source.records, found.damage()) == (0, {"truncated_file": (1, 1)})


def test_content_decides_not_the_name(read, tmp_path, samples):
    for name in ("x.json", "x.export", "x.gz"):
        path = tmp_path / name
        path.write_bytes((samples / "journald-252/incident/short.txt").read_bytes())
        assert read(path).source.carrier == "journal-short"


def test_the_user_may_name_the_carrier(read, samples):
    path = samples / "journald-252/incident/short.txt"
    found = read(path, carrier="plain")
    assert (found.source.carrier, found.source.records) == ("plain", 432)
    assert found.messages()[0].startswith("May 20 14:02:10 k26-node1 kernel: Linux")
    with pytest.raises(UsageError, match="journal-jsno"):
        read(path, carrier="journal-jsno")


@pytest.mark.parametrize(
    "carrier", ["journal-export", "journal-json", "journal-short", "journal-verbose", "plain"]
)
@pytest.mark.parametrize(
    "name", ["edge/export.export", "edge/json-pretty.json", "edge/short.txt", "incident/verbose.txt"]
)
def test_the_wrong_carrier_never_crashes(read, samples, carrier, name):
    assert read(samples / "journald-252" / name, carrier=carrier).source.carrier == carrier


def test_a_mixed_file_is_what_most_of_it_is(read):
    short = b"".join(SHORT % (number % 10, number % 10) for number in range(20))
    found = read(b"# a comment\nsomething else\n" + short)
    assert found.source.carrier == "journal-short"
    assert found.messages()[:2] == ["# a comment", "something else"]
    assert found.of(0).host is None
    assert found.frame["at"][0] is None
    iso = b"".join(
        b"2026-11-30T18:00:00+0000 k26-node1 python3[71]: text %d\n" % number for number in range(9)
    )
    assert read(iso + short).messages()[:2] == ["text 0", "text 1"]
    assert read(b"some text\n" * 100 + short).source.carrier == "plain"


def test_an_unknown_zone_is_a_usage_error(read):
    with pytest.raises(UsageError, match="Mars"):
        read(b"x\n", tz="Mars/Olympus")


def test_progress_is_told_in_bytes_of_the_input(read, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"line\n" * 1000)
    told = []
    read(path, progress=lambda *told_now: told.append(told_now))
    assert told == [(str(path), 5000, 5000)]


def test_a_disk_that_fails_later_is_damage():
    def failing():
        yield b"one\ntwo\n" * 40_000
        raise OSError(5, "Input/output error")

    opened = open_stream(failing(), None, "input", Options(), Origins(), 0)
    assert sum(frame.height for frame in opened) == 80_000
    assert opened.source.damaged["unreadable"].count == 1


def test_a_disk_that_fails_at_once_is_an_input_error():
    def failing():
        raise OSError(5, "Input/output error")
        yield b""

    with pytest.raises(InputError, match="Input/output error"):
        open_stream(failing(), None, "input", Options(), Origins(), 0)
