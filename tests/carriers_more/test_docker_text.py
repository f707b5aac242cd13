from datetime import datetime

from .reading import read

STAMP = b"2026-05-20T14:03:11.123456789Z "
AT = datetime(2026, 5, 20, 14, 3, 11, 123456)


def test_stamps_inside_of_a_long_line_are_taken_out():
    text = bytes(ord("a") + number % 26 for number in range(50_000))
    stamped = b"".join(STAMP + text[start : start + 16384] for start in range(0, len(text), 16384))
    reading = read([stamped, STAMP + b"next"])
    assert reading.messages == [text.decode(), "next"]


def test_a_character_cut_by_a_stamp_loses_only_itself():
    text = ("é" * 30_000).encode()[1:]  # the border falls into a character
    stamped = b"".join(STAMP + text[start : start + 16384] for start in range(0, len(text), 16384))
    message = read([stamped, STAMP + b"x"]).messages[0]
    assert "Z" not in message
    assert message.count("é") > 29_990


def test_a_stamp_elsewhere_begins_the_next_processs_record():
    later = b"2026-05-20T15:00:00.000000001Z "
    reading = read([STAMP + b"Capturing batches:  50%" + later + b"[2026-05-20 15:00:00] server_args=x"])
    assert reading.messages == ["Capturing batches:  50%", "[2026-05-20 15:00:00] server_args=x"]
    assert reading.column("at") == [AT, datetime(2026, 5, 20, 15)]
    assert reading.column("line") == [1, 1]


def test_a_stamp_that_the_program_wrote_stays():
    text = b"replayed 2026-05-20T15:00:00.000000001Z from the past 2020-05-20T15:00:00.000000001Z end"
    assert read([STAMP + text]).messages == [text.decode()]


def test_double_clocks():
    reading = read([STAMP + b"2026-05-20T14:03:10.5Z text %d" % number for number in range(3)])
    assert reading.messages == ["text 0", "text 1", "text 2"]
    assert reading.column("at") == [datetime(2026, 5, 20, 14, 3, 10, 500_000)] * 3  # nearer to the program
    assert (reading.source.carrier, reading.source.layers) == ("docker-text", ())


def test_zones_fractions_and_empty_messages():
    reading = read(
        [
            b"2026-05-20T16:03:11+02:00 zone",
            b"2026-05-20T14:03:11Z no fraction",
            b"2026-05-20T14:03:11.1Z",
            b"2026-05-20T14:03:11.1Z ",
            b"2026-02-31T14:03:11.1Z no such day",
        ]
    )
    assert reading.messages == ["zone", "no fraction", "", "", "no such day"]
    assert reading.column("at")[:2] == [datetime(2026, 5, 20, 14, 3, 11)] * 2
    assert reading.column("at")[4] is None


def test_a_line_without_a_stamp_keeps_its_text():
    reading = read([STAMP + b"a", b"Error response from daemon", STAMP + b"b", STAMP + b"c"])
    assert reading.messages[1] == "Error response from daemon"
    assert reading.column("at")[1] is None


def test_kubectl_prefix_names_pod_and_container():
    reading = read([b"[pod/sglang-0/server] " + STAMP + b"a", b"[pod/sglang-1/server] " + STAMP + b"b"])
    assert reading.messages == ["a", "b"]
    assert [reading.origin(row).container for row in range(2)] == ["sglang-0/server", "sglang-1/server"]
    assert reading.column("at") == [AT, AT]
