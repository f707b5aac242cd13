from datetime import datetime

import pytest

from .reading import read

ISO = b"2026-05-20T14:03:11.123456+02:00 gpu01 python3[71]: "
AT = datetime(2026, 5, 20, 12, 3, 11, 123456)


def test_iso_file():
    reading = read([ISO + b"a", b"2026-05-20T14:03:11.123456+02:00 gpu01 sudo:  user : COMMAND=/bin/true"])
    assert reading.source.carrier == "syslog"
    assert reading.messages == ["a", " user : COMMAND=/bin/true"]
    assert reading.column("at") == [AT, AT]
    assert reading.origin(1).pid is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"-", b"text"),
        (b'[id k="v"]', b"text"),
        (b'[id k="a]b \\" \\\\ c"][other@1 x="y"]', b"text"),
        (b"-", b"\xef\xbb\xbftext"),
    ],
)
def test_structured_data_and_byte_order_marks(data, message):
    line = b"<30>1 2026-05-20T14:03:11.123456+02:00 gpu01 python3 71 - " + data + b" " + message
    reading = read([line, line])
    assert reading.messages == ["text", "text"]
    assert (reading.origin(0).host, reading.origin(0).ident, reading.origin(0).pid) == (
        "gpu01",
        "python3",
        71,
    )


def test_the_second_space_belongs_to_rsyslogs_template_only():
    new = b"<30>1 2026-05-20T14:03:11Z gpu01 python3 71 - - "
    doubled = read([new + b" a", new + b"   File x", new + b" b"])
    single = read([new + b"a", new + b"  File x", new + b"b"])
    assert doubled.messages == single.messages == ["a", "  File x", "b"]


def test_nil_values_are_unknown():
    reading = read([b"<30>1 - - - - - - text", b"<30>1 - - - - - -"])
    assert reading.messages == ["text", ""]
    assert reading.column("at") == [None, None]
    assert reading.origin(0) == (None,) * 9


def test_bsd_lines_behind_a_priority_take_their_year_from_the_text():
    reading = read(
        [
            b"<30>May 20 14:03:11 gpu01 python3[71]: [2026-05-20 14:03:11 TP0] a",
            b"<30>May 20 14:03:12 gpu01 x: b",
        ]
    )
    assert reading.source.carrier == "syslog"
    assert reading.column("at") == [datetime(2026, 5, 20, 14, 3, 11), datetime(2026, 5, 20, 14, 3, 12)]


def test_short_iso_of_journalctl_is_no_syslog():
    for lines in (
        [b"2026-05-20T14:03:11+00:00 gpu01 python3[71]: a"] * 3,
        [ISO + b"a", b"-- Boot c25d6b27eea54a7086373de33c2eb0f5 --", ISO + b"b"],
        [ISO + b"a", b" " * 53 + b"continued", ISO + b"b"],
    ):
        assert read(lines).source.carrier == "journal-short"


def test_a_message_of_several_lines_and_a_literal_number_sign():
    assert read([ISO + b"a#012  b#011c", ISO + b"issue #4711 #9"]).messages == ["a\n  b\tc", "issue #4711 #9"]


def test_lines_of_another_form_keep_their_text():
    reading = read([ISO + b"a", b"not syslog at all", ISO + b"b", ISO + b"c"])
    assert reading.messages[1] == "not syslog at all"
    assert reading.column("at")[1] is None
